"""How logs write times of day, as Polars expressions: one reader for all formats."""

from __future__ import annotations

from typing import Literal

import polars as pl

__all__ = ["FORMS", "ambiguous", "seconds", "skipped"]

FORMS = (
    "2024-03-01, 2024-03-01T08:00, 2024-03-01T08:00:00 (with fractions, Z or +02:00, if need be) "
    "or seconds"
)
"""The forms that are read, for messages."""

_PLAIN = "%Y-%m-%dT%H:%M:%S"
_EPOCH = r"^\d{9,11}(?:\.\d+)?$"
_PARTS = (
    r"^(?P<day>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<clock>\d{2}:\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?: ?(?:(?P<zulu>Z|UTC)|(?P<sign>[+-])(?P<hours>\d{2})(?::?(?P<minutes>\d{2}))?))?$"
)
Repeated = Literal["earliest", "latest"]


def seconds(text: pl.Expr, zone: str, repeated: Repeated = "earliest") -> pl.Expr:
    """Return Unix seconds of a date, of a date and a time of day, or of Unix seconds.

    Times may have a `T` or a blank before them, fractions of a second, and an offset from UTC
    (`Z`, `+02`, `+0200`, `+02:00`); without one they are local in `zone`. A local time in the hour
    that clocks repeat is the first of both, or, for `repeated="latest"`, the second; one in the
    hour that they skip is unknown, as is all else.
    """
    return text.map_batches(lambda each: _seconds(each, zone, repeated), return_dtype=pl.Float64)


def ambiguous(text: pl.Expr, zone: str) -> pl.Expr:
    """Return whether a local time is in the hour that clocks repeat."""
    if zone == "UTC":
        return pl.lit(False)
    return (seconds(text, zone) != seconds(text, zone, "latest")).fill_null(False)


def skipped(text: pl.Expr, zone: str) -> pl.Expr:
    """Return whether a local time is in the hour that clocks skip: there is no such time."""
    if zone == "UTC":
        return pl.lit(False)
    return seconds(text, "UTC").is_not_null() & seconds(text, zone).is_null()


def _seconds(texts: pl.Series, zone: str, repeated: Repeated) -> pl.Series:
    """Read the usual form fast, and only what is not of that form by its parts."""
    naive = texts.str.replace(" ", "T", literal=True).str.to_datetime(
        _PLAIN, time_unit="us", strict=False
    )
    found = _local(naive, zone, repeated)
    odd = naive.is_null() & texts.is_not_null()
    if odd.any():
        rest = pl.when(odd).then(_by_parts(texts, zone, repeated)).otherwise(found)
        return pl.select(rest).to_series().rename(texts.name)
    return found.rename(texts.name)


def _local(naive: pl.Series, zone: str, repeated: Repeated) -> pl.Series:
    """Return Unix seconds of local times."""
    aware = naive.dt.replace_time_zone(zone, ambiguous=repeated, non_existent="null")
    return aware.dt.epoch("us") / 1e6


def _by_parts(texts: pl.Series, zone: str, repeated: Repeated) -> pl.Series:
    """Return Unix seconds of texts of any form."""
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
                pl.col("hours").cast(pl.Float64) * 3600
                + pl.col("minutes").cast(pl.Float64).fill_null(0.0) * 60
            )
        ),
    )
    moment, offset = frame["moment"], frame["offset"]
    local = _local(moment, zone, repeated)
    fixed = _local(moment, "UTC", "earliest") - offset
    dated = pl.select(pl.when(offset.is_null()).then(local).otherwise(fixed)).to_series()
    unix = pl.select(pl.when(texts.str.contains(_EPOCH)).then(texts)).to_series()
    return pl.select(
        pl.coalesce(dated + frame["fraction"], unix.cast(pl.Float64, strict=False))
    ).to_series()
