"""What a description of a policy offers: a name, parameters, and a check against a system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import MISSING, fields, is_dataclass
from typing import ClassVar, final

from quickswap.errors import PolicyError, shown, unknown
from quickswap.model.system import System
from quickswap.policies.draining import WITH


class Policy(ABC):
    """A policy of the core: a frozen value that names it and its parameters, and decides nothing.

    The rule is in the docstring, the decisions are in the core. Notation in the rules: k servers;
    class i needs n_i of them; N_i jobs of class i are present, u_i of them in service;
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
    """Whether it looks at the estimated sizes of jobs."""
    random: ClassVar[bool] = False
    """Whether it draws random numbers."""
    lists: ClassVar[tuple[str, ...]] = ()
    """Parameters that hold a list, even of one item."""

    @final
    def resolve(self, system: System) -> dict[str, object]:
        """Return the name and all parameters in full, as the core and the results have them.

        Raises:
            PolicyError: the policy cannot serve this system, or a parameter does not suit it.
        """
        if not isinstance(system, System):
            raise PolicyError(f"a policy serves a System, not {shown(system)}.")
        parameters = self._parameters(system)
        backfills = "horizons" in parameters
        return {"name": f"{self.name}{WITH}" if backfills else self.name, **parameters}

    @abstractmethod
    def _parameters(self, system: System) -> dict[str, object]:
        """Return the parameters in full; raise PolicyError if they do not suit the system."""

    @property
    def label(self) -> str:
        """Name and parameters for tables, e.g. "MSFQ(31)"."""
        details = ", ".join(self._details())
        gap = " " if " " in self.title else ""
        return f"{self.title}{gap}({details})" if details else self.title

    def _details(self) -> list[str]:
        """Return the parameters worth showing in a table."""
        return []


def choice(value: object, what: str, known: tuple[str, ...]) -> str:
    """Return `value` if it is one of the known words."""
    if not isinstance(value, str) or value not in known:
        unknown(what, value, known, PolicyError)
    return value


def no_policy(given: object) -> str:
    """Return the sentence about what was given in place of a policy."""
    known = isinstance(given, type) and issubclass(given, Policy) and given is not Policy
    if isinstance(given, type) and (known or callable(getattr(given, "start", None))):
        prefix = "qs." if known else ""
        needed = ", ".join(f"{field}=8" for field in _needed(given))
        return (
            f"the class {given.__name__} is no policy: give one built from it, as in "
            f"{prefix}{given.__name__}({needed})."
        )
    return (
        f"{shown(given)} is no policy: give one of quickswap's, its spelling, or an object with a "
        "method start(view)."
    )


def _needed(kind: type) -> list[str]:
    """Return the parameters of a policy of quickswap that have no default."""
    if not is_dataclass(kind):
        return []
    return [field.name for field in fields(kind) if field.default is MISSING]
