"""ServerFilling: exact mean response times on one-or-all, and what they tend to at large load."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

from quickswap._words import counted
from quickswap.distributions import Distribution, LogNormal, Pareto, Weibull
from quickswap.errors import ModelError
from quickswap.models import as_system
from quickswap.system import System
from quickswap.theory.means import Means
from quickswap.theory.models import check_load, one_or_all, poisson
from quickswap.theory.unsampled import waits

__all__ = ["exact", "fills", "large_load"]


def exact(system: System | str | Path) -> Means:
    """Return the exact mean response times of ServerFilling on a one-or-all system.

    Args:
        system: Poisson arrivals, exponential sizes, needs 1 and k, at most 1,024 servers. The error
            is about 1e-9 while no class has less than 1e-6 of the arrivals.

    Raises:
        ModelError: another system.
        UnstableError: a load of 1 or more.

    Source: the chain is that of `quickswap.theory.unsampled`.
    """
    what = "the exact solution of ServerFilling"
    system = as_system(system)
    model = one_or_all(system, what)
    check_load(model.load, system.arrival_rate, what)
    wait = waits(model, True, what)
    return Means.of(system, model.ordered(wait.light + 1 / model.m1, wait.heavy + 1 / model.mk))


def large_load(system: System | str | Path) -> float:
    """Return the mean response time of ServerFilling to first order at large load, in seconds.

    It is E[S^2] / (2 E[S]) / (1 - load), where S = need x size / k of a job drawn at random is the
    time that all k servers would take for its work: sizes are scaled by need / k, and the load is
    lambda E[S], that of the system. Published is that (1 - load) E[T] tends to E[S^2] / (2 E[S]) as
    the load does to 1, all rates alike, and that E[T] differs from `load` times this value by no
    more than a constant. It is the mean over all jobs, and no claim at small load.

    Raises:
        ModelError: needs that do not divide each other and k, arrivals other than Poisson, sizes of
            unbounded mean residual time; the source assumes all of these.
        UnstableError: a load of 1 or more.

    Source: Grosof, Harchol-Balter, Scheller-Wolf, "WCFS: a new framework for analyzing multiserver
    systems", Queueing Systems 102 (2022).
    """
    what = "the value of ServerFilling at large load"
    system = as_system(system)
    if not fills(system):
        raise ModelError(
            f"{what} is for needs that divide each other and the number of servers, Poisson "
            "arrivals and sizes of bounded mean residual time; this system has needs "
            f"{', '.join(map(str, system.needs))} on {counted(system.servers, 'server')}."
        )
    check_load(system.load, system.arrival_rate, what)
    first = system.load / system.arrival_rate
    second = math.fsum(
        share * (each.need / system.servers) ** 2 * each.size.second_moment
        for share, each in zip(system.job_shares, system.classes, strict=True)
    )
    return second / (2 * first) / (1 - system.load)


def fills(system: System) -> bool:
    """Return whether ServerFilling is known to keep all servers busy while needs add up to k.

    Needs divide each other and k; arrivals are Poisson; what is left of a job that has run for
    however long has a bounded mean, as the source assumes.
    """
    chain = [*sorted(set(system.needs)), system.servers]
    divide = all(more % less == 0 for less, more in pairwise(chain))
    return divide and _regular(system)


def divisors_fill(system: System) -> bool:
    """Return whether DivisorFilling is known to keep all servers busy while k jobs are there.

    Needs divide k; the rest is as for `fills`.
    """
    return all(system.servers % need == 0 for need in system.needs) and _regular(system)


def _regular(system: System) -> bool:
    return poisson(system) and all(_bounded(each.size) for each in system.classes)


def _bounded(size: Distribution) -> bool:
    """Whether the mean of what is left of a job is bounded, however long it has run."""
    unbounded = isinstance(size, LogNormal | Pareto)
    return not (unbounded or (isinstance(size, Weibull) and size.shape < 1))
