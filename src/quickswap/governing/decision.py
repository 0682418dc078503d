"""What a policy does with the jobs of a partition: a plan, and the SiteFactors that lead to it.

Each decision is that of a `quickswap.Scheduler`, which is given the jobs in service with their
starts and time limits, the waiting jobs with their arrivals and time limits, and the policy's state
after its last decision. A job that the policy has started and Slurm has not is in service for the
policy. The order of the other jobs is that in which the policy would start them if all fitted:
Slurm then starts the right job when servers become free before the next decision.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from quickswap.engine.scheduler import Scheduler
from quickswap.errors import PolicyError, QuickswapError, invalid
from quickswap.governing.audit import Memory
from quickswap.governing.controller import Job, JobState, Snapshot
from quickswap.governing.limits import LARGEST
from quickswap.model.distributions import Exponential
from quickswap.model.jobclass import JobClass
from quickswap.model.system import System
from quickswap.policies import EASY, AdaptiveQuickswap, Policy, parse

__all__ = ["Plan", "Planner", "factors_of", "steerable", "steering_policy"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A decision of a policy about the jobs of a partition.

    Attributes:
        starts: jobs that start now, in order.
        reserved: the job for which servers are kept free, if any.
        others: the waiting jobs in the order of the policy.
        too_large: jobs that need more servers than the partition has.
        later: when jobs start if those in service end at their limits, in order; seconds since
            1970. Only if it was requested.
    """

    starts: tuple[str, ...] = ()
    reserved: str | None = None
    others: tuple[str, ...] = ()
    too_large: tuple[str, ...] = ()
    later: Mapping[str, float] = field(default_factory=dict)

    @property
    def order(self) -> list[str]:
        """The jobs in the order of the priority that Slurm should give them."""
        reserved = [] if self.reserved is None else [self.reserved]
        return list(dict.fromkeys(chain(self.starts, reserved, self.others)))


def steering_policy(text: str) -> Policy:
    """Return a policy that can govern a cluster.

    Raises:
        PolicyError: the text spells no policy, or one that cannot.
    """
    policy = parse(text)
    if isinstance(policy, AdaptiveQuickswap):
        able = policy.uses_estimates and policy.believed is None  # Slurm backfills in any drain
    else:
        able = isinstance(policy, EASY)
    if not able:
        allowed = "adaptive-quickswap with overrun or backfill and without believed, or easy"
        raise PolicyError(
            f"policy {text} cannot govern a cluster: give {allowed}.",
            argument="policy",
            given=text,
            allowed=allowed,
        )
    return policy


class Planner:
    """Decisions of a policy, one after the other.

    Args:
        policy: Adaptive Quickswap or EASY.

    Attributes:
        memory: what the policy remembers after the last decision.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.memory = Memory()

    def plan(self, snapshot: Snapshot, until: str | None = None) -> Plan:
        """Return the decision, and keep the policy's state for the next one.

        Args:
            snapshot: the jobs.
            until: a job; if given, the plan is continued until it starts.
        """
        running = [job for job in snapshot.jobs if job.state is JobState.RUNNING]
        held = sum(job.need for job in running)
        servers = max(snapshot.servers, held)
        waiting = {job.id: job for job in snapshot.jobs if job.startable and job.need <= servers}
        too_large = [job.id for job in snapshot.jobs if job.startable and job.need > servers]
        extra = max(0, servers - held - snapshot.free)  # held by jobs that have just ended
        free, started = servers - held - extra, []
        for job in filter(None, map(waiting.get, self.memory.starts)):
            if job.need <= free:
                free -= job.need
                started.append(waiting.pop(job.id))
        state = self.memory.state
        if self.memory.reserved is not None and self.memory.reserved[0] not in waiting:
            state = self._drained(*self.memory.reserved[1:])
        if not (waiting or started):
            self.memory = Memory(state)
            return Plan(too_large=tuple(too_large))

        now = snapshot.time
        present = [(job, min(job.start, now), job.limit) for job in running]
        present += [(job, now, job.limit) for job in started]
        present.sort(key=lambda each: each[1])
        queue = sorted(waiting.values(), key=lambda job: (min(job.arrival, now), job.number))
        first = min([now, *(start for _, start, _ in present), *(job.arrival for job in queue)])
        needs = {job.need for job in chain(queue, running, started)} | ({extra} - {0})
        classes = {need: index for index, need in enumerate(sorted(needs))}
        entries = [(classes[job.need], min(job.arrival, now) - first, job.limit) for job in queue]
        enough = max(servers, sum(job.need for job in queue))
        numbers, order = self._scheduler(enough, classes, now - first).resume([], entries)
        names = dict(zip(numbers, (job.id for job in queue), strict=True))
        others = tuple(names[number] for number in order)

        scheduler = self._scheduler(servers, classes, now - first)
        in_service = [(classes[job.need], start - first, limit) for job, start, limit in present]
        in_service += [(classes[extra], now - first, 0.0)] if extra else []
        numbers, starts = scheduler.resume(in_service, entries, state)
        jobs = dict(zip(numbers[len(in_service) :], queue, strict=True))
        reserved = None if scheduler.reserved is None else jobs[scheduler.reserved]
        self.memory = Memory(
            tuple(scheduler.policy_state),
            tuple(job.id for job in (*started, *map(jobs.__getitem__, starts))),
            None if reserved is None else (reserved.id, reserved.need, float(reserved.limit)),
        )
        later: dict[str, float] = {}
        if until is not None:
            ends = [
                (max(now - first, start + limit), number)
                for number, (_, start, limit) in zip(numbers, in_service, strict=False)
            ]
            ends += [(now - first + jobs[number].limit, number) for number in starts]
            later = self._later(scheduler, jobs, ends, first, until)
        kept = None if reserved is None else reserved.id
        return Plan(self.memory.starts, kept, others, tuple(too_large), later)

    def _drained(self, need: int, limit: float) -> tuple[int, ...]:
        """Return the policy's state once the reserved job has started in Slurm, or is gone."""
        scheduler = self._scheduler(need, [need], 0.0)
        scheduler.resume([], [(0, 0.0, limit)], self.memory.state)
        return tuple(scheduler.policy_state)

    def _scheduler(self, servers: int, needs: Iterable[int], time: float) -> Scheduler:
        """Return an empty Scheduler at a time, which decides by the time limits of jobs."""
        size = Exponential(mean=1.0)
        system = System(servers, [JobClass(need, 1.0, size) for need in needs])
        scheduler = Scheduler(system, self.policy, estimates=True)
        scheduler.wait_until(time)
        return scheduler

    def _later(
        self,
        scheduler: Scheduler,
        jobs: Mapping[int, Job],
        ends: list[tuple[float, int]],
        first: float,
        until: str,
    ) -> dict[str, float]:
        """Return when the next jobs start if all jobs end at their limits, until one does."""
        heapq.heapify(ends)
        later: dict[str, float] = {}
        while ends and until not in later:
            time = ends[0][0]
            for number in scheduler.wait_until(time):
                later[jobs[number].id] = first + scheduler.time
                heapq.heappush(ends, (scheduler.time + jobs[number].limit, number))
            gone = []
            while ends and ends[0][0] <= time:
                gone.append(heapq.heappop(ends)[1])
            for number in scheduler.complete(gone):
                later[jobs[number].id] = first + time
                heapq.heappush(ends, (time + jobs[number].limit, number))
        return later


def steerable(snapshot: Snapshot, most: int, depth: int) -> tuple[dict[str, Job], int]:
    """Return the jobs that SiteFactors can put in order, and how much their priorities differ.

    A job that was given a high priority by hand is not among them.

    Raises:
        QuickswapError: `most` is too small for the priorities of most jobs.
    """
    jobs = {job.id: job for job in snapshot.jobs if job.startable}
    plain = {name: job.priority - job.factor for name, job in jobs.items()}
    low, room = min(plain.values(), default=0), most // (depth + 1) - 1
    kept = {name: job for name, job in jobs.items() if plain[name] - low <= room}
    if 2 * len(kept) < len(jobs):
        differ = max(plain.values()) - low
        least, fewer = (differ + 1) * (depth + 1), LARGEST // (differ + 1) - 1
        if least <= LARGEST:
            allowed = f"at least {least}, as priorities differ by {differ}"
            raise invalid("most", most, allowed, QuickswapError)
        advice = "reduce the weights of priorities in slurm.conf"
        if fewer >= 1:
            advice = f"give {{depth:{fewer}}} or less, and {{most:{LARGEST}}}"
        raise QuickswapError(
            f"priorities differ by {differ}, which no SiteFactors of {depth} jobs can exceed",
            argument="most",
            given=most,
            advice=advice,
        )
    return kept, max((plain[name] - low for name in kept), default=0)


def factors_of(
    order: Sequence[str], present: Mapping[str, int], most: int, gap: int
) -> dict[str, int]:
    """Return decreasing SiteFactors of jobs in an order, from at most `most` down to above `gap`.

    Jobs keep their present factors where these are in order, so few have to be written.

    Args:
        order: the jobs.
        present: their present factors; others have 0.
        most: the largest factor, at least (gap + 1) (n + 1) for n jobs.
        gap: largest difference of the other priorities, which differences of factors exceed.
    """
    values = [present.get(job, 0) for job in order]
    marks = [(-1, most + gap), *((i, values[i]) for i in _decreasing(values, most, gap))]
    found: dict[str, int] = {}
    for (left, high), (right, low) in pairwise([*marks, (len(order), 0)]):
        step = (high - low) // (right - left)
        if step <= gap:
            return factors_of(order, {}, most, gap)
        found |= {order[k]: high - (k - left) * step for k in range(left + 1, right)}
        found |= {order[k]: low for k in range(right, min(right + 1, len(order)))}
    return found


def _decreasing(values: Sequence[int], most: int, gap: int) -> list[int]:
    """Return the positions of a longest sequence of factors that decrease by more than `gap`."""
    best: list[list[int]] = []
    for i, value in enumerate(values):
        before = [best[j] for j in range(i) if best[j] and values[j] - value > gap]
        usable = gap < value <= most
        best.append([*max(before, key=len, default=[]), i] if usable else [])
    return max(best, key=len, default=[])
