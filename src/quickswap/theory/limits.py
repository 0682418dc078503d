"""What response times tend to as the load does to 1."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from quickswap._values import Value
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import StaticQuickswap
from quickswap.theory.means import Means
from quickswap.theory.models import check_markovian
from quickswap.theory.visits import Visit, check_finite

__all__ = ["HeavyTraffic", "heavy_traffic"]


@dataclass(frozen=True, kw_only=True)
class HeavyTraffic(Value, Means):
    """Limits of (1 - rho) E[T_i] and (1 - rho) E[number of class i], in place of the means.

    `mean_response_time` is thus the limit of (1 - rho) E[T] in seconds; so with the others. The
    system is the one given, at the arrival rate at which rho = 1.

    Attributes:
        thresholds: l_i of each class, in jobs.
        lost: W, the time with all slots free that equals what a cycle loses, in seconds.
    """

    thresholds: tuple[int, ...]
    lost: float


def heavy_traffic(
    system: System | str | Path,
    thresholds: Iterable[int] | None = None,
    *,
    threshold: int | None = None,
) -> HeavyTraffic:
    """Return the limits of (1 - rho) E[T_i] of quickswap policies as the arrival rate grows.

    rho = sum rho_j, rho_j = lambda_j / (c_j mu_j); all rates grow alike, to rho = 1. Then

        (1 - rho) E[T_i] -> (1 - rho_i) / 2 (s / sum_j rho_j (1 - rho_j) + W),

    s = sum_j 2 lambda_j / (c_j mu_j)^2, all at rho = 1. It is the limit of cyclic polling with
    exhaustive service, where W is the time of a cycle spent on switching: van der Mei, "Towards a
    unifying theory on branching-type polling systems in heavy traffic", Queueing Systems 57 (2007).
    Quickswap loses time in a cycle in another way, by idle slots, and has the same limit. That
    holds for Static Quickswap with `drain="exclusive"` in any order, and for MSFQ with either
    drain, as a heavy job waits at all times in the limit.

    Args:
        system: Poisson arrivals, exponential sizes; its arrival rate does not matter.
        thresholds: l_i in jobs, in the order of the system.
        threshold: or one l for all, in servers; on one-or-all it is that of MSFQ. Defaults are
            those of `quickswap.StaticQuickswap`.

    Raises:
        ModelError: other distributions.
        PolicyError: thresholds that the system does not fit.
    """
    system = as_system(system)
    resolved = StaticQuickswap(threshold, thresholds, drain="exclusive").resolve(system)
    limits = cast("list[int]", resolved["thresholds"])
    what = "the limit of heavy traffic"
    check_markovian(system, what)
    rates = [system.servers // each.need / each.size.mean for each in system.classes]
    parts = [each.arrival_rate / rate for each, rate in zip(system.classes, rates, strict=True)]
    load = math.fsum(parts)
    border = system.with_rate(system.arrival_rate / load)
    if len(parts) == 1:  # W is of no weight where no time is spent on other classes
        return HeavyTraffic.of(border, [1 / rates[0]], thresholds=tuple(limits), lost=math.nan)
    visits = [
        Visit(system.servers // each.need, each.arrival_rate, 1 / each.size.mean, limit)
        for each, limit in zip(border.classes, limits, strict=True)
    ]
    loads = [part / load for part in parts]
    others = [math.fsum(loads[:i] + loads[i + 1 :]) for i in range(len(loads))]  # 1 - rho_i
    spread = math.fsum(2 * own / rate for own, rate in zip(loads, rates, strict=True))
    lost = math.fsum(visit.lost for visit in visits)
    both = spread / math.fsum(a * b for a, b in zip(loads, others, strict=True)) + lost
    check_finite(f"thresholds {limits}", [both])
    times = [rest / 2 * both for rest in others]
    return HeavyTraffic.of(border, times, thresholds=tuple(limits), lost=lost)
