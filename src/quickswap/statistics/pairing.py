"""The totals by which two results are compared, in a form short enough to store."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Self

import numpy as np

from quickswap.statistics.estimates import Floats, Split

__all__ = ["Totals"]

COLUMNS = ("completions", "response_time")


@dataclass(frozen=True)
class Totals:
    """Completions, response times and control of each part, from which paired differences follow.

    Attributes:
        table: (parts, classes, 2): completions, and the sum of their response times, seconds.
        control: (parts, 2): integral of the control over time, and seconds; (parts, 0) without one.
        split: the batches and their parts.
    """

    table: Floats
    control: Floats
    split: Split

    def responses(self) -> Floats:
        """Return the table in the rows of `Split.whole_and_less`."""
        return self.split.whole_and_less(self.table)

    def controls(self) -> Floats | None:
        """Return the time average of the control in the same rows: (rows, 1)."""
        if not self.control.size:
            return None
        sums = self.split.whole_and_less(self.control)
        return sums[:, :1] / sums[:, 1:]

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads, bit by bit the same.

        Classes, columns of the control, replications and batches, their sizes and parts (32-bit),
        then both tables (64-bit floats, their bytes sorted by significance, which shortens them),
        little-endian, compressed by zlib.
        """
        sizes, parts = self.split.sizes, self.split.parts
        shape = self.table.shape[1], self.control.shape[1], len(sizes), len(parts)
        head = [*shape, *sizes, *parts]
        cells = np.concatenate([self.table.ravel(), self.control.ravel()])
        floats = np.frombuffer(cells.astype("<f8").tobytes(), np.uint8).reshape(-1, 8)
        return zlib.compress(struct.pack(f"<{len(head)}I", *head) + floats.T.tobytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote.

        Raises:
            ValueError: it did not write this.
        """
        try:
            plain = zlib.decompress(data)
            classes, columns, replications, batches = struct.unpack_from("<4I", plain)
            counts = struct.unpack_from(f"<{replications + batches}I", plain, 16)
        except (zlib.error, struct.error) as error:
            raise ValueError(f"not the totals of batches: {error}") from None
        split = Split(list(counts[:replications]), list(counts[replications:]))
        rest = np.frombuffer(plain, np.uint8, offset=16 + 4 * len(counts))
        floats = np.frombuffer(rest.reshape(8, -1).T.tobytes(), "<f8").astype(np.float64)
        rows = sum(split.parts)
        table, control = np.split(floats, [rows * classes * len(COLUMNS)])
        shaped = table.reshape(rows, classes, len(COLUMNS))
        return cls(shaped, control.reshape(rows, columns), split)
