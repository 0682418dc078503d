"""Standard output and error: closed, full, or of an encoding that lacks letters."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys

__all__ = ["as_written", "prepare"]

INSTEAD = {
    "±": "+-",
    "Δ": "delta ",
    "→": "->",
    "\N{EN DASH}": "-",
    "\N{HORIZONTAL ELLIPSIS}": "...",
}
"""What stands for the letters that our own sentences use, where an encoding lacks them."""
_POLICY = "quickswap"


class _Closed(io.TextIOBase):
    """Standard output that was closed before the command began: a write fails as on a full disk."""

    encoding = "utf-8"

    def write(self, _: str) -> int:
        raise OSError(errno.EBADF, "it is closed")


def prepare() -> None:
    """Make standard output and error take every text.

    A letter that the encoding lacks becomes one like it, or an escape as in Python. Output to a
    closed descriptor is an error once there is some; error messages then go nowhere.
    """
    _fill_descriptors()
    if sys.stdout is None:
        sys.stdout = _Closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_POLICY)


def as_written(text: str) -> str:
    """Return a text as standard output will show it, so that tables can be aligned by it."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, _POLICY).decode(encoding)


def _fill_descriptors() -> None:
    """Open the null device in place of closed descriptors: else a file would get their numbers."""
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
            return


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    text = "".join(INSTEAD.get(each) or _escaped(each) for each in lacking)
    return text, error.end


def _escaped(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(_POLICY, _replace)
