"""Numbers, durations, states and missing values in logs, parsed by Polars expressions."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from quickswap.logs.times import DAY, HOUR, MINUTE

__all__ = [
    "NOT_LOGGED",
    "NO_LIMIT",
    "count",
    "duration",
    "known",
    "limit",
    "number",
    "state",
    "tres",
]

NOT_LOGGED = frozenset(
    [
        *("", "-", "--", "?", "na", "n/a", "#n/a", "n.a.", "<na>", "nan", "nat", "nil", "none"),
        *("null", "(null)", "<null>", "\\n", "unknown", "undefined", "missing"),
    ]
)
"""Texts for a missing value, in lower case; the same in every field."""

NO_LIMIT = frozenset(["unlimited", "infinite", "inf", "partition_limit", "invalid"])
"""Texts for a job without a time limit, in lower case."""

_DURATION = r"^(?:(\d{1,6})(?:-| days?,? ))?(?:(\d{1,6}):)?(\d{1,6}):(\d{1,2}(?:\.\d+)?)$"
_SUFFIXES = {"K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_STATES = {"canceled": "cancelled", "ca": "cancelled", "pd": "pending", "r": "running"}


def known(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Return a column with null for missing values, and texts without surrounding blanks."""
    if kind.is_float():
        return column.fill_nan(None)
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        return column
    text = column.cast(pl.String).str.strip_chars()
    return pl.when(~text.str.to_lowercase().is_in(NOT_LOGGED)).then(text)


def number(text: pl.Expr) -> pl.Expr:
    """Return finite numbers; unparsable values, such as `5 s`, become null."""
    value = text.cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value)


def limit(text: pl.Expr) -> pl.Expr:
    """Return time limits as texts; null for jobs without a limit."""
    return pl.when(~text.str.to_lowercase().is_in(NO_LIMIT)).then(text)


def count(text: pl.Expr) -> pl.Expr:
    """Return numbers of servers; suffixes are binary, as in Slurm: `2K` is 2048."""

    def with_suffix(column: pl.Expr) -> pl.Expr:
        last = column.str.slice(-1)
        factor = last.replace_strict(_SUFFIXES, default=None, return_dtype=pl.Float64)
        return number(column.str.extract(r"^(\d+(?:\.\d+)?)[KMGTP]$")) * factor

    return text.map_batches(lambda each: _parsed(each, with_suffix), return_dtype=pl.Float64)


def duration(text: pl.Expr, minutes: bool = False) -> pl.Expr:
    """Return seconds from numbers, `[D-]HH:MM:SS` and `D-HH:MM`; unparsable values become null.

    Seconds may have a fraction, and days may be written as in `1 day, 02:03:04`. Columns of Polars
    durations are accepted as well. `minutes`: `05:06` is minutes and seconds, as in sacct;
    elsewhere it is ambiguous and becomes null.
    """

    def by_parts(column: pl.Expr) -> pl.Expr:
        days, first, second, last = (
            column.str.extract(_DURATION, group).cast(pl.Float64) for group in (1, 2, 3, 4)
        )
        clock = (
            pl.when(first.is_not_null())
            .then(first * HOUR + second * MINUTE + last)
            .when(days.is_not_null())
            .then(second * HOUR + last * MINUTE)
            .when(minutes)
            .then(second * MINUTE + last)
        )
        within = (last < 60) & (first.is_null() | (second < 60))
        return pl.when(within).then(days.fill_null(0) * DAY + clock)

    return text.map_batches(lambda each: _parsed(each, by_parts), return_dtype=pl.Float64)


def _parsed(texts: pl.Series, other: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    """Return numbers, and the values of `other` for texts if not all are numbers."""
    if texts.dtype == pl.Duration:
        return texts.dt.total_microseconds() / 1e6
    column = pl.lit(texts)
    plain = pl.select(number(column)).to_series()
    if texts.dtype != pl.String or not (plain.is_null() & texts.is_not_null()).any():
        return plain
    return pl.select(pl.coalesce(pl.lit(plain), other(column))).to_series()


def state(text: pl.Expr) -> pl.Expr:
    """Return the state of a job: `CANCELLED by 1000` and `CANCELLED+` become `cancelled`."""
    word = text.cast(pl.String).str.to_lowercase().str.replace(r"(?:\+| by .*)$", "")
    return word.replace(_STATES)


def tres(text: pl.Expr, unit: str) -> pl.Expr:
    """Return the number of a unit in a list such as `cpu=4,gres/gpu=2,mem=16G,node=1`.

    It is 0 if the list lacks the unit, and null without a list or with an unparsable number. GPUs
    listed by type are added up if the list lacks their total.
    """
    name = {"cpu": "cpu", "node": "node", "gpu": "gres/gpu"}[unit]
    listed = text.str.extract(rf"(?:^|,){name}=([^,]*)")
    total, missing = count(listed), listed.is_null()
    if unit == "gpu":
        typed = text.str.extract_all(r"gres/gpu:[^=,]+=[^,]*")
        each = typed.list.eval(count(pl.element().str.extract(r"=(.*)$")))
        whole = each.list.eval(pl.element().is_not_null()).list.all()
        total = pl.when(missing).then(pl.when(whole).then(each.list.sum())).otherwise(total)
        missing = missing & (typed.list.len() == 0)
    is_list = text.str.contains("=", literal=True)
    return pl.when(is_list).then(pl.when(missing).then(0.0).otherwise(total))
