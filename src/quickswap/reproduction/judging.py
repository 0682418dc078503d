"""What a claim is, and what can be said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from quickswap.reproduction.table import Rows

__all__ = [
    "CONDITION",
    "FAILS",
    "HOLDS",
    "MEAN",
    "UNDECIDED",
    "WEIGHTED",
    "Claim",
    "Figures",
    "Finding",
    "Judged",
    "verdict",
]

MEAN, WEIGHTED = "mean_response_time", "weighted_mean_response_time"

HOLDS = "holds"
CONDITION = "holds with a condition"
FAILS = "does not hold"
UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim with its verdict.

    Attributes:
        claim: what the paper says, in our words.
        where: in the paper.
        measured: numbers with 95 % intervals, or said to be exact.
        verdict: "holds", "holds with a condition", "does not hold", or "undecided" where the runs
            were too short.
        why: a sentence.
    """

    claim: str
    where: str
    measured: str
    verdict: str
    why: str


Figures = Mapping[str, Rows]
"""By name."""
Judged = tuple[str, str, str]
"""What is measured, the verdict, and why."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, and how it is judged from the figures it needs."""

    claim: str
    where: str
    figures: tuple[str, ...]
    rule: Callable[[Figures], Judged]

    def judge(self, figures: Figures) -> Finding:
        """Return the verdict; `figures` holds those that the claim names."""
        return Finding(self.claim, self.where, *self.rule(figures))


FEW = 0.1
"""Share of the points that may be undecided where all others are good."""


def verdict(good: int, bad: int, unsure: int) -> str:
    """Return the verdict on what should hold at every point, from the points of each outcome."""
    if bad:
        return CONDITION if good else FAILS
    if unsure > FEW * (good + unsure):
        return CONDITION if good > unsure else UNDECIDED
    return HOLDS if good else UNDECIDED
