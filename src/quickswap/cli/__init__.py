"""The command line: one module for each command, which imports what it needs when it runs.

To add a command, write its module and add its function to `COMMANDS` in `app.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

__all__ = ["main"]

MISTAKE = 2
"""Exit code of an input that is not valid."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as of a process that the signal ended."""


def main(tokens: Sequence[str] | None = None) -> NoReturn:
    """Run the command line on `tokens` (by default `sys.argv[1:]`) and exit.

    An input that is not valid prints one sentence on standard error, without a traceback, and the
    exit code is 2. After Ctrl-C, also while modules are imported, it is 130.
    """
    from quickswap.cli.streams import prepare

    prepare()
    code = 0
    try:
        try:
            code = _run(tokens)
        except KeyboardInterrupt as interrupted:
            code = INTERRUPTED
            shown = getattr(interrupted, "result", None) is not None
            known = "the results so far are shown" if shown else "there are no results"
            # a command may have noted on the exception what it keeps
            _say("interrupted", next(iter(getattr(interrupted, "__notes__", ())), known))
            # Python records Ctrl-C in code compiled from text (attrs does so) and would end by the
            # signal in spite of the exit code; running such code once more resets the record
            exec("pass")
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()  # the reader has closed the pipe, as `| head` does
    except OSError as error:
        if error.filename is not None:  # not an error of an open stream
            raise
        _say("error", f"standard output cannot be written: {error.strerror or error}.")
        code = code or MISTAKE
        _discard_output()
    sys.exit(code)


def _run(tokens: Sequence[str] | None) -> int:
    from cyclopts import CycloptsError

    from quickswap.cli.app import build
    from quickswap.errors import QuickswapError

    _plain_warnings()
    try:
        app = build()
        app.suppress_keyboard_interrupt = False  # else it exits without a message
        app(sys.argv[1:] if tokens is None else tokens, exit_on_error=False, print_error=False)
    except (CycloptsError, QuickswapError) as error:
        _say("error", _sentence(error))
        return MISTAKE
    return 0


def _discard_output() -> None:
    """Send the rest of the output to the null device: flushing it at exit would fail again."""
    with suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


def _sentence(error: Exception) -> str:
    """Return the message of an error on one line, with arguments called as options."""
    from cyclopts import CoercionError, UnknownOptionError, UnusedCliTokensError

    from quickswap.cli.options import option
    from quickswap.errors import QuickswapError

    if isinstance(error, UnusedCliTokensError):
        extra = ", ".join(map(repr, error.unused_tokens or []))
        return f"unexpected {extra}; see quickswap --help."
    if isinstance(error, UnknownOptionError) and "-" in (error.token.keyword, error.token.value):
        return "standard input (-) is not an input: write it to a file first, and give the file."
    if isinstance(error, CoercionError) and error.msg and error.token:  # of our own converters
        return f"{error.token.keyword} is {error.token.value!r}; {error.msg}."
    if isinstance(error, CoercionError) and error.target_type is float and error.token:
        return f"{error.token.keyword} is {error.token.value!r}; it must be a number."
    message = error.calling(option) if isinstance(error, QuickswapError) else str(error)
    return " ".join(message.split())


def _say(kind: str, text: str) -> None:
    from quickswap.cli.output import say

    with suppress(OSError):  # standard error is full, or its reader has gone
        say(kind, text)


def _plain_warnings() -> None:
    """Print warnings without the line of code that Python adds."""
    import warnings

    def show(message: Warning | str, *_: object, **__: object) -> None:
        _say("warning", str(message))

    warnings.showwarning = show
