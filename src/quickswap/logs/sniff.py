"""Tells the format of a log by what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from quickswap.logs.errors import LogError
from quickswap.logs.sacct import is_sacct
from quickswap.logs.source import head
from quickswap.logs.table import separator

__all__ = ["FORMATS", "Format", "sniff"]

Format = Literal["swf", "sacct", "csv", "parquet"]
FORMATS: tuple[Format, ...] = ("swf", "sacct", "csv", "parquet")

_LINES = 200


def sniff(path: Path) -> Format:
    """Return the format of a log.

    Raises:
        LogError: it is none of the known ones, binary, empty, or cannot be read.
    """
    start = head(path)
    if start.startswith(b"PAR1"):
        return "parquet"
    if b"\0" in start:
        raise LogError(
            f"{path} is binary: give a log in SWF, from sacct, or a table in CSV or Parquet, "
            f"compressed by gzip or zstd if need be."
        )
    text = start.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()][:_LINES]
    if not lines:
        raise LogError(f"{path} is empty: give a log with at least one job.")
    if lines[0].lstrip().startswith(";") or any(_swf(line) for line in lines):
        return "swf"
    first = lines[0]
    if is_sacct("\n".join(lines[:2])) or first.count("|") >= 3:
        return "sacct"
    if separator(first):
        return "csv"
    raise LogError(
        f"{path}, line 1 is no known format ({first.strip()[:40]!r}): give a log in SWF (18 "
        f"fields), from sacct (`|` between fields), or a table with named columns."
    )


def _swf(line: str) -> bool:
    """Return whether a line has the fields of a job in SWF."""
    words = line.split()
    return len(words) >= 17 and all(_number(word) for word in words[:17])


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
