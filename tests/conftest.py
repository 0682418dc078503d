"""What several files of tests begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

import quickswap as qs
from plot_helpers import write_curves, write_thresholds

GRID = """
model = "four-class"
policies = ["msf", "first-fit", "static-quickswap:threshold=[0,2]"]
loads = [0.4, 0.6]
jobs = 4000
"""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    (tmp_path / "g.toml").write_text(GRID, encoding="utf-8")
    return tmp_path / "g.toml"


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, qs.Grid]:
    return write_curves(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def thresholds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_thresholds(tmp_path_factory.mktemp("store"))
