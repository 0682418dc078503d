"""A pretended Slurm for the tests of `quickswap govern`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from quickswap.governing.controller import (
    DELAYED,
    Cluster,
    Controller,
    Diagnostics,
    Job,
    JobState,
    RejectedError,
    Snapshot,
)

NOW = 1_000_000.0


def job(
    name: str,
    need: int,
    *,
    start: float = math.nan,
    arrival: float = NOW - 100,
    limit: float = 60.0,
    **others: object,
) -> Job:
    """Return a job that waits, or runs if it has a start."""
    state = JobState.PENDING if math.isnan(start) else JobState.RUNNING
    one = Job(name, state, need, arrival, arrival, start, math.nan, limit, "Priority", 100)
    return replace(one, **others)  # type: ignore[arg-type]  # of any field


class Pretended(Controller):
    """A Slurm in memory.

    Attributes:
        jobs: its jobs, by name.
        write_hook: called before each write; it may raise an error, or return False to lose it.
    """

    def __init__(self, servers: int, *jobs: Job) -> None:
        self.servers, self.time = servers, NOW
        self.jobs = {each.id: each for each in jobs}
        self.usage = Diagnostics(3, 0)
        self.write_hook: Callable[[str, int], bool] = lambda job, factor: True
        self.delay_hook: Callable[[str, float], object] = lambda job, seconds: None
        self.writes: list[tuple[str, int]] = []
        self.delays: list[tuple[str, float]] = []

    def cluster(self) -> Cluster:
        settings = {"prioritytype": "priority/multifactor", "schedulertype": "sched/backfill"}
        return Cluster("pretended", settings)

    def snapshot(self, partition: str) -> Snapshot:
        for each in [*self.jobs.values()]:  # Slurm ends delays by itself
            if each.reason == DELAYED and each.eligible <= self.time:
                self.jobs[each.id] = replace(each, reason="Priority")
        jobs = tuple(
            replace(each, factor=0) if each.reason == DELAYED else each
            for each in self.jobs.values()
        )
        held = sum(each.need for each in jobs if each.state is JobState.RUNNING)
        return Snapshot(self.time, self.servers, self.servers - held, jobs)

    def diagnostics(self) -> Diagnostics:
        return self.usage

    def write(self, job: str, factor: int) -> None:
        self.writes.append((job, factor))
        if self.write_hook(job, factor):
            one = self.jobs[job]
            priority = one.priority + factor - one.factor
            self.jobs[job] = replace(one, factor=factor, priority=priority)

    def delay(self, job: str, seconds: float) -> None:
        self.delay_hook(job, seconds)
        self.delays.append((job, seconds))
        one = self.jobs[job]
        if one.state is not JobState.PENDING:
            raise RejectedError("Job is no longer pending execution")
        reason = DELAYED if seconds else "Priority"
        self.jobs[job] = replace(one, eligible=self.time + seconds, reason=reason)

    def factors(self, jobs: Iterable[str]) -> dict[str, int]:
        known = (self.jobs[name] for name in jobs if name in self.jobs)
        pending = (each for each in known if each.state is JobState.PENDING)
        return {each.id: each.factor for each in pending if each.reason != DELAYED}

    def delayed(self) -> list[str]:
        """Return the jobs whose start is delayed."""
        return [each.id for each in self.jobs.values() if each.reason == DELAYED]

    def start(self, name: str) -> None:
        self.jobs[name] = replace(self.jobs[name], state=JobState.RUNNING, start=self.time)

    def main_loop(self) -> None:
        """Start jobs in order of priority until one does not fit."""
        free = self.snapshot("").free
        for each in self._by_priority():
            if each.need > free:
                return
            self.start(each.id)
            free -= each.need

    def backfill(self) -> None:
        """Give each job, in order of priority, the first time at which it delays no other."""
        jobs = self.jobs.values()
        free = {self.time: self.snapshot("").free}  # by the time from which it applies
        ends = [
            (max(self.time + 1, one.start + one.limit), one.need) for one in jobs if one.start > 0
        ]
        for end, need in sorted(ends):
            free[end] = free.get(end, list(free.values())[-1]) + need
        for each in self._by_priority():
            start = next(
                time
                for time in sorted(free)
                if all(
                    there >= each.need
                    for other, there in free.items()
                    if time <= other < time + each.limit
                )
            )
            end = start + each.limit
            free.setdefault(end, free[max(time for time in free if time <= end)])
            for time in free:
                free[time] -= each.need * (start <= time < end)
            if start == self.time:
                self.start(each.id)

    def _by_priority(self) -> list[Job]:
        pending = (each for each in self.jobs.values() if each.state is JobState.PENDING)
        waiting = (each for each in pending if each.reason != DELAYED)
        return sorted(waiting, key=lambda each: (-each.priority, each.number))

    def set_factors(self) -> dict[str, int]:
        """Return the factors that are not 0."""
        return {name: each.factor for name, each in self.jobs.items() if each.factor}


def queue(count: int) -> Pretended:
    """Return a Slurm of eight servers with a job in service, and jobs that wait."""
    needs = [8, 2, 2, 3, 1, 2, 2, 1]
    waiting = [job(str(i), needs[i % 8], arrival=NOW - 100 + i) for i in range(2, 2 + count)]
    return Pretended(8, job("1", 4, start=NOW - 10), *waiting)
