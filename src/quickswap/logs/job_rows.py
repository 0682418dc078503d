"""The rows that the readers of all formats return, and the rules that apply to each row alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap.logs.quality import DROP, MARK, Tally
from quickswap.logs.rules import bit

__all__ = [
    "LARGEST",
    "LOCAL_TIMES",
    "TEXTS",
    "TIMES",
    "Parsed",
    "clean",
    "complete",
    "marked",
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
_IDLE = ("pending", "future", "queued", "requeue_fed", "requeue_hold")
_CANCELLED = ("cancelled", "deadline", "boot_fail", "revoked")


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


LOCAL_TIMES = "Times without a time zone are read as UTC; give timezone= if they are local."


def unix_clock(frame: pl.DataFrame, tally: Tally) -> float | None:
    """Return 0 if the submissions are Unix times, else None."""
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


def _drop(*rules: tuple[str, pl.Expr]) -> pl.Expr:
    """Return the rule that drops a row: the present one, or the first whose condition holds."""
    reasons = [
        pl.when(condition.fill_null(False)).then(pl.lit(name)).otherwise(pl.lit(None, pl.String))
        for name, condition in rules
    ]
    return pl.coalesce(pl.col(DROP), *reasons).alias(DROP)


def clean(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Return the jobs of a block with repaired values; count the rows that are dropped.

    A job with a run time has started, whatever its state. The need becomes the number of allocated
    servers, or of requested servers if that is unknown, and the column `requested` is removed.
    """
    tally.rows += frame.height
    states = frame.get_column("state").fill_null("unknown").value_counts()
    for state, count in states.rows():
        tally.states[state] += count
    size, need, wait = pl.col("size"), pl.col("need"), pl.col("wait")
    idle, cancelled = pl.col("state").is_in(_IDLE), pl.col("state").is_in(_CANCELLED)
    ran = (size > 0).fill_null(False)
    requeued = (pl.col("state") == "requeued") & ~(size.is_null() & wait.is_not_null())
    nowhere = (size == 0) & (need == 0)
    frame = frame.with_columns(
        _drop(
            ("never_started", ~ran & (idle | cancelled | requeued | nowhere)),
            ("unknown_submit", pl.col("submit").is_null() | (pl.col("submit") < 0)),
            ("unknown_size", size.is_null() | (size < 0)),
            ("unknown_need", ~((need > 0) | (pl.col("requested") > 0)).fill_null(False)),
        )
    )
    frame = tally.count_dropped(frame)
    requested, estimate = pl.col("requested"), pl.col("estimate")
    allocated = (need > 0).fill_null(False)
    estimated = (estimate > 0).fill_null(False)
    frame = frame.with_columns(
        marked(
            need_requested=~allocated,
            other_need=allocated & (requested > 0) & (requested != need),
            zero_size=size == 0,
            no_estimate=~estimated,
            overrun=estimated & (size > estimate),
            no_wait=wait.is_null(),
            negative_wait=wait < 0,
            held=pl.col("eligible") > pl.col("submit"),
            idle_state=idle,
        ),
        pl.when(allocated).then(need).otherwise(requested).alias("need"),
        pl.when(size == 0).then(1.0).otherwise(size).alias("size"),
        pl.when(wait < 0).then(None).otherwise(wait).alias("wait"),
    )
    return frame.with_columns(
        marked(need_rounded=need != need.ceil()),
        need.ceil().cast(pl.Int64),
        pl.when(estimated).then(estimate).otherwise(size).alias("estimate"),
    ).drop("requested")
