"""The main results at each load: the best policy, and the jobs that wait less or more under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quickswap.logs.times import HOUR
from quickswap.replays import ReplayResult
from quickswap.replays.logged_waits import LoggedWaits
from quickswap.replays.owners import NOTICEABLE
from quickswap.report.data import (
    Level,
    ReportData,
    difference,
    relative_saving,
    significant,
    worse,
)
from quickswap.report.groups import (
    ChangeCounts,
    GroupChange,
    Grouping,
    by_need,
    by_user,
    count_changes,
)
from quickswap.statistics.bootstrap import FEWEST
from quickswap.statistics.estimates import Estimate

__all__ = [
    "Concentration",
    "Decision",
    "LevelSummary",
    "LongestWait",
    "Replacement",
    "bounded_slowdown",
    "concentration",
    "decide",
    "longest_waits",
    "negligible",
    "summarise",
]

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
        unexplained: the logged waits if the replay explains less than half of them, so the log does
            not show what a policy would do.
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
    unexplained: LoggedWaits | None = None
    left_out: int = 0
    concentrated: Concentration | None = None
    too_short: bool = False
    chance: bool = False

    @property
    def conclusive(self) -> bool:
        """Whether the log shows which policy is best."""
        reasons = (
            self.slowest,
            self.unexplained,
            self.concentrated,
            self.too_short,
            self.chance,
        )
        return not any(reasons)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The policies that may be the best, or as good as the best."""
        return (self.first.policy_label, *self.tied, *self.negligible)


def decide(level: Level) -> Decision:
    """Return the decision at a load at which jobs were measured."""
    first, *rest = level.ranked
    unexplained = level.waits if level.waits is not None and level.waits.unexplained else None
    if not rest:
        return Decision(first, unexplained=unexplained)
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
    short = slow.mean_waiting_time.value <= SHORT * slow.mean_response_time.value
    if short and unexplained is None:
        report = first.log.report
        left_out = report["need_cap"] + report["size_cap"]
        return Decision(first, rival, gap, tied, alike, slow, left_out=left_out)
    too_short = first.resampled[1] == "whole"
    found = None if too_short else concentration(first)
    if found is not None and found.effective >= FEWEST:
        found = None
    chance = rival.policy_label in tied and gap is not None and not significant(gap)
    return Decision(first, rival, gap, tied, alike, None, unexplained, 0, found, too_short, chance)


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


FAR, LONG = 2.0, HOUR
"""Times the longest wait of another policy, and seconds more, from which a wait is far longer."""


@dataclass(frozen=True)
class LongestWait:
    """A policy under which one job waits far longer than under another."""

    policy: str
    wait: float
    other: str
    other_wait: float


@dataclass(frozen=True)
class Replacement:
    """The changes if the best policy replaces the baseline.

    Attributes:
        shorter, longer: the groups with the largest significant changes, with their groupings.
        counts: how many users and jobs wait less or more; None if the jobs differ.
        weighted: difference of the weighted mean response time; None if it cannot be paired.
    """

    shorter: tuple[tuple[Grouping, GroupChange], ...]
    longer: tuple[tuple[Grouping, GroupChange], ...]
    counts: ChangeCounts | None
    weighted: Estimate | None


@dataclass(frozen=True)
class LevelSummary:
    """The results at one load.

    Attributes:
        level: the load.
        needs, users: changes by group.
        counts: how many users and jobs wait less or more, by policy.
        decision: which policy is best; None if no job was measured.
        saving: share by which its mean wait is shorter than that of its rival.
        price: class of needs whose wait increases most if the best policy replaces the baseline.
        longest: candidates under which one job waits far longer than elsewhere.
        others: difference of each other policy from the baseline, and whether it is negligible.
        replacement: None if the best policy is the baseline, or does not differ from it, or if the
            replay does not explain the logged waits.
        logged: difference of the logged mean wait from the baseline, where both exist.
    """

    level: Level
    needs: Grouping
    users: Grouping | None
    counts: dict[str, ChangeCounts]
    decision: Decision | None = None
    saving: Estimate | None = None
    price: GroupChange | None = None
    longest: tuple[LongestWait, ...] = ()
    others: tuple[tuple[str, Estimate, bool], ...] = ()
    replacement: Replacement | None = None
    logged: Estimate | None = None


def summarise(data: ReportData, level: Level) -> LevelSummary:
    """Return the results at a load."""
    needs, users, counts = by_need(level), by_user(data, level), count_changes(data, level)
    if not level.ranked:
        return LevelSummary(level, needs, users, counts)
    base, decision = level.baseline, decide(level)
    first, gap = decision.first, decision.gap
    gaps = [
        (each.policy_label, difference(each, base))
        for each in level.others
        if each.jobs and (each is not first or not decision.conclusive)
    ]
    replacement = None
    if (
        decision.unexplained is None
        and first is not base
        and (decision.conclusive or (gap is not None and gap.value))
    ):
        label, groupings = first.policy_label, [each for each in (needs, users) if each]
        weighted = None
        if first.jobs == base.jobs:
            weighted = first.table.weighted_difference(base.table)
        shorter, longer = (
            tuple((each, row) for each in groupings if (row := each.largest(label, kind)))
            for kind in ("gain", "loss")
        )
        replacement = Replacement(shorter, longer, counts.get(label), weighted)
    rival, logged = decision.rival, level.logged
    return LevelSummary(
        level,
        needs,
        users,
        counts,
        decision,
        None if rival is None else relative_saving(first, rival),
        needs.largest(first.policy_label, "loss"),
        tuple(longest_waits(level, decision)),
        tuple((name, gap, negligible(gap, base)) for name, gap in gaps if gap is not None),
        replacement,
        difference(logged, base) if logged is not None and logged.jobs else None,
    )


def longest_waits(level: Level, decision: Decision) -> Iterator[LongestWait]:
    """Yield the candidates under which one job waits far longer than elsewhere.

    Elsewhere is under the baseline, or for the baseline, under the policy where it is shortest.
    """
    for each in level.ranked:
        others = [other for other in level.ranked if other is not each]
        if each is not level.baseline and level.baseline.jobs:
            others = [level.baseline]
        if each.policy_label not in decision.candidates or not others:
            continue
        other = min(others, key=lambda each: each.longest_wait)
        if each.longest_wait >= max(FAR * other.longest_wait, other.longest_wait + LONG):
            yield LongestWait(
                each.policy_label, each.longest_wait, other.policy_label, other.longest_wait
            )


def bounded_slowdown(data: ReportData) -> tuple[ReplayResult, tuple[str, ...]] | None:
    """Return the policy with the smallest mean bounded slowdown at the main load, and any tied."""
    level = data.main
    if len(level.ranked) < 2:
        return None
    factors = [results[-1].inputs.load_factor for results in data.comparison.points]
    best, *tied = data.comparison.best(factors.index(level.factor))
    return next(each for each in level.policies if each.policy_label == best), tuple(tied)
