"""Schedules: the start and end of each job, and a check that they are feasible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quickswap.errors import QuickswapError, invalid

if TYPE_CHECKING:
    import polars

    from quickswap.logs import JobLog

__all__ = ["History", "Schedule", "StoppedRuns", "check_schedule", "distinct", "running_through"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_COLUMNS = ("rows", "need", "size", "arrival", "start", "end")


def distinct(needs: Ints) -> tuple[Ints, Ints]:
    """Return the distinct needs in ascending order, and the index of each need, without sorting."""
    occurs = np.bincount(needs) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[needs]


@dataclass(frozen=True)
class StoppedRuns:
    """Runs of preemptible jobs that other jobs stopped. Times are in seconds.

    Attributes:
        rows: row of the job in the table of the log.
        need: server need.
        start: start of the run.
        end: its end.
    """

    rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    need: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    start: Floats = field(default_factory=lambda: np.zeros(0))
    end: Floats = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def merged(cls, several: Sequence[StoppedRuns]) -> StoppedRuns:
        """Return all runs of several schedules."""
        return cls(
            *(np.concatenate([getattr(one, f.name) for one in several]) for f in fields(cls))
        )

    def of(self, rows: Ints) -> StoppedRuns:
        """Return the runs of the jobs with these rows."""
        own = np.isin(self.rows, rows)
        return StoppedRuns(*(getattr(self, f.name)[own] for f in fields(self)))


@dataclass(frozen=True)
class Schedule:
    """Start and end of each job, in the order of arrival. Times are in seconds.

    Attributes:
        servers: servers of the machine.
        rows: row of each job in the table of the log.
        need: server need.
        size: service time.
        arrival: submission.
        start: start; the first one under a preemptive policy, the last one of a preemptible job.
        end: completion.
        preemptive: whether jobs may be interrupted and resumed.
        predicted: number of jobs whose estimate was predicted.
        stopped: the earlier runs of preemptible jobs.
        keeps_work: whether a job keeps the work of these runs; otherwise it is lost.
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
    stopped: StoppedRuns = field(default_factory=StoppedRuns)
    keeps_work: bool = False

    @classmethod
    def merged(cls, servers: int, parts: Sequence[Schedule]) -> Schedule:
        """Return the schedules of parts of the jobs as one, in the order of the rows."""
        order = np.argsort(np.concatenate([each.rows for each in parts]))

        columns = {
            name: np.concatenate([getattr(each, name) for each in parts])[order]
            for name in _COLUMNS
        }
        return cls(
            servers,
            **columns,
            preemptive=any(each.preemptive for each in parts),
            predicted=sum(each.predicted for each in parts),
            stopped=StoppedRuns.merged([each.stopped for each in parts]),
            keeps_work=any(each.keeps_work for each in parts),
        )

    def only(self, kept: NDArray[np.bool_]) -> Schedule:
        """Return the schedule of some of the jobs."""
        columns = {name: getattr(self, name)[kept] for name in _COLUMNS}
        return replace(self, **columns, stopped=self.stopped.of(columns["rows"]))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def runs(self) -> tuple[Ints, Floats, Floats]:
        """Need, start and end of the completed runs, then of those that were stopped."""
        need, start, end = (
            np.concatenate([getattr(self, name), getattr(self.stopped, name)])
            for name in ("need", "start", "end")
        )
        return need, start, end

    @property
    def response(self) -> Floats:
        """Response times, seconds: shape (jobs,)."""
        return self.end - self.arrival

    @property
    def wait(self) -> Floats:
        """Waiting times, seconds: the time not in service; shape (jobs,).

        Service whose work was lost is part of the wait.
        """
        if self.preemptive:
            return self.response - self.size
        return self.start - self.arrival - self.kept

    @cached_property
    def kept(self) -> Floats:
        """Seconds of service before the last run whose work is kept; shape (jobs,)."""
        runs, job = self.stopped, np.searchsorted(self.rows, self.stopped.rows)
        spent: Floats = np.bincount(job, runs.end - runs.start, len(self)).astype(float)
        return spent * self.keeps_work

    @property
    def waits(self) -> tuple[Ints, Floats, Floats, Floats]:
        """The periods in which jobs wait: position of the job, begin, end, and size that remains.

        A job whose work is lost waits, with all its size, until its last run.
        """
        jobs, runs = np.arange(len(self)), self.stopped
        if not self.keeps_work:
            return jobs, self.arrival, self.start, self.size
        job = np.concatenate([jobs, np.searchsorted(self.rows, runs.rows)])
        start, end = np.append(self.start, runs.start), np.append(self.end, runs.end)
        order = np.lexsort((start, job))
        job, start, end = job[order], start[order], end[order]
        first = np.append(True, job[1:] > job[:-1])
        begin = np.where(first, self.arrival[job], np.roll(end, 1))
        served = np.cumsum(end - start) - (end - start)
        of_others = served[first][np.cumsum(first) - 1]
        return job, begin, start, self.size[job] - (served - of_others)

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
            pl.Series("preemptions", np.bincount(self.stopped.rows, minlength=len(log))[self.rows]),
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
        need, start, end = schedule.runs
        none, ones = np.zeros(len(schedule), dtype=np.int64), np.ones(len(need), dtype=np.int64)
        time = np.concatenate([end, schedule.arrival, start])
        order = np.argsort(time, kind="stable")  # at equal times: ends, arrivals, starts
        busy = np.concatenate([-need, none, need])[order]
        # a job that was stopped waits again
        stopped, arrived = ones[len(schedule) :], ones[: len(schedule)]
        waiting = np.concatenate([none, stopped, arrived, -ones])[order]
        return cls(schedule.servers, time[order], np.cumsum(busy), np.cumsum(waiting))

    def last_of_time(self) -> NDArray[np.bool_]:
        """Whether each entry is the last one at its time."""
        return np.append(self.time[1:] > self.time[:-1], True)


def check_schedule(schedule: Schedule, history: History | None = None) -> None:
    """Check that a schedule is feasible.

    No job starts before its submission, each job is served for its size without interruption, and
    no server serves two jobs at the same time. Jobs of size zero must fit together with the jobs
    that run before and after their start. The stopped runs of a preemptible job are shorter than
    its size, and end before its next start; they count as service if their work is kept. A
    preemptive schedule does not contain the interruptions, so only a service time below the size is
    detected.

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
        ("has stopped runs that overlap or are too long", _wrong_stops(schedule)),
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
    through = running_through(schedule, schedule.start[instant])
    crowded = through + schedule.need[instant] > schedule.servers
    if crowded.any():
        _fail(schedule, int(instant[np.argmax(crowded)]), "of size zero does not fit")


def _wrong_service(schedule: Schedule) -> NDArray[np.bool_]:
    served = schedule.start + (schedule.size - schedule.kept)
    if schedule.preemptive:
        return np.asarray(schedule.end < served * (1 - 1e-12))
    if schedule.keeps_work:  # a sum of several runs
        return np.asarray(np.abs(schedule.end - served) > 1e-12 * served)
    return np.asarray(schedule.end != served)


def _wrong_stops(schedule: Schedule) -> NDArray[np.bool_]:
    """Whether each job has stopped runs that cannot be."""
    stopped, wrong = schedule.stopped, np.zeros(len(schedule), dtype=bool)
    if len(stopped):
        job = np.searchsorted(schedule.rows, stopped.rows)
        order = np.lexsort((stopped.start, job))
        job, start, end = job[order], stopped.start[order], stopped.end[order]
        following = schedule.start[job]
        again = np.flatnonzero(job[1:] == job[:-1])
        following[again] = start[again + 1]
        bad = (start < schedule.arrival[job]) | (end > following)
        wrong[job[bad | (end >= start + schedule.size[job])]] = True
    return wrong


def running_through(schedule: Schedule, times: Floats) -> Ints:
    """Return the servers in use at some times by jobs that start before and end after."""
    need, start, end = schedule.runs
    ends, starts = np.argsort(end), np.argsort(start)
    total = np.concatenate([[0], np.cumsum(need[starts])])
    gone = np.concatenate([[0], np.cumsum(need[ends])])
    begun = total[np.searchsorted(start[starts], times, side="left")]
    # a job of size zero at this time has ended, but has not started before
    ended = gone[np.searchsorted(end[ends], times, side="right")]
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
