"""Numbers as a reader wants them: durations in one unit, differences with their sign, dates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from quickswap.logs import JobLog
from quickswap.replays import ReplayComparison
from quickswap.statistics.estimates import Estimate

__all__ = [
    "Clock",
    "Unit",
    "amount",
    "certain",
    "common_unit",
    "duration",
    "listed",
    "percent",
    "signed",
    "significant",
    "unit_of",
]

MINUS, HARD_SPACE = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
LAST = 253_402_000_000
"""Unix time at which calendars end, with the year 9999."""


@dataclass(frozen=True)
class Unit:
    """A unit of time: how it is written, how many seconds it has, and its whole name."""

    name: str
    seconds: float
    word: str

    def of(self, estimate: Estimate) -> Estimate:
        """Return an estimate of seconds in this unit."""
        return estimate.over(self.seconds)

    def told(self, estimate: Estimate) -> str:
        """Return an estimate of seconds in words: "3.2 ± 0.4 h"."""
        text = str(self.of(estimate))
        if not math.isfinite(estimate.value):
            return text
        return f"{text} {self.name}".replace(" ", HARD_SPACE)

    def plain(self, seconds: float) -> str:
        """Return a time that has no interval, without the unit: "1,240"."""
        return significant(seconds / self.seconds)

    def signed(self, estimate: Estimate) -> str:
        """Return a difference of seconds, with its sign and without the unit."""
        return signed(self.of(estimate))


UNITS = (
    Unit("s", 1.0, "seconds"),
    Unit("min", 60.0, "minutes"),
    Unit("h", 3600.0, "hours"),
    Unit("days", 86400.0, "days"),
)
ENOUGH = (120.0, 90 * 60.0, 100 * 3600.0)
"""Seconds from which the next larger unit reads better."""


def unit_of(values: Iterable[float]) -> Unit:
    """Return the unit in which some durations, seconds, read best together."""
    known = sorted(abs(value) for value in values if math.isfinite(value) and value != 0)
    typical = math.sqrt(known[len(known) // 2] * known[-1]) if known else 0.0
    return UNITS[sum(typical >= limit for limit in ENOUGH)]


def common_unit(comparison: ReplayComparison) -> Unit:
    """Return the unit in which most mean response times of some replays are short numbers."""
    means = sorted(
        each.mean_response_time.value
        for each in comparison.results
        if math.isfinite(each.mean_response_time.value)
    )
    middle = means[len(means) // 2] if means else 0.0
    return next((unit for unit in reversed(UNITS) if middle >= 2 * unit.seconds), UNITS[0])


def significant(value: float) -> str:
    """Return a number with three digits or all before the point: "0.0123", "12.3", "1,240"."""
    if not math.isfinite(value):
        return "-"
    decimals = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(0, decimals), 6)}f}"


def duration(seconds: float) -> str:
    """Return one duration in its own unit: "3.2 h"."""
    unit = unit_of([seconds])
    return f"{seconds / unit.seconds:,.3g}{HARD_SPACE}{unit.name}"


def amount(seconds: float) -> str:
    """Return how long the machine works at something: "a day", or "3.2 h"."""
    return "a day" if seconds == 86400 else duration(seconds)


def signed(estimate: Estimate) -> str:
    """Return a difference: with a sign in front of it."""
    text = str(estimate)
    if text.startswith("-") and text != "-":
        return MINUS + text[1:]
    return f"+{text}" if estimate.value > 0 else text


def percent(estimate: Estimate) -> str:
    """Return a share, in percent and without the sign."""
    return str(estimate.over(0.01))


def certain(difference: Estimate) -> bool:
    """Whether the interval of a difference leaves out 0."""
    return difference.low > 0 or difference.high < 0


def listed(words: Iterable[str]) -> str:
    """Return "a, b and c"."""
    *most, last = list(words)
    return f"{', '.join(most)} and {last}" if most else last


@dataclass(frozen=True)
class Clock:
    """Times of a log as dates, or as days since its first job where it tells no dates.

    Attributes:
        origin: Unix time of time 0; None where dates are not known.
        zone: of the dates.
    """

    origin: float | None
    zone: tzinfo = UTC

    @classmethod
    def of(cls, log: JobLog) -> Clock:
        """Return the clock of a log."""
        last = (log.origin or 0.0) + 4 * log.duration  # what a slow policy leaves to the end
        known = log.origin is not None and log.origin > 0 and last < LAST
        try:
            zone: tzinfo = ZoneInfo(log.zone) if log.zone else UTC
        except (ValueError, OSError, KeyError):
            zone = UTC
        return cls(log.origin if known else None, zone)

    @property
    def name(self) -> str:
        """The time zone."""
        return str(getattr(self.zone, "key", "UTC"))

    def told(self, seconds: float) -> str:
        """Return a time of the log."""
        if self.origin is None:
            return f"day {seconds / 86400:.1f}"
        return f"{datetime.fromtimestamp(self.origin + seconds, self.zone):%d %b %Y}".lstrip("0")
