"""Finds the records of a sacct dump, where a free text may hold delimiters and line ends."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap.logs.alignment import FREE, Alignment
from quickswap.logs.lines import Lines, fields
from quickswap.logs.parsed import unread
from quickswap.logs.quality import MARK
from quickswap.logs.rules import bit

__all__ = ["Layout", "frames", "whole"]

_BEGIN = re.compile(rb"[ \t\"]*\d")
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_BACK = 1000
"""Lines looked at from the end of a block for one that is whole."""
_OPEN = 100
"""Lines of one record at most."""
UNIT_SEPARATOR = "\x1f"
"""Stands for a delimiter of several bytes."""


@dataclass(frozen=True)
class Layout:
    """The fields of a dump.

    Attributes:
        names: in lower case, without widths.
        trailing: a delimiter ends each line too, as with `--parsable`.
        given: the delimiter in the file.
        used: the fields that are read.
        header: the line that names the fields, if there is one.
    """

    names: list[str]
    trailing: bool
    given: str = "|"
    used: tuple[str, ...] = ()
    header: bytes = b""

    @property
    def delimiter(self) -> str:
        """The delimiter as one byte."""
        return self.given if len(self.given.encode()) == 1 else UNIT_SEPARATOR

    @property
    def byte(self) -> int:
        """The delimiter as a byte."""
        return ord(self.delimiter)

    @cached_property
    def alignment(self) -> Alignment:
        """What can stand in the fields."""
        return Alignment(self.names, self.used, self.delimiter == ",")

    @property
    def bars(self) -> int:
        """How many delimiters a regular line holds."""
        return len(self.names) - (0 if self.trailing else 1)

    @property
    def free_last(self) -> bool:
        """Whether a line end in the last field leaves a regular line behind."""
        return self.names[-1] in FREE and not self.trailing

    @property
    def numbered(self) -> bool:
        """Whether a record begins with the number of a job."""
        return self.names[0] in ("jobid", "jobidraw")

    def begins(self, line: bytes) -> bool:
        """Return whether a line can begin a record: with a job's number, where that is first."""
        if not self.numbered and self.alignment.flexible:
            return self.alignment.begins(self._parts(line.decode("utf-8", "replace")))
        if not self.numbered:
            return True
        return _BEGIN.match(line) is not None and self.byte in line

    def full(self, text: bytes) -> bool:
        """Return whether a text has the delimiters of a record."""
        return text.count(self.byte) >= self.bars

    def translated(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the text with a delimiter of one byte."""
        if self.delimiter == self.given:
            return blocks
        given, one = self.given.encode(), self.delimiter.encode()
        return (block.replace(given, one) for block in blocks)

    def _parts(self, text: str) -> list[str]:
        """Split a text at the delimiters, but not at commas in brackets, as in `node[1,3]`."""
        if self.delimiter != ",":
            return text.split(self.delimiter)
        text = _BRACKETS.sub(lambda found: found[0].replace(",", UNIT_SEPARATOR), text)
        return [part.replace(UNIT_SEPARATOR, ",") for part in text.split(",")]

    def split(self, text: str) -> tuple[list[str], bool, bool] | None:
        """Return the fields of a record; None where they are ambiguous.

        Then come whether a free text holds the delimiter, and whether all fields look as they
        should.
        """
        mark = self.delimiter
        if mark in ",;\t" and '"' in text:
            quoted = next(csv.reader([text], delimiter=mark))
            if len(quoted) - self.trailing == len(self.names):
                return quoted[: len(self.names)], False, True
        parts = self._parts(text)
        if self.trailing and parts.pop() != "":
            return None
        if len(parts) == len(self.names):
            return parts, False, self.alignment.matches(parts)
        if len(parts) < len(self.names):
            return None
        found = self.alignment.fields(parts, mark)
        return None if found is None else (*found, True)


def whole(blocks: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Yield blocks that end before a regular line, so that no record is cut."""
    held = b""
    for block in blocks:
        text, end = held + block, len(held) + len(block)
        for _ in range(_BACK):
            start = text.rfind(b"\n", 0, max(end - 1, 0)) + 1
            line = text[start:end]
            if start == 0 or (line.count(layout.byte) == layout.bars and layout.begins(line)):
                break
            end = start
        else:
            start = len(text)
        if start:
            yield text[:start]
        held = text[start:]
    if held:
        yield held


def frames(lines: Lines, layout: Layout) -> Iterator[pl.DataFrame]:
    """Yield the records of a block: the fields as text, the line and the marks."""
    count = lines.count(layout.byte)
    filled = (lines.ends - lines.starts) > 1
    regular = filled & (count == layout.bars)
    if layout.delimiter in ",;\t":
        quoted = np.zeros(256, bool)
        quoted[ord('"')] = True
        regular &= ~lines.any(quoted)
    if layout.numbered:
        first = lines.first()
        regular &= (first >= ord("0")) & (first <= ord("9")) | np.isin(first, [*b"Jj"])
    frame = _regular(lines, layout, regular)
    marks = np.where(lines.odd, bit("line_end"), 0).astype(np.uint64)
    marks |= np.where(lines.undecodable(), bit("encoding"), 0).astype(np.uint64)
    if (filled & ~regular).any():
        yield from _irregular(lines, layout, regular, filled, marks)
    if frame is not None:
        yield frame.with_columns(
            pl.Series("line", lines.numbers[regular]), pl.Series(MARK, marks[regular], pl.UInt64)
        )


def _regular(lines: Lines, layout: Layout, regular: npt.NDArray[np.bool_]) -> pl.DataFrame | None:
    """Return the fields of the regular lines; take those out of them that do not look so."""
    if not regular.any():
        return None
    names = [*layout.names, *(["_"] if layout.trailing else [])]
    frame = fields(lines.pick(regular), names, layout.delimiter, pl.String)
    likely = layout.alignment.likely(layout.names)
    if likely is None:
        return frame
    good = frame.select(likely.alias("good")).to_series() | (
        frame[layout.names[0]].str.to_lowercase() == layout.names[0]
    )
    if not good.all():
        regular[regular] = good.to_numpy()
        frame = frame.filter(good)
    return frame


def _irregular(
    lines: Lines,
    layout: Layout,
    regular: npt.NDArray[np.bool_],
    filled: npt.NDArray[np.bool_],
    marks: npt.NDArray[np.uint64],
) -> Iterator[pl.DataFrame]:
    """Join and split what the free text broke; marks the regular line that lost its end."""
    mender = _Mender(layout, marks)
    for index in np.flatnonzero(filled).tolist():
        if regular[index]:
            mender.regular(index)
        elif lines.line(index) != layout.header:
            mender.broken(lines.line(index), int(lines.numbers[index]), int(marks[index]))
    mender.close()
    if mender.bad:
        yield unread(mender.bad)
    if mender.good:
        schema = dict.fromkeys(layout.names, pl.String)
        yield pl.DataFrame(mender.good, schema, orient="row").with_columns(
            pl.Series("line", mender.begins), pl.Series(MARK, mender.marks, pl.UInt64)
        )


class _Mender:
    """Puts the lines of a block that are not regular together, given all lines in order.

    Attributes:
        bad: line and rule of each record that cannot be told.
        good: the fields of each record put together, with in `begins` and `marks` its first line
            and its marks.
    """

    def __init__(self, layout: Layout, line_marks: npt.NDArray[np.uint64]) -> None:
        self.bad: list[tuple[int, str]] = []
        self.good: list[list[str]] = []
        self.begins: list[int] = []
        self.marks: list[int] = []
        self._layout = layout
        self._line_marks = line_marks
        self._open: list[bytes] = []
        self._begun = 0
        self._unsure: tuple[list[str], int] | None = None
        self._owner: int | None = None
        """To whom a fragment belongs: a regular line, or if negative ~ a record of `good`."""

    def regular(self, index: int) -> None:
        """Take a regular line."""
        self.close()
        self._owner = index

    def broken(self, line: bytes, number: int, mark: int) -> None:
        """Take a line with too few delimiters, too many, or without the beginning of a record."""
        begins = self._layout.begins(line)
        if not begins and self._layout.full(line):
            self.bad.append((number, "swallowed"))
        if not self._open and not begins:
            self._fragment(number)
            return
        if self._open and self._anew(line, begins):
            self.close()
        if not self._open:
            self._begun = number
        self._open.append(line)
        text = b" ".join(self._open)
        bars = text.count(self._layout.byte)
        more = self._layout.alignment.flexible and len(self._open) < _OPEN
        if bars < self._layout.bars and more:
            return
        found = self._split(text)
        if found is None:
            self._unsure = None if bars > self._layout.bars else self._unsure
            if not more:
                self.close()
            return
        parts, free, sure = found
        mark |= bit("split_row") if len(self._open) > 1 else 0
        mark |= bit("free_text") if free else 0
        if not sure and more:  # unless the next line is the rest of a text
            self._unsure = parts, mark
            return
        self._take(parts, mark)

    def _take(self, parts: list[str], mark: int) -> None:
        self.good.append(parts)
        self.begins.append(self._begun)
        self.marks.append(mark)
        self._owner = ~(len(self.good) - 1)
        self._open.clear()
        self._unsure = None

    def _anew(self, line: bytes, begins: bool) -> bool:
        """Return whether a line begins another record than the open one."""
        return begins and (self._layout.full(line) or self._layout.full(b" ".join(self._open)))

    def _split(self, text: bytes) -> tuple[list[str], bool, bool] | None:
        return self._layout.split(text.decode("utf-8", "replace"))

    def _fragment(self, number: int) -> None:
        """Take a line that begins no record: the rest of the free text before it, if any."""
        if self._owner is None or not self._layout.free_last:
            self.bad.append((number, "fields"))
        elif self._owner >= 0:
            self._line_marks[self._owner] |= np.uint64(bit("split_row"))
        else:
            self.marks[~self._owner] |= bit("split_row")

    def close(self) -> None:
        """Give up the record that is open, if any, unless its number of fields is right."""
        if self._unsure is not None:
            self._take(*self._unsure)
        if self._open:
            self.bad.append((self._begun, "fields"))
            self._open.clear()
