"""How a replay went: waits, queue and load over time, and what the jobs are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quickswap._words import counted
from quickswap.replays import ReplayResult
from quickswap.replays.measuring import area
from quickswap.report import charts
from quickswap.report.charts import Line
from quickswap.report.markup import Markup, figure, section, tag
from quickswap.report.model import Point, Told
from quickswap.report.words import duration, listed

__all__ = ["mix_section", "queue_section", "waits_section"]

Floats = NDArray[np.float64]

SHOWN = 400
"""Points of a curve: more than a screen tells apart."""
SIZES = (0.0, 60.0, 600.0, 3600.0, 4 * 3600.0, 86400.0, 7 * 86400.0, np.inf)
SIZE_NAMES = ("< 1 min", "1-10 min", "10-60 min", "1-4 h", "4-24 h", "1-7 days", "> 7 days")
DAY, WEEK = 86400.0, 7 * 86400.0
BINS = 24
"""Pieces of time that a curve of the load has at least, before it takes smaller ones."""


def waits_section(told: Told) -> Markup:
    """Return the distributions of the waits at each load."""
    drawings = [
        figure(
            charts.tails(
                [_tail(each, told) for each in point.all()],
                f"tails-{point.factor:g}",
                f"Share of jobs that wait longer than a time, at {point.name}",
            ),
            f"At {point.name}",
        )
        for point in told.points
    ]
    text = (
        "How many jobs wait longer than a given time: a curve further down or to the left is "
        "better. Where it begins at the left edge is the share of jobs that wait at all."
    )
    return section(
        "waits", "How long jobs wait", tag("p", text), tag("div", *drawings, class_="figures")
    )


def _tail(result: ReplayResult, told: Told) -> Line:
    """Return the complementary distribution of the waits, from one second on."""
    style = told.styles[result.policy_label]
    if result.table is None or not result.jobs:
        return result.policy_label, style, np.empty(0), np.empty(0)
    inside = result.table.pieces.inside(result.schedule.arrival)
    waits = np.sort(result.schedule.wait[inside])
    at = np.geomspace(1.0, max(float(waits[-1]), 2.0), SHOWN)
    above = 1 - np.searchsorted(waits, at, side="right") / len(waits)
    seen = above > 0
    return result.policy_label, style, at[seen], above[seen]


def queue_section(told: Told) -> Markup:
    """Return queue and load over time."""
    drawings = [
        figure(_queue(point, told), f"Work that waits, at {point.name}", wide=True)
        for point in told.points
        if any(not each.schedule.preemptive for each in point.results)
    ]
    drawing, unit = _load(told)
    caption = f"Load of the machine, {unit} by {unit}, at {told.main.name}"
    drawings.append(figure(drawing, caption, wide=True))
    return section(
        "queue",
        "Queue and load over time",
        tag("p", _queue_words(told)),
        tag("div", *drawings, class_="figures wide"),
    )


def _queue_words(told: Told) -> str:
    text = (
        "Work that waits is told in hours that the whole machine would need for it. Each point is "
        "a mean over a stretch of time; policies that keep up come back to little again and again."
    )
    unknown = {
        each.policy_label for p in told.points for each in p.results if each.schedule.preemptive
    }
    if unknown:
        text += (
            f" {listed(sorted(unknown))} may stop jobs and resume them, so that it is not known "
            "from the schedule which work waits at a moment; its curve is left out."
        )
    if any(point.factor != 1 for point in told.points):
        text += (
            " At a higher load the log is played faster; times are stretched back here, so that "
            "the same jobs stand above each other."
        )
    return text


def _queue(point: Point, told: Told) -> Markup:
    """Draw the work that waits under each policy."""
    curves = []
    for each in point.all():
        schedule = each.schedule
        if schedule.preemptive or not len(schedule):
            continue
        # until the last start: a backlog is worked off after the last submission
        edges = np.linspace(0.0, max(float(schedule.start.max()), 1.0), SHOWN + 1)
        work = schedule.need * schedule.size
        waits = area(schedule.arrival, schedule.start, work, edges) / np.diff(edges)
        hours = np.maximum(waits, 0) / (3600 * schedule.servers)
        middle = (edges[1:] + edges[:-1]) / 2 * point.factor
        curves.append((each.policy_label, told.styles[each.policy_label], middle, hours))
    words = f"Work waiting over time under each policy, at {point.name}"
    label = "work waiting\n[hours of the machine]"
    return charts.lines(curves, f"queue-{point.factor:g}", words, label, told.clock)


def _load(told: Told) -> tuple[Markup, str]:
    """Draw offered load, and servers in use, by pieces of time."""
    base, factor = told.main.baseline, told.main.factor
    schedule = base.schedule
    span = max(float(schedule.arrival[-1]), 1.0)
    unit, length = next(
        (
            (name, size)
            for name, size in (("week", WEEK), ("day", DAY), ("hour", 3600.0))
            if span * factor / size >= BINS
        ),
        ("piece", span * factor / BINS),
    )
    if span * factor / length > SHOWN:
        unit, length = "stretch", span * factor / SHOWN
    count = max(1, round(span * factor / length))
    edges = np.append(np.arange(count) * (length / factor), span)  # the last one is cut, or long
    capacity = schedule.servers * np.diff(edges)
    work = schedule.need * schedule.size
    offered = np.histogram(schedule.arrival, edges, weights=work)[0] / capacity
    curves = [_stepped("submitted", len(told.styles), edges * factor, 100 * offered)]
    curves += [
        _stepped(
            f"in use, {each.policy_label}",
            told.styles[each.policy_label],
            edges * factor,
            100 * area(*_running(each), edges) / capacity,
        )
        for each in _few(told.main)
    ]
    words = f"Load submitted and servers in use, by {unit}"
    label = "share of the machine [%]"
    return charts.lines(curves, "load", words, label, told.clock, steps=True), unit


def _running(result: ReplayResult) -> tuple[Floats, Floats, Floats]:
    schedule = result.schedule
    return schedule.start, schedule.end, schedule.need.astype(float)


def _few(point: Point) -> Sequence[ReplayResult]:
    """Return the baseline, and the best policy: more lines would hide each other."""
    best = [each for each in point.ranked[:1] if each is not point.baseline]
    return [each for each in (point.baseline, *best) if not each.schedule.preemptive]


def _stepped(label: str, style: int, edges: Floats, values: Floats) -> Line:
    return label, style, edges, np.append(values, values[-1:])


def mix_section(told: Told) -> Markup:
    """Return which needs and sizes the jobs have."""
    base = told.main.baseline
    need, size = base.schedule.need, base.schedule.size
    work = need * size
    largest = [each.need for each in base.classes]
    by_need = np.searchsorted(largest, need, side="left")
    by_size = np.searchsorted(SIZES, size, side="right") - 1
    drawings = []
    for key, names, at, title in (
        ("needs", [each.name for each in base.classes], by_need, "servers needed"),
        ("sizes", list(SIZE_NAMES), by_size, "run time"),
    ):
        jobs_of = np.bincount(at, minlength=len(names))
        work_of = np.bincount(at, work, len(names))
        first, last = np.flatnonzero(jobs_of)[[0, -1]]
        kept = slice(int(first), int(last) + 1)
        drawing = charts.bars(
            names[kept],
            jobs_of[kept] / len(need),
            work_of[kept] / max(float(work.sum()), 1e-300),
            title,
            f"mix-{key}",
        )
        drawings.append(figure(drawing, f"Jobs and work by {title}"))
    middle, longest = float(np.median(size)), float(size.max())
    text = (
        f"Half of the jobs run for less than {duration(middle)}, the longest for "
        f"{duration(longest)}; the largest need is {int(need.max())} of "
        f"{counted(base.schedule.servers, 'server', ',')}."
    )
    return section(
        "mix", "What the jobs are", tag("p", text), tag("div", *drawings, class_="figures")
    )
