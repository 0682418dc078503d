"""The options of `read`, checked before the file is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal
from zoneinfo import ZoneInfo

import polars as pl

from quickswap._check import boolean, factor, items, positive, whole
from quickswap.errors import LogError, unknown

__all__ = ["FORMATS", "SECOND", "Format", "Instant", "Options", "TimeUnit", "Unit", "check_zone"]

Format = Literal["swf", "sacct", "csv", "parquet"]
Unit = Literal["cpu", "node", "gpu"]
TimeUnit = Literal["s", "ms", "us", "ns"]
Instant = float | str | date
"""Seconds after the first submission of the log, or a date and time."""

FORMATS: dict[Format, tuple[str, ...]] = {
    "swf": (),
    "sacct": ("sacct_format", "delimiter"),
    "csv": ("columns", "time_unit"),
    "parquet": ("columns", "time_unit"),
}
"""The formats, each with the options that not all formats have."""
UNITS: tuple[Unit, ...] = ("cpu", "node", "gpu")
SECOND: dict[TimeUnit, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Number of units per second."""


@dataclass(kw_only=True)
class Options:
    """The options of `read`; see there.

    Raises:
        LogError: one of them is invalid.
    """

    format: Format | None
    servers: int | None
    unit: Unit
    partition: object
    timezone: str | None
    columns: Mapping[str, str] | None
    time_unit: TimeUnit | None
    sacct_format: str | None
    delimiter: str | None
    start: Instant | None
    end: Instant | None
    scale_load: float
    smallest_need: int | None
    largest_need: int | None
    smallest_size: float | None
    largest_size: float | None
    strict: bool

    def __post_init__(self) -> None:
        for name, known in (
            ("format", (None, *FORMATS)),
            ("unit", UNITS),
            ("time_unit", (None, *SECOND)),
        ):
            value = getattr(self, name)
            if value not in known:
                unknown(name, value, filter(None, known), LogError, argument=name)
        for name in ("servers", "smallest_need", "largest_need"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, 1, error=LogError, argument=name)
        for name in ("smallest_size", "largest_size"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name, LogError)
        factor(self.scale_load, "scale_load", LogError)
        if self.timezone is not None:
            check_zone(self.timezone)
        names = [self.partition] if isinstance(self.partition, str) else items(self.partition)
        self.partitions = None if names is None else [str(name) for name in names]
        for name, valid, allowed in (
            ("strict", boolean(self.strict), "True or False"),
            (
                "partition",
                self.partition is None or names is not None,
                "a name or a list of names",
            ),
            (
                "columns",
                self.columns is None
                or (
                    isinstance(self.columns, Mapping)
                    and all(isinstance(word, str) for pair in self.columns.items() for word in pair)
                ),
                'names of columns in the file, as in {"size": "runtime"}',
            ),
            ("sacct_format", isinstance(self.sacct_format, str | None), "a text of field names"),
            (
                "delimiter",
                self.delimiter is None or (isinstance(self.delimiter, str) and self.delimiter),
                "the text between fields",
            ),
        ):
            if not valid:
                raise LogError(argument=name, given=getattr(self, name), allowed=allowed)


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
            argument="timezone",
            given=zone,
            allowed="a name of the IANA database, such as Europe/Berlin or UTC",
        ) from error
