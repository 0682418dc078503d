"""Limits of mean response times as the load tends to 1 (heavy traffic)."""

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
from quickswap.theory.conditions import check_markovian
from quickswap.theory.means import Means
from quickswap.theory.visits import check_finite, visits_of

__all__ = ["HeavyTraffic", "heavy_traffic"]


@dataclass(frozen=True, kw_only=True)
class HeavyTraffic(Value, Means):
    """Limits of (1 - rho) E[T_i] and (1 - rho) E[number of class i], instead of the means.

    For example, `mean_response_time` is the limit of (1 - rho) E[T] in seconds. The system is the
    one given, at the arrival rate at which rho = 1.

    Attributes:
        thresholds: l_i of each class, in jobs.
        lost: W, the time in seconds with all slots idle that equals the capacity lost in a cycle.
    """

    thresholds: tuple[int, ...]
    lost: float


def heavy_traffic(
    system: System | str | Path,
    thresholds: Iterable[int] | None = None,
    *,
    threshold: int | None = None,
) -> HeavyTraffic:
    """Return the limits of (1 - rho) E[T_i] under Quickswap policies as the load tends to 1.

    rho = sum rho_j, rho_j = lambda_j / (c_j mu_j); all arrival rates grow in proportion. Then

        (1 - rho) E[T_i] -> (1 - rho_i) / 2 (s / sum_j rho_j (1 - rho_j) + W),

    s = sum_j 2 lambda_j / (c_j mu_j)^2, all at rho = 1: class j in service is M/M/1(lambda_j,
    c_j mu_j), and s is the variance of the work that arrives in a second. This is the limit of
    cyclic polling with exhaustive service, where W is the time of a cycle spent on switching: van
    der Mei, "Towards a unifying theory on branching-type polling systems in heavy traffic",
    Queueing Systems 57 (2007). Quickswap loses W by idle slots instead (see `Visit.lost`) and has
    the same limit. It holds for Static Quickswap with `drain="exclusive"` in any order, and for
    MSFQ with either drain, as a heavy job waits at all times in the limit.

    Args:
        system: Poisson arrivals, exponential sizes; its arrival rate does not matter.
        thresholds: l_i in jobs, in the order of the system.
        threshold: or one l for all, in servers; on one-or-all it is that of MSFQ. Defaults are
            those of `quickswap.StaticQuickswap`.

    Raises:
        ModelError: other distributions.
        PolicyError: thresholds that do not suit the system.
    """
    system = as_system(system)
    resolved = StaticQuickswap(threshold, thresholds, drain="exclusive").resolve(system)
    limits = cast("list[int]", resolved["thresholds"])
    check_markovian(system, "the limit of heavy traffic")
    rates = [system.servers // each.need / each.size.mean for each in system.classes]
    parts = [each.arrival_rate / rate for each, rate in zip(system.classes, rates, strict=True)]
    load = math.fsum(parts)
    border = system.with_rate(system.arrival_rate / load)
    if len(parts) == 1:  # M/M/c: no other class is visited, and W does not occur
        return HeavyTraffic.of(border, [1 / rates[0]], thresholds=tuple(limits), lost=math.nan)
    loads = [part / load for part in parts]
    others = [math.fsum(loads[:i] + loads[i + 1 :]) for i in range(len(loads))]  # 1 - rho_i
    spread = math.fsum(2 * own / rate for own, rate in zip(loads, rates, strict=True))
    lost = math.fsum(visit.lost for visit in visits_of(border, limits))
    both = spread / math.fsum(a * b for a, b in zip(loads, others, strict=True)) + lost
    check_finite(f"thresholds {limits}", [both])
    times = [rest / 2 * both for rest in others]
    return HeavyTraffic.of(border, times, thresholds=tuple(limits), lost=lost)
