"""The capacity: the largest arrival rate at which some policy is stable, at a given mix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Needs = NDArray[np.int64]

__all__ = ["best_mix", "largest_rate"]

GAP = 1e-8
"""Relative width of the bracket around the solution at which the search ends."""
EXTRA = 30
"""Largest number of packings added in a round in addition to the best one."""
EFFORT = 2e8
"""Largest number of knapsack cells filled: some seconds, reached with thousands of needs only."""


def largest_rate(servers: int, needs: Sequence[int], works: Sequence[float]) -> float:
    """Return the supremum of the total arrival rates at which some policy is stable.

    Args:
        servers: k.
        needs: servers needed by a job of each class, from 1 to k.
        works: share of the class among arrivals times its mean size, in seconds, positive.

    The policy may be preemptive or not. At rate r, class i has `r works[i]` jobs in service on
    average (Little's law), and the jobs in service are a packing v at any time: whole numbers with
    `sum needs[i] v[i] <= k`. So a policy is stable at r only if (r works) is at most a convex
    combination of packings. If every need divides k, that is `r sum needs works <= k`. Otherwise it
    is a linear program over packings, solved by column generation: Gilmore, Gomory, Operations
    Research 9 (1961). The result is then an upper bound, with a relative error of at most 1e-8 for
    up to some hundred different needs, and of a few per cent for 2,000.
    """
    total = dict.fromkeys(sorted(needs), 0.0)
    for need, work in zip(needs, works, strict=True):
        total[need] += work
    return _largest_rate(servers, tuple(total), tuple(total.values()))


@lru_cache(maxsize=64)
def _largest_rate(servers: int, needs: tuple[int, ...], works: tuple[float, ...]) -> float:
    pooled = servers / math.fsum(n * w for n, w in zip(needs, works, strict=True))
    if all(servers % need == 0 for need in needs):
        return pooled
    # Classes with less than 1e-12 of the work are below the tolerance of the solver.
    rows = [(n, w) for n, w in zip(needs, works, strict=True) if n * w * pooled > 1e-12 * servers]
    needs, works = zip(*rows, strict=True)
    return min(pooled, _column_generation(servers, needs, works, pooled)[0])


def best_mix(
    servers: int, needs: Sequence[int], works: Sequence[float]
) -> list[tuple[tuple[int, ...], float]]:
    """Return packings and the share of time of each; the shares add up to 1.

    Args:
        servers: k.
        needs: servers needed by a job of each class, from 1 to k.
        works: jobs of each class to be in service on average, up to a factor, positive.

    They maximise the smallest ratio, over the classes, of the mean number in service to the work,
    up to a relative 1e-8 and with the exceptions of `largest_rate`. There are at most as many
    packings as classes.
    """
    import numpy as np

    pooled = servers / math.fsum(n * w for n, w in zip(needs, works, strict=True))
    _, packings, times = _column_generation(servers, tuple(needs), tuple(works), pooled)
    used = np.flatnonzero(times > 0)
    total = float(times[used].sum())
    return [
        (tuple(int(n) for n in packings[:, column]), float(times[column]) / total)
        for column in used
    ]


def _column_generation(
    servers: int, needs: tuple[int, ...], works: tuple[float, ...], pooled: float
) -> tuple[float, Vector, Vector]:
    """Return the least upper bound found for the rate, the packings in columns, and their times.

    In each round the linear program over the packings so far gives dual prices p >= 0, and a
    knapsack gives the packing of the largest value p.v. If r times the demand is at most a convex
    combination of packings, then r p.demand <= max p.v: the value over p.demand is an upper bound.
    The packing is added to the program.
    """
    import numpy as np

    unit = math.gcd(*needs)
    room = servers // unit
    sizes = np.array(needs, dtype=np.int64) // unit
    demand = np.array(works) * pooled  # jobs in service at the pooled rate: the answer is near 1
    packings, shares = _first_packings(sizes, demand, room)
    if shares.sum() <= 1 + GAP:
        return pooled, packings, shares
    best = 1.0
    effort = 0.0
    while effort < EFFORT:
        if (mixed := _master(packings, demand)) is None:
            break  # the solver failed: the bound so far is valid
        reached, prices, times = mixed
        shares = times
        value, packing = _knapsack(sizes, prices, room)
        best = min(best, value / float(prices @ demand))
        known = bool((packings == packing[:, None]).all(axis=0).any())
        if best - reached <= GAP * best or known:  # known: optimal, within rounding
            break
        others = _others(sizes, prices, room, packing)
        packings = np.column_stack([packings, packing, *others])
        effort += room * len(_undominated(sizes, prices)) * (1 + len(others))
    return best * pooled, packings[:, : len(shares)], shares


def _others(sizes: Needs, prices: Vector, room: int, packing: Vector) -> list[Vector]:
    """Return more packings to add at once, each of classes not in those before it."""
    found = []
    left = prices.copy()
    for _ in range(min(EXTRA, len(sizes) // 10)):
        left[packing > 0] = 0.0
        value, packing = _knapsack(sizes, left, room)
        if value <= 1:
            break
        found.append(packing)
    return found


def _first_packings(sizes: Needs, demand: Vector, room: int) -> tuple[Vector, Vector]:
    """Return packings, in columns, that serve the demand, and the time of each.

    Each contains as many jobs of the largest remaining class as fit, then of the next, and is used
    until the demand of one of its classes is served.
    """
    import numpy as np

    packings, times = [], []
    left = demand.copy()
    waiting = list(range(len(sizes) - 1, -1, -1))
    while waiting:
        packing, space = np.zeros(len(sizes)), room
        for row in waiting:
            packing[row], space = divmod(space, int(sizes[row]))
        used = np.flatnonzero(packing)
        last = used[np.argmin(left[used] / packing[used])]
        share = float(left[last] / packing[last])
        left[used] -= packing[used] * share
        times.append(share)
        packings.append(packing)
        waiting.remove(int(last))
    return np.column_stack(packings), np.array(times)


def _master(packings: Vector, demand: Vector) -> tuple[float, Vector, Vector] | None:
    """Return the largest multiple of `demand` that the packings serve, the prices and the times.

    There is a price for each class, its dual value, and a time for each packing. The multiple is
    computed from the times, and any nonnegative prices give a valid upper bound, so the
    bracket is valid for any tolerance of the solver.
    """
    import numpy as np
    from scipy.optimize import linprog

    answer = linprog(
        np.ones(packings.shape[1]),
        A_ub=-packings / demand[:, None],
        b_ub=-np.ones(len(demand)),
        method="highs-ds",
    )
    if not answer.success:
        return None
    times = np.maximum(np.asarray(answer.x), 0.0)
    reached = float(np.min(packings @ times / demand) / times.sum())
    return reached, np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0) / demand, times


def _knapsack(sizes: Needs, prices: Vector, room: int) -> tuple[float, Vector]:
    """Return the largest total price of a packing, and such a packing."""
    import numpy as np

    worth = np.zeros(room + 1)
    items = _undominated(sizes, prices)
    for item in items:
        size, price = int(sizes[item]), float(prices[item])
        rows = -(-(room + 1) // size)
        table = np.full(rows * size, -np.inf)
        table[: room + 1] = worth
        steps = price * np.arange(rows)[:, None]
        table = np.maximum.accumulate(table.reshape(rows, size) - steps, axis=0) + steps
        worth = table.reshape(-1)[: room + 1]
    packing = np.zeros(len(sizes))
    left, slack = room, 1e-12 * float(worth[room])
    for item in items:
        size, price = int(sizes[item]), float(prices[item])
        counts = np.arange(left // size + 1)
        best = worth[left - counts * size] + counts * price >= worth[left] - slack
        packing[item] = counts[best][-1]
        left -= int(packing[item]) * size
    return float(worth[room]), packing


def _undominated(sizes: Needs, prices: Vector) -> list[int]:
    """Return classes that suffice for a best packing, by descending price per server.

    A class is left out if as many jobs of a smaller class as fit in its place are worth as much.
    """
    import numpy as np

    order = np.lexsort((sizes, -prices / sizes))
    order = order[prices[order] > 0]
    kept = np.zeros(0, dtype=np.int64)
    for item in order:
        if np.all(sizes[item] // sizes[kept] * prices[kept] < prices[item]):
            kept = np.append(kept, item)
    return [int(item) for item in kept]
