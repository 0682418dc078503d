"""Times as logs write them, parsed by Polars expressions; the same for all formats."""

from __future__ import annotations

from typing import Literal

import polars as pl

__all__ = ["DAY", "FORMS", "HOUR", "MINUTE", "Repeated", "seconds"]

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
"""Seconds."""

FORMS = (
    "2024-03-01, 2024-03-01T08:00, 2024-03-01T08:00:00 (optionally with fractions, Z or +02:00), "
    "or seconds"
)
"""The accepted forms, for messages."""

_PLAIN = "%Y-%m-%dT%H:%M:%S"
_PARTS = (
    r"^(?P<day>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<clock>\d{2}:\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?: ?(?:(?P<zulu>Z|UTC)|(?P<sign>[+-])(?P<hours>\d{2})(?::?(?P<minutes>\d{2}))?))?$"
)
Repeated = Literal["earliest", "latest", "null"]


def seconds(moment: pl.Expr, zone: str, repeated: Repeated = "null") -> pl.Expr:
    """Return Unix times in seconds from numbers of seconds, dates, or dates with a time of day.

    A `T` or a blank separates date and time. Times may have fractions of a second and an offset
    from UTC (`Z`, `+02`, `+0200`, `+02:00`); without an offset they are local in `zone`. Columns of
    Polars dates and times are accepted as well. Unparsable values become null, and so do local
    times that daylight saving skips. `repeated` selects the value of a local time that daylight
    saving repeats.
    """
    return moment.map_batches(lambda each: _seconds(each, zone, repeated), return_dtype=pl.Float64)


def _seconds(moments: pl.Series, zone: str, repeated: Repeated) -> pl.Series:
    """Parse the usual form first, which is fast, and only the other texts by their parts."""
    kind = moments.dtype
    if kind == pl.Date:
        moments, kind = moments.cast(pl.Datetime("us")), pl.Datetime("us")
    if isinstance(kind, pl.Datetime):
        return (
            _local(moments, zone, repeated)
            if kind.time_zone is None
            else moments.dt.epoch("us") / 1e6
        )
    if kind != pl.String:
        return moments.cast(pl.Float64, strict=False)
    naive = moments.str.replace(" ", "T", literal=True).str.to_datetime(
        _PLAIN, time_unit="us", strict=False
    )
    found = _local(naive, zone, repeated)
    odd = naive.is_null() & moments.is_not_null()
    if not odd.any():
        return found
    numbers = moments.cast(pl.Float64, strict=False)
    if (odd & numbers.is_null()).any():
        numbers = pl.select(pl.coalesce(numbers, _by_parts(moments, zone, repeated))).to_series()
    return pl.select(pl.when(odd).then(numbers).otherwise(found)).to_series()


def _local(naive: pl.Series, zone: str, repeated: Repeated) -> pl.Series:
    """Return Unix times in seconds from local times."""
    aware = naive.dt.replace_time_zone(zone, ambiguous=repeated, non_existent="null")
    return aware.dt.epoch("us") / 1e6


def _by_parts(texts: pl.Series, zone: str, repeated: Repeated) -> pl.Series:
    """Return Unix times in seconds from texts in any of the forms."""
    parts = texts.str.extract_groups(_PARTS).struct.unnest()
    frame = parts.select(
        moment=pl.concat_str(
            "day",
            pl.lit("T"),
            pl.col("clock").fill_null("00:00"),
            pl.lit(":"),
            pl.col("second").fill_null("00"),
        ).str.to_datetime(_PLAIN, time_unit="us", strict=False),
        fraction=("0." + pl.col("fraction")).cast(pl.Float64).fill_null(0.0),
        offset=pl.when(pl.col("zulu").is_not_null())
        .then(0.0)
        .otherwise(
            pl.when(pl.col("sign") == "-").then(-1.0).otherwise(1.0)
            * (
                pl.col("hours").cast(pl.Float64) * HOUR
                + pl.col("minutes").cast(pl.Float64).fill_null(0.0) * MINUTE
            )
        ),
    )
    moment, offset = frame["moment"], frame["offset"]
    local = _local(moment, zone, repeated)
    fixed = _local(moment, "UTC", "earliest") - offset
    dated = pl.select(pl.when(offset.is_null()).then(local).otherwise(fixed)).to_series()
    return dated + frame["fraction"]
