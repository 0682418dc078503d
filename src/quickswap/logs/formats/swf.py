"""Reads the Standard Workload Format 2.2, as the Parallel Workloads Archive publishes logs.

Blocks of regular rows are parsed by Polars. A row with a character that no number has goes through
a slow path of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap._words import counted
from quickswap.logs.formats.lines import Lines, Reader, fields
from quickswap.logs.formats.parsed import Parsed, complete, judge, unread
from quickswap.logs.formats.source import ahead, blocks, threads
from quickswap.logs.quality import MARK, Tally
from quickswap.logs.rules import bit

__all__ = ["parse"]

_NAMES = [
    *("job", "submit", "wait", "size", "need", "cpu", "memory", "requested", "estimate"),
    *("requested_memory", "status", "user", "group", "executable", "queue", "partition"),
    *("preceding", "think"),
]
_READ = [
    *("job", "submit", "wait", "size", "need", "requested", "estimate", "status"),
    *("user", "group", "queue", "partition", "think"),
]
_FEWEST = len(_NAMES) - 1
_MUST = ("submit", "size", "need", "requested")
_LABELS = ("job", "user", "group", "queue", "partition")
_STATES = {0: "failed", 1: "completed", 2: "partial", 3: "partial", 4: "partial", 5: "cancelled"}
_NUMERIC = b"0123456789+-.eE \n"
_BLANKS = b"\t\v\f\0"
_SPACE, _FEED, _COMMENT = 32, 10, 59
_EPOCH = 3e8
"""A first submit time beyond (9.5 years after the log's start) is one in Unix time."""
_HEADER_LINES = 10_000


class _Header:
    """Collects `; Key: value` lines; a line without a key continues the value before it."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self._last: str | None = None
        self._lines = 0

    def add(self, line: str) -> None:
        self._lines += 1
        if self._lines > _HEADER_LINES:
            return
        text = line.strip().lstrip(";")
        if found := re.match(r"\s*([A-Za-z]\w*)\s*:(?!//)\s*(.*)", text):
            key, value = found[1], found[2].strip()
            if key in self.facts:
                value = f"{self.facts[key]}\n{value}"
            self.facts[key], self._last = value, key
        elif text.strip() and self._last and re.match(r"\s{2,}\w", text):
            self.facts[self._last] += f"\n{text.strip()}"
        else:
            self._last = None

    def number(self, *keys: str) -> float | None:
        """Return the first positive number that one of the keys has."""
        for key in keys:
            found = re.match(r"[0-9]+(\.[0-9]+)?", self.facts.get(key, ""))
            if found and float(found[0]) > 0:
                return float(found[0])
        return None


def parse(path: Path, unit: str, tally: Tally) -> Parsed:
    """Read an SWF log; blank lines and comments are no rows."""
    header = _Header()
    with threads() as pool:
        parts = [judge(frame, tally) for frame in _frames(path, header, tally, pool)]
    frame = pl.concat(parts) if parts else judge(unread([]), tally)
    keys = ("MaxNodes", "MaxProcs") if unit == "node" else ("MaxProcs", "MaxNodes")
    servers = header.number(*keys)
    _tell(header, frame, tally)
    clock = header.number("UnixStartTime")
    first = frame.get_column("submit").min()
    if isinstance(first, float) and first > _EPOCH:
        clock = 0.0
        tally.facts.append("Submit times are Unix times.")
    elif clock is None:
        tally.facts.append("The log does not say when it began (UnixStartTime).")
    zone = header.facts.get("TimeZoneString")
    return Parsed(frame, header.facts, None if servers is None else int(servers), clock, zone)


def _frames(path: Path, header: _Header, tally: Tally, pool: Executor) -> Iterator[pl.DataFrame]:
    """Yield the rows of a log, block by block; regular blocks are parsed ahead, in threads."""
    reader = Reader(lone_cr=True)
    numbered = map(reader.lines, blocks(path, lone_cr=True))
    for raw, lines, frame in ahead(pool, _regular_block, numbered):
        if frame is not None:
            yield frame
        else:
            yield from map(_states, _block(raw, lines, header, tally))


def _regular_block(raw: Lines) -> tuple[Lines, Lines, pl.DataFrame | None]:
    """Return the lines as they are and tidied, and their rows if all are regular."""
    lines, blanks = _tidy(raw)
    if blanks == _FEWEST * len(lines) and not lines.odd.any():
        frame = fields(lines.text, _NAMES, " ", pl.Float64, _READ)
        if frame.height == len(lines) and not any(column.has_nulls() for column in frame):
            marks = np.zeros(len(lines), np.uint64)
            return raw, lines, _states(_regular(frame, lines.numbers, marks))
    return raw, lines, None


def _block(raw: Lines, lines: Lines, header: _Header, tally: Tally) -> Iterator[pl.DataFrame]:
    """Yield the rows of a block, without their states."""
    begun = tally.rows > 0
    first = lines.array()[lines.starts]
    strange = np.ones(256, bool)
    strange[np.frombuffer(_NUMERIC, np.uint8)] = False
    words = lines.any(strange)
    row = (first != _FEED) & (first != _COMMENT)
    for index in np.flatnonzero(first == _COMMENT):
        header.add(raw.line(int(index)).decode("utf-8", "replace"))
    count = lines.count(_SPACE) + 1
    plain = row & ~words & (count >= _FEWEST)
    short = row & ~words & (count < _FEWEST)
    if short.any():
        yield unread([(int(number), "fields") for number in lines.numbers[short]])
    marks = np.where(count == len(_NAMES), 0, bit("field_count")).astype(np.uint64)
    marks |= np.where(lines.odd, bit("line_end"), 0).astype(np.uint64)
    if plain.any():
        frame = fields(lines.pick(plain), _NAMES, " ", pl.Float64, _READ)
        yield _regular(frame, lines.numbers[plain], marks[plain])
    start = int(np.argmax(row & ~words)) if (row & ~words).any() else len(lines)
    for index in np.flatnonzero(row & words):
        yield from _strange(lines, int(index), begun or int(index) > start, header, tally)


def _tidy(lines: Lines) -> tuple[Lines, int]:
    """Return the lines with one blank between fields and none around them, and count the blanks."""
    text = lines.text
    if any(blank in text for blank in _BLANKS):
        text = text.translate(bytes.maketrans(_BLANKS, b" " * len(_BLANKS)))
    data = np.frombuffer(text, np.uint8)
    blank = data == _SPACE
    around = blank[lines.starts].any() or blank[np.maximum(lines.ends - 2, 0)].any()
    if not around and not (blank[1:] & blank[:-1]).any():
        same = Lines(text, lines.starts, lines.ends, lines.numbers, lines.odd)
        return same, int(np.count_nonzero(blank))
    before = np.concatenate([[True], blank[:-1] | (data[:-1] == _FEED)])
    keep = ~(blank & before)
    if not keep.all():
        data = data[keep]
    after = np.concatenate([data[1:] == _FEED, [False]])
    keep = ~((data == _SPACE) & after)
    if not keep.all():
        data = data[keep]
    ends = np.flatnonzero(data == _FEED) + 1
    starts = np.concatenate([[0], ends[:-1]])
    result = Lines(data.tobytes(), starts, ends, lines.numbers, lines.odd)
    return result, int(np.count_nonzero(data == _SPACE))


def _regular(
    frame: pl.DataFrame, numbers: npt.NDArray[np.int64], marks: npt.NDArray[np.uint64]
) -> pl.DataFrame:
    unreadable = pl.any_horizontal(pl.col(name).is_null() for name in _MUST)
    return frame.with_columns(
        pl.Series("line", numbers),
        pl.Series(MARK, marks, pl.UInt64),
        pl.when(unreadable).then(pl.lit("unreadable")).alias("_drop"),
    )


def _strange(
    lines: Lines, index: int, begun: bool, header: _Header, tally: Tally
) -> Iterator[pl.DataFrame]:
    """Read a row with characters that no number has: words, or a comment after the fields."""
    number = int(lines.numbers[index])
    text = lines.line(index).decode("utf-8", "replace").partition(";")[0]
    words = text.split()
    values = [_float(word) for word in words]
    if not begun and values[:1] == [None]:
        tally.add("header_words", 1, [number])
        header.add(text)
        return
    if len(words) < _FEWEST:
        yield unread([(number, "fields")])
        return
    values = [*values, None][: len(_NAMES)]
    frame = pl.DataFrame([values], schema=dict.fromkeys(_NAMES, pl.Float64), orient="row")
    marks = bit("field_count") if len(words) != len(_NAMES) else 0
    marks |= bit("line_end") if lines.odd[index] else 0
    yield _regular(frame, np.array([number]), np.array([marks], np.uint64))


def _float(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _states(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn -1 into unknown, and numbers into the texts that other formats have."""
    if "status" not in frame.columns:
        return frame

    def known(name: str) -> pl.Expr:
        return pl.when(pl.col(name) >= 0).then(pl.col(name)).otherwise(None).alias(name)

    status = pl.col("status").cast(pl.Int64, strict=False)
    return complete(
        frame.with_columns(
            known("submit"),
            known("size"),
            known("need"),
            known("requested"),
            known("estimate"),
            pl.when(pl.col("wait") != -1).then(pl.col("wait")).alias("wait"),
            *(known(name).cast(pl.Int64, strict=False).cast(pl.String) for name in _LABELS),
            status.replace_strict(_STATES, default=None, return_dtype=pl.String).alias("state"),
        )
    )


def _tell(header: _Header, frame: pl.DataFrame, tally: Tally) -> None:
    """Note what the header says and the rows do not."""
    said = header.number("MaxJobs", "MaxRecords")
    if said is not None and int(said) != tally.rows:
        tally.facts.append(
            f"The header says {counted(int(said), 'job', ',')}, the log has "
            f"{counted(tally.rows, 'row', ',')}."
        )
    nodes, processors = header.number("MaxNodes"), header.number("MaxProcs")
    most = frame.get_column("need").max()
    if nodes and processors and nodes < processors and isinstance(most, int) and most <= nodes:
        tally.facts.append(
            f"No need is above {int(nodes)} (MaxNodes) where MaxProcs is {int(processors)}: the "
            f'needs may be nodes; read with unit="node" then.'
        )
    waits = frame.get_column("wait").drop_nulls()
    positive = waits.filter(waits > 0)
    if len(positive) >= 10 and bool((positive % 60 == 0).all()):
        tally.facts.append("Every wait is a whole number of minutes: rounded.")
