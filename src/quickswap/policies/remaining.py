"""The remaining time of a job in service, from the distribution of its size and from its age.

The cumulative hazard of a size x is -log P(S > x), which is x / E[S] for exponential sizes. A job
of age a is still in service after another t seconds with probability e^-h if its hazard at a + t is
that at a plus h. The sizes at equal steps of the hazard therefore contain all that is required, and
between two of them a size is taken to be linear in the hazard. E[(S - x)^+] is then exact for
deterministic sizes, and off by less than 0.3 % for lognormal ones; of sizes with several values
each is spread over a step, which may change it by some per cent.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from functools import lru_cache

from quickswap.model.distributions import Distribution

__all__ = ["STEP", "excess", "sizes_by_hazard"]

STEP = 0.25
"""Step of the hazard in the table."""
STEPS = 128
"""Number of steps: a size is above the table with probability e^-32, about 1e-14."""


@lru_cache(maxsize=256)
def sizes_by_hazard(distribution: Distribution) -> tuple[float, ...]:
    """Return the sizes, in seconds, at which the hazard is 0, STEP, 2 STEP, ..."""
    tails = [math.nextafter(1.0, 0.0), *(math.exp(-STEP * i) for i in range(1, STEPS + 1))]
    return tuple(min(distribution.isf(tail), sys.float_info.max) for tail in tails)


def excess(distribution: Distribution, time: float) -> float:
    """Return E[(S - time)^+] in seconds, the integral of P(S > x) above `time`."""
    sizes = sizes_by_hazard(distribution)
    i = bisect_right(sizes, time)
    if i == 0:
        return distribution.mean - time
    if i == len(sizes):
        return 0.0
    slope = (sizes[i] - sizes[i - 1]) / STEP
    below = math.exp(-STEP * (i - 1) - (time - sizes[i - 1]) / slope)
    return slope * (below - math.exp(-STEP * i)) + _excesses(distribution)[i]


@lru_cache(maxsize=256)
def _excesses(distribution: Distribution) -> list[float]:
    """Return the excess at each size of the table."""
    sizes, total = sizes_by_hazard(distribution), 0.0
    found = [total]
    for i in range(STEPS, 0, -1):
        slope = (sizes[i] - sizes[i - 1]) / STEP
        total += slope * (math.exp(-STEP * (i - 1)) - math.exp(-STEP * i))
        found.append(total)
    return found[::-1]
