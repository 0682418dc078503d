"""Runs the command line in this process."""

from __future__ import annotations

import pytest

from quickswap.cli import main


def run(capsys: pytest.CaptureFixture[str], *tokens: str) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as caught:
        main(tokens)
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err
