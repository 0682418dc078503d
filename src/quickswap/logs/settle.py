"""What can only be decided with all rows of a log at hand: selections, order, the machine."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import polars as pl

from quickswap._words import counted
from quickswap.errors import unknown_message
from quickswap.logs.errors import LogError
from quickswap.logs.joblog import COLUMNS
from quickswap.logs.options import Options, instant
from quickswap.logs.parsed import Parsed, marked
from quickswap.logs.quality import DROP, Tally
from quickswap.logs.times import FORMS

__all__ = ["finished", "settle"]


def settle(parsed: Parsed, options: Options, ordered: bool, tally: Tally) -> pl.DataFrame:
    """Return the rows that stay, sorted by submission, on the log's own clock.

    `ordered`: rows of the format should be sorted already, so that sorting is a repair.
    """
    frame = parsed.frame.sort("line") if not parsed.frame["line"].is_sorted() else parsed.frame
    frame = _drop(frame, tally, *_copies(frame))
    _refuse_nothing(frame, tally)
    frame = _partition(frame, options, tally)
    if ordered:
        before = pl.col("submit").cum_max().shift(1)
        frame = frame.with_columns(marked(unsorted=pl.col("submit") < before))
    frame = _window(frame, parsed, options, tally)
    for name, rule, (low, high) in (
        ("need", "need_cap", options.need),
        ("size", "size_cap", options.size),
    ):
        outside = [pl.col(name) < low] if low is not None else []
        outside += [pl.col(name) > high] if high is not None else []
        if outside:
            frame = _drop(frame, tally, (rule, reduce(or_, outside)))
    _refuse_nothing(frame, tally)
    if not frame["submit"].is_sorted():
        frame = frame.sort("submit", "line")
    servers = options.servers or parsed.servers
    most = _peak(frame)
    if servers is None:
        largest: Any = frame["need"].max()
        raise LogError(
            f"{tally.source} does not say how many servers there are: give servers= (the largest "
            f"need is {int(largest)}"
            f"{f', and up to {most:,} were in use at once' if most else ''})."
        )
    if most > servers:
        tally.facts.append(
            f"Up to {most:,} servers were in use at once, more than the {servers:,} of the "
            f"machine{': servers= may be wrong' if options.servers else ''}."
        )
    frame = _drop(frame, tally, ("above_servers", pl.col("need") > servers))
    _refuse_nothing(frame, tally)
    return frame


def finished(frame: pl.DataFrame, scale_load: float) -> pl.DataFrame:
    """Return the jobs of a log: times from the first one, interarrival times divided."""
    first = frame["submit"][0]
    return frame.select(
        ((pl.col(name) - first) / scale_load if name in ("submit", "eligible") else pl.col(name))
        .cast(kind)
        .alias(name)
        for name, kind in COLUMNS.items()
    )


def _drop(frame: pl.DataFrame, tally: Tally, *rules: tuple[str, pl.Expr]) -> pl.DataFrame:
    for name, condition in rules:
        reason = pl.when(condition.fill_null(False)).then(pl.lit(name)).otherwise(pl.col(DROP))
        frame = tally.sift(frame.with_columns(reason.alias(DROP)))
    return frame


def _refuse_nothing(frame: pl.DataFrame, tally: Tally) -> None:
    if frame.is_empty():
        why = tally.reasons()
        words = tally.counts["header_words"]
        nothing = (
            f"it has no rows, but {counted(words, 'line')} of words" if words else "it has no rows"
        )
        nothing += "; give a log with a row for each job"
        rows = f"none of its rows is left: {why}" if tally.rows else nothing
        forms = f" Times are read as in {FORMS}." if tally.about("submit", "start", "end") else ""
        raise LogError(f"{tally.source} has no jobs: {rows}.{forms}")


def _copies(frame: pl.DataFrame) -> list[tuple[str, pl.Expr]]:
    """Return the rules that need a look at other rows with the same job number."""
    job = frame["job"]
    number = job.cast(pl.Int64, strict=False)
    rising = not number.has_nulls() and bool((number.diff().drop_nulls() > 0).all())
    if rising or job.n_unique() == frame.height:
        return []
    part = frame["state"].eq_missing(pl.Series(["partial"]))
    rules = []
    if part.any():
        whole = frame.filter(~part)["job"].unique()
        rules.append(
            ("partial", (pl.col("state") == "partial") & pl.col("job").is_in(whole.implode()))
        )
    same = pl.struct(
        *("job", "submit", "wait", "size", "end", "need", "state", "user", "group", "partition")
    )
    rules.append(("duplicate", pl.col("job").is_not_null() & ~same.is_first_distinct()))
    return rules


def _partition(frame: pl.DataFrame, options: Options, tally: Tally) -> pl.DataFrame:
    known = frame["partition"].drop_nulls().unique().sort().to_list()
    if options.partition is None:
        if len(known) > 1:
            shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
            tally.facts.append(
                f"{len(known)} partitions are read as one machine ({shown}); give partition= to "
                f"read one."
            )
        return frame
    if not known:
        raise LogError(
            f"{tally.source} does not tell in which partition a job ran: leave out partition=."
        )
    for name in options.partition:
        if name not in known:
            raise LogError(f"{tally.source}: {unknown_message('partition', name, known)}")
    other = ~pl.col("partition").is_in(options.partition).fill_null(False)
    return _drop(frame, tally, ("other_partition", other))


def _window(frame: pl.DataFrame, parsed: Parsed, options: Options, tally: Tally) -> pl.DataFrame:
    submit = frame["submit"]
    if (options.start is None and options.end is None) or frame.is_empty():
        return frame
    first, last = float(submit.min()), float(submit.max())  # type: ignore[arg-type] # numbers, and some
    zone = options.timezone or parsed.zone
    low, high = (
        instant(value, what, first, parsed.clock, zone) if value is not None else other
        for value, what, other in (
            (options.start, "start", first),
            (options.end, "end", float("inf")),
        )
    )
    if not submit.is_between(low, high, closed="left").any():
        reach = " to ".join(_told(moment, first, parsed.clock) for moment in (first, last))
        raise LogError(
            f"{tally.source} has no job submitted{_said(' from', options.start)}"
            f"{_said(' before', options.end)}: its jobs are from {reach}."
        )
    inside = pl.col("submit").is_between(low, high, closed="left")
    return _drop(frame, tally, ("outside_window", ~inside))


def _said(word: str, value: object) -> str:
    return "" if value is None else f"{word} {value}"


def _told(moment: float, first: float, clock: float | None) -> str:
    if clock is None:
        return f"{moment - first:g} s"
    return datetime.fromtimestamp(moment + clock, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _peak(frame: pl.DataFrame) -> int:
    """Return how many servers were in use at once; 0 where the waits are not known."""
    known = frame.select("submit", "wait", "size", "need").drop_nulls("wait")
    if known.height < frame.height / 2:
        return 0
    need = known["need"].to_numpy()
    start = (known["submit"] + known["wait"]).to_numpy()
    end = start + known["size"].to_numpy()
    order = np.argsort(end)
    end, freed = end[order], np.concatenate([[0], need[order].cumsum()])
    order = np.argsort(start)
    used = need[order].cumsum()
    used -= freed[np.searchsorted(end, start[order], "right")]
    return int(used.max(initial=0))
