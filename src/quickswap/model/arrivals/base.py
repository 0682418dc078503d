"""The interface of an arrival process. Rates are in jobs per second, times in seconds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Self

from quickswap._check import check_keys, positive
from quickswap.errors import inside, invalid, unknown
from quickswap.model.distributions import Distribution
from quickswap.model.distributions.base import plain

PROCESSES: dict[str, type[Arrivals]] = {}
"""Every process by its name in files; each is registered when its module is imported."""


class Arrivals(ABC):
    """An arrival process, a frozen value; the concrete processes are final.

    It is stationary, or repeats in cycles.
    """

    __slots__ = ()

    process: ClassVar[str]
    """Name of the process in files."""
    keys: ClassVar[tuple[str, ...]]
    """Its parameters, all of them required."""

    def __init_subclass__(cls) -> None:
        PROCESSES[cls.process] = cls  # slots create a dataclass twice: the second remains

    @property
    @abstractmethod
    def rate(self) -> float:
        """Long-run arrivals per second, exact."""

    @property
    @abstractmethod
    def dispersion(self) -> float:
        """Variance over mean of the number of arrivals in a long time; 1 if Poisson."""

    @property
    def cycle(self) -> float:
        """Length in seconds of the cycles in which the process repeats; 0 if it is stationary."""
        return 0.0

    @abstractmethod
    def _scaled(self, factor: float) -> Self:
        """Return the process with `factor` times the rate, for a checked factor."""

    def scaled(self, factor: float) -> Self:
        """Return a process of the same kind with `factor` > 0 times the rate."""
        return self._scaled(positive(factor, "scaling factor"))

    def to_dict(self) -> dict[str, object]:
        """Return the form written to JSON and TOML, e.g. `{"process": "poisson", "rate": 1.0}`."""
        parts = ((key, getattr(self, key)) for key in self.keys)
        return {"process": self.process} | {
            key: value.to_dict() if isinstance(value, Arrivals) else plain(value)
            for key, value in parts
        }

    @staticmethod
    def from_dict(data: Mapping[str, object]) -> Arrivals:
        """Build a process from the form of `to_dict`, with its distributions in any of their forms.

        Raises:
            ModelError: an unknown or missing key, or a value out of range.
        """
        if not isinstance(data, Mapping) or "process" not in data:
            known = ", ".join(PROCESSES)
            allowed = f"a table with the key process, one of {known}, and its parameters"
            raise invalid("arrivals", data, allowed)
        name = data["process"]
        if not isinstance(name, str) or name not in PROCESSES:
            unknown("process", name, PROCESSES, where=("process",))
        kind = PROCESSES[name]
        parameters = {key: value for key, value in data.items() if key != "process"}
        check_keys(parameters, f"the process {name}", kind.keys, required=kind.keys)
        for key in ("interarrival", "jobs"):
            if key in parameters:
                with inside(key):
                    given = parameters[key]
                    if not isinstance(given, Mapping):
                        raise invalid(key, given, "a distribution")
                    parameters[key] = Distribution.from_dict(given)
        if "batches" in parameters:
            with inside("batches"):
                parameters["batches"] = Arrivals.from_dict(parameters["batches"])  # type: ignore[arg-type]  # it checks
        build: Callable[..., Arrivals] = kind
        return build(**parameters)
