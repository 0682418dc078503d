"""The largest arrival rate that first come, first served can carry, where a formula is known.

FCFS is stable below the throughput of the saturated system, in which somebody always waits
(Baccelli, Foss, "On the saturation rule for the stability of queues", J. Appl. Prob. 32, 1995).
Arrivals are Poisson, so that the classes of successive jobs are independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["one_or_all_rate", "same_law_rate"]


def one_or_all_rate(servers: int, light_share: float, light: float, heavy: float) -> float:
    """Return the limit for jobs that need 1 or all of the servers, in jobs per second.

    Args:
        servers: k.
        light_share: p, the share of light jobs, between 0 and 1.
        light: mean light size in seconds; light sizes are exponential.
        heavy: mean heavy size in seconds, of any law.

    Between two heavy jobs G lights run, geometric; the j-th last of them to leave leaves after a
    time of mean `light / min(j, k)`. So a heavy and its lights take `heavy + light sum_j
    P(G >= j) / min(j, k)`, and there is one heavy in `1 / (1 - p)` jobs.
    """
    p = light_share
    if p == 1:
        return servers / light  # by rounding, no heavy job is ever seen
    waves = math.fsum(p**j / j for j in range(1, servers + 1))
    rest = p ** (servers + 1) / (servers * (1 - p))
    return 1 / ((1 - p) * (heavy + light * (waves + rest)))


def same_law_rate(
    servers: int, needs: Sequence[int], shares: Sequence[float], mean: float
) -> float:
    """Return the limit if all classes have the same exponential size, in jobs per second.

    It is `1 / (mean E[1/M])`, where M of a sequence of independent jobs fit at once: Rumyantsev,
    Morozov, "Stability criterion of a multiserver model with simultaneous service", Annals of
    Operations Research 252 (2017).

    Args:
        servers: k.
        needs: servers needed by each class.
        shares: share of each class among the arrivals; they add up to 1.
        mean: mean size in seconds.
    """
    import numpy as np

    fit = np.zeros(servers + 1)  # fit[s]: probability that the first j jobs need s <= k servers
    fit[0] = 1.0
    inverse, before = 0.0, 1.0
    for j in range(1, servers + 2):
        more = np.zeros(servers + 1)
        for need, share in zip(needs, shares, strict=True):
            more[need:] += share * fit[: servers + 1 - need]
        after = float(more.sum())
        if j > 1:
            inverse += (before - after) / (j - 1)
        if after < 1e-17:
            break
        fit, before = more, after
    return 1 / (mean * inverse)
