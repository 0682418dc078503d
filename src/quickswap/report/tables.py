"""Policies side by side: one table a load, the best of each column marked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from quickswap.replays import ReplayResult
from quickswap.report.markup import Markup, folded, joined, section, table, tag
from quickswap.report.model import Point, Told, difference
from quickswap.report.words import amount, percent
from quickswap.statistics.estimates import Estimate

__all__ = ["policies_section"]


@dataclass(frozen=True)
class _Column:
    """A quantity: how it is called and found, what it is measured in, and how it is compared.

    `kind` is "time", "longest" (a time without an interval), "number" or "share"; of `metric` the
    paired difference of means decides who is tied. What has
    neither metric nor `least` is not judged.
    """

    name: str
    get: Callable[[ReplayResult], Estimate]
    kind: str
    metric: str | None = None
    least: bool = True


COLUMNS = (
    _Column("mean wait", lambda r: r.overall.waiting_time.mean, "time", "waiting_time"),
    _Column("1 job in 10 waits longer than", lambda r: r.overall.waiting_time.p90, "time"),
    _Column("1 job in 100 waits longer than", lambda r: r.overall.waiting_time.p99, "time"),
    _Column("longest wait", lambda r: Estimate(r.longest_wait, 0.0), "longest", least=False),
    _Column(
        "mean bounded slowdown",
        lambda r: r.overall.bounded_slowdown.mean,
        "number",
        "bounded_slowdown",
    ),
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
    return section("policies", "Policies side by side", _legend(told), *tables)


def _heading(point: Point) -> str:
    return f"{point.name[:1].upper()}{point.name[1:]}: {point.share(1)}"


def _legend(told: Told) -> Markup:
    bound = told.main.baseline.inputs.slowdown_bound
    meanings = (
        ("Response time:", "wait and run time of a job together."),
        (
            "Bounded slowdown:",
            f"response time over run time, where runs below {bound:g} s count as {bound:g} s: 1 "
            "for a job that does not wait, 2 for one that waits as long as it runs.",
        ),
        (
            "Weighted mean response time:",
            "the needs count by the work that they bring, so that it tells what large jobs feel.",
        ),
        (
            "Servers in use:",
            "in the time that is measured, which leaves out the beginning and the end of the log, "
            "so that it is not quite the load; it hardly depends on the policy.",
        ),
        (
            "Falls behind:",
            "more than a twentieth of all work still waits when the last job is submitted, or more "
            "is submitted than the machine can do.",
        ),
        (
            "Behind for long:",
            "for more than a quarter of the log, or two months, on end, at least as much work "
            f"waits as the whole machine does in {amount(told.main.baseline.much)}.",
        ),
        ("Keeps up:", "neither of the two."),
        ("± ?", "the log is too short to tell how far the value might be off."),
    )
    marks = (
        tag("b", "★", class_="best"),
        " marks the best of a column, and ",
        tag("b", "≈", class_="tied"),
        " what this log cannot tell apart from it. All waits and response times are in "
        f"{told.unit.word}; after ± stands how far a value might be off.",
    )
    items = (tag("li", tag("b", head), " ", text) for head, text in meanings)
    folds = folded("What the columns and words mean", tag("ul", *items), opened=False)
    return joined([tag("p", *marks), folds])


def _table(point: Point, told: Told) -> Markup:
    rows = point.all()
    cells: list[list[object]] = [[each.policy_label] for each in rows]
    heads = ["policy"]
    for column in COLUMNS:
        values = [column.get(each) for each in rows]
        marks = _marks(column, rows, values, point)
        head = column.name
        if column.kind in ("time", "longest"):
            head = f"{column.name} [{told.unit.name}]"
        heads.append(head)
        for row, value, mark in zip(cells, values, marks, strict=True):
            row.append(_cell(_told(column, value, told), mark))
    for row, each in zip(cells, rows, strict=True):
        behind = each.verdict in ("falls behind", "behind for long")
        verdict = "" if each is point.logged else each.verdict
        row.append(tag("td", verdict, class_="behind" if behind and verdict else "word"))
    caption = f"Policies at {point.name}; baseline: {point.baseline.policy_label}"
    return table(caption, [*heads, "verdict"], cells)


def _told(column: _Column, value: Estimate, told: Told) -> str:
    if column.kind == "share":
        return percent(value)
    if column.kind == "longest":
        return told.unit.plain(value.value)
    return str(told.unit.of(value) if column.kind == "time" else value)


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
