"""What a report tells of: the replays of a comparison, seen from a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from quickswap.errors import QuickswapError, shown
from quickswap.logs import JobLog
from quickswap.replays import ReplayComparison, ReplayResult
from quickswap.replays.result import AS_LOGGED
from quickswap.report.words import Clock, Unit, common_unit
from quickswap.statistics.estimates import Estimate

__all__ = ["METRIC", "Point", "Told", "difference"]

METRIC = "waiting_time"
"""By whose mean policies are put in order: what users feel, and can check against their memory."""
BASELINE = "EASY"


@dataclass(frozen=True)
class Point:
    """The policies at one load.

    Attributes:
        factor: by which the load of the log is raised.
        logged: what the log itself says, or None.
        results: of the policies, in the order given.
        baseline: the one of them that the others are compared with.
    """

    factor: float
    logged: ReplayResult | None
    results: tuple[ReplayResult, ...]
    baseline: ReplayResult

    @property
    def others(self) -> tuple[ReplayResult, ...]:
        """The policies but the baseline."""
        return tuple(each for each in self.results if each is not self.baseline)

    def share(self, decimals: int = 0) -> str:
        """Return the offered load in words."""
        load = self.baseline.load
        if math.isnan(load):
            return "unknown, as all came at once"
        return f"{100 * load:.{decimals}f} % of the machine"

    @cached_property
    def ranked(self) -> tuple[ReplayResult, ...]:
        """The policies that measured any job, the least mean wait first."""
        known = [each for each in self.results if each.jobs]
        return tuple(sorted(known, key=lambda each: each.mean_waiting_time.value))

    @property
    def name(self) -> str:
        """The load in words."""
        if self.factor == 1:
            return "the log's own load"
        change = 100 * (self.factor - 1)
        if abs(change) < 0.1:
            return "about the log's own load"
        sign = "+" if change > 0 else "\N{MINUS SIGN}"
        return f"load {sign}{abs(change):.3g} %"

    def all(self) -> tuple[ReplayResult, ...]:
        """Everything to be shown side by side: what was logged first."""
        return self.results if self.logged is None else (self.logged, *self.results)


@dataclass(frozen=True)
class Told:
    """A comparison, ready to be told.

    Attributes:
        comparison: all of it.
        points: the loads, that of the log first.
        column: of the log, which groups its users; None to choose one.
        command: that made the report, or None.
    """

    comparison: ReplayComparison
    points: tuple[Point, ...]
    column: str | None
    command: str | None

    @classmethod
    def of(cls, comparison: object, column: str | None, command: str | None) -> Told:
        """Sort the results of a comparison.

        Raises:
            QuickswapError: it is no comparison, or holds no policy.
        """
        if not isinstance(comparison, ReplayComparison):
            raise QuickswapError(
                f"a report tells of what replays.replay_all returns, not {shown(comparison)}."
            )
        points = []
        for results in comparison.points:
            logged = next((each for each in results if each.policy_label == AS_LOGGED), None)
            policies = tuple(each for each in results if each is not logged)
            if policies:
                base = next((p for p in policies if p.policy_label == BASELINE), policies[0])
                points.append(Point(policies[0].inputs.load_factor, logged, policies, base))
        if not points:
            raise QuickswapError("a report needs a replay under at least one policy.")
        points.sort(key=lambda point: (point.factor != 1, point.factor))
        return cls(comparison, tuple(points), column, command)

    @property
    def main(self) -> Point:
        """The load that most is told of: that of the log, if it was replayed."""
        return self.points[0]

    @property
    def log(self) -> JobLog:
        """The log at the load that most is told of."""
        return self.main.baseline.log

    @cached_property
    def clock(self) -> Clock:
        """How its times are told."""
        return Clock.of(self.log)

    @cached_property
    def unit(self) -> Unit:
        """The one unit of all waits and response times."""
        return common_unit(self.comparison)

    @cached_property
    def styles(self) -> dict[str, int]:
        """The number of each policy, which decides how it is drawn; what was logged comes last."""
        labels = dict.fromkeys(
            each.policy_label
            for point in self.points
            for each in (*point.results, point.logged)
            if each is not None and each.policy_label != AS_LOGGED
        )
        return {label: number for number, label in enumerate([*labels, AS_LOGGED])}


def difference(
    one: ReplayResult, other: ReplayResult, metric: str = METRIC, cls: str | None = None
) -> Estimate | None:
    """Return how much larger the mean of one replay is; None if they cannot be paired."""
    try:
        return one.difference(other, metric, cls)
    except QuickswapError:
        return None
