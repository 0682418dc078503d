"""The throughput of FCFS in the saturated system, in which a job always waits, from a Markov chain.

A state (v, h) consists of the jobs in service, v_i of class i, and the class h of the job at the
head of the queue, which does not fit. The jobs behind the head are not part of the state: with
Poisson arrivals their classes are independent of all that has happened. Sizes are exponential.

The chain of jumps also has states v, in which the next job is drawn from the queue: it starts, or
it becomes the head that does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from quickswap._words import counted
from quickswap.errors import ModelError
from quickswap.theory.residuals import check_residual

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["MOST", "QUICK", "saturated_rate", "states"]

MOST = 1_000_000
"""Largest number of states: some hundred megabytes, some ten seconds."""
QUICK = 5_000
"""Number of states that are solved within about a tenth of a second."""
DIRECT = 20_000
"""Number of states up to which elimination is faster than iteration."""
RESIDUAL = 1e-9
"""Largest relative difference between the flows into and out of the states."""


def states(servers: int, needs: Sequence[int], most: float = MOST) -> float:
    """Return the number of states of the chain of jumps, or infinity if it is more than `most`.

    The v are the multisets that fit, counted by the servers they need as coins change a sum; a pair
    (v, h) is a v that leaves fewer servers free than h needs.

    Args:
        servers: k.
        needs: servers needed by each class, from 1 to k.
        most: where to stop counting.
    """
    import numpy as np

    unit = math.gcd(*needs)
    room = servers // unit
    if servers // min(needs) > most:
        return math.inf
    ways = np.zeros(room + 1)  # ways[s]: multisets that need s units
    ways[0] = 1.0
    for size in (need // unit for need in needs):
        rows = -(-(room + 1) // size)
        table = np.zeros(rows * size)
        table[: room + 1] = ways
        ways = table.reshape(rows, size).cumsum(axis=0).reshape(-1)[: room + 1]
        if ways.sum() > most:
            return math.inf
    total = float(ways.sum() + sum(ways[room + 1 - need // unit :].sum() for need in needs))
    return total if total <= most else math.inf


def saturated_rate(
    servers: int, needs: Sequence[int], shares: Sequence[float], means: Sequence[float]
) -> float:
    """Return the jobs per second that FCFS completes in the saturated system.

    Each visit to (v, h) lasts 1 / speed on average and ends with one completion, so the throughput
    is the number of visits over the sum of visits / speed.

    Args:
        servers: k.
        needs: servers needed by each class, from 1 to k.
        shares: share of each class among the arrivals; they add up to 1.
        means: mean of the exponential sizes of each class, in seconds.

    Raises:
        ModelError: the chain has more than a million states.
    """
    merged: dict[tuple[int, float], float] = {}
    for need, share, mean in zip(needs, shares, means, strict=True):
        merged[need, mean] = merged.get((need, mean), 0.0) + share
    return _saturated_rate(servers, tuple(merged), tuple(merged.values()))


@lru_cache(maxsize=64)
def _saturated_rate(
    servers: int, classes: tuple[tuple[int, float], ...], shares: tuple[float, ...]
) -> float:
    import numpy as np

    needs = [need for need, _ in classes]
    count = states(servers, needs)
    cells = math.prod(servers // need + 1 for need in needs)
    if not (count <= MOST and cells < 2**62):
        raise ModelError(
            f"the saturated chain of FCFS for {counted(len(needs), 'class')} on "
            f"{counted(servers, 'server')} has more than {MOST:,} states, too "
            "many for memory: simulate the system.",
            argument="system.needs",
            given=tuple(needs),
            allowed=f"at most {MOST:,} states of the chain",
        )
    rates = 1 / np.array([mean for _, mean in classes])
    chain = _chain(servers, np.array(needs), np.array(shares), rates)
    visits = _eliminate(chain) if count <= DIRECT else _iterate(chain)
    return float(visits.sum() / (visits / chain.speeds).sum())


class _Chain(NamedTuple):
    """Jump probabilities from column to row, minus the identity, in four blocks.

    The states v come first, then the pairs (v, h), by h. Times the visits the matrix is 0.

    Attributes:
        draws: v to v.
        heads: v to (v, h).
        freed: (v, h) to v: a job completes and the head starts.
        kept: (v, h) to (v, h): a job completes and the head still does not fit.
        speeds: total rate of the completions in (v, h), per second.
        anchor: position of a recurrent (v, h), in which all jobs have the largest need.
    """

    draws: Any
    heads: Any
    freed: Any
    kept: Any
    speeds: Floats
    anchor: int


def _chain(servers: int, needs: Ints, shares: Floats, rates: Floats) -> _Chain:
    """Build the chain from all v in lexicographic order.

    The key of v is the number with the digits v_i in mixed radix: keys ascend in this order, one
    more job of class i adds `strides[i]`, and a binary search gives the position.
    """
    import numpy as np
    from scipy.sparse import bmat, coo_array, eye_array, vstack

    counts, used = _multisets(servers, needs)
    radix = servers // needs + 1
    strides = np.append(np.cumprod(radix[:0:-1])[::-1], 1)
    keys = counts @ strides
    size, n = len(keys), len(needs)
    speeds = counts @ rates
    blocked = [np.flatnonzero(used > servers - need) for need in needs]

    def matrix(values: Floats, rows: Ints, columns: Ints, shape: tuple[int, int]) -> Any:
        return coo_array((values, (rows, columns)), shape=shape).tocsr()

    def lookup(wanted: Ints) -> Ints:
        return np.searchsorted(keys, wanted)

    draws = -eye_array(size, format="csr")
    heads, freed, kept = [], [], []
    for h in range(n):
        here = blocked[h]
        fits = np.flatnonzero(used <= servers - needs[h])
        chance = np.full(len(fits), shares[h])
        draws = draws + matrix(chance, lookup(keys[fits] + strides[h]), fits, (size, size))
        column = np.arange(len(here))
        chance = np.full(len(here), shares[h])
        heads.append(matrix(chance, column, here, (len(here), size)))
        stay, start = -eye_array(len(here), format="csr"), coo_array((size, len(here))).tocsr()
        for j in range(n):
            busy = np.flatnonzero(counts[here, j])
            chance = counts[here[busy], j] * rates[j] / speeds[here[busy]]
            left = lookup(keys[here[busy]] - strides[j])
            fit = used[left] <= servers - needs[h]
            to = lookup(keys[left[fit]] + strides[h])
            start = start + matrix(chance[fit], to, busy[fit], (size, len(here)))
            to = np.searchsorted(here, left[~fit])
            stay = stay + matrix(chance[~fit], to, busy[~fit], (len(here), len(here)))
        freed.append(start)
        kept.append(stay)
    large = int(np.argmax(needs))
    full = lookup((servers // needs[large]) * strides[large])
    anchor = sum(map(len, blocked[:large])) + int(np.searchsorted(blocked[large], full))
    diagonal = [[kept[h] if g == h else None for g in range(n)] for h in range(n)]
    return _Chain(
        draws.tocsc(),
        vstack(heads).tocsr(),
        bmat([freed]).tocsr(),
        bmat(diagonal).tocsc(),
        speeds[np.concatenate(blocked)],
        anchor,
    )


def _multisets(servers: int, needs: Ints) -> tuple[Ints, Ints]:
    """Return all v that fit, one per row, and the servers that each needs."""
    import numpy as np

    counts, used = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for need in needs:
        choices = (servers - used) // need + 1
        before = np.repeat(np.arange(len(used)), choices)
        number = np.arange(len(before)) - np.repeat(choices.cumsum() - choices, choices)
        counts = np.column_stack([counts[before], number])
        used = used[before] + number * need
    return counts, used


def _eliminate(chain: _Chain) -> Floats:
    """Return how often each (v, h) is visited per visit to the anchor, by sparse elimination.

    The balance of all states is singular. One visit to the anchor is given, and the balance of the
    others determines theirs.
    """
    import numpy as np
    from scipy.sparse import bmat
    from scipy.sparse.linalg import splu

    whole = bmat([[chain.draws, chain.freed], [chain.heads, chain.kept]]).tocsc()
    size = chain.draws.shape[0]
    anchor = size + chain.anchor
    others = np.flatnonzero(np.arange(whole.shape[0]) != anchor)
    visits = np.ones(whole.shape[0])
    visits[others] = splu(whole[others][:, others].tocsc()).solve(
        -whole[others][:, [anchor]].toarray()[:, 0]
    )
    gap = max(float(np.abs(whole @ visits).max()), -float(visits.min())) / float(visits.max())
    check_residual("the saturated chain of FCFS", "the balance of its states", gap, RESIDUAL)
    return visits[size:]


def _iterate(chain: _Chain) -> Floats:
    """Return the same, up to a factor, by GMRES on the states v in which a head has just started.

    From one such state to the next the chain draws jobs, and v grows, until one does not fit; then
    jobs complete, and v shrinks, until the head fits: both blocks are triangular and are solved
    without fill-in. The balance of these states is singular, and one row is replaced by it plus the
    sum of all visits, set to 1.
    """
    import numpy as np
    from scipy.sparse.linalg import LinearOperator, gmres, splu

    size = chain.draws.shape[0]
    growing, shrinking = (
        splu(part, permc_spec="NATURAL", diag_pivot_thresh=0.0)
        for part in (chain.draws, chain.kept)
    )

    def blocked(started: Floats) -> Floats:
        return np.asarray(shrinking.solve(chain.heads @ growing.solve(started)))

    def balance(started: Floats) -> Floats:
        result: Floats = started - chain.freed @ blocked(started)
        result[1] += started.sum()
        return result

    operator = LinearOperator((size, size), matvec=balance, dtype=np.float64)
    unit = np.zeros(size)
    unit[1] = 1.0
    started, _ = gmres(operator, unit, rtol=1e-12, restart=100, maxiter=20)
    gap = float(np.abs(balance(started) - unit).sum())
    check_residual("the saturated chain of FCFS", "the balance of its states", gap, RESIDUAL)
    return blocked(started)
