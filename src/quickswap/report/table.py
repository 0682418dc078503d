"""The policies side by side at one load: the values, and which of them are best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from quickswap.replays import ReplayResult
from quickswap.report.data import Level, difference, worse
from quickswap.statistics.estimates import Estimate

__all__ = ["COLUMNS", "Column", "marks"]


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
