"""Whether a policy keeps up with a log: backlogs computed by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import quickswap as qs
from quickswap.replays.backlog import Backlog, verdict_of
from quickswap.replays.schedule import Schedule

DAY = 86400.0


def schedule(*jobs: tuple[float, float, float], servers: int = 2, need: int = 2) -> Schedule:
    """Return a schedule of jobs with arrival, start and size, in days."""
    arrival, start, size = (DAY * np.array(column) for column in zip(*jobs, strict=True))
    needs = np.full(len(jobs), need)
    return Schedule(servers, np.arange(len(jobs)), needs, size, arrival, start, start + size)


def test_by_hand() -> None:
    """Two days of work wait from day 1 to 4, one of them until 6; then nothing waits."""
    found = Backlog.of(schedule((0, 0, 4), (1, 4, 2), (1, 6, 1), (100, 100, 1)))
    assert found.peak == pytest.approx(3 * DAY)
    assert found.longest == pytest.approx(5 * DAY)
    assert found.left == 0


def test_a_job_of_half_the_machine_is_half_as_much_work() -> None:
    found = Backlog.of(schedule((0, 0, 4), (1, 4, 1.5), (100, 100, 1), need=1))
    assert found.peak == pytest.approx(0.75 * DAY)
    assert found.longest == 0


def test_a_job_replaced_at_the_same_time_is_no_break() -> None:
    found = Backlog.of(schedule((0, 0, 3), (1, 3, 1), (3, 4, 1), (4, 5, 1), (90, 90, 1)))
    assert found.longest == pytest.approx(4 * DAY)


def test_only_until_the_last_submission() -> None:
    found = Backlog.of(schedule((0, 0, 50), (1, 50, 9), (40, 59, 1)))
    assert found.longest == pytest.approx(39 * DAY)
    assert found.left == pytest.approx(10 / 60)


def test_little_is_much_in_a_short_log() -> None:
    """Of six hours a thirtieth is twelve minutes."""
    hour = 1 / 24
    found = Backlog.of(schedule((0, 0, 2 * hour), (hour, 2 * hour, hour / 4), (6 * hour, 1, hour)))
    assert found.longest == pytest.approx(3600)


@pytest.mark.parametrize(
    ("days", "longest", "left", "load", "verdict"),
    [
        (100, 24.9, 0.0, 0.8, "keeps up"),
        (100, 25.1, 0.0, 0.8, "persistent backlog"),
        (1000, 59.0, 0.0, 0.8, "keeps up"),
        (1000, 61.0, 0.0, 0.8, "persistent backlog"),
        (100, 30.0, 0.06, 0.8, "falls behind"),
        (100, 0.0, 0.0, 1.0, "falls behind"),
        (100, 0.0, 0.05, 0.99, "keeps up"),
        (100, math.nan, 0.0, 0.8, "keeps up"),
    ],
)
def test_verdicts(days: float, longest: float, left: float, load: float, verdict: str) -> None:
    backlog = Backlog(math.nan, longest * DAY, left)
    assert verdict_of(backlog, load, days * DAY) == verdict


def test_a_queue_that_only_the_summer_empties(tmp_path: Path) -> None:
    """Forty weeks bring a little more than the machine serves, the last twelve next to nothing."""
    at = np.arange(0, 280 * 24, 1.0)
    at = at[(at < 190 * 24) | (at % 24 == 0)] * 3600
    size = np.where(at < 190 * DAY, 3800.0, 60.0)
    frame = pl.DataFrame({"submit": at, "need": np.ones(len(at), np.int64), "size": size})
    frame.write_parquet(tmp_path / "log.parquet")
    log = qs.logs.read(tmp_path / "log.parquet", servers=1)
    result = qs.replay(log, "fcfs")
    assert result.load < 0.8
    assert result.backlog.left == 0
    assert result.verdict == "persistent backlog"
    assert 150 * DAY < result.backlog.longest < 250 * DAY
    assert result.longest_wait == pytest.approx(result.outcomes().filter("measured")["wait"].max())
    assert qs.replay(log, "fcfs", servers=2).verdict == "keeps up"


def test_a_policy_keeps_up_where_no_job_waits() -> None:
    """However short the log is: its load over the time of three jobs shows nothing."""
    assert verdict_of(Backlog(0.0, 0.0, 0.0), load=3.0, span=2.0) == "keeps up"
