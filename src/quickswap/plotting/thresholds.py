"""MSFQ against its threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quickswap.plotting.marks import log_scale
from quickswap.plotting.style import COLOURS, DASHES, MARKERS, check_format, own_settings, save

__all__ = ["plot_thresholds"]


def plot_thresholds(curves: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Draw the mean response time of MSFQ against its threshold; the best one is filled.

    Args:
        curves: each with the `drain`, the `thresholds` and the `mean` at each of them, seconds.
        path: file, whose ending decides the format.
    """
    check_format(path)
    with own_settings():
        from matplotlib.figure import Figure

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
            log_scale(axes)
        axes.set_xlabel("threshold l")
        axes.set_ylabel("mean response time [s], exact")
        axes.legend()
        save(figure, Path(path))
