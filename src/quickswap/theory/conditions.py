"""The conditions under which a solution applies, and the error if a system does not meet them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from quickswap.errors import ModelError, UnstableError, shown
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
    "nested",
    "one_or_all",
    "poisson",
]


@dataclass(frozen=True, slots=True)
class OneOrAll:
    """A one-or-all system in the paper's notation; rates per second.

    Attributes:
        k: slots, the most light jobs in service at once; the number of servers if the light need
            is 1.
        l1: arrival rate of light jobs.
        lk: arrival rate of heavy jobs.
        m1: rate at which a light job in service completes.
        mk: rate at which a heavy job in service completes.
        light: position of the light class in the system.
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
        """Return the values of the two classes in the order of the system."""
        return (light, heavy) if self.light == 0 else (heavy, light)


def poisson(system: System) -> bool:
    """Return whether all arrivals are Poisson."""
    return all(isinstance(each.arrivals, Poisson) for each in system.classes)


def markovian(system: System) -> bool:
    """Return whether all arrivals are Poisson and all sizes exponential."""
    return poisson(system) and all(isinstance(each.size, Exponential) for each in system.classes)


def nested(system: System) -> bool:
    """Return whether each need divides the next larger one, and the largest one the servers."""
    chain = [*sorted(set(system.needs)), system.servers]
    return all(more % less == 0 for less, more in pairwise(chain))


def check_markovian(system: System, what: str) -> None:
    """Check that arrivals are Poisson and sizes exponential.

    Raises:
        ModelError: they are not; the message begins with `what` and names the first such class.
    """
    for each in system.classes:
        for distribution, wanted in ((each.arrivals, Poisson), (each.size, Exponential)):
            if not isinstance(distribution, wanted):
                raise ModelError(
                    f"{what} requires Poisson arrivals and exponential sizes; class {each.name!r} "
                    f"has {shown(distribution)}: simulate the system instead.",
                    argument=f"system.{'arrivals' if wanted is Poisson else 'size'}",
                    given=distribution,
                    allowed="Poisson" if wanted is Poisson else "exponential",
                )


def check_load(load: float, rate: float, what: str) -> None:
    """Check that the load, at `rate` arrivals per second, is below 1.

    Raises:
        UnstableError: it is not; the message gives the arrival rate below which it is.
    """
    if load >= 1:
        raise UnstableError(
            f"{what} has no mean response time at load {load:.6g}: the load must be below 1, "
            f"and so the arrival rate below {rate / load:.6g}.",
            argument="arrival_rate",
            given=rate,
            allowed=f"below {rate / load:.6g}",
        )


def one_or_all(system: System, what: str) -> OneOrAll:
    """Return the rates of a one-or-all system with Poisson arrivals and exponential sizes.

    Raises:
        ModelError: the system is not of this kind; the message begins with `what`.
    """
    if not system.one_or_all:
        needs = ", ".join(str(need) for need in system.needs)
        raise ModelError(
            f"{what} requires two classes, one that needs 1 server and one that needs all "
            f"{system.servers}; this system has needs {needs}.",
            argument="system.needs",
            given=system.needs,
            allowed=f"1 and {system.servers}",
        )
    check_markovian(system, what)
    return _read(system, system.needs.index(1), system.servers)


def exclusive(system: System, what: str) -> OneOrAll:
    """Return the rates of a system in which c light jobs run at a time, or one heavy job alone.

    It behaves as a one-or-all system of c = floor(k / need of a light job) servers.

    Raises:
        ModelError: the system is not of this kind; the message begins with `what`.
    """
    k = system.servers
    if not is_exclusive(system):
        given = ", ".join(str(need) for need in system.needs)
        raise ModelError(
            f"{what} requires two classes, of which a job of the larger need runs alone on the {k} "
            "servers, as it fits neither twice nor together with a smaller job; this system has "
            f"needs {given}.",
            argument="system.needs",
            given=system.needs,
            allowed=f"two, of which the sum and twice the larger are above {k}",
        )
    check_markovian(system, what)
    least = min(system.needs)
    return _read(system, system.needs.index(least), k // least)


def is_exclusive(system: System) -> bool:
    """Return whether there are two classes, and a job of the larger need always runs alone."""
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
