"""Decisions that require all rows of a log: duplicates, selections, order, number of servers."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from quickswap._check import real
from quickswap._words import counted
from quickswap.errors import LogError, invalid, unknown
from quickswap.logs.job_rows import Parsed, marked
from quickswap.logs.joblog import COLUMNS
from quickswap.logs.options import Instant, Options
from quickswap.logs.pools import with_pools
from quickswap.logs.quality import MARK, Tally
from quickswap.logs.rules import bit
from quickswap.logs.server_use import server_use
from quickswap.logs.times import FORMS, MINUTE

__all__ = ["job_table", "select"]

FEW, LONG, FEWEST = 0.01, 0.2, 10
"""Share of the jobs, and of the time of the log from which it is long for so few; fewest jobs."""


def select(
    parsed: Parsed, options: Options, ordered: bool, tally: Tally
) -> tuple[pl.DataFrame, int, dict[str, int]]:
    """Return the rows that are kept, sorted by submission, and the servers of machine and pools.

    Args:
        parsed: all rows; times stay on the clock of the log.
        options: the selections.
        ordered: whether rows should be sorted in this format, so sorting is a repair.
        tally: counts the rows that are dropped.

    Raises:
        LogError: no row is left, or the number of servers is unknown.
    """
    frame = parsed.frame.sort("line") if not parsed.frame["line"].is_sorted() else parsed.frame
    frame = _without_duplicates(frame, tally)
    _require_rows(frame, tally)
    frame = _in_partition(frame, options, tally)
    if ordered and not frame["submit"].is_sorted():
        before = pl.col("submit").cum_max().shift(1)
        frame = frame.with_columns(marked(unsorted=pl.col("submit") < before))
    frame = _in_window(frame, parsed, options, tally)
    frame = _in_limits(frame, options, tally)
    _require_rows(frame, tally)
    if options.arrival == "eligible":
        frame = _from_eligible(frame, tally)
    if not frame["submit"].is_sorted():
        frame = frame.sort("submit", "line")
    frame, pools = with_pools(frame, parsed, options, tally)
    if pools:
        frame = _drop(frame, tally, "no_pool", pl.col("pool").is_null())
        largest = pl.col("pool").cast(pl.String).replace_strict(pools, return_dtype=pl.Int64)
    else:
        servers = _servers(frame, parsed, options, tally)
        largest = pl.lit(servers)
    frame = _drop(frame, tally, "above_servers", pl.col("need") > largest)
    _require_rows(frame, tally)
    if pools:
        used = set(frame["pool"].unique())
        pools = {name: size for name, size in sorted(pools.items()) if name in used}
        servers = sum(pools.values())
    _note_sparse_start(frame["submit"], parsed, tally)
    return frame, servers, pools


def _note_sparse_start(submit: pl.Series, parsed: Parsed, tally: Tally) -> None:
    """Note that the log begins with few jobs: those that a dump contains as they ran in its time.

    Other jobs of that time are missing, so it lowers the load and empties the machine.
    """
    few = int(FEW * len(submit))
    first, until, last = (float(submit[at]) for at in (0, few, -1))
    if few < FEWEST or until - first <= LONG * (last - first):
        return
    moment = f"{until - first:.0f}" if parsed.clock is None else _utc(until + parsed.clock)
    tally.facts.append(
        f"The first {100 * FEW:g} % of the jobs were submitted in "
        f"{100 * (until - first) / (last - first):.3g} % of the time, as in a dump of the jobs of "
        f"a period, some of which were submitted long before it; a start at {moment} leaves them "
        "out."
    )


def _utc(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"


def job_table(frame: pl.DataFrame, scale_load: float) -> pl.DataFrame:
    """Return `JobLog.jobs`: times since the first submission, divided by `scale_load`."""
    first = frame["submit"][0]
    return frame.select(
        ((pl.col(name) - first) / scale_load if name in ("submit", "eligible") else pl.col(name))
        .cast(kind)
        .alias(name)
        for name, kind in COLUMNS.items()
    )


def _drop(frame: pl.DataFrame, tally: Tally, rule: str, condition: pl.Expr) -> pl.DataFrame:
    reason = pl.when(condition.fill_null(False)).then(pl.lit(rule))
    return tally.count_dropped(frame, reason)


def _require_rows(frame: pl.DataFrame, tally: Tally) -> None:
    if not frame.is_empty():
        return
    if tally.rows:
        why, advice = f"all rows are dropped: {tally.reasons()}.", ""
        _, unreadable = tally.examples.get("unreadable", (0, ""))
        if unreadable.startswith(("submit", "start", "end")):
            why += f" Accepted forms of times: {FORMS}."
    else:
        header = tally.counts["header_words"]
        why = f"only {counted(header, 'line')} of words" if header else "no rows"
        advice = "give a log with one row per job"
    raise LogError(f"{tally.source} contains no jobs: {why}", advice=advice)


def _without_duplicates(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Drop parts of jobs that have a row of their own, and rows that repeat the same run."""
    job = frame["job"]
    number = job.cast(pl.Int64, strict=False)
    ascending = not number.has_nulls() and bool((number.diff().drop_nulls() > 0).all())
    if ascending or job.n_unique() == frame.height:
        return frame
    part = frame["state"].eq_missing(pl.Series(["partial"]))
    if part.any():
        whole = frame.filter(~part)["job"].unique().implode()
        frame = _drop(frame, tally, "partial", pl.lit(part) & pl.col("job").is_in(whole))
    same = pl.struct(
        *("job", "submit", "wait", "size", "end", "need", "state", "user", "group", "partition")
    )
    repeated = pl.col("job").is_not_null() & ~same.is_first_distinct()
    return _drop(frame, tally, "duplicate", repeated)


def _in_partition(frame: pl.DataFrame, options: Options, tally: Tally) -> pl.DataFrame:
    if options.selected is None:
        return frame
    known = frame["partition"].drop_nulls().unique().sort().to_list()
    if not known:
        raise LogError(
            f"{tally.source} does not contain the partitions of its jobs",
            argument="partition",
            given=options.partition,
            advice="omit {partition}",
        )
    for name in options.selected:
        if name not in known:
            kind = f"partition of {tally.source}"
            unknown(kind, name, known, LogError, argument="partition")
    other = ~pl.col("partition").is_in(options.selected).fill_null(False)
    return _drop(frame, tally, "other_partition", other)


def _in_window(frame: pl.DataFrame, parsed: Parsed, options: Options, tally: Tally) -> pl.DataFrame:
    if options.start is None and options.end is None:
        return frame
    submit = frame["submit"]
    times = submit.to_numpy()
    first, last = float(times.min()), float(times.max())
    zone, clock = options.timezone or parsed.zone or "UTC", parsed.clock
    low = first if options.start is None else _seconds(options.start, "start", first, clock, zone)
    high = math.inf if options.end is None else _seconds(options.end, "end", first, clock, zone)
    within = submit.is_between(low, high, closed="left")
    if not within.any():
        window = "" if options.start is None else f" from {options.start}"
        window += "" if options.end is None else f" before {options.end}"
        ends = (
            f"{moment - first:g} s" if clock is None else _utc(moment + clock)
            for moment in (first, last)
        )
        raise LogError(
            f"{tally.source} contains no job submitted{window}: its submissions are from "
            f"{' to '.join(ends)}."
        )
    return _drop(frame, tally, "outside_window", pl.lit(~within))


def _seconds(value: Instant, argument: str, first: float, clock: float | None, zone: str) -> float:
    """Return a limit of the window on the clock of the log, in seconds.

    Raises:
        LogError: the value is not a time, or it is a date and the log contains no dates.
    """
    moment: Any = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
    elif isinstance(value, date) and not isinstance(value, datetime):
        moment = datetime.combine(value, time())
    if not isinstance(moment, datetime):
        seconds = real(moment)
        if seconds is None or not math.isfinite(seconds):
            raise invalid(
                argument,
                value,
                "a date such as 2016-12-24 or 2016-12-24T18:00, or a finite number of "
                "seconds after the first submission",
                LogError,
            )
        return first + seconds
    if moment.tzinfo is None:  # a local time; if it occurs twice, the earlier
        local = moment.replace(tzinfo=ZoneInfo(zone))
        if local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) != moment:
            raise invalid(
                argument,
                moment.isoformat(),
                f"a time that exists in {zone}, where daylight saving skips this hour",
                LogError,
            )
        moment = local
    if clock is None:
        raise LogError(
            f"{argument} is a date, but the log contains no dates",
            argument=argument,
            given=value,
            allowed="seconds after the first submission",
            advice="give seconds after the first submission",
        )
    return float(moment.timestamp()) - clock


def _from_eligible(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Let jobs arrive when they become eligible, at the latest at their start."""
    start = pl.col("submit") + pl.col("wait")
    later = pl.min_horizontal("eligible", start) - pl.col("submit")
    known = pl.col("eligible").is_not_null() & (later > 0)
    held = frame.select(pl.when(known).then(later).otherwise(0.0)).to_series()
    times = held.to_numpy()
    count = int((times > 0).sum())
    if not count:
        return frame
    arrive = "arrive" if count > 1 else "arrives"
    tally.facts.append(
        f"{counted(count, 'job', ',')} became eligible after the submission, and {arrive} then: "
        f"{times.sum() / count / MINUTE:.3g} min later on average."
    )
    return frame.with_columns(submit=pl.col("submit") + held, wait=pl.col("wait") - held)


def _in_limits(frame: pl.DataFrame, options: Options, tally: Tally) -> pl.DataFrame:
    """Leave out jobs by need and size, and note their share of the work."""
    before = _work(frame)
    for name in ("need", "size"):
        low, high = (getattr(options, f"{end}_{name}") for end in ("smallest", "largest"))
        if low is not None:
            frame = _drop(frame, tally, f"{name}_cap", pl.col(name) < low)
        if high is not None:
            frame = _drop(frame, tally, f"{name}_cap", pl.col(name) > high)
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
    selected = list(dict.fromkeys(options.selected or ()))
    one_partition = tally.counts["other_partition"] > 0
    servers = options.servers
    if servers is None and one_partition:
        sizes = {name: parsed.partitions[name] for name in selected if name in parsed.partitions}
        if len(sizes) == len(selected):
            servers = sum(sizes.values())
            listed = ", ".join(f"{name}: {size:,}" for name, size in sizes.items())
            tally.facts.append(f"Servers per partition, from the header of the log: {listed}.")
    elif servers is None:
        servers = parsed.servers
    use = server_use(frame, "zero_size")
    peak = 0 if use is None else use.peak
    if servers is None:
        largest: Any = frame["need"].max()
        of = f" of partition {', '.join(options.selected or ())}" if one_partition else ""
        if one_partition and parsed.servers:
            of += f" (the whole machine has {parsed.servers:,})"
        in_use = f"; up to {peak:,} were in use at the same time" if peak else ""
        raise LogError(
            f"{tally.source} does not contain the number of servers{of}",
            argument="servers",
            allowed=f"a whole number of at least {largest}",
            advice=f"give {{servers}} (the largest need is {largest}{in_use})",
        )
    if peak > servers and ((frame[MARK] & bit("need_requested")) != 0).any():
        use = server_use(frame, "zero_size", "need_requested")
    if use is not None and use.peak > servers:
        fact = use.excess(servers, "machine")
        doubt = "; the number given may be wrong." if options.servers else "."
        tally.facts.append(fact.removesuffix(".") + doubt)
    elif one_partition and 0 < peak < servers / 2:
        tally.facts.append(
            f"At most {peak:,} of the {servers:,} servers were in use at the same time; the "
            "partition may have fewer."
        )
    return servers
