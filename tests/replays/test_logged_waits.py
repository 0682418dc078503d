"""What made jobs wait: by hand on small logs, and on real logs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logs_helpers import KTH, XDMOD, XDMOD_FORMAT, real
from quickswap import logs
from quickswap.replays import LoggedWaits, Schedule, replay_all
from quickswap.replays.logged_waits import idle_while_waiting
from replay_helpers import jobs, log_of

WHOLE: dict[str, Any] = {"warmup": 0.0, "cooldown": 0.0}


def waited(
    folder: Path, rows: list[tuple[float, int, float]], waits: list[float], servers: int
) -> LoggedWaits:
    """Return the waits of (submit, need, size), with the users a, b, a, b, ..."""
    log = log_of(
        folder,
        [
            row | {"wait": wait, "user": "ab"[i % 2]}
            for i, (row, wait) in enumerate(zip(jobs(*rows), waits, strict=True))
        ],
        servers,
    )
    found = LoggedWaits.of(replay_all(log, ["fcfs", "easy"], **WHOLE))
    assert found is not None
    return found


def test_servers_that_are_free_and_servers_that_are_not(tmp_path: Path) -> None:
    """The second job waits 10 s behind the first, and 30 s more for no reason."""
    found = waited(tmp_path, [(0, 2, 10), (0, 1, 5), (100, 1, 5)], [0, 40, 0], 2)
    assert found.all.idle.value == pytest.approx(30 / 40)
    assert found.all.logged.value == pytest.approx(40 / 3)
    assert found.all.replayed.value == pytest.approx(10 / 3)
    assert found.replay.policy_label == "EASY"
    assert found.explained == pytest.approx(0.25)
    assert found.unexplained
    assert found.idle_in_replay == 0
    a, b = found.grouped(np.array([0, 1, 0]), 2)
    assert (a.jobs, a.waiting, b.jobs, b.waiting) == pytest.approx((2 / 3, 0, 1 / 3, 1))
    assert math.isnan(a.idle.value)
    assert b.idle.value == found.all.idle.value
    assert found.by_piece.sum(axis=0).tolist() == [3, 40, 30, 10]


def test_free_servers_must_be_enough_for_the_very_job(tmp_path: Path) -> None:
    """One server is free all the time; a job that needs two waits for the other."""
    found = waited(tmp_path, [(0, 1, 20), (0, 2, 5), (50, 1, 1)], [0, 20, 0], 2)
    assert found.all.idle.value == 0
    assert found.explained == 1
    assert not found.unexplained


def test_no_waits(tmp_path: Path) -> None:
    found = waited(tmp_path, [(0, 1, 20), (30, 1, 5)], [0, 0], 2)
    assert math.isnan(found.explained)
    assert not found.unexplained
    log = log_of(tmp_path, jobs((0, 1, 1), (5, 1, 1)), 2)
    assert LoggedWaits.of(replay_all(log, "easy", **WHOLE)) is None


@given(st.lists(st.tuples(*[st.integers(0, n) for n in (30, 9, 9, 2)]), min_size=1, max_size=9))
def test_idle_time_second_by_second(rows: list[tuple[int, int, int, int]]) -> None:
    submit, wait, size, need = np.array(sorted(rows), dtype=float).T
    start = submit + wait
    need = need.astype(np.int64) + 1
    schedule = Schedule(4, np.arange(len(need)), need, size, submit, start, start + size)
    expected = []
    for job, servers in enumerate(need):
        seconds = np.arange(submit[job], start[job])
        used = [(need * ((start <= at) & (at < start + size))).sum() for at in seconds]
        expected.append(sum(bool(4 - each >= servers) for each in used))
    assert idle_while_waiting(schedule).tolist() == expected


def test_real_pools() -> None:
    """As one machine of 1,200 servers, the replay of these partitions explains only 0.32."""
    log = logs.read(real(XDMOD), sacct_format=XDMOD_FORMAT, pools="partition")
    found = LoggedWaits.of(replay_all(log, "easy"))
    assert found is not None
    assert found.all.idle.value == pytest.approx(0.993, abs=0.001)
    assert found.explained == pytest.approx(0.51, abs=0.01)


def test_a_real_log() -> None:
    """On KTH's machine with 100 nodes, half of the waiting time has enough free nodes."""
    found = LoggedWaits.of(replay_all(logs.read(real(KTH)), "easy"))
    assert found is not None
    assert found.all.idle.value == pytest.approx(0.52, abs=0.01)
    assert found.explained == pytest.approx(0.47, abs=0.01)
