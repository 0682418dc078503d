"""ServerFilling: exact mean response times on one-or-all, and their asymptotics at high load."""

from __future__ import annotations

import math
from pathlib import Path

from quickswap._words import counted
from quickswap.errors import ModelError
from quickswap.model.distributions import (
    Distribution,
    LogNormal,
    Mixture,
    Pareto,
    Tabulated,
    Weibull,
)
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.theory.conditions import check_load, nested, one_or_all, poisson
from quickswap.theory.means import Means
from quickswap.theory.qbd import response_times

__all__ = ["exact", "fills", "large_load"]


def exact(system: System | str | Path) -> Means:
    """Return the exact mean response times of ServerFilling on a one-or-all system.

    Args:
        system: Poisson arrivals, exponential sizes, needs 1 and k, at most 1,024 servers. The error
            is about 1e-9 while no class has less than 1e-6 of the arrivals.

    Raises:
        ModelError: another system.
        UnstableError: a load of 1 or more.

    Source: the chain is that of `quickswap.theory.qbd`.
    """
    what = "the exact solution of ServerFilling"
    system = as_system(system)
    model = one_or_all(system, what)
    check_load(model.load, system.arrival_rate, what)
    return Means.of(system, response_times(model, preemptive=True, what=what))


def large_load(system: System | str | Path) -> float:
    """Return the mean response time of ServerFilling to first order at high load, in seconds.

    It is E[S^2] / (2 E[S]) / (1 - load), where S = need x size / k is the time in which k servers
    would do the work of a random job, and the load is lambda E[S]. The source proves that
    (1 - load) E[T] tends to E[S^2] / (2 E[S]) as the load tends to 1, with all rates in proportion,
    and that E[T] differs from `load` times the value returned by at most a constant. T is the
    response time of a random job of any class. Nothing is claimed at low load.

    Raises:
        ModelError: needs that do not divide each other and k, arrivals other than Poisson, or sizes
            of unbounded mean residual time, which the source excludes.
        UnstableError: a load of 1 or more.

    Source: Grosof, Harchol-Balter, Scheller-Wolf, "WCFS: a new framework for analyzing multiserver
    systems", Queueing Systems 102 (2022).
    """
    what = "the value of ServerFilling at high load"
    system = as_system(system)
    if not fills(system):
        raise ModelError(
            f"{what} requires needs that divide each other and the number of servers, Poisson "
            "arrivals and sizes of bounded mean residual time; this system has needs "
            f"{', '.join(map(str, system.needs))} on {counted(system.servers, 'server')}.",
            argument="system.needs",
            given=system.needs,
            allowed="needs that divide each other and the servers",
        )
    check_load(system.load, system.arrival_rate, what)
    first = system.load / system.arrival_rate
    second = math.fsum(
        share * (each.need / system.servers) ** 2 * each.size.second_moment
        for share, each in zip(system.job_shares, system.classes, strict=True)
    )
    return second / (2 * first) / (1 - system.load)


def fills(system: System) -> bool:
    """Return whether ServerFilling is proven to keep all servers busy while needs add up to k.

    Needs divide each other and k; arrivals are Poisson; the mean residual size of a job is bounded,
    however long it has run, as the source assumes.
    """
    return nested(system) and _regular(system)


def divisors_fill(system: System) -> bool:
    """Return whether DivisorFilling is proven to keep all servers busy while k jobs are present.

    Needs divide k; otherwise the conditions are those of `fills`.
    """
    return all(system.servers % need == 0 for need in system.needs) and _regular(system)


def _regular(system: System) -> bool:
    """Return whether arrivals are Poisson and mean residual sizes are bounded."""

    def unbounded(size: Distribution) -> bool:
        if isinstance(size, Mixture):
            return any(unbounded(part) for part in size.distributions)
        return isinstance(size, LogNormal | Pareto | Tabulated) or (
            isinstance(size, Weibull) and size.shape < 1
        )

    return poisson(system) and not any(unbounded(each.size) for each in system.classes)
