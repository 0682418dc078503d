"""A lower bound on the mean response time of given jobs under all schedules.

Let a server-second cost pi(t) at time t, with any prices pi >= 0. In every schedule, preemptive or
not, job j has its n_j servers for S_j seconds between its arrival and its completion. Its response
time plus what it pays is therefore at least c_j(pi), the smallest such sum of a job that is alone
and may choose its seconds. All jobs together never use more than the k servers, so they pay at most
k times the integral of pi, and

    sum_j T_j >= sum_j c_j(pi) - k * integral of pi(t) dt.

Every choice of prices gives a bound: with prices of 0 the sum of the sizes. This is the Lagrangian
dual of the problem (Fisher, Management Science 27 (1), 1981), and the bound is concave in the
prices. They start as those of one machine that is k times as fast, and rise where the jobs then use
more than k servers, and fall where they use less. The page "Theory" has the details.
"""

from __future__ import annotations

import math

import numpy as np

from quickswap.engine._core import cheapest_service, smallest_first
from quickswap.replays.schedule import Floats, Ints

__all__ = ["mean_response_bound"]

EDGES = 2000
"""Number of edges from each of three sources."""
CROSSED, CROSSINGS = 10, 200_000
"""Intervals that a job may use on average, and all jobs together; one of the two is kept to."""
FEWEST, MOST, UPDATES = 12, 40, 5_000_000
"""Smallest and largest number of changes of the prices; between them, changes times jobs."""
MOMENTUM, SCALE = 0.8, 0.3
"""Weight of former directions in a change, and share of the first prices in its length."""


def mean_response_bound(servers: int, arrival: Floats, need: Ints, size: Floats) -> float:
    """Return a lower bound on the mean response time of all schedules, seconds; nan without jobs.

    Args:
        servers: servers of the machine.
        arrival: arrivals of the jobs in ascending order, seconds.
        need: server needs.
        size: service times, seconds.
    """
    if not len(size):
        return math.nan
    total = float(size.sum())
    served = size > 0  # a job of size 0 may complete when it arrives
    jobs = arrival[served], need[served].astype(float), size[served]
    return max(total, _dual(servers, *jobs) if total else 0.0) / len(size)


def _dual(servers: int, arrival: Floats, need: Floats, size: Floats) -> float:
    """Return the largest bound on the sum of the response times in the search for prices."""
    work = need * size
    edges = _edges(servers, arrival, size, work)
    capacity = servers * np.diff(edges)
    prices = _prices_of_one_machine(servers, arrival, work, edges)
    step = size.sum() / work.sum() + SCALE * prices
    direction = np.zeros_like(prices)
    bound = 0.0
    for i in range(min(MOST, max(FEWEST, UPDATES // len(size)))):
        cost, demand = cheapest_service(edges, prices, arrival, need, size)
        bound = max(bound, cost - float(prices @ capacity))
        gradient = demand / capacity - 1
        gradient[(prices == 0) & (gradient < 0)] = 0
        direction = MOMENTUM * direction + (1 - MOMENTUM) * gradient
        prices = np.maximum(0, prices + step / math.sqrt(1 + i) * direction)
    return bound


def _edges(servers: int, arrival: Floats, size: Floats, work: Floats) -> Floats:
    """Return the edges of the intervals in which prices are constant.

    They are dense where jobs arrive and where they complete if none waits, and cover the time until
    one machine that is as fast as all servers completes all jobs.
    """
    done = np.cumsum(work) / servers
    cleared = done + np.maximum.accumulate(arrival - done + work / servers)
    cleared = cleared[np.searchsorted(arrival, arrival, side="right") - 1]
    end = arrival + size
    levels = np.linspace(0, 1, EDGES)
    known = [np.quantile(times, levels, method="nearest") for times in (arrival, end)]
    last = max(cleared[-1], end.max())
    edges = np.unique(np.concatenate([np.linspace(arrival[0], last, EDGES), *known]))
    # the time of the search grows with the number of intervals that jobs may use
    used = np.searchsorted(edges, np.maximum(cleared, end)) - np.searchsorted(edges, arrival)
    step = math.ceil(used.sum() / max(CROSSED * len(size), CROSSINGS))
    return np.append(edges[: -1 : max(1, step)], edges[-1])


def _prices_of_one_machine(servers: int, arrival: Floats, work: Floats, edges: Floats) -> Floats:
    """Return the mean optimal prices between the edges on a machine as fast as all servers."""
    time, price = smallest_first(servers, arrival, work).T
    integral = np.append(0, np.cumsum(np.diff(time) * (price[1:] + price[:-1]) / 2))
    prices: Floats = np.diff(np.interp(edges, time, integral)) / np.diff(edges)
    return np.maximum(0, prices)
