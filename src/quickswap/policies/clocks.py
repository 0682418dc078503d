"""Policies with clocks, which draw random numbers.

The seed and the replication determine the stream of these numbers. It is independent of the streams
of the jobs: equal seeds give equal results, and all policies serve the same jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from quickswap._check import flag, positive
from quickswap.errors import PolicyError, invalid
from quickswap.model.system import System
from quickswap.policies.base import Policy

FASTEST = 1e6
"""Most ticks, or least part of a cycle, in the mean size of a job.

A run would never end with clocks so fast that time does not advance between two ticks.
"""


@final
@dataclass(frozen=True, slots=True)
class NMSR(Policy):
    """Nonpreemptive Markovian service rate: a cycle of schedules, independent of the waiting jobs.

    A schedule is a number of jobs of each class that may be in service. The schedules and their
    shares of time maximise the smallest ratio, over the classes, of service to load; shares below
    0.001 are dropped unless that lowers the ratio by more than a thousandth. Each schedule lasts
    for an exponential time. At its end a class starts jobs only while fewer are in service than in
    the next schedule; the time of the next schedule begins when no class exceeds it. If several
    jobs may start, the job with the largest need starts first, and of equal needs the class that is
    first in the system.

    - `cycle`: mean time of one cycle in seconds, without the changes between schedules. The default
      minimises an approximate mean response time; see `quickswap.policies.cycles`.
    - `backfill=True`: except during changes, a job of any class may start beyond the schedule if it
      fits into the servers that the schedule's own waiting jobs leave free.

    Source: Chen, Grosof, Berg, "Improving multiresource job scheduling with Markovian service rate
    policies", Proc. ACM Meas. Anal. Comput. Syst. 9 (2025).
    """

    name: ClassVar[str] = "nmsr"
    title: ClassVar[str] = "nMSR"
    random: ClassVar[bool] = True

    cycle: float | None = None
    backfill: bool = False

    def __post_init__(self) -> None:
        if self.cycle is not None:
            cycle = positive(self.cycle, "cycle of NMSR", PolicyError)
            object.__setattr__(self, "cycle", cycle)
        backfill = flag(self.backfill, "backfill of NMSR", PolicyError)
        object.__setattr__(self, "backfill", backfill)

    def _parameters(self, system: System) -> dict[str, object]:
        from quickswap.policies.cycles import best_cycle, schedules

        least = system.mean_size / FASTEST
        if self.cycle is not None and self.cycle < least:
            allowed = f"at least {least:g} s, a millionth of the mean size"
            raise invalid("cycle of NMSR", self.cycle, allowed, PolicyError)
        found = schedules(system)
        cycle = best_cycle(system, found) if self.cycle is None else self.cycle
        return {
            "schedules": [list(jobs) for jobs, _ in found],
            "times": [share * cycle for _, share in found],
            "backfill": self.backfill,
        }

    def _details(self) -> list[str]:
        details = [] if self.cycle is None else [f"{self.cycle:g}"]
        return [*details, "backfill"] if self.backfill else details


@final
@dataclass(frozen=True, slots=True)
class RandomizedTimers(Policy):
    """Randomized Timers: classes hold slots for random times, which are longer if many jobs wait.

    A slot of a class holds a job in service, or a dummy that only occupies the servers. Each class
    has a Poisson clock of `rate` ticks per second, by default 1 over the mean size of all jobs. On
    a tick, if one more job of the class fits together with all jobs and dummies, its oldest waiting
    job starts. If none waits, a dummy starts, which lasts an exponential time with the mean size of
    the class.
    When a slot ends, it is refilled with probability 1 - exp(-w), with the oldest waiting job of
    the class or a dummy, otherwise released. An arriving job replaces a dummy of its class. With
    q_i jobs of class i waiting, w = max(f(q_i), 1e-4 f(max q)), f(x) = log(1 + x)^0.7.

    The time per event is proportional to the number of classes, and for some events to the number
    of dummies of a class.

    Source: Psychas, Ghaderi, "Randomized algorithms for scheduling multi-resource jobs in the
    cloud", IEEE/ACM Trans. Netw. 26 (2018).
    """

    name: ClassVar[str] = "randomized-timers"
    title: ClassVar[str] = "Randomized Timers"
    random: ClassVar[bool] = True

    rate: float | None = None

    def __post_init__(self) -> None:
        if self.rate is not None:
            rate = positive(self.rate, "rate of RandomizedTimers", PolicyError)
            object.__setattr__(self, "rate", rate)

    def _parameters(self, system: System) -> dict[str, object]:
        means = [each.size.mean for each in system.classes]
        mean = system.mean_size
        if self.rate is not None and self.rate > FASTEST / mean:
            allowed = f"at most {FASTEST / mean:g} ticks per second, a million in the mean size"
            raise invalid("rate of RandomizedTimers", self.rate, allowed, PolicyError)
        return {"rate": 1 / mean if self.rate is None else self.rate, "means": means}

    def _details(self) -> list[str]:
        return [] if self.rate is None else [f"{self.rate:g}"]
