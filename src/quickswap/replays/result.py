"""The results of replays."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quickswap._shown import Shown, plotted
from quickswap._values import Value
from quickswap._words import counted, load_words
from quickswap.engine.settings import ReplayInputs
from quickswap.errors import QuickswapError, invalid, unknown
from quickswap.policies import Policy, Slurm
from quickswap.replays.backlog import (
    SEVERITY,
    Backlog,
    ReplayVerdict,
    large_backlog,
    verdict_of,
)
from quickswap.replays.bound import mean_response_bound
from quickswap.replays.measurement import MomentTable, tabulate
from quickswap.replays.preemption import Preemption
from quickswap.replays.schedule import Ints, Schedule
from quickswap.simulation.result import plain
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome, best_of, outcome_of
from quickswap.statistics.quantities import SUMMARIES, Quantities

if TYPE_CHECKING:
    import polars

    from quickswap._shown import Axes
    from quickswap.engine.custom import CustomPolicy
    from quickswap.logs import JobLog

__all__ = ["AS_LOGGED", "ReplayComparison", "ReplayResult"]

AS_LOGGED = "as logged"
"""Label of the waits in the log, instead of a policy."""
BASELINE = "EASY"
FORMAT = 1


@dataclass(frozen=True, repr=False)
class ReplayResult(Shown, Value, Quantities):
    """The result of a replay of a log under one policy.

    Means and percentiles are exact for the jobs measured. Half-widths (at the level `confidence` of
    the inputs) are from a bootstrap over the weeks of the log, and reflect the variation between
    weeks (see `quickswap.statistics.bootstrap`). Classes are needs, or groups of needs if there are
    many.

    Attributes:
        inputs: the inputs of the replay.
        policy: the policy; None for the logged waits.
        log: the log, with its load scaled.
        schedule: start and end of each job.
        load: offered load: sum of need times size over servers times duration.
        jobs: number of jobs measured.
        too_large: number of jobs that need more servers than the machine has; they are left out.
        predicted: number of jobs with a predicted estimate; 0 unless `estimate` is "predicted".
        resampled: number and unit of the pieces drawn by the bootstrap, such as (48, "week").
        longest_wait: longest wait of a job measured, seconds; nan without jobs.
        backlog: the waiting work over time.
        seconds: wall-clock time of the replay; not compared.
        table: sums by piece of the log, from which differences are computed; not compared.
        pools: the results of the pools of the log, by name; not compared.
        ended_at_limit: number of jobs that end at their time limit, and ran longer in the log.
        preemption: the preemptible jobs and the others; None if no job is preemptible.
    """

    inputs: ReplayInputs
    policy: Policy | CustomPolicy | None = field(compare=False, repr=False)
    log: JobLog = field(compare=False, repr=False)
    schedule: Schedule = field(compare=False, repr=False)
    load: float
    jobs: int
    too_large: int
    predicted: int
    resampled: tuple[int, str]
    longest_wait: float
    backlog: Backlog
    seconds: float = field(compare=False)
    table: MomentTable = field(compare=False, repr=False)
    pools: dict[str, ReplayResult] = field(default_factory=dict, compare=False, repr=False)
    ended_at_limit: int = 0
    preemption: Preemption | None = None

    def __repr__(self) -> str:
        load, wait = load_words(self.load), self.mean_waiting_time
        jobs = counted(self.jobs, "job", ",")
        return f"<ReplayResult {self.policy_label}, load {load}: {jobs}, mean wait {wait} s>"

    @property
    def verdict(self) -> ReplayVerdict:
        """Whether the policy keeps up with the submitted work.

        - "falls behind": more than 5 % of all work waits at the last submission, or the load is 1
          or more. The waits then grow with the length of the log.
        - "persistent backlog": for more than a quarter of the log, or more than 60 days, without a
          break, the waiting work is at least what the whole machine serves in a day (in a
          thirtieth of the duration of the log, if that is less).
        - "keeps up": neither of the two. The schedule of a preemptive policy does not contain the
          waiting work over time, so a persistent backlog is not detected.
        - "unknown": no job was measured, or all jobs were submitted at the same time.

        If the log has pools, it is the worst verdict of a pool.
        """
        if self.pools:
            return max((each.verdict for each in self.pools.values()), key=SEVERITY.index)
        if not self.jobs or self._span == 0:
            return ReplayVerdict.UNKNOWN
        return verdict_of(self.backlog, self.load, self._span)

    @property
    def much(self) -> float:
        """Waiting work from which a backlog is large, in seconds of the whole machine."""
        return large_backlog(self._span)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Whether each job of the schedule is measured."""
        return self.table.pieces.inside(self.schedule.arrival)

    @cached_property
    def lower_bound(self) -> float:
        """Lower bound on the mean response time of the jobs measured, seconds; nan without jobs.

        It holds for every schedule of these jobs on this machine, preemptive or not, even if the
        scheduler knows all arrivals and sizes in advance. The mean waiting time is at least this
        bound minus the mean size. `Result.lower_bound` bounds the weighted mean instead.
        """
        if self.pools:
            parts = [(each.lower_bound, each.jobs) for each in self.pools.values() if each.jobs]
            return sum(bound * jobs for bound, jobs in parts) / self.jobs if parts else math.nan
        jobs, measured = self.schedule, self.measured
        return mean_response_bound(
            jobs.servers, jobs.arrival[measured], jobs.need[measured], jobs.size[measured]
        )

    def tabulated(self, owner: Ints, groups: int) -> MomentTable:
        """Return the sums by any grouping; `owner` is the group of each row of the log."""
        group, bound = owner[self.schedule.rows], self.inputs.slowdown_bound
        return tabulate(self.schedule, self.table.pieces, group, groups, bound)

    @property
    def _span(self) -> float:
        return float(self.schedule.arrival[-1] - self.schedule.arrival[0])

    def outcomes(self) -> polars.DataFrame:
        """Return one row per job, in order of submission.

        Columns: line, job, user, group, class, queue, partition, estimate as in the log; need,
        size; submit, start, end, in seconds after the first submission; wait, response, in seconds;
        slowdown, bounded_slowdown; preemptions; measured, which is false in warm-up and cool-down.
        """
        import polars as pl

        frame = self.schedule.to_frame(self.log, self.inputs.slowdown_bound)
        return frame.with_columns(pl.Series("measured", self.measured))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the waiting work over time on Matplotlib axes, by default new ones; return them.

        Raises:
            QuickswapError: the policy is preemptive, so the schedule does not contain the work.
        """
        return plotted(self, ax)

    def to_frame(self, *, wide: bool = False) -> polars.DataFrame:
        """Return a Polars frame with one row per class and quantity.

        Columns: policy, pool, load_factor, load, class, quantity, value, half_width, verdict,
        servers, and the parameters of the policy that are given. The rows of the whole log, whose
        pool is null, are followed by those of each pool. If it is `wide`, there is one row for each
        class, and each quantity is a column, followed by that of its half-width.
        """
        import polars as pl

        given = self.policy.parameters() if isinstance(self.policy, Policy) else {}
        frames = []
        for pool, each in ((None, self), *self.pools.items()):
            front = {"pool": pool, "load_factor": self.inputs.load_factor, "load": each.load}
            back = {"servers": each.inputs.servers, **given}
            frames.append(each._framed(front, each.verdict, back, wide).cast({"pool": pl.String}))
        return pl.concat(frames, how="diagonal_relaxed")

    def difference(
        self, other: ReplayResult, metric: str = "waiting_time", cls: str | None = None
    ) -> Estimate:
        """Return this mean minus that of another replay, paired by the weeks of the log.

        Args:
            other: a replay of the same log, measured over the same jobs.
            metric: "response_time", "waiting_time", "slowdown" or "bounded_slowdown".
            cls: name of a class; by default all jobs.

        Raises:
            QuickswapError: the metric or the class is unknown, or the replays cannot be paired.
        """
        if not isinstance(other, ReplayResult):
            raise invalid("other", other, "a ReplayResult", QuickswapError)
        if metric not in SUMMARIES:
            unknown("metric", metric, SUMMARIES, QuickswapError, argument="metric")
        names = [each.name for each in self.classes]
        if cls is not None and cls not in names:
            unknown("class", cls, names, QuickswapError, argument="cls")
        mine, theirs = self.table, other.table
        if self.log.load_factor != other.log.load_factor:
            raise QuickswapError(
                f"the replays have the load factors {self.log.load_factor:g} and "
                f"{other.log.load_factor:g}",
                argument="other",
                advice="compare replays at the same load",
            )
        if (
            names != [each.name for each in other.classes]
            or self.jobs != other.jobs
            or not mine.pieces.same(theirs.pieces)
            or self.inputs.slowdown_bound != other.inputs.slowdown_bound
        ):
            raise QuickswapError(
                "the replays cannot be paired",
                argument="other",
                advice="replay the same log with equal classes, warm-up, cool-down, slowdown bound "
                "and seed",
            )
        group = None if cls is None else names.index(cls)
        return mine.difference(theirs, metric, group)


def baseline_of(policies: Sequence[ReplayResult]) -> ReplayResult:
    """Return the replay with which others are compared: Slurm, or else EASY, or else the first."""

    def order(result: ReplayResult) -> tuple[bool, bool]:
        return not isinstance(result.policy, Slurm), result.policy_label != BASELINE

    return min(policies, key=order)


@dataclass(frozen=True, repr=False)
class ReplayComparison(Shown):
    """Replays of a log under several policies, at one or several loads.

    Attributes:
        results: ordered by load, then by policy as given; at the load of the log, the logged waits
            are first, if the log contains them.
        seconds: wall-clock time of all replays; not compared.
    """

    results: tuple[ReplayResult, ...]
    seconds: float = field(default=math.nan, compare=False)

    @property
    def points(self) -> tuple[tuple[ReplayResult, ...], ...]:
        """The results at each load."""
        grouped: dict[float, list[ReplayResult]] = {}
        for each in self.results:
            grouped.setdefault(each.inputs.load_factor, []).append(each)
        return tuple(map(tuple, grouped.values()))

    def __repr__(self) -> str:
        policies = ", ".join(dict.fromkeys(each.policy_label for each in self.results))
        factors = ", ".join(f"{each[0].inputs.load_factor:g}" for each in self.points)
        return f"<ReplayComparison of {policies} at load factor {factors}>"

    def best(self, point: int, metric: str = "bounded_slowdown") -> tuple[str, ...]:
        """Return the policy with the smallest mean of a metric at a load, then those tied with it.

        Policies are tied if the interval of their difference contains 0. The logged waits are not
        ranked.
        """
        known = {
            each.policy_label: each
            for each in self.points[point]
            if each.policy_label != AS_LOGGED and each.jobs
        }
        means = {name: getattr(each.overall, metric).mean.value for name, each in known.items()}

        def outcome(first: str, second: str) -> Outcome:
            return outcome_of(known[first].difference(known[second], metric))

        return best_of(means, dict.fromkeys(known, "stable"), outcome)

    def plot(self, ax: Axes | None = None, *, metric: str = "wait") -> Axes:
        """Draw a metric of each policy against the load on Matplotlib axes; return them.

        Args:
            ax: the axes, by default new ones.
            metric: a quantity or its short name, such as "weighted", "wait" or "slowdown".

        Raises:
            QuickswapError: the metric is unknown.
        """
        return plotted(self, ax, metric)

    def to_frame(self, *, wide: bool = False) -> polars.DataFrame:
        """Return a Polars frame with one row per result, class and quantity.

        The columns, also those of a `wide` frame, are those of `ReplayResult.to_frame`.
        """
        import polars as pl

        frames = [each.to_frame(wide=wide) for each in self.results]
        return pl.concat(frames, how="diagonal_relaxed")

    def outcomes(self) -> polars.DataFrame:
        """Return the outcomes of all replays: policy, load_factor, and the columns of
        `ReplayResult.outcomes`.
        """
        import polars as pl

        frames = [
            each.outcomes().select(
                pl.lit(each.policy_label).alias("policy"),
                pl.lit(each.inputs.load_factor).alias("load_factor"),
                pl.all(),
            )
            for each in self.results
        ]
        return pl.concat(frames)

    def to_json(self) -> str:
        """Return inputs and quantities as JSON, without the outcomes of the jobs."""
        kept = [f.name for f in fields(ReplayResult) if f.compare]

        def written(each: ReplayResult) -> dict[str, Any]:
            pools = {name: written(pool) for name, pool in each.pools.items()}
            return {name: plain(getattr(each, name)) for name in kept} | {
                "verdict": str(each.verdict),
                "pools": pools,
            }

        data: dict[str, Any] = {
            "quickswap_replays": FORMAT,
            "log": self.results[0].log.report.to_dict(),
            "results": [written(each) for each in self.results],
        }
        return json.dumps(data, indent=1, allow_nan=False)
