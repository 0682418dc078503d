"""The variability of the load, which determines how long a run must be.

Under FCFS on one server the mean waiting time is proportional to E[S^2] (Pollaczek and Khinchine),
and the variance of the waiting time is finite only if E[S^3] is: Asmussen, "Applied Probability and
Queues", 2nd ed., ch. X.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from quickswap.model.arrivals import Renewal
from quickswap.model.jobclass import JobClass
from quickswap.model.system import System

__all__ = ["bursty", "dispersion", "heavy", "remarks", "scatter", "tail_scatter"]


def dispersion(system: System) -> float:
    """Return the asymptotic variance of the work that arrives, over k^2, per second.

    It is the variance of a renewal-reward process, lambda need^2 (Var S + scv E[S]^2) for each
    class, with scv that of the times between arrivals. Modulated arrivals count as Poisson.
    """
    return math.fsum(map(_dispersion, system.classes)) / system.servers**2


def _dispersion(each: JobClass) -> float:
    arrivals, size = each.arrivals, each.size
    scv = arrivals.interarrival.scv if isinstance(arrivals, Renewal) else 1.0
    return each.arrival_rate * float(each.need) ** 2 * (size.var + scv * size.mean**2)


def scatter(system: System, order: int) -> float:
    """Return the squared coefficient of variation of the sum of (need x size)^order over arrivals.

    For arrivals of one second, in seconds; over t seconds it is this value over t. Infinite if a
    moment is.
    """
    mean, square = (
        math.fsum(c.arrival_rate * float(c.need) ** p * c.size.moment(p) for c in system.classes)
        for p in (order, 2 * order)
    )
    return square / mean**2 if math.isfinite(square) and mean > 0 else math.inf


def tail_scatter(system: System) -> float:
    """Return the part of `scatter(system, 2)` by which sizes are more variable than exponential.

    The fourth moment of an exponential size is six times the square of its second moment.
    """
    mean = math.fsum(c.arrival_rate * float(c.need) ** 2 * c.size.moment(2) for c in system.classes)
    excess = math.fsum(
        c.arrival_rate * float(c.need) ** 4 * max(c.size.moment(4) - 6 * c.size.moment(2) ** 2, 0.0)
        for c in system.classes
        if math.isfinite(c.size.moment(2))
    )
    return excess / mean**2 if math.isfinite(mean) and mean > 0 else math.inf


def heavy(system: System) -> bool:
    """Return whether the tail of a size is so heavy that waiting times have infinite variance."""
    return any(math.isinf(each.size.moment(3)) for each in system.classes)


def bursty(system: System) -> bool:
    """Return whether times between arrivals have infinite variance."""
    return any(_bursty(each) for each in system.classes)


def _bursty(each: JobClass) -> bool:
    return isinstance(each.arrivals, Renewal) and math.isinf(each.arrivals.interarrival.var)


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
        if _bursty(each):
            yield (
                f"times between arrivals of {each.name} have infinite variance, so averages "
                "over time have no interval."
            )
