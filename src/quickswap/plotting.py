"""Figures. Nothing but this module imports a plotting library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap.errors import QuickswapError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from quickswap.comparison import Comparison

__all__ = ["check_format", "plot_comparison", "plot_thresholds"]

FORMATS = (".svg", ".pdf", ".png")
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "quickswap",
}
# Okabe and Ito's colours, for colour-blind readers; markers and dashes tell lines apart in grey
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def check_format(path: str | Path) -> None:
    """Refuse a file whose ending is no format of figures.

    Raises:
        QuickswapError: with the endings that are.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        given = repr(ending) if ending else "none"
        raise QuickswapError(f"the ending of {path} is {given}; it must be {', '.join(FORMATS)}.")


def plot_comparison(comparison: Comparison, path: str | Path) -> None:
    """Draw weighted and plain mean response time against the load, with intervals, on log axes.

    Points at which a policy is unstable are left out; those of runs too short are hollow.
    """
    import matplotlib
    from matplotlib.figure import Figure

    check_format(path)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.2))
        left, right = figure.subplots(1, 2)
        _panel(left, comparison, "weighted_mean_response_time", "weighted mean response time [s]")
        _panel(right, comparison, "mean_response_time", "mean response time [s]")
        handles, labels = left.get_legend_handles_labels()
        columns = min(4, len(labels))
        figure.legend(handles, labels, loc="outside upper center", ncols=columns)
        if any(each.verdict.status == "too short" for each in comparison.results):
            figure.supxlabel("hollow: the run was too short, the value may be far off", fontsize=7)
        figure.savefig(path, dpi=200, metadata=_no_date(Path(path)))


def plot_thresholds(curves: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Draw the mean response time of MSFQ against its threshold; the best one is filled.

    Args:
        curves: each with the `drain`, the `thresholds` and the `mean` at each of them, seconds.
        path: file, whose ending decides the format.
    """
    import matplotlib
    from matplotlib.figure import Figure

    check_format(path)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 3.0))
        axes = figure.subplots()
        for number, curve in enumerate(curves):
            levels, values = curve["thresholds"], curve["mean"]
            style: Any = {"color": COLOURS[number], "linestyle": DASHES[number]}
            axes.plot(levels, values, label=f"drain {curve['drain']}", **style)
            best = min(range(len(values)), key=values.__getitem__)
            axes.plot(levels[best], values[best], marker=MARKERS[number], color=COLOURS[number])
        largest = max(max(curve["mean"]) for curve in curves)
        if largest > 10 * min(min(curve["mean"]) for curve in curves):
            axes.set_yscale("log")
        axes.set_xlabel("threshold l")
        axes.set_ylabel("mean response time [s], exact")
        axes.legend()
        figure.savefig(path, dpi=200, metadata=_no_date(Path(path)))


def _panel(axes: Axes, comparison: Comparison, quantity: str, label: str) -> None:
    for number, policy in enumerate(comparison.policies):
        style = number % len(COLOURS)
        found = [
            (each.system.load, getattr(each, quantity))
            for each in comparison.results
            if each.policy_label == policy
        ]
        short = [
            (each.system.load, getattr(each, quantity))
            for each in comparison.results
            if each.policy_label == policy and each.verdict.status == "too short"
        ]
        found = [(load, e) for load, e in found if math.isfinite(e.value)]
        axes.errorbar(
            [load for load, _ in found],
            [e.value for _, e in found],
            yerr=[0.0 if math.isnan(e.half_width) else e.half_width for _, e in found],
            label=policy,
            color=COLOURS[style],
            marker=MARKERS[style],
            linestyle=DASHES[style],
            capsize=2,
        )
        axes.plot(
            [load for load, _ in short],
            [e.value for _, e in short],
            color=COLOURS[style],
            marker=MARKERS[style],
            markerfacecolor="white",
            linestyle="none",
            zorder=5,
        )
    axes.set_yscale("log")
    axes.set_xlabel("load")
    axes.set_ylabel(label)


def _no_date(path: Path) -> dict[str, Any] | None:
    """Leave the date out, so that equal results give equal files."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
