"""Measure the tables and the figures of optimum.md: `python docs/optimum.py`.

This takes an hour and a half on one core, and 4.5 GB of memory.

Writes docs/measured/optimum.json, and from it the tables docs/measured/optimum-mean.md and
optimum-weighted.md and the figures docs/_static/optimum*.svg. With arguments, names of systems,
only these are computed again; with "draw", none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from backfilled import table
from matplotlib.figure import Figure
from pictures import STYLE
from raced import ReopeningDrain

import quickswap as qs
from quickswap import theory
from quickswap.plotting import plot_decisions
from quickswap.theory.means import Means

FOLDER = Path(__file__).parent
COSTS = ("mean", "weighted")
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9)


def three(load: float) -> qs.System:
    """Return four servers and jobs that need one, two or all of them."""
    classes = [
        qs.JobClass(need, share, qs.Exponential(mean=1.0), name)
        for need, share, name in ((1, 0.5, "small"), (2, 0.3, "middle"), (4, 0.2, "large"))
    ]
    return qs.System(4, classes).with_load(load)


def one_or_all(servers: int) -> Callable[[float], qs.System]:
    """Return the preset with this many servers, as a function of the load."""
    return lambda load: qs.load(f"one-or-all:k={servers}").with_load(load)


SYSTEMS: dict[str, tuple[Callable[[float], qs.System], tuple[float, ...], Sequence[str], float]] = {
    "one-or-all, k = 4": (one_or_all(4), LOADS, COSTS, 1e-4),
    "one-or-all, k = 8": (one_or_all(8), LOADS[:-1], COSTS, 1e-3),
    "one-or-all, k = 16": (one_or_all(16), (0.5, 0.7, 0.8), COSTS, 1e-3),
    "one-or-all, k = 32": (one_or_all(32), (0.5, 0.7, 0.8), COSTS, 1e-3),
    "three classes, k = 4": (three, (0.5, 0.7), COSTS, 1e-2),
}
"""System at a load, loads, costs, and the relative tolerance."""
POLICIES: dict[str, Callable[[qs.System], Any]] = {
    "MSF": lambda _: "msf",
    "Static": lambda _: "static-quickswap",
    "Adaptive": lambda _: "adaptive-quickswap",
    "First-Fit": lambda _: "first-fit",
    "reopening": ReopeningDrain,
    "smaller first": lambda system: ReopeningDrain(system, part=0.5, rounds=3.0, slope=1.0),
}
Row = dict[str, float]
"""The values of the optimum and of policies; simulated ones also have a key such as "MSF ±"."""


def values_of(name: str, means: Means | qs.Result, cost: str) -> Row:
    """Return the mean or the weighted mean, and its half-width if it is simulated."""
    quantity = means.mean_response_time if cost == "mean" else means.weighted_mean_response_time
    if isinstance(quantity, float):
        return {name: quantity}
    return {name: quantity.value, f"{name} ±": quantity.half_width}


def means_of(system: qs.System, name: str) -> Means | qs.Result | None:
    """Return the means of a policy, exactly where there is a solution; None if it is unstable."""
    levels = {"MSF": 0, "Static": system.servers - 1, "Adaptive": system.servers}
    if system.one_or_all and name in levels:
        return theory.msfq.exact(system, levels[name])
    result = qs.simulate(system, POLICIES[name](system), jobs=4_000_000)
    return result if result.verdict.status == "stable" else None


def measured(system: qs.System, costs: Sequence[str], tolerance: float) -> dict[str, Row]:
    """Return the values of the optimum and of all policies, for each cost."""
    others = {name: means_of(system, name) for name in POLICIES}
    rows = {}
    for cost in costs:
        best = theory.optimum(system, cost, tolerance=tolerance, max_states=3_000_000)
        row = {"value": best.value, "bound": best.bound}
        if system.one_or_all:
            row["MSFQ"] = theory.best_threshold(system, cost).value
        for name, each in others.items():
            row |= {} if each is None else values_of(name, each, cost)
        if cost == "weighted":
            row["lower bound"] = theory.lower_bound(system)
        rows[cost] = row
    return rows


def lines_of(name: str, cost: str, found: dict[str, dict[str, Row]]) -> list[list[str]]:
    """Return the rows of a table: the optimum, and by how much each policy is above it."""
    columns = ["MSFQ", *POLICIES] + (["lower bound"] if cost == "weighted" else [])
    lines = []
    for load, rows in found.items():
        if cost not in rows:
            continue
        row = rows[cost]
        gaps = []
        for each in columns:
            half = f" ± {100 * row[f'{each} ±'] / row['value']:.1f}" if f"{each} ±" in row else ""
            gap = f"{100 * (row[each] / row['value'] - 1):+.1f}{half} %" if each in row else "-"
            gaps.append(gap)
        lines.append([name, load, f"{row['value']:.4g}", *gaps])
        name = ""
    return lines


def draw(found: dict[str, dict[str, dict[str, Row]]]) -> None:
    """Draw the means over the optimum against the load, for one-or-all systems."""
    shown = [name for name in found if name.startswith("one-or-all")]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11, 3.4), layout="constrained")
        panels = figure.subplots(1, len(shown), sharex=True, sharey=True)
        for panel, name in zip(panels, shown, strict=True):
            for policy in ("MSFQ", *POLICIES):
                points = [
                    (float(load), rows["mean"][policy] / rows["mean"]["value"])
                    for load, rows in found[name].items()
                    if policy in rows["mean"]
                ]
                label = "MSFQ, best threshold" if policy == "MSFQ" else policy
                panel.plot(*zip(*points, strict=True), marker="o", markersize=3, label=label)
            panel.set_title(name)
            panel.set_xlabel("load")
            panel.set_ylim(0.98, 2.2)
        panels[0].set_ylabel("mean / optimum")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center")
        figure.savefig(FOLDER / "_static" / "optimum.svg", metadata={"Date": None})


def main() -> None:
    """Compute systems, and write the tables and the figure."""
    store = FOLDER / "measured" / "optimum.json"

    def known() -> dict[str, dict[str, dict[str, Row]]]:
        return json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}

    for name, (build, loads, costs, tolerance) in SYSTEMS.items():
        for load in loads if name in (sys.argv[1:] or SYSTEMS) else ():
            rows = measured(build(load), costs, tolerance)
            found = known()
            found.setdefault(name, {})[str(load)] = rows
            store.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    found = {name: known()[name] for name in SYSTEMS if name in known()}
    for cost in COSTS:
        head = ["system", "load", "optimum [s]", "MSFQ, best *l*", *POLICIES]
        head += ["lower bound"] if cost == "weighted" else []
        lines = [line for name, each in found.items() for line in lines_of(name, cost, each)]
        text = table(head, lines)
        (FOLDER / "measured" / f"optimum-{cost}.md").write_text(text, encoding="utf-8")
    draw(found)
    best = theory.optimum("one-or-all:k=8,load=0.8", tolerance=1e-3)
    plot_decisions(best, FOLDER / "_static" / "optimum-decisions.svg")


if __name__ == "__main__":
    main()
