"""The chart of the results in stores: a metric against the load, or a parameter of policies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap._check import items
from quickswap._words import counted, load_words
from quickswap.engine.settings import Inputs
from quickswap.errors import QuickswapError, invalid
from quickswap.model.system import System
from quickswap.plotting.axes import Variable, is_parameter, variable_of
from quickswap.plotting.chart import MISSING, Axis, Chart, Line, Mark, Panel
from quickswap.plotting.drawing import draw
from quickswap.plotting.selection import Selection, StoredPoint, opened, select
from quickswap.plotting.style import check_format
from quickswap.policies import spell
from quickswap.statistics.quantities import Quantity, advice_without, quantity_of
from quickswap.sweeps.cells import mean_of, worst
from quickswap.sweeps.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["chart_of", "plot_store"]

LINES = 14
"""Lines that can be distinguished in a figure."""
CLASSES = 6
"""Classes at most that have a panel each; of more classes the lightest and the heaviest."""


def plot_store(
    stores: Store | str | Path | Iterable[Store | str | Path],
    paths: Iterable[str | Path] | str | Path = (),
    *,
    metrics: str | Iterable[str] | None = None,
    x: str | None = None,
    per_class: bool = False,
    model: Any = None,
    policies: Any = None,
    loads: Iterable[float] | None = None,
    title: str | None = None,
    linear: bool = False,
) -> Figure:
    """Draw the results in stores: a line for each policy, with intervals.

    The estimates of several seeds are averaged. A mark without a bar has an unknown interval. A
    hollow mark is a run that is too short, a ringed one did not reach its precision, and a cross at
    the upper edge is an unstable point. The dotted vertical line is the capacity, from which on no
    policy is stable. Policies without the parameter on the axis are level lines with a band.

    Args:
        stores: a store, its file, or several, which are joined; files are not changed.
        paths: files to write, each in the format of its extension (svg, pdf, png).
        metrics: one or several, a panel for each: a short name such as weighted, mean, p99, wait,
            jain or utilisation, or a quantity as `Result.quantities` names it. By default weighted
            and mean; with `per_class`, mean.
        x: "load", "rate" (of arrivals), a parameter of policies such as "threshold", or a setting
            that is a number. By default the load if there are several, otherwise the parameter with
            most values.
        per_class: a panel for each class, or for the lightest and heaviest of more than six.
        model: the one to draw if there are several: a System, a preset, a model file, or a name
            from the error message.
        policies: those to draw, in this order; a name alone stands for all policies of that name if
            there is none without parameters. By default all, in the order of the paper's figures.
        loads: those to draw; by default all.
        title: above the figure.
        linear: times on a linear axis instead of a logarithmic one.

    Raises:
        QuickswapError: a file is not a store or cannot be written, a name is unknown, there are
            several models, nothing to draw, or too many lines.
    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    for path in files:
        check_format(path)
    chart = chart_of(
        stores,
        metrics=metrics,
        x=x,
        per_class=per_class,
        model=model,
        policies=policies,
        loads=loads,
        title=title,
        linear=linear,
    )
    return draw(chart, files)


def chart_of(
    stores: Store | str | Path | Iterable[Store | str | Path],
    *,
    metrics: str | Iterable[str] | None = None,
    x: str | None = None,
    per_class: bool = False,
    model: Any = None,
    policies: Any = None,
    loads: Iterable[float] | None = None,
    title: str | None = None,
    linear: bool = False,
) -> Chart:
    """Return the chart that `plot_store` draws; the arguments are the same.

    Raises:
        QuickswapError: as `plot_store`.
    """
    wanted = _metrics(metrics, per_class)
    with opened(stores) as store:
        every = is_parameter(x)
        selection = select(store, model=model, policies=policies, loads=loads, every=every)
        system = selection.points[0].system
        variable = variable_of(x, selection.points)
        panels = tuple(
            Panel(text, metric.name, cls, log=not linear and not metric.share)
            for metric in wanted
            for cls, text in (_classes(system) if per_class else {"all": ""}).items()
        )
        lines = _lines(store, selection, variable, panels)
    values = {mark.x for line in lines for mark in line.marks if not math.isnan(mark.x)}
    axis = Axis.of(variable.label, sorted(values), log=variable.log)
    limit = None
    if variable.kind == "rate":
        scale = 1.0 if variable.name == "rate" else system.load / system.arrival_rate
        limit = system.capacity * scale
    chart = Chart(
        axis, panels, lines, limit, title or "", selection.model, dict(selection.left_out)
    )
    _check_values(chart, wanted)
    return chart


def _metrics(given: object, per_class: bool) -> list[Quantity]:
    if given is None:
        given = ["mean"] if per_class else ["weighted", "mean"]
    several = [given] if isinstance(given, str) else items(given)
    if not several:
        allowed = "one or several, as in 'mean'"
        raise invalid("metrics", given, allowed, QuickswapError)
    found = list({each.name: each for each in map(quantity_of, several)}.values())
    for each in found:
        if per_class and not each.by_class:
            raise QuickswapError(
                f"metric {each.short or each.name} applies to all jobs together: per class there "
                "are mean, p50, p90, p99, wait, slowdown and others."
            )
    return found


def _classes(system: System) -> dict[str, str]:
    """Return the classes with a panel and their titles, the smallest need first."""
    order = [
        name for _, name in sorted(zip(system.needs, system.names, strict=True), key=itemgetter(0))
    ]
    if len(order) <= CLASSES:
        return {name: name for name in order}
    ends = ((order[0], "the lightest"), (order[-1], "the heaviest"))
    return {name: f"{name}, {words}" for name, words in ends}


def _lines(
    store: Store, selection: Selection, variable: Variable, panels: Sequence[Panel]
) -> tuple[Line, ...]:
    several = variable.kind != "rate" and len({each.load for each in selection.points}) > 1
    labels = {spell(each.policy): variable.line(each) for each in selection.points}
    if variable.kind != "parameter":  # equal labels become spellings
        shared = Counter(labels.values())
        labels = {key: key if shared[label] > 1 else label for key, label in labels.items()}
    grouped: dict[str, dict[float | None, list[StoredPoint]]] = {}
    for point in selection.points:
        value = variable.value(point)
        if value is None and variable.kind == "setting":
            selection.left_out[f"without a number for {variable.name}"] += 1
            continue
        label = labels[spell(point.policy)]
        label = f"{label}, load {load_words(point.load)}" if several else label
        grouped.setdefault(label, {}).setdefault(value, []).append(point)
    if len(grouped) > LINES:
        advice = "choose loads" if several else "draw against one of their parameters"
        raise QuickswapError(
            f"{len(grouped)} lines against {variable.name} cannot be distinguished; at most "
            f"{LINES} can: choose some of the policies, or {advice}."
        )
    lines = []
    for label, by_value in grouped.items():
        found = [
            _mark(store, math.nan if value is None else value, points, panels, selection.left_out)
            for value, points in by_value.items()
        ]
        marks = sorted((mark for mark in found if mark is not None), key=lambda mark: mark.x)
        if marks:
            lines.append(Line(label, tuple(marks)))
    return tuple(lines)


def _mark(
    store: Store,
    x: float,
    points: Sequence[StoredPoint],
    panels: Sequence[Panel],
    left_out: Counter[str],
) -> Mark | None:
    """Average the seeds at one value; of runs with different settings take the longest."""
    variants: dict[Inputs, list[tuple[int, Mark]]] = {}
    for point in points:
        if point.failure is None:
            result = store[point.key]
            part = (result.completed, Mark.of(x, result, panels))
        elif point.failure.unstable:
            part = (0, Mark(x, tuple(MISSING for _ in panels), "unstable"))
        else:
            left_out["whose simulation failed"] += 1
            continue
        # seeds are averaged where all else is the same
        variants.setdefault(replace(point.inputs, seed=0), []).append(part)
    if not variants:
        return None
    longest = max(variants.values(), key=lambda parts: sum(completed for completed, _ in parts))
    if shorter := sum(map(len, variants.values())) - len(longest):
        left_out["of shorter runs at a value that is drawn"] += shorter
    marks = [mark for _, mark in longest]
    verdict = worst(mark.verdict for mark in marks)
    if verdict == "unstable" and math.isnan(x):
        left_out["that is unstable, of a policy without a value on the axis"] += len(marks)
        return None
    columns = zip(*(mark.estimates for mark in marks), strict=True)
    estimates = tuple(MISSING if verdict == "unstable" else mean_of(each) for each in columns)
    return Mark(x, estimates, verdict, all(mark.reached for mark in marks), len(marks))


def _check_values(chart: Chart, metrics: Sequence[Quantity]) -> None:
    marks = [mark for line in chart.lines for mark in line.marks]
    level = all(line.level for line in chart.lines)
    if level or all(mark.verdict == "unstable" for mark in marks):
        raise QuickswapError("there is nothing to draw: no point is stable, or all have failed.")
    for metric in metrics:
        of_metric = [n for n, each in enumerate(chart.panels) if each.quantity == metric.name]
        if not any(chart.values(number) for number in of_metric):
            stable = any(mark.verdict == "stable" for mark in marks)  # more jobs would not help
            short = 0 if stable else sum(mark.verdict == "too short" for mark in marks)
            where = f"; {short:,} of {counted(len(marks), 'mark', ',')} too short"
            raise QuickswapError(
                "there is nothing to draw: no point has a value of "
                f"{metric.short or metric.name}{where if short else ''}",
                advice="simulate more jobs, or draw another metric"
                if short
                else advice_without(metric),
            )
