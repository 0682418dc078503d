"""Policies against the load."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from quickswap.plotting.marks import draw_legend, log_scale, look_of
from quickswap.plotting.style import check_format, own_settings, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from quickswap.comparison import Comparison

__all__ = ["plot_comparison"]


def plot_comparison(comparison: Comparison, path: str | Path) -> None:
    """Draw weighted and plain mean response time against the load, with intervals, on log axes.

    Points at which a policy is unstable are left out; those of runs too short are hollow.
    """
    check_format(path)
    with own_settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.2, 3.2))
        left, right = figure.subplots(1, 2)
        _panel(left, comparison, "weighted_mean_response_time", "weighted mean response time [s]")
        _panel(right, comparison, "mean_response_time", "mean response time [s]")
        labels = comparison.policies
        draw_legend(figure, [left], labels, columns=min(4, len(labels)))
        if any(each.verdict.status == "too short" for each in comparison.results):
            figure.supxlabel("hollow: the run was too short, the value may be far off", fontsize=7)
        save(figure, Path(path))


def _panel(axes: Axes, comparison: Comparison, quantity: str, label: str) -> None:
    for number, policy in enumerate(comparison.policies):
        look = look_of(number)
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
            capsize=2,
            **look,
        )
        axes.plot(
            [load for load, _ in short],
            [e.value for _, e in short],
            markerfacecolor="white",
            zorder=5,
            **look | {"linestyle": "none"},
        )
    log_scale(axes)
    axes.set_xlabel("load")
    axes.set_ylabel(label)
