"""Parses the default output of `sacct`: fields of fixed width below a line of dashes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from quickswap.logs.formats.text_lines import Lines
from quickswap.logs.job_rows import text_rows
from quickswap.logs.rules import bit

__all__ = ["frames", "header_columns"]

_DASHES = re.compile(rb"[- ]*-{3}[- ]*")
_LABELS = ("state", "user", "group", "partition", "queue", "jobid", "jobidraw")
"""Fields whose beginning is kept if the value is truncated."""
CUT = "+"
"""Value of any other truncated field, which is unparsable."""


def header_columns(first: bytes, second: bytes) -> list[tuple[str, int, int]] | None:
    """Return name, start and end of each field from the first two lines; None in other formats."""
    second = second.rstrip()
    spans = [found.span() for found in re.finditer(rb"-+", second)]
    if len(spans) < 2 or not _DASHES.fullmatch(second):
        return None
    return [(first[a:b].decode("utf-8", "replace").strip(), a, b) for a, b in spans]


def frames(lines: Lines, names: list[str], spans: list[tuple[int, int]]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a block: the fields as text, the line and the marks.

    sacct pads with blanks and counts bytes. A value that is too long is truncated and ends with
    `+`, so numbers and times are lost.
    """
    between = [start - 1 for start, _ in spans[1:]]
    whole = [name in _LABELS for name in names]
    good: list[list[str | None]] = []
    bad: list[tuple[int, str]] = []
    where: list[int] = []
    marks: list[int] = []
    for index in range(len(lines)):
        line = lines.line(index).rstrip()
        if not line or _DASHES.fullmatch(line):
            continue
        if len(line) > spans[-1][1] or any(line[at : at + 1].strip() for at in between):
            bad.append((int(lines.numbers[index]), "fields"))
            continue
        row: list[str | None] = []
        cut = False
        for (start, end), label in zip(spans, whole, strict=True):
            text = line[start:end]
            if len(text) == end - start and text.endswith(b"+"):
                cut = True
                row.append(text.decode("utf-8", "replace") if label else CUT)
            else:
                row.append(text.strip().decode("utf-8", "replace"))
        good.append(row)
        where.append(index)
        marks.append(bit("cut_field") if cut else 0)
    total = lines.marks()[where] | np.array(marks, np.uint64)
    yield from text_rows(names, good, lines.numbers[where], total, bad)
