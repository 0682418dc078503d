"""Who gains and who loses: differences of the mean wait by class and by group of users."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quickswap.errors import QuickswapError, shown
from quickswap.replays import ReplayResult
from quickswap.replays.measuring import Table, tabulate
from quickswap.report.model import METRIC, Point, Told, difference
from quickswap.statistics.bootstrap import FEWEST
from quickswap.statistics.estimates import Estimate

__all__ = [
    "COLUMNS",
    "Gain",
    "Gains",
    "by_class",
    "by_user",
    "check_column",
    "check_filled",
    "column_of",
    "measured_rows",
    "owners",
]

COLUMNS = ("user", "group", "queue", "partition", "class")
"""Columns of a log whose values can stand for groups of users."""
FEW = 30
"""Groups that are shown one by one."""
HEAVIEST = 12
"""Users that are shown where there are more."""
UNKNOWN = "(not logged)"


@dataclass(frozen=True)
class Gain:
    """One group under one policy.

    Attributes:
        name: of the group.
        jobs, work: its shares of the jobs and of the work measured.
        base: its mean wait under the baseline, seconds.
        gap: mean wait less that under the baseline, seconds; None where they cannot be paired.
    """

    name: str
    jobs: float
    work: float
    base: Estimate
    gap: Estimate | None


@dataclass(frozen=True)
class Gains:
    """All groups of one kind under all policies but the baseline.

    Attributes:
        noun: what a group is.
        before, after: stand around a group's name in a sentence.
        plural: whether a group is spoken of as many.
        rows: by policy, in the order of the groups.
    """

    noun: str
    before: str
    after: str
    plural: bool
    rows: dict[str, tuple[Gain, ...]]

    def of(self, policy: str) -> tuple[Gain, ...]:
        """Return the groups under a policy."""
        return self.rows.get(policy, ())

    def who(self, row: Gain) -> str:
        """Return a group as a sentence calls it."""
        name = row.name.replace("-", " to ") if self.plural else row.name
        after = self.after[:-1] if name == "1" and self.plural else self.after
        return f"{self.before}{name}{after}"


def by_class(told: Told, point: Point | None = None) -> Gains:
    """Return gains and losses by server need; at the load of the log unless a point is given."""
    point = point or told.main
    base = point.baseline
    need, size, inside = _measured(base)
    work = need * size * inside
    rows: dict[str, tuple[Gain, ...]] = {}
    edges = [each.need for each in base.classes]
    at = np.searchsorted(edges, need, side="left")
    jobs_of = np.bincount(at, inside, len(edges))
    work_of = np.bincount(at, work, len(edges))
    for other in point.others:
        rows[other.policy_label] = tuple(
            Gain(
                each.name,
                _share(jobs_of[i], jobs_of.sum()),
                _share(work_of[i], work_of.sum()),
                each.mean_waiting_time,
                _trusted(difference(other, base, cls=each.name), base.table, i),
            )
            for i, each in enumerate(base.classes)
            if each.jobs
        )
    return Gains("class of needs", "jobs that need ", " servers", True, rows)


def by_user(told: Told, point: Point | None = None) -> Gains | None:
    """Return gains and losses by group of users; None if the log knows of one or none."""
    point = point or told.main
    column = told.column or column_of(told.log.jobs)
    if column is None:
        return None
    base = point.baseline
    names, owner = owners(told.log.jobs, column, measured_rows(base))
    if len(names) < 2:
        return None
    mine = owner[base.schedule.rows]
    need, size, inside = _measured(base)
    jobs_of = np.bincount(mine, inside, len(names))
    work_of = np.bincount(mine, need * size * inside, len(names))
    pieces = base.table.pieces if base.table is not None else None
    if pieces is None:
        return None
    bound = base.inputs.slowdown_bound
    ours = tabulate(base.schedule, pieces, mine, len(names), bound)
    means = pieces.estimates(
        np.stack([ours.means(METRIC, group) for group in range(len(names))], axis=1)
    )
    rows = {}
    for other in point.others:
        paired = difference(other, base) is not None
        theirs = tabulate(other.schedule, pieces, owner[other.schedule.rows], len(names), bound)
        rows[other.policy_label] = tuple(
            Gain(
                name,
                _share(jobs_of[i], jobs_of.sum()),
                _share(work_of[i], work_of.sum()),
                means[i],
                _trusted(theirs.difference(ours, METRIC, i), ours, i) if paired else None,
            )
            for i, name in enumerate(names)
            if jobs_of[i]
        )
    return Gains(column, f"{column} ", "", False, rows)


def _trusted(gap: Estimate | None, table: Table | None, group: int) -> Estimate | None:
    """Return a difference, its interval unknown where the group has jobs in too few weeks."""
    if gap is None or table is None:
        return gap
    pieces = int((table.moments[:, group, 0, 0] > 0).sum())
    return gap if pieces >= FEWEST or gap.value == 0 else Estimate(gap.value, math.nan)


def check_column(column: object) -> str | None:
    """Refuse a column that cannot stand for groups of users.

    Raises:
        QuickswapError: with those that can.
    """
    if column is None or (isinstance(column, str) and column in COLUMNS):
        return column
    raise QuickswapError(
        f"groups is {shown(column)}; it must be a column of the log: {', '.join(COLUMNS)}."
    )


def check_filled(jobs: pl.DataFrame, column: str | None) -> None:
    """Refuse a column of which a log tells nothing.

    Raises:
        QuickswapError: with those of which it does.
    """
    if column is None or jobs[column].count():
        return
    filled = [name for name in COLUMNS if jobs[name].count()]
    rest = f"it tells {', '.join(filled)}" if filled else "nor any of the others"
    raise QuickswapError(f"groups is {column!r}, of which the log tells nothing: {rest}.")


def column_of(jobs: pl.DataFrame) -> str | None:
    """Return the column that tells users apart: groups if they are few, else users."""
    known = {name: jobs[name].drop_nulls().n_unique() for name in ("group", "user")}
    if 2 <= known["group"] <= FEW or (known["user"] < 2 <= known["group"]):
        return "group"
    return "user" if known["user"] >= 2 else None


def owners(
    jobs: pl.DataFrame, column: str, measured: NDArray[np.bool_], all_of_them: bool = False
) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of the groups, heaviest first, and the group of each job of the log.

    Only groups with a job measured have a name; jobs of others, none of them measured, are put into
    the last group. Where there are many, only the heaviest are named, unless all of them are asked
    for.
    """
    texts = jobs[column].cast(pl.String).fill_null(UNKNOWN)
    work = (jobs["need"] * jobs["size"]).rename("work")
    sums = (
        pl.DataFrame([texts, work])
        .filter(pl.Series(measured))
        .group_by(column)
        .agg(pl.col("work").sum())
        .sort(["work", column], descending=[True, False])
    )
    names: list[str] = sums[column].to_list()
    whole = all_of_them or (len(names) <= FEW and column != "user")
    shown_names = names if whole else names[:HEAVIEST]
    rest = len(names) - len(shown_names)
    number = {name: i for i, name in enumerate(shown_names)}
    last = max(0, len(names[: len(shown_names) + 1]) - 1)
    codes = texts.replace_strict(number, default=last, return_dtype=pl.Int64)
    if rest:
        shown_names = [*shown_names, f"all {rest} others" if rest > 1 else "the other one"]
    return shown_names, codes.to_numpy()


def measured_rows(result: ReplayResult) -> NDArray[np.bool_]:
    """Return whether each job of the log is measured."""
    found = np.zeros(len(result.log), dtype=bool)
    found[result.schedule.rows] = _measured(result)[2] > 0
    return found


def _measured(
    result: ReplayResult,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return need and size of each job, and 1 where it is measured, else 0."""
    schedule = result.schedule
    assert result.table is not None
    inside = result.table.pieces.inside(schedule.arrival).astype(float)
    return schedule.need, schedule.size, inside


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
