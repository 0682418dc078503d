"""The replays of a comparison by load, each load with a baseline, and the policies side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quickswap.errors import QuickswapError, invalid
from quickswap.logs import JobLog
from quickswap.replays import ReplayComparison, ReplayResult
from quickswap.replays.logged_waits import LoggedWaits
from quickswap.replays.result import AS_LOGGED, baseline_of
from quickswap.report.text import HARD_SPACE, Clock, Unit, common_unit
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome, outcome_of

__all__ = [
    "METRIC",
    "Column",
    "Level",
    "ReportData",
    "columns_of",
    "difference",
    "further_levels",
    "marks",
    "relative_saving",
    "significant",
    "worse",
]

METRIC = "waiting_time"
"""The quantity whose mean ranks the policies; users experience their waits."""


@dataclass(frozen=True)
class Level:
    """The policies at one load.

    Attributes:
        factor: factor of the load of the log.
        logged: the waits that the log itself contains, or None.
        policies: their results, in the order given.
        baseline: the policy with which the others are compared.
        waits: the logged waits, at the load of the log whichever load this is, or None.
    """

    factor: float
    logged: ReplayResult | None
    policies: tuple[ReplayResult, ...]
    baseline: ReplayResult
    waits: LoggedWaits | None

    @property
    def name(self) -> str:
        """The load relative to that of the log."""
        if self.factor == 1:
            return "the log's own load"
        change = 100 * (self.factor - 1)
        if abs(change) < 0.1:
            return "about the log's own load"
        return f"load {'+' if change > 0 else chr(0x2212)}{abs(change):.3g}\N{NO-BREAK SPACE}%"

    @property
    def rows(self) -> tuple[ReplayResult, ...]:
        """All results, the logged one first."""
        return self.policies if self.logged is None else (self.logged, *self.policies)

    @property
    def others(self) -> tuple[ReplayResult, ...]:
        """The policies except the baseline."""
        return tuple(each for each in self.policies if each is not self.baseline)

    @cached_property
    def ranked(self) -> tuple[ReplayResult, ...]:
        """The policies with jobs measured, the shortest mean wait first."""
        known = [each for each in self.policies if each.jobs]
        return tuple(sorted(known, key=lambda each: each.mean_waiting_time.value))

    @property
    def lagging(self) -> tuple[ReplayResult, ...]:
        """The policies that do not keep up."""
        return tuple(each for each in self.policies if each.verdict.lagging)


@dataclass(frozen=True)
class ReportData:
    """A comparison in the order of the report.

    Attributes:
        comparison: all replays.
        levels: the loads, that of the log first.
        column: the column of the log that groups users; None selects one.
        command: the command that wrote the report, or None.
    """

    comparison: ReplayComparison
    levels: tuple[Level, ...]
    column: str | None
    command: str | None

    @classmethod
    def of(cls, comparison: object, column: str | None, command: str | None) -> ReportData:
        """Sort the results of a comparison.

        Raises:
            QuickswapError: it is not a comparison, or contains no policy.
        """
        if not isinstance(comparison, ReplayComparison):
            raise invalid(
                "comparison", comparison, "the result of replays.replay_all", QuickswapError
            )
        levels, waits = [], LoggedWaits.of(comparison)
        for results in comparison.points:
            logged = next((each for each in results if each.policy_label == AS_LOGGED), None)
            policies = tuple(each for each in results if each is not logged)
            if policies:
                factor, base = policies[0].inputs.load_factor, baseline_of(policies)
                levels.append(Level(factor, logged, policies, base, waits))
        if not levels:
            raise QuickswapError(
                "comparison contains no policy",
                argument="comparison",
                advice="replay the log under at least one",
            )
        levels.sort(key=lambda level: (level.factor != 1, level.factor))
        return cls(comparison, tuple(levels), column, command)

    @property
    def main(self) -> Level:
        """The load that is described in full: that of the log, if it was replayed."""
        return self.levels[0]

    @property
    def log(self) -> JobLog:
        """The log at the main load."""
        return self.main.baseline.log

    @property
    def span(self) -> float:
        """Seconds from the first submission to the last, at the log's own load."""
        return self.log.duration * self.main.factor

    @cached_property
    def clock(self) -> Clock:
        """Its dates."""
        return Clock.of(self.log)

    @property
    def confidence(self) -> str:
        """Confidence level of the intervals."""
        return f"{100 * self.main.baseline.inputs.confidence:.6g}{HARD_SPACE}%"

    @cached_property
    def unit(self) -> Unit:
        """The one unit of all waits and response times."""
        return common_unit(self.comparison)

    @cached_property
    def styles(self) -> dict[str, int]:
        """The number of each policy's line style; the logged waits have the last one."""
        labels = [each.policy_label for level in self.levels for each in level.policies]
        return {label: i for i, label in enumerate([*dict.fromkeys(labels), AS_LOGGED])}


def difference(one: ReplayResult, other: ReplayResult, metric: str = METRIC) -> Estimate | None:
    """Return the mean of one replay minus that of the other; None if they cannot be paired."""
    try:
        return one.difference(other, metric)
    except QuickswapError:
        return None


def relative_saving(one: ReplayResult, other: ReplayResult) -> Estimate | None:
    """Return the relative decrease of the mean wait from `other` to `one`, or None."""
    if difference(one, other) is None or not other.mean_waiting_time.value:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = one.table.means(METRIC, None) / other.table.means(METRIC, None)
    return other.table.pieces.estimates(1 - ratio[:, None])[0]


def worse(gap: Estimate | None) -> bool:
    """Whether a difference is significantly above 0."""
    return gap is not None and outcome_of(gap) is Outcome.WORSE


def significant(gap: Estimate | None) -> bool:
    """Whether the confidence interval of a difference excludes 0."""
    return gap is not None and outcome_of(gap) in (Outcome.BETTER, Outcome.WORSE)


@dataclass(frozen=True)
class Column:
    """A quantity of the table.

    Attributes:
        name: the heading.
        kind: "time", "longest" (a time without an interval), "number" or "share".
        value: returns the quantity of a result.
        metric: the metric whose paired differences decide ties; None compares intervals.
        ranked: whether a smaller value is better.
    """

    name: str
    kind: str
    value: Callable[[ReplayResult], Estimate]
    metric: str | None = None
    ranked: bool = True


COLUMNS = (
    Column("mean wait", "time", lambda r: r.overall.waiting_time.mean, "waiting_time"),
    Column("90th percentile of the wait", "time", lambda r: r.overall.waiting_time.p90),
    Column("99th percentile of the wait", "time", lambda r: r.overall.waiting_time.p99),
    Column("longest wait", "longest", lambda r: Estimate(r.longest_wait, 0.0), ranked=False),
    Column(
        "mean bounded slowdown",
        "number",
        lambda r: r.overall.bounded_slowdown.mean,
        "bounded_slowdown",
    ),
    Column("mean response time", "time", lambda r: r.overall.response_time.mean, "response_time"),
    Column("weighted mean response time", "time", lambda r: r.weighted_mean_response_time),
    Column("utilisation", "share", lambda r: r.utilisation, ranked=False),
    Column("idle while jobs wait", "share", lambda r: r.wasted_capacity, ranked=False),
)


def columns_of(result: ReplayResult) -> tuple[Column, ...]:
    """Return the columns of the table, with the percentiles of the wait that were requested."""

    def percentile(level: float) -> Column:
        name = f"P{level:.10g} of the wait"
        return Column(name, "time", lambda r: r.overall.waiting_time.percentile(level))

    first = 3  # after the mean, P90 and P99
    return (*COLUMNS[:first], *map(percentile, further_levels(result)), *COLUMNS[first:])


def further_levels(result: ReplayResult) -> list[float]:
    """Return the percentiles that were requested besides P90 and P99, which all tables contain."""
    return [each for each in result.inputs.levels if each not in (90, 99)]


def marks(column: Column, level: Level) -> list[str]:
    """Return "best", "tied" or "" for each row of a level; the logged waits are not ranked."""
    values = {
        i: column.value(row)
        for i, row in enumerate(level.rows)
        if row is not level.logged and math.isfinite(column.value(row).value)
    }
    found = [""] * len(level.rows)
    if not column.ranked or len(values) < 2:
        return found
    best = min(values, key=lambda i: values[i].value)
    for i, value in values.items():
        if column.metric is not None:
            gap = difference(level.rows[i], level.rows[best], column.metric)
            apart = worse(gap)
        else:
            apart = value.low > values[best].high
        found[i] = "best" if i == best else "" if apart else "tied"
    return found
