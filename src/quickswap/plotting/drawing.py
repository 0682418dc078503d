"""Figures of charts, for print in colour or grey."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from quickswap.files import write_with
from quickswap.plotting.chart import Axis, Chart, Line, Look
from quickswap.plotting.style import (
    check_format,
    look_of,
    own_settings,
    report_missing_letters,
    save,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "draw_legend", "draw_on"]

WIDTH, HEIGHT = 7.0, 2.6
"""Inches: the width of a text column of a page, and the height of a row of panels."""
ROW = 0.17
"""Inches: the height of a row of the legend."""
LETTERS, HANDLE = 120, 9
"""Characters of a legend that fit the width of a page, and the width of a legend handle."""
NEAR = 0.7
"""Share of the limit that the points must reach for the limit to be drawn."""
GAP = 0.06
"""Least distance of two labelled values, as a share of the axis."""
EVEN = 0.5
"""Powers of ten below which a logarithmic axis has ticks at equal distances."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN = 6
"""Digits up to which a power of ten is written out."""
UNCOLOURED: dict[Look, dict[str, Any]] = {
    "exact": {"color": "black", "linewidth": 0.8, "linestyle": "-"},
    "dashed": {"color": "0.35", "linewidth": 1.2, "linestyle": (0, (5, 2))},
    "dotted": {"color": "0.35", "linewidth": 1.2, "linestyle": (0, (1, 1.2))},
}


def draw(chart: Chart, paths: Sequence[str | Path] = ()) -> Figure:
    """Draw a chart; write it into files, each whole or not at all.

    Marks are simulations with their 95 % intervals; a mark without a bar has an unknown interval. A
    hollow mark is a run that is too short, a ringed one did not reach its precision, and a cross at
    the upper edge is an unstable point. The dotted vertical line is the capacity.

    Args:
        chart: what is drawn.
        paths: files, each in the format of its extension: svg, pdf or png.

    Raises:
        QuickswapError: the extension is unknown, a file cannot be written, or the plotting library
            fails.
    """
    for path in paths:
        check_format(path)
    count = len(chart.panels)
    columns = min(count, 3 if count == 3 else 2)
    rows = -(-count // columns)
    share = max(columns, 1.4) / max(columns, 2)
    labels = list(dict.fromkeys(line.label for line in chart.lines))
    across = _across(labels, LETTERS * share)
    extra = ROW * -(-len(labels) // across) + (0.25 if chart.title else 0.0)
    with own_settings({"font.size": 8, "axes.titlesize": 8}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH * share, HEIGHT * rows + extra))
        grid = list(figure.subplots(rows, columns, squeeze=False).flat)
        for number, axes in enumerate(grid):
            if number < count:
                _draw_panel(axes, chart, number)
            else:
                axes.set_axis_off()
        draw_legend(figure, grid, labels, across, chart.title or None)
        if words := "; ".join(_explanations(chart)):
            figure.supxlabel(words, fontsize=7)
        with report_missing_letters():
            for path in paths:
                write_with(path, partial(save, figure))
    return figure


def draw_on(chart: Chart, ax: Axes | None = None) -> Axes:
    """Draw the only panel of a chart on axes, by default those of a new figure, and return them.

    Raises:
        QuickswapError: the plotting library fails.
    """
    with own_settings({}):
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots()[1]
        _draw_panel(ax, chart, 0)
        labels = list(dict.fromkeys(line.label for line in chart.lines))
        if explanations := list(_explanations(chart)):
            ax.set_title("; ".join(explanations), fontsize=7)
        _add_legend(ax, [ax], labels)
    return ax


def draw_legend(
    figure: Figure,
    panels: Iterable[Axes],
    labels: Sequence[str],
    columns: int,
    title: str | None = None,
    place: Literal["outside upper center", "outside upper left"] = "outside upper center",
) -> None:
    """Draw a legend above the panels, with one entry for each label."""
    _add_legend(figure, panels, labels, loc=place, ncols=columns, title=title, title_fontsize=9)


def _add_legend(
    owner: Figure | Axes, panels: Iterable[Axes], labels: Sequence[str], **how: Any
) -> None:
    """Add a legend to a figure or to axes.

    Matplotlib drops labels with a leading underscore, which the name of a policy may have;
    therefore the texts are set afterwards.
    """
    artists: dict[str, Any] = {}
    for axes in panels:
        drawn: list[Any] = [*axes.lines, *axes.containers]
        artists |= {str(each.get_label()): each for each in drawn}
    known = [label for label in labels if label in artists]
    legend = owner.legend(
        [artists[label] for label in known], ["x" * len(label) for label in known], **how
    )
    for text, label in zip(legend.get_texts(), known, strict=True):
        text.set_text(label)


def _across(labels: Sequence[str], letters: float) -> int:
    """Return the number of columns of a legend: at most four, as far as they fit."""
    for columns in range(min(4, len(labels)), 1, -1):
        rows = -(-len(labels) // columns)
        parts = [labels[start : start + rows] for start in range(0, len(labels), rows)]
        if sum(max(map(len, part)) + HANDLE for part in parts) <= letters:
            return columns
    return 1


def _explanations(chart: Chart) -> Iterator[str]:
    """Yield the meaning of the marks in the chart."""
    marks = {(mark.verdict, mark.reached) for line in chart.lines for mark in line.marks}
    if any(verdict == "too short" for verdict, _ in marks):
        yield "hollow: too short"
    if ("stable", False) in marks:
        yield "ringed: precision not reached"
    if any(verdict == "unstable" for verdict, _ in marks):
        yield "cross: unstable"
    if _limit(chart) is not None:
        yield "dotted: the capacity"


def _limit(chart: Chart) -> float | None:
    """Return the limit if the points are close to it."""
    largest = max(_xs(chart), default=0.0)
    return chart.limit if chart.limit is not None and largest >= NEAR * chart.limit else None


def _xs(chart: Chart) -> list[float]:
    return sorted({mark.x for line in chart.lines for mark in line.marks if mark.x == mark.x})


def _draw_panel(axes: Axes, chart: Chart, number: int) -> None:
    panel = chart.panels[number]
    axes.set_title(panel.title)
    values = chart.values(number)
    if not values:
        axes.text(0.5, 0.5, "no estimates", ha="center", transform=axes.transAxes)
        axes.set_xticks([])
        axes.set_yticks([])
        return
    coloured = [line.label for line in chart.lines if line.look not in UNCOLOURED]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(coloured))}
    unstable = []
    for line in chart.lines:
        look = look_of(numbers.get(line.label, 0))
        if line.level:
            _draw_level(axes, line, number, look)
        elif line.look == "marks":
            _draw_marks(axes, line, number, look)
        else:
            _draw_curve(axes, line, number, look)
        crosses = [mark.x for mark in line.marks if mark.verdict == "unstable"]
        if crosses and not line.level:
            unstable.append((crosses, look["color"]))
    axes.set_ylabel(panel.axis_label)
    if panel.share:
        axes.set_ylim(0.0, 1.05)
    elif panel.log and max(values) > 0:
        _logarithmic(axes)
    _scale_horizontally(axes, chart.axis, _xs(chart))
    if (limit := _limit(chart)) is not None:
        axes.axvline(limit, color="0.5", linestyle=":", linewidth=1)
    for row, (crosses, colour) in enumerate(unstable):  # one policy below the other
        axes.plot(
            crosses,
            [1.0 - 0.04 * row] * len(crosses),
            linestyle="none",
            marker="x",
            color=colour,
            markersize=4,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
        )


def _draw_level(axes: Axes, line: Line, number: int, look: dict[str, Any]) -> None:
    """Draw a policy without a value on the axis as a level line, its interval as a band."""
    estimate = line.marks[0].estimates[number]
    plain = {name: look[name] for name in ("color", "linestyle")}
    axes.axhline(estimate.value, label=line.label, linewidth=1.0, **plain)
    if math.isfinite(estimate.half_width):
        axes.axhspan(estimate.low, estimate.high, color=look["color"], alpha=0.12, linewidth=0)


def _draw_marks(axes: Axes, line: Line, number: int, look: dict[str, Any]) -> None:
    estimates = [mark.estimates[number] for mark in line.marks]
    finite = [math.isfinite(each.value) for each in estimates]
    axes.errorbar(
        [mark.x for mark in line.marks],
        [each.value if known else math.nan for each, known in zip(estimates, finite, strict=True)],
        yerr=[0.0 if math.isnan(each.half_width) else each.half_width for each in estimates],
        label=line.label,
        linewidth=1.0,
        markersize=4,
        capsize=2,
        **look,
    )
    short = [mark for mark in line.marks if mark.verdict == "too short"]
    wide = [mark for mark in line.marks if mark.verdict == "stable" and not mark.reached]
    for marked, size, edge, fill in ((short, 4.0, 1.0, "white"), (wide, 7.0, 0.6, "none")):
        axes.plot(
            [mark.x for mark in marked],
            [mark.estimates[number].value for mark in marked],
            markerfacecolor=fill,
            markersize=size,
            markeredgewidth=edge,
            zorder=5,
            **look | {"linestyle": "none"},
        )


def _draw_curve(axes: Axes, line: Line, number: int, look: dict[str, Any]) -> None:
    if line.look == "path":
        look = {"color": look["color"], "linewidth": 0.9}
    elif line.best is None:
        look = look | {"marker": ""}
    axes.plot(
        [mark.x for mark in line.marks],
        [mark.estimates[number].value for mark in line.marks],
        label=line.label,
        markevery=None if line.best is None else [line.best],
        **UNCOLOURED.get(line.look, look),
    )


def _logarithmic(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with plain numbers, few between powers of ten."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    axes.set_yscale("log", nonpositive="clip")
    low, high = axes.get_ylim()
    decades = math.log10(high / low)
    if decades > 5:
        _label_powers(axes.yaxis)
        return
    steps = ((0.7, "123456789"), (1.3, "1235"), (3.0, "125"), (5.0, "1"))
    labelled = next(digits for most, digits in steps if decades <= most)

    def text(value: float, _: int | None) -> str:
        return f"{value:,.10g}" if f"{value:.0e}"[0] in labelled or decades < EVEN else ""

    axes.yaxis.set_major_formatter(FuncFormatter(text))
    axes.yaxis.set_minor_formatter(FuncFormatter(text))
    if decades < EVEN:
        axes.yaxis.set_major_locator(MaxNLocator(6))
        axes.yaxis.set_minor_locator(NullLocator())


def _label_powers(axis: Any) -> None:
    """Label the powers of ten of a logarithmic axis as text, 100 or 10⁹, instead of formulas."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def text(value: float, _: int | None) -> str:
        if value <= 0:
            return f"{value:g}"
        power = round(math.log10(value))
        if not math.isclose(value, 10.0**power, rel_tol=1e-9):
            return ""
        return f"{value:.10g}" if abs(power) < PLAIN else f"10{str(power).translate(SUPERSCRIPT)}"

    axis.set_major_formatter(FuncFormatter(text))
    axis.set_minor_formatter(NullFormatter())


def _scale_horizontally(axes: Axes, axis: Axis, values: Sequence[float]) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xlabel(axis.label)
    if axis.scale == "log":
        axes.set_xscale("log")
    elif axis.scale == "symlog":
        least = min(value for value in values if value > 0)
        axes.set_xscale("symlog", linthresh=least, linscale=0.5)
        axes.set_xlim(-0.4 * least, 1.3 * values[-1])
    if axis.scale != "linear":
        _label_powers(axes.xaxis)
    ticks: dict[float, float] = {}
    positions = axes.xaxis.get_transform().transform(list(axis.ticks))
    for tick, position in zip(axis.ticks, positions, strict=True):
        if not ticks or position - max(ticks.values()) >= GAP * (positions[-1] - positions[0]):
            ticks[tick] = position
    if ticks:
        axes.set_xticks(list(ticks), [f"{value:g}" for value in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
