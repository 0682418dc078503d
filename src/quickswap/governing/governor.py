"""The loop of a governor: read, decide, write a few SiteFactors, read them back, undo at last."""

from __future__ import annotations

import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event

from quickswap._words import counted
from quickswap.errors import QuickswapError
from quickswap.governing.audit import Audit, Hold
from quickswap.governing.controller import (
    DELAYED,
    Cluster,
    Controller,
    Job,
    JobState,
    RejectedError,
    Snapshot,
    UnreachableError,
)
from quickswap.governing.decision import Plan, Planner, factors_of, steerable
from quickswap.governing.limits import Limits
from quickswap.policies import spell

__all__ = [
    "Decision",
    "Governor",
    "Write",
    "check_cluster",
    "check_factors",
    "held",
    "only_governor",
    "undo",
    "without_holds",
]

BUSY_THREADS = 64
"""Threads of a controller that is busy, a quarter of the most that it has."""
BUSY_QUEUE = 200
"""Messages that wait in a controller that is busy."""
LONGEST_PAUSE = 300.0
"""Seconds between two decisions at most, when the controller is busy or does not answer."""
SHARE = 0.1
"""Largest share of the time in which a governor waits for answers of the controller."""
LINGERING = 120.0
"""Seconds after the end of a hold for which Slurm may still list the job as delayed."""
ATTEMPTS = 3
"""Attempts to write the factor of a job, or to undo it."""


@dataclass(frozen=True, slots=True)
class Write:
    """A SiteFactor to be written, and why."""

    job: str
    factor: int
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What a governor has seen, decided, and wants to write."""

    snapshot: Snapshot
    plan: Plan
    writes: tuple[Write, ...]
    holds: tuple[Job, ...] = ()
    releases: tuple[str, ...] = ()


@dataclass
class Governor:
    """A policy that governs a partition.

    Attributes:
        live: whether it writes to Slurm.
        counts: numbers of decisions, writes, and so on, for metrics.
    """

    controller: Controller
    partition: str
    planner: Planner
    audit: Audit
    limits: Limits
    live: bool
    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    counts: Counter[str] = field(default_factory=Counter)
    _written: deque[float] = field(default_factory=deque)
    _failed: Counter[str] = field(default_factory=Counter)

    def decide(self) -> Decision:
        """Read the jobs and decide; nothing is written to Slurm."""
        actual = self.controller.snapshot(self.partition)
        snapshot = without_holds(actual, self.audit.known.holds)
        pairs = zip(actual.jobs, snapshot.jobs, strict=True)
        held = {one.id for one, other in pairs if one.reason != other.reason}
        plan = self.planner.plan(snapshot)
        self.counts["decisions"] += 1
        holds, releases = self._holds(snapshot, plan, held)
        # Slurm does not show the factors of held jobs, which are not startable in `actual`
        jobs, gap = steerable(actual, self.limits.most, self.limits.depth)
        jobs = {name: job for name, job in jobs.items() if name not in {each.id for each in holds}}
        present = {name: job.factor for name, job in jobs.items() if self._ours(job)}
        order = [name for name in plan.order if self._failed[name] < ATTEMPTS and name in present]
        wanted = factors_of(order[: self.limits.depth], present, self.limits.most, gap)
        writes = [
            Write(name, 0, "it is no longer among the next in the order of the policy")
            for name, factor in present.items()
            if factor and name not in wanted
        ]
        writes += [
            Write(name, factor, _reason(plan, name))
            for name, factor in wanted.items()
            if factor != present[name]
        ]
        writes += self._gone(snapshot)
        memory, policy = self.planner.memory, spell(self.planner.policy)
        if memory != self.audit.known.memories.get(policy):
            self.audit.add(
                self.clock(),
                "decision",
                policy=policy,
                starts=memory.starts,
                reserved=memory.reserved,
                next=list(wanted),
                state=memory.state,
                free=snapshot.free,
                waiting=len(jobs),
            )
        return Decision(snapshot, plan, tuple(writes), holds, releases)

    def _holds(
        self, snapshot: Snapshot, plan: Plan, held: set[str]
    ) -> tuple[tuple[Job, ...], tuple[str, ...]]:
        """Return the jobs to be held, also those whose lease ends soon, and those to be released.

        Slurm may start a job that fits and waits behind the one for which servers are kept free.
        """
        wanted: list[Job] = []
        if self.limits.hold and plan.reserved is not None:
            kept = {*plan.starts, plan.reserved}
            wanted = [
                job
                for job in snapshot.jobs
                if job.startable and job.need <= snapshot.free and job.id not in kept
            ][: self.limits.depth]
        now, holds = self.clock(), self.audit.known.holds
        soon, names = now + 2 * self.limits.interval, {job.id for job in wanted}
        return (
            tuple(job for job in wanted if job.id not in held or holds[job.id].until < soon),
            tuple(name for name in holds if name in held - names and holds[name].until > now),
        )

    def _gone(self, snapshot: Snapshot) -> list[Write]:
        """Return resets for jobs that do not wait for servers; close the factors of ended jobs."""
        jobs = {job.id: job for job in snapshot.jobs if job.state is not JobState.ENDED}
        absent = [name for name in self.audit.open if name not in jobs] if self.live else []
        elsewhere = self.controller.factors(absent) if absent else {}
        writes = []
        for name in absent:
            if elsewhere.get(name):
                writes.append(Write(name, 0, "it has left the partition"))
            else:
                self.audit.add(self.clock(), "undone", job=name)
        for name in self.audit.open.keys() & jobs.keys():
            job = jobs[name]
            if job.state is JobState.RUNNING:
                writes.append(Write(name, 0, "it runs, and could be requeued"))
            elif job.factor and not job.startable and self._ours(job):
                writes.append(Write(name, 0, "Slurm does not let it start"))
        return writes

    def apply(self, decision: Decision) -> None:
        """Write the factors that the limits allow, and read them back; hold and release jobs.

        The next decision repeats a hold that Slurm has lost.

        Raises:
            QuickswapError: the user has no right to write.
        """
        release(self.controller, self.audit, decision.releases, self.clock)
        for job in decision.holds:
            if self._allowed():
                self._hold(job)
        tried: dict[str, int] = {}
        for write in decision.writes:
            if not self._allowed():
                continue
            self.audit.add(
                self.clock(), "write", job=write.job, factor=write.factor, reason=write.reason
            )
            try:
                self.controller.write(write.job, write.factor)
            except RejectedError as error:
                self.counts["rejected"] += 1
                self._failed[write.job] += 1
                self.audit.add(self.clock(), "rejected", job=write.job, error=str(error))
                if "denied" in str(error).lower():
                    raise
                continue
            self.counts["writes"] += 1
            tried[write.job] = write.factor
        self._read_back(tried)

    def _allowed(self) -> bool:
        """Whether the limit allows another change now, which is then counted."""
        now = self.monotonic()
        while self._written and self._written[0] <= now - 60:
            self._written.popleft()
        if len(self._written) >= self.limits.writes:
            self.counts["postponed"] += 1
            return False
        self._written.append(now)
        return True

    def _hold(self, job: Job) -> None:
        """Delay the start of a job by the lease, at whose end Slurm itself lifts the delay."""
        now = self.clock()
        self.audit.add(now, "hold", job=job.id, until=now + self.limits.hold, arrival=job.arrival)
        try:
            self.controller.delay(job.id, self.limits.hold)
        except RejectedError as error:
            self.counts["rejected"] += 1
            self.audit.add(self.clock(), "rejected", job=job.id, error=str(error))
            if "denied" in str(error).lower():
                raise
        else:
            self.counts["holds"] += 1

    def _read_back(self, tried: dict[str, int]) -> None:
        """Check what has been written; a lost write is repeated by the next decision."""
        if not tried:
            return
        found = self.controller.factors(tried)
        self.audit.add(self.clock(), "read", factors=found)
        for job, factor in tried.items():
            read = found.get(job)  # None if it is no longer pending
            if read not in (factor, None):
                self.counts["lost"] += 1
                self._failed[job] += 1
                continue
            self._failed.pop(job, None)
            if factor == 0:
                self.audit.add(self.clock(), "undone", job=job)

    def run(self, stop: Event, report: Callable[[Decision], object]) -> None:
        """Govern until `stop` is set; report each decision."""
        pause = self.limits.interval
        while not stop.is_set():
            begun = self.monotonic()
            try:
                usage = self.controller.diagnostics()
                busy = usage.threads >= BUSY_THREADS or usage.queue >= BUSY_QUEUE
                if busy:
                    self.counts["busy"] += 1
                    self.audit.add(self.clock(), "busy", threads=usage.threads, queue=usage.queue)
                else:
                    decision = self.decide()
                    if self.live:
                        self.apply(decision)
                    report(decision)
                failed = busy
            except UnreachableError as error:
                self.counts["unreachable"] += 1
                self.audit.add(self.clock(), "unreachable", error=str(error))
                failed = True
            took = self.monotonic() - begun
            pause = min(2 * pause, LONGEST_PAUSE) if failed else self.limits.interval
            stop.wait(max(pause, took / SHARE))

    def _ours(self, job: Job) -> bool:
        """Whether a job has no SiteFactor of another program."""
        return not job.factor or job.factor in self.audit.open.get(job.id, ())


def _reason(plan: Plan, job: str) -> str:
    if job in plan.starts:
        return "the policy starts it now"
    if job == plan.reserved:
        return "the policy keeps servers free for it"
    return "it is among the next in the order of the policy"


def without_holds(snapshot: Snapshot, holds: Mapping[str, Hold]) -> Snapshot:
    """Return the jobs as they would be if none had ever been held.

    Slurm lists a held job as one that waits for its time, and from then on as one that arrived when
    the hold ended.
    """

    def original(job: Job) -> Job:
        hold = holds.get(job.id)
        if hold is None or job.state is not JobState.PENDING:
            return job
        ours = job.reason == DELAYED and snapshot.time < hold.until + LINGERING
        return replace(job, eligible=hold.arrival, reason="" if ours else job.reason)

    return replace(snapshot, jobs=tuple(map(original, snapshot.jobs)))


def release(
    controller: Controller,
    audit: Audit,
    jobs: Iterable[str],
    clock: Callable[[], float] = time.time,
) -> None:
    """Release jobs; of one that Slurm does not release, the lease ends the hold."""
    for job in jobs:
        try:
            controller.delay(job, 0)
        except RejectedError as error:  # it is no longer pending, as a rule
            audit.add(clock(), "rejected", job=job, error=str(error))
        else:
            audit.add(clock(), "released", job=job)


def held(audit: Audit, clock: Callable[[], float] = time.time) -> list[str]:
    """Return the jobs that may be held, as their leases have not ended."""
    return [job for job, hold in audit.known.holds.items() if hold.until > clock()]


def undo(controller: Controller, audit: Audit, clock: Callable[[], float] = time.time) -> list[str]:
    """Set all factors that the log says may still be set to 0; return jobs whose factor remains.

    A job keeps a factor that no governor wrote. Jobs that may be held are released before.
    """
    release(controller, audit, held(audit, clock), clock)
    for attempt in range(ATTEMPTS + 1):
        found = controller.factors(audit.open) if audit.open else {}
        for job, written in list(audit.open.items()):
            present = found.get(job)  # None if it is no longer pending
            if present == 0 or (present is not None and present not in written):
                audit.add(clock(), "undone", job=job)
            elif attempt < ATTEMPTS:
                audit.add(clock(), "write", job=job, factor=0, reason="undo")
                try:
                    controller.write(job, 0)
                except RejectedError as error:
                    audit.add(clock(), "rejected", job=job, error=str(error))
                if present is None:
                    audit.add(clock(), "undone", job=job)
    return list(audit.open)


def check_factors(snapshot: Snapshot, audit: Audit) -> None:
    """Check that no other governor, perhaps on another machine, has set SiteFactors.

    Raises:
        QuickswapError: a pending job has a factor that is not in the log.
    """
    others = [
        job for job in snapshot.jobs if job.factor and job.factor not in audit.open.get(job.id, ())
    ]
    if others:
        raise QuickswapError(
            f"{counted(len(others), 'pending job')} of the partition, such as {others[0].id}, "
            f"{'has a SiteFactor' if len(others) == 1 else 'have SiteFactors'} that this governor "
            "did not set: stop the other governor, or undo its log."
        )


def check_cluster(cluster: Cluster) -> None:
    """Check that SiteFactors have an effect, and no other program sets them.

    Raises:
        QuickswapError: a setting of slurm.conf does not suit.
    """
    allowed = (
        ("PriorityType", "priority/multifactor", "SiteFactor has no effect otherwise"),
        ("SchedulerType", "sched/backfill", "the job for which servers are kept free has none"),
    )
    for name, required, why in allowed:
        given = cluster.settings.get(name.lower(), required)
        if given != required:
            raise QuickswapError(f"slurm.conf has {name}={given}; it must be {required}, as {why}.")
    plugin = cluster.settings.get("prioritysitefactorplugin", "")
    if plugin not in ("", "(null)", "site_factor/none"):
        raise QuickswapError(
            f"slurm.conf has PrioritySiteFactorPlugin={plugin}, which sets the SiteFactors that a "
            "governor sets: remove one of the two."
        )


@contextmanager
def only_governor(cluster: str, partition: str) -> Iterator[None]:
    """Make sure that no second governor of the partition runs on this machine meanwhile.

    The lock is a socket in Linux's abstract namespace, which disappears with the process.

    Raises:
        QuickswapError: there is one.
    """
    with socket.socket(socket.AF_UNIX) as lock:
        try:
            lock.bind(f"\0quickswap-govern/{cluster}/{partition}")
        except OSError:
            raise QuickswapError(
                f"another governor already governs the partition {partition!r} of {cluster!r}: "
                "stop it first."
            ) from None
        yield
