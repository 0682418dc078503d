"""Positions in the figure of the changes by group: one row per group, with its interval.

The template draws it. A report contains dozens of these figures, for which a plotting library
requires seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quickswap.report.groups import GroupChange
from quickswap.report.text import MINUS, Unit

__all__ = ["Forest", "Mark", "place"]

WIDTH, ROW, TOP, BOTTOM, RIGHT = 440.0, 22.0, 26.0, 44.0, 12.0
"""Pixels, such that text is as large as in the rest of the page."""
LETTER = 6.6
"""Largest width of a letter, in pixels."""
MOST_LETTERS = 18
TICKS = 7


@dataclass(frozen=True)
class Mark:
    """One group: its name, whether it gains, loses or neither, and the ends of its interval."""

    name: str
    kind: str
    y: float
    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Forest:
    """The picture: its width, top, left and right edge of the axis, bottom, height, 0, contents."""

    width: float
    top: float
    left: float
    right: float
    bottom: float
    height: float
    zero: float
    ticks: tuple[tuple[float, str], ...]
    marks: tuple[Mark, ...]


def place(rows: Sequence[GroupChange], unit: Unit) -> Forest:
    """Return the figure of the changes of some groups; at least one must have a change."""
    spans = []
    for row in rows:
        if row.change is not None and math.isfinite(row.change.value):
            change = unit.convert(row.change)
            half = 0.0 if math.isnan(change.half_width) else change.half_width
            name = row.name if len(row.name) <= MOST_LETTERS else f"{row.name[:17]}…"
            spans.append((name, row.kind, change.value - half, change.value, change.value + half))
    low, high = min(0.0, *(span[2] for span in spans)), max(0.0, *(span[4] for span in spans))
    left = 14 + LETTER * max(len(span[0]) for span in spans)
    bottom = TOP + ROW * len(spans)

    def at(value: float) -> float:
        part = (value - low) / (high - low or 1.0)
        return round(left + 8 + part * (WIDTH - RIGHT - left - 16), 1)

    return Forest(
        WIDTH,
        TOP,
        round(left, 1),
        WIDTH - RIGHT,
        bottom,
        bottom + BOTTOM,
        at(0.0),
        tuple(
            (at(each), f"{each:,.6g}".replace("-", MINUS) if each else "0")
            for each in ticks(low, high)
        ),
        tuple(
            Mark(name, kind, TOP + ROW * (i + 0.5), *map(at, ends))
            for i, (name, kind, *ends) in enumerate(spans)
        ),
    )


def ticks(low: float, high: float) -> list[float]:
    """Return a few round numbers of a range that contains 0."""
    rough = (high - low) / (TICKS - 1) or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * i for i in range(first, last + 1)]
