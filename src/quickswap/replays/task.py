"""The jobs of a log, as the core and a result need them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quickswap._check import factor as check_factor
from quickswap._check import real, whole
from quickswap._words import counted
from quickswap.engine._core import VERSION
from quickswap.engine._settings import between
from quickswap.engine.custom import CustomPolicy
from quickswap.errors import PolicyError, QuickswapError, shown
from quickswap.logs import JobLog
from quickswap.logs.grouping import group_of, groups_by_load, parse_groups
from quickswap.model.distributions import Exponential
from quickswap.model.jobclass import JobClass
from quickswap.model.system import System
from quickswap.policies import AdaptiveQuickswap, Policy, StaticQuickswap
from quickswap.policies.draining import by_estimates
from quickswap.replays.result import ReplayInputs
from quickswap.replays.schedule import Schedule, distinct

__all__ = ["Task"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_GROUPS = 8
"""Classes that a result tells of, where there are more needs than that and no groups are given."""
TINY = 1e-9
"""Mean size, seconds, of a class whose jobs have none: a size distribution must have one."""


@dataclass(frozen=True)
class Task:
    """The jobs of a log that fit a machine, as arrays for the core: one entry a job."""

    log: JobLog
    servers: int
    load_factor: float
    estimates: str | float
    classes: str
    rows: Ints
    arrival: Floats
    need: Ints
    size: Floats
    estimate: Floats
    needs: Ints
    cls: NDArray[np.uint32]
    groups: list[tuple[int, int]]

    @classmethod
    def of(
        cls,
        log: JobLog,
        servers: int | None = None,
        load_factor: float = 1.0,
        estimate: str | float = "logged",
        classes: str = "need",
    ) -> Task:
        if not isinstance(log, JobLog):
            raise QuickswapError(
                f"a replay needs a log as quickswap.logs.read returns it, not {shown(log)}."
            )
        machine = (
            log.servers
            if servers is None
            else whole(servers, "servers", 1, 2**24, argument="servers")
        )
        factor = check_factor(load_factor, "load_factor", QuickswapError)
        rows = np.flatnonzero(log.jobs["need"].to_numpy() <= machine)
        if not len(rows):
            raise QuickswapError(
                f"no job of the log fits {counted(machine, 'server')}: the smallest need is "
                f"{min(log.needs)}."
            )
        log = log if factor == 1.0 else log.scaled(factor)
        jobs = log.jobs if len(rows) == len(log) else log.jobs[rows]
        need, size = jobs["need"].to_numpy(), jobs["size"].to_numpy()
        needs, index = distinct(need)
        work: Floats = np.bincount(index, need * size).astype(float)
        return cls(
            log=log,
            servers=machine,
            load_factor=factor,
            estimates=estimate,
            classes=classes,
            rows=rows,
            arrival=jobs["submit"].to_numpy(),
            need=need,
            size=size,
            estimate=_estimated(estimate, jobs),
            needs=needs,
            cls=index.astype(np.uint32),
            groups=_groups(classes, needs, need, work),
        )

    @property
    def duration(self) -> float:
        """Seconds from the first submission to the last; one where there is no time between."""
        return float(self.arrival[-1] - self.arrival[0]) or 1.0

    @property
    def load(self) -> float:
        """Work over servers times duration; nan where there is no time."""
        if self.arrival[-1] == self.arrival[0]:
            return math.nan
        return float((self.need * self.size).sum() / (self.servers * self.duration))

    @cached_property
    def system(self) -> System:
        """The log as a system: a class for each need."""
        counts, work = np.bincount(self.cls), np.bincount(self.cls, self.size)
        rates, means = counts / self.duration, np.maximum(work / counts, TINY)
        return System(
            self.servers,
            [
                JobClass(int(need), float(rate), Exponential(mean=float(mean)))
                for need, rate, mean in zip(self.needs, rates, means, strict=True)
            ],
        )

    def resolve(self, policy: Policy | CustomPolicy) -> dict[str, object]:
        """Return a policy as the core has it, with the groups as its classes if it takes any."""
        if not isinstance(policy, Policy):
            return {}
        if self.classes == "need" or not isinstance(policy, AdaptiveQuickswap | StaticQuickswap):
            return by_estimates(policy.resolve(self.system))
        if policy.backfill or policy.overrun:
            raise PolicyError(
                f"{policy.label} backfills by the needs of jobs, not by groups of them: replay it "
                'with classes="need".'
            )
        largest = [int(self.needs[self.needs <= high][-1]) for _, high in self.groups]
        size = Exponential(mean=1.0)
        grouped = System(self.servers, [JobClass(need, 1.0, size) for need in largest])
        first = np.searchsorted(self.needs, [low for low, _ in self.groups])
        spec = policy.resolve(grouped)
        return spec | {"name": f"{spec['name']}-on-groups", "groups": first.tolist()}

    def with_waits(self) -> Task:
        """Leave out jobs whose wait the log does not tell."""
        if self.log.load_factor != 1.0:
            raise QuickswapError(
                f"the load of {self.log.source} was changed by a factor {self.log.load_factor:g}, "
                "and the waits that it tells are of another load: read it with scale_load=1."
            )
        known = self.log.jobs["wait"].is_not_null().to_numpy()[self.rows]
        if not known.any():
            raise QuickswapError(f"{self.log.source} does not tell how long its jobs waited.")
        kept = {
            name: getattr(self, name)[known]
            for name in ("rows", "arrival", "need", "size", "estimate", "cls")
        }
        return replace(self, **kept)

    def schedule(self, start: Floats, end: Floats, preemptive: bool) -> Schedule:
        """Return who was served when."""
        return Schedule(
            self.servers, self.rows, self.need, self.size, self.arrival, start, end, preemptive
        )

    def inputs(
        self, policy: str, warmup: float, cooldown: float, slowdown_bound: float, seed: int
    ) -> ReplayInputs:
        """Return all that determines the result, checked."""
        begin, end = _share(warmup, "warmup"), _share(cooldown, "cooldown")
        if begin + end >= 1:
            raise QuickswapError(
                f"warmup and cooldown are {begin:g} and {end:g} of the log: together they must "
                "leave some of it.",
                argument="warmup",
            )
        return ReplayInputs(
            source=self.log.source,
            policy=policy,
            servers=self.servers,
            load_factor=self.load_factor,
            estimate=self.estimates,
            classes=self.classes,
            warmup=begin,
            cooldown=end,
            slowdown_bound=between(slowdown_bound, "slowdown_bound", 0, np.inf),
            seed=whole(seed, "seed", 0, 2**64 - 1, argument="seed"),
            version=VERSION,
        )


def _share(value: object, what: str) -> float:
    number = real(value)
    if number is None or not 0 <= number < 1:
        raise QuickswapError(
            f"{what} is {shown(value)}; it must be a share of the duration, from 0 to below 1.",
            argument=what,
        )
    return number


def _estimated(estimate: object, jobs: pl.DataFrame) -> Floats:
    """Return what is believed about the sizes, seconds."""
    size = jobs["size"].to_numpy()
    if estimate == "logged":
        return jobs["estimate"].fill_null(jobs["size"]).to_numpy()
    if estimate == "exact":
        return size
    factor = real(estimate)
    if factor is None or not 0 < factor < np.inf:
        raise QuickswapError(
            f'estimate is {shown(estimate)}; it must be "logged", "exact", or a positive factor of '
            "the sizes.",
            argument="estimate",
        )
    scaled: Floats = factor * size
    return scaled


def _groups(classes: object, known: Ints, need: Ints, work: Floats) -> list[tuple[int, int]]:
    """Return the smallest and the largest need of each class that a result tells of.

    Args:
        known: needs that occur, ascending, and `work` that each brings.
        need: of each job.
    """
    if classes in ("need", "load"):
        return groups_by_load(known, work, MOST_GROUPS)
    if not isinstance(classes, str):
        raise QuickswapError(
            f'classes is {shown(classes)}; it must be "need", "load", or groups of needs such as '
            '"1,2-4,5-16,17-".',
            argument="classes",
        )
    given = parse_groups(classes)
    group_of(need, given)  # refuses groups that leave a need out
    ends = [(low, max(low, int(known[-1])) if high is None else high) for low, high in given]
    return [(a, b) for a, b in ends if ((known >= a) & (known <= b)).any()]
