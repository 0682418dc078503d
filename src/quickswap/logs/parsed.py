"""What a reader of a format hands over, and the decisions that are the same for all formats."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from quickswap.logs.quality import DROP, MARK, Tally
from quickswap.logs.rules import bit

__all__ = ["LARGEST", "TEXTS", "TIMES", "Parsed", "complete", "judge", "marked", "unread"]

TIMES = ("submit", "size", "need", "requested", "estimate", "wait", "eligible", "end")
"""Columns of a reader that hold numbers: seconds, and servers. Null is unknown."""

TEXTS = ("job", "class", "user", "group", "queue", "partition", "state")
"""Columns of a reader that hold text, the number of the job, and labels of which there are few.

Null is unknown. Labels are categorical, which takes a quarter of the memory of texts.
"""

LARGEST = 1e12
"""No time in seconds and no need is larger: 1e12 s are 30,000 years."""

_IDLE = ("pending", "future", "queued", "requeue_fed", "requeue_hold")
_CANCELLED = ("cancelled", "deadline", "boot_fail", "revoked")


@dataclass
class Parsed:
    """A log as its format tells it.

    Attributes:
        frame: the columns of `TIMES` and `TEXTS`, the line, and the marks; submit times in seconds
            on the log's own clock.
        header: what the log says about itself.
        servers: the servers that the log names, or None.
        clock: Unix time of the log's time 0, in seconds, or None.
        zone: the time zone that the log names, or None.
        partitions: the servers of each partition of which the log says so.
    """

    frame: pl.DataFrame
    header: dict[str, str] = field(default_factory=dict)
    servers: int | None = None
    clock: float | None = None
    zone: str | None = None
    partitions: dict[str, int] = field(default_factory=dict)


def unread(rows: list[tuple[int, str]]) -> pl.DataFrame:
    """Return rows of which nothing but line and reason to drop them is known."""
    return complete(pl.DataFrame(rows, schema={"line": pl.Int64, DROP: pl.String}, orient="row"))


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of a reader in their order and type; what lacks is unknown."""
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
    """Return the marks of a row with those added whose condition holds."""
    result = pl.col(MARK)
    for rule, condition in rules.items():
        flag = pl.when(condition.fill_null(False)).then(bit(rule)).otherwise(0)
        result = result | flag.cast(pl.UInt64)
    return result.alias(MARK)


def _drop(*rules: tuple[str, pl.Expr]) -> pl.Expr:
    """Return the rule that drops a row: the one it has, else the first whose condition holds."""
    reasons = [
        pl.when(condition.fill_null(False)).then(pl.lit(name)).otherwise(pl.lit(None, pl.String))
        for name, condition in rules
    ]
    return pl.coalesce(pl.col(DROP), *reasons).alias(DROP)


def judge(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Return the rows of a block that are jobs, put right; count the others.

    A state says that a job never started only where no run time says otherwise. `requested` is gone
    afterwards: a need is the allocated servers, else the requested ones.
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
    frame = tally.sift(frame)
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
