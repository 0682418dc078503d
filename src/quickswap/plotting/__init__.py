"""Figures. Only this package and the report import a plotting library."""

from __future__ import annotations

from quickswap.plotting.chart import Axis, Chart, Line, Mark, Panel
from quickswap.plotting.drawing import draw
from quickswap.plotting.results import plot_comparison, plot_decisions, plot_thresholds
from quickswap.plotting.stores import chart_of, plot_store
from quickswap.plotting.style import COLOURS, DASHES, MARKERS, STYLE, check_format

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "STYLE",
    "Axis",
    "Chart",
    "Line",
    "Mark",
    "Panel",
    "chart_of",
    "check_format",
    "draw",
    "plot_comparison",
    "plot_decisions",
    "plot_store",
    "plot_thresholds",
]
