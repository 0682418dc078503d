"""Detects the format of a log from its content."""

from __future__ import annotations

from pathlib import Path

from quickswap.errors import LogError
from quickswap.logs.formats.sacct import is_sacct
from quickswap.logs.formats.source import first_text
from quickswap.logs.formats.table import find_delimiter
from quickswap.logs.options import Format

__all__ = ["detect_format"]

_LINES = 200


def detect_format(path: Path) -> Format:
    """Return the format of a log.

    Raises:
        LogError: the format is unknown, or the file is binary, empty, or cannot be read.
    """
    start = first_text(path)
    if start.startswith("PAR1"):
        return "parquet"
    if "\0" in start:
        raise LogError(
            f"{path} is binary",
            advice="give a log in SWF, of sacct, or a table in CSV or Parquet, also compressed by "
            "gzip or zstd",
        )
    lines = [line for line in start.splitlines() if line.strip()][:_LINES]
    first = lines[0]
    if first.lstrip().startswith(";") or any(_is_swf(line) for line in lines):
        return "swf"
    if is_sacct("\n".join(lines[:2])) or first.count("|") >= 3:
        return "sacct"
    if find_delimiter(first):
        return "csv"
    raise LogError(
        f"{path}, line 1 is not in a known format ({first.strip()[:40]!r})",
        advice="give a log in SWF (18 fields), of sacct (`|` between fields), or a table with "
        "named columns",
    )


def _is_swf(line: str) -> bool:
    """Whether a line contains the numbers of a job in SWF."""
    words = line.split()[:17]
    try:
        return len([float(word) for word in words]) == 17
    except ValueError:
        return False
