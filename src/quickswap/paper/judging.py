"""What a claim is, and the verdict on it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from quickswap.paper.comparing import Curve, contrasts, summary
from quickswap.paper.rows import Rows

__all__ = [
    "MEAN",
    "WEIGHTED",
    "Better",
    "Claim",
    "Figures",
    "Finding",
    "Measured",
    "Pair",
    "Verdict",
    "verdict",
]

MEAN, WEIGHTED = "mean_response_time", "weighted_mean_response_time"
FEW = 0.1
"""Share of the points that may be undecided where all others are good."""


class Verdict(StrEnum):
    """The verdict on a claim; "undecided" where the runs were too short."""

    HOLDS = "holds"
    CONDITION = "holds with a condition"
    FAILS = "does not hold"
    UNDECIDED = "undecided"


Figures = Mapping[str, Rows]
"""By name."""
Measured = tuple[str, Verdict]
"""Numbers with 95 % intervals, or said to be exact, and the verdict that they give."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim with its verdict; the attributes are those of `Claim` and `Measured`."""

    claim: str
    where: str
    measured: str
    verdict: str
    why: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, and how it is judged.

    Attributes:
        claim: what the paper says, in our words.
        where: in the paper.
        figures: that the check needs.
        check: a comparison or a function that measures the figures.
        why: a sentence that explains what is found.
    """

    claim: str
    where: str
    figures: tuple[str, ...]
    check: Callable[[Figures], Measured]
    why: str

    def judge(self, figures: Figures) -> Finding:
        """Return the verdict; `figures` contains those that the claim names."""
        measured, found = self.check(figures)
        return Finding(self.claim, self.where, measured, found, self.why)


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
        parts, counts = [], Counter[str]()
        for pair in self.pairs:
            found = contrasts(figures[self.figure], pair.first, pair.second)
            if self.present:
                found = [each for each in found if not math.isnan(each.ratio.value)]
            counts.update(
                each.outcome
                for each in found
                if each.x <= self.up_to and (pair.counts or each.outcome != "better")
            )
            parts.append(f"{pair.title}: {summary(found)}".replace("better", self.word))
        measured = self.intro + ". ".join(parts)
        return measured, verdict(counts["better"], counts["worse"], counts["undecided"])


def verdict(good: int, bad: int, unsure: int) -> Verdict:
    """Return the verdict on what should hold at every point, from the points of each outcome."""
    if bad:
        return Verdict.CONDITION if good else Verdict.FAILS
    if unsure > FEW * (good + unsure):
        return Verdict.CONDITION if good > unsure else Verdict.UNDECIDED
    return Verdict.HOLDS if good else Verdict.UNDECIDED
