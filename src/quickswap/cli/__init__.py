"""The command line: one module a command, each of which imports what it needs when it runs.

To add a command, write its module and put its function in `COMMANDS` in `app.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

__all__ = ["main"]

MISTAKE = 2
"""Exit code of a mistake of the user."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as of a process that the signal has ended."""


def main(tokens: Sequence[str] | None = None) -> NoReturn:
    """Run the command line on `tokens` (by default `sys.argv[1:]`) and exit.

    A mistake is told in one sentence on standard error, with exit code 2 and no traceback; Ctrl-C,
    also while modules are imported, with exit code 130.
    """
    from quickswap.cli.streams import prepare

    prepare()
    code = 0
    try:
        try:
            code = _run(tokens)
        except KeyboardInterrupt as struck:
            code = INTERRUPTED
            shown = getattr(struck, "result", None) is not None
            _say(
                "interrupted",
                "what had been measured until then is shown" if shown else "nothing more is shown",
            )
            # Python remembers Ctrl-C in code that was compiled from text, as attrs does, and would
            # end by the signal in spite of the exit code; the next such code makes it forget.
            exec("pass")
        sys.stdout.flush()
    except BrokenPipeError:
        _leave()  # the reader has gone, `| head` for one: nothing is left to say
    except OSError as error:
        if error.filename is not None:  # not an error of writing to what is open already
            raise
        _say("error", f"standard output cannot be written: {error.strerror or error}.")
        code = code or MISTAKE
        _leave()
    sys.exit(code)


def _run(tokens: Sequence[str] | None) -> int:
    from cyclopts import CycloptsError

    from quickswap.cli.app import build
    from quickswap.errors import QuickswapError

    _plain_warnings()
    try:
        app = build()
        app.suppress_keyboard_interrupt = False  # else it exits without a word
        app(sys.argv[1:] if tokens is None else tokens, exit_on_error=False, print_error=False)
    except (CycloptsError, QuickswapError) as error:
        _say("error", _sentence(error))
        return MISTAKE
    return 0


def _leave() -> None:
    """Let what is left of the output go nowhere: it would fail once more at the end."""
    with suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


def _sentence(error: Exception) -> str:
    """Return what was wrong, on one line."""
    from cyclopts import UnknownOptionError, UnusedCliTokensError

    from quickswap.cli.reading import as_log_options
    from quickswap.cli.run import SaidError, as_options

    if isinstance(error, UnusedCliTokensError):
        extra = ", ".join(map(repr, error.unused_tokens or []))
        return f"unexpected {extra}; see quickswap --help."
    if isinstance(error, UnknownOptionError) and "-" in (error.token.keyword, error.token.value):
        return "standard input (-) is not read: write it to a file first, and give that."
    text = " ".join(str(error).split())
    if isinstance(error, SaidError):
        return text
    text = as_options(text)
    return as_log_options(text) if type(error).__module__.startswith("quickswap.logs") else text


def _say(kind: str, text: str) -> None:
    from quickswap.cli.output import say

    with suppress(OSError):  # standard error is full, or its reader has gone
        say(kind, text)


def _plain_warnings() -> None:
    """Print warnings as sentences, without the line of code that Python adds."""
    import warnings

    def show(message: Warning | str, *_: object, **__: object) -> None:
        _say("warning", str(message))

    warnings.showwarning = show
