"""An approximation of Static Quickswap with the exclusive drain, for any number of classes.

Of the kind of the paper's for MSFQ, which it equals on one-or-all systems: each class i is taken to
be visited in every cycle, with at least c_i jobs waiting. U_i is the working phase of a visit, D_i
the drain, Y_i the time from the start of a drain of class i to its next visit. Given Y_i, U_i is
what serves N_i ~ Poisson(lambda_i Y_i) jobs and those that come meanwhile, down to l_i.
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
from quickswap.theory.means import Means
from quickswap.theory.models import check_markovian
from quickswap.theory.moments import Moments
from quickswap.theory.residuals import check_residual
from quickswap.theory.visits import Times, Visit, check_finite, holds_from

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Approximation", "approximate"]

WHAT = "the approximation of Static Quickswap"
RESIDUAL = 1e-9
"""Most that the covariance after a cycle may differ from that before it, relatively."""


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
        threshold: one l for all, in servers, in place of `thresholds`. Defaults and meaning are
            those of `quickswap.StaticQuickswap`.

    Raises:
        ModelError: other distributions, or a class that has fewer than c_i jobs on average when
            its visit begins: the message says from which arrival rate on none has.
        PolicyError: thresholds or an order that the system does not fit.
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
            f"{system.arrival_rate / means.load:.6g}."
        )
    worst = min(range(len(limits)), key=means.beyond)
    if means.beyond(worst) < 0 or (means.beyond(worst) == 0 and means.visits[worst].slots > 1):
        raise ModelError(_too_low(system, limits, worst, means))
    return _result(system, limits, cyclic, means)


class _Mean(NamedTuple):
    """What the means of a cycle are made of.

    C = sum W_i / (1 - sum rho_i), where W_i is what a visit loses, as each server-second is either
    worked or lost; E[U_i] = rho_i C + W_i - E[D_i].
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
    visits = [
        Visit(c, each.arrival_rate, 1 / each.size.mean, limit)
        for c, each, limit in zip(slots, system.classes, limits, strict=True)
    ]
    return _Mean(visits, load, math.fsum(visit.lost for visit in visits) / (1 - load))


def _too_low(system: System, limits: list[int], worst: int, means: _Mean) -> str:
    """Return the sentence about a class with too few jobs."""
    rate = system.arrival_rate

    def least(rate: float) -> float:
        other = _means(system.with_rate(rate), limits)
        return min(other.beyond(i) for i in range(len(limits)))

    visit = means.visits[worst]
    waiting = max(visit.waiting(means.away(worst)), 0.0)
    return (
        f"{WHAT} needs at least c - 1 = {visit.slots - 1} jobs of class "
        f"{system.names[worst]!r} on average when its visit begins, not {waiting:.6g} as at an "
        f"arrival rate of {rate:.6g}: {holds_from(least, rate, rate / means.load)}; simulate it."
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

    s = (U_1..U_n, D_1..D_n), the latest of each. Its covariance P at the end of a cycle is the
    fixed point of P -> A P A' + Q, found by doubling: sum of A^j Q A'^j over j < 2^m. Divided by C
    it has a limit where no visit loses any time, as C goes to 0: polling without switchover.
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
    if scale < math.inf:  # else refused by what comes next
        what = "the covariance of the visits"
        check_residual(WHAT, what, float(gap / scale) if scale > 0 else 0.0, RESIDUAL)
    return [float(each) for each in before], [float(each) for each in after]


def _pull(visit: Visit) -> float:
    """Return lambda_i b_i, by which a second of Y_i prolongs the next U_i."""
    return visit.arrival * visit.busy.mean


def _turn(covariance: Array, means: _Mean, cyclic: list[int], before: Array, after: Array) -> Array:
    """Carry the covariance, divided by C, through a cycle; keep Var Y_i and Var U_i on the way."""
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
