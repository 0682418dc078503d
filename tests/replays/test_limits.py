"""Limits on the jobs of users and queues, and time limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quickswap import logs
from quickswap.errors import QuickswapError
from quickswap.replays import replay, replay_all
from quickswap.replays.limits import observed

ROWS = """\
submit,need,size,estimate,wait,user,queue
0,1,10,20,0,a,x
0,1,10,5,0,a,x
1,1,10,20,30,a,x
2,1,10,20,0,b,y
3,1,10,20,0,,
4,1,10,20,40,a,y
"""


@pytest.fixture
def log(tmp_path: Path) -> logs.JobLog:
    path = tmp_path / "limits.csv"
    path.write_text(ROWS)
    return logs.read(path, servers=8)


@pytest.mark.parametrize(
    ("settings", "start"),
    [
        ({}, [0, 0, 1, 2, 3, 4]),
        ({"user_limit": 1}, [0, 10, 20, 2, 3, 30]),
        ({"user_limit": 2}, [0, 0, 10, 2, 3, 10]),
        ({"user_limit": "2"}, [0, 0, 10, 2, 3, 10]),
        ({"user_limit": "observed"}, [0, 0, 10, 2, 3, 10]),
        ({"queue_limit": "x=1"}, [0, 10, 20, 2, 3, 4]),
        ({"queue_limit": "x=1,y=1"}, [0, 10, 20, 2, 3, 12]),
        ({"queue_limit": "observed"}, [0, 0, 10, 2, 3, 12]),
        ({"user_limit": 2, "queue_limit": "x=1"}, [0, 10, 20, 2, 3, 4]),
        ({"end_at_limit": True, "user_limit": 2}, [0, 0, 5, 2, 3, 10]),
    ],
)
@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_starts(
    log: logs.JobLog, settings: dict[str, Any], start: list[float], policy: str
) -> None:
    """Servers are plenty: only limits make jobs wait."""
    result = replay(log, policy, **settings)
    assert result.schedule.start.tolist() == start
    assert result.ended_at_limit == int(settings.get("end_at_limit", False))


def test_a_job_held_back_is_predicted_when_it_is_released(log: logs.JobLog) -> None:
    found = [replay(log, "easy", estimate="predicted", user_limit=n).predicted for n in (1, 9)]
    assert found == [3, 0]  # the three later jobs of a, whose first job has then completed


def test_observed_limits(log: logs.JobLog) -> None:
    """The first two jobs of a run together; y runs one job at a time."""
    assert observed(log.jobs, "user") == {"a": 2, "b": 1}
    assert observed(log.jobs, "queue") == {"x": 2, "y": 1}
    for low, high in replay_all(log, "fcfs", load_factors=[1, 2], user_limit="observed").points[:1]:
        assert high.schedule.start.tolist() == [0, 0, 10, 2, 3, 10]
        assert low.policy is None
    twice = replay(log, "fcfs", load_factor=2.0, user_limit="observed")
    assert twice.schedule.start.tolist() == [0, 0, 10, 1, 1.5, 10]


def test_limits_in_each_pool(tmp_path: Path) -> None:
    path = tmp_path / "pools.csv"
    rows = "0,1,10,a,p,x\n0,1,10,a,q,y\n0,1,10,a,q,y\n"
    path.write_text("submit,need,size,user,partition,queue\n" + rows)
    log = logs.read(path, pool={"p": 4, "q": 4})
    for limit in ({"user_limit": 1}, {"queue_limit": "y=1"}):
        assert replay(log, "fcfs", **limit).schedule.start.tolist() == [0, 0, 10]


def test_mistakes(tmp_path: Path, log: logs.JobLog) -> None:
    with pytest.raises(QuickswapError, match="unknown queue: 'z'; known: x, y"):
        replay(log, "fcfs", queue_limit="z=1")
    path = tmp_path / "bare.csv"
    path.write_text("submit,need,size,queue\n0,1,10,x\n")
    bare = logs.read(path, servers=2)
    with pytest.raises(QuickswapError, match="does not contain the user"):
        replay(bare, "fcfs", user_limit=1)
    with pytest.raises(QuickswapError, match="waits that observed limits require"):
        replay(bare, "fcfs", queue_limit="observed")
