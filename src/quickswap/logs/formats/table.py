"""Parses tables: CSV with commas, semicolons or tabs, and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from quickswap.errors import LogError, invalid, unknown
from quickswap.logs import extraction, values
from quickswap.logs.formats.source import blocks, first_text
from quickswap.logs.formats.text_lines import LineReader, Lines, fields
from quickswap.logs.job_rows import (
    LOCAL_TIMES,
    TEXTS,
    Parsed,
    clean,
    text_rows,
    unix_clock,
    unread,
    with_lines,
)
from quickswap.logs.joblog import stored_metadata, unreadable
from quickswap.logs.options import Options
from quickswap.logs.quality import DROP, MARK, Tally
from quickswap.logs.time_unit import PlainTimes

__all__ = ["find_delimiter", "parse_csv", "parse_parquet"]

KNOWN = ("submit", "need", "size", "estimate", "wait", "eligible", "start", "end", *TEXTS)
"""The columns of a table; the first three are required, where `start` and `end` can give `size`."""

_DATED_WITHOUT_ZONE = r"^\s*\d{4}-\d\d-\d\d([T ][\d:.]+)?\s*$"
_ADVICE = "give a table with one row per job"
_END = "\x1e"
"""Appended to a block; it is parsed as a separate row unless a quote is still open."""
_MOST_HELD = 4
"""Most blocks that are joined because of a quoted field."""


def find_delimiter(line: str) -> str | None:
    """Return the delimiter of a header: the most frequent of comma, semicolon and tab."""
    best = max(",;\t", key=line.count)
    return best if best in line else None


def parse_csv(path: Path, options: Options, tally: Tally) -> Parsed:
    """Parse a table whose first line contains the names of the columns; blank lines are skipped."""
    line = first_text(path).replace("\r", "\n").partition("\n")[0]
    mark = find_delimiter(line) or ","
    names = [word.strip() for word in next(csv.reader([line.replace("\0", " ")], delimiter=mark))]
    mapping = _mapping(path, names, options.columns)
    zone, plain = options.timezone, PlainTimes(path, options.time_unit)
    reader, first = LineReader(lone_cr=True), True
    parts: list[pl.DataFrame] = []
    for block in _even_quotes(blocks(path, lone_cr=True)):
        lines = reader.lines(block)
        rows = _rows(lines, [f"f{i}" for i in range(len(names))], mark, first, path)
        parts += [clean(_jobs(frame, names, mapping, zone, plain, tally), tally) for frame in rows]
        first = False
    if tally.rows == 0:
        raise LogError(f"{path} has a header, but no jobs", advice=_ADVICE)
    frame = pl.concat(parts) if parts else clean(unread([]), tally)
    plain.check(frame, tally)
    return Parsed(frame, {}, None, unix_clock(frame, tally), zone)


def parse_parquet(path: Path, options: Options, tally: Tally) -> Parsed:
    """Parse a Parquet file, and the metadata in a file that `JobLog.write_parquet` wrote."""
    facts, zone = stored_metadata(path) or {}, options.timezone
    try:
        table = pl.scan_parquet(path)
        names = table.collect_schema().names()
        mapping = _mapping(path, names, options.columns)
        frame = table.select(
            pl.col(own).alias(f"f{names.index(own)}") for own in mapping.values()
        ).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path) from error
    for name, own in mapping.items():
        kind = frame.schema[f"f{names.index(own)}"]
        if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Time):
            what = f"the type of the column {own!r} ({name})"
            raise invalid(what, kind, "numbers or texts", LogError).within(f"{path}: ")
    frame = frame.with_row_index("line", offset=1).with_columns(pl.lit(0, pl.UInt64).alias(MARK))
    plain = PlainTimes(path, "s" if facts else options.time_unit)
    jobs = clean(_jobs(frame, names, mapping, zone, plain, tally), tally)
    if tally.rows == 0:
        raise LogError(f"{path} has columns, but no jobs", advice=_ADVICE)
    plain.check(jobs, tally)
    clock = facts["origin"] if facts else unix_clock(jobs, tally)
    return Parsed(jobs, facts.get("header", {}), facts.get("servers"), clock, zone)


def _mapping(path: Path, names: list[str], columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return the names in the file of the known columns."""
    given = dict(columns or {})
    for name, own in given.items():
        if name not in KNOWN:
            unknown("column", name, KNOWN, LogError, argument="columns")
        if own not in names:
            raise LogError(
                f"{path}, line 1 has no column {own!r}, only {_listed(names)}.",
                argument="columns",
                given=own,
                allowed=_listed(names),
            )
    result = {name: name for name in KNOWN if name in names} | given
    if not result and any(name[:1].isdecimal() for name in names):
        raise LogError(
            f"{path}, line 1 does not contain names of columns, but {_listed(names)}",
            argument="columns",
            advice="add a first line with the names, such as submit,need,size",
        )
    for name, own in result.items():
        if names.count(own) > 1:
            places = [str(at) for at, each in enumerate(names, 1) if each == own]
            raise LogError(
                f"{path}, line 1 has {len(places)} columns {own!r} ({', '.join(places)}), one of "
                f"which is {name}",
                advice="give each column a different name",
            )
    timed = "end" in result and not {"start", "wait"}.isdisjoint(result)
    for name in KNOWN[:3]:
        if name not in result and not (name == "size" and timed):
            instead = " (or 'start' and 'end')" if name == "size" else ""
            raise LogError(
                f"{path}, line 1 has no column {name!r}{instead}, only {_listed(names)}",
                argument="columns",
                allowed=_listed(names),
                advice=f"give its name in the file by {{columns:{name}=...}}",
            )
    return result


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _even_quotes(text: Iterator[bytes]) -> Iterator[bytes]:
    """Yield blocks with an even number of quotes so that no quoted field is split.

    After an unpaired quote at most `_MOST_HELD` blocks are joined, as no field is that long.
    """
    held: list[bytes] = []
    quotes = 0
    for block in text:
        held.append(block)
        quotes += block.count(b'"')
        if quotes % 2 == 0 or len(held) == _MOST_HELD:
            yield b"".join(held)
            held, quotes = [], 0
    if held:
        yield b"".join(held)


def _rows(
    lines: Lines, names: list[str], mark: str, first: bool, path: Path
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a block as texts; `first` is whether it contains the header."""
    filled = (lines.ends - lines.starts) > 1
    if b'"' in lines.text:
        yield from _quoted(lines, names, mark, first, path)
        return
    if first and filled.any():
        filled[int(np.argmax(filled))] = False
    regular = filled & (lines.count(ord(mark)) == len(names) - 1)
    bad = lines.numbers[filled & ~regular]
    if len(bad):
        yield unread([(int(number), "fields") for number in bad])
    if regular.any():
        frame = fields(lines.pick(regular), names, mark, pl.String)
        yield with_lines(frame, lines.numbers[regular], lines.marks()[regular])


def _quoted(
    lines: Lines, names: list[str], mark: str, first: bool, path: Path
) -> Iterator[pl.DataFrame]:
    """Parse a block with quotes by Python's `csv`; a quote must be closed before `_END`."""
    text = lines.text.decode("utf-8", "replace") + _END
    reader = csv.reader(io.StringIO(text), delimiter=mark)
    bad: list[tuple[int, str]] = []
    good: list[list[str]] = []
    where: list[int] = []
    begins, closed = 0, False
    try:
        for row in reader:
            index, begins = begins, reader.line_num
            closed = row == [_END]
            if closed or not row or first:
                first = first and not row
            elif len(row) == len(names):
                good.append(row)
                where.append(index)
            else:
                bad.append((int(lines.numbers[index]), "fields"))
            for other in range(index + 1, min(begins, len(lines))):
                line = lines.line(other).decode("utf-8", "replace")
                if len(next(csv.reader([line], delimiter=mark), ())) == len(names):
                    bad.append((int(lines.numbers[other]), "swallowed"))
        if not closed:
            begins = index
            raise csv.Error
    except csv.Error as error:
        raise LogError(
            f"{path}, line {lines.numbers[min(begins, len(lines) - 1)]}: a quote is not closed",
            advice="correct the file",
        ) from error
    yield from text_rows(names, good, lines.numbers[where], lines.marks()[where], bad)


def _jobs(
    frame: pl.DataFrame,
    names: list[str],
    mapping: dict[str, str],
    zone: str | None,
    plain: PlainTimes,
    tally: Tally,
) -> pl.DataFrame:
    """Return the columns of `job_rows.complete`, given those of a table."""
    if DROP in frame.columns:
        return frame
    fields = {name: f"f{names.index(own)}" for name, own in mapping.items()}
    if zone is None and LOCAL_TIMES not in tally.facts and _has_local_times(frame, fields):
        tally.facts.append(LOCAL_TIMES)
    frame = frame.select(
        *(
            values.known(pl.col(field), frame.schema[field]).alias(name)
            for name, field in fields.items()
        ),
        "line",
        MARK,
    )
    if "estimate" in fields and frame.schema["estimate"] == pl.String:
        frame = frame.with_columns(values.limit(pl.col("estimate")))
    frame = frame.with_columns(pl.col(name).cast(pl.String) for name in TEXTS if name in fields)
    if "state" in fields:
        frame = frame.with_columns(values.state(pl.col("state")))
    sources = extraction.named_sources(frame)
    return extraction.extract(plain.seconds(frame), sources, zone, tally)


def _has_local_times(frame: pl.DataFrame, fields: Mapping[str, str]) -> bool:
    """Return whether a time in the table has a date, but no zone of its own."""
    for name in ("submit", "start", "end"):
        if name in fields:
            column = frame.get_column(fields[name])
            if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is None:
                return True
            if column.dtype == pl.String and column.str.contains(_DATED_WITHOUT_ZONE).any():
                return True
    return False
