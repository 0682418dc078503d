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
_BEGIN = re.compile(rb"\d+[^|]*\|")
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
        first = lines.array()[lines.starts]
        regular &= (first >= ord("0")) & (first <= ord("9")) | (first == ord("J"))
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
    bad: list[tuple[int, str]] = []
    good: list[list[str]] = []
    where: list[tuple[int, int]] = []
    open_: list[bytes] = []
    begun = 0
    before: int | None = None
    """The line, or record if negative, to which a fragment belongs."""

    def close() -> None:
        if open_:
            bad.append((begun, "fields"))
            open_.clear()

    for index in np.flatnonzero(filled):
        line, number = lines.line(int(index)), int(lines.numbers[index])
        if regular[index]:
            close()
            before = int(index)
            continue
        if not open_ and not layout.begins(line):
            if layout.free_last and before is not None:
                if before >= 0:
                    marks[before] |= np.uint64(bit("split_row"))
                else:
                    last = where[~before]
                    where[~before] = (last[0], last[1] | bit("split_row"))
            else:
                bad.append((number, "fields"))
            continue
        if open_ and layout.begins(line) and line.count(b"|") >= layout.bars:
            close()
        if not open_:
            begun = number
        open_.append(line)
        text = b" ".join(open_)
        if text.count(b"|") < layout.bars and layout.free is not None:
            continue
        parts = layout.split(text.decode("utf-8", "replace"))
        if parts is None:
            close()
            continue
        mark = bit("split_row") if len(open_) > 1 else 0
        mark |= bit("free_text") if text.count(b"|") > layout.bars else 0
        good.append(parts)
        where.append((begun, mark | int(marks[index])))
        before = ~(len(where) - 1)
        open_.clear()
    close()
    if bad:
        yield unread(bad)
    if good:
        yield pl.DataFrame(good, dict.fromkeys(layout.names, pl.String), orient="row").with_columns(
            pl.Series("line", [number for number, _ in where]),
            pl.Series(MARK, [mark for _, mark in where], pl.UInt64),
        )
