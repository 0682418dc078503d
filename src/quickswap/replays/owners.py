"""Groups of the jobs of a log, such as users, those with the most work first."""

from __future__ import annotations

import numpy as np
import polars as pl

from quickswap.logs.times import MINUTE
from quickswap.replays.result import ReplayResult
from quickswap.replays.schedule import Ints

__all__ = ["HEAVIEST", "NOTICEABLE", "UNKNOWN", "largest_groups", "owners"]

NOTICEABLE = MINUTE
"""Smallest change of a wait that users notice; smaller changes are negligible and not counted."""
HEAVIEST = 12
"""Groups that are kept apart where there are too many."""
UNKNOWN = "(not logged)"


def largest_groups(
    jobs: pl.DataFrame, column: str, base: ReplayResult, most: int
) -> tuple[list[str], Ints]:
    """Return the groups with the most work, and that of each job of the log.

    If there are more than `most`, the smaller ones are one group.
    """
    names, owner = owners(jobs, column, base)
    if len(names) > most:
        rest = len(names) - HEAVIEST
        names = [*names[:HEAVIEST], f"all {rest} others" if rest > 1 else "the other one"]
        owner = np.minimum(owner, HEAVIEST)
    return names, owner


def owners(jobs: pl.DataFrame, column: str, base: ReplayResult) -> tuple[list[str], Ints]:
    """Return the groups with any job measured, most work first, and that of each job of the log.

    Jobs of other groups, none of them measured, have the last number.
    """
    measured = np.zeros(len(jobs), dtype=bool)
    measured[base.schedule.rows] = base.measured
    texts = jobs[column].cast(pl.String).fill_null(UNKNOWN)
    names: list[str] = (
        pl.DataFrame([texts, (jobs["need"] * jobs["size"]).alias("work")])
        .filter(pl.Series(measured))
        .group_by(column)
        .agg(pl.col("work").sum())
        .sort(["work", column], descending=[True, False])[column]
        .to_list()
    )
    number = {name: i for i, name in enumerate(names)}
    codes = texts.replace_strict(number, default=max(0, len(names) - 1), return_dtype=pl.Int64)
    return names, codes.to_numpy()
