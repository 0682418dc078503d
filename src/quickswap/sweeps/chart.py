"""A figure of what stores hold, as data: lines, marks with intervals, and what is left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quickswap._check import items
from quickswap._words import counted, load_words
from quickswap.errors import QuickswapError, shown
from quickswap.model.system import System
from quickswap.policies import spell
from quickswap.simulation.metrics import Metric, metric_of, value_of
from quickswap.simulation.result import Result
from quickswap.statistics.estimates import Estimate
from quickswap.sweeps.axes import ChartAxis, axis_of, is_parameter
from quickswap.sweeps.found import Drawn, Found, drawn_from, opened
from quickswap.sweeps.places import mean_of, worst
from quickswap.sweeps.store import Store

__all__ = ["Chart", "ChartLine", "ChartPanel", "Mark", "chart_of", "has_values"]

LINES = 14
"""Lines that a figure may have: as many can be told apart."""
CLASSES = 6
"""Classes that have a panel each; of more, the lightest and the heaviest have one."""


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """One picture of a chart.

    Attributes:
        metric: what it shows.
        cls: position of a class; None for all jobs together.
        title: name of the class, or "".
    """

    metric: Metric
    cls: int | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A policy at one place, its seeds put together.

    Attributes:
        x: on the horizontal axis; nan where the policy has no place on it.
        verdict: "stable", or the worst one over the seeds.
        reached: whether the precision asked for, if any, was reached with every seed.
        seeds: how many.
        estimates: one for each panel.
    """

    x: float
    verdict: str
    reached: bool
    seeds: int
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class ChartLine:
    """The marks of one policy, by x; a line of one mark without x holds for all of the axis."""

    label: str
    marks: tuple[Mark, ...]

    @property
    def level(self) -> bool:
        """Whether it has no place on the axis, so that it is drawn from end to end."""
        return all(math.isnan(mark.x) for mark in self.marks)


@dataclass(frozen=True)
class Chart:
    """What a figure of stores shows.

    Attributes:
        model: its name.
        axis: the horizontal one.
        panels: from left to right and top to bottom.
        lines: in the order of their colours.
        limit: of the axis, from which on no policy is stable; None if it is not the rate or load.
        left_out: why points of the stores are not in it, and how many.
    """

    model: str
    axis: ChartAxis
    panels: tuple[ChartPanel, ...]
    lines: tuple[ChartLine, ...]
    limit: float | None
    left_out: dict[str, int]


def chart_of(
    stores: Store | str | Any,
    *,
    metrics: str | Iterable[str] | None = None,
    x: str | None = None,
    per_class: bool = False,
    model: Any = None,
    policies: Any = None,
    loads: Iterable[float] | None = None,
) -> Chart:
    """Return what `quickswap.plotting.plot_store` draws, as data; see there for the arguments.

    Raises:
        QuickswapError: a file that is no store, an unknown name, nothing to draw, or too much.
    """
    wanted = _metrics(metrics, per_class)
    with opened(stores) as store:
        whole = is_parameter(x)
        drawn = drawn_from(store, model=model, policies=policies, loads=loads, whole=whole)
        axis = axis_of(x, drawn.points)
        panels = _panels(wanted, per_class, drawn.points[0].system)
        lines = _lines(store, drawn, axis, panels)
    _check_values(lines, panels)
    limit = _limit(drawn.points[0].system, axis)
    return Chart(drawn.model, axis, panels, lines, limit, dict(drawn.left_out))


def _metrics(given: object, per_class: bool) -> list[Metric]:
    if given is None:
        given = ["mean"] if per_class else ["weighted", "mean"]
    several = [given] if isinstance(given, str) else items(given)
    if not several:
        raise QuickswapError(f"metrics is {shown(given)}: give one or several, as in 'mean'.")
    found = list({each.quantity: each for each in map(metric_of, several)}.values())
    for each in found:
        if per_class and not each.by_class:
            raise QuickswapError(
                f"metric {each.name} is of all jobs together: per class there are mean, p50, p90, "
                "p99, wait, slowdown and others."
            )
    return found


def _panels(metrics: Sequence[Metric], per_class: bool, system: System) -> tuple[ChartPanel, ...]:
    if not per_class:
        return tuple(ChartPanel(metric) for metric in metrics)
    order = sorted(range(len(system.needs)), key=system.needs.__getitem__)
    titles = {position: system.names[position] for position in order}
    if len(order) > CLASSES:
        ends = {order[0]: "the lightest", order[-1]: "the heaviest"}
        titles = {place: f"{titles[place]}, {word}" for place, word in ends.items()}
    return tuple(
        ChartPanel(metric, place, title) for metric in metrics for place, title in titles.items()
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """What one point adds to a mark."""

    point: Found
    verdict: str
    reached: bool
    completed: int
    estimates: tuple[Estimate, ...]


def _lines(
    store: Store, drawn: Drawn, axis: ChartAxis, panels: Sequence[ChartPanel]
) -> tuple[ChartLine, ...]:
    several = axis.kind != "rate" and len({each.load for each in drawn.points}) > 1
    labels = _labels(drawn.points, axis)
    grouped: dict[str, dict[float, list[Found]]] = {}
    for point in drawn.points:
        value = axis.value(point)
        if value is None and axis.kind == "setting":
            drawn.left_out[f"without a number for {axis.name}"] += 1
            continue
        label = labels[spell(point.policy)]
        label = f"{label}, load {load_words(point.load)}" if several else label
        x = math.nan if value is None else value
        places = grouped.setdefault(label, {})
        places.setdefault(next((each for each in places if _same(each, x)), x), []).append(point)
    if len(grouped) > LINES:
        raise QuickswapError(_too_many(list(grouped), axis, several))
    lines = []
    for label, places in grouped.items():
        found = (_mark(store, x, places[x], axis, panels, drawn.left_out) for x in sorted(places))
        marks = tuple(mark for mark in found if mark is not None)
        if marks:
            lines.append(ChartLine(label, marks))
    return tuple(lines)


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _too_many(labels: Sequence[str], axis: ChartAxis, several: bool) -> str:
    cure = "choose loads" if several else "draw against a parameter of theirs"
    return (
        f"{len(labels)} lines against {axis.name} cannot be told apart, at most {LINES} can: "
        f"choose some of the policies, or {cure}."
    )


def _labels(points: Sequence[Found], axis: ChartAxis) -> dict[str, str]:
    """Return what the line of each policy is called; of two with one name, their spellings."""
    found = {spell(each.policy): each for each in points}
    labels = {spelling: axis.line(each) for spelling, each in found.items()}
    if axis.kind == "parameter":
        return labels
    shared = Counter(labels.values())
    return {key: key if shared[label] > 1 else label for key, label in labels.items()}


def _mark(
    store: Store,
    x: float,
    points: Sequence[Found],
    axis: ChartAxis,
    panels: Sequence[ChartPanel],
    left_out: Counter[str],
) -> Mark | None:
    """Put the points of a place together; of several kinds of runs the longest are taken."""
    variants: dict[str, list[_Part]] = {}
    for point in points:
        part = _part(store, point, panels)
        if part is None:
            left_out["whose simulation failed"] += 1
            continue
        variants.setdefault(_variant(point, axis), []).append(part)
    if not variants:
        return None
    parts = max(variants.values(), key=lambda each: sum(part.completed for part in each))
    if shorter := sum(map(len, variants.values())) - len(parts):
        left_out["of shorter runs at a place that is drawn"] += shorter
    verdict = worst(part.verdict for part in parts)
    if verdict == "unstable" and math.isnan(x):
        left_out["that is unstable, of a policy without a place on the axis"] += len(parts)
        return None
    reached = all(part.reached for part in parts)
    columns = zip(*(part.estimates for part in parts), strict=True)
    estimates = tuple(mean_of(column) for column in columns)
    if verdict == "unstable":
        estimates = tuple(NONE for _ in panels)
    return Mark(x, verdict, reached, len(parts), estimates)


NONE = Estimate(math.nan, math.nan)


def _variant(point: Found, axis: ChartAxis) -> str:
    """Return what runs that are put together have in common: all but the seed."""
    return repr((spell(point.policy), replace(point.inputs, seed=0)))


def _part(store: Store, point: Found, panels: Sequence[ChartPanel]) -> _Part | None:
    if point.failure is not None:
        nothing = tuple(NONE for _ in panels)
        return _Part(point, "unstable", True, 0, nothing) if point.failure.unstable else None
    result: Result = store[point.key]
    values = (value_of(result, each.metric.quantity, each.cls) for each in panels)
    estimates = tuple(NONE if value is None else value for value in values)
    reached = result.stop.name != "BUDGET"
    return _Part(point, result.verdict.status, reached, result.completed, estimates)


def _check_values(lines: Sequence[ChartLine], panels: Sequence[ChartPanel]) -> None:
    marks = [mark for line in lines for mark in line.marks]
    if all(mark.verdict == "unstable" for mark in marks) or all(line.level for line in lines):
        raise QuickswapError("there is nothing to draw: no point is stable, or all have failed.")
    for metric in dict.fromkeys(panel.metric for panel in panels):
        numbers = [number for number, panel in enumerate(panels) if panel.metric == metric]
        if not any(has_values(lines, number) for number in numbers):
            raise QuickswapError(
                f"there is nothing to draw: no point has a value of {metric.name}{_short(marks)}."
            )


def _short(marks: Sequence[Mark]) -> str:
    """Return how many places ran too short, and what to do; "" if none did."""
    short = sum(mark.verdict == "too short" for mark in marks)
    where = f"; of {counted(len(marks), 'place', ',')} {short:,} ran too short"
    return f"{where}: simulate more jobs at each, or draw another metric" if short else ""


def has_values(lines: Sequence[ChartLine], number: int) -> bool:
    """Whether there is anything in a panel."""
    marks = (mark for line in lines for mark in line.marks)
    return any(math.isfinite(mark.estimates[number].value) for mark in marks)


def _limit(system: System, axis: ChartAxis) -> float | None:
    if axis.kind != "rate":
        return None
    capacity = system.capacity
    return capacity if axis.name == "rate" else capacity * system.load / system.arrival_rate
