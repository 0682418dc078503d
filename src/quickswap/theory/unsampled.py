"""One-or-all queues whose waiting jobs are looked at one by one: FCFS and ServerFilling, exactly.

The jobs not yet looked at are each light with probability p, whatever has happened, so that their
number alone counts: the level. The phases at a level are

- j in 0..k-1: j light jobs and a heavy one have been looked at, in this order. Under FCFS the j are
  in service and the heavy one waits for them; ServerFilling serves the heavy one first.
- k: k light jobs are in service.

Beside these, in d_j, j < k light jobs are in service and no other job is in the system; and in v_j
there are j light jobs and the next job is looked at, which takes no time. So the chain of jumps
goes up or down by one level at most: a quasi-birth-and-death process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from quickswap.errors import ModelError
from quickswap.theory.models import OneOrAll
from quickswap.theory.residuals import check_residual

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Waits", "waits"]

LARGEST = 1024
"""Servers up to which it is solved: half a minute, and half a gigabyte."""
RESIDUAL = 1e-4
"""Most that the mean numbers in service may be off, relatively: 1e-9 while no class has less than
1e-6 of the arrivals, more for the rarer class beyond."""


class Waits(NamedTuple):
    """Mean waiting times, in seconds: response times without the time in service."""

    light: float
    heavy: float


def waits(model: OneOrAll, preemptive: bool, what: str) -> Waits:
    """Return the mean waiting times under ServerFilling if `preemptive`, else under FCFS.

    The system must be stable. All jobs wait until they are looked at; after that heavy jobs wait
    under FCFS, and light ones under ServerFilling.

    Raises:
        ModelError: too many servers, or rates of too different size; `what` begins the sentence.
        QuickswapError: the numbers in service are not those that the loads ask for.
    """
    import numpy as np

    if model.k > LARGEST:
        raise ModelError(f"{what} is computed for up to {LARGEST:,} servers, not {model.k:,}.")
    try:
        with np.errstate(all="ignore"):  # what comes of it does not pass the checks
            return _waits(model, preemptive, what)
    except np.linalg.LinAlgError:
        raise ModelError(
            f"{what} fails for this system: its rates differ too much in size; simulate it instead."
        ) from None


def _waits(model: OneOrAll, preemptive: bool, what: str) -> Waits:
    import numpy as np

    k = model.k
    rate = model.l1 + model.lk
    up, local, down, seconds = _jumps(model, preemptive)
    settled = np.eye(2 * k + 1) - local - up @ _descent(up, local, down)
    idle, first, entered = _bottom(model, settled)
    total, level = _sums(up, local, down, first, entered)
    total, level = total * seconds, level * seconds
    alone = idle / (rate + model.m1 * np.arange(k))  # seconds in d_0..d_{k-1}
    time = float(alone.sum() + total.sum())
    running = np.arange(k + 1) * (np.arange(k + 1) == k if preemptive else 1)
    lights = float(alone @ np.arange(k) + total[: k + 1] @ running) / time
    heavies = float(total[:k].sum() if preemptive else total[0]) / time
    gap = max(abs(lights * model.m1 / model.l1 - 1), abs(heavies * model.mk / model.lk - 1))
    check_residual(what, "the balance of arrivals and completions", gap, RESIDUAL)
    unseen = float(level.sum()) / time / rate
    if preemptive:
        passed = float((total[:k] * np.arange(k)).sum()) / time  # lights older than the heavy job
        return Waits(unseen + passed / model.l1, unseen)
    return Waits(unseen, unseen + float(total[1:k].sum()) / time / model.lk)


def _jumps(model: OneOrAll, preemptive: bool) -> tuple[Array, Array, Array, Array]:
    """Return the jump probabilities up, along and down, and the mean time in each phase.

    Phases 0..k, then v_0..v_{k-1}.
    """
    import numpy as np

    k, rate = model.k, model.l1 + model.lk
    light, heavy = model.l1 / rate, model.lk / rate
    served = np.arange(k + 1) * model.m1
    if preemptive:
        served[:k] = model.mk
    served[0] = model.mk
    up, local, down = np.zeros((3, 2 * k + 1, 2 * k + 1))
    phases, looking = np.arange(k), np.arange(k + 1, 2 * k + 1)
    up[: k + 1, : k + 1] = np.diag(rate / (rate + served))
    done = served / (rate + served)
    local[k, looking[-1]] = done[k]
    if preemptive:
        local[phases, looking] = done[:k]
    else:
        local[0, looking[0]] = done[0]
        local[phases[1:], phases[:-1]] = done[1:k]
    down[looking, phases] = heavy
    down[looking, np.append(looking[1:], k)] = light
    seconds = np.append(1 / (rate + served), np.zeros(k))
    return up, local, down, seconds


def _descent(up: Array, local: Array, down: Array) -> Array:
    """Return the probabilities of the phase in which the level below is first reached.

    Logarithmic reduction: Latouche, Ramaswami, "A logarithmic reduction algorithm for quasi-birth-
    death processes", Journal of Applied Probability 30 (1993).
    """
    import numpy as np

    eye = np.eye(len(up))
    rise, fall = np.hsplit(np.linalg.solve(eye - local, np.hstack([up, down])), 2)
    result: Array = fall
    climb = rise
    for _ in range(60):
        around = rise @ fall + fall @ rise
        both = np.hstack([rise @ rise, fall @ fall])
        rise, fall = np.hsplit(np.linalg.solve(eye - around, both), 2)
        result = result + climb @ fall
        climb = climb @ rise
        if climb.max() < 1e-16:
            break
    return result


def _bottom(model: OneOrAll, settled: Array) -> tuple[Array, Array, Array]:
    """Return the visits to d_0..d_{k-1}, to the phases at level 0, and to these from the d_j.

    The empty system, d_0, is visited once.

    `settled` is 1 minus the jumps among the phases at level 0 when visits above are left out; here
    v_j, with nobody left to look at, leads to d_j.
    """
    import numpy as np

    k, rate = model.k, model.l1 + model.lk
    served = np.arange(k) * model.m1
    among = np.zeros((3 * k + 1, 3 * k + 1))
    idle = np.arange(k)
    among[idle[1:], idle[:-1]] = (served / (rate + served))[1:]
    among[idle[:-1], idle[1:]] = (model.l1 / (rate + served))[:-1]
    among[k - 1, 2 * k] = model.l1 / (rate + served[-1])
    among[idle, k + idle] = model.lk / (rate + served)
    among[2 * k + 1 :, :k] = np.eye(k)
    balance = np.eye(3 * k + 1) - among
    balance[k:, k:] = settled
    visits: Any = np.ones(3 * k + 1)  # one visit to d_0, the empty system
    visits[1:] = np.linalg.solve(balance[1:, 1:].T, -balance[0, 1:])
    return visits[:k], visits[k:], visits[:k] @ among[:k, k:]


def _sums(
    up: Array, local: Array, down: Array, first: Array, entered: Array
) -> tuple[Array, Array]:
    """Return sum_m x_m and sum_m m x_m, where x_m are the visits to level m; x_0 is `first`.

    Balance, summed over the levels m with weights 1, m and m^2, A = up + local + down:

        s_0 (1 - A) = entered - x_0 down
        s_1 (1 - A) = s_0 (up - down) + x_0 down
        s_2 (1 - A) = 2 s_1 (up - down) + s_0 (up + down) - x_0 down

    1 - A leaves the size of s_i open; the next line times the vector of ones gives it, through a
    with (1 - A) a = steps - drift, steps = (up - down) 1. Near the limit this divides by the small
    drift once each, where the matrix of a geometric series would lose twice as many digits.
    """
    import numpy as np

    size = len(up)
    ones, equal = np.ones(size), np.full(size, 1 / size)
    open_up = np.eye(size) - up - local - down + equal  # no longer singular
    steps = (up - down) @ ones
    drift = float(np.linalg.solve(open_up.T, equal) @ steps)
    along = np.linalg.solve(open_up, steps - drift)
    left = first @ down

    def scaled(balance: Array, rest: float) -> Array:
        """Return s with s (1 - A) = balance and s steps = rest."""
        amount = (rest - float(balance @ along)) / drift
        result: Array = np.linalg.solve(open_up.T, balance + amount * equal)
        return result

    total = scaled(entered - left, -float(left.sum()))
    both = float((total @ (up + down)).sum() - left.sum())
    return total, scaled(total @ (up - down) + left, -both / 2)
