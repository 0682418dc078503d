"""Reads the rows of a damaged store that are whole, page by page, without SQLite.

The pages that hold rows are the leaves of a table's tree; what leads to them, and the head of the
file, may be destroyed. Whether a row is whole its check sum tells.

Source: "Database File Format", https://www.sqlite.org/fileformat2.html, sections 1.6 (pages),
1.6 (overflow) and 2.1 (records).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from quickswap.sweeps.record import Record

__all__ = ["PAGE", "rescued"]

PAGE = 4096
"""Bytes of a page of a store."""
LEAF = 0x0D
"""First byte of a page that holds rows of a table."""
HEAD = 100
"""Bytes of the file's own header, in the first page."""
LOCAL = (PAGE - 12) * 32 // 255 - 23
"""Least bytes of a long row that are in its leaf; the rest is in a chain of overflow pages."""
COLUMNS = 8
"""Values of a row: id, the six of a `Record`, and the check sum."""


def rescued(path: Path) -> dict[int, Record]:
    """Return the rows of the file at `path` that are whole, by their id."""
    data = path.read_bytes()
    found = {}
    for start in range(0, len(data), PAGE):
        for row, payload in _cells(data, start):
            try:
                record = _record(payload)
            except (ValueError, struct.error, IndexError):
                continue
            if record is not None:
                found[row] = record
    return dict(sorted(found.items()))


def _cells(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield id and payload of each row of a page."""
    head = start + (HEAD if start == 0 else 0)
    if len(data) < head + 8 or data[head] != LEAF:
        return
    (count,) = struct.unpack_from(">H", data, head + 3)
    for number in range(count):
        try:
            (offset,) = struct.unpack_from(">H", data, head + 8 + 2 * number)
            length, at = _varint(data, start + offset)
            row, at = _varint(data, at)
            yield row, _payload(data, at, length)
        except (IndexError, struct.error):
            continue


def _payload(data: bytes, at: int, length: int) -> bytes:
    """Return the bytes of a row, its overflow pages included, as many as there are."""
    most = PAGE - 35
    if length <= most:
        return data[at : at + length]
    local = LOCAL + (length - LOCAL) % (PAGE - 4)
    if local > most:
        local = LOCAL
    parts, left = [data[at : at + local]], length - local
    (page,) = struct.unpack_from(">I", data, at + local)
    while left > 0 and 0 < page <= len(data) // PAGE:
        start = (page - 1) * PAGE
        parts.append(data[start + 4 : start + 4 + min(left, PAGE - 4)])
        left -= PAGE - 4
        (page,) = struct.unpack_from(">I", data, start)
    return b"".join(parts)


def _record(payload: bytes) -> Record | None:
    """Return the record of a row, or None if it is another table's or not whole."""
    end, at = _varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if len(kinds) != COLUMNS:
        return None
    values = []
    for kind in kinds:
        value, at = _value(payload, at, kind)
        values.append(value)
    key, inputs, result, totals, failure, seconds, crc = values[1:]
    parts = (key, inputs, result, totals, failure)
    if not all(isinstance(part, bytes) for part in parts) or isinstance(seconds, bytes):
        return None
    record = Record(*parts, float(seconds))  # type: ignore[arg-type]  # checked just now
    return record if record.crc == crc else None


def _value(payload: bytes, at: int, kind: int) -> tuple[bytes | float | int, int]:
    """Return a value of a record, and where the next one begins."""
    if kind >= 12:
        length = (kind - 12) // 2
        return payload[at : at + length], at + length
    if kind == 7:
        return struct.unpack_from(">d", payload, at)[0], at + 8
    if kind in (8, 9):
        return kind - 8, at
    length = (0, 1, 2, 3, 4, 6, 8)[kind]
    return int.from_bytes(payload[at : at + length], "big", signed=True), at + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a whole number of one to nine bytes, and where it ends."""
    number = 0
    for _ in range(8):
        byte = data[at]
        number, at = number << 7 | byte & 0x7F, at + 1
        if byte < 0x80:
            return number, at
    return number << 8 | data[at], at + 1
