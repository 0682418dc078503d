"""Decisions that require all rows of a log: duplicates, selections, order, number of servers."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import Any

import polars as pl

from quickswap._words import counted
from quickswap.errors import unknown_message
from quickswap.logs.errors import LogError
from quickswap.logs.job_rows import Parsed, marked
from quickswap.logs.joblog import COLUMNS
from quickswap.logs.options import Options, instant
from quickswap.logs.quality import DROP, MARK, Tally
from quickswap.logs.rules import bit
from quickswap.logs.server_use import ServerUse, rounding
from quickswap.logs.times import FORMS

__all__ = ["job_table", "select"]


def select(
    parsed: Parsed, options: Options, ordered: bool, tally: Tally
) -> tuple[pl.DataFrame, int]:
    """Return the rows that are kept, sorted by submission, and the number of servers.

    Args:
        parsed: all rows; times stay on the clock of the log.
        options: the selections.
        ordered: whether rows should be sorted in this format, so that sorting is a repair.
        tally: counts the rows that are dropped.

    Raises:
        LogError: no row is left, or the number of servers is unknown.
    """
    frame = parsed.frame.sort("line") if not parsed.frame["line"].is_sorted() else parsed.frame
    frame = _drop(frame, tally, *_duplicates(frame))
    _require_rows(frame, tally)
    frame = _in_partition(frame, options, tally)
    if ordered:
        before = pl.col("submit").cum_max().shift(1)
        frame = frame.with_columns(marked(unsorted=pl.col("submit") < before))
    frame = _in_window(frame, parsed, options, tally)
    frame = _in_limits(frame, options, tally)
    _require_rows(frame, tally)
    if not frame["submit"].is_sorted():
        frame = frame.sort("submit", "line")
    servers = _servers(frame, parsed, options, tally)
    frame = _drop(frame, tally, ("above_servers", pl.col("need") > servers))
    _require_rows(frame, tally)
    return frame, servers


def job_table(frame: pl.DataFrame, scale_load: float) -> pl.DataFrame:
    """Return `JobLog.jobs`: times since the first submission, divided by `scale_load`."""
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
        frame = tally.count_dropped(frame.with_columns(reason.alias(DROP)))
    return frame


def _require_rows(frame: pl.DataFrame, tally: Tally) -> None:
    if not frame.is_empty():
        return
    if tally.rows:
        why = f"all rows are dropped: {tally.reasons()}."
        if tally.first_unreadable("submit", "start", "end"):
            why += f" Accepted forms of times: {FORMS}."
    else:
        header = tally.counts["header_words"]
        why = f"only {counted(header, 'line')} of words" if header else "no rows"
        why += "; give a log with one row per job."
    raise LogError(f"{tally.source} contains no jobs: {why}")


def _duplicates(frame: pl.DataFrame) -> list[tuple[str, pl.Expr]]:
    """Return the rules that compare rows with the same job number."""
    job = frame["job"]
    number = job.cast(pl.Int64, strict=False)
    ascending = not number.has_nulls() and bool((number.diff().drop_nulls() > 0).all())
    if ascending or job.n_unique() == frame.height:
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


def _in_partition(frame: pl.DataFrame, options: Options, tally: Tally) -> pl.DataFrame:
    known = frame["partition"].drop_nulls().unique().sort().to_list()
    if options.partition is None:
        if len(known) > 1:
            names = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
            tally.facts.append(
                f"{len(known)} partitions are read as one machine ({names}); to read one of them, "
                "give partition=."
            )
        return frame
    if not known:
        raise LogError(
            f"{tally.source} does not contain the partitions of its jobs: omit partition=."
        )
    for name in options.partition:
        if name not in known:
            raise LogError(f"{tally.source}: {unknown_message('partition', name, known)}")
    other = ~pl.col("partition").is_in(options.partition).fill_null(False)
    return _drop(frame, tally, ("other_partition", other))


def _in_window(frame: pl.DataFrame, parsed: Parsed, options: Options, tally: Tally) -> pl.DataFrame:
    submit = frame["submit"]
    if (options.start is None and options.end is None) or frame.is_empty():
        return frame
    first, last = float(submit.min()), float(submit.max())  # type: ignore[arg-type] # numbers, and some
    zone = options.timezone or parsed.zone
    low, high = (
        instant(value, name, first, parsed.clock, zone) if value is not None else default
        for value, name, default in (
            (options.start, "start", first),
            (options.end, "end", float("inf")),
        )
    )
    if not submit.is_between(low, high, closed="left").any():
        window = "".join(
            f" {word} {value}"
            for word, value in (("from", options.start), ("before", options.end))
            if value is not None
        )
        found = " to ".join(_shown_time(moment, first, parsed.clock) for moment in (first, last))
        raise LogError(
            f"{tally.source} contains no job submitted{window}: its submissions are from {found}."
        )
    inside = pl.col("submit").is_between(low, high, closed="left")
    return _drop(frame, tally, ("outside_window", ~inside))


def _shown_time(moment: float, first: float, clock: float | None) -> str:
    if clock is None:
        return f"{moment - first:g} s"
    return datetime.fromtimestamp(moment + clock, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _in_limits(frame: pl.DataFrame, options: Options, tally: Tally) -> pl.DataFrame:
    """Leave out jobs by need and size, and note their share of the work."""
    before = _work(frame)
    for name, rule, (low, high) in (
        ("need", "need_cap", options.need),
        ("size", "size_cap", options.size),
    ):
        outside = [pl.col(name) < low] if low is not None else []
        outside += [pl.col(name) > high] if high is not None else []
        if outside:
            frame = _drop(frame, tally, (rule, reduce(or_, outside)))
    if tally.counts["need_cap"] or tally.counts["size_cap"]:
        tally.facts.append(
            f"{100 * (1 - _work(frame) / before):.3g} % of the work is left out by need or size; "
            "the load is that of the other jobs on all servers."
        )
    return frame


def _work(frame: pl.DataFrame) -> float:
    return float((frame["need"] * frame["size"]).sum())


def _servers(frame: pl.DataFrame, parsed: Parsed, options: Options, tally: Tally) -> int:
    """Return the number of servers of the machine on which the selected jobs ran.

    Raises:
        LogError: it is neither given nor in the log.
    """
    one_partition = tally.counts["other_partition"] > 0
    servers = options.servers
    if servers is None:
        servers = _partition_servers(parsed, options, tally) if one_partition else parsed.servers
    use = _server_use(frame, "zero_size")
    peak = 0 if use is None else use.peak
    if servers is None:
        largest: Any = frame["need"].max()
        of = ""
        if one_partition:
            of = f" of partition {', '.join(options.partition or ())}"
            of += f" (the whole machine has {parsed.servers:,})" if parsed.servers else ""
        in_use = f"; up to {peak:,} were in use at the same time" if peak else ""
        raise LogError(
            f"{tally.source} does not contain the number of servers{of}: give servers= (the "
            f"largest need is {int(largest)}{in_use})."
        )
    if peak > servers:
        use = _server_use(frame, "zero_size", "need_requested")
    if use is not None and use.peak > servers:
        tally.facts.append(
            f"More servers than the {servers:,} of the machine were in use during "
            f"{100 * use.share_above(servers):.3g} % of the time, up to {use.peak:,}"
            f"{'; servers= may be wrong' if options.servers else ''}."
        )
    elif one_partition and 0 < peak < servers / 2:
        tally.facts.append(
            f"At most {peak:,} of the {servers:,} servers were in use at the same time; the "
            "partition may have fewer."
        )
    return servers


def _partition_servers(parsed: Parsed, options: Options, tally: Tally) -> int | None:
    """Return the servers of the selected partitions, or None if the log lacks one of them."""
    sizes = {name: parsed.partitions.get(name) for name in dict.fromkeys(options.partition or ())}
    known = [size for size in sizes.values() if size is not None]
    if len(known) < len(sizes):
        return None
    listed = ", ".join(f"{name}: {size:,}" for name, size in sizes.items())
    tally.facts.append(f"Servers per partition, from the header of the log: {listed}.")
    return sum(known)


def _server_use(frame: pl.DataFrame, *excluded: str) -> ServerUse | None:
    """Return the servers in use without the rows that `excluded` rules mark.

    It is None if most waits are unknown.
    """
    known = frame.select("submit", "wait", "size", "need", MARK).drop_nulls("wait")
    if known.height < frame.height / 2:
        return None
    known = known.filter((known[MARK] & sum(map(bit, excluded))) == 0)
    submit, wait, size, need = (
        known[name].to_numpy() for name in ("submit", "wait", "size", "need")
    )
    return ServerUse(submit + wait, size, need, rounding(submit, wait, size))
