"""Atomic writes of files."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quickswap.errors import QuickswapError, invalid, shown

__all__ = ["check_file", "checked_path", "same_file", "write_text", "write_with"]


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8 atomically."""
    write_with(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_with(path: str | Path, write: Callable[[Path], object]) -> None:
    """Call `write` with a temporary file next to `path`, then rename that to `path`.

    Raises:
        QuickswapError: the file cannot be written.
    """
    path = checked_path(path)
    temporary: Path | None = None
    try:
        with _write_errors(path):
            if path.exists() and not path.is_file():  # a pipe or a device: nothing to rename onto
                write(path)
                return
            temporary = _temporary(path)
            mask = os.umask(0)  # the only way to read it
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            write(temporary)
            temporary.replace(path)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def checked_path(path: object) -> Path:
    """Return the name of a file as a path.

    Raises:
        QuickswapError: it is neither text nor a path.
    """
    if not isinstance(path, str | os.PathLike):
        raise invalid("the name of a file", path, "text or a Path", QuickswapError)
    name = os.fsdecode(path)
    if "\0" in name:
        raise QuickswapError(f"{shown(name)} is not a file name: it contains a zero byte.")
    return Path(name)


def same_file(first: str | Path, second: str | Path) -> bool:
    """Return whether two names, which need not exist, mean the same file; links are followed."""
    with suppress(OSError, ValueError):
        if os.path.samefile(first, second):
            return True
    return os.path.realpath(first) == os.path.realpath(second)


def check_file(path: str | Path) -> None:
    """Check that `write_with` can write a file, without leaving one.

    Raises:
        QuickswapError: it is a folder, or cannot be written.
    """
    path = checked_path(path)
    with _write_errors(path):
        if path.is_dir():
            raise QuickswapError(f"{path} is a folder: give a file.")
        if path.is_char_device():  # /dev/full: an empty write fails as any other does
            device = os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))
            try:
                os.write(device, b"")
            finally:
                os.close(device)
        elif path.exists() and not path.is_file():  # to open a pipe would wait for its reader
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        elif not path.parent.is_dir():
            raise QuickswapError(f"{path} cannot be written: there is no folder {path.parent}.")
        else:
            _temporary(path).unlink()


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Convert an OSError to an error of one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise QuickswapError(
            f"{repr(str(path))[1:-1]} cannot be written ({reason}): give a file in an existing "
            "folder with write permission."
        ) from error


def _temporary(path: Path) -> Path:
    """Return a new and empty file next to `path`."""
    handle, name = tempfile.mkstemp(
        prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent or "."
    )
    os.close(handle)
    return Path(name)
