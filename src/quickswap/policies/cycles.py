"""The schedules of nMSR and the mean time of their cycle.

Source of the policy: Chen, Grosof, Berg, "Improving multiresource job scheduling with Markovian
service rate policies", Proc. ACM Meas. Anal. Comput. Syst. 9 (2025). The approximation of the best
cycle is not published elsewhere.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

from quickswap.errors import PolicyError
from quickswap.model.system import System

__all__ = ["Schedules", "best_cycle", "schedules"]

Schedules = tuple[tuple[tuple[int, ...], float], ...]
"""For each schedule, the jobs of each class in service and the share of the time."""

SMALL = 0.001
"""Shares below this are dropped if that lowers the ratio of service to load by less than this."""
OVERLOAD = 0.95
"""If no policy is stable, the cycle is that at this share of the capacity."""
STEP = 1.02
"""Ratio between the cycles that are compared: the minimum is flat."""


def schedules(system: System) -> Schedules:
    """Return the schedules, in the order of the cycle: the most jobs of the largest need first.

    Raises:
        PolicyError: a class has so small a share of the load that it is in no schedule.
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
                f"NMSR has no schedule for class {name!r}, as its share of the load is too small: "
                "leave the class out, or merge it with another.",
                argument="system",
                given=name,
                advice="leave the class out, or merge it with another",
            )
    by_need = sorted(range(len(needs)), key=lambda i: -needs[i])
    return tuple(sorted(mix, key=lambda each: [-each[0][i] for i in by_need]))


def _ratios(mix: list[tuple[tuple[int, ...], float]], works: tuple[float, ...]) -> list[float]:
    """Return the mean number of jobs of each class in service, relative to its load."""
    rows = enumerate(works)
    return [math.fsum(share * jobs[i] for jobs, share in mix) / work for i, work in rows]


def best_cycle(system: System, found: Schedules) -> float:
    """Return the mean time of a cycle, seconds, that about minimises the mean response time.

    A cycle of mean c + L consists of the times in the schedules, c x share_s with v_s jobs in
    service, and of changes of total mean L. A change from v to w takes the time until all but w of
    v exponential services have ended, for the class for which this takes longest on average. Let
    every class be served as if jobs of it always waited. Its service rate is

        r = (c sum_s share_s v_s / E[S] + jobs that end in changes) / (c + L).

    Arrivals have the variance l per second, completions r, and the random times of the cycle add s:
    the variance of a renewal-reward process, in which a time in schedule s serves at v_s / E[S] in
    place of r and has the variance (c share_s)^2, and a change serves at 0. The diffusion with
    drift l - r and variance l + r + s, reflected at 0, has the mean (l + r + s) / (2 (r - l)); it
    is infinite if r <= l. The sum over the classes is minimised over c.
    """
    import numpy as np

    if len(found) == 1:
        return max(
            each.size.mean for each in system.classes
        )  # a single schedule: any cycle will do
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
    # from a small share of the changes to many times the shortest stable cycle
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
