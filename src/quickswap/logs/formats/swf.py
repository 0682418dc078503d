"""Parses the Standard Workload Format 2.2 of the Parallel Workloads Archive.

The core parses blocks of rows that contain only plain numbers. In other blocks, Polars parses the
rows that contain only numbers, and the other rows as text, which is slower.
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
from quickswap.engine._core import plain_rows
from quickswap.errors import LogError
from quickswap.logs import extraction, values
from quickswap.logs.formats.source import ahead, blocks, threads
from quickswap.logs.formats.text_lines import LineReader, Lines, fields
from quickswap.logs.job_rows import (
    LARGEST,
    Parsed,
    clean,
    complete,
    unix_clock,
    unread,
    with_lines,
)
from quickswap.logs.options import Options, check_zone
from quickswap.logs.quality import Tally
from quickswap.logs.rules import bit
from quickswap.logs.server_use import in_minutes

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
_TWO_ROWS = 2 * len(_NAMES) - 1
_QUANTITIES = ("submit", "wait", "size", "need", "requested", "estimate")
_LABELS = ("job", "status", "user", "group", "queue", "partition")
_WHOLE = r"^[+-]?\d+\.?\d*([eE][+-]?\d+)?$"
_STATES = {0: "failed", 1: "completed", 2: "partial", 3: "partial", 4: "partial", 5: "cancelled"}
_NUMERIC = b"0123456789+-.eE \n"
_BLANKS = b"\t\v\f\0"
_SPACE, _FEED, _COMMENT = 32, 10, 59
_COMMENTS = re.compile(rb"(?:;[^\r\n]*(?:\r\n|\r|\n))*")
_HEADER_LINES = 10_000
_NUMBERS = ("MaxProcs", "MaxNodes", "MaxJobs", "MaxRecords", "UnixStartTime")
_PARTITION = re.compile(r"\s*(?:partition\s*)?#?(\d+)\b", re.IGNORECASE)
_PROCESSORS = re.compile(r"\b(\d[\d,]*)[ -](?:processors?|procs?|cpus?|cores?)\b", re.IGNORECASE)
_NODES = re.compile(r"\b(\d[\d,]*)[ -]nodes?\b", re.IGNORECASE)
_PER_NODE = re.compile(r"\b(?:nodes?|each|per|every)\b|[/*]", re.IGNORECASE)


class _Header:
    """The `; Key: value` lines of the header; a line without a key continues the last value."""

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
        """Return the first positive number among the values of some keys; words may follow it."""
        for key in keys:
            found = re.match(r"([0-9.]+[KMGTP]?)(?:\s+[^\s0-9]|\s*$)", self.facts.get(key, ""))
            value = None if found is None else pl.select(values.count(pl.lit(found[1]))).item()
            if value is not None and value > 0:
                return float(value)
        return None

    def unread(self) -> Iterator[str]:
        """Yield the keys whose value begins with a digit, but is not a number."""
        for key in _NUMBERS:
            text = self.facts.get(key, "")
            if re.match(r"[0-9]*[1-9]", text) and self.number(key) is None:
                yield key

    def partitions(self, unit: str) -> dict[str, int]:
        """Return the servers of each partition that has its own line: `2: gpu, 64 processors`.

        Lines with several numbers of servers, or with processors per node, are skipped.
        """
        found: dict[str, int] = {}
        counted = _NODES if unit == "node" else _PROCESSORS
        lines = "\n".join(self.facts.get(key, "") for key in ("Partition", "Partitions"))
        for line in lines.splitlines():
            label = _PARTITION.match(line)
            numbers = counted.findall(line)
            if label and len(numbers) == 1 and (unit == "node" or not _PER_NODE.search(line)):
                found[label[1]] = int(numbers[0].replace(",", ""))
        return {name: size for name, size in found.items() if size > 0}


def parse(path: Path, options: Options, tally: Tally) -> Parsed:
    """Parse an SWF log; blank lines and comments are skipped."""
    unit, header = options.unit, _Header()
    if unit == "gpu":
        raise LogError(
            f"{path} is in SWF, which does not contain GPUs",
            argument="unit",
            given=unit,
            allowed="cpu, node",
            advice="give {unit:cpu} or {unit:node}",
        )
    with threads() as pool:
        parts = [clean(frame, tally) for frame in _frames(path, header, tally, pool)]
    frame = pl.concat(parts) if parts else clean(unread([]), tally)
    keys = ("MaxNodes", "MaxProcs") if unit == "node" else ("MaxProcs", "MaxNodes")
    servers = header.number(*keys)
    _compare_with_header(header, frame, tally)
    clock = unix_clock(frame, tally)
    if clock is None:
        clock = header.number("UnixStartTime")
        if clock is None:
            tally.facts.append("The log does not contain its start time (UnixStartTime).")
    zone = header.facts.get("TimeZoneString")
    try:
        check_zone(zone or "UTC")
    except LogError:  # the header may contain anything
        zone = None
    return Parsed(
        frame,
        header.facts,
        None if servers is None else int(servers),
        clock,
        zone,
        header.partitions(unit),
    )


def _frames(path: Path, header: _Header, tally: Tally, pool: Executor) -> Iterator[pl.DataFrame]:
    """Yield the rows of a log by blocks; threads parse blocks of plain numbers in advance."""
    reader = LineReader(lone_cr=True)
    numbered = map(reader.lines, _header_first(blocks(path, lone_cr=True)))
    for raw, frame in ahead(pool, _plain_block, numbered):
        if frame is not None:
            yield frame
        else:
            yield from _block(raw, _single_blanks(raw), header, tally)


def _header_first(text: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the comments before the first row as a block of their own."""
    for block in text:
        comments = _COMMENTS.match(block)
        cut = comments.end() if comments else 0
        yield from filter(None, (block[:cut], block[cut:]))
        if cut < len(block):
            break
    yield from text


def _plain_block(raw: Lines) -> tuple[Lines, pl.DataFrame | None]:
    """Return the lines, and their rows if all contain only plain numbers."""
    columns = None if raw.odd.any() else plain_rows(raw.text)
    if columns is None:
        return raw, None
    numbers, jobs, coded = columns
    frame = pl.DataFrame(dict(zip(_QUANTITIES, numbers, strict=True)) | {"job": jobs})
    labels = [
        pl.DataFrame({name: values}).select(_text(name).cast(pl.Categorical)).to_series()[codes]
        for name, (values, codes) in zip(_LABELS[1:], coded, strict=True)
    ]
    frame = frame.with_columns(*_known_quantities(), _text("job"), *labels)
    return raw, complete(with_lines(frame, raw.numbers, np.zeros(len(raw), np.uint64)))


def _plain(frame: pl.DataFrame) -> pl.Series:
    """Return which rows contain only numbers in the accepted range, and whole labels."""
    each = [pl.col(name).is_between(-LARGEST, LARGEST) for name in _READ]
    labels = [pl.col(name) == pl.col(name).floor() for name in _LABELS if name != "status"]
    return frame.select(pl.all_horizontal(*each, *labels).fill_null(False)).to_series()


def _block(raw: Lines, lines: Lines, header: _Header, tally: Tally) -> Iterator[pl.DataFrame]:
    """Yield the rows of a block with other text than plain numbers; collect the header."""
    begun = tally.rows > 0
    first = lines.array()[lines.starts]
    strange = np.ones(256, bool)
    strange[np.frombuffer(_NUMERIC, np.uint8)] = False
    words = lines.any(strange)
    row = (first != _FEED) & (first != _COMMENT)
    for index in np.flatnonzero(first == _COMMENT):
        header.add(raw.line(int(index)).decode("utf-8", "replace"))
    numbers = row & ~words
    start = int(np.argmax(numbers)) if numbers.any() else len(lines)
    texts = {
        int(index): lines.line(int(index)).partition(b";")[0].rstrip()
        for index in np.flatnonzero(row & words)
    }
    count = lines.count(_SPACE) + 1
    if texts:
        count[np.array([*texts])] = [text.count(b" ") + 1 for text in texts.values()]
    for place, text in texts.items():
        if not (begun or place > start) and _is_header(text):
            tally.add("header_words", 1, [int(lines.numbers[place])])
            header.add(text.decode("utf-8", "replace"))
            row[place] = False
    bad = row & ((count < _FEWEST) | (count >= _TWO_ROWS))
    if bad.any():
        yield unread([(int(number), "fields") for number in lines.numbers[bad]])
    marks = np.where(count == len(_NAMES), 0, bit("field_count")).astype(np.uint64)
    marks |= lines.marks()
    plain = numbers & row & ~bad & (count == len(_NAMES))
    if plain.any():
        frame = fields(lines.pick(plain), _NAMES, " ", pl.Float64, _READ)
        good = _plain(frame)
        at = np.flatnonzero(plain)[good.to_numpy()]
        plain[:] = False
        plain[at] = True
        if len(at):
            yield _regular(frame.filter(good), lines.numbers[plain], marks[plain])
    rest = row & ~bad & ~plain
    if rest.any():
        text = b"".join(
            texts.get(index, lines.line(index)) + b"\n" for index in np.flatnonzero(rest).tolist()
        )
        frame = fields(text, _NAMES, " ", pl.String, _READ)
        yield _with_words(frame, lines.numbers[rest], marks[rest], tally)


_JOB = re.compile(rb"\S+(?: [+-]?[0-9.]+){4} ")
"""A row with a job number that may be a word."""


def _is_header(text: bytes) -> bool:
    """Return whether a line with words before the first job is a header, not a job."""
    if _JOB.match(text):
        return False
    first = pl.lit(text.split(b" ", 1)[0].decode("utf-8", "replace"))
    known = values.known(first, pl.String())
    return bool(pl.select(known.is_not_null() & values.number(known).is_null()).item())


def _single_blanks(lines: Lines) -> Lines:
    """Return the lines with single blanks between fields and none around them."""
    text = lines.text
    if any(blank in text for blank in _BLANKS):
        text = text.translate(bytes.maketrans(_BLANKS, b" " * len(_BLANKS)))
    data = np.frombuffer(text, np.uint8)
    blank = data == _SPACE
    around = blank[lines.starts].any() or blank[np.maximum(lines.ends - 2, 0)].any()
    if not around and not (blank[1:] & blank[:-1]).any():
        return Lines(text, lines.starts, lines.ends, lines.numbers, lines.odd)
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
    return Lines(data.tobytes(), starts, ends, lines.numbers, lines.odd)


def _regular(
    frame: pl.DataFrame, numbers: npt.NDArray[np.int64], marks: npt.NDArray[np.uint64]
) -> pl.DataFrame:
    """Return the columns of rows that contain only numbers; -1 is unknown."""
    columns = (*_known_quantities(), *map(_text, _LABELS))
    return complete(with_lines(frame, numbers, marks).with_columns(columns))


def _known_quantities() -> Iterator[pl.Expr]:
    for name in _QUANTITIES:
        column = pl.col(name)
        yield pl.when(column != -1 if name == "wait" else column >= 0).then(column)


def _text(label: str) -> pl.Expr:
    """Return a label as text, given its numbers."""
    column = pl.col(label)
    if label == "status":
        return _state(column).alias("state")
    return pl.when(column >= 0).then(column).cast(pl.Int64).cast(pl.String)


def _state(status: pl.Expr) -> pl.Expr:
    """Return the state of a job, given its status as a number."""
    number = status.cast(pl.Int64, strict=False)
    return number.replace_strict(_STATES, default=None, return_dtype=pl.String)


def _with_words(
    frame: pl.DataFrame,
    numbers: npt.NDArray[np.int64],
    marks: npt.NDArray[np.uint64],
    tally: Tally,
) -> pl.DataFrame:
    """Return the columns of rows with words or numbers in other forms.

    Words are kept in labels and in the status.
    """
    frame = frame.select(values.known(pl.col(name), pl.String()).alias(name) for name in _READ)
    frame = frame.with_columns(
        pl.when((values.number(pl.col(name)) >= 0).fill_null(True)).then(pl.col(name))
        for name in _READ
        if name != "wait"
    ).with_columns(pl.when(values.number(pl.col("wait")).ne_missing(-1)).then(pl.col("wait")))
    number = values.number(pl.col("status"))
    labels = [name for name in _LABELS if name != "status"]
    whole = {name: _whole(name) for name in labels}
    frame = (
        with_lines(frame, numbers, marks)
        .with_columns(
            state=pl.coalesce(
                pl.when(number.is_null()).then(values.state(pl.col("status"))), _state(number)
            ),
            **whole,
        )
        .drop("status", "think")
    )
    return extraction.extract(frame, extraction.named_sources(frame), None, tally)


def _whole(name: str) -> pl.Expr:
    """Return labels, with whole numbers in any form as rows of numbers have them."""
    label = pl.col(name)
    number = pl.when(label.str.contains(_WHOLE)).then(label).cast(pl.Float64, strict=False)
    whole = (number.abs() <= LARGEST) & (number == number.floor())
    return pl.when(whole).then(number.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(label)


def _compare_with_header(header: _Header, frame: pl.DataFrame, tally: Tally) -> None:
    """Add facts on which the header and the rows differ."""
    stated = header.number("MaxJobs", "MaxRecords")
    for key in header.unread():
        tally.facts.append(
            f"{key} in the header is ignored: {header.facts[key][:40]!r} is not a number."
        )
    if stated is not None and int(stated) != tally.rows:
        tally.facts.append(
            f"The header states {counted(int(stated), 'job', ',')}; the log has "
            f"{counted(tally.rows, 'row', ',')}."
        )
    nodes, processors = header.number("MaxNodes"), header.number("MaxProcs")
    most = frame.get_column("need").max()
    if nodes and processors and nodes < processors and isinstance(most, int) and most <= nodes:
        tally.facts.append(
            f"No need exceeds MaxNodes, {int(nodes)}, and MaxProcs is {int(processors)}; if needs "
            "are numbers of nodes, give the unit node."
        )
    if in_minutes(frame.get_column("wait").drop_nulls().to_numpy()):
        tally.facts.append("All waits are multiples of a minute, so they are rounded.")
