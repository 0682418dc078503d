"""Draw the figures of theory.md, compute its table of errors: `python docs/analysis.py`, a minute.

It writes docs/_static/theory/*.svg and docs/measured/msfq-approximation.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import quickswap as qs
from quickswap.plotting import COLOURS, DASHES, MARKERS, STYLE
from quickswap.theory import fcfs, msfq
from quickswap.theory.threshold import best_threshold

FOLDER = Path(__file__).parent
FIGURES = FOLDER / "_static" / "theory"
TABLE = FOLDER / "measured" / "msfq-approximation.md"
LOADS = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
SYSTEMS = {8: (0, 4, 7), 32: (0, 16, 31), 128: (0, 64, 127)}
"""Thresholds for each number of servers."""
JOBS = 4_000_000


def error(system: qs.System, threshold: int, form: str) -> float | None:
    """Return the relative error of the approximate mean response time; None below its range."""
    exact = msfq.exact(system, threshold, "always")
    try:
        found = msfq.approximate(system, threshold, form)
    except qs.ModelError:
        return None
    return found.mean_response_time / exact.mean_response_time - 1


def write_table() -> None:
    """Write the errors of both forms over loads, thresholds and numbers of servers."""
    head = ["k", "l", "form", *(f"load {load:g}" for load in LOADS)]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for k, thresholds in SYSTEMS.items():
        system = qs.load(f"one-or-all:k={k}")
        for threshold in thresholds:
            for form in msfq.FORMS:
                errors = [error(system.with_load(load), threshold, form) for load in LOADS]
                cells = ["-" if value is None else f"{value:+.2%}" for value in errors]
                lines.append("| " + " | ".join([str(k), str(threshold), form, *cells]) + " |")
    note = (
        "Relative error of the mean response time over all jobs, against the exact solution; "
        "drain always, p1 = 0.9, unit means. A dash: outside the range of the approximation. "
        "Written by `docs/analysis.py`."
    )
    TABLE.write_text("\n".join([*lines, "", note]) + "\n", encoding="utf-8")


def draw() -> None:
    """Draw approximation, exact solution and simulation, the error, and the best threshold."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 5.2))
        means, errors, thresholds, best = figure.subplots(2, 2).flat
        _draw_means(means, errors)
        _draw_thresholds(thresholds, best)
        _save(figure, "msfq")


def draw_scaling() -> None:
    """Draw the limit of FCFS and its limit of heavy traffic against the mix of the load."""
    shares = np.linspace(0.01, 0.99, 50)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 2.8))
        limits, times = figure.subplots(1, 2)
        for number, k in enumerate((8, 32, 128, 512, 2048)):
            systems = [_mix(k, share) for share in shares]
            style: Any = {
                "color": COLOURS[number],
                "linestyle": DASHES[number],
                "label": f"k = {k}",
            }
            limits.plot(shares, [fcfs.limit(each) / each.capacity for each in systems], **style)
            times.plot(shares, [fcfs.heavy_traffic(each) for each in systems], **style)
        limits.set_title("limit of FCFS / capacity")
        limits.set_ylim(0, 1)
        times.set_title("limit of (1 - load) E[T] [s]")
        times.set_ylim(0)
        times.legend(loc="lower center", ncols=2)
        for axes in (limits, times):
            axes.set_xlabel("heavy jobs' share of the load")
        _save(figure, "scaling")


def _mix(k: int, heavy: float) -> qs.System:
    """Return a one-or-all system of unit means, with this share of the load from heavy jobs."""
    rates = ((1, k * (1 - heavy)), (k, heavy))
    return qs.System(k, [qs.JobClass(need, rate, qs.Exponential(mean=1)) for need, rate in rates])


def _save(figure: Figure, name: str) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})


def _draw_means(means: Axes, errors: Axes) -> None:
    system, threshold = qs.load("one-or-all"), 31
    loads = np.linspace(0.3, 0.97, 40)
    exact = [_mean(system.with_load(load), threshold) for load in loads]
    means.plot(loads, exact, color=COLOURS[6], label="exact")
    for number, form in enumerate(msfq.FORMS):
        valid, values = [], []
        for load, true in zip(loads, exact, strict=True):
            try:
                found = msfq.approximate(system.with_load(load), threshold, form)
            except qs.ModelError:
                continue
            valid.append(load)
            values.append((found.mean_response_time, true))
        style: Any = {"color": COLOURS[number], "label": form}
        approximate = [value for value, _ in values]
        means.plot(valid, approximate, linestyle=DASHES[number + 1], **style)
        relative = [100 * (value / true - 1) for value, true in values]
        errors.plot(valid, relative, linestyle=DASHES[number + 1], **style)
    simulated = [0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 0.95]
    policy = qs.MSFQ(threshold=threshold, drain="always")
    estimates = [
        qs.simulate(system.with_load(load), policy, jobs=JOBS).mean_response_time
        for load in simulated
    ]
    means.errorbar(
        simulated,
        [each.value for each in estimates],
        yerr=[each.half_width for each in estimates],
        label="simulated",
        color=COLOURS[2],
        marker=MARKERS[0],
        markerfacecolor="white",
        linestyle="none",
        capsize=2,
    )
    means.set_yscale("log")
    means.set_title("MSFQ(31, always), k = 32")
    means.set_ylabel("mean response time [s]")
    errors.set_ylabel("error of the approximation [%]")
    errors.set_title("against the exact solution")
    for axes in (means, errors):
        axes.set_xlabel("load")
        axes.legend()


def _draw_thresholds(thresholds: Axes, best: Axes) -> None:
    system = qs.load("one-or-all")
    for number, load in enumerate((0.5, 0.7, 0.9)):
        found = best_threshold(system.with_load(load))
        style: Any = {"color": COLOURS[number]}
        thresholds.plot(
            found.thresholds,
            found.values,
            linestyle=DASHES[number],
            label=f"load {load:g}",
            **style,
        )
        thresholds.plot(found.threshold, found.value, marker=MARKERS[number], **style)
    thresholds.set_yscale("log")
    thresholds.set_title("MSFQ(l), on demand, exact")
    thresholds.set_xlabel("threshold l")
    thresholds.set_ylabel("mean response time [s]")
    thresholds.legend()
    loads = np.linspace(0.3, 0.98, 18)
    metrics: Sequence[str] = ("mean", "weighted")
    for number, metric in enumerate(metrics):
        levels = [best_threshold(system.with_load(load), metric).threshold for load in loads]
        best.plot(
            loads,
            levels,
            color=COLOURS[number],
            linestyle=DASHES[number],
            marker=MARKERS[number],
            markersize=3,
            label=metric,
        )
    best.set_title("best threshold, exact")
    best.set_xlabel("load")
    best.set_ylabel("best l")
    best.legend()


def _mean(system: qs.System, threshold: int) -> float:
    return msfq.exact(system, threshold, "always").mean_response_time


if __name__ == "__main__":
    write_table()
    draw()
    draw_scaling()
