"""Charts of waits, queue, load and jobs, as SVG in the style of `quickswap.plotting`.

The template draws the figures of the changes by group from the positions that `forest` returns: a
report contains dozens of them, for which a plotting library requires seconds.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from quickswap.logs.times import DAY, HOUR, MINUTE
from quickswap.plotting.drawing import draw_legend
from quickswap.plotting.style import COLOURS, look_of, own_settings
from quickswap.replays import ReplayResult
from quickswap.replays.measurement import area, waiting_work
from quickswap.replays.schedule import Floats, Ints
from quickswap.report.data import Level, ReportData
from quickswap.report.groups import GroupChange
from quickswap.report.text import MINUS, Clock, Unit
from quickswap.statistics.bootstrap import UNITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Forest",
    "Mark",
    "forest",
    "load",
    "logged_waits",
    "needs",
    "queue",
    "run_times",
    "waits",
]

NARROW, WIDE = 4.6, 5.2
"""Inches; narrow enough that text is readable on the screen of a telephone."""
POINTS = 400
"""Points of a curve: more than a screen resolves."""
BINS = 24
"""Smallest number of periods in the curve of the load; otherwise shorter periods are used."""
TICKS = {
    1.0: "1 s",
    MINUTE: "1 min",
    HOUR: "1 h",
    DAY: "1 d",
    10 * DAY: "10 d",
    100 * DAY: "100 d",
}
RUN_TIMES = (0.0, MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, DAY, 7 * DAY, np.inf)
RUN_TIME_NAMES = ("< 1 min", "1-10 min", "10-60 min", "1-4 h", "4-24 h", "1-7 days", "> 7 days")
_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "svg.fonttype": "none",
    "axes.unicode_minus": True,
}
_METADATA = re.compile(r"<metadata>.*?</metadata>|<style type=\"text/css\">.*?</style>", re.DOTALL)


class _Canvas:
    """A figure to be drawn in; its SVG is there once the block of `_canvas` is left."""

    def __init__(self, figure: Figure) -> None:
        self.figure, self.axes = figure, figure.subplots()
        self.labels: list[str] = []
        self.svg = Markup("")


@contextmanager
def _canvas(name: str, width: float, height: float) -> Iterator[_Canvas]:
    """Give a figure, in inches, and turn it into SVG with identifiers of its own by its name."""
    with own_settings(_STYLE | {"svg.hashsalt": name}):
        from matplotlib.figure import Figure

        canvas = _Canvas(Figure(figsize=(width, height)))
        yield canvas
        columns = min(2, len(canvas.labels))
        if columns:
            panels = [canvas.axes]
            draw_legend(canvas.figure, panels, canvas.labels, columns, place="outside upper left")
        text = io.StringIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # the reader's fonts have it
            canvas.figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = _METADATA.sub("", text.getvalue()[text.getvalue().index("<svg") :])
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    canvas.svg = Markup(re.sub(r"\n\s*", "\n", svg).strip())


def _line(canvas: _Canvas, x: Floats, y: Floats, label: str, style: int, **look: Any) -> None:
    canvas.axes.plot(x, y, label=label, **(look_of(style) | {"marker": ""} | look))
    canvas.labels.append(label)


def waits(data: ReportData, level: Level) -> Markup:
    """Draw the share of the jobs that wait longer than a time, from one second on, on log axes."""
    with _canvas(f"waits-{level.factor:g}", NARROW, 3.4) as canvas:
        axes, longest, least = canvas.axes, MINUTE, 0.1
        for each in level.rows:
            at = above = np.empty(0)
            if each.jobs:
                times = np.sort(each.schedule.wait[each.measured])
                at = np.geomspace(1.0, max(float(times[-1]), 2.0), POINTS)
                above = 1 - np.searchsorted(times, at, side="right") / len(times)
                at, above = at[above > 0], above[above > 0]
            if len(at):
                longest, least = max(longest, float(at[-1])), min(least, float(above[-1]))
            style = data.styles[each.policy_label]
            _line(canvas, at, above, each.policy_label, style, drawstyle="steps-post")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(10 ** math.floor(math.log10(least)), 1.1)
        axes.set_xlim(1.0, longest * 1.3)
        ticks = {time: name for time, name in TICKS.items() if time <= longest * 1.3}
        axes.set_xticks(list(ticks), list(ticks.values()))
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        axes.minorticks_off()
        axes.set_xlabel("wait")
        axes.set_ylabel("share of jobs that wait longer")
    return canvas.svg


def queue(data: ReportData, level: Level) -> Markup | None:
    """Draw the work that waits over time; None if all policies are preemptive."""
    if all(each.schedule.preemptive for each in level.policies):
        return None
    with _canvas(f"queue-{level.factor:g}", WIDE, 2.9) as canvas:
        for each in level.rows:
            schedule = each.schedule
            if schedule.preemptive or not len(schedule):
                continue
            middles, waiting = waiting_work(schedule, POINTS)
            times = _times(middles * level.factor, data.clock)
            style = data.styles[each.policy_label]
            _line(canvas, times, waiting / HOUR, each.policy_label, style, linewidth=1.1)
        _time_axis(canvas.axes, data.clock)
        canvas.axes.set_ylabel("waiting work\n[hours of the machine]")
    return canvas.svg


def logged_waits(data: ReportData) -> tuple[Markup, str]:
    """Draw the mean wait by piece of the log, its part with enough free servers, and the wait in
    the replay; return the name of a piece as well.
    """
    waits, factor = data.main.waits, data.main.factor
    assert waits is not None
    pieces = waits.logged.table.pieces
    jobs, waiting, idle, replayed = waits.by_piece.T / data.unit.seconds
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [each / (jobs * data.unit.seconds) for each in (waiting, idle, replayed)]
    at = _times(pieces.edges * factor, data.clock)
    names = ("in the log", "of it with enough free servers", waits.replay.policy_label)
    styles = [data.styles[waits.logged.policy_label], len(data.styles), data.styles[names[-1]]]
    with _canvas("logged-waits", WIDE, 2.9) as canvas:
        for label, style, mean in zip(names, styles, means, strict=True):
            steps = np.append(mean, mean[-1:])
            _line(canvas, at, steps, label, style, drawstyle="steps-post", linewidth=1.1)
        _time_axis(canvas.axes, data.clock)
        canvas.axes.set_ylabel(f"mean wait [{data.unit.name}]")
    return canvas.svg, "period" if pieces.unit == "whole" else pieces.unit


def load(data: ReportData) -> tuple[Markup, str]:
    """Draw the submitted load and the servers in use by periods; return the period as well."""
    level, factor = data.main, data.main.factor
    schedule = level.baseline.schedule
    span = max(float(schedule.arrival[-1]), 1.0)
    whole = span * factor
    fitting = (each for each in UNITS.items() if whole / each[1] >= BINS)
    period, length = next(fitting, ("period", whole / BINS))
    if whole / length > POINTS:
        period, length = "period", whole / POINTS
    starts = np.arange(max(1, round(whole / length))) * (length / factor)
    edges: Floats = np.append(starts, span)  # the last period is shorter, or longer
    capacity = schedule.servers * np.diff(edges)
    submitted = np.histogram(schedule.arrival, edges, weights=schedule.need * schedule.size)[0]
    curves = [("submitted", len(data.styles), submitted)]
    # the baseline and the best policy: more lines would hide each other
    best = [each for each in level.ranked[:1] if each is not level.baseline]
    for each in (level.baseline, *best):
        own = each.schedule
        if not own.preemptive:
            need, start, end = own.runs
            used = area(start, end, edges, need.astype(float))[:, 0]
            style = data.styles[each.policy_label]
            curves.append((f"in use, {each.policy_label}", style, used))
    with _canvas("load", WIDE, 2.9) as canvas:
        for label, style, work in curves:
            share = 100 * np.append(work, work[-1:]) / np.append(capacity, capacity[-1:])
            look = {"drawstyle": "steps-post", "linewidth": 1.1}
            _line(canvas, _times(edges * factor, data.clock), share, label, style, **look)
        _time_axis(canvas.axes, data.clock)
        canvas.axes.set_ylabel("share of the machine [%]")
    return canvas.svg, period


def _times(x: Floats, clock: Clock) -> Floats:
    """Return matplotlib's dates, which are days since 1970, or days since the first job."""
    return (x + (clock.origin or 0.0)) / DAY


def _time_axis(axes: Axes, clock: Clock) -> None:
    axes.set_ylim(bottom=0)
    if clock.origin is None:
        axes.set_xlabel("days since the first job")
        return
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator(tz=clock.zone, minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator, tz=clock.zone))


def needs(result: ReplayResult) -> Markup:
    """Draw the shares of the jobs and of the work by server need."""
    classes = result.classes
    group = np.searchsorted([each.need for each in classes], result.schedule.need)
    return _bars(result, [each.name for each in classes], group, "servers needed")


def run_times(result: ReplayResult) -> Markup:
    """Draw the shares of the jobs and of the work by run time."""
    group = np.searchsorted(RUN_TIMES, result.schedule.size, side="right") - 1
    return _bars(result, RUN_TIME_NAMES, group, "run time")


def _bars(result: ReplayResult, names: Sequence[str], group: Ints, title: str) -> Markup:
    jobs = np.bincount(group, minlength=len(names))
    work = np.bincount(group, result.schedule.need * result.schedule.size, len(names))
    first, last = np.flatnonzero(jobs)[[0, -1]]
    kept = slice(int(first), int(last) + 1)
    with _canvas(title, NARROW, 1.3 + 0.36 * len(names[kept])) as canvas:
        axes, y = canvas.axes, np.arange(len(names[kept]))
        for values, offset, label, colour in (
            (jobs, -0.2, "jobs", COLOURS[5]),
            (work, 0.2, "work (servers times time)", COLOURS[0]),
        ):
            share = 100 * values[kept] / max(float(values.sum()), 1e-300)
            axes.barh(y + offset, share, 0.36, label=label, color=colour)
            canvas.labels.append(label)
        axes.set_axisbelow(True)
        axes.set_yticks(y, list(names[kept]))
        axes.set_ylim(len(y) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("%")
        axes.set_ylabel(title)
    return canvas.svg


WIDTH, ROW, TOP, BOTTOM, RIGHT = 440.0, 22.0, 26.0, 44.0, 12.0
"""Pixels, such that text is as large as in the rest of the page."""
LETTER = 6.6
"""Largest width of a letter, in pixels."""
MOST_LETTERS = 18
MOST_TICKS = 7


@dataclass(frozen=True)
class Mark:
    """One group: its name, whether it gains, loses or neither, and the ends of its interval."""

    name: str
    kind: str
    y: float
    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Forest:
    """The picture: its width, top, left and right edge of the axis, bottom, height, 0, contents."""

    width: float
    top: float
    left: float
    right: float
    bottom: float
    height: float
    zero: float
    ticks: tuple[tuple[float, str], ...]
    marks: tuple[Mark, ...]


def forest(rows: Sequence[GroupChange], unit: Unit) -> Forest:
    """Return the figure of the changes of some groups; at least one must have a change."""
    spans = []
    for row in rows:
        if row.change is not None and math.isfinite(row.change.value):
            change = unit.convert(row.change)
            half = 0.0 if math.isnan(change.half_width) else change.half_width
            name = row.name if len(row.name) <= MOST_LETTERS else f"{row.name[:17]}…"
            spans.append((name, row.kind, change.value - half, change.value, change.value + half))
    low, high = min(0.0, *(span[2] for span in spans)), max(0.0, *(span[4] for span in spans))
    left = 14 + LETTER * max(len(span[0]) for span in spans)
    bottom = TOP + ROW * len(spans)

    def at(value: float) -> float:
        part = (value - low) / (high - low or 1.0)
        return round(left + 8 + part * (WIDTH - RIGHT - left - 16), 1)

    return Forest(
        WIDTH,
        TOP,
        round(left, 1),
        WIDTH - RIGHT,
        bottom,
        bottom + BOTTOM,
        at(0.0),
        tuple(
            (at(each), f"{each:,.6g}".replace("-", MINUS) if each else "0")
            for each in ticks(low, high)
        ),
        tuple(
            Mark(name, kind, TOP + ROW * (i + 0.5), *map(at, ends))
            for i, (name, kind, *ends) in enumerate(spans)
        ),
    )


def ticks(low: float, high: float) -> list[float]:
    """Return a few round numbers of a range that contains 0."""
    rough = (high - low) / (MOST_TICKS - 1) or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * i for i in range(first, last + 1)]
