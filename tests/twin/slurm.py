"""Slurm, by its definition alone: in each decision everything is worked out again from the jobs."""

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from twin.backfilling import until
from twin.state import Job, State


@dataclass
class Slurm:
    """Priorities: those of the last recalculation, or of the arrival of the job.

    Main loop, if the jobs present have changed since the last decision; then a backfill cycle, if
    the jobs waiting or in service have changed since the last one, which is `bf_interval` ago.

    `users` and `constants` have an entry for each job: its user, and the part of its priority that
    does not change.
    """

    servers: int
    needs: list[int]
    users: list[int]
    constants: list[float]
    default_queue_depth: int
    bf_interval: float | None
    bf_window: float
    bf_resolution: float
    bf_max_job_test: int
    bf_max_job_user: int
    bf_job_part_count_reserve: int
    bf_min_age_reserve: float
    bf_min_prio_reserve: int
    priority_weight_age: int
    priority_weight_fairshare: int
    priority_weight_job_size: int
    priority_max_age: float
    priority_decay_half_life: float
    priority_calc_period: float
    priority_favor_small: bool
    priority: dict[int, int] = field(default_factory=dict)
    starts: list[Job] = field(default_factory=list)
    """Jobs that start now."""
    seen: set[int] = field(default_factory=set)
    """Numbers of the jobs that have arrived."""
    before_main_loop: tuple[set[int], ...] = ()
    """Numbers of the jobs that had arrived, and of those present, at the last main loop."""
    before_cycle: tuple[set[int], ...] = ()
    """Numbers of the jobs that had arrived, waited and were in service, at the last cycle."""
    last: tuple[set[int], ...] = (set(), set(), set())
    """The same at the last decision."""
    last_cycle: float = -math.inf
    usage: dict[int, float] = field(default_factory=dict)
    """Server-seconds by user, as of the last recalculation."""
    calculated: float = 0.0
    history: list[tuple[float, list[Job]]] = field(default_factory=list)
    """Times since the last recalculation, and the jobs in service from then on."""

    def next_job(self, state: State) -> Job | None:
        if not self.starts:
            self.prioritise(state)
            queue = sorted(state.waiting, key=lambda job: (-self.priority[job.number], job.rank))
            present = {job.number for job in [*state.waiting, *state.running]}
            self.seen = self.seen | present
            if (self.seen, present) != self.before_main_loop:
                self.before_main_loop = (self.seen, present)
                self.starts = self.main_loop(state, queue)
            if not self.starts and self.cycle_is_due(state):
                self.before_cycle, self.last_cycle = self.numbers(state), state.now
                self.starts = self.cycle(state, queue)
        self.last = self.numbers(state)
        self.history.append((state.now, list(state.running)))
        return self.starts.pop(0) if self.starts else None

    def wake_at(self, now: float) -> float:
        waits = self.last[1] and self.last != self.before_cycle
        if self.bf_interval is None or not waits:
            return math.inf
        return max(self.last_cycle + self.bf_interval, math.nextafter(now, math.inf))

    def prioritise(self, state: State) -> None:
        """Give priorities to new jobs, or in a new period to all."""
        varies = self.priority_weight_age or self.priority_weight_fairshare
        period = self.priority_calc_period
        if varies and state.now // period > self.calculated // period:
            self.priority = {}
            half_life = self.priority_decay_half_life
            passed = state.now - self.calculated
            decay = math.exp2(-passed / half_life) if half_life else 1.0
            used = dict.fromkeys(self.users, 0.0)
            moments = [*self.history, (state.now, [])]
            for (begin, jobs), (end, _) in pairwise(moments):
                for job in jobs:
                    used[self.users[job.number]] += job.need * (end - begin)
            for user, recent in used.items():
                self.usage[user] = self.usage.get(user, 0.0) * decay + recent
            self.calculated, self.history = state.now, []
        for job in state.waiting:
            if job.number not in self.priority:
                self.priority[job.number] = self.priority_of(job, state.now)

    def priority_of(self, job: Job, now: float) -> int:
        age = min((now - job.arrival) / self.priority_max_age, 1.0)
        size = job.need / self.servers
        if self.priority_favor_small:
            size = 1 - size
        total = 0.0
        for user in sorted(set(self.users)):
            total += self.usage.get(user, 0.0)
        share = 1 / len(set(self.users))
        fair = 1.0
        if total and self.priority_weight_fairshare:
            fair = math.exp2(-(self.usage[self.users[job.number]] / total) / share)
        weighted = (
            self.priority_weight_age * age
            + self.priority_weight_fairshare * fair
            + self.priority_weight_job_size * size
            + self.constants[job.number]
        )
        return max(1, math.floor(weighted))

    def may_reserve(self, job: Job, now: float) -> bool:
        old_enough = now - job.arrival >= self.bf_min_age_reserve
        return old_enough and self.priority[job.number] >= self.bf_min_prio_reserve

    def main_loop(self, state: State, queue: list[Job]) -> list[Job]:
        free, starts = state.free(), []
        for job in queue[: self.default_queue_depth]:
            if job.need <= free:
                starts.append(job)
                free -= job.need
            elif self.may_reserve(job, state.now):
                break
        return starts

    def cycle_is_due(self, state: State) -> bool:
        changed = self.numbers(state) != self.before_cycle
        interval = self.bf_interval
        return interval is not None and changed and state.now >= self.last_cycle + interval

    def cycle(self, state: State, queue: list[Job]) -> list[Job]:
        now, step = state.now, self.bf_resolution

        def down(time: float) -> float:
            return math.floor(time / step) * step

        held = [(now, down(job.begun + job.estimate), job.need) for job in state.running]

        def holds(job: Job, begin: float, length: float) -> bool:
            end = until(begin, length)
            times = [begin, *(a for a, _, _ in held if begin < a < end)]
            return all(
                job.need <= self.servers - sum(need for a, b, need in held if a <= time < b)
                for time in times
            )

        free, starts, reserved = state.free(), [], 0
        tested: Counter[int] = Counter()
        for job in queue:
            if tested.total() == self.bf_max_job_test:
                break
            if self.bf_max_job_user and tested[self.users[job.number]] == self.bf_max_job_user:
                continue
            tested[self.users[job.number]] += 1
            if job.need <= free and holds(job, now, job.estimate):
                starts.append(job)
                free -= job.need
                held.append((now, down(now + job.estimate), job.need))
                continue
            full = reserved == (self.bf_job_part_count_reserve or math.inf)
            if full or not self.may_reserve(job, now):
                continue
            length = math.ceil(job.estimate / step) * step
            times = sorted({now, *(end for _, end, _ in held if end > now)})
            begin = next(time for time in times if holds(job, time, length))
            if begin <= now + self.bf_window:
                held.append((begin, begin + length, job.need))
                reserved += 1
        return starts

    def numbers(self, state: State) -> tuple[set[int], ...]:
        waiting, running = ({job.number for job in jobs} for jobs in (state.waiting, state.running))
        return self.seen, waiting, running
