"""A chart as data, for sweeps, comparisons and the figures of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from msgspec import Struct

from quickswap.simulation.result import Result, Stop
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.quantities import QUANTITIES, quantity_of, value_of

__all__ = ["MISSING", "Axis", "Chart", "Line", "Look", "Mark", "Panel"]

MISSING = Estimate(math.nan, math.nan)
TICKS = 8
"""A logarithmic axis with at most this many values has a tick at each of them."""

Look = Literal["marks", "curve", "path", "exact", "dashed", "dotted"]
"""How a line is drawn: simulations with intervals, a curve without marks, a sample path, or one of
three uncoloured curves for computed values."""


class Panel(Struct, frozen=True, forbid_unknown_fields=True):
    """One panel of a chart.

    Attributes:
        title: above it.
        quantity: as `Result.quantities` names it.
        cls: name of a class, or "all".
        label: of the vertical axis; "" for the name of the metric and its unit.
        log: whether the vertical axis is logarithmic.
    """

    title: str
    quantity: str
    cls: str = "all"
    label: str = ""
    log: bool = True

    @property
    def axis_label(self) -> str:
        """The label of the vertical axis."""
        return self.label or quantity_of(self.quantity).label

    @property
    def share(self) -> bool:
        """Whether its values are from 0 to 1."""
        found = QUANTITIES.get(self.quantity)  # a panel may show others, such as trajectories
        return found is not None and found.share


@dataclass(frozen=True, slots=True)
class Axis:
    """The horizontal axis; with empty `ticks` they are chosen when it is drawn."""

    label: str
    scale: Literal["linear", "log", "symlog"] = "linear"
    ticks: tuple[float, ...] = ()

    @classmethod
    def of(cls, label: str, values: Sequence[float], *, log: bool = False) -> Self:
        """Return an axis for these ascending values.

        A logarithmic axis that includes 0 is linear near it.
        """
        ticked = len(values) == 1 or (log and len(values) <= TICKS)
        scale: Literal["linear", "log", "symlog"] = "linear"
        if log:
            scale = "log" if values[0] > 0 else "symlog"
        return cls(label, scale, tuple(values) if ticked else ())


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of a line at one value of the axis.

    Attributes:
        x: on the horizontal axis; nan where the policy has no value on it.
        estimates: one for each panel.
        verdict: worst status of the simulations over the seeds; "" for computed values.
        reached: whether the requested precision, if any, was reached with every seed.
        seeds: number of simulations that were averaged.
    """

    x: float
    estimates: tuple[Estimate, ...]
    verdict: str = ""
    reached: bool = True
    seeds: int = 1

    @classmethod
    def of(cls, x: float, result: Result, panels: Sequence[Panel]) -> Self:
        """Return the mark of one simulation."""
        positions = {name: position for position, name in enumerate(result.system.names)}
        values = [value_of(result, each.quantity, positions.get(each.cls)) for each in panels]
        unstable = result.verdict.status == "unstable"
        return cls(
            x,
            tuple(MISSING if unstable or each is None else each for each in values),
            result.verdict.status,
            result.stop is not Stop.BUDGET,
        )


@dataclass(frozen=True, slots=True)
class Line:
    """The marks of one policy, by x.

    Attributes:
        label: in the legend, where lines with the same label have one entry.
        marks: if they have no x, the line is level.
        look: how it is drawn.
        best: position of the mark that a curve emphasises, if any.
    """

    label: str
    marks: tuple[Mark, ...]
    look: Look = "marks"
    best: int | None = None

    @property
    def level(self) -> bool:
        """Whether it has no value on the axis, so it is drawn across the panel."""
        return all(math.isnan(mark.x) for mark in self.marks)


@dataclass(frozen=True)
class Chart:
    """The content of a figure.

    Attributes:
        axis: the horizontal one.
        panels: from left to right and top to bottom.
        lines: in the order of their colours.
        limit: value of the axis from which on no policy is stable, if there is one.
        title: above the figure; "" for none.
        model: name of the model, if it has one.
        left_out: numbers of points of a store that are left out, by reason.
    """

    axis: Axis
    panels: tuple[Panel, ...]
    lines: tuple[Line, ...]
    limit: float | None = None
    title: str = ""
    model: str = ""
    left_out: dict[str, int] = field(default_factory=dict)

    def values(self, panel: int) -> list[float]:
        """Return the values that the panel at this position shows."""
        marks = (mark for line in self.lines for mark in line.marks)
        values = (mark.estimates[panel].value for mark in marks)
        return [value for value in values if math.isfinite(value)]
