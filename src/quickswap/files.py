"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from quickswap.errors import QuickswapError, shown

__all__ = ["write_text", "write_with"]


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    write_with(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_with(path: str | Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it.

    Raises:
        QuickswapError: the file cannot be written.
    """
    path = _checked(path)
    temporary: Path | None = None
    try:
        if path.exists() and not path.is_file():  # a pipe or a device: nothing to rename onto
            write(path)
            return
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent or "."
        )
        os.close(handle)
        temporary = Path(name)
        temporary.chmod(0o666 & ~_umask())
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise QuickswapError(
            f"{path} cannot be written ({reason}): give a file in a folder of yours that exists."
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _checked(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise QuickswapError(f"a file is given by its name, as text or a Path, not {shown(path)}.")
    return Path(os.fsdecode(path))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_folder(path: str | Path) -> None:
    """Refuse a path whose folder is not there or cannot be written to.

    Raises:
        QuickswapError: the file could not be written.
    """
    path = Path(path)
    if path.is_dir():
        raise QuickswapError(f"{path} is a folder: give a file.")
    if path.exists() and not path.is_file():
        return
    folder = path.parent
    if not folder.is_dir():
        raise QuickswapError(f"{path} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise QuickswapError(
            f"{path} cannot be written: the folder {folder} is not yours to write."
        )
