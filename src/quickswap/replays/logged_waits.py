"""What made the jobs of a log wait: servers in use, or something that a replay does not model.

If enough servers for a waiting job are free, the servers do not make it wait, but limits,
priorities, reservations, dependencies or the pace of the scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quickswap.engine._core import time_with_enough
from quickswap.replays.result import ReplayComparison, ReplayResult, baseline_of
from quickswap.replays.schedule import Floats, History, Ints, Schedule
from quickswap.statistics.estimates import Estimate

__all__ = ["LoggedWaits", "WaitGroup", "idle_while_waiting"]

ENOUGH = 0.5
"""Smallest share of the logged mean wait that a replay must explain."""


def idle_while_waiting(schedule: Schedule) -> Floats:
    """Return the seconds in which each job waits while enough servers for it are free.

    It is exact: the free servers are a step function of time, from the starts and ends of all jobs
    of a schedule that is not preemptive.
    """
    history = History.of(schedule)
    return time_with_enough(
        np.diff(history.time),
        schedule.servers - history.busy[:-1],
        np.searchsorted(history.time, schedule.arrival),
        np.searchsorted(history.time, schedule.start),
        schedule.need,
    )


@dataclass(frozen=True)
class WaitGroup:
    """The waits of a group of jobs.

    Attributes:
        jobs: its share of the jobs.
        waiting: its share of the logged waiting time.
        logged, replayed: mean waits in the log and in the replay, seconds.
        idle: share of its logged waiting time with enough servers free for the job that waits.
    """

    jobs: float
    waiting: float
    logged: Estimate
    replayed: Estimate
    idle: Estimate


@dataclass(frozen=True)
class LoggedWaits:
    """The logged waits of the measured jobs, and the waits of the same jobs in a replay.

    Attributes:
        logged: the logged waits.
        replay: the replay under the baseline.
    """

    logged: ReplayResult
    replay: ReplayResult

    @classmethod
    def of(cls, comparison: ReplayComparison) -> LoggedWaits | None:
        """Return the logged waits of a comparison; None without them, or without a policy."""
        for results in comparison.points:
            logged, policies = results[0], results[1:]
            if logged.policy is None and logged.jobs and policies:
                return cls(logged, baseline_of(policies))
        return None

    @cached_property
    def all(self) -> WaitGroup:
        """All jobs."""
        return self.grouped(np.zeros(len(self.logged.log), dtype=np.int64), 1)[0]

    @property
    def explained(self) -> float:
        """Mean wait in the replay as a share of the logged mean wait; nan if no job waited."""
        return self.all.replayed.value / (self.all.logged.value or float("nan"))

    @property
    def unexplained(self) -> bool:
        """Whether the replay explains less than half of the logged mean wait."""
        return self.explained < ENOUGH

    @cached_property
    def idle_in_replay(self) -> float:
        """Share of the waiting time with enough free servers in the replay; nan if preemptive."""
        schedule, measured = self.replay.schedule, self.replay.measured
        if schedule.preemptive:
            return float("nan")
        waits = schedule.wait[measured].sum()
        return float(_idle(self.replay)[measured].sum() / (waits or float("nan")))

    def grouped(self, owner: Ints, groups: int) -> list[WaitGroup]:
        """Return the waits by any grouping; `owner` is the group of each row of the log."""
        pieces = self.logged.table.pieces
        sums = self._sums(owner, groups)
        drawn = pieces.sums(sums)
        jobs, waiting, idle, replayed = (drawn[..., i] for i in range(sums.shape[-1]))
        with np.errstate(invalid="ignore", divide="ignore"):
            columns = [
                pieces.estimates(each) for each in (waiting / jobs, replayed / jobs, idle / waiting)
            ]
            shares = [(each[0] / each[0].sum()).tolist() for each in (jobs, waiting)]
        return [WaitGroup(*row) for row in zip(*shares, *columns, strict=True)]

    @cached_property
    def by_piece(self) -> Floats:
        """Jobs, logged waiting time, its part with enough free servers, and the waiting time in the
        replay, by piece of the log: (pieces, 4); seconds.
        """
        return self._sums(np.zeros(len(self.logged.log), dtype=np.int64), 1)[:, 0]

    def _sums(self, owner: Ints, groups: int) -> Floats:
        """Return the columns of `by_piece` by piece and group: (pieces, groups, 4)."""
        schedule, pieces = self.logged.schedule, self.logged.table.pieces
        jobs = self.logged.measured
        rows = schedule.rows[jobs]
        same = np.searchsorted(self.replay.schedule.rows, rows)
        cell = pieces.index(schedule.arrival[jobs]) * groups + owner[rows]
        columns = (
            None,
            schedule.wait[jobs],
            _idle(self.logged)[jobs],
            self.replay.schedule.wait[same],
        )
        sums = [np.bincount(cell, each, len(pieces) * groups) for each in columns]
        return np.stack(sums, axis=1, dtype=float).reshape(len(pieces), groups, len(columns))


def _idle(result: ReplayResult) -> Floats:
    """Return `idle_while_waiting` of each job in its own pool."""
    if not result.pools:
        return idle_while_waiting(result.schedule)
    idle = np.empty(len(result.schedule))
    for pool in result.pools.values():
        own = np.searchsorted(result.schedule.rows, pool.schedule.rows)
        idle[own] = idle_while_waiting(pool.schedule)
    return idle
