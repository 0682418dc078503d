"""How many users, and how many jobs, gain or lose under another policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickswap.replays import ReplayResult
from quickswap.report.gains import column_of, measured_rows, owners
from quickswap.report.model import Point, Told
from quickswap.statistics.bootstrap import FEWEST

__all__ = ["FELT", "Counted", "counted_at"]

FELT = 60.0
"""Seconds of wait that somebody notices; a smaller change counts for none."""


@dataclass(frozen=True)
class Counted:
    """Users and jobs measured that another policy makes wait less or more.

    Attributes:
        noun: what is counted: "user" or another column of the log; None if it tells of none.
        people: of them, with any job measured.
        gain, lose: of them, whose mean wait clearly changes: its 95 % interval leaves out 0, it
            changes by a minute or more, and their jobs lie in six weeks (days, hours) or more.
        sooner, later: shares of the jobs that start at least a minute sooner, or later.
    """

    noun: str | None
    people: int
    gain: int
    lose: int
    sooner: float
    later: float


def counted_at(told: Told, point: Point) -> dict[str, Counted]:
    """Return what each policy but the baseline changes, by policy."""
    base = point.baseline
    if base.table is None or not base.jobs:
        return {}
    jobs = told.log.jobs
    column = "user" if jobs["user"].drop_nulls().n_unique() > 1 else None
    column = column or told.column or column_of(jobs)
    named = None if column is None else _people(base, column)
    return {
        other.policy_label: _counted(base, other, column, named)
        for other in point.others
        if np.array_equal(other.schedule.rows, base.schedule.rows)
    }


def _people(base: ReplayResult, column: str) -> NDArray[np.int64]:
    """Return the number of each job's owner, or -1."""
    jobs = base.log.jobs
    _, owner = owners(jobs, column, measured_rows(base), all_of_them=True)
    return np.where(jobs[column].is_null().to_numpy(), -1, owner)


def _counted(
    base: ReplayResult, other: ReplayResult, noun: str | None, owner: NDArray[np.int64] | None
) -> Counted:
    assert base.table is not None
    pieces, schedule = base.table.pieces, base.schedule
    inside = pieces.inside(schedule.arrival)
    gap = (other.schedule.wait - schedule.wait)[inside]
    sooner, later = float((gap <= -FELT).mean()), float((gap >= FELT).mean())
    if owner is None:
        return Counted(None, 0, 0, 0, sooner, later)
    mine = owner[schedule.rows][inside]
    known = mine >= 0
    people, who = np.unique(mine[known], return_inverse=True)
    cells = pieces.index(schedule.arrival[inside])[known] * len(people) + who
    shape = (len(pieces), len(people))
    jobs = np.bincount(cells, minlength=shape[0] * shape[1]).astype(float).reshape(shape)
    sums = np.bincount(cells, gap[known], shape[0] * shape[1]).astype(float).reshape(shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = pieces.sums(sums) / pieces.sums(jobs)
    width, enough = pieces.half_widths(means), (jobs > 0).sum(axis=0) >= FEWEST
    clear = enough & (np.abs(means[0]) > width) & (np.abs(means[0]) >= FELT)
    gain, lose = (int((clear & side).sum()) for side in (means[0] < 0, means[0] > 0))
    return Counted(noun, len(people), gain, lose, sooner, later)
