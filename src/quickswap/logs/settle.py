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
from quickswap.logs.quality import DROP, MARK, Tally
from quickswap.logs.rules import bit
from quickswap.logs.sample import Floats
from quickswap.logs.times import FORMS

__all__ = ["finished", "settle"]


def settle(
    parsed: Parsed, options: Options, ordered: bool, tally: Tally
) -> tuple[pl.DataFrame, int]:
    """Return the rows that stay, sorted by submission, on the log's own clock, and the servers.

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
    frame = _capped(frame, options, tally)
    _refuse_nothing(frame, tally)
    if not frame["submit"].is_sorted():
        frame = frame.sort("submit", "line")
    servers = _servers(frame, parsed, options, tally)
    frame = _drop(frame, tally, ("above_servers", pl.col("need") > servers))
    _refuse_nothing(frame, tally)
    return frame, servers


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


def _capped(frame: pl.DataFrame, options: Options, tally: Tally) -> pl.DataFrame:
    """Leave out jobs by need and size, and note how much of the work they are."""
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
            f"{100 * (1 - _work(frame) / before):.3g} % of the work is left out by need or size: "
            f"the load is that of the other jobs alone, on all servers."
        )
    return frame


def _work(frame: pl.DataFrame) -> float:
    return float((frame["need"] * frame["size"]).sum())


def _servers(frame: pl.DataFrame, parsed: Parsed, options: Options, tally: Tally) -> int:
    """Return the servers of the machine that the selected jobs ran on.

    Raises:
        LogError: neither the caller nor the log says how many they are.
    """
    part = tally.counts["other_partition"] > 0
    servers = options.servers
    if servers is None:
        servers = _of_partitions(parsed, options, tally) if part else parsed.servers
    use = _Use(frame, "zero_size")
    if servers is None:
        largest: Any = frame["need"].max()
        known = f" ({parsed.servers:,} of the whole machine)" if part and parsed.servers else ""
        of = f" partition {', '.join(options.partition or ())} has{known}" if part else " there are"
        at_once = f", and up to {use.peak:,} were in use at once" if use.peak else ""
        raise LogError(
            f"{tally.source} does not say how many servers{of}: give servers= (the largest need "
            f"is {int(largest)}{at_once})."
        )
    evidence = _Use(frame, "zero_size", "need_requested") if use.peak > servers else use
    if evidence.peak > servers:
        tally.facts.append(
            f"More than the {servers:,} servers of the machine were in use at once during "
            f"{100 * evidence.share_above(servers):.3g} % of the time, up to {evidence.peak:,}"
            f"{': servers= may be wrong' if options.servers else ''}."
        )
    elif part and 0 < use.peak < servers / 2:
        tally.facts.append(
            f"At most {use.peak:,} of the {servers:,} servers were in use at once: the partition "
            f"may have fewer."
        )
    return servers


def _of_partitions(parsed: Parsed, options: Options, tally: Tally) -> int | None:
    """Return the servers of the selected partitions, if the log says so of each of them."""
    sizes = {name: parsed.partitions.get(name) for name in dict.fromkeys(options.partition or ())}
    known = [size for size in sizes.values() if size is not None]
    if len(known) < len(sizes):
        return None
    told = ", ".join(f"{name}: {size:,}" for name, size in sizes.items())
    tally.facts.append(f"Servers of the partition, by the header of the log: {told}.")
    return sum(known)


class _Use:
    """How many servers were in use over time, as far as the log is evidence of it.

    Logged times are rounded, so that a job seems to run on while the next one on its servers has
    begun. Each job is therefore taken to end earlier, by the sum of the units to which its times
    are rounded: what overlaps then overlaps in truth.

    Attributes:
        peak: the most servers in use at once; 0 where most waits are not known.
    """

    def __init__(self, frame: pl.DataFrame, *but: str) -> None:
        """`but`: rules whose rows are no evidence."""
        known = frame.select("submit", "wait", "size", "need", MARK).drop_nulls("wait")
        self.peak = 0
        if known.height < frame.height / 2:
            return
        excluded = (known[MARK] & sum(map(bit, but))) != 0
        if excluded.any():
            known = known.filter(~excluded)
        self._need = known["need"].to_numpy()
        self._start = (known["submit"] + known["wait"]).to_numpy()
        rounding = sum(_unit(known[name].to_numpy()) for name in ("submit", "wait", "size"))
        self._end = np.maximum(self._start + known["size"].to_numpy() - rounding, self._start)
        order = np.argsort(self._end)
        end, freed = self._end[order], np.concatenate([[0], self._need[order].cumsum()])
        order = np.argsort(self._start)
        used = self._need[order].cumsum()
        used -= freed[np.searchsorted(end, self._start[order], "right")]
        self.peak = int(used.max(initial=0))

    def share_above(self, servers: int) -> float:
        """Return the share of the time, from first start to last end, with more in use."""
        moments = np.concatenate([self._end, self._start])
        order = np.argsort(moments, kind="stable")  # of equal moments, ends come first
        used = np.concatenate([-self._need, self._need])[order].cumsum()
        spans = np.diff(moments[order])
        return float(spans[used[:-1] > servers].sum() / spans.sum())


def _unit(times: Floats) -> float:
    """Return what times are rounded to: minutes, seconds, or less than can be told (0)."""
    positive = times[times > 0]
    few = positive[:1000]  # most logs show here that they have seconds
    if len(few) >= 10 and not (few % 60).any() and not (positive % 60).any():
        return 60.0
    return 1.0 if np.array_equal(times, np.floor(times)) else 0.0
