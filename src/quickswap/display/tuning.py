"""The result of tuning as text and a table."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quickswap._tables import Page, TextTable
from quickswap._words import counted
from quickswap.display.simulations import unknown_intervals
from quickswap.display.systems import heading
from quickswap.theory import lower_bound
from quickswap.tuning.metrics import METRICS
from quickswap.tuning.result import Standing

if TYPE_CHECKING:
    from quickswap.statistics.estimates import Estimate
    from quickswap.tuning.result import Tuning, TuningRow

__all__ = ["tuning_page"]

MOST = 40
"""Maximum number of rows of the table."""
LONG = 60
"""Length, in characters, from which the order of classes in a label is abbreviated."""


def tuning_page(found: Tuning, model: str = "system") -> Page:
    """Return the best policy, its margin, and a line for each candidate."""
    columns = ["policy", "compared with the best", "value", "above the best", "jobs"]
    alike = Counter(each.alike for each in found.rows if each.alike)
    leading = [each for each in found.rows if not each.alike]
    rows = [_cells(each, alike[each.label]) for each in leading[:MOST]]
    return [
        heading(model, found.system),
        f"{METRICS[found.metric]}, seconds, ± is the 95 % half-width",
        "",
        *_headline(found),
        "",
        TextTable(columns, rows, text=2),
        *_notes(found, len(leading), alike, rows),
    ]


def _notes(
    found: Tuning, leading: int, alike: Counter[str], rows: list[list[str]]
) -> Iterator[str]:
    """Yield the lines below the table."""
    if leading > MOST:
        yield f"and {leading - MOST} more: see --csv, or to_frame() in Python"
    share = f"{100 * found.indifference:g} %"
    yield ""
    yield f"not significantly different: significantly less than {share} above the best"
    if found.inconclusive:
        yield "inconclusive: the jobs do not suffice to decide this; allow more jobs"
    if alike:
        yield "+ 2 alike: two more candidates took the same decisions on all jobs"
    if found.checked and not found.exact:
        yield "the values in the table are from the race, those above it from fresh jobs"
    yield from unknown_intervals(cell for row in rows for cell in row)
    for each in found.rows:
        label = _short(each.label)
        if each.standing is Standing.UNSTABLE:
            yield f"{label} is unstable: {each.reason}"
        elif each.standing is Standing.INCONCLUSIVE and each.reason and not each.alike:
            yield f"the runs of {label} are too short: {each.reason}"
        elif each.fresh and not each.alike:
            yield f"{label} is {each.standing} on the fresh jobs; the race was inconclusive"
    if not found.simulations:
        yield "all values are exact; no simulation was needed"
        return
    old = found.simulations - found.ran
    kept = f", {old:,} of which were in the store" if old > 0 else ""
    yield (
        f"{counted(found.jobs, 'job', ',')} of at most {found.budget:,} in "
        f"{counted(found.rounds, 'round')}, {counted(found.simulations, 'simulation', ',')}{kept}"
    )


def _headline(found: Tuning) -> list[str]:
    """Return the lines above the table."""
    if found.winner is None:
        return ["undecided: the runs of the apparent best are too short; allow more jobs"]
    kind = " (exact)" if found.exact else "" if found.checked else " (on the jobs of the race)"
    lines = [("best", f"{found.winner_label}: {found.value}{kind}"), ("write it as", found.winner)]
    if found.metric == "weighted":
        bound = lower_bound(found.system, found.winner)
        weak = ", the weighted mean size" if bound < lower_bound(found.system) else ""
        lines.append(("waste", f"{found.value - bound} above the lower bound {bound:.6g}{weak}"))
    if found.alike:
        lines.append(("no different", ", ".join(_few(found.alike))))
    if found.inconclusive:
        lines.append(("inconclusive", ", ".join(_few(found.inconclusive))))
    if found.doubt:
        lines.append(("doubt", found.doubt))
    if found.next is not None:
        alike = ", not significantly different" if found.next in found.alike else ""
        lines.append(("next", f"{_short(found.next)}: {_signed(found.margin)}{alike}"))
    if (found.default_cost.value, found.default_cost.half_width) == (0, 0):
        lines.append(("simple default", f"{found.default_label}, which is the best"))
    else:
        cost = "unstable, or not measured"
        if not math.isnan(found.default_cost.value):
            share = 100 * found.default_excess
            cost = f"{_signed(found.default_cost)}, or {_signed(share)} %"
        lines.append(("simple default", f"{found.default_label}: {cost}"))
    width = max(len(name) for name, _ in lines)
    return [f"{name:{width}}  {text}" for name, text in lines]


def _few(labels: tuple[str, ...], most: int = 4) -> list[str]:
    if len(labels) <= most + 1:
        return list(map(_short, labels))
    return [*map(_short, labels[:most]), f"and {len(labels) - most} more"]


def _signed(estimate: Estimate) -> str:
    """Return an estimate with its sign; an exact one with three digits."""
    if estimate.half_width == 0:
        return f"{estimate.value:+.3g}"
    return f"+{estimate}" if estimate.value > 0 else str(estimate)


def _cells(row: TuningRow, alike: int) -> list[str]:
    value = "-" if math.isnan(row.value.value) else f"{row.value}"
    best = row.standing is Standing.BEST
    above = "" if best or math.isnan(row.above.value) else _signed(row.above)
    label = _short(row.label) + (f" + {alike} alike" if alike else "")
    return [label, row.standing, value, above, "exact" if row.exact else f"{row.jobs:,}"]


def _short(label: str) -> str:
    """Return a label, with a long order of classes shortened to its ends."""
    if len(label) <= LONG:
        return label
    return re.sub(r"(order \w+\+\w+\+)[^,)]*(\+\w+)(?=[,)])", r"\1...\2", label)
