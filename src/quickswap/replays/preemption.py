"""Preemptible jobs, which run on the servers that all other jobs leave free.

The other jobs never notice them: they are served first, as if they were alone, and the preemptible
jobs then fill the servers that are free over time (`rust/src/engine/leftover.rs` has the rule).
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from quickswap.engine._core import serve_leftover
from quickswap.replays.jobs import ReplayJobs
from quickswap.replays.measurement import measure
from quickswap.replays.schedule import Floats, History, Ints, Schedule, StoppedRuns, running_through
from quickswap.statistics.bootstrap import Pieces
from quickswap.statistics.quantities import ClassResult

__all__ = ["Preemption", "serve_preemptible"]


@dataclass(frozen=True)
class Preemption:
    """The preemptible jobs and all others, over the jobs measured.

    Attributes:
        preemptible: the preemptible jobs; their waits include runs whose work was lost.
        others: all other jobs.
        count: number of runs of preemptible jobs that were stopped.
        lost_work: servers times duration of these runs, server-seconds; 0 if the work is kept.
        lost_share: the lost work as a share of the work of the preemptible jobs; nan without work.
    """

    preemptible: ClassResult
    others: ClassResult
    count: int
    lost_work: float
    lost_share: float

    @classmethod
    def of(cls, schedule: Schedule, jobs: ReplayJobs, pieces: Pieces) -> Preemption | None:
        """Return the results of the two groups of jobs; None if no job is preemptible."""
        preemptible, inputs = jobs.preemptible, jobs.inputs
        if not preemptible.any():
            return None

        def group(part: Schedule, name: str) -> ClassResult:
            groups = [(1, schedule.servers)]
            bound, levels = inputs.slowdown_bound, inputs.more_percentiles
            quantities, _ = measure(part, [None], pieces, groups, "", bound, levels)
            return msgspec.structs.replace(quantities.overall, name=name)

        mine = schedule.only(preemptible)
        measured = pieces.inside(mine.arrival)
        work = float((mine.need * mine.size)[measured].sum())
        stopped = mine.stopped.of(mine.rows[measured])
        spent = float((stopped.need * (stopped.end - stopped.start)).sum())
        lost = 0.0 if schedule.keeps_work else spent
        return cls(
            group(mine, "preemptible"),
            group(schedule.only(~preemptible), "others"),
            len(stopped),
            lost,
            lost / work if work else float("nan"),
        )


def serve_preemptible(jobs: ReplayJobs, others: Schedule) -> Schedule:
    """Return the schedule of preemptible jobs on the servers that the other jobs leave free."""
    gate, (time, left) = jobs.gate, _left(others)
    start, end, job, begun, stopped = serve_leftover(
        others.servers,
        time,
        left.astype(np.uint32),
        jobs.needs.tolist(),
        jobs.arrival,
        jobs.cls,
        jobs.size,
        keeps_work=jobs.inputs.preempt_mode == "suspend",
        groups=None if gate is None else gate.groups,
        limits=None if gate is None else gate.limits,
    )
    job = job.astype(np.int64)
    runs = StoppedRuns(jobs.rows[job], jobs.need[job], begun, stopped)
    return jobs.schedule(start, end, preemptive=False, stopped=runs)


def _left(schedule: Schedule) -> tuple[Floats, Ints]:
    """Return times, and the servers that a schedule leaves free from each time on.

    A job of size zero needs its servers at one instant only: the first of two entries at that time
    leaves them out.
    """
    history = History.of(schedule)
    last = history.last_of_time()
    time, left = history.time[last], schedule.servers - history.busy[last]
    instant = schedule.size == 0
    if instant.any():
        at = schedule.start[instant]
        least = schedule.servers - running_through(schedule, at) - schedule.need[instant]
        time, left = np.concatenate([at, time]), np.concatenate([least, left])
        order = np.argsort(time, kind="stable")
        time, left = time[order], left[order]
    return time, left
