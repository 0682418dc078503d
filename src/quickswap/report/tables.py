"""Policies side by side: one table a load, the best of each column marked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from quickswap.estimates import Estimate
from quickswap.replays import ReplayResult
from quickswap.report.markup import Markup, joined, section, table, tag
from quickswap.report.model import Point, Told, difference
from quickswap.report.words import percent, unit_of

__all__ = ["policies_section"]


@dataclass(frozen=True)
class _Column:
    """A quantity: how it is called and found, what it is measured in, and how it is compared.

    `kind` is "time", "number" or "share"; of `metric` the paired difference of means decides who is
    tied. What has neither metric nor `least` is not judged.
    """

    name: str
    get: Callable[[ReplayResult], Estimate]
    kind: str
    metric: str | None = None
    least: bool = True


COLUMNS = (
    _Column("mean wait", lambda r: r.overall.waiting_time.mean, "time", "waiting_time"),
    _Column("P90 of the wait", lambda r: r.overall.waiting_time.p90, "time"),
    _Column("P99 of the wait", lambda r: r.overall.waiting_time.p99, "time"),
    _Column(
        "mean bounded slowdown",
        lambda r: r.overall.bounded_slowdown.mean,
        "number",
        "bounded_slowdown",
    ),
    _Column("P99 of the bounded slowdown", lambda r: r.overall.bounded_slowdown.p99, "number"),
    _Column("mean response time", lambda r: r.overall.response_time.mean, "time", "response_time"),
    _Column("weighted mean response time", lambda r: r.weighted_mean_response_time, "time"),
    _Column("servers in use [%]", lambda r: r.utilisation, "share", least=False),
    _Column("idle while jobs wait [%]", lambda r: r.wasted_capacity, "share", least=False),
)


def policies_section(told: Told) -> Markup:
    """Return the section with a table for each load."""
    tables = [
        part for point in told.points for part in (tag("h3", _heading(point)), _table(point, told))
    ]
    return section("policies", "Policies side by side", tag("p", _legend(told)), *tables)


def _heading(point: Point) -> str:
    return f"{point.name[:1].upper()}{point.name[1:]}: {point.share(1)}"


def _legend(told: Told) -> Markup:
    bound = told.main.baseline.inputs.slowdown_bound
    words = (
        " is the best of a column, and ",
        " is not told apart from it: of means the interval of the difference holds 0, of other "
        "quantities the two intervals overlap. P90: one job in ten waits longer; P99: one in a "
        f"hundred. The bounded slowdown is response time over run time, of at least {bound:g} s, "
        "and at least 1. The weighted mean response time weighs each need by its share of the "
        "load. Which share of the servers is in use depends on the load more than on the policy. "
        "“± ?” means that the log is too short to tell.",
    )
    return joined([tag("b", "★", class_="best"), words[0], tag("b", "≈", class_="tied"), words[1]])


def _table(point: Point, told: Told) -> Markup:
    rows = point.all()
    cells: list[list[object]] = [[each.policy_label] for each in rows]
    heads = ["policy"]
    for column in COLUMNS:
        values = [column.get(each) for each in rows]
        marks = _marks(column, rows, values, point)
        head = column.name
        unit = None
        if column.kind == "time":
            unit = unit_of(value.value for value in values)
            head = f"{column.name} [{unit.name}]"
        heads.append(head)
        for row, value, mark in zip(cells, values, marks, strict=True):
            scaled = value if unit is None else unit.of(value)
            row.append(_cell(percent(value) if column.kind == "share" else str(scaled), mark))
    for row, each in zip(cells, rows, strict=True):
        behind = each.verdict == "falls behind"
        verdict = "" if each is point.logged else each.verdict
        row.append(tag("td", verdict, class_="behind" if behind and verdict else "word"))
    caption = f"Policies at {point.name}; baseline: {point.baseline.policy_label}"
    return table(caption, [*heads, "verdict"], cells)


def _cell(text: str, mark: str) -> Markup:
    if not mark:
        return tag("td", text)
    sign = tag("b", "★" if mark == "best" else "≈", class_=mark, role="img", aria_label=mark)
    return tag("td", sign, " ", text)


def _marks(
    column: _Column, rows: tuple[ReplayResult, ...], values: list[Estimate], point: Point
) -> list[str]:
    """Return "best", "tied" or "" for each row; what was logged is not judged."""
    known = [
        i
        for i, value in enumerate(values)
        if rows[i] is not point.logged and math.isfinite(value.value)
    ]
    marks = [""] * len(rows)
    if not column.least or len(known) < 2:
        return marks
    best = min(known, key=lambda i: values[i].value)
    for i in known:
        if i == best:
            marks[i] = "best"
        elif column.metric is not None:
            gap = difference(rows[i], rows[best], column.metric)
            marks[i] = "" if gap is not None and gap.low > 0 else "tied"
        elif not values[i].low > values[best].high:
            marks[i] = "tied"
    return marks
