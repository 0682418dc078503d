"""Whether a log shows which policy has the shortest mean wait at a load, and if not, why not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quickswap.replays import ReplayResult
from quickswap.report.data import NOTICEABLE, Level, difference, significant, worse
from quickswap.statistics.bootstrap import FEWEST
from quickswap.statistics.estimates import Estimate

__all__ = ["Concentration", "Decision", "concentration", "decide", "negligible"]

SHORT = 0.05
"""Share of the mean response time up to which users do not notice a mean wait."""
SLIGHT = 0.01
"""Share of a mean wait below which a difference is negligible."""
MOST = 0.9
"""Share of the jobs that counts as most of them."""


@dataclass(frozen=True)
class Concentration:
    """How the jobs of a log are spread over its pieces (weeks, days or hours).

    Attributes:
        effective: number of equally busy pieces with the same evidence: the square of the sum of
            the jobs of the pieces, over the sum of their squares (Kish's effective sample size).
        pieces: the fewest that contain 90 % of the jobs.
        share: of the jobs in them.
    """

    effective: float
    pieces: int
    share: float


@dataclass(frozen=True)
class Decision:
    """Which policy is best at one load, as far as the log shows.

    Attributes:
        first: the policy with the shortest mean wait.
        rival: the policy it is compared with: the baseline, or where that is `first`, the best one
            that is tied with it, or else the next one.
        gap: mean wait of `rival` less that of `first`; None if they cannot be paired.
        tied: policies that are not significantly different from `first`, by label.
        negligible: policies whose difference is significant, but negligible, by label.
        slowest: the policy with the longest mean wait if even that is too short to matter.
        left_out: jobs that were left out by need or size, so the machine served more jobs.
        concentrated: set if most jobs lie in too few pieces of the log.
        too_short: whether the log is too short for any confidence interval.
        chance: whether the difference from the rival may be chance.
    """

    first: ReplayResult
    rival: ReplayResult | None = None
    gap: Estimate | None = None
    tied: tuple[str, ...] = ()
    negligible: tuple[str, ...] = ()
    slowest: ReplayResult | None = None
    left_out: int = 0
    concentrated: Concentration | None = None
    too_short: bool = False
    chance: bool = False

    @property
    def conclusive(self) -> bool:
        """Whether the log shows which policy is best."""
        return not (self.slowest or self.concentrated or self.too_short or self.chance)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The policies that may be the best, or as good as the best."""
        return (self.first.policy_label, *self.tied, *self.negligible)


def decide(level: Level) -> Decision:
    """Return the decision at a load at which jobs were measured."""
    first, *rest = level.ranked
    if not rest:
        return Decision(first)
    gaps = {each.policy_label: difference(each, first) for each in rest}
    tied = tuple(name for name, gap in gaps.items() if not worse(gap))
    alike = tuple(
        name
        for name, gap in gaps.items()
        if name not in tied and gap is not None and negligible(gap, first)
    )
    rival = level.baseline
    if rival is first or rival not in rest:
        rival = next((each for each in rest if each.policy_label in tied), rest[0])
    gap, slow = gaps[rival.policy_label], rest[-1]
    if slow.mean_waiting_time.value <= SHORT * slow.mean_response_time.value:
        report = first.log.report
        left_out = report["need_cap"] + report["size_cap"]
        return Decision(first, rival, gap, tied, alike, slow, left_out)
    too_short = first.resampled[1] == "whole"
    found = None if too_short else concentration(first)
    if found is not None and found.effective >= FEWEST:
        found = None
    chance = rival.policy_label in tied and gap is not None and not significant(gap)
    return Decision(first, rival, gap, tied, alike, None, 0, found, too_short, chance)


def negligible(gap: Estimate, than: ReplayResult) -> bool:
    """Whether a difference of mean waits is below one minute, or below 1 % of the wait."""
    size = abs(gap.value)
    return size < NOTICEABLE or size < SLIGHT * abs(than.mean_waiting_time.value)


def concentration(result: ReplayResult) -> Concentration:
    """Return how the measured jobs are spread over the pieces of the log."""
    jobs = np.sort(result.table.moments[:, :, 0, 0].sum(axis=1))[::-1]
    shares = np.cumsum(jobs) / jobs.sum()
    few = int(np.argmax(shares >= MOST))
    return Concentration(
        float(jobs.sum() ** 2 / np.square(jobs).sum()), few + 1, float(shares[few])
    )
