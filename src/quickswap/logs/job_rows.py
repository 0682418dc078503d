"""The rows that the readers of all formats return, and the rules that apply to each row alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap.logs.quality import DROP, MARK, Tally
from quickswap.logs.rules import NEED, RULES, WHEN, bit

__all__ = [
    "LARGEST",
    "LOCAL_TIMES",
    "TEXTS",
    "TIMES",
    "Parsed",
    "clean",
    "complete",
    "marked",
    "text_rows",
    "unix_clock",
    "unread",
    "with_lines",
]

TIMES = ("submit", "size", "need", "requested", "estimate", "wait", "eligible", "end")
"""Columns of numbers, in seconds or servers; null is unknown."""

TEXTS = ("job", "class", "user", "group", "queue", "partition", "state")
"""Columns of text: the job number, and labels; null is unknown.

Labels have few distinct values and are categorical, which requires a quarter of the memory.
"""

LARGEST = 1e12
"""Largest time in seconds and largest need that are accepted; 1e12 s are 30,000 years."""

_EARLIEST = 3e8
"""A larger first submission, 9.5 years, is a Unix time."""


@dataclass
class Parsed:
    """A log as its reader returns it.

    Attributes:
        frame: the columns of `complete` without `requested`; submissions are in seconds on the
            clock of the log.
        header: the header of the log, by key.
        servers: the number of servers in the header, or None.
        clock: Unix time of time 0 of the log, in seconds, or None.
        zone: the time zone of the log, or None.
        partitions: the number of servers of each partition in the header.
    """

    frame: pl.DataFrame
    header: dict[str, str] = field(default_factory=dict)
    servers: int | None = None
    clock: float | None = None
    zone: str | None = None
    partitions: dict[str, int] = field(default_factory=dict)


def unread(rows: list[tuple[int, str]]) -> pl.DataFrame:
    """Return rows that are dropped unread, given their lines and rules."""
    return complete(pl.DataFrame(rows, schema={"line": pl.Int64, DROP: pl.String}, orient="row"))


LOCAL_TIMES = "Times without a time zone are read as UTC; give the time zone if they are local."


def unix_clock(frame: pl.DataFrame, tally: Tally) -> float | None:
    """Return 0 if the submissions are Unix times, otherwise None."""
    first = frame.get_column("submit").min()
    if isinstance(first, float) and first > _EARLIEST:
        if LOCAL_TIMES not in tally.facts:
            tally.facts.append("Submission times are Unix times.")
        return 0.0
    return None


def with_lines(
    frame: pl.DataFrame,
    lines: npt.NDArray[np.int64] | list[int],
    marks: npt.NDArray[np.uint64] | list[int],
) -> pl.DataFrame:
    """Return a frame with the line and the marks of each row."""
    return frame.with_columns(pl.Series("line", lines), pl.Series(MARK, marks, pl.UInt64))


def text_rows(
    names: Sequence[str],
    good: Sequence[Sequence[str | None]],
    lines: npt.NDArray[np.int64] | list[int],
    marks: npt.NDArray[np.uint64] | list[int],
    bad: list[tuple[int, str]],
) -> Iterator[pl.DataFrame]:
    """Yield the rows that are dropped unread, and the fields of the others as texts.

    Args:
        names: of the fields.
        good: the fields of each row.
        lines, marks: of each of these rows.
        bad: line and rule of each row that is dropped.
    """
    if bad:
        yield unread(bad)
    if good:
        frame = pl.DataFrame(good, dict.fromkeys(names, pl.String), orient="row")
        yield with_lines(frame, lines, marks)


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with all columns in their order and type; missing columns become null."""
    have = frame.columns
    return frame.select(
        *((pl.col(c) if c in have else pl.lit(None)).cast(pl.Float64).alias(c) for c in TIMES),
        *(
            (pl.col(c) if c in have else pl.lit(None))
            .cast(pl.String if c == "job" else pl.Categorical)
            .alias(c)
            for c in TEXTS
        ),
        pl.col("line").cast(pl.Int64),
        (pl.col(DROP) if DROP in have else pl.lit(None)).cast(pl.String).alias(DROP),
        (pl.col(MARK) if MARK in have else pl.lit(0)).cast(pl.UInt64).alias(MARK),
    )


def marked(**rules: pl.Expr) -> pl.Expr:
    """Return the marks of a row, with the marks of the rules whose conditions hold."""
    result = pl.col(MARK)
    for rule, condition in rules.items():
        flag = pl.when(condition.fill_null(False)).then(bit(rule)).otherwise(0)
        result = result | flag.cast(pl.UInt64)
    return result.alias(MARK)


def clean(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Return the jobs of a block with repaired values; count the rows that are dropped.

    The columns `requested` and `DROP` are removed.
    """
    tally.rows += frame.height
    states = frame.get_column("state").fill_null("unknown").value_counts()
    for state, count in states.rows():
        tally.states[state] += count
    dropping = [name for name in WHEN if RULES[name].kind == "dropped"]
    reasons = [pl.when(WHEN[name].fill_null(False)).then(pl.lit(name)) for name in dropping]
    frame = tally.count_dropped(frame, pl.coalesce(DROP, *reasons))
    size, wait, estimate = pl.col("size"), pl.col("wait"), pl.col("estimate")
    sized = pl.when(size == 0).then(1.0).otherwise(size)
    return frame.with_columns(
        marked(**{name: when for name, when in WHEN.items() if name not in dropping}),
        NEED.ceil().cast(pl.Int64).alias("need"),
        sized.alias("size"),
        pl.when(wait < 0).then(None).otherwise(wait).alias("wait"),
        pl.when(estimate > 0).then(estimate).otherwise(sized).alias("estimate"),
    ).drop("requested", DROP)
