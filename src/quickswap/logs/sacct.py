"""Reads what Slurm's `sacct --parsable2` (or `--parsable`) prints, with a header or without."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from quickswap._words import counted
from quickswap.logs import evidence, values
from quickswap.logs.errors import LogError
from quickswap.logs.lines import Reader
from quickswap.logs.parsed import Parsed, judge, marked, unread
from quickswap.logs.quality import DROP, MARK, Tally
from quickswap.logs.records import Layout, frames, whole
from quickswap.logs.source import blocks, head

__all__ = ["is_header", "parse"]

_ALIASES = {"ncpus": "alloccpus", "nnodes": "allocnodes", "account": "group", "qos": "queue"}
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
        judge(_jobs(frame, unit, zone, tally), tally)
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


def _jobs(frame: pl.DataFrame, unit: str, zone: str | None, tally: Tally) -> pl.DataFrame:
    """Turn texts into the columns of a reader."""
    if DROP in frame.columns:
        return frame
    frame = frame.select(
        *(values.known(pl.col(name), pl.String()) for name in _USED if name in frame.columns),
        "line",
        MARK,
    )
    names = frame.columns
    job, user, state = (
        pl.coalesce(*(name for name in some if name in names), pl.lit(None, pl.String))
        for some in (("jobid", "jobidraw"), ("user", "uid"), ("state",))
    )
    frame = frame.with_columns(
        job=job,
        user=user,
        state=values.state(state),
        **{
            name: pl.when(~pl.col(name).str.to_lowercase().is_in(values.NO_LIMIT)).then(
                pl.col(name)
            )
            for name in ("timelimitraw", "timelimit")
            if name in names
        },
    )
    text = pl.col("job")
    frame = frame.with_columns(
        pl.when(text.str.contains(".", literal=True)).then(pl.lit("step")).alias(DROP),
        marked(heterogeneous=text.str.contains("+", literal=True)),
    )
    result = evidence.rows(frame, _sources(unit, names), zone, tally)
    if unit == "gpu":
        need, requested = pl.col("need"), pl.col("requested")
        none = (need.fill_null(0) + requested.fill_null(0) == 0) & ~(
            need.is_null() & requested.is_null()
        )
        no_gpu = pl.when(none).then(pl.lit("no_gpu")).otherwise(None)
        result = result.with_columns(pl.coalesce(DROP, no_gpu).alias(DROP))
    return result


def _sources(unit: str, names: list[str]) -> evidence.Sources:
    """Return how the fields are read that tell the size, the need and the estimate."""

    def need(which: str) -> list[tuple[str, pl.Expr]]:
        plain, listed = f"{which}{unit}s", f"{which}tres"
        return [
            (plain, values.count(pl.col(plain))),
            (listed, values.tres(pl.col(listed), unit)),
        ]

    sources = {
        "size": [
            (name, values.duration(pl.col(name), minutes=True))
            for name in ("elapsedraw", "elapsed")
        ],
        "need": need("alloc"),
        "requested": need("req"),
        "estimate": [
            ("timelimitraw", values.number(pl.col("timelimitraw")) * 60),
            ("timelimit", values.duration(pl.col("timelimit"), minutes=True)),
        ],
    }
    return {
        quantity: [(name, reading) for name, reading in each if name in names]
        for quantity, each in sources.items()
    }
