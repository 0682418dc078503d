"""The policies of the twin: each looks at the whole state from scratch and names the waiting job
that starts now.

Each class states its rule in words, then codes it in the same order. `q`, `u`, `free`, `c` are the
counts of the definitions: waiting, in service, idle servers, slots of a class alone in the system.
Where a definition leaves a corner open, the comment that begins with "Corner:" says how it is read
here.
"""

from collections.abc import Callable
from typing import Any, Protocol

from twin.backfilling import EASY, Conservative
from twin.clocks import NMSR, RandomizedTimers
from twin.draining import Backfill, ByAges, ByDistributions, ByEstimates
from twin.groups import AdaptiveOnGroups, StaticOnGroups
from twin.preemptive import DivisorFilling, MaxWeight, Preemptive, ServerFilling
from twin.quickswap import MSFQAlways, MSFQOnDemand, StaticExclusive, StaticOverlap
from twin.slurm import Slurm
from twin.state import Job, State, largest, smallest


class Policy(Protocol):
    """A non-preemptive policy answers one question."""

    def next_job(self, state: State) -> Job | None:
        """Which waiting job starts now, or none?"""


class FCFS:
    """The oldest waiting job if it fits, otherwise none."""

    def next_job(self, state: State) -> Job | None:
        head = state.waiting[:1]
        return next((job for job in head if state.fits(job)), None)


class FirstFit:
    """The oldest waiting job among those that fit."""

    def next_job(self, state: State) -> Job | None:
        return next((job for job in state.waiting if state.fits(job)), None)


class MSF:
    """The oldest job of the largest need that fits."""

    def next_job(self, state: State) -> Job | None:
        return largest([job for job in state.waiting if state.fits(job)])


class LSF:
    """The oldest job of the smallest need, if it fits."""

    def next_job(self, state: State) -> Job | None:
        job = smallest(state.waiting)
        return job if job is not None and state.fits(job) else None


class Smash:
    """Among the first `window` waiting jobs (all of them for None), the largest need that fits,
    oldest first.
    """

    def __init__(self, window: int | None) -> None:
        self.window = window

    def next_job(self, state: State) -> Job | None:
        return largest([job for job in state.waiting[: self.window] if state.fits(job)])


class AdaptiveQuickswap:
    """Working: as MSF; after a round of admissions drain if some class waits and is not in service,
    and no class in service has a waiting job. Draining: no job starts but the job that is now the
    largest waiting one; when it starts, back to working in the same instant. With a rule of
    backfilling others start meanwhile.

    Corner: "class" is the class, also where classes share a need; "largest" is the oldest job of
    the largest need.
    """

    def __init__(self, backfill: Backfill | None = None) -> None:
        self.backfill = backfill
        self.draining = False

    def next_job(self, state: State) -> Job | None:
        if not self.draining:
            job = MSF().next_job(state)
            if job is not None:
                return job
            classes = range(len(state.needs))
            left_out = any(state.q(i) > 0 and state.u(i) == 0 for i in classes)
            served_waits = any(state.q(i) > 0 and state.u(i) > 0 for i in classes)
            self.draining = left_out and not served_waits
            return None
        target = largest(state.waiting)
        if target is not None and state.fits(target):
            self.draining = False
            return target
        if target is not None and self.backfill is not None:
            return self.backfill.job(state, target)
        return None


class BalancedSplitting:
    """Class i has slots[i] slots of its own; the servers outside all slots are the helpers. A job
    starts in a free slot of its class, or else, if it is the oldest waiting one, on the helpers if
    enough of them are free. Jobs that never fit on the helpers do not block others there.

    Corner: of several jobs that may start in slots, the one of the largest need starts first.

    Corner: slots are filled before helpers, so an old job that waits for the helpers may start in a
    slot that becomes free in the same instant.
    """

    def __init__(self, servers: int, needs: list[int], slots: list[int]) -> None:
        self.slots = slots
        self.helpers = servers - sum(n * need for n, need in zip(slots, needs, strict=True))
        self.helped: list[Job] = []

    def next_job(self, state: State) -> Job | None:
        self.helped = [job for job in self.helped if job in state.running]

        def has_slot(cls: int) -> bool:
            inside = state.u(cls) - sum(1 for job in self.helped if job.cls == cls)
            return inside < self.slots[cls]

        job = largest([job for job in state.waiting if has_slot(job.cls)])
        if job is not None:
            return job
        free = self.helpers - sum(job.need for job in self.helped)
        for job in state.waiting:
            if job.need <= self.helpers:
                if job.need > free:
                    return None
                self.helped.append(job)
                return job
        return None


def make(servers: int, needs: list[int], policy: dict[str, Any]) -> Policy | Preemptive:
    """The policy that a canonical dictionary describes. Raises ValueError if there is none or it
    does not suit.
    """
    parameters = {key: value for key, value in policy.items() if key != "name"}
    if "backfilling" in parameters:
        rules = {"distributions": ByDistributions, "ages": ByAges, "estimates": ByEstimates}
        rule = dict(parameters.pop("backfilling"))
        parameters["backfill"] = rules[rule.pop("by")](**rule)
    match policy["name"]:
        case "fcfs":
            return FCFS()
        case "first-fit":
            return FirstFit()
        case "msf":
            return MSF()
        case "lsf":
            return LSF()
        case "easy":
            return EASY(**parameters.get("patience", {}))
        case "conservative":
            return Conservative()
        case "slurm":
            return Slurm(servers, needs, **parameters)
        case "smash":
            return Smash(**parameters)
        case "adaptive-quickswap" if "groups" in parameters:
            return AdaptiveOnGroups(needs, **parameters)
        case "static-quickswap" if "groups" in parameters:
            return StaticOnGroups(needs, **parameters)
        case "adaptive-quickswap":
            return AdaptiveQuickswap(**parameters)
        case "balanced-splitting":
            return BalancedSplitting(servers, needs, **parameters)
        case "nmsr":
            return NMSR(servers, needs, **parameters)
        case "randomized-timers":
            return RandomizedTimers(needs, **parameters)
        case "server-filling":
            return ServerFilling(**parameters)
        case "divisor-filling":
            return DivisorFilling(servers, needs)
        case "max-weight":
            return MaxWeight()
        case "msfq":
            drains: dict[str, Callable[..., Policy]] = {
                "on_demand": MSFQOnDemand,
                "always": MSFQAlways,
            }
            return drains[parameters.pop("drain")](servers, needs, **parameters)
        case "static-quickswap":
            variants: dict[str, Callable[..., Policy]] = {
                "overlap": StaticOverlap,
                "exclusive": StaticExclusive,
            }
            return variants[parameters.pop("drain")](servers, needs, **parameters)
        case name:
            raise ValueError(f"the twin knows no policy {name!r}")
