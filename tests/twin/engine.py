"""The loop of the twin: one instant after another, and in an instant round after round.

An instant: all completions, then all arrivals, then the policy is asked again and again until it
says "none". A job of size zero started in these decisions is due at the same instant: it completes
in a further round (completions, then decisions; the arrivals of the instant are all there already),
and so on until nothing is due any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

from twin.backfilling import EASY, Conservative
from twin.clocks import NMSR, RandomizedTimers
from twin.draining import ByEstimates
from twin.policies import Policy, make
from twin.predictions import Predictions
from twin.preemptive import Preemptive, ServerFilling, remaining
from twin.slurm import Slurm
from twin.state import Job, State

LONGEST = 5000
"""Instants after which a run is given up."""


class EndlessError(RuntimeError):
    """The run has taken too many instants: scripted clocks may never end."""


@dataclass(frozen=True)
class Snapshot:
    """The system after an instant, once the policy has nothing more to start."""

    time: float
    waiting: tuple[int, ...]  # jobs that wait, per class
    running: tuple[int, ...]  # jobs in service, per class


@dataclass(frozen=True)
class Schedule:
    """What happened to every job. `start` is the first start where jobs may be preempted."""

    servers: int
    needs: list[int]
    jobs: list[tuple[float, int, float]]
    preemptive: bool
    in_order: bool  # within a class; not where jobs are chosen by their estimates
    start: list[float]
    end: list[float]
    order: list[int]  # job numbers in the order of their (first) start
    segments: list[tuple[int, float, float]]  # (job number, from, to): who held servers when
    states: list[Snapshot]  # empty unless requested
    costs: dict[str, Any]  # of an interruption; empty if it is free


def run(
    servers: int,
    needs: Sequence[int],
    policy: dict[str, Any],
    jobs: Sequence[tuple[float, int, float]],
    *,
    estimates: Sequence[float] | None = None,
    predictions: Predictions | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    limits: Sequence[int] = (),
    log: bool = False,
) -> Schedule:
    """Serve a trace to its end.

    `jobs` are (arrival, class, size), arrivals not decreasing; a job's number is its position.
    `estimates` are the sizes as policies may see them, by default the sizes; `predictions` take
    their place where there are any.
    `groups` of each job hold it back while one of them has as many jobs waiting or in service as
    its limit in `limits`. The oldest job that may pass does so first, and arrives then.
    `policy` is the canonical dictionary ({"name": "msfq", "threshold": 3, "drain": "always"}).
    Raises ValueError on an unsorted trace and on a policy that does not suit the system,
    RuntimeError on an invalid answer of the policy.
    """
    seen = [size for _, _, size in jobs] if estimates is None else estimates
    arrivals = [
        Job(n, at, cls, needs[cls], size, estimate, size)
        for n, ((at, cls, size), estimate) in enumerate(zip(jobs, seen, strict=True))
    ]
    if any(a.arrival > b.arrival for a, b in pairwise(arrivals)):
        raise ValueError("the arrival times of the trace decrease somewhere")
    costs = policy.get("interruptions")
    policy = {key: value for key, value in policy.items() if key != "interruptions"}
    state, made = State(servers, list(needs)), make(servers, list(needs), policy)
    one = _Run(state, made, arrivals, predictions, log)
    if costs is not None:
        one.costs = costs
    if groups is not None:
        one.groups, one.limits = groups, limits
    return one.finish()


class _Run:
    """One run in progress: the state, the jobs still to come, and what has been written down so
    far.
    """

    def __init__(
        self,
        state: State,
        policy: Policy | Preemptive,
        arrivals: list[Job],
        predictions: Predictions | None,
        log: bool,
    ) -> None:
        self.state, self.policy, self.arrivals, self.log = state, policy, arrivals, log
        self.predictions = predictions
        self.start: dict[int, float] = {}  # in the order of the first starts
        self.end: dict[int, float] = {}
        self.held_since: dict[int, float] = {}
        self.segments: list[tuple[int, float, float]] = []
        self.states: list[Snapshot] = []
        self.jobs = [(job.arrival, job.cls, job.size) for job in arrivals]
        self.held: list[Job] = []  # jobs that have arrived, and are held back by a limit
        self.passed = 0
        self.groups: Sequence[Sequence[int]] = [()] * len(arrivals)
        self.limits: Sequence[int] = ()
        self.costs: dict[str, Any] = {}  # of an interruption, unless it is free
        self.wake = inf  # where an interruption has costs, the next time at which to decide

    def finish(self) -> Schedule:
        instants = 0
        while (now := self._next_instant()) < inf:
            self._instant(now)
            instants += 1
            if instants > LONGEST:
                raise EndlessError(f"{self.policy} has taken {instants} instants")
        if self.state.waiting:
            raise RuntimeError(
                f"{self.policy} never starts the jobs waiting in an idle system: {self.state}"
            )
        numbers = range(len(self.jobs))
        return Schedule(
            self.state.servers,
            self.state.needs,
            self.jobs,
            isinstance(self.policy, Preemptive),
            not isinstance(self.policy, EASY | Conservative | Slurm | Preemptive)
            and not isinstance(getattr(self.policy, "backfill", None), ByEstimates),
            [self.start[n] for n in numbers],
            [self.end[n] for n in numbers],
            list(self.start),
            self.segments,
            self.states,
            self.costs,
        )

    def _next_instant(self) -> float:
        """The next completion or arrival, or the time at which the policy wants to be asked."""
        times = [job.due for job in self.state.running] + [job.arrival for job in self.arrivals]
        if isinstance(self.policy, NMSR | RandomizedTimers) and (times or self.state.waiting):
            times.append(self.policy.wake_at())
        if isinstance(self.policy, EASY):
            times.append(self.policy.wake_at(self.state))
        if isinstance(self.policy, Conservative | Slurm):
            times.append(self.policy.wake_at(self.state.now))
        return min([*times, self.wake])

    def _instant(self, now: float) -> None:
        self.state.now = now
        while True:
            self._completions(now)
            self._arrivals(now)
            self._corrections(now)
            self._decisions(now)
            if all(job.due > now for job in self.state.running):
                break
        if self.log:
            classes = range(len(self.state.needs))
            waiting, running = (
                tuple(map(count, classes)) for count in (self.state.q, self.state.u)
            )
            self.states.append(Snapshot(now, waiting, running))

    def _completions(self, now: float) -> None:
        first = list(self.start).index  # of jobs that end together, the first to start
        due = [job for job in self.state.running if job.due <= now]
        for job in sorted(due, key=lambda job: first(job.number)):
            self.state.running.remove(job)
            self.segments.append((job.number, self.held_since[job.number], now))
            self.end[job.number] = now
            if self.predictions is not None:
                self.predictions.completed.append(job)

    def _arrivals(self, now: float) -> None:
        while self.arrivals and self.arrivals[0].arrival == now:
            self.held.append(self.arrivals.pop(0))
        while (job := next(filter(self._may_pass, self.held), None)) is not None:
            self.held.remove(job)
            job.arrival, job.rank = now, self.passed
            self.passed += 1
            if self.predictions is not None:
                self.predictions.predict(job)
            self.state.waiting.append(job)

    def _may_pass(self, job: Job) -> bool:
        present = [*self.state.waiting, *self.state.running]
        return all(
            sum(group in self.groups[other.number] for other in present) < self.limits[group]
            for group in self.groups[job.number]
        )

    def _corrections(self, now: float) -> None:
        if self.predictions is None:
            return
        raised = [self.predictions.correct(job, now) for job in self.state.running]
        if any(raised) and isinstance(self.policy, Conservative):
            self.policy.reserved = {}

    def _decisions(self, now: float) -> None:
        if isinstance(self.policy, Preemptive):
            served = self.policy.served(self.state)
            self.wake = inf
            if self.costs:
                served = self._in_service(served, now)
            for job in [job for job in self.state.running if job not in served]:
                self._preempt(job, now)
            for job in [job for job in served if job not in self.state.running]:
                self._start(job, now)
            if isinstance(self.policy, ServerFilling):
                self.wake = min(self.wake, self.policy.wake_at(self.state))
        else:
            while (chosen := self.policy.next_job(self.state)) is not None:
                self._start(chosen, now)

    def _in_service(self, selected: list[Job], now: float) -> list[Job]:
        """The jobs that hold servers, where an interruption has costs. A selected job that does not
        fit is tried again when enough of the jobs that hold it up may be interrupted.
        """
        running, minimum = self.state.running, float(self.costs["minimum"])

        def need(jobs: list[Job]) -> int:
            return sum(job.need for job in jobs)

        def safe(job: Job, at: float) -> bool:
            return at < job.begun + minimum

        stay = [job for job in running if job in selected or safe(job, now)]
        loose = [job for job in running if job not in stay]
        starts: list[Job] = []
        waits = [job for job in selected if job not in running]
        for job in sorted(waits, key=lambda job: (-job.need, job.rank)):
            if need([*stay, *starts, job]) <= self.state.servers:
                starts.append(job)
        while need([*stay, *starts, *loose]) > self.state.servers:
            loose.pop()  # the youngest
        held = [job.need for job in waits if job not in starts]
        times = [job.begun + minimum for job in stay if job not in selected]
        fixed = [*starts, *(job for job in stay if job in selected)]
        self.wake = next(
            (
                at
                for at in sorted(times)
                if held
                and need([*fixed, *(job for job in stay if job not in selected and safe(job, at))])
                + min(held)
                <= self.state.servers
            ),
            inf,
        )
        return [*stay, *starts, *loose]

    def _start(self, job: Job, now: float) -> None:
        if job not in self.state.waiting or not self.state.fits(job):
            raise RuntimeError(f"{self.policy} starts {job}, which cannot start now: {self.state}")
        self.state.waiting.remove(job)
        self.state.running = _by_age([*self.state.running, job])
        resumes = job.number in self.start
        overhead = self.costs.get("overhead", 0.0) if resumes else 0.0
        job.begun, job.due = now, now + overhead + job.remaining
        self.start.setdefault(job.number, now)
        self.held_since[job.number] = now

    def _preempt(self, job: Job, now: float) -> None:
        restarts = self.costs.get("restart", False)
        job.remaining = job.size if restarts else remaining(self.state, job)
        self.state.running.remove(job)
        self.state.waiting = _by_age([*self.state.waiting, job])
        self.segments.append((job.number, self.held_since[job.number], now))


def _by_age(jobs: list[Job]) -> list[Job]:
    return sorted(jobs, key=lambda job: job.rank)
