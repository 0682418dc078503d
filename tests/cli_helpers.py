"""Runs the command line: in this process, or on a terminal that is struck."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from quickswap.cli import main


def run(capsys: pytest.CaptureFixture[str], *tokens: str) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as caught:
        main(tokens)
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


def struck(words: Sequence[str], sign: bytes, pause: float = 0.0) -> tuple[bytes, bytes]:
    """Run a command whose standard error is a terminal; Ctrl-C once `sign` is seen there.

    It has to end soon, with 130. Returns what the terminal and standard output have shown.

    Args:
        words: of the command.
        sign: what is waited for.
        pause: seconds from it to Ctrl-C.
    """
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "quickswap", *words],
        stdout=subprocess.PIPE,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    shown = b""
    deadline = time.monotonic() + 120
    try:
        while sign not in shown and time.monotonic() < deadline:
            if select.select([leader], [], [], 1)[0]:
                shown += os.read(leader, 65536)
        time.sleep(pause)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(leader)
    assert process.returncode == 130
    assert time.monotonic() - begun < 30
    return shown, out
