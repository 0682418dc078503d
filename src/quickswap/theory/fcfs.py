"""First come, first served: its stability limit and its mean response times.

FCFS is stable below the throughput of the saturated system, in which a job always waits, and
unstable above it (Baccelli, Foss, "On the saturation rule for the stability of queues",
J. Appl. Prob. 32, 1995), for independent arrivals and sizes of any distribution (Baccelli,
Olliaro, Ajmone Marsan, Marin, "The multiserver-job stochastic recurrence equation for cloud
computing performance evaluation", 2026). Arrivals are Poisson here, so the classes of successive
jobs are independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from quickswap._words import counted
from quickswap.errors import ModelError, UnstableError
from quickswap.model.distributions import Exponential, Mixture
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.theory.classical import mg1, mmk
from quickswap.theory.conditions import check_markovian, markovian, one_or_all, poisson
from quickswap.theory.means import Means
from quickswap.theory.qbd import response_times
from quickswap.theory.saturation import MOST, saturated_rate, states

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "Limit",
    "approximate",
    "exact",
    "find_limit",
    "heavy_traffic",
    "limit",
    "one_or_all_rate",
    "plain_queue",
    "same_distribution_rate",
]

PER_STATE = 256
"""Servers for which `same_distribution_rate` takes as long as for one state of the chain."""


def exact(system: System | str | Path) -> Means:
    """Return the exact mean response times of FCFS on a one-or-all system or a plain queue.

    Args:
        system: Poisson arrivals. A one-or-all system has exponential sizes, needs 1 and k, and at
            most 1,024 servers; the error is about 1e-9 if each class has at least 1e-6 of the
            arrivals. On a plain queue no two jobs fit together (M/G/1), or all jobs have one need
            and one exponential distribution (M/M/c with c = floor(k / need)).

    Raises:
        ModelError: the system is of another form.
        UnstableError: FCFS is unstable at this arrival rate.

    Source: the Markov chain of `quickswap.theory.qbd`; `quickswap.theory.classical`.
    """
    what = "the exact solution of FCFS"
    system = as_system(system)
    if poisson(system) and 2 * min(system.needs) > system.servers:
        sizes = [each.size for each in system.classes]
        one = sizes[0] if len(sizes) == 1 else Mixture(system.job_shares, sizes)
        waiting = mg1(system.arrival_rate, one).mean_waiting_time
        return Means.of(system, [waiting + each.mean for each in sizes])
    if len(set(system.needs)) == 1:
        check_markovian(system, what)
        means = {each.size.mean for each in system.classes}
        if len(means) == 1:
            slots = system.servers // min(system.needs)
            queue = mmk(slots, system.arrival_rate, means.pop())
            return Means.of(system, [queue.mean_response_time] * len(system.classes))
    model = one_or_all(system, what)
    _load(system)
    return Means.of(system, response_times(model, preemptive=False, what=what))


def approximate(system: System | str | Path) -> Means:
    """Return the limit of heavy traffic over 1 - rho as the mean response times of FCFS.

    The relative error tends to 0 as rho tends to 1; see `heavy_traffic`, also for the arguments.

    Raises:
        ModelError: the system is of another form.
        UnstableError: FCFS is unstable at this arrival rate.
    """
    system = as_system(system)
    scaled = heavy_traffic(system)
    return Means.of(system, [scaled / (1 - _load(system))] * 2)


def _load(system: System) -> float:
    """Return the arrival rate over the limit of FCFS on a one-or-all system."""
    most = limit(system)
    if system.arrival_rate >= most:
        raise UnstableError(
            f"FCFS has no mean response time at an arrival rate of {system.arrival_rate:.6g}: at "
            f"this mix it is stable below {most:.6g} only.",
            argument="arrival_rate",
            given=system.arrival_rate,
            allowed=f"below {most:.6g}",
        )
    return system.arrival_rate / most


def heavy_traffic(system: System | str | Path) -> float:
    """Return the limit of (1 - rho) E[T] under FCFS on a one-or-all system, seconds.

    rho is the arrival rate over the limit of FCFS, and tends to 1 at a fixed mix; the limit is the
    same for both classes. Near its limit the system is a queue with the departures of the saturated
    system. There, from the start of a heavy job to that of the next one, N jobs are served in a
    time T: the heavy job, and L light jobs with P(L >= j) = p1^j. While k light jobs or more are
    left they complete at rate k m1, and then the servers drain. With the limit r = E[N] / E[T],

        (1 - rho) E[T] -> (1 + Var(N - r T) / E[N]) / (2 r),

    where 1 is the same ratio for Poisson arrivals.

    Args:
        system: Poisson arrivals, exponential sizes, needs 1 and k; its rate does not matter.

    Raises:
        ModelError: the system is of another form.

    Source: Grosof, Ayhan, "Multiserver-job response time under multilevel scaling" (2026), on the
    growth with k; the formula is derived here from the cycles of the saturated system.
    """
    model = one_or_all(as_system(system), "the heavy-traffic limit of FCFS")
    k, light = model.k, model.l1 / (model.l1 + model.lk)
    most = one_or_all_rate(k, light, 1 / model.m1, 1 / model.mk)
    mean, variance = 1 / model.mk, 1 / model.mk**2  # of T with L = 0, 1, ...
    total = 0.0
    for lights in range(k):
        gap = lights + 1 - most * mean
        total += (1 - light) * light**lights * (gap**2 + most**2 * variance)
        mean += 1 / ((lights + 1) * model.m1)
        variance += 1 / ((lights + 1) * model.m1) ** 2
    # L = k + G, where G is geometric; each of G jobs takes 1 / (k m1) on average
    more, squares = light / (1 - light), light * (1 + light) / (1 - light) ** 2
    gap, each = k + 1 - most * mean, 1 - most / (k * model.m1)
    spread = variance + more / (k * model.m1) ** 2
    total += light**k * (gap**2 + 2 * gap * each * more + each**2 * squares + most**2 * spread)
    return (1 + total * (1 - light)) / (2 * most)


def limit(system: System | str | Path) -> float:
    """Return the arrival rate, all classes together, below which FCFS is stable at this mix.

    It is computed by a formula where one is known, otherwise from the Markov chain of the saturated
    system.

    Raises:
        ModelError: the limit is not known for these distributions, or the chain has more than a
            million states.
    """
    system = as_system(system)
    found = find_limit(system, MOST)
    if found is not None:
        return found.rate
    if markovian(system):
        raise ModelError(
            f"the limit of FCFS for {counted(len(system.classes), 'class')} on "
            f"{counted(system.servers, 'server')} requires a Markov chain of more than {MOST:,} "
            "states, too many for memory: simulate the system.",
            argument="system.needs",
            given=system.needs,
            allowed=f"at most {MOST:,} states of the chain",
        )
    raise ModelError(
        "the limit of FCFS is known for Poisson arrivals and exponential sizes only (on one-or-all "
        "systems heavy jobs may have any sizes): estimate it as the throughput of a simulation "
        "with `allow_unstable` at an arrival rate above the capacity.",
        argument="system.classes",
        given=system.classes,
        allowed="Poisson arrivals and exponential sizes",
    )


@dataclass(frozen=True, slots=True)
class Limit:
    """An arrival rate below which a policy is stable, in jobs per second.

    Attributes:
        rate: the limit.
        reason: the reason, in one sentence.
        source: the source of the proof.
        exact: whether the policy is unstable above it.
    """

    rate: float
    reason: str
    source: str
    exact: bool = True


@lru_cache(maxsize=64)  # every simulation asks for it
def find_limit(system: System, most: float) -> Limit | None:
    """Return the limit of FCFS; None if it requires a chain of more than `most` states.

    It is None also where no method is known. If all sizes have the same distribution, no chain is
    needed, and the same effort is allowed.
    """
    servers, needs, shares = system.servers, system.needs, system.job_shares
    sizes = [each.size for each in system.classes]
    means = [size.mean for size in sizes]
    if (plain := plain_queue(system)) is not None:
        return plain
    if not poisson(system):
        return None
    if system.one_or_all:
        light, heavy = sorted(range(2), key=lambda i: needs[i])
        if isinstance(sizes[light], Exponential):
            rate = one_or_all_rate(servers, shares[light], means[light], means[heavy])
            reason = "the throughput of the saturated one-or-all system, in closed form."
            return Limit(rate, reason, "quickswap.theory.fcfs.one_or_all_rate")
    if not markovian(system):
        return None
    if len(set(sizes)) == 1 and servers <= PER_STATE * most:
        rate = same_distribution_rate(servers, needs, shares, means[0])
        reason = "the throughput of the saturated system, known if all sizes have one distribution."
        return Limit(rate, reason, "Rumyantsev, Morozov, Ann. Oper. Res. 252 (2017)")
    if states(servers, needs, most) > most:
        return None
    reason = "the throughput of the saturated system, from its Markov chain."
    rate = saturated_rate(servers, needs, shares, means)
    return Limit(rate, reason, "Baccelli, Foss, J. Appl. Prob. 32 (1995)")


def plain_queue(system: System) -> Limit | None:
    """Return the limit if every work-conserving policy is a plain queue, otherwise None.

    This holds if all needs are equal, or if no two jobs fit together. The limit is the capacity,
    for stationary arrivals and sizes.
    """
    source = "Loynes, Proc. Cambridge Phil. Soc. 58 (1962)"
    if len(set(system.needs)) == 1:
        slots = system.servers // system.needs[0]
        queue = f"a work-conserving queue with {counted(slots, 'slot')}"
        return Limit(system.capacity, f"all jobs have the same need, so this is {queue}.", source)
    if 2 * min(system.needs) > system.servers:
        reason = "no two jobs fit together, so this is a work-conserving queue with one server."
        return Limit(system.capacity, reason, source)
    return None


def one_or_all_rate(servers: int, light_share: float, light: float, heavy: float) -> float:
    """Return the limit for jobs that need 1 or all of the servers, in jobs per second.

    Args:
        servers: k.
        light_share: p, the share of light jobs, between 0 and 1.
        light: mean light size in seconds; light sizes are exponential.
        heavy: mean heavy size in seconds, of any distribution.

    In the saturated system G light jobs run between two heavy jobs, P(G >= j) = p^j. While j of
    them are left, min(j, k) are in service, and the mean time to the next completion is `light /
    min(j, k)`. A heavy job and the light jobs after it therefore take

        heavy + light sum_{j>=1} p^j / min(j, k)
        = heavy + light (sum_{j<=k} p^j / j + p^(k+1) / (k (1 - p))),

    on average, and their mean number is 1 / (1 - p).
    """
    p = light_share
    if p == 1:
        return servers / light  # the share of heavy jobs is below rounding
    waves = math.fsum(p**j / j for j in range(1, servers + 1))
    rest = p ** (servers + 1) / (servers * (1 - p))
    return 1 / ((1 - p) * (heavy + light * (waves + rest)))


def same_distribution_rate(
    servers: int, needs: Sequence[int], shares: Sequence[float], mean: float
) -> float:
    """Return the limit if all classes have the same exponential size, in jobs per second.

    It is 1 / (mean E[1/M]), where M is the number of jobs of an independent sequence that fit
    together, before the first that does not. All jobs in service complete at the same rate, so in
    the saturated system the class of the job that completes is independent of the classes in
    service. After each completion the jobs in service and the waiting jobs are therefore again an
    independent sequence: M of them are in service, and the mean time to the next completion is mean
    / M. Source: Rumyantsev, Morozov, "Stability criterion of a multiserver model with simultaneous
    service", Annals of Operations Research 252 (2017).

    Let p_n be the share of the jobs of need n, P(z) = sum p_n z^n, and S_m the need of m jobs
    together. M = m and S_m = s if the next job does not fit, so

        E[1/M] = sum_{s<=k} q_s P(need > k - s), where q_s = sum_{m>=1} P(S_m = s) / m.

    The q_s are the coefficients of -log(1 - P), whose derivative is P' / (1 - P): s q_s is the
    convolution of n p_n with the coefficients of 1 / (1 - P).

    Args:
        servers: k.
        needs: servers needed by each class.
        shares: share of each class among the arrivals; they add up to 1.
        mean: mean size in seconds.
    """
    import numpy as np

    unit = math.gcd(*needs)
    k = servers // unit
    p = np.zeros(k + 1)
    np.add.at(p, np.array(needs) // unit, shares)
    sums = np.arange(k + 1)
    size = 1 << (2 * k - 1).bit_length()  # no cyclic convolution from there on
    transforms = np.fft.rfft(sums * p, size) * np.fft.rfft(_renewals(p[:k]), size)
    q = np.fft.irfft(transforms, size)[1 : k + 1] / sums[1:]
    larger = np.cumsum(p[:0:-1])  # P(need > k - s) for s = 1, ..., k
    return 1 / (mean * float(q @ larger))


def _renewals(p: Floats) -> Floats:
    """Return the first coefficients of 1 / (1 - P), as many as of P, with P(0) = 0.

    Newton's method doubles the number n of known coefficients: with U the polynomial of these,
    (1 - P) U = 1 + z^n E + ..., and U - z^n E U has 2n.
    """
    import numpy as np

    known, found = 1, np.ones(1)
    while known < len(p):
        size = 2 * known
        series = np.zeros(size)
        series[: min(size, len(p))] = -p[:size]
        series[0] = 1.0
        transform = np.fft.rfft(found, size)
        # cyclic convolutions: what exceeds their size is added to coefficients not used
        error = np.fft.irfft(np.fft.rfft(series) * transform, size)
        error[:known] = 0.0
        more = np.fft.irfft(np.fft.rfft(error) * transform, size)[known:]
        known, found = size, np.concatenate([found, -more])
    return found[: len(p)]
