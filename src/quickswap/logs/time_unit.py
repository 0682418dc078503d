"""The time unit of tables whose times are plain numbers, which do not contain their unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from quickswap.errors import LogError
from quickswap.logs import values
from quickswap.logs.daylight_saving import TIME_FIELDS
from quickswap.logs.options import SECOND, TimeUnit
from quickswap.logs.quality import Tally
from quickswap.logs.times import DAY

__all__ = ["PlainTimes"]

_TIMES = (*TIME_FIELDS, "size", "wait", "estimate")
_NO_SECONDS = 1e11
"""Unix time in the year 5138; the times of a log are smaller."""
_LONG, _WIDE = 10 * DAY, 20 * 365.25 * DAY
"""Median size and time span in seconds above which the unit is probably not seconds."""
_LOOKED, _ROUND = 1000, 20
"""Rows of a block that are examined, and fewest rows for which multiples of 1000 are reported."""


class PlainTimes:
    """The times of a table that are plain numbers, in one unit."""

    def __init__(self, path: Path, unit: TimeUnit | None) -> None:
        """`unit`: None is seconds, unless these are implausible."""
        self._path = path
        self._unit = unit
        self._plain: set[str] = set()

    def seconds(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a block with plain times in seconds.

        Raises:
            LogError: no unit is given, and the times cannot be Unix times in seconds.
        """
        kinds = frame.schema
        timed = [
            name
            for name in _TIMES
            if name in kinds and (kinds[name].is_numeric() or kinds[name] == pl.String)
        ]
        if self._unit is None:
            self._check_moments(frame.select(timed))
        per = SECOND[self._unit or "s"]
        if per == 1:
            return frame
        changed = []
        for name in timed:
            column = pl.col(name)
            if kinds[name].is_numeric():
                changed.append(column / per)
            else:
                number = values.number(column)
                scaled = (number / per).cast(pl.String)
                changed.append(pl.when(number.is_null()).then(column).otherwise(scaled))
        return frame.with_columns(changed)

    def _check_moments(self, frame: pl.DataFrame) -> None:
        for column in frame.head(_LOOKED).cast(pl.Float64, strict=False):
            numbers = column.filter(column.is_finite())
            if numbers.is_empty():
                continue
            self._plain.add(column.name)
            middle: Any = numbers.median()
            unit = next((unit for unit in SECOND if middle / SECOND[unit] < 1e10), None)
            if column.name in TIME_FIELDS and middle >= _NO_SECONDS and unit is not None:
                self._refuse(
                    f"the median of {column.name} is {middle:.0f}, not a Unix time in seconds", unit
                )

    def check(self, frame: pl.DataFrame, tally: Tally) -> None:
        """Check the unit on all jobs of the table.

        Raises:
            LogError: no unit is given, and seconds are implausible.
        """
        if self._unit is not None or not self._plain or frame.is_empty():
            return
        size, submit = frame["size"], frame["submit"]
        middle: Any = size.median()
        times = submit.to_numpy()
        span = float(times.max() - times.min())
        sized = not self._plain.isdisjoint(("size", "end"))
        long = middle > _LONG and sized
        if long or (span > _WIDE and "submit" in self._plain):
            fits = (u for u in SECOND if middle / SECOND[u] <= _LONG and span / SECOND[u] <= _WIDE)
            why = (
                f"the median run time is {middle / DAY:,.0f} days"
                if long
                else f"the log spans {span / (365.25 * DAY):,.0f} years"
            )
            self._refuse(f"with times in seconds, {why}", next(fits, "ms"))
        if (
            frame.height >= _ROUND
            and submit.n_unique() > 1
            and sized
            and "submit" in self._plain
            and (submit % 1000 == 0).all()
            and (size.filter(size > 1) % 1000 == 0).all()
        ):
            tally.facts.append(
                "All times are multiples of 1000; if they are milliseconds, give the time unit ms."
            )

    def _refuse(self, why: str, unit: TimeUnit) -> NoReturn:
        word = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
        raise LogError(
            f"{self._path}: {why}",
            argument="time_unit",
            allowed=", ".join(SECOND),
            advice=f"give {{time_unit:{unit}}} if the times are {word[unit]}, or {{time_unit:s}} "
            "if they are seconds",
        )
