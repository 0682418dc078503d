"""One curve against another, at every value of the axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from quickswap._words import counted
from quickswap.reproduction.table import Row, Rows
from quickswap.statistics.estimates import Estimate

__all__ = ["Curve", "Duel", "duels", "ratio", "told"]


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity of a series."""

    series: str
    quantity: str = "mean_response_time"
    cls: str = "all"


@dataclass(frozen=True, slots=True)
class Duel:
    """Two policies at one value of the axis, the less the better.

    Attributes:
        x: value of the axis.
        outcome: "better", "worse" or "undecided" of the first.
        ratio: the second over the first; infinite where only the first is stable.
    """

    x: float
    outcome: str
    ratio: Estimate


def ratio(above: Estimate, below: Estimate) -> Estimate:
    """Divide two independent estimates; the half-width is that of a first-order expansion."""
    relative = math.hypot(_relative(above), _relative(below))
    value = above.value / below.value
    return Estimate(value, value * relative)


def _relative(estimate: Estimate) -> float:
    return estimate.half_width / abs(estimate.value)


def duels(rows: Rows, first: Curve, second: Curve) -> list[Duel]:
    """Compare two curves of a figure wherever both have been simulated.

    Exact values take the place of simulated ones where the figure has them. A run too short to
    judge decides nothing, nor does a value of 0; an unstable policy loses against a stable one.
    """
    here, there = (_best_known(rows, curve) for curve in (first, second))
    return [_duel(x, here[x], there[x]) for x in sorted(here.keys() & there.keys())]


def _best_known(rows: Rows, curve: Curve) -> dict[float, Row]:
    exact = {
        (row.policy, row.x): replace(row, verdict="stable")
        for row in rows
        if (row.method, row.quantity, row.cls) == ("exact", curve.quantity, curve.cls)
    }
    simulated = rows.of(curve.series, curve.quantity, curve.cls)
    return {x: exact.get((row.policy, x), row) for x, row in simulated.items()}


def _duel(x: float, first: Row, second: Row) -> Duel:
    verdicts = (first.verdict, second.verdict)
    nothing = Estimate(math.nan, math.nan)
    if verdicts == ("stable", "unstable"):
        return Duel(x, "better", Estimate(math.inf, 0.0))
    if verdicts == ("unstable", "stable"):
        return Duel(x, "worse", Estimate(0.0, 0.0))
    if verdicts != ("stable", "stable") or not first.value or not second.value:
        return Duel(x, "undecided", nothing)
    quotient = ratio(second.estimate, first.estimate)
    gap = abs(second.value - first.value)
    known = gap > math.hypot(first.half_width, second.half_width)  # not where one is nan
    outcome = ("better" if second.value > first.value else "worse") if known else "undecided"
    return Duel(x, outcome, quotient)


def told(found: Sequence[Duel], name: Callable[[float], str] = "{:g}".format) -> str:
    """Say at how many values the first is better, where it is not, and how large the ratio gets."""
    better = [each for each in found if each.outcome == "better"]
    words = [f"better at {len(better)} of {counted(len(found), 'rate')}"]
    for outcome in ("worse", "undecided"):
        where = [name(each.x) for each in found if each.outcome == outcome]
        if where:
            words.append(f"{outcome} at {', '.join(where)}")
    finite = [each for each in better if math.isfinite(each.ratio.value)]
    if finite:
        most = max(finite, key=lambda each: each.ratio.value)
        exact = not most.ratio.half_width
        value = f"{most.ratio.value:.3g} (exact)" if exact else str(most.ratio)
        words.append(f"ratio up to {value} at {name(most.x)}")
    alone = [name(each.x) for each in better if math.isinf(each.ratio.value)]
    if alone:
        words.append(f"the other unstable at {', '.join(alone)}")
    return "; ".join(words)
