"""Mistakes in the arguments of replays, and replays of unusual logs."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

import quickswap as qs
from quickswap import logs, replays
from quickswap.replays.schedule import check_schedule
from replay_helpers import jobs, log_of, random_log


@pytest.fixture
def busy(tmp_path: Path) -> logs.JobLog:
    return random_log(tmp_path)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"servers": 0}, "servers is 0; it must be a whole number from 1"),
    ({"servers": 1, "log": "wide"}, "servers is 1"),
    ({"load_factor": 0}, "load_factor is 0; it must be a positive finite number"),
    ({"load_factor": 1e200}, "load_factor is 1e+200; it must be from 0.001 to 1000"),
    ({"load_factor": "x"}, "load_factor is 'x'; it must be a positive finite number"),
    ({"estimate": "x"}, "estimate is 'x'"),
    ({"estimate": -1}, "estimate is -1"),
    ({"classes": "1-2"}, "none of the groups 1-2"),
    ({"classes": "x"}, "'x' in the groups"),
    ({"classes": 3}, "classes is 3"),
    ({"warmup": 0.6, "cooldown": 0.4}, "warmup is 0.6; it must be below 0.6"),
    ({"warmup": 1}, "warmup"),
    ({"cooldown": -0.1}, "cooldown"),
    ({"slowdown_bound": -1}, "slowdown_bound"),
    ({"seed": 1.5}, "seed is 1.5; it must be a whole number"),
    ({"debug": "yes"}, "debug is 'yes'"),
    ({"classes": f"1-{10**30}"}, "16,777,216"),
    ({"progress": 3}, "progress"),
    ({"policy": "unknown"}, "unknown"),
    ({"log": None}, "log is None"),
]


@pytest.mark.parametrize(("wrong", "words"), MISTAKES, ids=[str(each[0]) for each in MISTAKES])
def test_mistakes(wrong: dict[str, Any], words: str, busy: logs.JobLog, tmp_path: Path) -> None:
    given: dict[str, Any] = {"log": busy, "policy": "easy"} | wrong
    if given["log"] == "wide":
        given["log"] = log_of(tmp_path, jobs((0, 2, 5), (1, 3, 5)), 4)
    with pytest.raises(qs.QuickswapError, match=re.escape(words)):
        qs.replay(**given)


def test_mistakes_with_several_policies(busy: logs.JobLog) -> None:
    for policies, words in (
        ([], "policies is []"),
        (["easy", "easy"], "EASY twice"),
        (7, "policies is 7"),
    ):
        with pytest.raises(qs.PolicyError, match=re.escape(words)):
            qs.replay_all(busy, policies)  # type: ignore[arg-type] # wrong on purpose
    none: list[float] = []
    for factors in (none, 1.0):
        with pytest.raises(qs.QuickswapError, match="load_factors is"):
            qs.replay_all(busy, "easy", load_factors=factors)  # type: ignore[arg-type] # likewise
    with pytest.raises(qs.QuickswapError, match="load_factors contains 1 and 1"):
        qs.replay_all(busy, "easy", load_factors=(1, 1.0))
    with pytest.raises(qs.QuickswapError, match="'bogus'"):
        qs.replay_all(busy, "easy", bogus=1)  # type: ignore[call-arg]  # what is tested
    for wrong in (None, 5):
        with pytest.raises(qs.QuickswapError, match="schedule is"):
            check_schedule(wrong)  # type: ignore[arg-type] # wrong on purpose
        with pytest.raises(qs.QuickswapError, match="other is"):
            qs.replay(busy, "easy").difference(wrong)  # type: ignore[arg-type] # likewise
    easy, short = qs.replay(busy, "easy"), qs.replay(busy, "easy", warmup=0.5)
    with pytest.raises(qs.QuickswapError, match="cannot be paired"):
        easy.difference(short)
    for other in (qs.replay(busy, "easy", seed=2), qs.replay(busy, "easy", slowdown_bound=60)):
        with pytest.raises(qs.QuickswapError, match="cannot be paired"):
            easy.difference(other)
    with pytest.raises(qs.QuickswapError, match="waiting_time"):
        easy.difference(easy, "waiting_tim")
    with pytest.raises(qs.QuickswapError, match="class"):
        easy.difference(easy, cls="unknown")


@pytest.mark.parametrize(
    "rows",
    [
        jobs((0, 1, 5)),
        jobs((0, 1, 5), (0, 2, 5), (0, 1, 5)),
        jobs((0, 3, 1e-3), (1e7, 3, 1e7)),
    ],
    ids=["one job", "one instant", "far apart"],
)
def test_odd_logs(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    log = log_of(tmp_path, rows, 3)
    for policy in replays.replaying.DEFAULT_POLICIES:
        result = qs.replay(log, policy, warmup=0, cooldown=0)
        assert result.jobs == len(rows)
        assert math.isfinite(result.mean_response_time.value)
