"""The description of a policy: a name, parameters, and a check against a system."""

from __future__ import annotations

from abc import ABC
from dataclasses import MISSING, fields, is_dataclass
from typing import ClassVar, final

from quickswap.errors import PolicyError, shown, unknown
from quickswap.model.system import System


class Policy(ABC):
    """The description of a policy of the core: a frozen value with its name and its parameters.

    The docstring states the rule; the core implements it. Notation in the rules: k servers; a job
    of class i needs n_i of them; N_i jobs of class i are present, u_i of them in service;
    c_i = floor(k / n_i). Ties go to the older job. The concrete policies are final.
    """

    __slots__ = ()

    name: ClassVar[str]
    """Name in results and on the command line."""
    title: ClassVar[str]
    """Name in tables and figures."""
    preemptive: ClassVar[bool] = False
    """Whether it interrupts jobs in service."""
    estimates: ClassVar[bool] = False
    """Whether it uses the estimated sizes of jobs."""
    individual: ClassVar[bool] = False
    """Whether it uses individual jobs, not only counts and the heads of line."""
    random: ClassVar[bool] = False
    """Whether it draws random numbers."""
    lists: ClassVar[tuple[str, ...]] = ()
    """Parameters that hold a list, even of one item."""

    @final
    def resolve(self, system: System) -> dict[str, object]:
        """Return the name and all parameters in full, in the form of the core and of results.

        Raises:
            PolicyError: the policy cannot serve this system, or a parameter does not suit it.
        """
        if not isinstance(system, System):
            raise PolicyError(
                f"a policy serves a System, not {shown(system)}.",
                argument="system",
                given=system,
                allowed="a System",
            )
        return {"name": self.name, **self._parameters(system)}

    @property
    def uses_estimates(self) -> bool:
        """Whether it uses the estimates of a log in a replay: always, or to backfill."""
        return self.estimates or any(getattr(self, name, 0) for name in ("backfill", "overrun"))

    @property
    def knows_sizes(self) -> bool:
        """Whether the sizes of jobs decide in a simulation, as their estimates depend on them."""
        return self.estimates

    @property
    def costly(self) -> bool:
        """Whether interruptions cost time, or are not possible at any time."""
        return any(getattr(self, name, 0) for name in ("overhead", "minimum", "restart"))

    def parameters(self, system: System | None = None) -> dict[str, bool | float | str]:
        """Return the parameters as cells of a table, a list as text; on a system in full.

        Raises:
            PolicyError: as `resolve`.
        """
        full = {} if system is None else self.resolve(system)
        cells: dict[str, bool | float | str] = {}
        for name in (each.name for each in fields(self)):  # type: ignore[arg-type]  # all are dataclasses
            value = full.get(name, getattr(self, name))
            if isinstance(value, list | tuple):
                value = "+".join(map(str, value))
            if isinstance(value, bool | int | float | str):
                cells[name] = value
        return cells

    def _parameters(self, system: System) -> dict[str, object]:
        """Return the parameters in full; raise PolicyError if they do not suit the system."""
        return {}

    @property
    def label(self) -> str:
        """Name and parameters for tables, e.g. "MSFQ(31)"."""
        details = ", ".join(self._details())
        gap = " " if " " in self.title else ""
        return f"{self.title}{gap}({details})" if details else self.title

    def _spelling(self) -> str | None:
        """Return the policy as text, if it is not a name and parameters."""
        return None

    def _details(self) -> list[str]:
        """Return the parameters worth showing in a table."""
        return []


def choice(value: object, what: str, known: tuple[str, ...]) -> str:
    """Return `value` if it is one of the known choices."""
    if not isinstance(value, str) or value not in known:
        unknown(what, value, known, PolicyError, argument=what)
    return value


def not_a_policy(given: object) -> PolicyError:
    """Return the error about an object that is not a policy."""
    allowed = "a policy of quickswap, its spelling, or an object with a method start(view)"
    fault, advice = f"{shown(given)} is not a policy", f"pass {allowed}"
    if isinstance(given, type):
        known = issubclass(given, Policy) and given is not Policy
        parameters = fields(given) if is_dataclass(given) else ()
        required = ", ".join(f"{each.name}=8" for each in parameters if each.default is MISSING)
        if known or callable(getattr(given, "start", None)):
            fault = f"{given.__name__} is a class"
            advice = f"pass an instance, as in {'qs.' if known else ''}{given.__name__}({required})"
    message = f"{fault}: {advice}."
    return PolicyError(message, argument="policy", given=given, allowed=allowed, advice=advice)
