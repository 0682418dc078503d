"""The figures of experiments: fit for print, in grey as well."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from quickswap.plotting.style import own_settings, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from quickswap.reproduction.experiment import Experiment, Panel, Series
    from quickswap.reproduction.table import Rows

__all__ = ["plot_experiment"]

WIDTH, HEIGHT = 7.0, 2.6
"""Inches: the width of a text column of a page, and the height of a row of panels."""
CURVES: dict[str, Any] = {
    "exact": {"color": "black", "linewidth": 0.8, "linestyle": "-"},
    "printed": {"color": "0.35", "linewidth": 1.2, "linestyle": (0, (5, 2))},
    "corrected": {"color": "0.35", "linewidth": 1.2, "linestyle": (0, (1, 1.2))},
    "approximation": {"color": "0.35", "linewidth": 1.2, "linestyle": (0, (1, 1.2))},
}
"""Lines of what is computed beside simulations."""


def plot_experiment(rows: Rows, paths: Sequence[Path]) -> None:
    """Draw the panels of an experiment.

    Marks are simulations with their 95 % intervals (none where it is not known), hollow where the
    run was too short to judge, ringed where the budget ended before the precision was reached; a
    cross at the upper edge is an unstable point. Lines without marks are computed. The
    dotted vertical line is the capacity: no policy is stable from there on.

    Args:
        rows: what is drawn.
        paths: files, each in the format of its ending; each is written whole or not at all.
    """
    experiment = rows.experiment
    count = len(experiment.panels)
    columns = min(count, 3 if count == 3 else 2)
    lines = -(-count // columns)
    with own_settings({"font.size": 8, "axes.titlesize": 8}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH * max(columns, 1.4) / max(columns, 2), HEIGHT * lines + 0.5))
        grid = figure.subplots(lines, columns, squeeze=False)
        for axes, panel in zip(grid.flat, experiment.panels, strict=False):
            if panel.quantity == "trajectory":
                _trajectories(axes, rows, panel)
            else:
                _panel(axes, rows, panel)
        for axes in list(grid.flat)[count:]:
            axes.set_axis_off()
        _legend(figure, grid.flat[0], rows)
        for path in paths:
            write_with(path, partial(save, figure))


def _panel(axes: Axes, rows: Rows, panel: Panel) -> None:
    from quickswap.reproduction.experiment import AXES

    experiment = rows.experiment
    for style, series in _styled(experiment):
        curve = rows.curve(series, panel)
        if series.method == "simulated":
            draw_marks(axes, curve, series.label, style)
            continue
        x, y = [row.x for row in curve], [row.value for row in curve]
        look = CURVES.get(series.method, look_of(style) | {"marker": ""})
        axes.plot(x, y, label=series.label, **look)
    if panel.log:
        log_scale(axes)
    if panel.quantity == "jain_index":
        axes.set_ylim(0.0, 1.05)
    axes.set_title(panel.title)
    axes.set_ylabel(panel.label)
    axis = AXES[experiment.axis]
    axes.set_xlabel(axis.label)
    if axis.log:
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    if experiment.axis == "factor":
        axes.set_xticks(experiment.values, [f"{x:g}" for x in experiment.values])
        axes.xaxis.minorticks_off()
    if experiment.axis == "scv":
        axes.set_xscale("symlog", linthresh=0.25, linscale=0.5)
        axes.set_xticks(experiment.values, [f"{x:g}" for x in experiment.values])
        axes.xaxis.minorticks_off()
        axes.set_xlim(left=-0.05)
    if (limit := _limit(experiment)) is not None:
        axes.axvline(limit, color="0.5", linestyle=":", linewidth=1)
    _mark_unstable(axes, rows)


def _limit(experiment: Experiment) -> float | None:
    """Return where on the axis no policy is stable any more."""
    drawn = any(panel.quantity != "trajectory" for panel in experiment.panels)
    if experiment.axis == "rate" and drawn:
        return experiment.system.capacity
    return 1.0 if experiment.axis == "load" else None


def _mark_unstable(axes: Axes, rows: Rows) -> None:
    experiment = rows.experiment
    crosses = []
    for style, series in _styled(experiment):
        found = [row for panel in experiment.panels for row in rows.curve(series, panel)]
        crosses.append((style, sorted({row.x for row in found if row.verdict == "unstable"})))
    mark_unstable(axes, crosses)


def _trajectories(axes: Axes, rows: Rows, panel: Panel) -> None:
    experiment = rows.experiment
    for style, series in _styled(experiment):
        result = rows.result(series.label, experiment.values[0])
        if result is None or result.trajectory is None:
            continue
        place = result.system.names.index(panel.cls)
        counts = [point[place] for point in result.trajectory.counts]
        axes.plot(
            result.trajectory.times,
            counts,
            label=series.label,
            color=look_of(style)["color"],
            linewidth=1.3 if style == 0 else 0.9,
        )
    axes.set_title(panel.title)
    axes.set_xlabel("time [s]")
    axes.set_ylabel(panel.label)


def _styled(experiment: Experiment) -> list[tuple[int, Series]]:
    """Return the series, each with the number of its look: those with marks one each."""
    styles: dict[str, int] = {}
    for series in experiment.series:
        if series.method not in CURVES:
            styles.setdefault(series.label, len(styles))
    return [(styles.get(series.label, 0), series) for series in experiment.series]


def _legend(figure: Figure, axes: Axes, rows: Rows) -> None:
    """Put one entry a label above the panels, in the order of the series; explain marks below."""
    labels = list(dict.fromkeys(series.label for series in rows.experiment.series))
    draw_legend(figure, [axes], labels, columns=min(4, len(labels)))
    limit = _limit(rows.experiment) is not None
    explain_marks(figure, ((row.verdict, row.reached) for row in rows), limit=limit)
