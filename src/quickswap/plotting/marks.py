"""Marks of simulations with their intervals, and what tells good ones from bad ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from quickswap.plotting.style import COLOURS, DASHES, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "Simulated",
    "draw_legend",
    "draw_marks",
    "explain_marks",
    "log_scale",
    "look_of",
    "mark_unstable",
    "plain_ticks",
]

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN = 6
"""Digits up to which a power of ten is written out."""
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
        plain_ticks(axes.yaxis)
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


def plain_ticks(axis: Axis) -> None:
    """Label the powers of ten of a logarithmic axis as text: 100, 10⁹.

    The labels that matplotlib makes are formulas, and text is drawn as it is.
    """
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def word(value: float, _: int | None) -> str:
        if value <= 0:
            return f"{value:g}"
        power = round(math.log10(value))
        if not math.isclose(value, 10.0**power, rel_tol=1e-9):
            return ""
        return f"{value:.10g}" if abs(power) < PLAIN else f"10{str(power).translate(SUPERSCRIPT)}"

    axis.set_major_formatter(FuncFormatter(word))
    axis.set_minor_formatter(NullFormatter())


def draw_legend(
    figure: Figure,
    panels: Iterable[Axes],
    labels: Sequence[str],
    columns: int,
    title: str | None = None,
    place: Literal["outside upper center", "outside upper left"] = "outside upper center",
) -> None:
    """Put one entry a label above the panels, in the order of the labels.

    matplotlib leaves out what is labelled with a leading underscore, as a policy may be called: the
    texts are set afterwards.
    """
    known: dict[str, Any] = {}
    for axes in panels:
        artists: list[Any] = [*axes.lines, *axes.containers]
        known |= {str(each.get_label()): each for each in artists}
    drawn = [label for label in labels if label in known]
    legend = figure.legend(
        [known[label] for label in drawn],
        ["x" * len(label) for label in drawn],
        loc=place,
        ncols=columns,
        title=title,
        title_fontsize=9,
    )
    for text, label in zip(legend.get_texts(), drawn, strict=True):
        text.set_text(label)


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
