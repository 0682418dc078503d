"""Reads what Slurm's `sacct --parsable2` (or `--parsable`) prints, with a header or without."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from quickswap._words import counted
from quickswap.logs import times
from quickswap.logs.errors import LogError
from quickswap.logs.formats import slurm
from quickswap.logs.formats.lines import Reader
from quickswap.logs.formats.parsed import Parsed, complete, judge, marked, unread, unreadable
from quickswap.logs.formats.records import Layout, frames, whole
from quickswap.logs.formats.source import blocks, head
from quickswap.logs.quality import DROP, MARK, Tally

__all__ = ["is_header", "parse"]

_ALIASES = {"ncpus": "alloccpus", "nnodes": "allocnodes", "account": "group", "qos": "queue"}
_UNKNOWN = ("", "Unknown", "None", "N/A", "none", "unknown")
_MOMENTS = ("submit", "start", "end")
_RUNNING = ("running", "suspended")
_USED = (
    *("jobid", "jobidraw", "submit", "eligible", "start", "end", "elapsedraw", "elapsed"),
    *("alloccpus", "reqcpus", "allocnodes", "reqnodes", "alloctres", "reqtres", "state"),
    *("timelimitraw", "timelimit", "user", "uid", "group", "partition", "queue"),
)
_NEEDED = {
    "the submit time": ("submit",),
    "the run time": ("elapsedraw", "elapsed", "end"),
}
_NEEDS = {
    "cpu": ("alloccpus", "reqcpus", "alloctres", "reqtres"),
    "node": ("allocnodes", "reqnodes", "alloctres", "reqtres"),
    "gpu": ("alloctres", "reqtres"),
}


def is_header(line: str) -> bool:
    """Return whether a line names the fields of a dump."""
    words = {word.strip().lower() for word in line.split("|")}
    return len(words) > 1 and bool(words & {"jobid", "jobidraw", "submit"})


def parse(
    path: Path, unit: str, zone: str | None, sacct_format: str | None, tally: Tally
) -> Parsed:
    """Read a dump; blank lines and headers are no rows."""
    if zone is None:
        tally.facts.append("Times are taken for UTC; if the dump has local ones, give timezone=.")
    layout, headed = _layout(path, sacct_format)
    _check(path, layout, unit)
    reader = Reader(lone_cr=False)
    parts = [
        judge(_jobs(frame, unit, zone or "UTC", tally), tally)
        for block in whole(blocks(path), layout)
        for frame in (_without_headers(f, tally) for f in frames(reader.lines(block), layout))
    ]
    if headed and tally.rows == 0:
        raise LogError(f"{path} has a header, but no jobs: ask sacct for another time span.")
    frame = pl.concat(parts) if parts else judge(unread([]), tally)
    return Parsed(frame, {"Format": ",".join(layout.names)}, None, 0.0, zone)


def _layout(path: Path, sacct_format: str | None) -> tuple[Layout, bool]:
    text = head(path).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").lstrip("\r\n")
    line = text.partition("\n")[0].rstrip("\r")
    headed = is_header(line)
    if headed:
        given = line.split("|")
    elif sacct_format is None:
        raise LogError(
            f"{path}, line 1 has {counted(line.count('|') + 1, 'field')} and no header: give the "
            f'sacct_format that was used, such as "JobID,Submit,Start,End,...".'
        )
    else:
        given = sacct_format.split(",")
    names = [word.partition("%")[0].strip().lower() for word in given]
    trailing = headed and names[-1] == ""
    if trailing:
        names.pop()
    names = _named(names)
    if not headed:
        trailing = line.endswith("|") and line.count("|") == len(names)
        layout = Layout(names, trailing)
        if line.count("|") < layout.bars:
            raise LogError(
                f"{path}, line 1 has {counted(line.count('|') + 1, 'field')}, but sacct_format "
                f"names {len(names)}: give the fields of the dump, in their order."
            )
    return Layout(names, trailing), headed


def _named(names: list[str]) -> list[str]:
    """Return the names, with one for each thing; what stands twice counts the first time."""
    result: list[str] = []
    for index, name in enumerate(names):
        alias = _ALIASES.get(name, name)
        if (
            alias in result
            or alias == ""
            or (alias != name and alias in names and name != "account")
        ):
            alias = f"{name}_{index}"
        result.append(alias)
    if "account" in names and "group" in names:  # an account says more than a Unix group
        at = [index for index, name in enumerate(names) if name in ("account", "group")]
        for index in at:
            result[index] = "group" if names[index] == "account" else f"group_{index}"
    return result


def _check(path: Path, layout: Layout, unit: str) -> None:
    for what, some in (_NEEDED | {f"the need in {unit}s": _NEEDS[unit]}).items():
        if not set(some) & set(layout.names):
            raise LogError(
                f"{path}, line 1: no field for {what}; add one of {', '.join(some)} to sacct's "
                f"--format (there are {', '.join(layout.names)})."
            )


def _without_headers(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Leave out lines that repeat the names: the header, also of dumps put one after another."""
    if "submit" not in frame.columns or DROP in frame.columns:
        return frame
    header = frame.get_column("submit").str.to_lowercase().eq_missing(pl.Series(["submit"]))
    again = frame.filter(header & (frame.get_column("line") > 1))
    tally.add("header_words", again.height, again.get_column("line").to_list())
    return frame.filter(~header)


def _jobs(frame: pl.DataFrame, unit: str, zone: str, tally: Tally) -> pl.DataFrame:
    """Turn texts into the columns of a reader."""
    if DROP in frame.columns:
        return frame
    frame = frame.select(
        *(
            (pl.col(name).str.strip_chars() if name in frame.columns else pl.lit(None, pl.String))
            .replace(dict.fromkeys(_UNKNOWN))
            .alias(name)
            for name in _USED
        ),
        "line",
        MARK,
    )
    wrong = unreadable(frame, _readings(unit, zone), tally)
    frame = frame.with_columns(
        pl.coalesce("jobid", "jobidraw").alias("job"),
        pl.coalesce("user", "uid").alias("user"),
        pl.col("state").str.extract(r"^([A-Za-z_]+)").str.to_lowercase(),
        pl.col("submit").alias("_submit"),
        wrong.alias("_wrong"),
        _skipped=pl.any_horizontal(
            times.skipped(pl.col(name), zone).fill_null(False) for name in _MOMENTS
        ),
        ambiguous=times.ambiguous(pl.col("submit"), zone),
        elapsed=pl.coalesce(slurm.number(pl.col("elapsedraw")), slurm.duration(pl.col("elapsed"))),
        estimate=pl.coalesce(
            slurm.number(pl.col("timelimitraw")) * 60, slurm.duration(pl.col("timelimit"))
        ),
        need=_need(unit, "alloc"),
        requested=_need(unit, "req"),
        **{
            name: times.seconds(pl.col(name), zone)
            for name in ("submit", "eligible", "start", "end")
        },
    )
    return complete(frame.with_columns(*_decided(unit)))


def _readings(unit: str, zone: str) -> dict[str, pl.Expr]:
    """Return how the fields are read that tell submit, need and size."""
    number, duration = slurm.number, slurm.duration
    needs = [name for name in _NEEDS[unit] if name.endswith("tres")]
    counts = [name for name in _NEEDS[unit] if name not in needs]
    return {
        **{name: times.seconds(pl.col(name), "UTC") for name in _MOMENTS},
        "elapsedraw": number(pl.col("elapsedraw")),
        "elapsed": duration(pl.col("elapsed")),
        **{name: number(pl.col(name)) for name in counts},
        **{name: slurm.listed(pl.col(name)) for name in needs},
    }


def _need(unit: str, which: str) -> pl.Expr:
    listed = slurm.tres(pl.col(f"{which}tres"), unit)
    if unit == "gpu":
        return listed
    own = slurm.number(pl.col(f"{which}{unit}s"))
    return pl.when(own > 0).then(own).otherwise(listed)


def _decided(unit: str) -> list[pl.Expr]:
    """Return the size, the wait, and what drops or marks a row."""
    start, end, elapsed = pl.col("start"), pl.col("end"), pl.col("elapsed")
    running = pl.col("state").is_in(_RUNNING).fill_null(False)
    span = end - start
    idle = start.is_null() & ~(elapsed > 0).fill_null(False)
    no_gpu = (pl.col("need").fill_null(0) + pl.col("requested").fill_null(0) == 0) & (
        pl.col("need").is_not_null() | pl.col("requested").is_not_null()
    )
    drop = (
        pl.when(pl.col("_wrong"))
        .then(pl.lit("unreadable"))
        .when(pl.col("job").str.contains(".", literal=True))
        .then(pl.lit("step"))
        .when(pl.col("_skipped"))
        .then(pl.lit("skipped_time"))
        .when(idle & pl.col("_submit").is_not_null())
        .then(pl.lit("never_started"))
    )
    if unit == "gpu":
        drop = drop.when(no_gpu).then(pl.lit("no_gpu"))
    return [
        drop.otherwise(None).alias(DROP),
        pl.coalesce(elapsed, pl.when(span >= 0).then(span)).alias("size"),
        (start - pl.col("submit")).alias("wait"),
        marked(
            running=running,
            size_from_times=elapsed.is_null(),
            suspended=~running & ((span - elapsed).abs() > 1),
            ambiguous_time=pl.col("ambiguous"),
            heterogeneous=pl.col("job").str.contains("+", literal=True),
        ),
    ]
