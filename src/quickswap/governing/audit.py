"""The audit log of a governor: one JSON object per line, on disk before each write to Slurm.

From the log alone follows which SiteFactors may still be set: those of jobs with a line `write` or
`undo`, until a line `undone` says that Slurm has the original factor again, or no longer has the job.
A crash between the line and the write therefore leaves no unknown factor.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from quickswap.errors import LogError
from quickswap.files import checked_path

__all__ = ["Audit", "OpenFactor", "open_factors"]


@dataclass
class OpenFactor:
    """A SiteFactor that may differ from the original one.

    Attributes:
        original: the factor before the first write.
        written: the factors that a governor wrote or was about to write.
    """

    original: int
    written: set[int] = field(default_factory=set)


class Audit:
    """An audit log that is open for writing.

    Args:
        path: the file, which is continued; None keeps no log.

    Raises:
        LogError: the file cannot be read or written, or is another kind of file.
    """

    def __init__(self, path: Path | None) -> None:
        self.open = {} if path is None or not path.exists() else open_factors(path)
        try:
            self._file = None if path is None else path.open("ab")
        except OSError as error:
            raise LogError(f"{path} cannot be written: {error.strerror}.") from None
        if self._file is not None:
            self._file.write(b"\n")  # a crash may have left part of a line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, time: float, event: str, **values: Any) -> None:
        """Write a line to the disk, and follow the factors that it opens or closes."""
        line = {"time": time, "event": event, **values}
        _follow(self.open, line)
        if self._file is not None:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def open_factors(path: str | Path) -> dict[str, OpenFactor]:
    """Return the factors that may still be set, by the names of the jobs.

    Raises:
        LogError: the file cannot be read, or is not an audit log.
    """
    found: dict[str, OpenFactor] = {}
    known = empty = True
    try:
        for line in checked_path(path).read_bytes().splitlines():
            if not line.strip():
                continue
            empty = False
            with_event = _parsed(line)
            known = known and (with_event is not None or empty)
            if with_event is not None:
                _follow(found, with_event)
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror}.") from None
    return found


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None


def _follow(found: dict[str, OpenFactor], line: dict[str, Any]) -> None:
    job = line.get("job")
    if line["event"] in ("write", "undo"):
        found.setdefault(job, OpenFactor(line["present"])).written.add(line["factor"])
    elif line["event"] == "undone":
        found.pop(job, None)
