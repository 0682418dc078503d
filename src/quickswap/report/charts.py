"""Drawings of a report, as SVG inside the page, in the style of `quickswap.plotting`."""

from __future__ import annotations

import html
import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quickswap.plotting.marks import draw_legend, look_of
from quickswap.plotting.style import COLOURS, own_settings
from quickswap.report.markup import Markup
from quickswap.report.words import Clock

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Line", "bars", "lines", "tails"]

Floats = NDArray[np.float64]
Line = tuple[str, int, Floats, Floats]
"""Label, number of the style, x and y."""

NARROW, WIDE = 4.6, 5.2
"""Inches: so little that the letters can be read where the page is as narrow as a telephone."""
WORK = "work (servers times time)"
TICKS = (1.0, 60.0, 3600.0, 86400.0, 864e3, 864e4)
TICK_NAMES = ("1 s", "1 min", "1 h", "1 d", "10 d", "100 d")
_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "svg.fonttype": "none",
    "axes.unicode_minus": True,
}
_IN_TEXT = re.compile(r"<metadata>.*?</metadata>|<style type=\"text/css\">.*?</style>", re.DOTALL)


class _Canvas:
    """A figure that has become an SVG text once its block is left."""

    def __init__(self, figure: Figure, axes: Axes) -> None:
        self.figure, self.axes = figure, axes
        self.svg = Markup("")


@contextmanager
def _drawn(name: str, words: str, width: float, height: float) -> Iterator[_Canvas]:
    """Give a figure to be drawn in, and turn it into SVG.

    Args:
        name: keeps the identifiers of its parts apart from those of other drawings.
        words: what it shows, for those who cannot see it.
        width, height: inches.
    """
    with own_settings(_STYLE | {"svg.hashsalt": name}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height))
        canvas = _Canvas(figure, figure.subplots())
        yield canvas
        text = io.StringIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # the reader's fonts have it
            figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    canvas.svg = _inline(text.getvalue(), words)


def _inline(text: str, words: str) -> Markup:
    """Return the SVG of matplotlib as an element of a page."""
    text = _IN_TEXT.sub("", text[text.index("<svg") :])
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href", "href")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(words)}" ', 1)
    return Markup(re.sub(r"\n\s*", "\n", text).strip())


def _line(number: int) -> dict[str, Any]:
    return look_of(number) | {"marker": ""}


def _legend(canvas: _Canvas, labels: Sequence[str]) -> None:
    if labels:
        columns = 2 if len(labels) > 1 else 1
        draw_legend(canvas.figure, [canvas.axes], labels, columns, place="outside upper left")


def tails(curves: Sequence[Line], name: str, words: str) -> Markup:
    """Draw which share of the jobs waits longer than a time, on log axes."""
    with _drawn(name, words, NARROW, 3.4) as canvas:
        axes = canvas.axes
        for label, style, x, y in curves:
            axes.plot(x, y, label=label, drawstyle="steps-post", **_line(style))
        axes.set_xscale("log")
        axes.set_yscale("log")
        ends = [float(x[-1]) for _, _, x, _ in curves if len(x)]
        high = max([*ends, 60.0]) * 1.3
        least = min((float(y[-1]) for _, _, _, y in curves if len(y)), default=0.1)
        axes.set_ylim(10 ** math.floor(math.log10(least)), 1.1)
        ticks = [(t, n) for t, n in zip(TICKS, TICK_NAMES, strict=True) if t <= high]
        axes.set_xlim(1.0, high)
        axes.set_xticks([t for t, _ in ticks], [n for _, n in ticks])
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        axes.minorticks_off()
        axes.set_xlabel("wait")
        axes.set_ylabel("share of jobs that wait longer")
        _legend(canvas, [label for label, *_ in curves])
    return canvas.svg


def lines(
    curves: Sequence[Line], name: str, words: str, label: str, clock: Clock, steps: bool = False
) -> Markup:
    """Draw quantities over the time of the log; x in seconds."""
    with _drawn(name, words, WIDE, 2.9) as canvas:
        axes = canvas.axes
        for who, style, x, y in curves:
            kind = "steps-post" if steps else "default"
            axes.plot(_times(x, clock), y, label=who, drawstyle=kind, linewidth=1.1, **_line(style))
        _time_axis(axes, clock)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        _legend(canvas, [label for label, *_ in curves])
    return canvas.svg


def _times(x: Floats, clock: Clock) -> Floats:
    """Return matplotlib's dates, which are days since 1970, or days since the first job."""
    return (x + (clock.origin or 0.0)) / 86400


def _time_axis(axes: Axes, clock: Clock) -> None:
    if clock.origin is None:
        axes.set_xlabel("days since the first job")
        return
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator(tz=clock.zone, minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator, tz=clock.zone))


def bars(names: Sequence[str], jobs: Floats, work: Floats, title: str, name: str) -> Markup:
    """Draw the shares of the jobs and of the work, side by side."""
    words = f"{title}: shares of the jobs and of the work"
    with _drawn(name, words, NARROW, 1.3 + 0.36 * len(names)) as canvas:
        axes, places = canvas.axes, np.arange(len(names))
        axes.barh(places - 0.2, 100 * jobs, 0.36, label="jobs", color=COLOURS[5])
        axes.barh(places + 0.2, 100 * work, 0.36, label=WORK, color=COLOURS[0])
        axes.set_axisbelow(True)
        axes.set_yticks(places, list(names))
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("%")
        axes.set_ylabel(title)
        _legend(canvas, ["jobs", WORK])
    return canvas.svg
