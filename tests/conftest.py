"""What several files of tests begin with."""

from __future__ import annotations

import os

for library in ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[library] = "1"  # before it is loaded: the tests run in parallel

import signal
import threading
from pathlib import Path

import pytest
from hypothesis import settings

import quickswap as qs
from hypothesis_settings import ALL
from plot_helpers import write_curves, write_thresholds

settings.register_profile("quickswap", ALL)
settings.load_profile("quickswap")

GRID = """
model = "four-class"
policies = ["msf", "first-fit", "static-quickswap:threshold=[0,2]"]
loads = [0.4, 0.6]
jobs = 4000
"""


@pytest.fixture(autouse=True)
def _ctrl_c() -> None:
    """Let Ctrl-C interrupt: a shell starts commands in the background with the signal ignored."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
