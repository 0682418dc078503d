"""The SQLite file of a store: how it is opened, checked, mended, read and written.

Every choice serves a file that can be copied while nobody writes, on any file system: a rollback
journal (the write-ahead log needs shared memory, which network file systems lack, and two more
files), no index (rows are only added, so that a reader who knows the last one knows the rest), and
`synchronous = EXTRA`, so that no killed process and no power failure loses what was committed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from quickswap._words import counted
from quickswap.errors import QuickswapError
from quickswap.files import checked_path
from quickswap.sweeps.record import Record
from quickswap.sweeps.rescue import PAGE, rescued
from quickswap.sweeps.telling import PATIENCE, DamageError, damage_told, told

__all__ = ["FORMAT", "Database"]

FORMAT = 1
"""Version of the tables."""
MARK = 0x51535750
"""Application id of a store: "QSWP"."""
MAGIC = b"SQLite format 3\0"
TABLE = (
    "CREATE TABLE points(id INTEGER PRIMARY KEY, key BLOB, inputs BLOB, result BLOB, totals BLOB, "
    "failure BLOB, seconds REAL, crc INTEGER)"
)
COUNT = "CREATE TABLE size(rows INTEGER)"
COLUMNS = "key, inputs, result, totals, failure, seconds"
Write = Callable[[int, Iterable[Record]], None]


@dataclass
class Database:
    """The file of a store, open."""

    path: Path | None
    connection: sqlite3.Connection
    lock: threading.RLock

    @classmethod
    def opened(cls, given: str | Path | None, create: bool, read_only: bool = False) -> Self:
        """Open a file, make it if it is not there, mend it if it is damaged; or only read it."""
        if given is None:
            return cls._connected(None)
        path = checked_path(given)
        if path.is_dir():
            raise QuickswapError(f"{path} is a folder: give the file of a store.")
        if not path.exists():
            if not create or read_only:
                raise QuickswapError(f"there is no file {path}: give the store of a sweep.")
            if not path.parent.is_dir():
                raise QuickswapError(f"{path} cannot be made: there is no folder {path.parent}.")
        _recognise(path)
        try:
            return cls._checked(path, read_only)
        except DamageError:
            if read_only:
                raise QuickswapError(
                    f"{path} is damaged, and here it is only read: run its sweep again, or open it "
                    "with quickswap.Store, which mends it."
                ) from None
            _mend(path)
        return cls._checked(path)

    @classmethod
    def _checked(cls, path: Path, read_only: bool = False) -> Self:
        database = None
        try:
            with damage_told():
                database = cls._connected(path, read_only)
                database._check()
        except BaseException:
            if database is not None:
                database.close()
            raise
        return database

    @classmethod
    def _connected(cls, path: Path | None, read_only: bool = False) -> Self:
        with told(path):
            connection = sqlite3.connect(
                _address(path, read_only),
                uri=read_only,
                timeout=PATIENCE,
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
        self.connection.execute(f"PRAGMA page_size = {PAGE}")
        with self._transaction() as run:
            if not run("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                run(f"PRAGMA application_id = {MARK}")
                run(f"PRAGMA user_version = {FORMAT}")
                run(TABLE)
                run(COUNT)
                run("INSERT INTO size VALUES (0)")

    def _check(self) -> None:
        """Raise unless all rows are there and whole."""
        with self.lock:
            query = f"SELECT id, {COLUMNS}, crc FROM points ORDER BY id"
            last = 0
            self.connection.execute("BEGIN")
            try:
                (word,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
                if word != "ok":  # the way to a row may be damaged while all rows are whole
                    raise DamageError
                rows = self.connection.execute("SELECT rows FROM size").fetchone()
                for number, *parts, crc in self.connection.execute(query):
                    last += 1
                    if number != last or _crc(parts) != crc:
                        raise DamageError
            finally:
                with suppress(sqlite3.Error):
                    self.connection.execute("COMMIT")
            if rows is None or rows[0] != last:
                raise DamageError

    def read(self, row: int) -> Record:
        """Return the record of a row."""
        with self.lock, told(self.path):
            query = f"SELECT {COLUMNS}, crc FROM points WHERE id = ?"
            found = self.connection.execute(query, (row,)).fetchone()
        if found is None or _crc(found[:-1]) != found[-1]:
            raise QuickswapError(
                f"{self.path} was damaged after it had been opened: open it again, to mend it."
            )
        return Record(*found[:-1])

    def since(self, row: int) -> list[tuple[int, bytes, bool, float]]:
        """Return row, key, whether it failed, and seconds of all rows behind one."""
        query = "SELECT id, key, length(failure) > 0, seconds FROM points WHERE id > ? ORDER BY id"
        with self.lock, told(self.path):
            return self.connection.execute(query, (row,)).fetchall()

    @contextmanager
    def writing(self) -> Iterator[Write]:
        """Hold back other writers; yield what adds records behind the last row."""
        with self.lock, told(self.path), self._transaction() as run:

            def write(last: int, records: Iterable[Record]) -> None:
                for number, each in enumerate(records, start=last + 1):
                    values = (number, each.key, each.inputs, each.result, each.totals)
                    tail = (each.failure, each.seconds, each.crc)
                    run("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*values, *tail))
                    run("UPDATE size SET rows = ?", (number,))

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


def _recognise(path: Path) -> None:
    """Refuse a file that is no store, or one of another format; an empty one is a new store."""
    try:
        with path.open("rb") as file:
            head = file.read(PAGE)
    except FileNotFoundError:
        return
    except OSError as error:
        raise QuickswapError(f"{path} cannot be opened: {error.strerror or error}.") from None
    if not head:
        return
    mark, version = (int.from_bytes(head[at : at + 4], "big") for at in (68, 60))
    signs = (head.startswith(MAGIC), mark == MARK, TABLE.encode() in head)
    if sum(signs) < 2:  # one of them may be damaged
        raise QuickswapError(f"{path} is no store of results: give another file.")
    if version != FORMAT and mark == MARK:
        raise QuickswapError(
            f"{path} is a store of format {version}, and this version of quickswap reads format "
            f"{FORMAT}: use the version that wrote it, or another file."
        )


def _mend(path: Path) -> None:
    """Put the rows that are whole into a new file, and keep the damaged one beside it."""
    seen = path.stat()
    rows = rescued(path)
    lost = _lost(path, rows)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        database = Database._connected(fresh)
        try:
            with database.writing() as write:
                write(0, rows.values())
        finally:
            database.close()
        now = path.stat()
        if (now.st_ino, now.st_dev) != (seen.st_ino, seen.st_dev):  # another process was quicker
            return
        aside = _aside(path)
        _keep_beside(path, aside)
        fresh.replace(path)  # at once: whoever is killed leaves one or the other
    finally:
        fresh.unlink(missing_ok=True)
    warnings.warn(
        f"{path} was damaged: {counted(len(rows), 'row')} could be read and are kept, "
        f"{lost}; the damaged file is now {aside}.",
        UserWarning,
        stacklevel=4,
    )


def _lost(path: Path, rows: dict[int, Record]) -> str:
    """Return how many rows were lost, in words."""
    try:
        connection = sqlite3.connect(path)
        try:
            connection.execute("PRAGMA writable_schema = ON")  # opens a file with its tail cut off
            before = int(connection.execute("SELECT rows FROM size").fetchone()[0])
        finally:
            connection.close()
    except (sqlite3.Error, TypeError, ValueError):
        before = -1
    least = max(rows, default=0)
    if before >= least:
        missing = before - len(rows)
        return f"{missing} {'is' if missing == 1 else 'are'} lost"
    return f"how many are lost cannot be told, at least {least - len(rows)}"


def _keep_beside(path: Path, aside: Path) -> None:
    """Give a file a second name; a journal that SQLite could not use goes with it."""
    try:
        os.link(path, aside)
    except OSError:  # a file system without links
        shutil.copy2(path, aside)
    journal = Path(f"{path}-journal")
    if journal.exists():
        journal.replace(f"{aside}-journal")


def _aside(path: Path) -> Path:
    """Return a name beside a file that is free."""
    number = 1
    while True:
        name = f"{path.name}.damaged" + (f"-{number}" if number > 1 else "")
        if not path.with_name(name).exists():
            return path.with_name(name)
        number += 1
