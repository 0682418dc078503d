"""Finds the records in the lines of a sacct dump, where a free text may hold `|` and line ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap.logs.lines import Lines, fields
from quickswap.logs.parsed import unread
from quickswap.logs.quality import MARK
from quickswap.logs.rules import bit

__all__ = ["Layout", "frames", "whole"]

FREE = {"jobname", "comment", "admincomment", "systemcomment", "workdir", "submitline", "extra"}
"""Fields in which users may write anything."""

_BAR = ord("|")
_BEGIN = re.compile(rb"[ \t]*\d+[^|]*\|")
_BACK = 1000
"""Lines looked at from the end of a block for one that is whole."""


@dataclass(frozen=True)
class Layout:
    """The fields of a dump.

    Attributes:
        names: in lower case, without widths.
        trailing: a `|` ends each line too, as with `--parsable`.
    """

    names: list[str]
    trailing: bool

    @property
    def bars(self) -> int:
        """How many `|` a regular line holds."""
        return len(self.names) - (0 if self.trailing else 1)

    @property
    def free(self) -> int | None:
        """Where the only free text is; None if there is none, or several."""
        found = [index for index, name in enumerate(self.names) if name in FREE]
        return found[0] if len(found) == 1 else None

    @property
    def free_last(self) -> bool:
        """Whether a line end in the last field leaves a regular line behind."""
        return self.names[-1] in FREE and not self.trailing

    def begins(self, line: bytes) -> bool:
        """Return whether a line can begin a record: with a job's number, where that is first."""
        return self.names[0] not in ("jobid", "jobidraw") or _BEGIN.match(line) is not None

    def split(self, text: str) -> list[str] | None:
        """Return the fields of a record with all its `|`, or None where they are ambiguous."""
        parts = text.split("|")
        if self.trailing and parts.pop() != "":
            return None
        extra = len(parts) - len(self.names)
        if extra == 0:
            return parts
        at = self.free
        if extra < 0 or at is None:
            return None
        return [*parts[:at], "|".join(parts[at : at + extra + 1]), *parts[at + extra + 1 :]]


def whole(blocks: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Yield blocks that end before a regular line, so that no record is cut."""
    held = b""
    for block in blocks:
        text, end = held + block, len(held) + len(block)
        for _ in range(_BACK):
            start = text.rfind(b"\n", 0, max(end - 1, 0)) + 1
            line = text[start:end]
            if start == 0 or (line.count(b"|") == layout.bars and layout.begins(line)):
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
    count = lines.count(_BAR)
    filled = (lines.ends - lines.starts) > 1
    regular = filled & (count == layout.bars)
    if layout.names[0] in ("jobid", "jobidraw"):
        first = lines.first()
        regular &= (first >= ord("0")) & (first <= ord("9")) | np.isin(first, [*b"Jj"])
    marks = np.where(lines.odd, bit("line_end"), 0).astype(np.uint64)
    marks |= np.where(lines.undecodable(), bit("encoding"), 0).astype(np.uint64)
    if (filled & ~regular).any():
        yield from _irregular(lines, layout, regular, filled, marks)
    if regular.any():
        names = [*layout.names, *(["_"] if layout.trailing else [])]
        frame = fields(lines.pick(regular), names, "|", pl.String)
        yield frame.with_columns(
            pl.Series("line", lines.numbers[regular]), pl.Series(MARK, marks[regular], pl.UInt64)
        )


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
        else:
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
        self._owner: int | None = None
        """To whom a fragment belongs: a regular line, or if negative ~ a record of `good`."""

    def regular(self, index: int) -> None:
        """Take a regular line."""
        self.close()
        self._owner = index

    def broken(self, line: bytes, number: int, mark: int) -> None:
        """Take a line with too few `|`, too many, or without the beginning of a record."""
        begins = self._layout.begins(line)
        whole_row = line.count(b"|") >= self._layout.bars
        if whole_row and not begins:
            self.bad.append((number, "swallowed"))
        if not self._open and not begins:
            self._fragment(number)
            return
        if self._open and begins and whole_row:
            self.close()
        if not self._open:
            self._begun = number
        self._open.append(line)
        text = b" ".join(self._open)
        bars = text.count(b"|")
        if bars < self._layout.bars and self._layout.free is not None:
            return
        parts = self._layout.split(text.decode("utf-8", "replace"))
        if parts is None:
            self.close()
            return
        mark |= bit("split_row") if len(self._open) > 1 else 0
        mark |= bit("free_text") if bars > self._layout.bars else 0
        self.good.append(parts)
        self.begins.append(self._begun)
        self.marks.append(mark)
        self._owner = ~(len(self.good) - 1)
        self._open.clear()

    def _fragment(self, number: int) -> None:
        """Take a line that begins no record: the rest of the free text before it, if any."""
        if self._owner is None or not self._layout.free_last:
            self.bad.append((number, "fields"))
        elif self._owner >= 0:
            self._line_marks[self._owner] |= np.uint64(bit("split_row"))
        else:
            self.marks[~self._owner] |= bit("split_row")

    def close(self) -> None:
        """Give up the record that is open, if any."""
        if self._open:
            self.bad.append((self._begun, "fields"))
            self._open.clear()
