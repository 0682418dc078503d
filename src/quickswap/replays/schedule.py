"""A schedule: which job was served when; and the proof that it could be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quickswap.errors import QuickswapError, shown

if TYPE_CHECKING:
    import polars

    from quickswap.logs import JobLog

__all__ = ["History", "Schedule", "check_schedule", "distinct"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def distinct(needs: Ints) -> tuple[Ints, Ints]:
    """Return the needs that occur, ascending, and the place of each among them: no sorting."""
    occurs = np.bincount(needs) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[needs]


@dataclass(frozen=True)
class Schedule:
    """Start and end of each job, in the order of arrival. Times are in seconds.

    Attributes:
        servers: of the machine.
        rows: of the jobs in the table of the log.
        need: servers that the job holds.
        size: seconds of service.
        arrival: when it was submitted.
        start: when it was (first) started.
        end: when it completed.
        preemptive: jobs may have been stopped in between and gone on later.
    """

    servers: int
    rows: Ints
    need: Ints
    size: Floats
    arrival: Floats
    start: Floats
    end: Floats
    preemptive: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def response(self) -> Floats:
        """Response times, seconds: shape (jobs,)."""
        return self.end - self.arrival

    @property
    def wait(self) -> Floats:
        """Waiting times, seconds: all time not in service; shape (jobs,)."""
        return self.response - self.size if self.preemptive else self.start - self.arrival

    def to_frame(self, log: JobLog, slowdown_bound: float) -> polars.DataFrame:
        """Return one row a job: what the log says of it, and what became of it in the replay."""
        import polars as pl

        size, response = self.size, self.response
        with np.errstate(divide="ignore", invalid="ignore"):
            slowdown = np.where(response == size, 1.0, response / size)
        columns = ["line", "job", "user", "group", "class", "queue", "partition", "estimate"]
        known = log.jobs.select(columns)[self.rows]
        bounded = np.maximum(1.0, response / np.maximum(size, slowdown_bound))
        return known.with_columns(
            pl.Series("need", self.need),
            pl.Series("size", size),
            pl.Series("submit", self.arrival),
            pl.Series("start", self.start),
            pl.Series("end", self.end),
            pl.Series("wait", self.wait),
            pl.Series("response", response),
            pl.Series("slowdown", slowdown),
            pl.Series("bounded_slowdown", bounded),
        )


@dataclass(frozen=True)
class History:
    """What held between events: after `time[i]` and until `time[i + 1]`, `busy[i]` servers were in
    use and `waiting[i]` jobs waited. Several events of one instant have an entry each, of which the
    last one holds.
    """

    time: Floats
    busy: Ints
    waiting: Ints

    @classmethod
    def of(cls, schedule: Schedule) -> History:
        """Return the history of a schedule that is not preemptive."""
        jobs = len(schedule)
        time = np.concatenate([schedule.end, schedule.arrival, schedule.start])
        order = np.argsort(time, kind="stable")  # of one instant: ends, arrivals, starts
        kind = order // jobs
        change = np.where(kind == 1, 0, np.where(kind == 2, 1, -1)) * schedule.need[order % jobs]
        waits = np.where(kind == 0, 0, np.where(kind == 1, 1, -1))
        return cls(time[order], np.cumsum(change), np.cumsum(waits))

    def settled(self) -> NDArray[np.bool_]:
        """Whether an entry is the last one of its instant."""
        return np.append(self.time[1:] > self.time[:-1], True)


def check_schedule(schedule: Schedule, history: History | None = None) -> None:
    """Prove that a schedule could have happened.

    No job starts before it arrives; each is served for its size in one piece (in a preemptive
    schedule: for no less than its size in all); no server serves two jobs at once. Jobs of size
    zero must fit beside those that run through their instant. Who ran when in between is not part
    of a preemptive schedule, so that the use of its servers cannot be proven from it.

    Raises:
        QuickswapError: it is no schedule.
        RuntimeError: it could not: a mistake in quickswap, or in a policy compiled elsewhere.
    """
    if not isinstance(schedule, Schedule):
        raise QuickswapError(f"a schedule is to be checked, not {shown(schedule)}.")
    for what, wrong in (
        ("does not complete", ~np.isfinite(schedule.end)),
        ("starts before it arrives", schedule.start < schedule.arrival),
        ("is not served for its size", _cut_short(schedule)),
    ):
        if wrong.any():
            _refuse(schedule, int(np.argmax(wrong)), what)
    if schedule.preemptive or not len(schedule):
        return
    history = history or History.of(schedule)
    over = (history.busy > schedule.servers) & history.settled()
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
        _refuse(schedule, int(instant[np.argmax(crowded)]), "of size zero does not fit")


def _cut_short(schedule: Schedule) -> NDArray[np.bool_]:
    served = schedule.start + schedule.size
    return (
        schedule.end < served * (1 - 1e-12)
        if schedule.preemptive
        else np.asarray(schedule.end != served)
    )


def _running_through(schedule: Schedule, times: Floats) -> Ints:
    """Return the servers held, at each of some times, by jobs that started before and end after."""
    ends, starts = np.argsort(schedule.end), np.argsort(schedule.start)
    total = np.concatenate([[0], np.cumsum(schedule.need[starts])])
    gone = np.concatenate([[0], np.cumsum(schedule.need[ends])])
    begun = total[np.searchsorted(schedule.start[starts], times, side="left")]
    # a job of size zero at the instant has ended by it, but not begun before it
    ended = gone[np.searchsorted(schedule.end[ends], times, side="right")]
    at = np.flatnonzero(schedule.size == 0)
    order = at[np.argsort(schedule.start[at], kind="stable")]
    zero = np.concatenate([[0], np.cumsum(schedule.need[order])])
    same = schedule.start[order]
    now = zero[np.searchsorted(same, times, "right")] - zero[np.searchsorted(same, times, "left")]
    return np.asarray(begun - ended + now, dtype=np.int64)


def _refuse(schedule: Schedule, job: int, what: str) -> None:
    raise RuntimeError(
        f"the job of row {schedule.rows[job]} {what}: it arrives at {schedule.arrival[job]}, "
        f"starts at {schedule.start[job]}, ends at {schedule.end[job]}, size {schedule.size[job]}."
    )
