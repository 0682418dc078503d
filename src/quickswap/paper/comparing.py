"""One curve of a figure against another, at every value of the axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quickswap._words import counted
from quickswap.paper.rows import Row, Rows
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome, independent_difference, outcome_of

__all__ = ["UNDECIDED", "Contrast", "Curve", "contrasts", "ratio", "summary"]

UNDECIDED = (Outcome.ALIKE, Outcome.INCONCLUSIVE)
"""Outcomes without a significant difference."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity of a series."""

    series: str
    quantity: str = "mean_response_time"
    cls: str = "all"


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two policies at one value of the axis; less is better.

    Attributes:
        x: value of the axis.
        outcome: how the first policy compares with the second.
        ratio: the second over the first; infinite where only the first is stable.
    """

    x: float
    outcome: Outcome
    ratio: Estimate


def ratio(above: Estimate, below: Estimate) -> Estimate:
    """Divide two independent estimates; the half-width is that of a first-order expansion."""
    relative = math.hypot(*(each.half_width / abs(each.value) for each in (above, below)))
    value = above.value / below.value
    return Estimate(value, value * relative)


def contrasts(rows: Rows, first: Curve, second: Curve) -> list[Contrast]:
    """Compare two curves of a figure wherever both have been simulated.

    Exact values replace simulated ones where the figure has them. A comparison with a run that is
    too short, or with a value of 0, is inconclusive; an unstable policy is worse than a stable one.
    """
    here, there = (_best_known(rows, curve) for curve in (first, second))
    return [_contrast(x, here[x], there[x]) for x in sorted(here.keys() & there.keys())]


def _best_known(rows: Rows, curve: Curve) -> dict[float, Row]:
    exact = {
        (row.policy, row.x): replace(row, verdict="stable")
        for row in rows
        if (row.method, row.quantity, row.cls) == ("exact", curve.quantity, curve.cls)
    }
    simulated = rows.of(curve.series, curve.quantity, curve.cls)
    return {x: exact.get((row.policy, x), row) for x, row in simulated.items()}


def _contrast(x: float, first: Row, second: Row) -> Contrast:
    statuses = first.verdict, second.verdict
    if statuses == ("stable", "unstable"):
        quotient = Estimate(math.inf, 0.0)
    elif statuses == ("unstable", "stable"):
        quotient = Estimate(0.0, 0.0)
    elif statuses == ("stable", "stable") and first.value and second.value:
        quotient = ratio(second.estimate, first.estimate)
    else:
        return Contrast(x, Outcome.INCONCLUSIVE, Estimate(math.nan, math.nan))
    difference = independent_difference(first.estimate, second.estimate)
    return Contrast(x, outcome_of(difference, *statuses), quotient)


def summary(found: Sequence[Contrast]) -> str:
    """Return where the first is better, where it is not, and the largest ratio."""
    better = [each for each in found if each.outcome is Outcome.BETTER]
    words = [f"better at {len(better)} of {counted(len(found), 'rate')}"]
    for word, outcomes in (("worse", (Outcome.WORSE,)), ("undecided", UNDECIDED)):
        where = [f"{each.x:g}" for each in found if each.outcome in outcomes]
        if where:
            words.append(f"{word} at {', '.join(where)}")
    finite = [each for each in better if math.isfinite(each.ratio.value)]
    if finite:
        most = max(finite, key=lambda each: each.ratio.value)
        exact = not most.ratio.half_width
        value = f"{most.ratio.value:.3g} (exact)" if exact else str(most.ratio)
        words.append(f"ratio up to {value} at {most.x:g}")
    if alone := [f"{each.x:g}" for each in better if math.isinf(each.ratio.value)]:
        words.append(f"the other unstable at {', '.join(alone)}")
    return "; ".join(words)
