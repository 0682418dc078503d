"""What a replay found, as plain values."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap._values import Value
from quickswap.errors import QuickswapError, shown, unknown
from quickswap.replays.backlog import Backlog, much_work, verdict_of
from quickswap.replays.measuring import Table
from quickswap.replays.schedule import Schedule
from quickswap.simulation.result import plain
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome, outcome_of
from quickswap.statistics.quantities import SUMMARIES, Quantities

if TYPE_CHECKING:
    import polars

    from quickswap.logs import JobLog

__all__ = ["AS_LOGGED", "ReplayComparison", "ReplayInputs", "ReplayResult"]

AS_LOGGED = "as logged"
"""In place of a policy: the waits that the log itself tells."""
FORMAT = 1


@dataclass(frozen=True, slots=True)
class ReplayInputs:
    """Everything that, with the log, determines a replay.

    Attributes:
        source: the file of the log.
        policy: its spelling.
        servers: of the machine.
        load_factor: by which the load is raised, through shorter interarrival times.
        estimate: "logged", "exact", or a factor of the size.
        classes: "need", "load", or groups of needs that stand for classes.
        warmup, cooldown: shares of the log's duration whose jobs are replayed and not measured.
        slowdown_bound: of the bounded slowdown, seconds.
        seed: of the bootstrap.
        version: of quickswap.
    """

    source: str
    policy: str
    servers: int
    load_factor: float
    estimate: str | float
    classes: str
    warmup: float
    cooldown: float
    slowdown_bound: float
    seed: int
    version: str


@dataclass(frozen=True)
class ReplayResult(Value, Quantities):
    """What one policy did for the jobs of a log. Intervals are over the weeks of the log.

    Percentiles and means are those of the jobs measured, exactly; a half-width (95 %) says how far
    they might have been off with other weeks of the same kind (see
    `quickswap.statistics.bootstrap`).
    Classes are the needs, or groups of them where there are many.

    Attributes:
        inputs: all that determines it.
        log: the log that was replayed, its load scaled.
        schedule: who was served when.
        load: need times size, summed, over servers times duration.
        jobs: jobs measured.
        too_large: jobs left out, as they need more than the machine has.
        resampled: what was drawn for the intervals: so many pieces of a unit, (48, "week").
        longest_wait: of a job measured, seconds; nan if there is none.
        backlog: how much work waited, and for how long on end.
        seconds: wall-clock time of the replay; not compared.
    """

    inputs: ReplayInputs
    log: JobLog = field(compare=False, repr=False)
    schedule: Schedule = field(compare=False, repr=False)
    load: float
    jobs: int
    too_large: int
    resampled: tuple[int, str]
    longest_wait: float
    backlog: Backlog
    seconds: float = field(default=math.nan, compare=False)
    table: Table | None = field(default=None, compare=False, repr=False)

    @property
    def verdict(self) -> str:
        """Whether the policy kept up with what was submitted.

        "falls behind": more than 5 % of all work still waited at the last submission, or the load
        is 1 or more; the waits only tell how long the log is. "persistent backlog": there was a
        stretch of over a quarter of the log, or of over 60 days, in which there always waited at
        least as much work as the whole machine does in a day (in a thirtieth of the log's duration,
        if that is less); the waits hang on how long such stretches happen to be. Else "keeps up".
        What waits at a moment is not known of preemptive policies, which are only told to fall
        behind or to keep up. "unknown": no job was measured, or all were submitted at once.
        """
        if not self.jobs or self._span == 0:
            return "unknown"
        return verdict_of(self.backlog, self.load, self._span)

    @property
    def much(self) -> float:
        """Work that is much to wait: seconds that the whole machine would need for it."""
        return much_work(self._span)

    @property
    def _span(self) -> float:
        return float(self.schedule.arrival[-1] - self.schedule.arrival[0])

    @property
    def left_behind(self) -> float:
        """Share of all work that still waited at the last submission."""
        return self.backlog.left

    def outcomes(self) -> polars.DataFrame:
        """Return one row a job, in the order of submission.

        Columns: line, job, user, group, class, queue, partition, estimate as in the log; need,
        size, submit, start, end, wait, response (seconds after the first submission, or long),
        slowdown, bounded_slowdown; measured, false in warm-up and cool-down.
        """
        import polars as pl

        frame = self.schedule.to_frame(self.log, self.inputs.slowdown_bound)
        assert self.table is not None
        edges = self.table.pieces.edges
        inside = pl.col("submit").is_between(float(edges[0]), float(edges[-1]))
        return frame.with_columns(inside.alias("measured"))

    def save_outcomes(self, path: str | Path) -> None:
        """Write the outcomes as Parquet, whole or not at all.

        Raises:
            QuickswapError: the file cannot be written.
        """
        from quickswap.files import write_with

        write_with(path, lambda file: self.outcomes().write_parquet(file))

    def to_frame(self) -> polars.DataFrame:
        """Return a polars frame with one row for each class and quantity.

        Columns: policy, load_factor, load, class, quantity, value, half_width, verdict.
        """
        import polars as pl

        rows = [
            (
                self.policy_label,
                self.inputs.load_factor,
                self.load,
                who,
                what,
                e.value,
                e.half_width,
            )
            for who, what, e in self.quantities()
        ]
        columns = ["policy", "load_factor", "load", "class", "quantity", "value", "half_width"]
        frame = pl.DataFrame(rows, schema=columns, orient="row")
        return frame.with_columns(pl.lit(self.verdict).alias("verdict"))

    def difference(
        self, other: ReplayResult, metric: str = "waiting_time", cls: str | None = None
    ) -> Estimate:
        """Return this mean less that of another replay, with an interval over the same weeks.

        Args:
            other: of the same log, measured over the same jobs.
            metric: "response_time", "waiting_time", "slowdown" or "bounded_slowdown".
            cls: name of the class meant; default: all jobs.

        Raises:
            QuickswapError: no such metric or class, or the two cannot be paired.
        """
        if not isinstance(other, ReplayResult):
            raise QuickswapError(f"a difference is between two replays, not {shown(other)}.")
        if metric not in SUMMARIES:
            unknown("metric", metric, SUMMARIES, QuickswapError)
        names = [each.name for each in self.classes]
        if cls is not None and cls not in names:
            unknown("class", cls, names, QuickswapError)
        mine, theirs = self.table, other.table
        if self.log.load_factor != other.log.load_factor:
            raise QuickswapError(
                f"these replays are at {self.log.load_factor:g} and {other.log.load_factor:g} "
                "times the load of the log: compare replays at one load."
            )
        if (
            mine is None
            or theirs is None
            or names != [each.name for each in other.classes]
            or self.jobs != other.jobs
            or not mine.pieces.same(theirs.pieces)
            or self.inputs.slowdown_bound != other.inputs.slowdown_bound
        ):
            raise QuickswapError(
                "these replays cannot be paired: they need the same log, classes, warm-up, "
                "cool-down, bound of the slowdown and seed."
            )
        group = None if cls is None else names.index(cls)
        return mine.difference(theirs, metric, group)


@dataclass(frozen=True)
class ReplayComparison:
    """Replays of one log under several policies, at one or several loads.

    Attributes:
        results: by load, then by policy in the order given; the waits as logged come first at the
            load of the log, where the log has them.
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

    def best(self, point: int, metric: str = "bounded_slowdown") -> tuple[str, ...]:
        """Return the policy with the least mean of a metric at a point, then those tied with it.

        Two are tied if the interval of their difference holds 0. What was logged does not count.
        """
        known = [r for r in self.points[point] if r.policy_label != AS_LOGGED and r.jobs]
        if not known:
            return ()
        first = min(known, key=lambda r: getattr(r.overall, metric).mean.value)
        tied = [
            r.policy_label
            for r in known
            if r is not first and outcome_of(r.difference(first, metric)) is not Outcome.WORSE
        ]
        return (first.policy_label, *tied)

    def to_frame(self) -> polars.DataFrame:
        """Return a polars frame with one row for each result, class and quantity."""
        import polars as pl

        return pl.concat([each.to_frame() for each in self.results])

    def outcomes(self) -> polars.DataFrame:
        """Return the outcomes of all replays; columns as in `ReplayResult.outcomes`, behind policy
        and load_factor.
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
        """Return inputs and quantities as JSON, without the outcomes of single jobs."""
        kept = [f.name for f in fields(ReplayResult) if f.compare]
        data: dict[str, Any] = {
            "quickswap_replays": FORMAT,
            "log": self.results[0].log.report.to_dict(),
            "results": [
                {name: plain(getattr(each, name)) for name in kept} | {"verdict": each.verdict}
                for each in self.results
            ],
        }
        return json.dumps(data, indent=1, allow_nan=False)
