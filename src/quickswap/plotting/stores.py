"""The usual figures of a store: a metric against the load, or against a parameter of policies."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap.experiments.chart import Chart, ChartLine, ChartPanel, chart_of, has_values
from quickswap.files import write_with
from quickswap.plotting.marks import (
    draw_legend,
    draw_marks,
    explain_marks,
    log_scale,
    look_of,
    mark_unstable,
    plain_ticks,
)
from quickswap.plotting.style import check_format, letters_told, own_settings, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from quickswap.experiments.store import Store

__all__ = ["draw_chart", "plot_store"]

WIDTH, HEIGHT = 7.0, 2.6
"""Inches: the width of a text column of a page, and the height of a row of panels."""
ROW = 0.17
"""Inches: the height of a row of the legend."""
LETTERS, HANDLE = 120, 9
"""Characters of a legend that fit the width of a page, and the width of what is beside a label."""
TICKS = 8
"""Values on a logarithmic axis that have a tick each."""
NEAR = 0.7
"""Share of the limit that the points must reach for it to be shown."""


def plot_store(
    stores: Store | str | Path | Iterable[Store | str | Path],
    paths: Iterable[str | Path] | str | Path = (),
    *,
    metrics: str | Iterable[str] | None = None,
    x: str | None = None,
    per_class: bool = False,
    model: Any = None,
    policies: Any = None,
    loads: Iterable[float] | None = None,
    title: str | None = None,
    linear: bool = False,
) -> Figure:
    """Draw what one or several stores hold: a line for each policy, with 95 % intervals.

    Seeds at one place are put together. A mark without a bar is of a run too short to tell how wide
    the interval is. Marks are hollow where a run was too short to judge, and
    ringed where the budget ended before the precision was reached; a cross at the upper edge is an
    unstable point. The dotted vertical line is the capacity: no policy is stable from there on.
    Policies without the parameter that is drawn against are level lines with a band.

    Args:
        stores: a store, its file, or several that are read as one; files are left as they are.
        paths: files to write, each in the format of its ending (svg, pdf, png).
        metrics: one or several, a panel each: weighted, mean, std, p50, p90, p99, p999 (of the
            response time), wait, slowdown, bounded-slowdown, jain, utilisation, wasted, in-system,
            waiting, throughput, or a quantity as `Result.quantities` names it. By default weighted
            and mean; with `per_class`, mean.
        x: "load", "rate" (of arrivals), a parameter of policies such as "threshold", or a setting
            that is a number. By default the load if there are several, else the parameter that has
            most values.
        per_class: a panel for each class; if there are more than six, for the lightest and the
            heaviest.
        model: the one to draw if there are several: a System, a preset or model file, or the name
            that the error lists.
        policies: those to draw, in this order; a name alone is all policies of it if the plain one
            is not there. By default all, in the order of the paper's figures.
        loads: those to draw; by default all.
        title: above the figure.
        linear: times on a linear axis instead of a logarithmic one.

    Raises:
        QuickswapError: a file that is no store, an unknown name, several models, nothing to draw,
            more lines than can be told apart, or a file that cannot be written.
    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    for path in files:
        check_format(path)
    chart = chart_of(
        stores,
        metrics=metrics,
        x=x,
        per_class=per_class,
        model=model,
        policies=policies,
        loads=loads,
    )
    return draw_chart(chart, [Path(path) for path in files], title=title, linear=linear)


def draw_chart(
    chart: Chart,
    paths: Sequence[Path] = (),
    *,
    title: str | None = None,
    linear: bool = False,
    tell: Callable[[str], object] = warnings.warn,
) -> Figure:
    """Draw a chart; write it into files, each whole or not at all.

    Args:
        chart: what is drawn.
        paths: of the files.
        title: above it.
        linear: times on a linear axis.
        tell: called with a sentence if the font lacks letters.
    """
    count = len(chart.panels)
    columns = min(count, 3 if count == 3 else 2)
    rows = -(-count // columns)
    share = max(columns, 1.4) / max(columns, 2)
    labels = [line.label for line in chart.lines]
    across = _across(labels, LETTERS * share)
    extra = ROW * -(-len(labels) // across) + (0.25 if title else 0.0)
    with own_settings({"font.size": 8, "axes.titlesize": 8}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH * share, HEIGHT * rows + extra))
        grid = figure.subplots(rows, columns, squeeze=False)
        for number, (axes, panel) in enumerate(zip(grid.flat, chart.panels, strict=False)):
            _panel(axes, chart, number, panel, linear)
        for axes in list(grid.flat)[count:]:
            axes.set_axis_off()
        draw_legend(figure, grid.flat, labels, columns=across, title=title)
        marks = ((mark.verdict, mark.reached) for line in chart.lines for mark in line.marks)
        explain_marks(figure, marks, limit=chart.limit is not None)
        with letters_told(tell):
            for path in paths:
                write_with(path, partial(save, figure))
    return figure


def _across(labels: Sequence[str], letters: float) -> int:
    """Return how many columns of labels a legend has: at most four, as far as they fit."""
    for columns in range(min(4, len(labels)), 1, -1):
        rows = -(-len(labels) // columns)
        parts = [labels[start : start + rows] for start in range(0, len(labels), rows)]
        if sum(max(map(len, part)) + HANDLE for part in parts) <= letters:
            return columns
    return 1


@dataclass(frozen=True, slots=True)
class _Simulated:
    """What is drawn of a mark in one panel."""

    x: float
    value: float
    half_width: float
    verdict: str
    reached: bool


def _panel(axes: Axes, chart: Chart, number: int, panel: ChartPanel, linear: bool) -> None:
    axes.set_title(panel.title)
    if not has_values(chart.lines, number):
        axes.text(0.5, 0.5, "no job of it has completed", ha="center", transform=axes.transAxes)
        return
    for style, line in enumerate(chart.lines):
        if line.level:
            _level(axes, line, number, style)
        else:
            draw_marks(axes, _simulated(line, number), line.label, style)
    if panel.metric.share:
        axes.set_ylim(0.0, 1.05)
    elif not linear:
        log_scale(axes)
    axes.set_ylabel(panel.metric.label)
    axes.set_xlabel(chart.axis.label)
    _scale(axes, chart)
    if chart.limit is not None and _xs(chart)[-1] >= NEAR * chart.limit:
        axes.axvline(chart.limit, color="0.5", linestyle=":", linewidth=1)
    mark_unstable(
        axes,
        (
            (style, [mark.x for mark in line.marks if mark.verdict == "unstable"])
            for style, line in enumerate(chart.lines)
            if not line.level
        ),
    )


def _simulated(line: ChartLine, number: int) -> list[_Simulated]:
    return [
        _Simulated(
            mark.x,
            mark.estimates[number].value
            if math.isfinite(mark.estimates[number].value)
            else math.nan,
            mark.estimates[number].half_width,
            mark.verdict,
            mark.reached,
        )
        for mark in line.marks
    ]


def _level(axes: Axes, line: ChartLine, number: int, style: int) -> None:
    """Draw a policy that has no place on the axis from end to end, its interval as a band."""
    estimate = line.marks[0].estimates[number]
    look = look_of(style)
    axes.axhline(
        estimate.value,
        label=line.label,
        color=look["color"],
        linestyle=look["linestyle"],
        linewidth=1.0,
    )
    if math.isfinite(estimate.half_width):
        axes.axhspan(estimate.low, estimate.high, color=look["color"], alpha=0.12, linewidth=0)


def _scale(axes: Axes, chart: Chart) -> None:
    """Make the horizontal axis logarithmic if it is wide, which 0 has a place on; choose ticks."""
    from matplotlib.ticker import NullLocator

    values = _xs(chart)
    if len(values) == 1:
        axes.set_xticks(values, [f"{values[0]:g}"])
    if not chart.axis.log:
        return
    if values[0] > 0:
        axes.set_xscale("log")
    else:
        least = min(value for value in values if value > 0)
        axes.set_xscale("symlog", linthresh=least, linscale=0.5)
        axes.set_xlim(-0.4 * least, 1.3 * values[-1])
    plain_ticks(axes.xaxis)
    if len(values) <= TICKS:
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.xaxis.set_minor_locator(NullLocator())


def _xs(chart: Chart) -> list[float]:
    """Return where there are marks, ascending."""
    found = {mark.x for line in chart.lines for mark in line.marks if not math.isnan(mark.x)}
    return sorted(found)
