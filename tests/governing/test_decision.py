"""Decisions about a partition: those of the policy, and the SiteFactors that lead to them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import quickswap as qs
from governing_helpers import NOW, Pretended, job
from quickswap.errors import PolicyError, QuickswapError
from quickswap.governing.audit import Memory
from quickswap.governing.controller import JobState
from quickswap.governing.decision import Planner, factors_of, steerable, steering_policy
from quickswap.governing.explaining import explained
from quickswap.governing.limits import LARGEST
from replay_helpers import log_of

QUICKSWAP = "adaptive-quickswap:overrun=0.9"


def planner(policy: str = QUICKSWAP) -> Planner:
    return Planner(steering_policy(policy))


def small() -> Pretended:
    """Four of eight servers are held until 110 s from now; a job that needs all waits first."""
    return Pretended(
        8,
        job("1", 4, start=NOW - 10, limit=120),
        job("2", 8, arrival=NOW - 99),
        job("3", 2, arrival=NOW - 98, limit=300),
        job("4", 3, arrival=NOW - 97, limit=110),
        job("5", 1, arrival=NOW - 96, limit=111),
        job("6", 1, arrival=NOW - 95, limit=30),
    )


def test_quickswap_drains_and_backfills_what_ends_in_time() -> None:
    snapshot = small().snapshot("all")
    working, draining = planner(), planner()
    draining.memory = Memory((1,))
    plan = working.plan(snapshot)
    assert (plan.starts, plan.reserved, working.memory.state) == (("4", "5"), None, (0,))
    plan = draining.plan(snapshot, until="2")
    assert (plan.starts, plan.reserved, draining.memory.state) == (("4", "6"), "2", (1,))
    assert plan.later["2"] == NOW + 110
    assert plan.order == ["4", "6", "2", "3", "5"]


@pytest.mark.parametrize(
    "policy",
    [
        QUICKSWAP,
        "adaptive-quickswap:backfill=0.1",
        "easy",
        "easy:age=30,order=shortest",
        "easy:reservation=first,order=wfp3",
    ],
)
def test_decisions_are_those_of_a_replay(tmp_path: Path, policy: str) -> None:
    draw = np.random.default_rng(3)
    count, servers = 40, 8
    submit = np.sort(draw.choice(250, count, replace=False))
    rows = [
        {"submit": int(at), "need": int(need), "size": int(size), "estimate": int(size + extra)}
        for at, need, size, extra in zip(
            submit,
            draw.choice([1, 2, 3, 4, 8], count),
            draw.integers(1, 40, count),
            draw.integers(0, 60, count),
            strict=True,
        )
    ]
    schedule = qs.replay(log_of(tmp_path, rows, servers), policy, warmup=0, cooldown=0).schedule
    slurm, steering = Pretended(servers), planner(policy)
    starts: dict[str, float] = {}
    second, waiting = 0.0, dict(enumerate(rows))
    while waiting or any(each.state is not JobState.ENDED for each in slurm.jobs.values()):
        slurm.time = NOW + second
        for name, each in slurm.jobs.items():
            if (
                each.state is JobState.RUNNING
                and each.start + rows[int(name)]["size"] <= slurm.time
            ):
                slurm.jobs[name] = replace(each, state=JobState.ENDED)
        for i in [i for i, row in waiting.items() if row["submit"] <= second]:
            row = waiting.pop(i)
            one = job(str(i), row["need"], arrival=slurm.time, limit=float(row["estimate"]))
            slurm.jobs[str(i)] = one
        for name in steering.plan(slurm.snapshot("all")).starts:
            slurm.start(name)
            starts[name] = second
        second += 1
    found = [starts[str(i)] for i in range(count)]
    np.testing.assert_allclose(found, schedule.start - schedule.start[0] + found[0])


def test_a_job_that_slurm_has_not_started_is_in_service_for_the_policy() -> None:
    slurm, easy = small(), planner("easy")
    slurm.jobs["2"] = job("2", 3, arrival=NOW - 99)
    assert easy.plan(slurm.snapshot("all")).starts == ("2", "5")
    assert easy.plan(slurm.snapshot("all")).starts == ("2", "5")
    slurm.jobs["9"] = job("9", 4, start=NOW)  # Slurm starts another job, after which none fits
    assert easy.plan(slurm.snapshot("all")).starts == ()


def test_jobs_that_cannot_start_are_left_out() -> None:
    slurm = small()
    slurm.jobs["7"] = job("7", 9)
    slurm.jobs["8"] = job("8", 1, reason="Dependency")
    slurm.jobs["9"] = job("9", 1, priority=0)
    plan = planner().plan(slurm.snapshot("all"))
    assert plan.too_large == ("7",)
    assert not {"7", "8", "9"} & set(plan.order)


def test_nodes_that_are_not_free_yet_and_jobs_beyond_their_limits() -> None:
    slurm = small()
    snapshot = replace(slurm.snapshot("all"), free=2)
    plan = planner("easy").plan(snapshot)
    assert sum(slurm.jobs[name].need for name in plan.starts) <= 2
    slurm.jobs["1"] = job("1", 4, start=NOW - 500, limit=60)
    assert planner("easy").plan(slurm.snapshot("all"), until="2").later["2"] >= NOW


def test_a_drain_ends_when_slurm_starts_the_job_between_two_decisions() -> None:
    slurm, quickswap = small(), planner()
    quickswap.memory = Memory((1,))
    assert quickswap.plan(slurm.snapshot("all")).reserved == "2"
    slurm.jobs = {name: slurm.jobs[name] for name in ("2", "3")}
    slurm.start("2")
    assert quickswap.plan(slurm.snapshot("all")).reserved == "3"  # a new drain, as 3 waits alone
    del slurm.jobs["3"]  # the job of the drain is cancelled
    assert quickswap.plan(slurm.snapshot("all")).reserved is None
    assert quickswap.memory.state == (0,)


def test_jobs_that_arrive_in_one_second_are_in_order_of_their_numbers() -> None:
    names = ["12", "7_10", "7_9", "3"]
    slurm = Pretended(8, *(job(name, 8) for name in names))
    assert planner().plan(slurm.snapshot("all")).order == ["3", "7_9", "7_10", "12"]


def test_times_in_the_future_are_now() -> None:
    slurm = small()
    slurm.time = NOW - 1000  # the clock of this machine was set back
    assert planner().plan(slurm.snapshot("all")).starts


@pytest.mark.parametrize(
    "policy", ["msf", "slurm", "adaptive-quickswap", "adaptive-quickswap:overrun=0.9,believed=2"]
)
def test_policies_that_cannot_govern(policy: str) -> None:
    with pytest.raises(PolicyError) as caught:
        steering_policy(policy)
    assert (caught.value.argument, caught.value.given) == ("policy", policy)


@pytest.mark.parametrize("present", [{}, {"c": 500, "d": 100, "e": 400}, {"a": 40, "b": 900}])
def test_factors_decrease_by_more_than_the_other_priorities_differ(present: dict[str, int]) -> None:
    found = factors_of("abcdef", present, 1000, 30)
    values = list(found.values())
    assert list(found) == list("abcdef")
    assert all(a - b > 30 for a, b in pairwise([*values, 0]))
    assert values[0] <= 1000


def test_factors_in_order_are_kept() -> None:
    first = factors_of("abcdef", {}, 1_000_000, 5)
    later = factors_of("bxcdefy", first, 1_000_000, 5)
    assert all(first[name] == later[name] for name in "bcdef")


def test_jobs_with_a_high_priority_of_their_own_are_not_put_in_order() -> None:
    slurm = small()
    slurm.jobs["2"] = replace(slurm.jobs["2"], priority=5100, factor=5000)
    slurm.jobs["3"] = replace(slurm.jobs["3"], priority=130)
    slurm.jobs["4"] = replace(slurm.jobs["4"], priority=2**32 - 2)
    found, gap = steerable(slurm.snapshot("all"), 10_000, 20)
    assert (set(found), gap) == ({"2", "3", "5", "6"}, 30)
    with pytest.raises(QuickswapError) as caught:
        steerable(slurm.snapshot("all"), 20, 20)
    assert (caught.value.argument, caught.value.given) == ("most", 20)


@pytest.mark.parametrize(
    ("highest", "advice"), [(10**8, "--depth 19 or less"), (2 * 10**9, "weights of priorities")]
)
def test_priorities_that_no_factor_exceeds_have_a_way_out(highest: int, advice: str) -> None:
    jobs = [job(str(i), 1, priority=priority) for i, priority in enumerate((1, highest, highest))]
    snapshot = Pretended(4, *jobs).snapshot("all")
    with pytest.raises(QuickswapError) as caught:
        steerable(snapshot, LARGEST, 20)
    assert advice in caught.value.calling(lambda name: f"--{name}")
    if "depth" in advice:
        assert len(steerable(snapshot, LARGEST, 19)[0]) == 3


def test_why_a_job_waits() -> None:
    slurm = small()
    slurm.jobs |= {"7": job("7", 9), "8": job("8", 1, reason="Dependency")}
    snapshot = slurm.snapshot("all")
    words = {name: explained(snapshot, planner("easy"), name) for name in slurm.jobs}
    assert "runs" in words["1"]
    assert "servers free for it" in words["2"]
    assert "job 2" in words["3"]
    assert "starts it now" in words["4"]
    assert "9 servers" in words["7"]
    assert "Dependency" in words["8"]
    with pytest.raises(QuickswapError) as caught:
        explained(snapshot, planner(), "99")
    assert caught.value.given == "99"
