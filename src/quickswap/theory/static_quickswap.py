"""An approximation of Static Quickswap with the exclusive drain, for any number of classes.

It extends the paper's approximation of MSFQ, which it equals on one-or-all systems: every class is
assumed to be visited in every cycle, with at least c_i jobs present. U_i is the working phase of a
visit (H_2 + H_3 in `visits`), D_i the drain, Y_i the time from the start of a drain of class i to
its next visit. U_i serves N_i jobs, Poisson(lambda_i Y_i) given Y_i, and those that arrive during
U_i, down to l_i.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from quickswap.errors import ModelError, UnstableError
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import StaticQuickswap
from quickswap.theory.conditions import check_markovian
from quickswap.theory.means import Means
from quickswap.theory.moments import Moments
from quickswap.theory.residuals import check_residual
from quickswap.theory.visits import Times, Visit, check_finite, holds_from, visits_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Approximation", "approximate"]

WHAT = "the approximation of Static Quickswap"
RESIDUAL = 1e-9
"""Largest relative difference between the covariance before and after a cycle."""


@dataclass(frozen=True, kw_only=True)
class Approximation(Means):
    """Approximate means of Static Quickswap; times in seconds, tuples in the order of the system.

    Attributes:
        thresholds: l_i.
        order: positions of the classes in the order of the visits.
        cycle: mean length C of a cycle.
        working: moments of U_i, the working phases.
        drains: moments of D_i, the drains.
        away: moments of Y_i, from the start of a drain to the next visit.
        waiting: moments of N_i, the jobs at the start of a visit.
        conditional: mean response times by the time of arrival.
    """

    thresholds: tuple[int, ...]
    order: tuple[int, ...]
    cycle: float
    working: tuple[Moments, ...]
    drains: tuple[Moments, ...]
    away: tuple[Moments, ...]
    waiting: tuple[Moments, ...]
    conditional: tuple[Times, ...]


def approximate(
    system: System | str | Path,
    thresholds: Iterable[int] | None = None,
    order: Iterable[int | str] | None = None,
    *,
    threshold: int | None = None,
) -> Approximation:
    """Approximate the mean response times of Static Quickswap with `drain="exclusive"`.

    Args:
        system: Poisson arrivals, exponential sizes, any needs.
        thresholds: l_i in jobs, in the order of the system.
        order: the cycle, each class once, by name or position.
        threshold: one l for all, in servers, instead of `thresholds`. Defaults and meaning are
            those of `quickswap.StaticQuickswap`.

    Raises:
        ModelError: other distributions, or a class that has fewer than c_i jobs on average when
            its visit begins: the message gives the arrival rate from which none has.
        PolicyError: thresholds or an order that do not suit the system.
        UnstableError: the sum of lambda_i / (c_i mu_i) is 1 or more.
    """
    system = as_system(system)
    resolved = StaticQuickswap(threshold, thresholds, order, "exclusive").resolve(system)
    limits, cyclic = cast("list[int]", resolved["thresholds"]), cast("list[int]", resolved["order"])
    check_markovian(system, WHAT)
    means = _means(system, limits)
    if means.load >= 1:
        raise UnstableError(
            "Static Quickswap with the exclusive drain has no mean response time at an arrival "
            f"rate of {system.arrival_rate:.6g}: the sum of rate x mean size / floor(k / need) "
            "must be below 1, and so at this mix the arrival rate below "
            f"{system.arrival_rate / means.load:.6g}.",
            argument="arrival_rate",
            given=system.arrival_rate,
            allowed=f"below {system.arrival_rate / means.load:.6g}",
        )
    worst = min(range(len(limits)), key=means.beyond)
    if means.beyond(worst) < 0 or (means.beyond(worst) == 0 and means.visits[worst].slots > 1):
        raise _too_low(system, limits, worst, means)
    return _result(system, limits, cyclic, means)


class _Mean(NamedTuple):
    """The visits and the means of a cycle.

    A visit to class i takes E[U_i] + E[D_i] = rho_i C + W_i (see `Visit.lost`), and all visits
    together take C: C = sum W_i / (1 - sum rho_i).
    """

    visits: list[Visit]
    load: float
    cycle: float

    def away(self, i: int) -> float:
        """Return E[Y_i] = C - E[U_i], in seconds."""
        visit = self.visits[i]
        return (1 - visit.load) * self.cycle - visit.lost + visit.drain.mean

    def share(self, i: int) -> float:
        """Return E[Y_i] / C."""
        return self.away(i) / self.cycle if self.cycle else 1 - self.visits[i].load

    def beyond(self, i: int) -> float:
        """Return E[N_i] - c_i + 1, in jobs; it must not be negative."""
        return self.visits[i].beyond(self.away(i))


def _means(system: System, limits: list[int]) -> _Mean:
    slots = [system.servers // need for need in system.needs]
    works = (each.arrival_rate * each.size.mean for each in system.classes)
    load = math.fsum(work / c for work, c in zip(works, slots, strict=True))
    if load >= 1:
        return _Mean([], load, math.inf)
    visits = visits_of(system, limits)
    return _Mean(visits, load, math.fsum(visit.lost for visit in visits) / (1 - load))


def _too_low(system: System, limits: list[int], worst: int, means: _Mean) -> ModelError:
    """Return the error about a class with too few jobs."""
    rate = system.arrival_rate

    def least(rate: float) -> float:
        other = _means(system.with_rate(rate), limits)
        return min(other.beyond(i) for i in range(len(limits)))

    visit = means.visits[worst]
    waiting = max(visit.waiting(means.away(worst)), 0.0)
    return ModelError(
        f"{WHAT} requires at least c - 1 = {visit.slots - 1} jobs of class "
        f"{system.names[worst]!r} on average when its visit begins, not {waiting:.6g} as at an "
        f"arrival rate of {rate:.6g}: {(holds := holds_from(least, rate, rate / means.load))}; "
        "simulate the system instead.",
        argument="arrival_rate",
        given=rate,
        allowed=holds,
    )


def _result(system: System, limits: list[int], cyclic: list[int], means: _Mean) -> Approximation:
    visits, everyone = means.visits, range(len(limits))
    before, after = _variances(means, cyclic)
    unit = means.cycle or 1.0
    times = [
        visits[i].times(means.cycle, means.away(i), before[i] / means.share(i), means.share(i))
        for i in everyone
    ]
    away = [Moments(means.away(i), before[i] * means.cycle) for i in everyone]
    check_finite(
        f"Static Quickswap with thresholds {limits} at load {means.load:.6g}",
        [*(each.mean for each in times), *before, unit * unit],
    )
    return Approximation.of(
        system,
        [each.mean for each in times],
        thresholds=tuple(limits),
        order=tuple(cyclic),
        cycle=means.cycle,
        working=tuple(
            Moments(means.cycle - away[i].mean, after[i] * means.cycle) for i in everyone
        ),
        drains=tuple(visit.drain for visit in visits),
        away=tuple(away),
        waiting=tuple(away[i].arrivals(visits[i].arrival) for i in everyone),
        conditional=tuple(times),
    )


def _variances(means: _Mean, cyclic: list[int]) -> tuple[list[float], list[float]]:
    """Return Var Y_i / C, just before visit i, and Var U_i / C, in seconds.

    s = (U_1..U_n, D_1..D_n) holds the latest of each. A visit to class i replaces U_i by
    lambda_i b_i Y_i plus noise, where Y_i is the sum of all other U_j and all D_j in s, and D_i by
    a fresh drain (see `_turn`). A whole cycle is linear too, s -> A s + noise with covariance Q,
    and the covariance P at its end is the fixed point of P -> A P A' + Q, the sum of A^j Q A'^j
    over all j. Doubling computes the sums over j < 2^m. Everything is divided by C, so the
    limit C -> 0 exists, in which no visit loses time: polling without switchover times.
    """
    import numpy as np

    n = len(cyclic)
    before, after = np.zeros(n), np.zeros(n)
    turn = np.eye(2 * n)
    for i in cyclic:
        turn[i] = _pull(means.visits[i]) * (turn.sum(axis=0) - turn[i])
        turn[n + i] = 0.0
    covariance = _turn(np.zeros((2 * n, 2 * n)), means, cyclic, before, after)
    while True:
        more = turn @ covariance @ turn.T
        if not more.max() > 1e-17 * covariance.max():
            break
        covariance, turn = covariance + more, turn @ turn
    gap = np.abs(_turn(covariance, means, cyclic, before, after) - covariance).max()
    scale = covariance.max()
    if scale < math.inf:  # else check_finite rejects the result
        what = "the covariance of the visits"
        check_residual(WHAT, what, float(gap / scale) if scale > 0 else 0.0, RESIDUAL)
    return [float(each) for each in before], [float(each) for each in after]


def _pull(visit: Visit) -> float:
    """Return lambda_i b_i: each second of Y_i prolongs the next U_i by that much on average."""
    return visit.arrival * visit.busy.mean


def _turn(covariance: Array, means: _Mean, cyclic: list[int], before: Array, after: Array) -> Array:
    """Return the covariance after a cycle, divided by C; record Var Y_i and Var U_i on the way.

    U_i is N_i - c_i + 1 busy periods B_i and H_3. Given Y_i, the sum over Poisson(lambda_i Y_i)
    busy periods has mean lambda_i b_i Y_i and variance lambda_i Y_i E[B_i^2]; c_i - 1 of them are
    missing. So U_i = lambda_i b_i Y_i + noise, whose variance is
    lambda_i E[Y_i] E[B_i^2] - (c_i - 1) v_i + Var H_3. The drain is independent of all before.
    """
    covariance = covariance.copy()
    n = len(cyclic)
    for i in cyclic:
        visit = means.visits[i]
        with_away = covariance.sum(axis=1) - covariance[i]
        before[i] = with_away.sum() - with_away[i]
        fixed = visit.thin.variance - (visit.slots - 1) * visit.busy.variance
        noise = visit.arrival * means.share(i) * visit.busy.second + fixed / (means.cycle or 1.0)
        pull = _pull(visit)
        after[i] = pull * pull * before[i] + noise
        covariance[i] = covariance[:, i] = pull * with_away
        covariance[i, i] = after[i]
        covariance[n + i] = covariance[:, n + i] = 0.0
        covariance[n + i, n + i] = visit.drain.variance / (means.cycle or 1.0)
    return covariance
