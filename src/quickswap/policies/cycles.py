"""The schedules of nMSR, and how long to stay in them.

Source of the policy: Chen, Grosof, Berg, "Improving multiresource job scheduling with Markovian
service rate policies", Proc. ACM Meas. Anal. Comput. Syst. 9 (2025). The approximation of the best
cycle is ours.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

from quickswap.errors import PolicyError
from quickswap.model.system import System

__all__ = ["Schedules", "best_cycle", "schedules"]

Schedules = tuple[tuple[tuple[int, ...], float], ...]
"""Jobs of each class in service, and share of the time, of each schedule."""

SMALL = 0.001
"""Shares below this are dropped, and of the ratio of service to load it may cost as much."""
OVERLOAD = 0.95
"""Where no policy is stable, the cycle is that of a load of this share of what can be carried."""
STEP = 1.02
"""The cycles looked at are a factor apart: the minimum is flat."""


def schedules(system: System) -> Schedules:
    """Return the schedules, in the order of the cycle: the most jobs of the largest need first.

    Raises:
        PolicyError: a class has so little load beside the others that it gets no schedule.
    """
    works = [each.arrival_rate * each.size.mean for each in system.classes]
    return _schedules(system.servers, system.needs, tuple(works), system.names)


@lru_cache(maxsize=64)
def _schedules(
    servers: int, needs: tuple[int, ...], works: tuple[float, ...], names: tuple[str, ...]
) -> Schedules:
    from quickswap.model.capacity import best_mix

    mix = best_mix(servers, needs, works)
    least = (1 - SMALL) * min(_ratios(mix, works))
    for small in sorted((each for each in mix if each[1] < SMALL), key=lambda each: each[1]):
        without = [each for each in mix if each is not small]
        total = math.fsum(share for _, share in without)
        without = [(jobs, share / total) for jobs, share in without]
        if min(_ratios(without, works)) >= least:
            mix = without
    for name, ratio in zip(names, _ratios(mix, works), strict=True):
        if ratio <= 0:
            raise PolicyError(
                f"NMSR finds no schedule for class {name!r}, whose load is too small beside the "
                "others: leave it out, or join it with another."
            )
    by_need = sorted(range(len(needs)), key=lambda i: -needs[i])
    return tuple(sorted(mix, key=lambda each: [-each[0][i] for i in by_need]))


def _ratios(mix: list[tuple[tuple[int, ...], float]], works: tuple[float, ...]) -> list[float]:
    """Return the jobs of each class in service on average, in shares of its load."""
    rows = enumerate(works)
    return [math.fsum(share * jobs[i] for jobs, share in mix) / work for i, work in rows]


def best_cycle(system: System, found: Schedules) -> float:
    """Return the mean time of a round, seconds, with about the least mean response time.

    A round consists of the times in the schedules, c shares, and of the changes between them. A
    change from v to w takes the time until, of v exponential services, all but w have ended, for
    the class for which this is longest on average. Each class is taken to be served as if it always
    had somebody waiting: per round its jobs at work for c seconds, and those that end during
    changes. Its mean number in system is then that of a diffusion with this rate and the variance
    of arrivals, services and the times of the round (a renewal-reward process),
    (l + r + s) / (2 (r - l)), infinite if r <= l. The sum over the classes is minimised over c.
    """
    import numpy as np

    if len(found) == 1:
        return max(each.size.mean for each in system.classes)  # nothing ever changes
    means = np.array([each.size.mean for each in system.classes])
    arrivals = np.array([each.arrival_rate for each in system.classes])
    jobs = np.array([row for row, _ in found], dtype=float)
    shares = np.array([share for _, share in found])
    ratio = float(np.min(shares @ jobs / (arrivals * means)))
    if ratio <= 1:
        arrivals = arrivals * OVERLOAD * ratio
        ratio = 1 / OVERLOAD
    changes = [_change(v, w, means) for (v, _), (w, _) in pairwise([*found, found[0]])]
    lost, spread = (math.fsum(each) for each in zip(*changes, strict=True))
    ended = np.maximum(jobs - np.roll(jobs, -1, axis=0), 0).sum(axis=0)
    # from a small share of the changes on, to many times the cycle that only just is stable
    span = np.log(np.array([1e-2, 1e3 / (ratio - 1)]) * max(lost, float(means.min())))
    cycles = np.exp(np.arange(span[0], span[1], math.log(STEP)))[:, None]
    served = (cycles * (shares @ jobs / means) + ended) / (cycles + lost)
    speeds = jobs[:, None, :] / means - served  # schedules x cycles x classes
    noise = np.square(speeds * (shares[:, None] * cycles.T)[:, :, None]).sum(axis=0)
    noise = (noise + np.square(served) * spread) / (cycles + lost)
    with np.errstate(divide="ignore", invalid="ignore"):
        number = (arrivals + served + noise) / (2 * (served - arrivals))
    number = np.where(served > arrivals, number, np.inf).sum(axis=1)
    return float(cycles[np.argmin(number), 0])


def _change(v: tuple[int, ...], w: tuple[int, ...], means: object) -> tuple[float, float]:
    """Return mean and variance of the time from schedule v to w, as `best_cycle` takes it."""
    import numpy as np

    longest = (0.0, 0.0)
    for more, less, mean in zip(v, w, np.asarray(means), strict=True):
        steps = mean / np.arange(less + 1, more + 1)
        longest = max(longest, (float(steps.sum()), float(np.square(steps).sum())))
    return longest
