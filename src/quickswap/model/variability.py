"""How variable the load is: what the moments of a model say about the length a run must have.

Waiting times come from large sizes. The mean wait of a single server in order of arrival is
proportional to E[S^2] (Pollaczek and Khinchin), and the variance of the waiting time is finite only
if E[S^3] is: Asmussen, "Applied Probability and Queues", 2nd ed., ch. X.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from quickswap.model.arrivals import Renewal
from quickswap.model.jobclass import JobClass
from quickswap.model.system import System

__all__ = ["bursty", "dispersion", "heavy", "remarks", "scatter"]


def dispersion(system: System) -> float:
    """Return the variance of the load that arrives in a second, asymptotically.

    That of renewal reward processes; bursts of modulated arrivals are not in it.
    """
    return math.fsum(map(_dispersion, system.classes)) / system.servers**2


def _dispersion(each: JobClass) -> float:
    arrivals, size = each.arrivals, each.size
    scv = arrivals.interarrival.scv if isinstance(arrivals, Renewal) else 1.0
    return each.arrival_rate * float(each.need) ** 2 * (size.variance + scv * size.mean**2)


def scatter(system: System, order: int) -> float:
    """Return how far a sum of powers of what arrives in a second scatters.

    The variance of the sum of (need x size)^order over the square of its mean, in seconds; infinite
    where a moment is.
    """
    mean, square = (
        math.fsum(c.arrival_rate * float(c.need) ** p * c.size.moment(p) for c in system.classes)
        for p in (order, 2 * order)
    )
    return square / mean**2 if math.isfinite(square) and mean > 0 else math.inf


def heavy(system: System) -> bool:
    """Whether sizes are so heavy-tailed that waiting times have infinite variance."""
    return any(math.isinf(each.size.moment(3)) for each in system.classes)


def bursty(system: System) -> bool:
    """Whether times between arrivals have infinite variance, so that time averages do not."""
    return any(_bursty(each) for each in system.classes)


def _bursty(each: JobClass) -> bool:
    return isinstance(each.arrivals, Renewal) and math.isinf(each.arrivals.interarrival.variance)


WITHHELD = "so that means carry no interval"


def remarks(system: System) -> Iterator[str]:
    """Yield what is to be known of a system before its results are used, a sentence each."""
    for each in system.classes:
        size = each.size
        if math.isinf(size.variance):
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
                f"times between arrivals of {each.name} have infinite variance, so that averages "
                "over time carry no interval."
            )
