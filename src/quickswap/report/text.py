"""Numbers as text: durations in one unit, differences with their sign, dates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from quickswap.logs import JobLog
from quickswap.logs.times import DAY, HOUR, MINUTE
from quickswap.replays import ReplayComparison
from quickswap.statistics.estimates import Estimate

__all__ = [
    "HARD_SPACE",
    "UNITS",
    "Clock",
    "Unit",
    "common_unit",
    "duration",
    "listed",
    "number",
    "percent",
    "share",
]

MINUS, HARD_SPACE = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
LAST = 253_402_000_000
"""Unix time at which calendars end, with the year 9999."""


@dataclass(frozen=True)
class Unit:
    """A unit of time: its symbol, its length in seconds, and its name in the plural."""

    name: str
    seconds: float
    word: str

    def convert(self, estimate: Estimate) -> Estimate:
        """Return an estimate of seconds in this unit."""
        return estimate / self.seconds

    def number(self, estimate: Estimate) -> str:
        """Return an estimate of seconds without the unit: "3.2 ± 0.4"."""
        return number(self.convert(estimate))

    def text(self, estimate: Estimate) -> str:
        """Return an estimate of seconds with the unit: "3.2 ± 0.4 h"."""
        text = self.number(estimate)
        return f"{text}{HARD_SPACE}{self.name}" if math.isfinite(estimate.value) else text

    def size(self, difference: Estimate) -> str:
        """Return the size of a difference, without its sign: "3.2 ± 0.4 h"."""
        return self.text(abs(difference))

    def signed(self, difference: Estimate) -> str:
        """Return a difference with its sign and without the unit: "+3.2 ± 0.4"."""
        text = self.number(difference)
        if text.startswith("-") and text != "-":
            return MINUS + text[1:]
        return f"+{text}" if difference.value > 0 else text

    def plain(self, seconds: float, down: bool = False) -> str:
        """Return a time without interval and unit, with three digits at least: "12.3", "1,240".

        A lower bound is rounded `down`, as a larger number might not be a bound.
        """
        value = seconds / self.seconds
        if not math.isfinite(value):
            return "-"
        decimals = min(max(0, 2 - math.floor(math.log10(abs(value)))), 6) if value else 0
        if down:
            value = math.floor(value * 10**decimals) / 10**decimals
        return f"{value:,.{decimals}f}"


UNITS = (
    Unit("s", 1.0, "seconds"),
    Unit("min", MINUTE, "minutes"),
    Unit("h", HOUR, "hours"),
    Unit("days", DAY, "days"),
)
ENOUGH = (2 * MINUTE, 90 * MINUTE, 100 * HOUR)
"""Seconds from which the next larger unit reads better."""


def common_unit(comparison: ReplayComparison) -> Unit:
    """Return the unit in which most mean response times of some replays are short numbers."""
    means = sorted(
        each.mean_response_time.value
        for each in comparison.results
        if math.isfinite(each.mean_response_time.value)
    )
    middle = means[len(means) // 2] if means else 0.0
    return next((unit for unit in reversed(UNITS) if middle >= 2 * unit.seconds), UNITS[0])


def number(estimate: Estimate) -> str:
    """Return an estimate in which no line breaks: "3.2 ± 0.4"."""
    return str(estimate).replace(" ", HARD_SPACE)


def percent(estimate: Estimate) -> str:
    """Return a share in percent, without the sign: "12.3 ± 1.5"."""
    return number(100 * estimate)


def share(part: float) -> str:
    """Return a share of the jobs or of the work, which is exact: "12 %"."""
    if 0 < part < 0.001:
        return f"under 0.1{HARD_SPACE}%"
    return f"{100 * part:.{0 if part >= 0.01 else 1}f}{HARD_SPACE}%"


def duration(seconds: float) -> str:
    """Return one duration in the unit in which it reads best: "3.2 h"."""
    unit = UNITS[sum(abs(seconds) >= limit for limit in ENOUGH)]
    return f"{seconds / unit.seconds:,.3g}{HARD_SPACE}{unit.name}"


def listed(words: Iterable[str], conjunction: str = "and") -> str:
    """Return "a, b and c"."""
    *most, last = list(words)
    return f"{', '.join(most)} {conjunction} {last}" if most else last


@dataclass(frozen=True)
class Clock:
    """Times of a log as dates, or as days since its first job if it contains no dates.

    Attributes:
        origin: Unix time of time 0; None where dates are not known.
        zone: of the dates.
    """

    origin: float | None
    zone: tzinfo = UTC

    @classmethod
    def of(cls, log: JobLog) -> Clock:
        """Return the clock of a log."""
        last = (log.origin or 0.0) + 4 * log.duration  # a slow policy may end as late as that
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

    def date(self, seconds: float) -> str:
        """Return the date of a time of the log, which must contain dates."""
        assert self.origin is not None
        return f"{datetime.fromtimestamp(self.origin + seconds, self.zone):%d %b %Y}".lstrip("0")
