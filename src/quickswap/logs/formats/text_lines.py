"""The lines of a block of text, counted and selected with NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap.logs.rules import bit

__all__ = ["LineReader", "Lines", "fields"]

_LF, _CR = 10, 13


@dataclass
class Lines:
    """The lines of a block of text.

    Attributes:
        text: the block; every line ends with a line feed, without a carriage return before it.
        starts: offset of the start of each line, int64.
        ends: offset of the end of each line, after its line feed, int64.
        numbers: line numbers in the file, from 1, int64.
        odd: whether the line ending differs from that of the first line of the file, bool.
    """

    text: bytes
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    odd: npt.NDArray[np.bool_]

    def array(self) -> npt.NDArray[np.uint8]:
        """Return the bytes as an array."""
        return np.frombuffer(self.text, np.uint8)

    def count(self, byte: int) -> npt.NDArray[np.int32]:
        """Return the number of times a byte occurs in each line."""
        found = self.array() == byte
        counts: npt.NDArray[np.int32] = np.add.reduceat(found, self.starts, dtype=np.int32)
        return counts

    def any(self, selected: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return whether each line contains one of some bytes; `selected` has 256 entries."""
        found: npt.NDArray[np.bool_] = np.logical_or.reduceat(selected[self.array()], self.starts)
        return found

    def first(self) -> npt.NDArray[np.uint8]:
        """Return the first byte of each line that is not a blank; it may be the line feed."""
        data, at = self.array(), self.starts.copy()
        while (blank := np.isin(data[at], [*b" \t"])).any():
            at[blank] += 1
        return data[at]

    def pick(self, chosen: npt.NDArray[np.bool_]) -> bytes:
        """Return the text of some lines, given whether each is chosen."""
        if chosen.all():
            return self.text
        mask = np.repeat(chosen, self.ends - self.starts)
        return self.array()[mask].tobytes()

    def undecodable(self) -> npt.NDArray[np.bool_]:
        """Return whether each line is invalid UTF-8."""
        result = np.zeros(len(self), bool)
        try:
            self.text.decode()
        except UnicodeDecodeError:
            for index in range(len(self)):
                try:
                    self.line(index).decode()
                except UnicodeDecodeError:
                    result[index] = True
        return result

    def marks(self) -> npt.NDArray[np.uint64]:
        """Return the marks of each line for its line ending and its encoding."""
        marks = np.where(self.odd, bit("line_end"), 0)
        marks |= np.where(self.undecodable(), bit("encoding"), 0)
        return marks.astype(np.uint64)

    def line(self, index: int) -> bytes:
        """Return one line, without its line feed."""
        return self.text[self.starts[index] : self.ends[index] - 1]

    def __len__(self) -> int:
        return len(self.starts)


class LineReader:
    """Splits the blocks of a file into lines, with line numbers and line endings."""

    def __init__(self, lone_cr: bool) -> None:
        """`lone_cr`: whether a carriage return without a line feed ends a line."""
        self.lone_cr = lone_cr
        self.read = 0
        self.first: int | None = None

    def lines(self, block: bytes) -> Lines:
        """Return the lines of the next block of the file."""
        closed = block.endswith(b"\n") or (self.lone_cr and block.endswith(b"\r"))
        if not closed:
            block += b"\n"
        ends, kinds, block = self._cut(block)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        numbers = self.read + 1 + np.arange(len(ends), dtype=np.int64)
        self.read += len(ends)
        if self.first is None:
            self.first = int(kinds[0])
        odd = kinds != self.first
        if not closed:
            odd[-1] = False
        return Lines(block, starts, ends, numbers, odd)

    def _cut(self, block: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8], bytes]:
        """Return the ends of lines, their endings (0 LF, 1 CR LF, 2 CR) and the text with LF."""
        data = np.frombuffer(block, np.uint8)
        feeds = np.flatnonzero(data == _LF)
        if b"\r" not in block:
            return feeds + 1, np.zeros(len(feeds), np.int8), block
        pairs = np.zeros(len(data), bool)
        before = feeds[(feeds > 0) & (data[np.maximum(feeds, 1) - 1] == _CR)]
        pairs[before - 1] = True
        kind = np.full(len(data), -1, np.int8)
        kind[feeds] = 0
        kind[before] = 1
        if self.lone_cr:
            alone = (data == _CR) & ~pairs
            kind[alone] = 2
            data = np.where(alone, np.uint8(_LF), data)
        data, kind = data[~pairs], kind[~pairs]
        ends = np.flatnonzero(kind >= 0)
        return ends + 1, kind[ends], data.tobytes()


def fields(
    text: bytes,
    names: list[str],
    separator: str,
    kind: type[pl.DataType],
    wanted: list[str] | None = None,
) -> pl.DataFrame:
    """Return the columns of rows with these fields or more; `wanted` selects some.

    Unparsable values become null. A header is prepended, so rows may lack the last fields.
    """
    header = separator.join(names).encode() + b"\n"
    return pl.read_csv(
        header + text,
        separator=separator,
        columns=wanted,
        schema_overrides=dict.fromkeys(names, kind),
        infer_schema=False,
        ignore_errors=True,
        truncate_ragged_lines=True,
        quote_char=None,
        encoding="utf8-lossy",
    )
