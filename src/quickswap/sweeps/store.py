"""Results of points in one file that survives what happens to it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, final

from quickswap._words import counted
from quickswap.errors import QuickswapError, shown
from quickswap.simulation.result import Result
from quickswap.sweeps.database import DamageError, Database, readable
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure, Record

if TYPE_CHECKING:
    import polars

__all__ = ["Store"]


@final
class Store:
    """Results by the key of their point, in one SQLite file, or in memory.

    Rows are only ever added, each in full or not at all, and each with a check sum. Several
    processes may read and write one store at once; results of several machines are put together
    with `merge`. Results are decoded when they are asked for, and are as good as fresh ones:
    `difference` takes them.

    Rows whose check sum does not match are passed over with a warning, and run again; a file whose
    structure is damaged is refused; `merge` takes the rows of it that can still be read.

    Args:
        path: a file, made if it is not there; None keeps all in memory.
        create: whether to make the file if it is not there.
        read_only: whether to leave the file as it is: it is neither made nor written to.

    Raises:
        QuickswapError: the file is not a store, is damaged, of another version of quickswap, or
            cannot be opened.
    """

    def __init__(
        self, path: str | Path | None = None, *, create: bool = True, read_only: bool = False
    ) -> None:
        self._lock = threading.RLock()
        self._rows: dict[bytes, int] = {}
        """Row of the result of each key."""
        self._failed: dict[bytes, int] = {}
        """Row of the failure of each key that has no result."""
        self._seconds: dict[bytes, float] = {}
        self._seen = 0
        """Last row that these know of."""
        self._database = Database.opened(path, create, read_only)
        self._refresh()

    @property
    def path(self) -> Path | None:
        """The file; None if the store is in memory."""
        return self._database.path

    def __len__(self) -> int:
        """Number of results."""
        self._refresh()
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        """Whether there is a result of a key or point; a failure is none."""
        return self._row(key) is not None

    def __getitem__(self, key: str | Point) -> Result:
        """Return the result of a point, or of its key.

        Raises:
            KeyError: there is none.
        """
        row = self._row(key)
        if row is None:
            raise KeyError(key if isinstance(key, str) else key.key)
        outcome = self._database.read(row).outcome
        assert isinstance(outcome, Result)
        return outcome

    def __iter__(self) -> Iterator[Result]:
        """Yield all results, in the order in which they came."""
        self._refresh()
        for row in list(self._rows.values()):
            outcome = self._database.read(row).outcome
            assert isinstance(outcome, Result)
            yield outcome

    def keys(self) -> list[str]:
        """Return the keys of all results, in the order in which they came."""
        self._refresh()
        return [key.hex() for key in self._rows]

    def points(self) -> Iterator[Point]:
        """Yield the points of all results, in the order in which they came."""
        self._refresh()
        for row in list(self._rows.values()):
            yield self._database.read(row).point

    def failures(self) -> Iterator[Failure]:
        """Yield why points that have no result failed, in the order in which they came."""
        self._refresh()
        for row in list(self._failed.values()):
            outcome = self._database.read(row).outcome
            if isinstance(outcome, Failure):
                yield outcome

    def failure(self, key: str | Point) -> Failure | None:
        """Return why the simulation of a point failed, or None if it did not."""
        self._refresh()
        row = self._failed.get(_bytes(key) or b"")
        outcome = None if row is None else self._database.read(row).outcome
        return outcome if isinstance(outcome, Failure) else None

    def seconds(self, key: str | Point) -> float | None:
        """Return how long the simulation of a point took, or None if there is no result."""
        self._refresh()
        return self._seconds.get(_bytes(key) or b"")

    def put(self, point: Point, result: Result) -> None:
        """Add the result of a point; one that is there already stays.

        Raises:
            QuickswapError: the result is of other inputs, was interrupted, or the disk is full.
        """
        if not isinstance(point, Point) or not isinstance(result, Result):
            raise QuickswapError(
                f"a store takes a Point and its Result, not {shown(point)} and {shown(result)}."
            )
        if result.inputs != point.inputs:
            raise QuickswapError("this result is of other inputs than those of the point.")
        if result.stop.name == "INTERRUPTED":
            raise QuickswapError("an interrupted result is not kept: it would differ from a rerun.")
        self.add([Record.of(point, result)])

    def add(self, records: Iterable[Record]) -> int:
        """Add records, all or none of them; return how many were new."""
        given = list(records)
        with self._lock, self._database.writing() as write:
            self._refresh()
            new = {}
            for record in given:
                if record.key not in self._rows and not (
                    record.failure and record.key in self._failed
                ):
                    new[record.key] = record
            write(new.values())
        self._refresh()
        return len(new)

    def merge(self, *others: str | Path | Store) -> int:
        """Add all that other stores hold; return how many rows were new.

        Of a damaged file the rows that can still be read are taken, with a warning.

        Raises:
            QuickswapError: one of them is not a store, or holds another result of the same point.
        """
        added = 0
        for given in others:
            if isinstance(given, Store):
                added += self._take(given._records(), given.path)
                continue
            try:
                with Store(given, create=False) as other:
                    added += self._take(other._records(), other.path)
            except DamageError as damage:
                kept = self._take(readable(damage.path), damage.path)
                added += kept
                warnings.warn(
                    f"{damage.path} is damaged: {counted(kept, 'row')} that could be read were "
                    "added; run the sweep again for the others.",
                    UserWarning,
                    stacklevel=2,
                )
        return added

    def _take(self, records: Iterable[Record], source: Path | None) -> int:
        batch: list[Record] = []
        added = 0
        for record in records:
            if record.key in self:
                mine = self._database.read(self._rows[record.key])
                if not record.failure and not mine.same_as(record):
                    raise QuickswapError(
                        f"{source} holds another result than {self._name} of the point "
                        f"{record.key.hex()[:12]} ({record.point.inputs.policy}), though equal "
                        "inputs give equal results: one of them was made by a changed quickswap."
                    )
                continue
            batch.append(record)
            if len(batch) == 500:
                added += self.add(batch)
                batch = []
        return added + self.add(batch)

    def _records(self) -> Iterator[Record]:
        self._refresh()
        for row in sorted([*self._rows.values(), *self._failed.values()]):
            yield self._database.read(row)

    def to_frame(self) -> polars.DataFrame:
        """Return a polars frame with one row for each result, class and quantity.

        Columns: those of `Result.to_frame`, and behind them key, servers, spelling (of the policy),
        stop, completed, engine, jobs, precision, precision_of, seed, replications, warmup,
        slowdown_bound, max_in_system, allow_unstable and version.
        """
        from quickswap.sweeps.frames import frame_of

        return frame_of(self)

    def close(self) -> None:
        """Close the file; the store cannot be used any more."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else str(self.path)
        return f"<Store {where}: {counted(len(self._rows), 'result')}>"

    @property
    def _name(self) -> str:
        return "the stores before it" if self.path is None else str(self.path)

    def _row(self, key: object) -> int | None:
        wanted = _bytes(key)
        if wanted is None:
            return None
        if wanted not in self._rows:
            self._refresh()
        return self._rows.get(wanted)

    def _refresh(self) -> None:
        """Take note of rows that have come since, from whichever process."""
        with self._lock:
            for row, key, failed, seconds in self._database.since(self._seen):
                self._seen = row
                if not failed:
                    self._rows.setdefault(key, row)
                    self._seconds.setdefault(key, seconds)
                    self._failed.pop(key, None)
                elif key not in self._rows:
                    self._failed[key] = row


def _bytes(key: object) -> bytes | None:
    """Return the 32 bytes of a key or point, or None if it is neither."""
    if isinstance(key, bytes):
        return key
    text = key.key if isinstance(key, Point) else key
    try:
        return bytes.fromhex(text) if isinstance(text, str) else None
    except ValueError:
        return None
