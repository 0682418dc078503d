"""Parses the output of Slurm's `sacct` with any delimiter, with fixed widths, or as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from quickswap._words import counted
from quickswap.errors import LogError
from quickswap.logs import extraction, values
from quickswap.logs.formats import fixed_width, slurm_json
from quickswap.logs.formats.fixed_width import header_columns
from quickswap.logs.formats.records import Layout, frames, whole_rows
from quickswap.logs.formats.source import blocks, first_text
from quickswap.logs.formats.text_lines import LineReader
from quickswap.logs.job_rows import Parsed, clean, marked, unread
from quickswap.logs.options import Options
from quickswap.logs.quality import DROP, MARK, Tally

__all__ = ["is_sacct", "parse"]

_NAME = re.compile(r"[A-Za-z_]+")
_ANOTHER = "request another period from sacct"

_ALIASES = {"ncpus": "alloccpus", "nnodes": "allocnodes", "account": "group", "qos": "queue"}
_USED = (
    *("jobid", "jobidraw", "submit", "eligible", "start", "end", "elapsedraw", "elapsed"),
    *("alloccpus", "reqcpus", "allocnodes", "reqnodes", "alloctres", "reqtres", "state"),
    *("timelimitraw", "timelimit", "user", "uid", "group", "partition", "queue"),
)
_NEEDED = {
    "the submission time": ("submit",),
    "the run time": ("elapsedraw", "elapsed", "end"),
}
_NEEDS = {
    "cpu": ("alloccpus", "reqcpus", "alloctres", "reqtres"),
    "node": ("allocnodes", "reqnodes", "alloctres", "reqtres"),
    "gpu": ("alloctres", "reqtres"),
}


def is_sacct(text: str) -> bool:
    """Return whether a text begins as output of sacct does: with names of fields, or as JSON."""
    line, _, rest = text.lstrip("\r\n").partition("\n")
    second = rest.partition("\n")[0]
    if line.lstrip()[:1] in ("{", "["):
        return True
    if header_columns(line.encode(), second.encode()) is not None:
        return True
    return delimiter_of(line) is not None


def delimiter_of(line: str) -> str | None:
    """Return the delimiter in a header of sacct; None if the line is not such a header.

    Other tables may share names with sacct; a header with a column `need` or `size` is not one of
    sacct.
    """
    line = line.replace('"', "").strip()
    words = [word.lower() for word in _NAME.findall(line)]
    between = set(_NAME.split(line)[1:-1])
    if between != {"||"} and "|" in line and set(words) & {"jobid", "jobidraw", "submit"}:
        return "|"
    if len(between) != 1 or not between.isdisjoint({" ", ""}) or set(words) & {"need", "size"}:
        return None
    ran = set(words) & {"elapsedraw", "elapsed", "end"}
    numbered = set(words) & {"jobid", "jobidraw"}
    return between.pop() if "submit" in words and ran and numbered else None


def parse(path: Path, options: Options, tally: Tally) -> Parsed:
    """Parse the output of sacct; blank lines and repeated headers are skipped."""
    unit, zone = options.unit, options.timezone
    start = first_text(path)
    if start.lstrip()[:1] in ("{", "["):
        return _parse_json(path, unit, zone, tally)
    if zone is None:
        tally.facts.append("Times are read as UTC; if they are local times, give the time zone.")
    first, _, rest = start.partition("\n")
    columns = header_columns(first.encode(), rest.partition("\n")[0].encode())
    reader = LineReader(lone_cr=False)
    if columns is not None and options.delimiter is None:
        names = _unique_names([name.lower() for name, _, _ in columns])
        spans = [(begin, end) for _, begin, end in columns]
        headed = True
        found = (
            frame
            for block in blocks(path)
            for frame in fixed_width.frames(reader.lines(block), names, spans)
        )
    else:
        layout, headed = _layout(path, first.rstrip("\r"), options)
        names = layout.names
        found = (
            frame
            for block in whole_rows(layout.translated(blocks(path)), layout)
            for frame in frames(reader.lines(block), layout)
        )
    _check_fields(path, names, unit)
    parts = [
        clean(_jobs(frame, unit, zone, tally), tally)
        for frame in (_without_headers(each, tally) for each in found)
    ]
    if headed and tally.rows == 0:
        raise LogError(f"{path} has a header, but no jobs", advice=_ANOTHER)
    frame = pl.concat(parts) if parts else clean(unread([]), tally)
    return Parsed(frame, {"Format": ",".join(names)}, None, 0.0, zone)


def _parse_json(path: Path, unit: str, zone: str | None, tally: Tally) -> Parsed:
    """Parse JSON, whose times are Unix times."""
    found = (clean(_jobs(frame, unit, None, tally), tally) for frame in slurm_json.frames(path))
    parts = list(found)
    if not parts:
        raise LogError(f"{path} contains no jobs", advice=_ANOTHER)
    tally.facts.append("Line numbers count the jobs of the JSON file, from 1.")
    return Parsed(pl.concat(parts), {"Format": "JSON"}, None, 0.0, zone)


def _layout(path: Path, line: str, options: Options) -> tuple[Layout, bool]:
    """Return the layout of a file by its first line, and whether this line is a header."""
    sacct_format, mark = options.sacct_format, options.delimiter or delimiter_of(line)
    words = [] if mark is None else line.replace('"', "").lower().split(mark)
    headed = not {"jobid", "jobidraw", "submit"}.isdisjoint(word.strip() for word in words)
    if headed and mark is not None:
        given = words
    elif sacct_format is None:
        raise LogError(
            f"{path}, line 1 has {counted(len(line.split(mark or '|')), 'field')} and no header",
            argument="sacct_format",
            allowed="the fields that were requested",
            advice='give {sacct_format}, the fields that were requested, as in "JobID,Submit,..."',
        )
    else:
        given = sacct_format.split(",")
    names = [word.partition("%")[0].strip().lower() for word in given]
    if mark is None:
        candidates = [each for each in "|\t;^," if line.count(each) >= len(names) - 1]
        mark = candidates[0] if candidates and len(names) > 1 else "|"
    trailing = headed and names[-1] == ""
    if trailing:
        names.pop()
    names = _unique_names(names)
    if not headed:
        trailing = line.endswith(mark) and line.count(mark) == len(names)
    layout = Layout(names, trailing, mark, _USED, line.encode() if headed else b"")
    if not headed and line.count(mark) < layout.delimiters:
        raise LogError(
            f"{path}, line 1 has {counted(line.count(mark) + 1, 'field')} separated by {mark!r}, "
            f"but {len(names)} were given",
            argument="sacct_format",
            given=sacct_format,
            advice="give the fields in their order in {sacct_format}, or another {delimiter}",
        )
    return layout, headed


def _unique_names(names: list[str]) -> list[str]:
    """Return unique names: of several fields for one quantity, the first keeps its name."""
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
    if "account" in names and "group" in names:  # an account is more specific than a Unix group
        at = [index for index, name in enumerate(names) if name in ("account", "group")]
        for index in at:
            result[index] = "group" if names[index] == "account" else f"group_{index}"
    return result


def _check_fields(path: Path, names: list[str], unit: str) -> None:
    for what, some in (_NEEDED | {f"the need in {unit}s": _NEEDS[unit]}).items():
        if not set(some) & set(names):
            raise LogError(
                f"{path}, line 1 has no field for {what}, only {', '.join(names)}",
                allowed=", ".join(some),
                advice=f"add {' or '.join(some)} to the option --format of sacct",
            )


def _without_headers(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Remove header lines, which occur repeatedly in concatenated files."""
    if "submit" not in frame.columns or DROP in frame.columns:
        return frame
    header = frame.get_column("submit").str.to_lowercase().eq_missing(pl.Series(["submit"]))
    again = frame.filter(header & (frame.get_column("line") > 1))
    tally.add("header_words", again.height, again.get_column("line").to_list())
    return frame.filter(~header)


def _jobs(frame: pl.DataFrame, unit: str, zone: str | None, tally: Tally) -> pl.DataFrame:
    """Return the columns of `job_rows.complete` from columns of text."""
    if DROP in frame.columns:
        return frame
    frame = frame.select(
        *(values.known(pl.col(name), pl.String()) for name in _USED if name in frame.columns),
        "line",
        MARK,
    )
    names = frame.columns
    user, state = (
        pl.coalesce(*(name for name in some if name in names), pl.lit(None, pl.String))
        for some in (("user", "uid"), ("state",))
    )
    numbers = [pl.col(name) for name in ("jobid", "jobidraw") if name in names]
    full = [pl.when(~_truncated(each)).then(each) for each in numbers]
    job = pl.coalesce(*full, *numbers, pl.lit(None, pl.String))
    frame = frame.with_columns(
        job=job,
        user=user,
        state=values.state(state),
        **{
            name: values.limit(pl.col(name))
            for name in ("timelimitraw", "timelimit")
            if name in names
        },
    )
    text = pl.col("job")
    frame = frame.with_columns(
        pl.when(text.str.contains(".", literal=True))
        .then(pl.lit("step"))
        .when(_truncated(text))
        .then(pl.lit("unreadable"))
        .alias(DROP),
        marked(heterogeneous=text.str.contains("+", literal=True)),
    )
    result = extraction.extract(frame, _sources(unit, names), zone, tally)
    if unit == "gpu":
        need, requested = pl.col("need"), pl.col("requested")
        none = (need.fill_null(0) + requested.fill_null(0) == 0) & ~(
            need.is_null() & requested.is_null()
        )
        no_gpu = pl.when(none).then(pl.lit("no_gpu")).otherwise(None)
        result = result.with_columns(pl.coalesce(DROP, no_gpu).alias(DROP))
    return result


def _truncated(job: pl.Expr) -> pl.Expr:
    """Return whether a job number is truncated at the width of its field; it may be a step."""
    return (job.str.ends_with("+") & ~job.str.contains(".", literal=True)).fill_null(False)


def _sources(unit: str, names: list[str]) -> extraction.Sources:
    """Return the fields of size, need and estimate, each with its value as a number."""

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
