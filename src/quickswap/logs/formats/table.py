"""Reads plain tables: CSV, with commas, semicolons or tabs, and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from quickswap.logs import evidence, values
from quickswap.logs.errors import LogError
from quickswap.logs.formats.lines import Lines, Reader, fields
from quickswap.logs.formats.source import blocks, head
from quickswap.logs.joblog import stored
from quickswap.logs.options import TimeUnit
from quickswap.logs.parsed import TEXTS, Parsed, judge, unread
from quickswap.logs.quality import DROP, MARK, Tally
from quickswap.logs.rules import bit
from quickswap.logs.units import PlainTimes

__all__ = ["parse_csv", "parse_parquet", "separator"]

KNOWN = ("submit", "need", "size", "estimate", "wait", "eligible", "start", "end", *TEXTS)
"""The columns of a table. The first three must be there, or `start` and `end` for `size`."""

_READINGS = {
    "size": values.duration,
    "wait": values.duration,
    "need": values.count,
    "estimate": values.duration,
}
_LOCAL = "Times are taken for UTC; if the table has local ones, give timezone=."
_DATED_WITHOUT_ZONE = r"^\s*\d{4}-\d\d-\d\d([T ][\d:.]+)?\s*$"
_EPOCH = 3e8
_ADVICE = "give a table with a row for each job"
_END = "\x1e"
"""Put behind a block: a row of its own, unless a quote is still open."""
_MOST_HELD = 4
"""Blocks put together for the sake of a quoted field."""


def separator(line: str) -> str | None:
    """Return what separates the fields of a header: the most frequent of comma, `;` and tab."""
    best = max(",;\t", key=line.count)
    return best if best in line else None


def parse_csv(
    path: Path,
    columns: Mapping[str, str] | None,
    zone: str | None,
    time_unit: TimeUnit | None,
    tally: Tally,
) -> Parsed:
    """Read a table whose first line names the columns; blank lines are no rows."""
    text = head(path).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").lstrip("\r\n")
    line = text.replace("\r", "\n").partition("\n")[0]
    mark = separator(line) or ","
    names = [word.strip() for word in next(csv.reader([line.replace("\0", " ")], delimiter=mark))]
    mapping = _mapping(path, names, columns)
    plain = PlainTimes(path, time_unit)
    reader, first = Reader(lone_cr=True), True
    parts: list[pl.DataFrame] = []
    for block in _even(blocks(path, lone_cr=True)):
        lines = reader.lines(block)
        rows = _rows(lines, [f"f{i}" for i in range(len(names))], mark, first, path)
        parts += [judge(_jobs(frame, names, mapping, zone, plain, tally), tally) for frame in rows]
        first = False
    if tally.rows == 0:
        raise LogError(f"{path} has a header, but no jobs: {_ADVICE}.")
    frame = pl.concat(parts) if parts else judge(unread([]), tally)
    plain.conclude(frame, tally)
    return Parsed(frame, {}, None, _clock(frame, tally), zone)


def parse_parquet(
    path: Path,
    columns: Mapping[str, str] | None,
    zone: str | None,
    time_unit: TimeUnit | None,
    tally: Tally,
) -> Parsed:
    """Read a Parquet file; of one that `JobLog.write_parquet` wrote, servers and origin too."""
    facts = stored(path) or {}
    try:
        table = pl.scan_parquet(path)
        names = table.collect_schema().names()
        mapping = _mapping(path, names, columns)
        frame = table.select(
            pl.col(own).alias(f"f{names.index(own)}") for own in mapping.values()
        ).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LogError(f"{path} cannot be read as Parquet: fetch or write it again.") from error
    for name, own in mapping.items():
        kind = frame.schema[f"f{names.index(own)}"]
        if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Time):
            raise LogError(
                f"{path}: the column {own!r} ({name}) holds {kind}, no numbers or texts."
            )
    frame = frame.with_row_index("line", offset=1).with_columns(pl.lit(0, pl.UInt64).alias(MARK))
    plain = PlainTimes(path, "s" if facts else time_unit)
    jobs = judge(_jobs(frame, names, mapping, zone, plain, tally), tally)
    if tally.rows == 0:
        raise LogError(f"{path} has columns, but no jobs: {_ADVICE}.")
    plain.conclude(jobs, tally)
    clock = facts["origin"] if facts else _clock(jobs, tally)
    return Parsed(jobs, facts.get("header", {}), facts.get("servers"), clock, zone)


def _mapping(path: Path, names: list[str], columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return the table's name of each known column that it has."""
    given = dict(columns or {})
    for name, own in given.items():
        if name not in KNOWN:
            raise LogError(f"columns has {name!r}; it may name {', '.join(KNOWN)}.")
        if own not in names:
            raise LogError(f"{path}, line 1 has no column {own!r}: it has {_listed(names)}.")
    result = {name: name for name in KNOWN if name in names} | given
    for name, own in result.items():
        if names.count(own) > 1:
            places = [str(at) for at, each in enumerate(names, 1) if each == own]
            raise LogError(
                f"{path}, line 1 has {len(places)} columns {own!r} ({', '.join(places)}): give "
                f"each a name of its own, so that it is clear which one is the {name}."
            )
    timed = "end" in result and not {"start", "wait"}.isdisjoint(result)
    for name in KNOWN[:3]:
        if name not in result and not (name == "size" and timed):
            instead = ", nor 'start' and 'end'" if name == "size" else ""
            raise LogError(
                f"{path}, line 1 has no column {name!r}{instead}: it has {_listed(names)}; say "
                f'which one it is with columns={{"{name}": ...}}.'
            )
    return result


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:20])
    return shown + (", ..." if len(names) > 20 else "")


def _even(text: Iterator[bytes]) -> Iterator[bytes]:
    """Yield blocks with an even number of quotes, so that no quoted field is cut.

    A quote that stands alone is not waited for without end: no field is as long as a few blocks.
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
    """Yield the rows of a block as texts, without the header of the first."""
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
        marks = np.where(lines.odd, bit("line_end"), 0).astype(np.uint64)
        marks |= np.where(lines.undecodable(), bit("encoding"), 0).astype(np.uint64)
        frame = fields(lines.pick(regular), names, mark, pl.String)
        yield frame.with_columns(
            pl.Series("line", lines.numbers[regular]), pl.Series(MARK, marks[regular], pl.UInt64)
        )


def _quoted(
    lines: Lines, names: list[str], mark: str, first: bool, path: Path
) -> Iterator[pl.DataFrame]:
    """Read a block with quotes by Python's own reader; a quote must be closed before `_END`."""
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
            f"{path}, line {lines.numbers[min(begins, len(lines) - 1)]}: a quote is never closed; "
            f"correct the file."
        ) from error
    if bad:
        yield unread(bad)
    if good:
        marks = np.where(lines.odd[where], bit("line_end"), 0).astype(np.uint64)
        yield pl.DataFrame(good, dict.fromkeys(names, pl.String), orient="row").with_columns(
            pl.Series("line", lines.numbers[where]), pl.Series(MARK, marks, pl.UInt64)
        )


def _jobs(
    frame: pl.DataFrame,
    names: list[str],
    mapping: dict[str, str],
    zone: str | None,
    plain: PlainTimes,
    tally: Tally,
) -> pl.DataFrame:
    """Turn the columns of a table into those of a reader."""
    if DROP in frame.columns:
        return frame
    fields = {name: f"f{names.index(own)}" for name, own in mapping.items()}
    if zone is None and _LOCAL not in tally.facts and _has_local_times(frame, fields):
        tally.facts.append(_LOCAL)
    frame = frame.select(
        *(
            values.known(pl.col(field), frame.schema[field]).alias(name)
            for name, field in fields.items()
        ),
        "line",
        MARK,
    )
    if "estimate" in fields and frame.schema["estimate"] == pl.String:
        limit = pl.col("estimate")
        frame = frame.with_columns(
            pl.when(~limit.str.to_lowercase().is_in(values.NO_LIMIT)).then(limit)
        )
    frame = frame.with_columns(pl.col(name).cast(pl.String) for name in TEXTS if name in fields)
    if "state" in fields:
        frame = frame.with_columns(values.state(pl.col("state")))
    sources = {
        name: [(name, reading(pl.col(name)))]
        for name, reading in _READINGS.items()
        if name in fields
    }
    return evidence.rows(plain.seconds(frame), sources, zone, tally)


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


def _clock(frame: pl.DataFrame, tally: Tally) -> float | None:
    first = frame.get_column("submit").min()
    if isinstance(first, float) and first > _EPOCH:
        if _LOCAL not in tally.facts:
            tally.facts.append("Submit times are Unix times.")
        return 0.0
    return None
