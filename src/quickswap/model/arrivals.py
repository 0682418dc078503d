"""Arrival processes of a class: Poisson, renewal, Markov-modulated Poisson.

Rates are in jobs per second, times in seconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self, final

from quickswap._check import check_keys, items, numbers, positive
from quickswap._words import counted
from quickswap.errors import ModelError, inside, invalid, unknown
from quickswap.model.distributions import Distribution

__all__ = ["Arrivals", "MarkovModulatedPoisson", "Poisson", "Renewal"]


class Arrivals(ABC):
    """A stationary arrival process, a frozen value; the concrete processes are final."""

    __slots__ = ()

    process: ClassVar[str]
    """Name of the process in files."""
    keys: ClassVar[tuple[str, ...]]
    """Its parameters, all of them required."""

    @property
    @abstractmethod
    def rate(self) -> float:
        """Long-run arrivals per second, exact."""

    @abstractmethod
    def _scaled(self, factor: float) -> Self:
        """Return the process with `factor` times the rate, for a checked factor."""

    def scaled(self, factor: float) -> Self:
        """Return a process of the same kind with `factor` > 0 times the rate."""
        return self._scaled(positive(factor, "scaling factor"))

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Return the form written to JSON and TOML, e.g. `{"process": "poisson", "rate": 1.0}`."""

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
        if "interarrival" in parameters:
            with inside("interarrival"):
                given = parameters["interarrival"]
                if not isinstance(given, Mapping):
                    raise invalid("interarrival", given, "a distribution")
                parameters["interarrival"] = Distribution.from_dict(given)
        build: Callable[..., Arrivals] = kind
        return build(**parameters)


@final
@dataclass(frozen=True, slots=True, init=False)
class Poisson(Arrivals):
    """Poisson arrivals at `rate` per second."""

    process: ClassVar[str] = "poisson"
    keys: ClassVar[tuple[str, ...]] = ("rate",)

    rate: float = field()

    def __init__(self, rate: float) -> None:
        with inside("rate"):
            object.__setattr__(self, "rate", positive(rate, "arrival rate"))

    def _scaled(self, factor: float) -> Self:
        return type(self)(factor * self.rate)

    def to_dict(self) -> dict[str, object]:
        return {"process": self.process, "rate": self.rate}


@final
@dataclass(frozen=True, slots=True)
class Renewal(Arrivals):
    """Independent times between arrivals with the distribution `interarrival`, in seconds.

    `scaled` compresses time: the same distribution, each time divided by the factor. Times of
    length zero (an `Empirical` distribution with a 0) make jobs arrive together.
    """

    process: ClassVar[str] = "renewal"
    keys: ClassVar[tuple[str, ...]] = ("interarrival",)

    interarrival: Distribution

    def __post_init__(self) -> None:
        if not isinstance(self.interarrival, Distribution):
            allowed = "a distribution such as Gamma(mean=1.0, scv=4.0)"
            raise invalid("interarrival", self.interarrival, allowed)

    @property
    def rate(self) -> float:
        return 1 / self.interarrival.mean

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.interarrival.scaled(1 / factor))

    def to_dict(self) -> dict[str, object]:
        return {"process": self.process, "interarrival": self.interarrival.to_dict()}


@final
@dataclass(frozen=True, slots=True, init=False)
class MarkovModulatedPoisson(Arrivals):
    """Poisson arrivals whose rate follows a Markov chain of n states.

    In state i jobs arrive at `rates[i]` per second (0 is allowed, but not in all states); the chain
    jumps from i to j at `switching[i][j]` per second. The diagonal is ignored and stored as 0.
    Every state must be reachable from every other. `scaled` multiplies the arrival rates and keeps
    the switching rates: the length of a burst does not depend on the load.
    """

    process: ClassVar[str] = "mmpp"
    keys: ClassVar[tuple[str, ...]] = ("rates", "switching")

    rates: tuple[float, ...]
    switching: tuple[tuple[float, ...], ...]
    _rate: float = field(init=False, repr=False, compare=False)

    def __init__(self, rates: Iterable[float], switching: Iterable[Iterable[float]]) -> None:
        with inside("rates"):
            speeds = numbers(rates, "rates of MarkovModulatedPoisson", 0.0)
            if max(speeds) == 0:
                raise ModelError(
                    "at least one rate of MarkovModulatedPoisson must be above 0.",
                    argument="rates",
                    given=speeds,
                    allowed="at least one above 0",
                )
        with inside("switching"):
            jumps = _square(switching, len(speeds))
            shares = _stationary(jumps)
        rate = sum(share * speed for share, speed in zip(shares, speeds, strict=True))
        object.__setattr__(self, "rates", speeds)
        object.__setattr__(self, "switching", jumps)
        object.__setattr__(self, "_rate", rate)

    @property
    def rate(self) -> float:
        return self._rate

    def _scaled(self, factor: float) -> Self:
        return type(self)([factor * speed for speed in self.rates], self.switching)

    def to_dict(self) -> dict[str, object]:
        rows = [list(row) for row in self.switching]
        return {"process": self.process, "rates": list(self.rates), "switching": rows}


PROCESSES: dict[str, type[Arrivals]] = {
    kind.process: kind for kind in (Poisson, Renewal, MarkovModulatedPoisson)
}
"""Every process by its name in files."""


def _square(rows: object, size: int) -> tuple[tuple[float, ...], ...]:
    """Return `size` rows of `size` non-negative numbers, with 0 on the diagonal."""
    what = "switching of MarkovModulatedPoisson"
    allowed = f"{counted(size, 'row')} of {counted(size, 'number')}, one for each of its rates"
    given = items(rows)
    if given is None:
        raise invalid(what, rows, allowed)
    table = [numbers(row, f"row {i} of switching") for i, row in enumerate(given)]
    if [len(row) for row in table] != [size] * size:
        raise invalid(what, table, allowed)
    for i, row in enumerate(table):
        if any(value < 0 for j, value in enumerate(row) if j != i):
            raise invalid(f"row {i} of switching", row, "a list of rates of at least 0")
    return tuple(
        tuple(0.0 if i == j else value for j, value in enumerate(row))
        for i, row in enumerate(table)
    )


def _stationary(jumps: tuple[tuple[float, ...], ...]) -> list[float]:
    """Return the stationary probabilities of the chain with these jump rates.

    By state reduction, which subtracts nothing: Grassmann, Taksar, Heyman, Operations Research 33
    (1985).
    """
    size = len(jumps)
    _refuse_reducible(jumps)
    rates = [list(row) for row in jumps]
    for last in range(size - 1, 0, -1):
        out = sum(rates[last][:last])
        for i in range(last):
            rates[i][last] /= out
            for j in range(last):
                rates[i][j] += rates[i][last] * rates[last][j]
    weights = [1.0]
    for state in range(1, size):
        weights.append(sum(weights[i] * rates[i][state] for i in range(state)))
    total = sum(weights)
    return [weight / total for weight in weights]


def _refuse_reducible(jumps: tuple[tuple[float, ...], ...]) -> None:
    """Raise unless every state leads to every other."""
    states = range(len(jumps))
    for forward in (True, False):
        seen, todo = {0}, [0]
        while todo:
            i = todo.pop()
            new = [j for j in states if (jumps[i][j] if forward else jumps[j][i]) > 0]
            todo += [j for j in new if j not in seen]
            seen.update(new)
        if len(seen) < len(jumps):
            raise ModelError(
                "switching of MarkovModulatedPoisson must lead from every state to every other.",
                argument="switching of MarkovModulatedPoisson",
                given=jumps,
                allowed="a chain that leads from every state to every other",
            )
