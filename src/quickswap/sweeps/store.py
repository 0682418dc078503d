"""Results of points in one file, safe against crashes and concurrent writers, and as one table."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast, final

from quickswap._shown import Plotted
from quickswap._words import counted
from quickswap.engine.settings import Settings
from quickswap.errors import QuickswapError, shown
from quickswap.simulation.result import Result
from quickswap.statistics.quantities import widened
from quickswap.sweeps.database import DamageError, Database, readable
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure, Record

if TYPE_CHECKING:
    import polars

__all__ = ["Store", "frame_of"]


@final
class Store(Plotted):
    """Results by the key of their point, in one SQLite file, or in memory.

    Rows are only added, each in full or not at all, and each with a check sum. Several processes
    may read and write one store at once; `merge` joins the results of several machines. Results are
    decoded on demand, and contain all that `difference` needs.

    Rows whose check sum does not match are skipped with a warning, and their points run again. A
    file whose structure is damaged is rejected; `merge` takes its rows that can still be read.

    Args:
        path: a file, created if it does not exist; None for a store in memory.
        create: whether to create the file if it does not exist.
        read_only: whether the file is only read: it is neither created nor changed.

    Raises:
        QuickswapError: the file is not a store, is damaged, of another version of quickswap, or
            cannot be opened.
    """

    def __init__(
        self, path: str | Path | None = None, *, create: bool = True, read_only: bool = False
    ) -> None:
        self._lock = threading.RLock()
        self._rows: dict[bytes, int] = {}
        """Row of the result, by key."""
        self._failed: dict[bytes, int] = {}
        """Row of the failure, by key, of points without a result."""
        self._seconds: dict[bytes, float] = {}
        self._seen = 0
        """The last row read."""
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
        """Whether there is a result of a key or point; a failure is not a result."""
        return self._row(key) is not None

    def __getitem__(self, key: str | Point) -> Result:
        """Return the result of a point, or of its key.

        Raises:
            KeyError: the store has no result of it.
        """
        row = self._row(key)
        if row is None:
            raise KeyError(key if isinstance(key, str) else key.key)
        return cast("Result", self._database.read(row).outcome)

    def __iter__(self) -> Iterator[Result]:
        """Yield all results, in the order of their rows."""
        self._refresh()
        for row in list(self._rows.values()):
            yield cast("Result", self._database.read(row).outcome)

    def keys(self) -> list[str]:
        """Return the keys of all results, in the order of their rows."""
        self._refresh()
        return [key.hex() for key in self._rows]

    def points(self) -> Iterator[Point]:
        """Yield the points of all results, in the order of their rows."""
        self._refresh()
        for row in list(self._rows.values()):
            yield self._database.read(row).point

    def failures(self) -> Iterator[Failure]:
        """Yield the failures of points without a result, in the order of their rows."""
        self._refresh()
        for row in list(self._failed.values()):
            yield cast("Failure", self._database.read(row).outcome)

    def failure(self, key: str | Point) -> Failure | None:
        """Return the failure of a point, or None if it did not fail."""
        self._refresh()
        row = self._failed.get(_bytes(key) or b"")
        return None if row is None else cast("Failure", self._database.read(row).outcome)

    def seconds(self, key: str | Point) -> float | None:
        """Return the run time of a point, or None if there is no result."""
        self._refresh()
        return self._seconds.get(_bytes(key) or b"")

    def put(self, point: Point, result: Result) -> None:
        """Add the result of a point; an earlier result of it is kept.

        Raises:
            QuickswapError: the inputs differ, the run was interrupted, or the disk is full.
        """
        if not isinstance(point, Point) or not isinstance(result, Result):
            raise QuickswapError(
                f"a store takes a Point and its Result, not {shown(point)} and {shown(result)}."
            )
        if result.inputs != point.inputs:
            raise QuickswapError("the inputs of the result and of the point differ.")
        if result.stop.name == "INTERRUPTED":
            raise QuickswapError(
                "the result was interrupted and would differ from a rerun: run it again."
            )
        self.add([Record.of(point, result)])

    def add(self, records: Iterable[Record]) -> int:
        """Add records, all or none of them; return the number of new ones."""
        with self._lock, self._database.writing() as write:
            self._refresh()
            new = {
                record.key: record
                for record in records
                if record.key not in self._rows
                and not (record.failure and record.key in self._failed)
            }
            write(new.values())
        self._refresh()
        return len(new)

    def merge(self, *others: str | Path | Store) -> int:
        """Add the rows of other stores; return the number of new ones.

        From a damaged file it takes the rows that can still be read, with a warning.

        Raises:
            QuickswapError: a file is not a store, or contains another result of the same point.
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
                taken = self._take(readable(damage.path), damage.path)
                added += taken
                warnings.warn(
                    f"{damage.path} is damaged: {counted(taken, 'row')} that could be read were "
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
                    own = "the stores before it" if self.path is None else self.path
                    raise QuickswapError(
                        f"{source} and {own} contain different results of the point "
                        f"{record.key.hex()[:12]} ({record.point.inputs.spelling}), although equal "
                        "inputs give equal results: a modified quickswap wrote one of them."
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

    def to_frame(self, *, wide: bool = False) -> polars.DataFrame:
        """Return a polars frame with one row for each result, class and quantity.

        Columns: those of `Result.to_frame`, with key, spelling (of the policy), stop, completed,
        the fields of `Settings` except trajectory, and version before the parameters of policies.
        If it is `wide`, there is one row for each result and class.
        """
        return frame_of(self, wide=wide)

    def close(self) -> None:
        """Close the file; the store can no longer be used."""
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

    def _row(self, key: object) -> int | None:
        wanted = _bytes(key)
        if wanted is None:
            return None
        if wanted not in self._rows:
            self._refresh()
        return self._rows.get(wanted)

    def _refresh(self) -> None:
        """Read the rows added since the last call, by any process."""
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


FRONT = ("policy", "arrival_rate", "load")
KINDS = {"bool": "Boolean", "int": "Int64", "float": "Float64"}
INPUTS = {
    each.name: KINDS.get(str(each.type).removesuffix(" | None"), "String")
    for each in fields(Settings)
    if each.name != "trajectory"  # it describes an output, not the run
} | {"seed": "UInt64", "version": "String"}
"""Inputs that become columns, with their types; a type that is not in `KINDS` is text."""
POINT = {
    "policy": "String",
    "arrival_rate": "Float64",
    "load": "Float64",
    "verdict": "String",
    "key": "String",
    "servers": "Int64",
    "spelling": "String",
    "stop": "String",
    "completed": "Int64",
    **INPUTS,
}
"""Columns of a point, with their types."""
QUANTITY = {"class": "String", "quantity": "String", "value": "Float64", "half_width": "Float64"}


def frame_of(results: Iterable[Result], *, wide: bool = False) -> polars.DataFrame:
    """Return one row for each result, class and quantity; see `Store.to_frame`."""
    import polars as pl

    parameters: list[dict[str, Any]] = []
    points: list[tuple[Any, ...]] = []
    rows: list[tuple[Any, ...]] = []
    for number, each in enumerate(results):
        points.append((number, *_point(each)))
        parameters.append({"number": number, **each.parameters})
        rows += [
            (number, cls, quantity, e.value, e.half_width) for cls, quantity, e in each.quantities()
        ]
    by_point, by_row = (_table(points, POINT), _table(rows, QUANTITY))
    rest = [name for name in POINT if name not in FRONT]
    joined = by_row.join(by_point, on="number", how="left", maintain_order="left")
    found = joined.select("number", *FRONT, *QUANTITY, *rest)
    if parameters:
        schema = {"number": pl.UInt32}
        of_policies = pl.DataFrame(
            parameters, schema_overrides=schema, infer_schema_length=None, strict=False
        )
        found = found.join(of_policies, on="number", how="left", maintain_order="left")
    found = found.drop("number")
    return widened(found) if wide else found


def _table(rows: list[tuple[Any, ...]], kinds: dict[str, str]) -> polars.DataFrame:
    import polars as pl

    schema = {name: getattr(pl, kind) for name, kind in ({"number": "UInt32"} | kinds).items()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _point(result: Result) -> tuple[Any, ...]:
    inputs = result.inputs
    values = [getattr(inputs, name) for name in INPUTS]
    return (
        result.policy_label,
        *result.rate_and_load(),
        result.verdict.status,
        Point(inputs).key,
        inputs.system.servers,
        inputs.spelling,
        result.stop.name,
        result.completed,
        *(
            str(each) if kind == "String" else each
            for each, kind in zip(values, INPUTS.values(), strict=True)
        ),
    )
