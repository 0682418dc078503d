"""What SQLite says about a store, in one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quickswap.errors import QuickswapError

__all__ = ["PATIENCE", "DamageError", "damage_told", "told"]

PATIENCE = 60.0
"""Seconds to wait for another process that writes."""
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class DamageError(Exception):
    """The file is not what was written."""


@contextmanager
def damage_told() -> Iterator[None]:
    """Turn what SQLite says about a damaged file into a `DamageError`."""
    try:
        yield
    except QuickswapError as error:
        if _code(error.__cause__) in DAMAGE:
            raise DamageError from None
        raise
    except sqlite3.Error as error:
        if _code(error) in DAMAGE or "no such" in str(error):  # tables or columns destroyed
            raise DamageError from None
        raise


@contextmanager
def told(path: Path | None) -> Iterator[None]:
    """Tell in one sentence why a store cannot be read or written."""
    try:
        yield
    except sqlite3.Error as error:
        name, code = path or "the store in memory", _code(error)
        if code == sqlite3.SQLITE_FULL:
            text = f"{name} cannot grow: the disk is full; what was in it is still there."
        elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            text = f"{name} is held by another process for more than {PATIENCE:.0f} s: try again."
        elif _was_cut_short(error):
            text = (
                f"{name} was left in the middle of a write, and here it is only read: run its "
                "sweep again, or open it with quickswap.Store, which takes the write back."
            )
        elif code == sqlite3.SQLITE_READONLY:
            text = f"{name} cannot be written: it, or its folder, is read-only."
        elif isinstance(error, sqlite3.ProgrammingError):
            text = f"{name} is closed."
        else:
            text = f"{name} cannot be used: {error}."
        raise QuickswapError(text) from error


def _was_cut_short(error: sqlite3.Error) -> bool:
    """Whether a writer was killed, and what it left can only be undone by writing."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_ROLLBACK


def _code(error: BaseException | None) -> int | None:
    """Return the primary error code of SQLite."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF
