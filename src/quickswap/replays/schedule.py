"""Schedules: the start and end of each job, and a check that they are feasible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quickswap.errors import QuickswapError, invalid

if TYPE_CHECKING:
    import polars

    from quickswap.logs import JobLog

__all__ = ["History", "Schedule", "check_schedule", "distinct"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def distinct(needs: Ints) -> tuple[Ints, Ints]:
    """Return the distinct needs in ascending order, and the index of each need, without sorting."""
    occurs = np.bincount(needs) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[needs]


@dataclass(frozen=True)
class Schedule:
    """Start and end of each job, in the order of arrival. Times are in seconds.

    Attributes:
        servers: servers of the machine.
        rows: row of each job in the table of the log.
        need: server need.
        size: service time.
        arrival: submission.
        start: (first) start.
        end: completion.
        preemptive: whether jobs may be interrupted and resumed.
        predicted: number of jobs whose estimate was predicted.
    """

    servers: int
    rows: Ints
    need: Ints
    size: Floats
    arrival: Floats
    start: Floats
    end: Floats
    preemptive: bool = False
    predicted: int = 0

    @classmethod
    def merged(cls, servers: int, pools: Sequence[Schedule]) -> Schedule:
        """Return the schedules of pools as one, in the order of the rows."""
        order = np.argsort(np.concatenate([each.rows for each in pools]))

        columns = {
            name: np.concatenate([getattr(each, name) for each in pools])[order]
            for name in ("rows", "need", "size", "arrival", "start", "end")
        }
        return cls(
            servers,
            **columns,
            preemptive=any(each.preemptive for each in pools),
            predicted=sum(each.predicted for each in pools),
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def response(self) -> Floats:
        """Response times, seconds: shape (jobs,)."""
        return self.end - self.arrival

    @property
    def wait(self) -> Floats:
        """Waiting times, seconds: the time not in service; shape (jobs,)."""
        return self.response - self.size if self.preemptive else self.start - self.arrival

    @property
    def slowdown(self) -> Floats:
        """Response times over sizes, 1 for jobs that do not wait; shape (jobs,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.response == self.size, 1.0, self.response / self.size)

    def bounded_slowdown(self, bound: float) -> Floats:
        """Return the slowdowns with sizes of at least `bound` seconds; shape (jobs,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.maximum(1.0, self.response / np.maximum(self.size, bound))

    def to_frame(self, log: JobLog, slowdown_bound: float) -> polars.DataFrame:
        """Return one row per job: its fields in the log, and its times in the replay."""
        import polars as pl

        columns = ["line", "job", "user", "group", "class", "queue", "partition", "estimate"]
        return log.jobs.select(columns)[self.rows].with_columns(
            pl.Series("need", self.need),
            pl.Series("size", self.size),
            pl.Series("submit", self.arrival),
            pl.Series("start", self.start),
            pl.Series("end", self.end),
            pl.Series("wait", self.wait),
            pl.Series("response", self.response),
            pl.Series("slowdown", self.slowdown),
            pl.Series("bounded_slowdown", self.bounded_slowdown(slowdown_bound)),
        )


@dataclass(frozen=True)
class History:
    """Servers in use and waiting jobs over time.

    From `time[i]` to `time[i + 1]`, `busy[i]` servers are in use and `waiting[i]` jobs wait. Each
    of several events at the same time has an entry; the last of them is the state afterwards.
    """

    servers: int
    time: Floats
    busy: Ints
    waiting: Ints

    @classmethod
    def of(cls, schedule: Schedule) -> History:
        """Return the history of a schedule that is not preemptive."""
        jobs = len(schedule)
        time = np.concatenate([schedule.end, schedule.arrival, schedule.start])
        order = np.argsort(time, kind="stable")  # at equal times: ends, arrivals, starts
        kind = order // jobs
        change = np.where(kind == 1, 0, np.where(kind == 2, 1, -1)) * schedule.need[order % jobs]
        waits = np.where(kind == 0, 0, np.where(kind == 1, 1, -1))
        return cls(schedule.servers, time[order], np.cumsum(change), np.cumsum(waits))

    def last_of_time(self) -> NDArray[np.bool_]:
        """Whether each entry is the last one at its time."""
        return np.append(self.time[1:] > self.time[:-1], True)


def check_schedule(schedule: Schedule, history: History | None = None) -> None:
    """Check that a schedule is feasible.

    No job starts before its submission, each job is served for its size without interruption, and
    no server serves two jobs at the same time. Jobs of size zero must fit together with the jobs
    that run before and after their start. A preemptive schedule does not contain the interruptions,
    so only a service time below the size is detected.

    Raises:
        QuickswapError: the argument is not a schedule.
        RuntimeError: the schedule is not feasible, because of a defect in quickswap or in a
            compiled policy.
    """
    if not isinstance(schedule, Schedule):
        raise invalid("schedule", schedule, "a Schedule", QuickswapError)
    for what, wrong in (
        ("does not complete", ~np.isfinite(schedule.end)),
        ("starts before its submission", schedule.start < schedule.arrival),
        ("is not served for its size", _wrong_service(schedule)),
    ):
        if wrong.any():
            _fail(schedule, int(np.argmax(wrong)), what)
    if schedule.preemptive or not len(schedule):
        return
    history = history or History.of(schedule)
    over = (history.busy > schedule.servers) & history.last_of_time()
    if over.any():
        at = int(np.argmax(over))
        raise RuntimeError(
            f"{history.busy[at]} of {schedule.servers} servers are in use at {history.time[at]} s."
        )
    instant = np.flatnonzero(schedule.size == 0)
    if not len(instant):
        return
    through = _running_through(schedule, schedule.start[instant])
    crowded = through + schedule.need[instant] > schedule.servers
    if crowded.any():
        _fail(schedule, int(instant[np.argmax(crowded)]), "of size zero does not fit")


def _wrong_service(schedule: Schedule) -> NDArray[np.bool_]:
    served = schedule.start + schedule.size
    return (
        schedule.end < served * (1 - 1e-12)
        if schedule.preemptive
        else np.asarray(schedule.end != served)
    )


def _running_through(schedule: Schedule, times: Floats) -> Ints:
    """Return the servers in use at some times by jobs that start before and end after."""
    ends, starts = np.argsort(schedule.end), np.argsort(schedule.start)
    total = np.concatenate([[0], np.cumsum(schedule.need[starts])])
    gone = np.concatenate([[0], np.cumsum(schedule.need[ends])])
    begun = total[np.searchsorted(schedule.start[starts], times, side="left")]
    # a job of size zero at this time has ended, but has not started before
    ended = gone[np.searchsorted(schedule.end[ends], times, side="right")]
    at = np.flatnonzero(schedule.size == 0)
    order = at[np.argsort(schedule.start[at], kind="stable")]
    zero = np.concatenate([[0], np.cumsum(schedule.need[order])])
    same = schedule.start[order]
    now = zero[np.searchsorted(same, times, "right")] - zero[np.searchsorted(same, times, "left")]
    return np.asarray(begun - ended + now, dtype=np.int64)


def _fail(schedule: Schedule, job: int, what: str) -> None:
    raise RuntimeError(
        f"the job of row {schedule.rows[job]} {what}: submitted at {schedule.arrival[job]}, "
        f"start {schedule.start[job]}, end {schedule.end[job]}, size {schedule.size[job]}."
    )
