"""The totals by which two results are compared, in a form short enough to store."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Self

import numpy as np

from quickswap.engine.columns import Columns
from quickswap.statistics.estimates import Batches, Floats

__all__ = ["Totals"]

COLUMNS = ("completions", "response_time")


@dataclass(frozen=True)
class Totals:
    """Completions and response times of each batch, from which paired differences follow.

    Attributes:
        table: (batches, classes, 2): completions, and the sum of their response times, seconds.
        sizes: batches of each replication.
    """

    table: Floats
    sizes: list[int]

    @classmethod
    def of(cls, batches: Batches) -> Self:
        """Take from the batches of a run what a difference needs."""
        return cls(Columns(batches.rows, batches.classes).of_classes(*COLUMNS), batches.sizes)

    def whole_and_less(self) -> Floats:
        """Return the sum of all batches, then sums with one left out: (1 + batches, classes, 2)."""
        total = self.table.sum(axis=0)
        return np.concatenate([total[None], total - self.table])

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads, bit by bit the same.

        Classes and replications, the sizes (32-bit), then the table (64-bit floats, their bytes
        sorted by significance, which shortens them), little-endian, compressed by zlib.
        """
        head = [self.table.shape[1], len(self.sizes), *self.sizes]
        floats = np.frombuffer(self.table.astype("<f8").tobytes(), np.uint8).reshape(-1, 8)
        return zlib.compress(struct.pack(f"<{len(head)}I", *head) + floats.T.tobytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote.

        Raises:
            ValueError: it did not write this.
        """
        try:
            plain = zlib.decompress(data)
            classes, replications = struct.unpack_from("<2I", plain)
            sizes = struct.unpack_from(f"<{replications}I", plain, 8)
        except (zlib.error, struct.error) as error:
            raise ValueError(f"not the totals of batches: {error}") from None
        rest = np.frombuffer(plain, np.uint8, offset=8 + 4 * replications)
        floats = np.frombuffer(rest.reshape(8, -1).T.tobytes(), "<f8").astype(np.float64)
        return cls(floats.reshape(sum(sizes), classes, len(COLUMNS)), list(sizes))
