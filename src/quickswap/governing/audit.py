"""The audit log of a governor: one JSON object per line, on disk before each write to Slurm.

From the log alone follows which SiteFactors may still be set: those of jobs with a line `write`,
until a line `undone`, which is written when the factor is 0 again or the job has ended. A crash
between the line and the write therefore leaves no unknown factor. In the same way it follows which
jobs may be held, from a line `hold` until a line `released`, or until the end of the lease.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from fcntl import LOCK_EX, LOCK_NB
from fcntl import flock as lock
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import Struct

from quickswap.errors import LogError
from quickswap.files import checked_path

__all__ = ["Audit", "Memory", "Recovered", "recovered"]

OTHERS = frozenset({"busy", "read", "rejected", "unreachable"})
"""Events from which nothing follows."""


class _Write(Struct):
    job: str
    factor: int


class _Undone(Struct):
    job: str


class Hold(Struct, frozen=True):
    """A job that the governor holds, or has held.

    Attributes:
        job: its name.
        until: the end of the lease, at which Slurm releases the job; seconds since 1970.
        arrival: the arrival of the job, which Slurm does not know from then on.
    """

    job: str
    until: float
    arrival: float


class _Released(Struct):
    job: str
    time: float


class Memory(Struct, frozen=True):
    """What a policy remembers after a decision.

    Attributes:
        state: the policy's own state.
        starts: jobs that it has started; Slurm may not have started them yet.
        reserved: the job for which servers are kept free, if any, its need, and its limit.
    """

    state: tuple[int, ...] = (0,)
    starts: tuple[str, ...] = ()
    reserved: tuple[str, int, float] | None = None


class _Decision(Struct):
    policy: str
    state: tuple[int, ...]
    starts: tuple[str, ...]
    reserved: tuple[str, int, float] | None


KINDS: Mapping[str, type[Struct]] = {
    "write": _Write,
    "undone": _Undone,
    "decision": _Decision,
    "hold": Hold,
    "released": _Released,
}
"""The lines from which something follows, by event."""


@dataclass
class Recovered:
    """What follows from an audit log.

    Attributes:
        open: the factors that may still be set: for each job those that were written.
        memories: what policies remember after their last decisions, by their texts.
        holds: the last hold of each job; `until` is its end.
    """

    open: dict[str, set[int]] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    holds: dict[str, Hold] = field(default_factory=dict)

    def follow(self, line: dict[str, Any]) -> None:
        """Take a line of the log into account.

        Raises:
            ValueError, msgspec.ValidationError: no governor writes such a line.
        """
        event = str(line.get("event"))
        if event in OTHERS:
            return
        if event not in KINDS:
            raise ValueError(f"event {event!r}")
        found = msgspec.convert(line, KINDS[event])
        if isinstance(found, _Write):
            self.open.setdefault(found.job, set()).add(found.factor)
        elif isinstance(found, _Undone):
            self.open.pop(found.job, None)
        elif isinstance(found, Hold):
            self.holds[found.job] = found
        elif isinstance(found, _Released) and (held := self.holds.get(found.job)):
            self.holds[found.job] = Hold(found.job, found.time, held.arrival)
        elif isinstance(found, _Decision):
            self.memories[found.policy] = Memory(found.state, found.starts, found.reserved)


class Audit:
    """An audit log that is open for writing, by one process at a time.

    Args:
        path: the file, which is continued; None keeps no log.

    Raises:
        LogError: the file cannot be read or written, is another kind of file, or is in use.
    """

    def __init__(self, path: Path | None) -> None:
        self.known, self._file = Recovered(), None
        self._torn = True  # a crash may have left part of a line
        if path is None:
            return
        try:
            file = path.open("ab", buffering=0)
        except OSError as error:
            raise LogError(f"{path} cannot be written: {error.strerror}.") from None
        with ExitStack() as closing:
            closing.enter_context(file)
            try:
                lock(file, LOCK_EX | LOCK_NB)
            except OSError:
                message = f"{path} is the log of a governor that runs: stop it first."
                raise LogError(message) from None
            self.known, self._file = recovered(path), file
            closing.pop_all()

    @property
    def open(self) -> dict[str, set[int]]:
        """The factors that may still be set: for each job those that were written."""
        return self.known.open

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, time: float, event: str, **values: Any) -> None:
        """Write a line to the disk, and take it into account.

        Raises:
            LogError: the file cannot be written.
        """
        line = {"time": time, "event": event, **values}
        self.known.follow(line)
        if self._file is None:
            return
        text = b"\n" * self._torn + json.dumps(line).encode() + b"\n"
        self._torn = True
        try:
            self._torn = self._file.write(text) != len(text)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise LogError(f"{self._file.name} cannot be written: {error.strerror}.") from None
        if self._torn:
            raise LogError(f"{self._file.name} cannot be written: there is no space left.")


def recovered(path: str | Path) -> Recovered:
    """Return what follows from an audit log.

    Raises:
        LogError: the file cannot be read, or is not an audit log.
    """
    path = checked_path(path)
    if path.exists() and not path.is_file():
        raise LogError(f"{path} is not a file: give a file.")
    try:
        lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror}.") from None
    parsed = [each for each in map(_parsed, lines) if each is not None]  # a crash may truncate one
    known = Recovered()
    try:
        if lines and not parsed:
            raise ValueError("no line is a JSON object")
        for line in parsed:
            known.follow(line)
    except (ValueError, msgspec.ValidationError) as error:
        raise LogError(
            f"{path} is not an audit log of quickswap govern ({error}): give the file of its --log."
        ) from None
    return known


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (RecursionError, ValueError):
        return None
    return found if isinstance(found, dict) else None
