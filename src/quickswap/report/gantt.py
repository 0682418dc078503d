"""The data of the zoomable schedule, packed small; `assets/gantt.js` draws it.

Only need, size, submission and user of each job, and its start under each policy, are stored, as
whole numbers in columns, deflated. The browser decides which servers a job holds.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quickswap.replays import ReplayResult
from quickswap.report.data import ReportData

__all__ = ["Gantt", "gantt"]

MOST = 100_000
"""Jobs that are drawn at most."""
FINEST = 2**31 - 1
"""Ticks that the span has at most."""


@dataclass(frozen=True)
class Gantt:
    """The schedules of a report.

    Attributes:
        drawn: results whose schedule is drawn.
        jobs: in the schedules; `shown` of them are drawn.
        data: for the script of the page.
    """

    drawn: tuple[ReplayResult, ...]
    jobs: int
    shown: int
    data: dict[str, Any]


def gantt(data: ReportData) -> Gantt | None:
    """Return the schedules at the main load; None if jobs are interrupted and continue in all."""
    level = data.main
    whole = [r for r in level.rows if not (r.schedule.preemptive or r.schedule.keeps_work)]
    drawn = tuple(r for r in whole if len(r.schedule))
    if not drawn:
        return None
    # all policies serve the same jobs; the logged schedule may lack some
    schedule = max((each.schedule for each in drawn), key=len)
    rows, jobs = schedule.rows, len(schedule)
    if jobs > MOST:
        # the busiest stretch of this many submissions: the most work per second
        work = np.concatenate([[0.0], np.cumsum(schedule.need * schedule.size)])
        spans = schedule.arrival[MOST - 1 :] - schedule.arrival[: jobs - MOST + 1]
        first = int(np.argmax((work[MOST:] - work[: jobs - MOST + 1]) / np.maximum(spans, 1e-9)))
        rows = rows[first : first + MOST]
    return Gantt(drawn, jobs, len(rows), _packed_jobs(data, drawn, rows))


def _packed_jobs(
    data: ReportData, drawn: Sequence[ReplayResult], rows: NDArray[np.int64]
) -> dict[str, Any]:
    jobs = data.log.jobs[rows]
    submit, size = jobs["submit"].to_numpy(), jobs["size"].to_numpy()
    begin = float(submit[0])
    starts = []  # nan for jobs that are not part of a schedule
    for each in drawn:
        start = np.full(len(data.log), np.nan)
        start[each.schedule.rows] = each.schedule.start
        starts.append(start[rows])
    end = max(float(np.nanmax(start + size)) for start in starts) - begin
    # one second, unless times are finer or the span is very long
    whole = all((each == np.rint(each)).all() for each in (submit - begin, size))
    tick = 1.0 if whole or end > 1e5 else max(end, 1e-9) / 2**30
    tick = max(tick, end / FINEST)
    users = jobs["user"] if jobs["user"].null_count() < len(jobs) else jobs["group"]
    users = users.cast(pl.String)
    names = users.drop_nulls().unique(maintain_order=True).to_list()
    numbers = {name: i + 1 for i, name in enumerate(names)}  # 0 where the user is not known
    codes = users.replace_strict(numbers, default=0, return_dtype=pl.Int64).fill_null(0)
    return {
        "jobs": len(rows),
        "servers": data.main.baseline.schedule.servers,
        "tick": tick,
        "begin": begin,
        "origin": data.clock.origin if data.main.factor == 1 else None,
        "zone": data.clock.name,
        "users": names,
        "columns": [
            _packed(np.diff(np.rint((submit - begin) / tick), prepend=0.0)),
            _packed(np.maximum(np.rint(size / tick), 0)),
            _packed(jobs["need"].to_numpy()),
            _packed(codes.to_numpy()),
        ],
        "waits": [
            # one more than the wait; 0 for a job that is not there
            _packed(np.where(np.isnan(start), 0.0, np.rint((start - submit) / tick) + 1))
            for start in starts
        ],
    }


def _packed(values: Any) -> str:
    """Return whole numbers as text: 32 bits each, by bytes of equal weight, deflated, base64."""
    numbers = np.asarray(values).astype("<u4")
    planes = numbers.view(np.uint8).reshape(-1, 4).T
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress(planes.tobytes()) + packer.flush()).decode()
