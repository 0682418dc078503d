"""Frames: parameters of models and policies as columns, long and wide."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

import quickswap as qs
from replay_helpers import random_log

POLICIES = ["msfq:threshold=3", "msfq:drain=always", "fcfs", "smash:window=5"]


def comparison() -> qs.Comparison:
    return qs.compare("one-or-all:k=8", POLICIES, loads=[0.3], jobs=2000)


def sweep() -> Any:
    return qs.sweep(qs.Grid("one-or-all:k=8", POLICIES, loads=[0.3], jobs=2000))


@pytest.mark.parametrize("found", [comparison, sweep, lambda: sweep().outcomes.store])
def test_parameters_are_columns(found: Any) -> None:
    frame = found().to_frame()
    rows = {row["policy"]: row for row in frame.iter_rows(named=True)}
    assert {row["servers"] for row in rows.values()} == {8}
    assert {row["load"] for row in rows.values()} == {0.3}
    parameters = {
        name: (row["threshold"], row["drain"], row["window"]) for name, row in rows.items()
    }
    assert set(parameters.values()) == {
        (3, "on_demand", None),
        (7, "always", None),
        (None, None, None),
        (None, None, 5),
    }


@pytest.mark.parametrize("found", [comparison, sweep])
def test_a_wide_frame_has_the_numbers_of_the_long_one(found: Any) -> None:
    results = found()
    long, wide = results.to_frame(), results.to_frame(wide=True)
    assert len(wide) == len(POLICIES) * 3
    cells = {
        (row["policy"], row["drain"], row["class"], row["quantity"]): row
        for row in long.iter_rows(named=True)
    }
    for row in wide.iter_rows(named=True):
        key = row["policy"], row["drain"], row["class"]
        expected = cells[*key, "p99_response_time"]
        assert repr(row["p99_response_time"]) == repr(expected["value"])
        assert repr(row["p99_response_time_half_width"]) == repr(expected["half_width"])
        assert (row["jain_index"] is None) is (row["class"] != "all")


def test_replays_and_tuning() -> None:
    log = random_log(Path(mkdtemp()), count=300)
    replays = qs.replay_all(log, ["smash:window=5", "easy"])
    frame = replays.to_frame(wide=True)
    assert set(frame["window"]) == {5, None}
    assert set(frame["servers"]) == {16}
    assert frame["mean_waiting_time_half_width"].null_count() == 0
    found = qs.tune("one-or-all:k=8,load=0.3", POLICIES, jobs=400_000).to_frame()
    assert set(found["servers"]) == {8}
    assert set(found["threshold"]) == {3, 7, None}
