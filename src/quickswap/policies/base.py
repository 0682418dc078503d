"""What a description of a policy offers: a name, parameters, and a check against a system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from quickswap.errors import PolicyError, unknown
from quickswap.system import System


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

    @abstractmethod
    def resolve(self, system: System) -> dict[str, object]:
        """Return the name and all parameters in full, as the core and the results have them.

        Raises:
            PolicyError: the policy cannot serve this system, or a parameter does not suit it.
        """

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
    if value not in known:
        unknown(what, value, known, PolicyError)
    return str(value)
