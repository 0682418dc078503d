"""Changes of the mean wait by server need and by group of users."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quickswap.errors import QuickswapError, invalid
from quickswap.replays import ReplayResult
from quickswap.replays.measurement import MomentTable
from quickswap.replays.owners import HEAVIEST, NOTICEABLE, UNKNOWN, largest_groups, owners
from quickswap.replays.schedule import Floats, Ints
from quickswap.report.data import METRIC, Level, ReportData, difference
from quickswap.statistics.bootstrap import FEWEST
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome, outcome_of
from quickswap.statistics.quantities import SUMMARIES

__all__ = [
    "ChangeCounts",
    "GroupChange",
    "Grouping",
    "by_need",
    "by_user",
    "check_column",
    "check_filled",
    "count_changes",
]

COLUMNS = ("user", "group", "queue", "partition", "class")
"""Columns of a log whose values can be groups of users."""
FEW = 30
"""Groups that are shown one by one."""


@dataclass(frozen=True)
class GroupChange:
    """One group of jobs under one policy.

    Attributes:
        name: of the group.
        jobs, work: its shares of the jobs and of the work measured.
        baseline: its mean wait under the baseline, seconds.
        change: difference from that, seconds; None where the two cannot be paired.
    """

    name: str
    jobs: float
    work: float
    baseline: Estimate
    change: Estimate | None

    @property
    def kind(self) -> str:
        """Return "gain" (significantly shorter waits), "loss" (longer waits) or "open"."""
        kinds = {Outcome.BETTER: "gain", Outcome.WORSE: "loss"}
        return "open" if self.change is None else kinds.get(outcome_of(self.change), "open")


@dataclass(frozen=True)
class Grouping:
    """All groups of one kind under all policies except the baseline.

    Attributes:
        column: of the log: "need" or a column of users.
        rows: by policy, in the order of the groups.
    """

    column: str
    rows: dict[str, tuple[GroupChange, ...]]

    @property
    def label(self) -> str:
        """The name of the kind of groups."""
        return "server need" if self.column == "need" else self.column

    def largest(self, policy: str, kind: str) -> GroupChange | None:
        """Return the group with the largest significant change, a minute at least, of one kind."""
        found = [
            (abs(row.change.value), row)
            for row in self.rows.get(policy, ())
            if row.change is not None and row.kind == kind and abs(row.change.value) >= NOTICEABLE
        ]
        return max(found, key=lambda each: each[0])[1] if found else None


@dataclass(frozen=True)
class ChangeCounts:
    """Numbers of users and shares of the jobs that wait less or more under another policy.

    Attributes:
        column: the column of the log that is counted, such as "user"; None if there is none.
        groups: number of groups with jobs measured.
        gain, lose: number of groups whose mean wait changes significantly and by at least a
            minute, and whose jobs lie in at least six weeks (days, hours).
        earlier, later: shares of the jobs that start at least a minute earlier, or later.
    """

    column: str | None
    groups: int
    gain: int
    lose: int
    earlier: Estimate
    later: Estimate


def by_need(level: Level) -> Grouping:
    """Return the changes by class of server needs."""
    base = level.baseline
    owner = np.searchsorted([each.need for each in base.classes], base.log.jobs["need"].to_numpy())
    return _changes(level, "need", [each.name for each in base.classes], owner.astype(np.int64))


def by_user(data: ReportData, level: Level) -> Grouping | None:
    """Return the changes by group of users; None if the log contains fewer than two groups."""
    jobs = data.log.jobs
    column = data.column or _default_column(jobs)
    if column is None:
        return None
    most = HEAVIEST if column == "user" else FEW
    names, owner = largest_groups(jobs, column, level.baseline, most)
    return _changes(level, column, names, owner) if len(names) > 1 else None


def _changes(level: Level, column: str, names: list[str], owner: Ints) -> Grouping:
    """Compare the policies by groups; `owner` is the number of the group of each job of the log."""
    base = level.baseline
    table = base.tabulated(owner, len(names))
    jobs = table.moments[:, :, 0, 0]
    inside = base.measured
    work = np.bincount(
        owner[base.schedule.rows],
        base.schedule.need * base.schedule.size * inside,
        minlength=len(names),
    )
    means = table.pieces.estimates(_means(table))
    rows = {}
    for other in level.others:
        changes: list[Estimate | None] = [None] * len(names)
        if difference(other, base) is not None:
            drawn = _means(other.tabulated(owner, len(names))) - _means(table)
            enough = (jobs > 0).sum(axis=0) >= FEWEST
            changes = [
                each if trusted or each.value == 0 else Estimate(each.value, math.nan)
                for each, trusted in zip(table.pieces.estimates(drawn), enough, strict=True)
            ]
        rows[other.policy_label] = tuple(
            GroupChange(
                name,
                float(jobs[:, i].sum() / jobs.sum()),
                float(work[i] / work.sum()) if work.any() else 0.0,
                means[i],
                changes[i],
            )
            for i, name in enumerate(names)
            if jobs[:, i].any()
        )
    return Grouping(column, rows)


def count_changes(data: ReportData, level: Level) -> dict[str, ChangeCounts]:
    """Return the counts for each policy except the baseline, by policy."""
    base, jobs = level.baseline, data.log.jobs
    if not base.jobs:
        return {}
    column = "user" if jobs["user"].drop_nulls().n_unique() > 1 else None
    column = column or data.column or _default_column(jobs)
    groups = None if column is None else owners(jobs, column, base)
    return {
        other.policy_label: _counts(base, other, column, groups)
        for other in level.others
        if np.array_equal(other.schedule.rows, base.schedule.rows)
    }


def _counts(
    base: ReplayResult,
    other: ReplayResult,
    column: str | None,
    groups: tuple[list[str], Ints] | None,
) -> ChangeCounts:
    pieces, inside = base.table.pieces, base.measured
    change = (other.schedule.wait - base.schedule.wait)[inside]
    piece = pieces.index(base.schedule.arrival[inside])

    def means(values: Floats, group: Ints | int, groups: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Return means by group, (1 + draws, groups), and whether enough pieces have jobs."""
        cell, cells = piece * groups + group, len(pieces) * groups
        jobs, sums = (
            np.bincount(cell, weights, cells).astype(float).reshape(len(pieces), groups)
            for weights in (np.ones(len(values)), values)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return pieces.sums(sums) / pieces.sums(jobs), (jobs > 0).sum(axis=0) >= FEWEST

    earlier, later = (
        pieces.estimates(means(side.astype(float), 0, 1)[0])[0]
        for side in (change <= -NOTICEABLE, change >= NOTICEABLE)
    )
    if groups is None:
        return ChangeCounts(None, 0, 0, 0, earlier, later)
    names, owner = groups
    drawn, enough = means(change, owner[base.schedule.rows][inside], len(names))
    size, known = np.abs(drawn[0]), np.array([name != UNKNOWN for name in names], dtype=bool)
    clear = known & enough & (size > pieces.half_widths(drawn)) & (size >= NOTICEABLE)
    gain, lose = (int((clear & side).sum()) for side in (drawn[0] < 0, drawn[0] > 0))
    return ChangeCounts(column, int(known.sum()), gain, lose, earlier, later)


def _means(table: MomentTable) -> Floats:
    """Return the mean wait of each group in the whole and in each draw: (1 + draws, groups)."""
    sums = table.pieces.sums(table.moments[:, :, SUMMARIES.index(METRIC), :2])
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = sums[..., 1] / sums[..., 0]
    return means


def check_column(column: object) -> str | None:
    """Reject a column that cannot be groups of users.

    Raises:
        QuickswapError: with those that can.
    """
    if column is None or (isinstance(column, str) and column in COLUMNS):
        return column
    allowed = f"a column of the log: {', '.join(COLUMNS)}"
    raise invalid("groups", column, allowed, QuickswapError)


def check_filled(jobs: pl.DataFrame, column: str | None) -> None:
    """Reject a column that is empty in a log.

    Raises:
        QuickswapError: with those that are not.
    """
    if column is None or jobs[column].count():
        return
    filled = [name for name in COLUMNS if jobs[name].count()]
    raise QuickswapError(
        f"groups is {column!r}, which is empty in this log",
        argument="groups",
        given=column,
        allowed=", ".join(filled),
        advice=f"give one that it contains: {', '.join(filled)}" if filled else "omit {groups}",
    )


def _default_column(jobs: pl.DataFrame) -> str | None:
    """Return the group column if it has few groups, otherwise users; None below two groups."""
    known = {name: jobs[name].drop_nulls().n_unique() for name in ("group", "user")}
    if 2 <= known["group"] <= FEW or (known["user"] < 2 <= known["group"]):
        return "group"
    return "user" if known["user"] >= 2 else None
