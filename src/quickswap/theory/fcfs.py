"""First come, first served: the largest arrival rate it carries, and mean response times.

FCFS is stable below the throughput of the saturated system, in which somebody always waits
(Baccelli, Foss, "On the saturation rule for the stability of queues", J. Appl. Prob. 32, 1995).
Arrivals are Poisson, so that the classes of successive jobs are independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quickswap._words import counted
from quickswap.errors import ModelError, UnstableError
from quickswap.model.distributions import Exponential
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.theory.means import Means
from quickswap.theory.models import markovian, one_or_all, poisson
from quickswap.theory.saturation import MOST, saturated_rate, states
from quickswap.theory.unsampled import waits

__all__ = ["Limit", "exact", "find_limit", "limit", "one_or_all_rate", "same_distribution_rate"]

PER_STATE = 6e4
"""Steps of `same_distribution_rate` that take the time of a state of the chain."""


def exact(system: System | str | Path) -> Means:
    """Return the exact mean response times of FCFS on a one-or-all system.

    Args:
        system: Poisson arrivals, exponential sizes, needs 1 and k, at most 1,024 servers. The error
            is about 1e-9 while no class has less than 1e-6 of the arrivals.

    Raises:
        ModelError: another system.
        UnstableError: an arrival rate that FCFS cannot carry.

    Source: the chain is that of `quickswap.theory.unsampled`.
    """
    what = "the exact solution of FCFS"
    system = as_system(system)
    model = one_or_all(system, what)
    most = one_or_all_rate(model.k, model.l1 / system.arrival_rate, 1 / model.m1, 1 / model.mk)
    if system.arrival_rate >= most:
        raise UnstableError(
            f"FCFS has no mean response time at an arrival rate of {system.arrival_rate:.6g}: at "
            f"this mix it carries less than {most:.6g}."
        )
    wait = waits(model, False, what)
    return Means.of(system, model.ordered(wait.light + 1 / model.m1, wait.heavy + 1 / model.mk))


def limit(system: System | str | Path) -> float:
    """Return the arrival rate, all classes together, below which FCFS is stable at this mix.

    A formula where one is known, else the Markov chain of the saturated system.

    Raises:
        ModelError: distributions for which it is not known, or a chain of more than a million
        states.
    """
    system = as_system(system)
    found = find_limit(system, MOST)
    if found is not None:
        return found.rate
    if markovian(system):
        raise ModelError(
            f"the limit of FCFS for {counted(len(system.classes), 'class')} on "
            f"{counted(system.servers, 'server')} asks for a Markov chain of more than {MOST:,} "
            "states, too many for memory: find it by simulation."
        )
    raise ModelError(
        "the limit of FCFS is known for Poisson arrivals and exponential sizes, of the light jobs "
        "at least where jobs need one server or all: find it by simulation."
    )


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of FCFS, in jobs per second, with its grounds in a sentence and their source."""

    rate: float
    reason: str
    source: str


def find_limit(system: System, most: float) -> Limit | None:
    """Return the limit of FCFS if it is known, by a chain of at most `most` states; else None.

    Where all sizes have the same distribution no chain is needed, and as much work is allowed for.
    """
    servers, needs, shares = system.servers, system.needs, system.job_shares
    sizes = [each.size for each in system.classes]
    means = [size.mean for size in sizes]
    if len(set(needs)) == 1 or 2 * min(needs) > servers:
        reason = "jobs are alike in need, or fit one at a time: a queue, never idle in vain."
        return Limit(system.capacity, reason, "Loynes, Proc. Cambridge Phil. Soc. 58 (1962)")
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
    packed = servers / math.fsum(n * share for n, share in zip(needs, shares, strict=True))
    if len(set(sizes)) == 1 and packed * servers * len(needs) <= PER_STATE * most:
        rate = same_distribution_rate(servers, needs, shares, means[0])
        reason = (
            "the throughput of the saturated system, known where all classes have one distribution."
        )
        return Limit(rate, reason, "Rumyantsev, Morozov, Ann. Oper. Res. 252 (2017)")
    if states(servers, needs, most) > most:
        return None
    reason = "the throughput of the saturated system, from its Markov chain."
    rate = saturated_rate(servers, needs, shares, means)
    return Limit(rate, reason, "Baccelli, Foss, J. Appl. Prob. 32 (1995)")


def one_or_all_rate(servers: int, light_share: float, light: float, heavy: float) -> float:
    """Return the limit for jobs that need 1 or all of the servers, in jobs per second.

    Args:
        servers: k.
        light_share: p, the share of light jobs, between 0 and 1.
        light: mean light size in seconds; light sizes are exponential.
        heavy: mean heavy size in seconds, of any distribution.

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


def same_distribution_rate(
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
