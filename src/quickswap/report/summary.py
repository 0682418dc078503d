"""The main results at each load: the best policy, and the jobs that wait less or more under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quickswap.logs.times import HOUR
from quickswap.replays import ReplayResult
from quickswap.report.data import Level, ReportData, difference, relative_saving
from quickswap.report.decision import Decision, decide, negligible
from quickswap.report.groups import (
    ChangeCounts,
    GroupChange,
    Grouping,
    by_need,
    by_user,
    count_changes,
)
from quickswap.statistics.estimates import Estimate

__all__ = [
    "LevelSummary",
    "LongestWait",
    "Replacement",
    "bounded_slowdown",
    "longest_waits",
    "summarise",
]

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
        replacement: None if the best policy is the baseline, or does not differ from it.
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
    if first is not base and (decision.conclusive or (gap is not None and gap.value)):
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
