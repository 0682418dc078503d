"""Parses the rows of sacct output, whose text fields may contain delimiters and line breaks."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap.logs.formats.field_patterns import FREE, FieldPatterns
from quickswap.logs.formats.text_lines import Lines, fields
from quickswap.logs.job_rows import text_rows, with_lines
from quickswap.logs.rules import bit

__all__ = ["Layout", "frames", "whole_rows"]

_BEGIN = re.compile(rb"[ \t\"]*\d")
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_BACK = 1000
"""Lines at the end of a block among which the last complete row is searched."""
_OPEN = 100
"""Largest number of lines of one row."""
UNIT_SEPARATOR = "\x1f"
"""Replaces a delimiter of several bytes."""


@dataclass(frozen=True)
class Layout:
    """The fields and the delimiter of a file.

    Attributes:
        names: names of the fields in lower case, without widths.
        trailing: whether each line ends with a delimiter, as with `--parsable`.
        given: the delimiter in the file.
        used: names of the fields that are read.
        header: the line with the names of the fields, or empty.
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
        """The delimiter as the value of its byte."""
        return ord(self.delimiter)

    @cached_property
    def patterns(self) -> FieldPatterns:
        """The patterns of the fields."""
        return FieldPatterns(self.names, self.used, self.delimiter == ",")

    @property
    def delimiters(self) -> int:
        """Number of delimiters of a complete row."""
        return len(self.names) - (0 if self.trailing else 1)

    @property
    def numbered(self) -> bool:
        """Whether rows begin with the job number."""
        return self.names[0] in ("jobid", "jobidraw")

    def begins(self, line: bytes) -> bool:
        """Return whether a line can begin a row: with a job number, if that is the first field."""
        if not self.numbered and self.patterns.flexible:
            return self.patterns.begins(self._parts(line.decode("utf-8", "replace")))
        if not self.numbered:
            return True
        return _BEGIN.match(line) is not None and self.byte in line

    def full(self, text: bytes) -> bool:
        """Return whether a text contains the delimiters of a row."""
        return text.count(self.byte) >= self.delimiters

    def translated(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the blocks with a delimiter of one byte."""
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
        """Return the fields of a row; None if they are ambiguous.

        Also return whether a text field contains the delimiter, and whether all fields match.
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
            return parts, False, self.patterns.matches(parts)
        if len(parts) < len(self.names):
            return None
        found = self.patterns.fields(parts, mark)
        return None if found is None else (*found, True)


def whole_rows(blocks: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Yield blocks that end before a complete row so that no row is split."""
    held = b""
    for block in blocks:
        text, end = held + block, len(held) + len(block)
        for _ in range(_BACK):
            start = text.rfind(b"\n", 0, max(end - 1, 0)) + 1
            line = text[start:end]
            if start == 0 or (line.count(layout.byte) == layout.delimiters and layout.begins(line)):
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
    """Yield the rows of a block: the fields as text, the line and the marks."""
    count = lines.count(layout.byte)
    filled = (lines.ends - lines.starts) > 1
    regular = filled & (count == layout.delimiters)
    if layout.delimiter in ",;\t":
        quoted = np.zeros(256, bool)
        quoted[ord('"')] = True
        regular &= ~lines.any(quoted)
    if layout.numbered:
        first = lines.first()
        regular &= (first >= ord("0")) & (first <= ord("9")) | np.isin(first, [*b"Jj"])
    frame = _regular(lines, layout, regular)
    marks = lines.marks()
    if (filled & ~regular).any():
        yield from _irregular(lines, layout, regular, filled, marks)
    if frame is not None:
        yield with_lines(frame, lines.numbers[regular], marks[regular])


def _regular(lines: Lines, layout: Layout, regular: npt.NDArray[np.bool_]) -> pl.DataFrame | None:
    """Return the fields of the regular lines; clear `regular` where the fields do not match."""
    if not regular.any():
        return None
    names = [*layout.names, *(["_"] if layout.trailing else [])]
    frame = fields(lines.pick(regular), names, layout.delimiter, pl.String)
    likely = layout.patterns.likely(layout.names)
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
    """Join or split the other lines; mark regular rows whose text continues on the next line."""
    joiner = _RowJoiner(layout, marks)
    for index in np.flatnonzero(filled).tolist():
        if regular[index]:
            joiner.regular(index)
        elif lines.line(index) != layout.header:
            joiner.broken(lines.line(index), int(lines.numbers[index]), int(marks[index]))
    joiner.close()
    yield from text_rows(layout.names, joiner.good, joiner.begins, joiner.marks, joiner.bad)


class _RowJoiner:
    """Joins the lines of rows that contain line breaks, given all lines of a block in order.

    Attributes:
        bad: line and rule of each row that cannot be parsed.
        good: the fields of each joined row; `begins` and `marks` contain its first line and marks.
    """

    def __init__(self, layout: Layout, line_marks: npt.NDArray[np.uint64]) -> None:
        self.bad: list[tuple[int, str]] = []
        self.good: list[list[str]] = []
        self.begins: list[int] = []
        self.marks: list[int] = []
        self._layout = layout
        self._line_marks = line_marks
        self._open: list[bytes] = []
        self._first_line = 0
        self._uncertain: tuple[list[str], int] | None = None
        self._continued: int | None = None
        """The row that a fragment continues: index of a regular line, or ~index in `good`."""

    def regular(self, index: int) -> None:
        """Add a regular line."""
        self.close()
        self._continued = index

    def broken(self, line: bytes, number: int, mark: int) -> None:
        """Add a line with too few or too many delimiters, or one that does not begin a row."""
        begins = self._layout.begins(line)
        if not begins and self._layout.full(line):
            self.bad.append((number, "swallowed"))
        if not self._open and not begins:
            self._fragment(number)
            return
        full = self._layout.full(line) or self._layout.full(b" ".join(self._open))
        if self._open and begins and full:  # a new row
            self.close()
        if not self._open:
            self._first_line = number
        self._open.append(line)
        text = b" ".join(self._open)
        count = text.count(self._layout.byte)
        more = self._layout.patterns.flexible and len(self._open) < _OPEN
        if count < self._layout.delimiters and more:
            return
        found = self._layout.split(text.decode("utf-8", "replace"))
        if found is None:
            self._uncertain = None if count > self._layout.delimiters else self._uncertain
            if not more:
                self.close()
            return
        parts, free, sure = found
        mark |= bit("split_row") if len(self._open) > 1 else 0
        mark |= bit("free_text") if free else 0
        if not sure and more:  # the next line may continue the last text
            self._uncertain = parts, mark
            return
        self._keep(parts, mark)

    def _keep(self, parts: list[str], mark: int) -> None:
        self.good.append(parts)
        self.begins.append(self._first_line)
        self.marks.append(mark)
        self._continued = ~(len(self.good) - 1)
        self._open.clear()
        self._uncertain = None

    def _fragment(self, number: int) -> None:
        """Add a line that does not begin a row: it may continue the text of the row before."""
        layout = self._layout  # a line break in a last text field leaves a complete row before it
        if self._continued is None or layout.names[-1] not in FREE or layout.trailing:
            self.bad.append((number, "fields"))
        elif self._continued >= 0:
            self._line_marks[self._continued] |= np.uint64(bit("split_row"))
        else:
            self.marks[~self._continued] |= bit("split_row")

    def close(self) -> None:
        """End the open row: keep it if its fields are complete, otherwise add it to `bad`."""
        if self._uncertain is not None:
            self._keep(*self._uncertain)
        if self._open:
            self.bad.append((self._first_line, "fields"))
            self._open.clear()
