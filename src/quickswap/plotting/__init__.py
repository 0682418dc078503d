"""Figures. Nothing but this package and the report imports a plotting library."""

from __future__ import annotations

from quickswap.plotting.comparison import plot_comparison
from quickswap.plotting.experiment import plot_experiment
from quickswap.plotting.stores import plot_store
from quickswap.plotting.style import COLOURS, DASHES, MARKERS, STYLE, check_format
from quickswap.plotting.thresholds import plot_thresholds

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "STYLE",
    "check_format",
    "plot_comparison",
    "plot_experiment",
    "plot_store",
    "plot_thresholds",
]
