"""Claims of the paper and the judgement on them, from one curve of a figure against another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from quickswap._words import counted
from quickswap.paper.experiment import WEIGHTED
from quickswap.paper.rows import Row, Rows
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome, outcome_of
from quickswap.theory import stability

__all__ = [
    "UNDECIDED",
    "Better",
    "Claim",
    "Contrast",
    "Curve",
    "Finding",
    "Judgement",
    "Measured",
    "Pair",
    "Place",
    "Stable",
    "Times",
    "contrasts",
    "judgement",
    "summary",
]

UNDECIDED = (Outcome.ALIKE, Outcome.INCONCLUSIVE)
"""Outcomes without a significant difference."""


Place = tuple[str, float]
"""A simulation of a figure: label of its series, and value of the axis."""


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
        simulated: the simulations compared; none for exact values.
    """

    x: float
    outcome: Outcome
    ratio: Estimate
    simulated: tuple[Place, ...]


def contrasts(rows: Rows, first: Curve, second: Curve, *, present: bool = False) -> list[Contrast]:
    """Compare two curves of a figure wherever both have been simulated.

    With `present` only where both have a value, and none is 0.

    Exact values replace simulated ones where the figure has them. A comparison with a run that is
    too short, or with a value of 0, is inconclusive; an unstable policy is worse than a stable one.
    """
    here, there = (_best_known(rows, curve) for curve in (first, second))
    everywhere = ((x, here[x], there[x]) for x in sorted(here.keys() & there.keys()))
    return [
        _contrast(x, one, other)
        for x, one, other in everywhere
        if not present or all(row.value and not math.isnan(row.value) for row in (one, other))
    ]


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
    simulated = tuple((row.series, x) for row in (first, second) if row.method == "simulated")
    if statuses == ("stable", "unstable"):
        quotient = Estimate(math.inf, 0.0)
    elif statuses == ("unstable", "stable"):
        quotient = Estimate(0.0, 0.0)
    elif statuses == ("stable", "stable") and first.value and second.value:
        quotient = second.estimate / first.estimate
    else:
        return Contrast(x, Outcome.INCONCLUSIVE, Estimate(math.nan, math.nan), simulated)
    difference = first.estimate - second.estimate
    return Contrast(x, outcome_of(difference, *statuses), quotient, simulated)


def summary(found: Sequence[Contrast]) -> str:
    """Return where the first is better, where it is not, and the largest ratio."""
    if not found:
        return "no rate at which both have a value"
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


FEW = 0.1
"""Share of undecided points that a claim may have that holds at all others."""


class Judgement(StrEnum):
    """The judgement on a claim; "undecided" where the runs are too short."""

    HOLDS = "holds"
    CONDITION = "holds with a condition"
    FAILS = "does not hold"
    UNDECIDED = "undecided"


class Measured(NamedTuple):
    """What the check of a claim says.

    Attributes:
        text: numbers with 95 % intervals, or exact numbers.
        judgement: that follows from them.
        open: simulations of the claim's figure that may change the judgement if they are longer.
    """

    text: str
    judgement: Judgement
    open: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim with its judgement; the other attributes are those of `Claim` and `Measured`.

    Attributes:
        open: the simulations that may change the verdict if they are longer, by figure, series and
            value of the axis.
    """

    claim: str
    where: str
    measured: str
    verdict: str
    why: str
    open: tuple[tuple[str, str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper and its check.

    Attributes:
        claim: the statement, in our words.
        where: in the paper.
        figures: that the check needs.
        check: measures the figures; a record such as `Better`, or a function of `checks`.
        why: a sentence that explains the finding of runs in full length.
    """

    claim: str
    where: str
    figures: tuple[str, ...]
    check: Callable[..., Measured]
    why: str

    def judge(self, figures: Mapping[str, Rows]) -> Finding:
        """Return the finding; `figures` contains those that the claim names."""
        found = self.check(*(figures[name] for name in self.figures))
        places = tuple((self.figures[0], *place) for place in found.open)
        return Finding(self.claim, self.where, found.text, found.judgement, self.why, places)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two curves, of which the first should be the lower one.

    Attributes:
        title: names the pair in what is measured.
        first, second: the curves.
        counts: whether points at which the first is better count for the claim.
    """

    title: str
    first: Curve
    second: Curve
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Better:
    """The check that one curve is below another at every value of the axis, for several pairs.

    Attributes:
        pairs: of curves.
        intro: before what is measured.
        word: for "better".
        up_to: value of the axis beyond which points do not count.
        present: whether points at which a value is missing are left out.
    """

    pairs: tuple[Pair, ...]
    intro: str = ""
    word: str = "better"
    up_to: float = math.inf
    present: bool = False

    def __call__(self, rows: Rows) -> Measured:
        """Compare the pairs."""
        parts, counts, places = [], Counter[Outcome](), set[Place]()
        for pair in self.pairs:
            compared = contrasts(rows, pair.first, pair.second, present=self.present)
            counting = [
                each
                for each in compared
                if each.x <= self.up_to and (pair.counts or each.outcome is not Outcome.BETTER)
            ]
            counts.update(each.outcome for each in counting)
            places |= _undecided(counting)
            parts.append(f"{pair.title}: {summary(compared)}".replace("better", self.word))
        measured = self.intro + ". ".join(parts)
        undecided = sum(counts[each] for each in UNDECIDED)
        found = judgement(counts[Outcome.BETTER], counts[Outcome.WORSE], undecided)
        if found is Judgement.CONDITION and counts[Outcome.WORSE]:  # whatever the others are
            places = set()
        return Measured(measured, found, tuple(sorted(places)))


@dataclass(frozen=True, slots=True)
class Times:
    """The check that one curve is lower than another by a factor at high rates, for several pairs.

    Attributes:
        pairs: of curves.
        factor: that some ratio of each pair reaches.
        high: number of rates, from the highest down, that are high.
    """

    pairs: tuple[Pair, ...]
    factor: float
    high: int = 3

    def __call__(self, rows: Rows) -> Measured:
        """Compare the pairs. One that is undecided at a high rate may reach the factor there."""
        parts, reached, failed, places = [], True, False, set[Place]()
        for pair in self.pairs:
            found = contrasts(rows, pair.first, pair.second)
            parts.append(f"{pair.title}: {summary(found)}")
            high = found[-self.high :]
            ratios = [each.ratio.value for each in high if each.outcome is Outcome.BETTER]
            if max(filter(math.isfinite, ratios), default=0.0) >= self.factor:
                continue
            reached = False
            failed |= all(each.outcome not in UNDECIDED for each in high)
            places |= _undecided(high)
        text = ". ".join(parts)
        if reached:
            return Measured(text, Judgement.HOLDS)
        if failed:
            return Measured(text, Judgement.FAILS)
        return Measured(text, Judgement.UNDECIDED, tuple(sorted(places)))


@dataclass(frozen=True, slots=True)
class Stable:
    """The check that policies are stable at every rate of a figure.

    Attributes:
        series: labels of the policies.
    """

    series: tuple[str, ...]

    def __call__(self, rows: Rows) -> Measured:
        """Count the verdicts of the simulations, and add the rate below which theory proves it."""
        parts, every, short = [], Counter[str](), list[Place]()
        for series in self.series:
            curve = rows.of(series, WEIGHTED)
            short += [(series, x) for x, row in curve.items() if row.verdict == "too short"]
            counts = Counter(row.verdict for row in curve.values())
            every += counts
            words = [f"stable at {counts['stable']} of {counts.total()} rates"]
            for status in ("unstable", "too short"):
                where = [f"{x:g}" for x, row in curve.items() if row.verdict == status]
                if where:
                    words.append(f"{status} at {', '.join(where)}")
            known = stability(rows.experiment.system, next(iter(curve.values())).policy)
            if known.limit is not None:
                words.append(f"proven below {known.limit:.4g}")
            parts.append(f"{series}: {', '.join(words)}")
        text = "; ".join(parts)
        if every["unstable"]:
            return Measured(text, Judgement.FAILS)
        return Measured(text, Judgement.UNDECIDED if short else Judgement.HOLDS, tuple(short))


def _undecided(found: Iterable[Contrast]) -> set[Place]:
    """Return the simulations of the contrasts that are undecided."""
    return {place for each in found if each.outcome in UNDECIDED for place in each.simulated}


def judgement(good: int, bad: int, undecided: int) -> Judgement:
    """Return the judgement on a claim about every point, from the number of each outcome.

    It is undecided as long as most points are.
    """
    if undecided > good + bad:
        return Judgement.UNDECIDED
    if bad:
        return Judgement.CONDITION if good else Judgement.FAILS
    if undecided > FEW * (good + undecided):
        return Judgement.CONDITION
    return Judgement.HOLDS if good else Judgement.UNDECIDED
