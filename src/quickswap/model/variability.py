"""The variability of the load, which determines how long a run must be.

Under FCFS on one server the mean waiting time is proportional to E[S^2] (Pollaczek and Khinchine),
and the variance of the waiting time is finite only if E[S^3] is: Asmussen, "Applied Probability and
Queues", 2nd ed., ch. X.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from quickswap.model.jobclass import JobClass
from quickswap.model.system import System

__all__ = ["bursty", "dispersion", "heavy", "remarks", "scatter"]


def dispersion(system: System) -> float:
    """Return the asymptotic variance of the work that arrives, over k^2, per second.

    It is the variance of the sum of a random number of terms, lambda need^2 (Var S + I E[S]^2) for
    each class, with I the dispersion of its arrivals.
    """
    return math.fsum(map(_dispersion, system.classes)) / system.servers**2


def _dispersion(each: JobClass) -> float:
    spread = each.size.var + each.arrivals.dispersion * each.size.mean**2
    return each.arrival_rate * float(each.need) ** 2 * spread


def scatter(system: System, order: int, less: float = 0.0) -> float:
    """Return the squared coefficient of variation of the sum of (need x size)^order over arrivals.

    For arrivals of one second, in seconds; over t seconds it is this value over t. Infinite if a
    moment is.

    Args:
        system: whose jobs arrive.
        order: of the moment.
        less: part that is left out in each class, times the square of its moment. With order 2 and
            6.0 the rest is the part by which sizes are more variable than exponential sizes, whose
            E[S^4] is 6 E[S^2]^2.
    """
    unit = max(each.size.mean for each in system.classes)
    usual = 1e-15 < unit < 1e15  # powers of other sizes in seconds overflow or underflow
    mean = square = 0.0
    for each in system.classes:
        size = each.size if usual else each.size.scaled(1 / unit)
        moment = size.moment(order)
        if math.isinf(moment):
            return math.inf
        power = float(each.need) ** order
        mean += each.arrival_rate * power * moment
        rest = max(size.moment(2 * order) - less * moment**2, 0.0)
        square += each.arrival_rate * power**2 * rest
    return square / mean**2


def heavy(system: System) -> bool:
    """Return whether the tail of a size is so heavy that waiting times have infinite variance."""
    return any(math.isinf(each.size.moment(3)) for each in system.classes)


def bursty(system: System) -> bool:
    """Return whether times between arrivals have infinite variance."""
    return any(math.isinf(each.arrivals.dispersion) for each in system.classes)


WITHHELD = "so means have no interval"


def remarks(system: System) -> Iterator[str]:
    """Yield a sentence for each property of a system that limits the use of its results."""
    for each in system.classes:
        size = each.size
        if math.isinf(size.var):
            yield (
                f"sizes of {each.name} have infinite variance: the mean waiting time can be "
                f"infinite, {WITHHELD}."
            )
        elif math.isinf(size.moment(3)):
            yield (
                f"sizes of {each.name} have an infinite third moment: waiting times can have "
                f"infinite variance, {WITHHELD}."
            )
        if math.isinf(each.arrivals.dispersion):
            yield (
                f"times between arrivals of {each.name} have infinite variance, so averages "
                "over time have no interval."
            )
        if each.arrivals.cycle:
            yield (
                f"arrivals of {each.name} repeat every {each.arrivals.cycle:g} s: estimates are "
                "averages over these cycles, of which a run should contain many."
            )
