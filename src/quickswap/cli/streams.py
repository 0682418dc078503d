"""Standard output and error streams that are closed, full, or limited in their encoding."""

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
"""Replacements of letters in messages and tables, where an encoding lacks them."""
_POLICY = "quickswap"


class _Closed(io.TextIOBase):
    """Standard output that was closed before the command started: writing fails."""

    encoding = "utf-8"

    def write(self, _: str) -> int:
        raise OSError(errno.EBADF, "it is closed")


def prepare() -> None:
    """Make standard output and error accept every text.

    A letter that the encoding lacks is replaced by a similar one, or by an escape as in Python.
    Writing to a closed standard output is an error; a closed standard error discards messages.
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
    """Return a text as standard output shows it, for the alignment of tables."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, _POLICY).decode(encoding)


def _fill_descriptors() -> None:
    """Open the null device for closed descriptors, whose numbers a file would get otherwise."""
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
