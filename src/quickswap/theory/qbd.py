"""FCFS and ServerFilling on one-or-all systems as a quasi-birth-and-death chain, solved exactly.

Both policies inspect jobs in order of arrival and stop when their needs add up to k or more. A job
not yet inspected (*unsampled*) is light with probability p = l1 / (l1 + lk), independently of the
past, so only the number of these jobs is part of the state: the level. The phases at a level
are

- j in 0..k-1: j light jobs and then a heavy one have been inspected. Under FCFS the light jobs are
  in service and the heavy one waits for them; ServerFilling serves the heavy one first.
- k: k light jobs are in service.

In addition, in d_j with j < k the system holds j light jobs in service and no other job; and in v_j
j light jobs have been inspected and the next job is, which takes no time. Each jump changes the
level by at most one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quickswap.errors import ModelError
from quickswap.theory.conditions import OneOrAll
from quickswap.theory.residuals import check_residual

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["response_times"]

LARGEST = 1024
"""Largest number of servers: half a minute, and half a gigabyte."""
RESIDUAL = 1e-4
"""Largest relative error of the mean numbers in service: it is 1e-9 if each class has at least 1e-6
of the arrivals, and larger for a rarer class."""


def response_times(model: OneOrAll, preemptive: bool, what: str) -> tuple[float, float]:
    """Return the mean response times under ServerFilling if `preemptive`, otherwise under FCFS.

    The system must be stable. They are in seconds, in the order of the classes.

    Raises:
        ModelError: too many servers, or rates of too different size; the message begins with
            `what`.
        QuickswapError: the mean numbers in service are not l1 / m1 and lk / mk.
    """
    import numpy as np

    if model.k > LARGEST:
        raise ModelError(
            f"{what} supports up to {LARGEST:,} servers, not {model.k:,}.",
            argument="system.servers",
            given=model.k,
            allowed=f"up to {LARGEST:,}",
        )
    try:
        with np.errstate(all="ignore"):  # the checks reject nan and infinity
            light, heavy = _waits(model, preemptive, what)
    except np.linalg.LinAlgError:
        raise ModelError(
            f"{what} fails, as the rates of this system differ too much: simulate it.",
            argument="system.classes",
            allowed="rates of similar size",
        ) from None
    return model.ordered(light + 1 / model.m1, heavy + 1 / model.mk)


def _waits(model: OneOrAll, preemptive: bool, what: str) -> tuple[float, float]:
    """Return the mean waiting times of light and of heavy jobs.

    All jobs wait until they are inspected; after that heavy jobs wait under FCFS, and light jobs
    under ServerFilling.
    """
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
    # Little's law, for the jobs not inspected; then for light jobs that an inspected heavy job
    # overtakes (ServerFilling), and for inspected heavy jobs that wait for j > 0 light jobs (FCFS).
    unsampled = float(level.sum()) / time / rate
    if preemptive:
        overtaken = float((total[:k] * np.arange(k)).sum()) / time
        return unsampled + overtaken / model.l1, unsampled
    return unsampled, unsampled + float(total[1:k].sum()) / time / model.lk


def _jumps(model: OneOrAll, preemptive: bool) -> tuple[Array, Array, Array, Array]:
    """Return the jump probabilities up, along and down, and the mean time in each phase.

    Phases 0..k, then v_0..v_{k-1}. Arrivals go up one level. A completion leads to v_j, or under
    FCFS from phase j > 0 to phase j - 1, as the heavy job still waits. In v_j the next job is
    inspected, one level down: a heavy job leads to phase j, a light one to v_{j+1} or phase k.
    """
    import numpy as np

    k, rate = model.k, model.l1 + model.lk
    light, heavy = model.l1 / rate, model.lk / rate
    served = np.arange(k + 1) * model.m1
    if preemptive:
        served[:k] = model.mk
    served[0] = model.mk
    up, local, down = np.zeros((3, 2 * k + 1, 2 * k + 1))
    phases, inspecting = np.arange(k), np.arange(k + 1, 2 * k + 1)
    up[: k + 1, : k + 1] = np.diag(rate / (rate + served))
    done = served / (rate + served)
    local[k, inspecting[-1]] = done[k]
    if preemptive:
        local[phases, inspecting] = done[:k]
    else:
        local[0, inspecting[0]] = done[0]
        local[phases[1:], phases[:-1]] = done[1:k]
    down[inspecting, phases] = heavy
    down[inspecting, np.append(inspecting[1:], k)] = light
    seconds = np.append(1 / (rate + served), np.zeros(k))
    return up, local, down, seconds


def _descent(up: Array, local: Array, down: Array) -> Array:
    """Return G, the probabilities of the phase in which the level below is first reached.

    G is the least solution of G = down + local G + up G^2. Logarithmic reduction solves for it by
    considering levels 1, 2, 4, ... away, with quadratic convergence: Latouche, Ramaswami, "A
    logarithmic reduction algorithm for quasi-birth-death processes", Journal of Applied Probability
    30 (1993).
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
    """Return the visits to d_0..d_{k-1} and to the phases at level 0 for each visit to d_0.

    The third result is the part of the latter that comes from the d_j. `settled` is the identity
    minus the jumps among the phases at level 0, with excursions above left out: local + up G. At
    level 0 no job is left to inspect, and v_j leads to d_j.
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

    1 - A is singular and determines s_i up to a multiple of its null vector, the stationary
    distribution of the phases. The equation below, times the vector of ones, gives s_i steps, where
    steps = (up - down) 1. The drift is the mean of steps in the stationary distribution, and a with
    (1 - A) a = steps - drift turns s_i steps into the sum of s_i:

        s_i steps = s_i (1 - A) a + drift s_i 1.

    That sum makes the equations regular: s (1 - A + 1 e) = s (1 - A) + (s 1) e, e = `equal`. Near
    the stability limit the drift is small, and each s_i is divided by it once; the geometric series
    of the matrix R would lose twice as many digits.
    """
    import numpy as np

    size = len(up)
    ones, equal = np.ones(size), np.full(size, 1 / size)
    regular = np.eye(size) - up - local - down + equal  # 1 - A, made regular
    steps = (up - down) @ ones
    drift = float(np.linalg.solve(regular.T, equal) @ steps)
    along = np.linalg.solve(regular, steps - drift)
    left = first @ down

    def scaled(balance: Array, rest: float) -> Array:
        """Return s with s (1 - A) = balance and s steps = rest."""
        amount = (rest - float(balance @ along)) / drift  # the sum of s
        result: Array = np.linalg.solve(regular.T, balance + amount * equal)
        return result

    total = scaled(entered - left, -float(left.sum()))
    both = float((total @ (up + down)).sum() - left.sum())
    return total, scaled(total @ (up - down) + left, -both / 2)
