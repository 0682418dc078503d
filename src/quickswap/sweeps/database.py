"""The SQLite file of a store: how it is opened, checked, read and written.

Every choice serves a file that can be copied while no process writes to it, on any file system: a
rollback journal (the write-ahead log needs shared memory, which network file systems lack, and two
more files), no index (rows are only added, so a reader who has seen the last one has seen all
others), and `synchronous = EXTRA` so that what was committed survives a killed process and a power
failure. Each row has a check sum. A file whose structure is damaged is rejected; a merge into
another store takes the rows that SQLite can still read.
"""

from __future__ import annotations

import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from quickswap._words import counted
from quickswap.errors import QuickswapError
from quickswap.files import checked_path
from quickswap.sweeps.record import Record

__all__ = ["FORMAT", "DamageError", "Database", "check_store", "readable"]

FORMAT = 2
"""Version of the tables."""
MARK = 0x51535750
"""Application id of a store: "QSWP"."""
MAGIC = b"SQLite format 3\0"
HEADER = 100
"""Bytes at the start of a file in which SQLite describes it."""
LOCK_TIMEOUT = 60.0
"""Seconds to wait for another process that writes."""
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
TABLE = (
    "CREATE TABLE points(id INTEGER PRIMARY KEY, key BLOB, inputs BLOB, result BLOB, totals BLOB, "
    "failure BLOB, seconds REAL, crc INTEGER)"
)
COLUMNS = "key, inputs, result, totals, failure, seconds"
Write = Callable[[Iterable[Record]], None]


class DamageError(QuickswapError):
    """The structure of the file at `path` is damaged."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(
            f"{path} is damaged: merge it into a new store, which takes the rows that can still be "
            f"read, as in `quickswap sweep --merge {path} --store recovered.db`, and use that."
        )
        self.path = path or Path()


@dataclass
class Database:
    """The file of a store, open.

    Attributes:
        damaged: rows whose check sum does not match; they are skipped.
    """

    path: Path | None
    connection: sqlite3.Connection
    lock: threading.RLock
    damaged: set[int] = field(default_factory=set)

    @classmethod
    def opened(cls, given: str | Path | None, create: bool, read_only: bool = False) -> Self:
        """Open a file, create it if it does not exist, or only read it.

        Raises:
            QuickswapError: the file does not exist, is not a store, or is damaged.
        """
        if given is None:
            return cls._connected(None, read_only=False)
        path = check_store(given, create and not read_only)
        database = cls._connected(path, read_only)
        try:
            with _explained(path):
                database._check()
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def _connected(cls, path: Path | None, read_only: bool) -> Self:
        with _explained(path):
            connection = sqlite3.connect(
                _address(path, read_only),
                uri=read_only,
                timeout=LOCK_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
            )
            database = cls(path, connection, threading.RLock())
            try:
                connection.execute("PRAGMA synchronous = EXTRA")
                tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                if not tables and read_only:
                    raise QuickswapError(f"{path} is empty: give the store of a sweep.")
                if not tables:
                    database._create()
            except BaseException:
                connection.close()
                raise
        return database

    def _create(self) -> None:
        with self._transaction() as run:
            if not run("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                run(f"PRAGMA application_id = {MARK}")
                run(f"PRAGMA user_version = {FORMAT}")
                run(TABLE)

    def _check(self) -> None:
        """Reject a file whose structure is damaged; warn of rows that are."""
        with self.lock:
            (answer,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
            if answer != "ok":
                raise DamageError(self.path)
            for number, *parts, crc in self.connection.execute(
                f"SELECT id, {COLUMNS}, crc FROM points"
            ):
                if _crc(parts) != crc:
                    self.damaged.add(number)
        if self.damaged:
            warnings.warn(
                f"{self.path}: {counted(len(self.damaged), 'row')} did not match the check sum and "
                "are skipped: run the sweep again to replace them.",
                UserWarning,
                stacklevel=4,
            )

    def read(self, row: int) -> Record:
        """Return the record of a row."""
        with self.lock, _explained(self.path):
            query = f"SELECT {COLUMNS}, crc FROM points WHERE id = ?"
            values = self.connection.execute(query, (row,)).fetchone()
        if values is None or _crc(values[:-1]) != values[-1]:
            raise QuickswapError(
                f"{self.path} was damaged after it had been opened: open it again."
            )
        return Record(*values[:-1])

    def since(self, row: int) -> list[tuple[int, bytes, bool, float]]:
        """Return row, key, whether it failed, and seconds of all rows after one."""
        query = "SELECT id, key, length(failure) > 0, seconds FROM points WHERE id > ? ORDER BY id"
        with self.lock, _explained(self.path):
            rows = self.connection.execute(query, (row,)).fetchall()
        return [each for each in rows if each[0] not in self.damaged]

    @contextmanager
    def writing(self) -> Iterator[Write]:
        """Lock out other writers; yield a function that appends records."""
        with self.lock, _explained(self.path), self._transaction() as run:

            def write(records: Iterable[Record]) -> None:
                for each in records:
                    values = (each.key, each.inputs, each.result, each.totals)
                    rest = (each.failure, each.seconds, each.crc)
                    run("INSERT INTO points VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", (*values, *rest))

            yield write

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection.execute
            self.connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self.connection.close()


def _address(path: Path | None, read_only: bool) -> str | Path:
    if path is None:
        return ":memory:"
    return f"{path.absolute().as_uri()}?mode=ro" if read_only else path


def _crc(parts: list[bytes]) -> int | None:
    try:
        return Record(*parts).crc  # type: ignore[arg-type]  # or it fails
    except (TypeError, ValueError, OverflowError):
        return None


def readable(path: Path) -> Iterator[Record]:
    """Yield the records of a damaged file that SQLite can still read and whose check sums match."""
    connection = sqlite3.connect(_address(path, read_only=True), uri=True)
    try:
        connection.execute("PRAGMA writable_schema = ON")  # opens a file whose end is cut off
        reached = {"ASC": 0, "DESC": 2**63 - 1}
        for order, sign in (("ASC", ">"), ("DESC", "<")):
            query = f"SELECT id, {COLUMNS}, crc FROM points WHERE id {sign} ? ORDER BY id {order}"
            with suppress(sqlite3.Error):
                for row, *parts, crc in connection.execute(query, (reached[order],)):
                    if order == "DESC" and row <= reached["ASC"]:
                        return
                    reached[order] = row
                    if _crc(parts) == crc:
                        yield Record(*parts)
    finally:
        connection.close()


def check_store(given: str | Path, create: bool = False) -> Path:
    """Return the path of a store; reject other files, and stores of another format.

    An empty file is a new store, and so is a file that does not exist if it may be created.
    """
    path = checked_path(given)
    if path.is_dir():
        raise QuickswapError(f"{path} is a folder: give the file of a store.")
    if not path.exists():
        if not create:
            raise QuickswapError(f"{path} does not exist: give the store of a sweep.")
        if not path.parent.is_dir():
            raise QuickswapError(
                f"{path} cannot be created: the folder {path.parent} does not exist."
            )
        return path
    try:
        with path.open("rb") as file:
            head = file.read(HEADER)
    except OSError as error:
        raise QuickswapError(f"{path} cannot be opened: {error.strerror or error}.") from None
    if not head:
        return path
    mark, version = (int.from_bytes(head[at : at + 4], "big") for at in (68, 60))
    if not head.startswith(MAGIC) or mark != MARK:
        raise QuickswapError(f"{path} is not a store of results: give another file.")
    if version != FORMAT:
        raise QuickswapError(
            f"{path} is a store of format {version}, and this version of quickswap reads format "
            f"{FORMAT}: use the version that wrote it, or another file."
        )
    return path


@contextmanager
def _explained(path: Path | None) -> Iterator[None]:
    """Raise errors of SQLite as a `QuickswapError`."""
    try:
        yield
    except sqlite3.Error as error:
        name = path or "the store in memory"
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else int(code) & 0xFF
        if primary in DAMAGE or "no such" in str(error):  # tables or columns destroyed
            raise DamageError(path) from error
        if primary == sqlite3.SQLITE_FULL:
            text = f"{name} cannot grow: the disk is full; its earlier contents are intact."
        elif primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            text = f"{name} is locked by another process for over {LOCK_TIMEOUT:.0f} s: try again."
        elif code == sqlite3.SQLITE_READONLY_ROLLBACK:
            text = (
                f"{name} was left in the middle of a write and is only read here: run its sweep "
                "again, or open it with quickswap.Store, which rolls the write back."
            )
        elif primary == sqlite3.SQLITE_READONLY:
            text = f"{name} cannot be written: it, or its folder, is read-only."
        elif isinstance(error, sqlite3.ProgrammingError):
            text = f"{name} is closed."
        else:
            text = f"{name} cannot be used: {error}."
        raise QuickswapError(text) from error
