"""Replays with pools: each pool is served as if it were alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from quickswap import logs
from quickswap.errors import PolicyError, QuickswapError
from quickswap.replays import LoggedWaits, ReplayResult, replay, replay_all
from quickswap.replays.backlog import ReplayVerdict
from replay_helpers import random_log

POOLS = {"large": 16, "small": 4}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of two partitions; the jobs of one need at most 4 servers."""
    folder = tmp_path_factory.mktemp("pools")
    jobs = random_log(folder, count=600).jobs
    draw = np.random.default_rng(1)
    small = (jobs["need"].to_numpy() <= 4) & (draw.random(len(jobs)) < 0.4)
    path = folder / "pools.parquet"
    names = np.where(small, "small", "large")
    times = pl.col("submit", "size", "estimate", "wait").ceil()
    jobs.select(times, "need", "user", partition=pl.Series(names)).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def pooled(file: Path) -> ReplayResult:
    return replay(logs.read(file, pool=POOLS), "easy", pool_policies="small=fcfs")


@pytest.mark.parametrize(("pool", "policy"), [("large", "easy"), ("small", "fcfs")])
def test_each_pool_is_served_as_if_it_were_alone(
    file: Path, pooled: ReplayResult, pool: str, policy: str
) -> None:
    alone = replay(logs.read(file, partition=pool, servers=POOLS[pool]), policy)
    part = pooled.pools[pool]
    assert part.policy_label == alone.policy_label
    first = part.schedule.arrival[0]
    for name in ("arrival", "start", "end"):
        mine, its = getattr(part.schedule, name), getattr(alone.schedule, name)
        assert (mine - first).tolist() == its.tolist()
    own = pooled.outcomes().filter(pl.col("partition") == pool)
    assert own["start"].to_list() == part.schedule.start.tolist()


def test_the_whole_is_the_sum_of_the_pools(pooled: ReplayResult) -> None:
    parts = [*pooled.pools.values()]
    assert sum(each.jobs for each in parts) == pooled.jobs
    for name in ("mean_waiting_time", "mean_response_time"):
        total = sum(getattr(each, name).value * each.jobs for each in parts)
        assert getattr(pooled, name).value == pytest.approx(total / pooled.jobs)
    bound = sum(each.lower_bound * each.jobs for each in parts) / pooled.jobs
    assert pooled.lower_bound == pytest.approx(bound)
    for name in ("utilisation", "wasted_capacity"):
        total = sum(getattr(each, name).value * each.inputs.servers for each in parts)
        assert getattr(pooled, name).value == pytest.approx(total / 20)
    assert pooled.load == pytest.approx(sum(each.load * each.inputs.servers for each in parts) / 20)
    frame = pooled.to_frame()
    assert frame["pool"].unique().sort().to_list() == [None, "large", "small"]


def test_pools_have_the_same_weeks_and_the_worst_verdict(file: Path) -> None:
    log = logs.read(file, pool={"large": 16, "small": 4})
    easy, fcfs = replay_all(log, ["easy", "fcfs"], load_factors=[3.0]).results
    assert easy.pools["large"].verdict is ReplayVerdict.FALLS_BEHIND
    assert easy.verdict is ReplayVerdict.FALLS_BEHIND
    for pool in POOLS:
        assert easy.pools[pool].table.pieces.same(easy.table.pieces)
    assert easy.pools["large"].difference(fcfs.pools["large"]).half_width > 0


def test_logged_waits_in_the_pools(file: Path) -> None:
    """Servers of another pool are not free for a job."""
    log = logs.read(file, pool=POOLS)
    whole: dict[str, Any] = {"warmup": 0.0, "cooldown": 0.0}
    found = LoggedWaits.of(replay_all(log, "easy", **whole))
    assert found is not None
    assert set(found.logged.pools) == set(POOLS)
    for pool in POOLS:
        alone = logs.read(file, partition=pool, servers=POOLS[pool])
        one = LoggedWaits.of(replay_all(alone, "easy", **whole))
        assert one is not None
        own = (log.jobs["pool"].cast(pl.String) == pool).to_numpy().astype(np.int64)
        assert found.grouped(own, 2)[1].idle.value == pytest.approx(one.all.idle.value)


def test_a_job_waits_for_its_own_pool(tmp_path: Path) -> None:
    """Two servers of b are free while the second job waits 10 s for a."""
    path = tmp_path / "two.csv"
    path.write_text("submit,need,size,partition,wait\n0,2,10,a,0\n0,1,5,a,10\n0,1,1,b,0\n")
    whole: dict[str, Any] = {"warmup": 0.0, "cooldown": 0.0}
    for pools, idle in (({"a": 2, "b": 2}, 0.0), (None, 1.0)):
        log = logs.read(path, pool=pools, servers=None if pools else 4)
        found = LoggedWaits.of(replay_all(log, "easy", **whole))
        assert found is not None
        assert found.all.idle.value == idle


def test_mistakes(file: Path) -> None:
    log = logs.read(file, pool=POOLS)
    for settings, error in (
        ({"pool_policies": "gpu=easy"}, "unknown pool: 'gpu'"),
        ({"pool_policies": "small"}, "a policy for each pool once"),
        ({"pool_policies": "small=easy small=fcfs"}, "a policy for each pool once"),
        ({"servers": 8}, "pools with 20 servers together"),
    ):
        with pytest.raises(QuickswapError, match=error):
            replay(log, "easy", **settings)
    with pytest.raises(PolicyError, match=r"pool small: .*bogus"):
        replay(log, "easy", pool_policies="small=bogus")
    with pytest.raises(QuickswapError, match="has no pools"):
        replay(logs.read(file, servers=16), "easy", pool_policies="small=easy")
