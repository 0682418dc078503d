"""Claims of the paper and the judgement on them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from quickswap.paper.comparing import UNDECIDED, Curve, contrasts, summary
from quickswap.paper.rows import Rows
from quickswap.statistics.paired import Outcome

__all__ = [
    "MEAN",
    "WEIGHTED",
    "Better",
    "Claim",
    "Figures",
    "Finding",
    "Judgement",
    "Measured",
    "Pair",
    "judgement",
]

MEAN, WEIGHTED = "mean_response_time", "weighted_mean_response_time"
FEW = 0.1
"""Share of undecided points that a claim may have that holds at all others."""


class Judgement(StrEnum):
    """The judgement on a claim; "undecided" where the runs are too short."""

    HOLDS = "holds"
    CONDITION = "holds with a condition"
    FAILS = "does not hold"
    UNDECIDED = "undecided"


Figures = Mapping[str, Rows]
"""By name."""
Measured = tuple[str, Judgement]
"""Numbers with 95 % intervals, or exact numbers, and the judgement that follows."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim with its judgement; the attributes are those of `Claim` and `Measured`."""

    claim: str
    where: str
    measured: str
    verdict: str
    why: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper and its check.

    Attributes:
        claim: the statement, in our words.
        where: in the paper.
        figures: that the check needs.
        check: a comparison or a function that measures the figures.
        why: a sentence that explains the finding.
    """

    claim: str
    where: str
    figures: tuple[str, ...]
    check: Callable[[Figures], Measured]
    why: str

    def judge(self, figures: Figures) -> Finding:
        """Return the finding; `figures` contains those that the claim names."""
        measured, judgement = self.check(figures)
        return Finding(self.claim, self.where, measured, judgement, self.why)


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
        figure: its name.
        pairs: of curves.
        intro: before what is measured.
        word: for "better".
        up_to: value of the axis beyond which points do not count.
        present: whether points at which a value is missing are left out.
    """

    figure: str
    pairs: tuple[Pair, ...]
    intro: str = ""
    word: str = "better"
    up_to: float = math.inf
    present: bool = False

    def __call__(self, figures: Figures) -> Measured:
        """Compare the pairs."""
        parts, counts = [], Counter[Outcome]()
        for pair in self.pairs:
            found = contrasts(figures[self.figure], pair.first, pair.second)
            if self.present:
                found = [each for each in found if not math.isnan(each.ratio.value)]
            counts.update(
                each.outcome
                for each in found
                if each.x <= self.up_to and (pair.counts or each.outcome is not Outcome.BETTER)
            )
            parts.append(f"{pair.title}: {summary(found)}".replace("better", self.word))
        measured = self.intro + ". ".join(parts)
        undecided = sum(counts[each] for each in UNDECIDED)
        return measured, judgement(counts[Outcome.BETTER], counts[Outcome.WORSE], undecided)


def judgement(good: int, bad: int, undecided: int) -> Judgement:
    """Return the judgement on a claim about every point, from the number of each outcome."""
    if bad:
        return Judgement.CONDITION if good else Judgement.FAILS
    if undecided > FEW * (good + undecided):
        return Judgement.CONDITION if good > undecided else Judgement.UNDECIDED
    return Judgement.HOLDS if good else Judgement.UNDECIDED
