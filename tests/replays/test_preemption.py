"""Preemptible jobs, which other jobs stop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from quickswap import logs
from quickswap.errors import QuickswapError
from quickswap.replays import Schedule, check_schedule, replay, replay_all
from quickswap.replays.schedule import History
from twin.leftover import serve

ROWS = """\
submit,need,size,queue,user
0,2,10,spare,a
1,2,4,spare,b
2,3,5,long,a
6,1,1,long,b
8,1,3,spare,a
"""


def read(folder: Path, text: str, **options: Any) -> logs.JobLog:
    path = folder / "log.csv"
    path.write_text(text)
    return logs.read(path, **({"servers": 4} | options))


def shortened(log: logs.JobLog) -> logs.JobLog:
    """Jobs are a second shorter, so some have size 0, which the reader replaces by 1."""
    return replace(log, jobs=log.jobs.with_columns(pl.col("size") - 1))


def random_rows(draw: np.random.Generator, jobs: int = 40) -> pl.DataFrame:
    """Jobs at whole times, of which many are equal."""
    return pl.DataFrame(
        {
            "submit": np.sort(draw.integers(0, 60, jobs)),
            "need": draw.integers(1, 5, jobs),
            "size": draw.integers(1, 9, jobs),
            "queue": draw.choice(["spare", "long"], jobs),
        }
    )


def test_the_last_that_started_is_stopped_and_starts_again(tmp_path: Path) -> None:
    result = replay(read(tmp_path, ROWS), "fcfs", preemptible="spare", warmup=0, cooldown=0)
    schedule = result.schedule
    assert schedule.start.tolist() == [7, 7, 2, 6, 11]
    assert schedule.end.tolist() == [17, 11, 7, 7, 14]
    stopped = schedule.stopped
    assert stopped.rows.tolist() == [1, 0]
    assert stopped.start.tolist() == [1, 0]
    assert stopped.end.tolist() == [2, 2]
    assert result.outcomes()["preemptions"].to_list() == [1, 1, 0, 0, 0]
    found = result.preemption
    assert found is not None
    assert (found.preemptible.jobs, found.others.jobs, found.count) == (3, 2, 2)
    assert found.lost_work == 2 * 1 + 2 * 2
    assert found.lost_share == pytest.approx(6 / 31)
    assert found.preemptible.mean_waiting_time.value == pytest.approx((7 + 6 + 3) / 3)
    assert found.others.mean_waiting_time.value == 0


def test_a_suspended_job_keeps_its_work(tmp_path: Path) -> None:
    result = replay(
        read(tmp_path, ROWS),
        "fcfs",
        preemptible="spare",
        preempt_mode="suspend",
        warmup=0,
        cooldown=0,
    )
    schedule = result.schedule
    assert schedule.start.tolist() == [7, 7, 2, 6, 10]
    assert schedule.end.tolist() == [15, 10, 7, 7, 13]
    assert schedule.wait.tolist() == [5, 5, 0, 0, 2]
    assert [*zip(*(each.tolist() for each in schedule.waits), strict=True)] == [
        *((0, 0, 0, 10), (0, 2, 7, 8), (1, 1, 1, 4), (1, 2, 7, 3)),
        *((2, 2, 2, 5), (3, 6, 6, 1), (4, 8, 10, 3)),
    ]
    assert result.preemption is not None
    assert (result.preemption.count, result.preemption.lost_work) == (2, 0)
    assert result.preemption.preemptible.mean_waiting_time.value == 4
    # the servers do the work of each job once, and jobs wait as long as their waits add up to
    history = History.of(schedule)
    length = np.diff(history.time)
    assert (history.busy[:-1] * length).sum() == (schedule.need * schedule.size).sum()
    assert (history.waiting[:-1] * length).sum() == schedule.wait.sum()


@pytest.mark.filterwarnings("ignore:invalid value")  # quantiles of infinite slowdowns
@pytest.mark.parametrize("mode", ["requeue", "suspend"])
@pytest.mark.parametrize("policy", ["fcfs", "easy", "first-fit"])
def test_agrees_with_the_definition(tmp_path: Path, policy: str, mode: str) -> None:
    stops = 0
    for seed in range(12):
        rows = random_rows(np.random.default_rng(seed))
        own = rows["queue"].to_numpy() == "spare"
        log = shortened(read(tmp_path, rows.write_csv()))
        schedule = replay(log, policy, preemptible="spare", preempt_mode=mode).schedule
        alone = replay(shortened(read(tmp_path, rows.filter(~own).write_csv())), policy)
        first = rows["submit"][0], rows.filter(~own)["submit"][0]
        assert np.array_equal(schedule.start[~own] + first[0], alone.schedule.start + first[1])
        assert not np.isin(schedule.stopped.rows, np.flatnonzero(~own)).any()
        columns = (schedule.arrival, schedule.need, schedule.size)
        jobs = [*zip(*(each[own].tolist() for each in columns), strict=True)]
        others = zip(schedule.need[~own], schedule.start[~own], schedule.end[~own], strict=True)
        completed, stopped = serve(4, [*others], jobs, keeps_work=mode == "suspend")
        assert [run[1] for run in completed] == schedule.start[own].tolist()
        assert [run[2] for run in completed] == schedule.end[own].tolist()
        runs = schedule.stopped
        mine = np.flatnonzero(own).tolist()
        assert runs.rows.tolist() == [mine[job] for job, *_ in stopped]
        assert runs.start.tolist() == [start for _, start, _ in stopped]
        assert runs.end.tolist() == [end for *_, end in stopped]
        stops += len(stopped)
    assert stops > 50


def test_utilisation_includes_lost_work(tmp_path: Path) -> None:
    log = read(tmp_path, "submit,need,size,queue\n0,4,10,spare\n5,4,5,long\n20,1,0,long\n")
    result = replay(log, "fcfs", preemptible="spare", warmup=0, cooldown=0)
    assert result.schedule.start.tolist() == [10, 5, 20]
    assert result.utilisation.value == 1
    assert result.wasted_capacity.value == 0


def test_limits_apply_to_each_group(tmp_path: Path) -> None:
    rows = "0,1,5,spare,a\n0,1,5,spare,a\n0,1,5,long,a\n0,1,5,long,a\n"
    log = read(tmp_path, "submit,need,size,queue,user\n" + rows)
    for limit in ({"user_limit": 1}, {"queue_limit": "spare=1 long=1"}):
        result = replay(log, "fcfs", preemptible="spare", **limit)
        assert result.schedule.start.tolist() == [0, 5, 0, 5]


def test_pools(tmp_path: Path) -> None:
    """In each pool jobs yield to the others there; a pool without others is served as usual."""
    rows = "0,1,9,spare,p\n0,2,9,spare,q\n1,2,9,long,p\n2,1,9,spare,q\n"
    log = read(
        tmp_path, "submit,need,size,queue,partition\n" + rows, servers=None, pool={"p": 2, "q": 2}
    )
    result = replay(log, "fcfs", preemptible="spare", warmup=0, cooldown=0)
    assert result.schedule.start.tolist() == [10, 0, 1, 9]
    assert result.preemption is not None
    assert result.preemption.count == 1
    counts = {
        name: each.preemption and each.preemption.count for name, each in result.pools.items()
    }
    assert counts == {"p": 1, "q": 0}


def test_a_partition_may_be_preemptible(tmp_path: Path) -> None:
    log = read(tmp_path, ROWS.replace("queue", "partition"))
    low, high = replay_all(log, "easy", preemptible="spare", load_factors=[1, 2]).results
    for each in (low, high):
        assert each.preemption is not None
        assert each.preemption.preemptible.name == "preemptible"


@pytest.mark.parametrize(
    ("given", "policy", "words"),
    [
        ("sparse", "fcfs", "unknown queue or partition: 'sparse'"),
        ("spare spare", "fcfs", "names of queues, each once"),
        (3, "fcfs", "preemptible is 3"),
        ("spare", "server-filling", "ServerFilling interrupts jobs"),
    ],
)
def test_mistakes(tmp_path: Path, given: Any, policy: str, words: str) -> None:
    log = read(tmp_path, ROWS.replace(",3,5", ",4,5"))
    with pytest.raises(QuickswapError, match=words) as caught:
        replay(log, policy, preemptible=given)
    assert caught.value.argument == "preemptible"


def test_a_mode_requires_preemptible_jobs(tmp_path: Path) -> None:
    with pytest.raises(QuickswapError, match="no job is preemptible; give preemptible") as caught:
        replay(read(tmp_path, ROWS), "fcfs", preempt_mode="suspend")
    assert caught.value.argument == "preempt_mode"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("end", [2.0, 8.0], "servers are in use|stopped runs"),
        ("end", [2.0, 12.0], "stopped runs"),
        ("start", [-1.0, 0.0], "stopped runs"),
    ],
)
def test_an_infeasible_schedule_is_found(
    tmp_path: Path, field: str, value: list[float], words: str
) -> None:
    schedule = replay(read(tmp_path, ROWS), "fcfs", preemptible="spare").schedule
    check_schedule(schedule)
    wrong: Schedule = replace(
        schedule, stopped=replace(schedule.stopped, **{field: np.array(value)})
    )
    with pytest.raises(RuntimeError, match=words):
        check_schedule(wrong)
