"""Tells how good a model is: tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickswap._words import counted
from quickswap.estimates import Estimate

if TYPE_CHECKING:
    from quickswap.logs.assessing import Against, ClassGoodness, Goodness

__all__ = ["Table", "sentences", "tables", "text"]

HOUR = 3600
BEND = 1.25
"""Size factors beyond, and below its inverse, are told."""

THICK = 2
"""Factor between the scv of a law and that of the log from which it is told."""


@dataclass(frozen=True)
class Table:
    """A title, the columns, and rows of text; the first column is words."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def tables(found: Goodness) -> list[Table]:
    """Return classes and rates, sizes, and the candidates for their laws."""
    classes = Table(
        "Classes; ± is the half-width of the 95 % interval",
        [
            *("class", "need", "size factor", "jobs", "of jobs", "of load"),
            *("jobs per hour", "model", "dispersion"),
        ],
        [_class(each) for each in found.classes],
    )
    sizes = Table(
        "Sizes in seconds, of the log and of the model",
        [
            *("class", "law", "mean", "model", "scv", "model"),
            *(name for p in ("P50", "P90", "P99") for name in (p, "model")),
            *("KS distance", "by chance"),
        ],
        [_sizes(each) for each in found.classes],
    )
    names = sorted({each.law.law for one in found.classes for each in one.candidates})
    laws = Table(
        "AIC of each law, as what it has more than the best, and its KS distance",
        ["class", *(column for name in names for column in (name, "KS"))],
        [_laws(each, names) for each in found.classes],
    )
    return [classes, sizes, laws] if names else [classes, sizes]


def _class(each: ClassGoodness) -> list[str]:
    rate = each.rate
    return [
        each.name,
        str(each.need),
        f"{each.size_factor:.4g}",
        f"{each.jobs:,}",
        f"{100 * each.job_share:.4g}%",
        f"{100 * each.load_share:.4g}%",
        str(Estimate(HOUR * rate.log.value, HOUR * rate.log.half_width)),
        f"{HOUR * rate.model:.4g}",
        str(each.dispersion),
    ]


def _sizes(each: ClassGoodness) -> list[str]:
    pairs: list[Against] = [each.mean, each.scv, each.p50, each.p90, each.p99]
    values = [text for pair in pairs for text in (str(pair.log), f"{pair.model:,.4g}")]
    return [each.name, each.law.law, *values, _distance(each.ks), _distance(each.ks_chance)]


def _distance(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _laws(each: ClassGoodness, names: list[str]) -> list[str]:
    found = {candidate.law.law: candidate for candidate in each.candidates}
    cells = []
    for name in names:
        known = found.get(name)
        least = each.candidates[0].aic if each.candidates else 0.0
        cells += ["-", "-"] if known is None else [f"{known.aic - least:,.0f}", f"{known.ks:.3f}"]
    return [each.name, *cells]


def sentences(found: Goodness) -> Iterator[str]:
    """Yield what the tables do not show."""
    yield f"Load {found.load.log} in the log, {found.load.model:.6g} in the model."
    yield from _arrivals(found)
    yield from _warnings(found)


def _arrivals(found: Goodness) -> Iterator[str]:
    if found.hours is None:
        yield "The log is shorter than a day: too short to tell whether arrivals are Poisson."
        return
    yield (
        f"Jobs per hour have a variance of {found.dispersion} times their mean; Poisson arrivals, "
        f"as in the model, have 1."
    )
    clock = "" if found.clock else " after the first job, as the log does not say when it began"
    for swing, what in ((found.hours, "hour of the day"), (found.weekdays, "day of the week")):
        if swing is not None:
            (most, high), (least, low) = swing.busiest, swing.quietest
            yield (
                f"By {what}{clock}: from {low} times the mean rate ({least}) to {high} times "
                f"({most}); the model has 1 throughout."
            )


def _warnings(found: Goodness) -> Iterator[str]:
    yield from _rejected(found)
    thick = [each.name for each in found.classes if _off(each) > THICK]
    if thick:
        yield (
            f"Class {', '.join(thick)}: the scv of the law is off by more than a factor of "
            f"{THICK:g}, which moves response times; take size empirical, or another law."
        )
    bent = [each.name for each in found.classes if not 1 / BEND <= each.size_factor <= BEND]
    if bent:
        yield (
            f"Class {', '.join(bent)}: needs differ so much that sizes had to be stretched or "
            f"shortened by more than a quarter to keep the load; take smaller groups."
        )


def _rejected(found: Goodness) -> Iterator[str]:
    """Yield which laws the sizes do not follow."""
    told = [each for each in found.classes if not math.isnan(each.ks)]
    wrong = [each for each in told if each.ks > each.ks_chance]
    if not wrong:
        return
    every = (
        "In every class"
        if len(wrong) == len(told) > 1
        else "Class " + ", ".join(each.name for each in wrong)
    )
    near, far = min(each.ks for each in wrong), max(each.ks for each in wrong)
    reach = f"{far:.2f}" if f"{near:.2f}" == f"{far:.2f}" else f"{near:.2f} to {far:.2f}"
    yield (
        f"{every}: the sizes do not follow the law of the model; the KS distance, {reach}, is more "
        "than chance explains. The law is a rough picture: take size empirical, or replay the log."
    )


def _off(each: ClassGoodness) -> float:
    """Return the factor by which the scv of the model is too large or too small."""
    log, model = each.scv.log.value, each.scv.model
    return max(model / log, log / model) if log > 0 and model > 0 else 1.0


def text(found: Goodness) -> str:
    """Return the whole as plain text."""
    days = counted(found.duration / 86400, "day", ",.4g")
    head = f"{found.source}: {counted(found.jobs, 'job', ',')} in {days}"
    parts = [f"{each.title}\n{_aligned([each.columns, *each.rows])}" for each in tables(found)]
    return "\n\n".join([head, *parts, "\n".join(sentences(found))])


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
