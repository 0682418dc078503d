"""The jobs of a log as arrays for the core."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quickswap.engine.custom import CustomPolicy
from quickswap.engine.settings import ReplayInputs
from quickswap.errors import PolicyError, QuickswapError, invalid, unknown
from quickswap.logs import JobLog
from quickswap.logs.grouping import group_of, groups_by_load, parse_groups
from quickswap.model.distributions import Exponential
from quickswap.model.jobclass import JobClass
from quickswap.model.system import System
from quickswap.policies import AdaptiveQuickswap, Policy, Slurm, StaticQuickswap
from quickswap.policies.custom import Custom
from quickswap.policies.draining import by_estimates
from quickswap.replays.limits import Gate
from quickswap.replays.schedule import Floats, Ints, Schedule, StoppedRuns, distinct

__all__ = ["ReplayJobs"]

MOST_GROUPS = 8
"""Largest number of classes of a result, unless groups are given."""
NO_USER = 2**32 - 1
"""The user of a job whose user is not known, in the core."""
TINY = 1e-9
"""Mean size in seconds of a class whose sizes are 0, as the mean of a distribution is positive."""


@dataclass(frozen=True)
class ReplayJobs:
    """The jobs of a log that fit the machine or a pool, with one array entry per job.

    Attributes:
        log: the log, with its load scaled.
        inputs: the inputs, with the servers of the machine or pool.
        rows: row of each job in the table of the log.
        arrival, need, size, estimate: of each job, in seconds and servers.
        needs: distinct needs, ascending.
        cls: index of the need of each job.
        groups: smallest and largest need of each class of the result.
        preemptible: whether each job is stopped when other jobs need its servers.
        gate: the limits on the jobs of users and queues, if any.
        span: first and last submission of the log, seconds.
        pool: name of the pool; empty for the machine.
    """

    log: JobLog
    inputs: ReplayInputs
    rows: Ints
    arrival: Floats
    need: Ints
    size: Floats
    estimate: Floats
    needs: Ints
    cls: NDArray[np.uint32]
    groups: list[tuple[int, int]]
    preemptible: NDArray[np.bool_]
    gate: Gate | None
    span: tuple[float, float]
    pool: str = ""

    @classmethod
    def of(cls, log: JobLog, inputs: ReplayInputs) -> ReplayJobs:
        """Return the jobs.

        Raises:
            QuickswapError: an input does not suit the log, or no job fits the machine.
        """
        rows = np.flatnonzero(log.jobs["need"].to_numpy() <= inputs.servers)
        if not len(rows):
            raise invalid(
                "servers",
                inputs.servers,
                f"at least the smallest need in the log, {min(log.needs)}",
                QuickswapError,
            )
        if inputs.estimate == "predicted" and not log.jobs["user"].count():
            raise QuickswapError(
                f"estimate is predicted, and {log.source} does not contain the users of its jobs",
                argument="estimate",
                given=inputs.estimate,
                advice="use logged estimates instead",
            )
        log = log if inputs.load_factor == 1.0 else log.scaled(inputs.load_factor)
        table = log.jobs if len(rows) == len(log) else log.jobs[rows]
        need, size = table["need"].to_numpy(), table["size"].to_numpy()
        if inputs.end_at_limit:
            size = np.minimum(size, table["estimate"].fill_null(math.inf).to_numpy())
        needs, index = distinct(need)
        work: Floats = np.bincount(index, need * size).astype(float)
        arrival = table["submit"].to_numpy()
        return cls(
            log=log,
            inputs=inputs,
            rows=rows,
            arrival=arrival,
            need=need,
            size=size,
            estimate=_estimated(inputs.estimate, table, size),
            needs=needs,
            cls=index.astype(np.uint32),
            groups=_groups(inputs.classes, needs, need, work),
            preemptible=_preemptible(table, inputs.preemptible),
            gate=Gate.of(table.with_columns(pl.col("submit") * log.load_factor), inputs),
            span=(float(arrival[0]), float(arrival[-1])),
        )

    @cached_property
    def parts(self) -> list[ReplayJobs]:
        """The jobs of each pool; only these if the machine has no pools."""
        if not self.log.pools:
            return [self]
        names, parts = self.log.jobs["pool"][self.rows].cast(pl.String), []
        for pool, servers in self.log.pools.items():
            own = (names == pool).to_numpy()
            if own.any():
                inputs = replace(self.inputs, servers=servers)
                parts.append(replace(self._only(own), inputs=inputs, pool=pool))
        return parts

    @cached_property
    def served(self) -> ReplayJobs:
        """The jobs that the policy serves; preemptible ones only if there are no others."""
        return self._only(~self.preemptible) if self.yielding else self

    @cached_property
    def yielding(self) -> ReplayJobs | None:
        """The preemptible jobs, if there are others to which they yield."""
        some = self.preemptible.any() and not self.preemptible.all()
        return self._only(self.preemptible) if some else None

    def _only(self, kept: NDArray[np.bool_]) -> ReplayJobs:
        """Return some of the jobs."""
        fields = {
            name: getattr(self, name)[kept]
            for name in ("rows", "arrival", "need", "size", "estimate", "preemptible")
        }
        needs, index = distinct(fields["need"])
        groups = [(a, b) for a, b in self.groups if ((needs >= a) & (needs <= b)).any()]
        gate = self.gate and replace(self.gate, groups=self.gate.groups[kept])
        return replace(
            self, **fields, needs=needs, cls=index.astype(np.uint32), groups=groups, gate=gate
        )

    @property
    def ended_at_limit(self) -> int:
        """The number of jobs that ran longer in the log."""
        return int((self.size < self.log.jobs["size"].to_numpy()[self.rows]).sum())

    @property
    def predict(self) -> tuple[NDArray[np.uint32], Floats] | None:
        """Users (or `NO_USER`) and requested times (or infinity), if estimates are predicted."""
        if self.inputs.estimate != "predicted":
            return None
        codes = self.log.jobs["user"][self.rows].rank("dense") - 1
        users = codes.fill_null(NO_USER).to_numpy().astype(np.uint32)
        # A log has the size as the estimate of a job without one, which no scheduler knows.
        logged = self.log.jobs["size"].to_numpy()[self.rows]
        return users, np.where(self.estimate == logged, math.inf, self.estimate)

    @property
    def duration(self) -> float:
        """Seconds from the first submission to the last; 1 if they are equal."""
        return self.span[1] - self.span[0] or 1.0

    @property
    def load(self) -> float:
        """Offered load: work over servers times duration; nan without duration."""
        if self.span[1] == self.span[0]:
            return math.nan
        return float((self.need * self.size).sum() / (self.inputs.servers * self.duration))

    @cached_property
    def system(self) -> System:
        """The log as a system with a class per need."""
        return self._system(self.needs, self.cls)

    @cached_property
    def grouped(self) -> System:
        """The log as a system with a class per group of needs, which has its largest need."""
        if self.inputs.classes == "need":
            return self.system
        largest = [self.needs[self.needs <= high][-1] for _, high in self.groups]
        lows = [low for low, _ in self.groups]
        return self._system(largest, np.searchsorted(lows, self.need, side="right") - 1)

    def _system(self, needs: Iterable[int], cls: NDArray[Any]) -> System:
        """Return a system with the rates and mean sizes of the classes of the jobs."""
        counts, work = np.bincount(cls), np.bincount(cls, self.size)
        rates, means = counts / self.duration, np.maximum(work / counts, TINY)
        return System(
            self.inputs.servers,
            [
                JobClass(int(need), float(rate), Exponential(mean=float(mean)))
                for need, rate, mean in zip(needs, rates, means, strict=True)
            ],
        )

    def seen_by(self, policy: object) -> System:
        """Return the log as a policy sees it: class-based ones have the groups as classes.

        Raises:
            PolicyError: groups are given, and the policy backfills by single needs.
        """
        if isinstance(policy, AdaptiveQuickswap | StaticQuickswap):
            if self.inputs.classes != "need" and (policy.backfill or policy.overrun):
                raise invalid(
                    "classes",
                    self.inputs.classes,
                    f"need for {policy.label}, which backfills by single needs",
                    PolicyError,
                )
            return self.grouped
        by_need = isinstance(policy, Policy) and not isinstance(policy, Custom)
        return self.system if by_need else self.grouped

    def resolve(self, policy: Policy | CustomPolicy) -> dict[str, object]:
        """Return the policy for the core."""
        first = np.searchsorted(self.needs, [low for low, _ in self.groups])
        groups = {} if self.inputs.classes == "need" else {"groups": first.tolist()}
        if not isinstance(policy, Policy):
            return groups
        system = self.seen_by(policy)
        resolved = policy.resolve(system)
        return by_estimates(resolved) if system is self.system else resolved | groups

    def attributes(self, policy: Policy | CustomPolicy) -> dict[str, NDArray[Any]]:
        """Return the users of the jobs and the constant parts of their priorities, if it uses them.

        All jobs without a user belong to one.
        """
        if not isinstance(policy, Slurm):
            return {}
        jobs = self.log.jobs[self.rows]
        users = np.unique(jobs["user"].to_physical().fill_null(-1), return_inverse=True)[1]
        priority: Floats = np.zeros(len(jobs))
        for column in ("partition", "queue"):
            names = jobs[column].cast(pl.String)
            known = {name: policy.constant_priority(column, name) for name in names.unique()}
            if any(known.values()):
                priority += names.replace_strict(known, return_dtype=pl.Float64).to_numpy()
        return {"user": users.astype(np.uint32), "priority": priority}

    def with_waits(self) -> ReplayJobs:
        """Return the jobs with a known wait."""
        if self.log.load_factor != 1.0:
            raise QuickswapError(
                f"the load of {self.log.source} was multiplied by {self.log.load_factor:g}, and "
                "its waits belong to another load",
                argument="log",
                advice="read it without {scale_load}",
            )
        known = self.log.jobs["wait"].is_not_null().to_numpy()[self.rows]
        if not known.any():
            raise QuickswapError(
                f"{self.log.source} does not contain the waits of its jobs",
                argument="log",
                advice="use replay instead",
            )
        return replace(self._only(known), groups=self.groups)

    def schedule(
        self,
        start: Floats,
        end: Floats,
        preemptive: bool,
        predicted: int = 0,
        stopped: StoppedRuns | None = None,
    ) -> Schedule:
        """Return the schedule, given start and end of each job in seconds."""
        return Schedule(
            self.inputs.servers,
            self.rows,
            self.need,
            self.size,
            self.arrival,
            start,
            end,
            preemptive,
            predicted,
            stopped or StoppedRuns(),
            keeps_work=stopped is not None and self.inputs.preempt_mode == "suspend",
        )


def _preemptible(jobs: pl.DataFrame, given: str) -> NDArray[np.bool_]:
    """Return which jobs of a log are in one of the queues or partitions given."""
    found: NDArray[np.bool_] = np.zeros(len(jobs), dtype=bool)
    if not given:
        return found
    columns = [jobs[name].cast(pl.String) for name in ("queue", "partition")]
    known = sorted({name for each in columns for name in each.unique().drop_nulls()})
    for name in (names := given.split()):
        if name not in known:
            unknown("queue or partition", name, known, QuickswapError, argument="preemptible")
    for each in columns:
        found |= each.is_in(names).fill_null(value=False).to_numpy()
    return found


def _estimated(estimate: float | str, jobs: pl.DataFrame, size: Floats) -> Floats:
    """Return the estimated sizes in seconds, given the sizes; of the log if none is predicted."""
    if estimate in ("logged", "predicted"):
        return jobs["estimate"].fill_null(jobs["size"]).to_numpy()
    if estimate == "exact":
        return size
    scaled: Floats = float(estimate) * size
    return scaled


def _groups(classes: str, known: Ints, need: Ints, work: Floats) -> list[tuple[int, int]]:
    """Return the smallest and the largest need of each class of the result.

    Args:
        classes: the argument of `replay`.
        known: distinct needs, ascending.
        need: need of each job.
        work: work of the jobs with each of the needs.
    """
    if classes in ("need", "load"):
        return groups_by_load(known, work, MOST_GROUPS)
    given = parse_groups(classes)
    group_of(need, given)  # rejects groups that leave a need out
    ends = [(low, max(low, int(known[-1])) if high is None else high) for low, high in given]
    return [(a, b) for a, b in ends if ((known >= a) & (known <= b)).any()]
