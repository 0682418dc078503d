"""The options of `read`, checked before the file is opened."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Literal
from zoneinfo import ZoneInfo

import polars as pl

from quickswap._check import factor, positive, real, whole
from quickswap.errors import shown, unknown
from quickswap.logs.errors import LogError

__all__ = ["SECOND", "Instant", "Options", "TimeUnit", "Unit", "check_zone", "instant"]

Unit = Literal["cpu", "node", "gpu"]
TimeUnit = Literal["s", "ms", "us", "ns"]
SECOND: dict[str, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Number of units per second."""
Instant = float | str | date
"""Seconds after the first submission of the log, or a date and time."""


@dataclass(frozen=True)
class Options:
    """The selections of `read`."""

    servers: int | None
    unit: str
    partition: tuple[str, ...] | None
    timezone: str | None
    time_unit: TimeUnit | None
    start: Instant | None
    end: Instant | None
    scale_load: float
    need: tuple[int | None, int | None]
    size: tuple[float | None, float | None]

    def __post_init__(self) -> None:
        if self.unit not in ("cpu", "node", "gpu"):
            unknown("unit", self.unit, ("cpu", "node", "gpu"), LogError)
        if self.time_unit not in (None, *SECOND):
            unknown("time_unit", self.time_unit, tuple(SECOND), LogError)
        if self.servers is not None:
            whole(self.servers, "servers", 1, error=LogError)
        factor(self.scale_load, "scale_load", LogError)
        for value, which in zip(self.need, ("smallest", "largest"), strict=True):
            if value is not None:
                whole(value, f"{which}_need", 1, error=LogError)
        for size, which in zip(self.size, ("smallest", "largest"), strict=True):
            if size is not None:
                positive(size, f"{which}_size", LogError)
        if self.timezone is not None:
            check_zone(self.timezone)


def check_zone(zone: str) -> None:
    """Check a time zone.

    Raises:
        LogError: it is not in the IANA database.
    """
    try:
        ZoneInfo(zone)
        pl.Series([datetime(2000, 1, 1)]).dt.replace_time_zone(zone)
    except (ValueError, OSError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise LogError(
            f"unknown time zone: {zone!r}; give a name of the IANA database, such as Europe/Berlin "
            "or UTC."
        ) from error


def _local(moment: datetime, what: str, zone: str) -> datetime:
    """Return a local time in a zone: the earlier if it occurs twice.

    Raises:
        LogError: daylight saving skips it.
    """
    result = moment.replace(tzinfo=ZoneInfo(zone))
    if result.astimezone(UTC).astimezone(result.tzinfo).replace(tzinfo=None) != moment:
        raise LogError(
            f"{what} is {moment.isoformat()}, which does not exist in {zone}: daylight saving "
            "skips this hour; give a time before or after it."
        )
    return result


def instant(
    value: Instant, what: str, first: float, clock: float | None, zone: str | None
) -> float:
    """Return a time on the clock of the log, in seconds.

    Raises:
        LogError: the value is not a time, or it is a date and the log contains no dates.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise LogError(
                f"{what} is {value!r}; give a date such as 2016-12-24 or 2016-12-24T18:00, or "
                "seconds after the first submission."
            ) from error
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        if moment.tzinfo is None:
            moment = _local(moment, what, zone or "UTC")
        if clock is None:
            raise LogError(
                f"{what} is a date, but the log contains no dates; give seconds after the first "
                "submission."
            )
        return moment.timestamp() - clock
    seconds = real(value)
    if seconds is None or not math.isfinite(seconds):
        raise LogError(
            f"{what} must be a date or a finite number of seconds after the first submission, not "
            f"{shown(value)}."
        )
    return first + seconds
