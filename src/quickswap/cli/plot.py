"""`quickswap plot STORE ...`: a figure of the results in stores."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from quickswap.cli.options import Numbers, Words, check_writable, files_of_stores

if TYPE_CHECKING:
    from quickswap.plotting.chart import Chart, Mark

__all__ = ["plot"]

KINDS = ("drawn", "hollow: too short", "cross: unstable", "no value")
"""How the marks of a policy are drawn."""


def plot(
    store: Path,
    /,
    *stores: Path,
    output: Annotated[list[Path] | None, Parameter(alias="-o", allow_leading_hyphen=True)] = None,
    metric: str | None = None,
    x: str | None = None,
    per_class: bool = False,
    model: str | None = None,
    policies: Words | None = None,
    loads: Numbers | None = None,
    title: str | None = None,
    linear: bool = False,
) -> None:
    """Draw the results of sweeps: a line for each policy, with intervals.

    Parameters
    ----------
    store
        The store of a sweep, which is not changed.
    stores
        Further stores, read together with the first.
    output
        A file to write, svg, pdf or png by its extension; the option may be repeated. By default an
        svg named after the store.
    metric
        Metrics to draw, one panel each, separated by commas, such as weighted, mean, p99, wait,
        jain or utilisation; the message about an unknown one lists all. By default weighted and
        mean.
    x
        The horizontal axis: load, rate, a parameter of policies (threshold, backfill, window ...)
        or a setting. By default the load if there are several, otherwise the parameter that varies.
    per_class
        A panel for each class, or for the lightest and heaviest of more than six classes.
    model
        The model to draw if there are several: a preset, a model file, or a name from the error
        message. By default the only one.
    policies
        The policies to draw, in this order, separated by spaces or semicolons, in quotes. By
        default all.
    loads
        The loads to draw, separated by commas. By default all.
    title
        Title above the figure; by default none.
    linear
        Draw times on a linear axis instead of a logarithmic one.
    """
    from quickswap.cli.output import writing_files
    from quickswap.plotting import check_format, draw
    from quickswap.plotting.stores import chart_of

    files = output or [Path(f"{store.stem or 'store'}.svg")]
    check_writable(*files, sources=[*files_of_stores(store, *stores), model])
    for file in files:
        check_format(file)
    chart = chart_of(
        [store, *stores],
        metrics=None if metric is None else metric.replace(",", " ").split(),
        x=x,
        per_class=per_class,
        model=model,
        policies=policies,
        loads=loads,
        title=title,
        linear=linear,
    )
    with writing_files() as attempt:
        attempt(lambda: draw(chart, files))
        _print(chart)
    print(f"wrote {', '.join(map(str, files))}")


def _print(chart: Chart) -> None:
    from quickswap._words import counted
    from quickswap.cli.output import print_table

    metrics = dict.fromkeys(panel.axis_label.removesuffix(" [s]") for panel in chart.panels)
    print(f"{', '.join(metrics)} of {chart.model} against the {chart.axis.label}\n")
    kinds = Counter(_kind(mark) for line in chart.lines for mark in line.marks)
    shown = [kind for kind in KINDS if kinds[kind] or kind == KINDS[0]]
    rows = []
    for line in chart.lines:
        numbers = Counter(_kind(mark) for mark in line.marks)
        seeds = sorted({mark.seeds for mark in line.marks})
        used = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        rows.append([line.label, *(str(numbers[kind] or "") for kind in shown), used])
    print_table(["policy", *shown, "seeds"], rows)
    print()
    for reason, number in chart.left_out.items():
        print(f"left out: {counted(number, 'point', ',')} {reason}")


def _kind(mark: Mark) -> str:
    """Return how a mark is drawn."""
    if mark.verdict == "unstable":
        return KINDS[2]
    if not any(math.isfinite(each.value) for each in mark.estimates):
        return KINDS[3]
    return KINDS[1] if mark.verdict == "too short" else KINDS[0]
