"""The picture of who gains and who loses: a line a group, as SVG of our own.

A report holds dozens of them, of which a plotting library would take most of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from quickswap.report.gains import Gain
from quickswap.report.markup import Markup, tag
from quickswap.report.words import MINUS, Unit, certain

__all__ = ["forest"]

WIDTH, ROW, TOP, BOTTOM, RIGHT = 440.0, 22.0, 26.0, 44.0, 12.0
"""Pixels at which letters are as large as elsewhere in the page."""
LETTER = 6.6
"""Width of a letter, at most."""
MOST_LETTERS = 18
TICKS = 7
LOOKS = {
    "open": ("#444444", "white"),
    "gain": ("#0072B2", "#0072B2"),
    "loss": ("#D55E00", "#D55E00"),
}
"""Colours of line and mark of who may go either way, gains, and loses."""


def forest(rows: Sequence[Gain], policy: str, words: str, unit: Unit) -> Markup:
    """Draw the difference of the mean wait of each group, with its interval.

    Args:
        rows: groups, one of them at least with a difference.
        policy: that makes the difference.
        words: what the picture shows, for those who cannot see it.
        unit: of time.
    """
    shown = [row for row in rows if row.gap is not None and math.isfinite(row.gap.value)]
    spans = [_span(row, unit) for row in shown]
    low, high = min(0.0, *(a for a, _, _ in spans)), max(0.0, *(b for _, _, b in spans))
    ticks = _ticks(low, high)
    left = 14 + LETTER * max(len(_short(row.name)) for row in shown)
    bottom = TOP + ROW * len(shown)

    def at(value: float) -> str:
        share = (value - low) / (high - low or 1.0)
        return f"{left + 8 + share * (WIDTH - RIGHT - left - 16):.1f}"

    parts = [_text(policy, 0, 14, font_weight="bold")]
    for tick in ticks:
        parts.append(_line(at(tick), TOP, at(tick), bottom, "#dddddd"))
        parts.append(_text(_number(tick), at(tick), bottom + 16, text_anchor="middle"))
    parts.append(_line(at(0.0), TOP, at(0.0), bottom, "black"))
    for place, (row, span) in enumerate(zip(shown, spans, strict=True)):
        y = TOP + ROW * (place + 0.5)
        parts.append(_text(_short(row.name), left, y + 4, text_anchor="end"))
        parts += _mark(row, [at(value) for value in span], y)
    parts.append(_line(left, bottom, WIDTH - RIGHT, bottom, "black"))
    axis = f"shorter  ←  change of the mean wait [{unit.name}]  →  longer"
    parts.append(_text(axis, (left + WIDTH) / 2, bottom + 36, text_anchor="middle"))
    size = f"0 0 {WIDTH:g} {bottom + BOTTOM:g}"
    return tag("svg", *parts, role="img", aria_label=words, viewBox=size, font_size=12)


def _span(row: Gain, unit: Unit) -> tuple[float, float, float]:
    """Return lower end, value and upper end of a difference; all the value where it has no ends."""
    assert row.gap is not None
    gap = unit.of(row.gap)
    width = 0.0 if math.isnan(gap.half_width) else gap.half_width
    return gap.value - width, gap.value, gap.value + width


def _mark(row: Gain, xs: Sequence[str], y: float) -> list[Markup]:
    """Draw an interval, and a mark at the value: an arrow where it is clear, else a ring."""
    assert row.gap is not None
    clear = certain(row.gap)
    colour, inside = LOOKS["open" if not clear else "gain" if row.gap.value < 0 else "loss"]
    low, value, high = xs
    parts = [_line(low, y, high, y, colour)]
    parts += [_line(end, y - 4, end, y + 4, colour) for end in (low, high)]
    if not clear:
        return [*parts, tag("circle", cx=value, cy=f"{y:g}", r=4, fill=inside, stroke=colour)]
    tip = -5 if row.gap.value < 0 else 5
    x = float(value)
    corners = f"{x + tip:.1f},{y:g} {x - tip:.1f},{y - 5:g} {x - tip:.1f},{y + 5:g}"
    return [*parts, tag("polygon", points=corners, fill=colour)]


def _ticks(low: float, high: float) -> list[float]:
    """Return at most so many round numbers of a range that holds 0."""
    rough = (high - low) / (TICKS - 1) or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * i for i in range(first, last + 1)]


def _number(value: float) -> str:
    return f"{value:,.6g}".replace("-", MINUS) if value else "0"


def _line(x1: object, y1: object, x2: object, y2: object, colour: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour)


def _text(text: str, x: object, y: object, **attributes: object) -> Markup:
    return tag("text", text, x=x, y=y, **attributes)


def _short(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
