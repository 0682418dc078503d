"""Marks of simulations with their intervals, and what tells good ones from bad ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from quickswap.plotting.style import COLOURS, DASHES, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Simulated", "draw_marks", "explain_marks", "log_scale", "look_of", "mark_unstable"]

EVEN = 0.5
"""Powers of ten below which a logarithmic axis has ticks at equal distances."""


class Simulated(Protocol):
    """What is drawn of a simulation: a value, its half-width, and how far to trust it."""

    @property
    def x(self) -> float: ...
    @property
    def value(self) -> float: ...
    @property
    def half_width(self) -> float: ...
    @property
    def verdict(self) -> str: ...
    @property
    def reached(self) -> bool: ...


def look_of(style: int) -> dict[str, Any]:
    """Return colour, marker and dash of a line; beyond the colours, the three are combined anew."""
    again = style // len(COLOURS)
    return {
        "color": COLOURS[style % len(COLOURS)],
        "marker": MARKERS[(style + again) % len(MARKERS)],
        "linestyle": DASHES[(style + 2 * again) % len(DASHES)],
    }


def draw_marks(axes: Axes, marks: Sequence[Simulated], label: str, style: int) -> None:
    """Draw marks with intervals: hollow if too short, ringed if wider than asked for."""
    look = look_of(style)
    axes.errorbar(
        [mark.x for mark in marks],
        [mark.value for mark in marks],  # nan where unstable: the line breaks
        yerr=[0.0 if math.isnan(mark.half_width) else mark.half_width for mark in marks],
        label=label,
        linewidth=1.0,
        markersize=4,
        capsize=2,
        **look,
    )
    short = [mark for mark in marks if mark.verdict == "too short"]
    wide = [mark for mark in marks if mark.verdict == "stable" and not mark.reached]
    for marked, size, ring in ((short, 4.0, 1.0), (wide, 7.0, 0.6)):
        axes.plot(
            [mark.x for mark in marked],
            [mark.value for mark in marked],
            markerfacecolor="white" if marked is short else "none",
            markersize=size,
            markeredgewidth=ring,
            zorder=5,
            **look | {"linestyle": "none"},
        )


def log_scale(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with plain numbers, and few between powers of ten."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    axes.set_yscale("log", nonpositive="clip")
    low, high = axes.get_ylim()
    decades = math.log10(high / low)
    if decades > 5:
        return
    steps = ((0.7, "123456789"), (1.3, "1235"), (3.0, "125"), (5.0, "1"))
    told = next(digits for most, digits in steps if decades <= most)

    def word(value: float, _: int | None) -> str:
        return f"{value:,.10g}" if f"{value:.0e}"[0] in told or decades < EVEN else ""

    axes.yaxis.set_major_formatter(FuncFormatter(word))
    axes.yaxis.set_minor_formatter(FuncFormatter(word))
    if decades < EVEN:
        axes.yaxis.set_major_locator(MaxNLocator(6))
        axes.yaxis.set_minor_locator(NullLocator())


def mark_unstable(axes: Axes, where: Iterable[tuple[int, Sequence[float]]]) -> None:
    """Put a cross at the upper edge for each unstable point, one policy below the other.

    Args:
        axes: the panel.
        where: number of the style, and the points, for each policy.
    """
    line = 0
    for style, points in where:
        if not points:
            continue
        axes.plot(
            points,
            [1.0 - 0.04 * line] * len(points),
            linestyle="none",
            marker="x",
            color=COLOURS[style % len(COLOURS)],
            markersize=4,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
        )
        line += 1


def explain_marks(
    figure: Figure, marks: Iterable[tuple[str, bool]], *, limit: bool = False
) -> None:
    """Explain hollow and ringed marks, crosses and limits below the panels, if there are any.

    Args:
        figure: the figure.
        marks: verdict of each, and whether its precision was reached.
        limit: whether the capacity is drawn.
    """
    seen = set(marks)
    told = {
        "hollow: too short to judge": any(verdict == "too short" for verdict, _ in seen),
        "ringed: wider interval than asked for": ("stable", False) in seen,
        "cross: unstable": any(verdict == "unstable" for verdict, _ in seen),
        "dotted: the capacity": limit,
    }
    if any(told.values()):
        figure.supxlabel("; ".join(text for text, there in told.items() if there), fontsize=7)
