"""A sweep that is killed with -9, whenever it may be, continues.

`python -m verification --only crashes` does it some hundred times.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from verification.crashes import crash


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
@pytest.mark.parametrize("writing", [False, True])
def test_kills(tmp_path: Path, writing: bool) -> None:
    seen = crash(tmp_path, 5, writing=writing, seed=3)
    assert seen.kills >= 5
    assert seen.sweeps >= 1
    assert (seen.lost, seen.twice, seen.different) == (0, 0, 0)
