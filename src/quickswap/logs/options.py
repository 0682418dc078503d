"""The options of `read`, checked before the file is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import Literal, NoReturn, TypedDict
from zoneinfo import ZoneInfo

from quickswap._check import factor, flag, items, positive, whole
from quickswap.errors import LogError, invalid, unknown
from quickswap.model.system import MOST_SERVERS

__all__ = ["FORMATS", "SECOND", "Format", "Options", "ReadOptions", "TimeUnit", "check_zone"]

Format = Literal["swf", "sacct", "csv", "parquet"]
Unit = Literal["cpu", "node", "gpu"]
TimeUnit = Literal["s", "ms", "us", "ns"]
Arrival = Literal["eligible", "submit"]
Instant = float | str | date
"""Seconds after the first submission of the log, or a date and time."""

FORMATS: dict[Format, tuple[str, ...]] = {
    "swf": (),
    "sacct": ("sacct_format", "delimiter"),
    "csv": ("columns", "time_unit"),
    "parquet": ("columns", "time_unit"),
}
"""The formats, each with the options that not all formats have."""
ARRIVALS: tuple[Arrival, ...] = ("eligible", "submit")
UNITS: tuple[Unit, ...] = ("cpu", "node", "gpu")
POOL_COLUMNS = ("partition", "queue", "class")
"""Columns of a log whose values can be pools."""
JOINED = "+"
"""Separator of partitions (queues, classes) that share servers and are one pool."""
SECOND: dict[TimeUnit, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Number of units per second."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `read`, which describes them.

    Raises:
        LogError: one of them is invalid.
    """

    format: Format | None = None
    servers: int | None = None
    pool: Mapping[str, int] | None = None
    pools: str | None = None
    partitions: str | Path | None = None
    arrival: Arrival = "eligible"
    unit: Unit = "cpu"
    partition: str | Sequence[str] | None = None
    timezone: str | None = None
    start: Instant | None = None
    end: Instant | None = None
    scale_load: float = 1.0
    smallest_need: int | None = None
    largest_need: int | None = None
    smallest_size: float | None = None
    largest_size: float | None = None
    sacct_format: str | None = None
    delimiter: str | None = None
    columns: Mapping[str, str] | None = None
    time_unit: TimeUnit | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        for name, known in (
            ("format", (None, *FORMATS)),
            ("unit", UNITS),
            ("arrival", ARRIVALS),
            ("time_unit", (None, *SECOND)),
            ("pools", (None, *POOL_COLUMNS)),
        ):
            value = getattr(self, name)
            if value not in known:
                unknown(name, value, filter(None, known), LogError, argument=name)
        for name in ("servers", "smallest_need", "largest_need"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, 1, error=LogError)
        for name in ("smallest_size", "largest_size"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name, LogError)
        factor(self.scale_load, "scale_load", LogError)
        if self.timezone is not None:
            check_zone(self.timezone)
        self._check_pools()
        columns = self.columns
        flag(self.strict, "strict", LogError)
        if self.partition is not None and self.selected is None:
            self._refuse("partition", "a name or a list of names")
        if columns is not None and not (
            isinstance(columns, Mapping)
            and all(isinstance(word, str) for word in chain.from_iterable(columns.items()))
        ):
            self._refuse("columns", 'names of columns in the file, as in {"size": "runtime"}')
        if not isinstance(self.sacct_format, str | None):
            self._refuse("sacct_format", "a text of field names")
        if not isinstance(self.delimiter, str | None) or self.delimiter == "":
            self._refuse("delimiter", "the text between fields")

    def _check_pools(self) -> None:
        if self.pool is None:
            return
        if not isinstance(self.pool, Mapping) or not self.pool:
            self._refuse("pool", 'servers of pools, as in {"gpu": 64}')
        for size in self.pool.values():
            whole(size, "pool", 1, MOST_SERVERS, LogError)
        names = [each for name in self.pool for each in str(name).split(JOINED)]
        if not all(names) or len(set(names)) < len(names):
            self._refuse("pool", f"each name once, and `{JOINED}` between names of one pool")

    @property
    def selected(self) -> list[str] | None:
        """Names of the partitions to read; None for all."""
        names = [self.partition] if isinstance(self.partition, str) else items(self.partition)
        return None if names is None else [str(name) for name in names]

    def _refuse(self, name: str, allowed: str) -> NoReturn:
        raise invalid(name, getattr(self, name), allowed, LogError)


def check_zone(zone: str) -> None:
    """Check a time zone.

    Raises:
        LogError: it is not in the IANA database.
    """
    import polars as pl  # not for the help of the commands

    try:
        ZoneInfo(zone)
        pl.Series([datetime(2000, 1, 1)]).dt.replace_time_zone(zone)
    except (ValueError, OSError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise invalid(
            "timezone", zone, "a name of the IANA database, such as Europe/Berlin or UTC", LogError
        ) from error


class ReadOptions(TypedDict, total=False):
    """The fields of `Options` but the format as keyword arguments, for type checkers."""

    servers: int | None
    pool: Mapping[str, int] | None
    pools: str | None
    partitions: str | Path | None
    arrival: Arrival
    unit: Unit
    partition: str | Sequence[str] | None
    timezone: str | None
    start: Instant | None
    end: Instant | None
    scale_load: float
    smallest_need: int | None
    largest_need: int | None
    smallest_size: float | None
    largest_size: float | None
    sacct_format: str | None
    delimiter: str | None
    columns: Mapping[str, str] | None
    time_unit: TimeUnit | None
    strict: bool
