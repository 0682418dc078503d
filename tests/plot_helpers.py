"""Stores to draw, and what has been drawn of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import quickswap as qs

LOADS = (0.4, 0.6, 0.8)
POLICIES = ["first-fit", "msf"]
THRESHOLDS = "static-quickswap:threshold=[0,2,4]"


def write_curves(folder: Path) -> tuple[Path, qs.Grid]:
    """Two policies at three loads and one at which no policy is stable, with two seeds."""
    path = folder / "curves.db"
    grid = qs.Grid("four-class", POLICIES, loads=[*LOADS, 1.3], seeds=[1, 2], jobs=40_000)
    qs.sweep(grid, path)
    return path, grid


def write_thresholds(folder: Path) -> Path:
    """A policy with a parameter, and one without, at one load."""
    path = folder / "thresholds.db"
    qs.sweep(qs.Grid("four-class", ["msf", THRESHOLDS], loads=0.5, jobs=20_000), path)
    return path


def bars(axes: Axes) -> dict[str, tuple[list[float], list[float], list[float], list[float]]]:
    """Return x, y, lower and upper ends of the intervals of each line that is drawn."""
    found = {}
    for each in axes.containers:
        assert isinstance(each, ErrorbarContainer)
        data, _, (ends,) = each.lines
        assert isinstance(data, Line2D)
        low, high = [], []
        for segment in ends.get_segments():
            low.append(float(segment[0][1]) if len(segment) else math.nan)
            high.append(float(segment[-1][1]) if len(segment) else math.nan)
        found[str(each.get_label())] = (xs(data), ys(data), low, high)
    return found


def xs(line: Line2D) -> list[float]:
    return [float(each) for each in np.asarray(line.get_xdata(), float)]


def ys(line: Line2D) -> list[float]:
    return [float(each) for each in np.asarray(line.get_ydata(), float)]


def crosses(axes: Axes) -> list[list[float]]:
    """Return where unstable points are marked, policy by policy."""
    return [xs(each) for each in axes.lines if each.get_marker() == "x"]


def labels(figure: Figure) -> list[str]:
    return [each.get_text() for each in figure.legends[0].get_texts()]
