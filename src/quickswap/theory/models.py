"""The systems that a solution covers, and the sentence for those that it does not."""

from __future__ import annotations

from dataclasses import dataclass

from quickswap.errors import ModelError, UnstableError
from quickswap.model.arrivals import Poisson
from quickswap.model.distributions import Exponential
from quickswap.model.system import System

__all__ = [
    "OneOrAll",
    "check_load",
    "check_markovian",
    "exclusive",
    "is_exclusive",
    "markovian",
    "one_or_all",
    "poisson",
]


@dataclass(frozen=True, slots=True)
class OneOrAll:
    """A one-or-all system in the paper's notation; rates per second.

    Attributes:
        k: slots, the most light jobs in service at once; all servers in a one-or-all system.
        l1: arrival rate of light jobs.
        lk: arrival rate of heavy jobs.
        m1: rate at which a light job in service completes.
        mk: rate at which a heavy job in service completes.
        light: place of the light class in the system.
    """

    k: int
    l1: float
    lk: float
    m1: float
    mk: float
    light: int

    @property
    def light_load(self) -> float:
        """rho_L = l1 / (k m1), the load of light jobs."""
        return self.l1 / (self.k * self.m1)

    @property
    def heavy_load(self) -> float:
        """rho_H = lk / mk, the load of heavy jobs."""
        return self.lk / self.mk

    @property
    def load(self) -> float:
        """The load rho, the sum of both."""
        return self.light_load + self.heavy_load

    def ordered(self, light: float, heavy: float) -> tuple[float, float]:
        """Put values of the two classes into the order of the system."""
        return (light, heavy) if self.light == 0 else (heavy, light)


def poisson(system: System) -> bool:
    """Return whether all arrivals are Poisson."""
    return all(isinstance(each.arrivals, Poisson) for each in system.classes)


def markovian(system: System) -> bool:
    """Return whether all arrivals are Poisson and all sizes exponential."""
    return poisson(system) and all(isinstance(each.size, Exponential) for each in system.classes)


def check_markovian(system: System, what: str) -> None:
    """Refuse a system with other than Poisson arrivals and exponential sizes.

    Raises:
        ModelError: names the first class that does not fit; `what` begins the sentence.
    """
    for each in system.classes:
        for distribution, wanted in ((each.arrivals, Poisson), (each.size, Exponential)):
            if not isinstance(distribution, wanted):
                raise ModelError(
                    f"{what} is for Poisson arrivals and exponential sizes; class {each.name!r} "
                    f"has {distribution!r}: simulate it instead."
                )


def check_load(load: float, rate: float, what: str) -> None:
    """Refuse a load of 1 or more.

    Raises:
        UnstableError: says below which arrival rate, of now `rate` per second, it is stable.
    """
    if load >= 1:
        raise UnstableError(
            f"{what} has no mean response time at load {load:.6g}: the load must be below 1, "
            f"which an arrival rate below {rate / load:.6g} gives."
        )


def one_or_all(system: System, what: str) -> OneOrAll:
    """Read a one-or-all system with Poisson arrivals and exponential sizes.

    Raises:
        ModelError: the system is another one; `what` begins the sentence.
    """
    if not system.one_or_all:
        needs = ", ".join(str(need) for need in system.needs)
        raise ModelError(
            f"{what} is for two classes, one that needs 1 server and one that needs all "
            f"{system.servers}; this system has needs {needs}."
        )
    check_markovian(system, what)
    return _read(system, system.needs.index(1), system.servers)


def exclusive(system: System, what: str) -> OneOrAll:
    """Read a system of lights, c at a time, and heavies, one at a time and with no light beside.

    Such a system behaves as a one-or-all system of c = floor(k / need of a light) servers.

    Raises:
        ModelError: the system is another one; `what` begins the sentence.
    """
    k = system.servers
    if not is_exclusive(system):
        given = ", ".join(str(need) for need in system.needs)
        raise ModelError(
            f"{what} is for two classes of which the larger takes the {k} servers for itself: "
            f"one that needs 1 server and one that needs all, or a larger one that fits neither "
            f"twice nor beside the smaller; this system has needs {given}."
        )
    check_markovian(system, what)
    least = min(system.needs)
    return _read(system, system.needs.index(least), k // least)


def is_exclusive(system: System) -> bool:
    """Return whether there are two classes, the larger of which leaves room for nobody else."""
    needs = sorted(system.needs)
    return (
        len(needs) == 2 and needs[0] < needs[1] and min(2 * needs[1], sum(needs)) > system.servers
    )


def _read(system: System, light: int, slots: int) -> OneOrAll:
    small, large = system.classes[light], system.classes[1 - light]
    return OneOrAll(
        k=slots,
        l1=small.arrival_rate,
        lk=large.arrival_rate,
        m1=1 / small.size.mean,
        mk=1 / large.size.mean,
        light=light,
    )
