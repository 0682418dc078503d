"""The loop of a governor: what it writes, what it undoes, and what it survives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import polars as pl
import pytest

import quickswap as qs
from governing_helpers import NOW, Pretended, job, queue
from quickswap.errors import LogError, QuickswapError
from quickswap.governing.audit import Audit, recovered
from quickswap.governing.controller import (
    Cluster,
    Diagnostics,
    JobState,
    RejectedError,
    UnreachableError,
)
from quickswap.governing.decision import Planner, steering_policy
from quickswap.governing.governor import (
    ATTEMPTS,
    Governor,
    check_cluster,
    check_factors,
    held,
    only_governor,
    undo,
)
from quickswap.governing.limits import Limits


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = 50.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[Audit]:
    with Audit(tmp_path / "log") as audit:
        yield audit


def governor(slurm: Pretended, audit: Audit, *, live: bool = True, **limits: Any) -> Governor:
    bounds = Limits(**{"depth": 5, **limits})
    planner = Planner(steering_policy("easy"))
    return Governor(slurm, "all", planner, audit, bounds, live, monotonic=Clock())


def cycle(one: Governor) -> None:
    one.apply(one.decide())


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def test_a_decision_changes_nothing(audit: Audit) -> None:
    slurm = queue(8)
    decision = governor(slurm, audit, live=False).decide()
    assert len(decision.writes) == 5
    assert not slurm.writes
    assert not audit.open


def test_factors_follow_the_plan_and_are_undone(audit: Audit, tmp_path: Path) -> None:
    slurm = queue(8)
    one = governor(slurm, audit)
    cycle(one)
    first = slurm.set_factors()
    order = sorted(first, key=first.__getitem__, reverse=True)
    assert order == one.decide().plan.order[:5]
    assert not one.decide().writes
    slurm.start(order[0])  # its factor is undone, as it could be requeued, and another job has one
    cycle(one)
    assert order[0] not in slurm.set_factors()
    assert len(slurm.set_factors()) == 5
    assert undo(slurm, audit) == []
    assert not slurm.set_factors()
    assert not recovered(tmp_path / "log").open


def test_each_write_is_on_disk_before_it_is_made(audit: Audit, tmp_path: Path) -> None:
    slurm = queue(8)

    def check(name: str, factor: int) -> bool:
        assert factor in recovered(tmp_path / "log").open[name]
        return True

    slurm.write_hook = check
    cycle(governor(slurm, audit))
    assert len(slurm.writes) == 5


class Crash(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("lost", [False, True])
def test_a_crash_at_any_point_leaves_no_unknown_factor(tmp_path: Path, lost: bool) -> None:
    point, crashed = 0, True
    while crashed:
        point, crashed = point + 1, False
        slurm, path, left = queue(8), tmp_path / f"{lost}{point}", point

        def hook(name: str, factor: int) -> bool:
            nonlocal left
            left -= 1
            if left == 0 and lost:  # before Slurm has the factor
                raise Crash
            return True

        slurm.write_hook = hook
        with Audit(path) as audit:
            one = governor(slurm, audit, depth=3)
            try:
                for name in ("5", "8"):
                    cycle(one)
                    if left <= 0:  # after it
                        raise Crash
                    slurm.start(name)
            except Crash:
                crashed = True
        with path.open("ab") as file:
            file.write(b'{"time": 1, "event": "wri')  # the process ended within a line
        slurm.write_hook = lambda name, factor: True
        with Audit(path) as audit:
            assert undo(slurm, audit) == []
        assert not slurm.set_factors()
        assert not recovered(path).open
    assert point > 5


@pytest.mark.parametrize("policy", ["easy", "adaptive-quickswap:overrun=0.9"])
def test_a_governor_that_starts_again_decides_as_one_that_goes_on(
    policy: str, tmp_path: Path
) -> None:
    slurm = Pretended(10, job("0", 4, start=NOW - 9), job("1", 2), job("2", 2), job("3", 9))
    plans = []
    for _ in range(3):
        planner = Planner(steering_policy(policy))
        with Audit(tmp_path / "log") as audit:
            planner.memory = audit.known.memories.get(policy, planner.memory)
            one = Governor(slurm, "all", planner, audit, Limits(depth=5), live=False)
            plans += [one.decide().plan, one.decide().plan]
    assert plans[0].starts
    assert {(plan.starts, plan.reserved) for plan in plans} == {(plans[0].starts, "3")}


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "click", "job": "1"}',
        '{"event": "write"}',
        '{"event": "write", "job": ["a"], "factor": 1}',
        '{"event": "decision"}',
        '{"event": "decision", "policy": "easy", "state": ["x"]}',
        "[" * 100_000,
        "7",
    ],
)
def test_a_file_that_no_governor_wrote(line: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"{line}\n")
    with pytest.raises(LogError, match="is not an audit log"):
        recovered(path)


def test_factors_of_others_stay(audit: Audit) -> None:
    slurm = queue(8)
    slurm.jobs["3"] = replace(slurm.jobs["3"], factor=7)
    with pytest.raises(QuickswapError, match="3"):
        check_factors(slurm.snapshot("all"), audit)
    one = governor(slurm, audit)
    cycle(one)
    name = next(name for name, factor in slurm.set_factors().items() if factor != 7)
    slurm.write(name, 9)  # another program changes it
    cycle(one)
    undo(slurm, audit)
    assert slurm.set_factors() == {"3": 7, name: 9}


def test_writes_a_minute_are_limited(audit: Audit) -> None:
    slurm = queue(8)
    one = governor(slurm, audit, writes=3)
    clock = one.monotonic
    assert isinstance(clock, Clock)
    cycle(one)
    cycle(one)
    assert len(slurm.writes) == 3
    assert one.counts["postponed"] == 4
    slurm.time -= 5000  # the clock of the machine is set back, which changes nothing
    clock.time += 59
    cycle(one)
    assert len(slurm.writes) == 3
    clock.time += 2
    cycle(one)
    assert len(slurm.set_factors()) == 5


def test_a_lost_write_is_repeated_a_few_times(audit: Audit) -> None:
    slurm = queue(8)
    slurm.write_hook = lambda name, factor: name != "2"
    one = governor(slurm, audit)
    for _ in range(6):
        cycle(one)
    assert one.counts["lost"] == ATTEMPTS
    assert sum(name == "2" for name, _ in slurm.writes) == ATTEMPTS
    assert len(slurm.set_factors()) == 5


def test_rejected_writes(audit: Audit) -> None:
    slurm = queue(8)

    def reject(name: str, factor: int) -> bool:
        if name == "2":
            raise RejectedError("Invalid job id specified")
        return True

    slurm.write_hook = reject
    one = governor(slurm, audit)
    for _ in range(6):
        cycle(one)
    assert one.counts["rejected"] == ATTEMPTS
    assert len(slurm.set_factors()) == 5
    assert undo(slurm, audit) == []


def test_a_user_without_rights(audit: Audit) -> None:
    slurm = queue(8)

    def deny(name: str, factor: int) -> bool:
        raise RejectedError("Access/permission denied")

    slurm.write_hook = deny
    with pytest.raises(RejectedError):
        cycle(governor(slurm, audit))
    assert len(slurm.writes) == 1


def test_jobs_that_end_or_are_held_or_cancelled(audit: Audit) -> None:
    slurm = queue(8)
    one = governor(slurm, audit)
    cycle(one)
    slurm.jobs["4"] = replace(slurm.jobs["4"], reason="JobHeldUser")
    slurm.jobs["2"] = replace(slurm.jobs["2"], state=JobState.ENDED)
    del slurm.jobs["3"]
    cycle(one)
    assert "4" not in slurm.set_factors()
    assert not {"2", "3", "4"} & audit.open.keys()


def test_a_job_that_leaves_the_partition(audit: Audit) -> None:
    slurm = queue(8)
    one = governor(slurm, audit)
    cycle(one)
    moved = next(iter(slurm.set_factors()))
    jobs = dict(slurm.jobs)
    decision = one.decide()
    del slurm.jobs[moved]
    snapshot = slurm.snapshot("all")
    slurm.jobs = jobs
    one.apply(replace(decision, writes=tuple(one._gone(snapshot))))
    assert moved not in {*slurm.set_factors(), *audit.open}


def holding(slurm: Pretended, audit: Audit, hold: float = 60.0) -> Governor:
    """A governor under EASY that holds the jobs behind the one with a reservation."""
    one = governor(slurm, audit, hold=hold, interval=1)
    one.clock = lambda: slurm.time
    return one


def reserving() -> Pretended:
    """Four of eight servers are free; job 2 needs all, jobs 3 and 4 fit and would delay it."""
    long = {"limit": 500.0}
    waiting = [
        job("2", 8),
        job("3", 2, arrival=NOW - 90, **long),
        job("4", 4, arrival=NOW - 80, **long),
    ]
    return Pretended(8, job("1", 4, start=NOW - 10), *waiting)


def test_by_default_no_job_is_held(audit: Audit) -> None:
    slurm = reserving()
    decision = governor(slurm, audit).decide()
    assert decision.plan.reserved == "2"
    assert (decision.holds, decision.releases) == ((), ())


def test_jobs_behind_a_reservation_are_held_and_released(audit: Audit, tmp_path: Path) -> None:
    slurm = reserving()
    plain = governor(slurm, audit, live=False).decide()
    one = holding(slurm, audit)

    def on_disk_before(name: str, seconds: float) -> None:
        if seconds:
            assert recovered(tmp_path / "log").holds[name].until == slurm.time + seconds

    slurm.delay_hook = on_disk_before
    cycle(one)
    assert slurm.delays == [("3", 60.0), ("4", 60.0)]
    # the policy sees them as before, so nothing changes until a lease ends soon
    again = one.decide()
    assert (again.plan, again.holds, again.releases) == (plain.plan, (), ())
    slurm.time += 59
    assert [each.id for each in one.decide().holds] == ["3", "4"]
    # the job starts: the others are released, with their arrivals
    slurm.jobs["1"] = replace(slurm.jobs["1"], state=JobState.ENDED)
    slurm.start("2")
    decision = one.decide()
    assert decision.releases == ("3", "4")
    one.apply(decision)
    assert slurm.delayed() == []
    seen = {each.id: each.arrival for each in one.decide().snapshot.jobs}
    assert (seen["3"], seen["4"]) == (NOW - 90, NOW - 80)


def test_a_hold_ends_without_a_governor(tmp_path: Path) -> None:
    slurm = reserving()
    with Audit(tmp_path / "log") as audit:
        cycle(holding(slurm, audit))
        assert slurm.delayed() == ["3", "4"]
    slurm.time += 60  # it never comes back
    slurm.snapshot("all")
    assert slurm.delayed() == []
    with Audit(tmp_path / "log") as audit:
        assert held(audit, lambda: slurm.time) == []
        decision = governor(slurm, audit).decide()
        arrivals = {each.id: each.arrival for each in decision.snapshot.jobs}
        assert (arrivals["3"], arrivals["4"]) == (NOW - 90, NOW - 80)


@pytest.mark.parametrize("lost", [False, True])
def test_a_crash_in_a_hold_is_recovered(tmp_path: Path, lost: bool) -> None:
    slurm = reserving()

    def crash(name: str, seconds: float) -> None:
        if name == "4" and seconds and (lost or slurm.delays[-1:] == [("4", 60.0)]):
            raise Crash

    slurm.delay_hook = crash
    with Audit(tmp_path / "log") as audit:
        if lost:
            with pytest.raises(Crash):
                cycle(holding(slurm, audit))
        else:
            cycle(holding(slurm, audit))
    with Audit(tmp_path / "log") as audit:
        assert held(audit, lambda: slurm.time) == ["3", "4"]
        assert undo(slurm, audit, lambda: slurm.time) == []
        assert slurm.delayed() == []
        assert slurm.set_factors() == {}
        assert held(audit, lambda: slurm.time) == []


def test_delays_of_users_stay(audit: Audit) -> None:
    slurm = reserving()
    slurm.delay("3", 1e6)
    decision = holding(slurm, audit).decide()
    assert [each.id for each in decision.holds] == ["4"]
    # also of a job that was held before
    one = holding(slurm, audit)
    cycle(one)
    slurm.time += 1000
    slurm.delay("4", 1e6)
    assert "4" not in one.decide().plan.order
    assert one.decide().releases == ()


def test_a_busy_or_absent_controller_is_left_alone(audit: Audit) -> None:
    slurm, stop, pauses = queue(8), Event(), []
    one = governor(slurm, audit)

    class Waiting(Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout)
            if len(pauses) == 3:
                slurm.usage = Diagnostics(3, 0)
                slurm.write_hook = lambda name, factor: _fail()
            if len(pauses) == 4:
                self.set()
            return self.is_set()

    def _fail() -> bool:
        raise UnreachableError("no answer")

    slurm.usage = Diagnostics(200, 0)
    stop = Waiting()
    one.run(stop, lambda _: None)
    assert pauses == [20.0, 40.0, 80.0, 160.0]
    assert (one.counts["busy"], one.counts["unreachable"]) == (3, 1)
    assert undo_after(slurm, audit) == []


def undo_after(slurm: Pretended, audit: Audit) -> list[str]:
    slurm.write_hook = lambda name, factor: True
    return undo(slurm, audit)


def test_one_governor_at_a_time(tmp_path: Path) -> None:
    with only_governor("cluster", "all"):
        with pytest.raises(QuickswapError, match="already"), only_governor("cluster", "all"):
            pass
        with only_governor("cluster", "other"):
            pass
    with only_governor("cluster", "all"), Audit(tmp_path / "log"), pytest.raises(LogError):
        Audit(tmp_path / "log")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PriorityType", "priority/basic"),
        ("SchedulerType", "sched/builtin"),
        ("PrioritySiteFactorPlugin", "site_factor/example"),
    ],
)
def test_settings_of_the_cluster(name: str, value: str) -> None:
    settings = dict(Pretended(8).cluster().settings)
    check_cluster(Cluster("c", settings))
    with pytest.raises(QuickswapError, match=f"{name}={value}"):
        check_cluster(Cluster("c", settings | {name.lower(): value}))


def test_a_full_disk_stops_the_writes(audit: Audit) -> None:
    slurm = queue(8)
    with Path("/dev/full").open("ab", buffering=0) as full:
        known, audit._file = audit._file, full
        with pytest.raises(LogError, match="/dev/full"):
            cycle(governor(slurm, audit))
        audit._file = known
    assert not slurm.writes


def test_logs_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text("job,submit\n1,2\n")
    for given in (path, tmp_path / "none", tmp_path, Path("/dev/zero")):
        with pytest.raises(LogError, match=str(given)):
            recovered(given)


@pytest.mark.parametrize(
    "given",
    [
        {"interval": 0.5},
        {"depth": 0},
        {"depth": 201},
        {"most": 2**32},
        {"writes": 0},
        {"hold": 29.0},
        {"hold": 4e3},
    ],
)
def test_limits_out_of_range(given: dict[str, float]) -> None:
    with pytest.raises(QuickswapError) as caught:
        Limits(**given)  # type: ignore[arg-type]  # some are whole
    assert caught.value.argument == next(iter(given))


@pytest.mark.parametrize("policy", ["adaptive-quickswap:overrun=0.9", "easy:age=60,order=shortest"])
def test_slurm_serves_the_jobs_as_the_policy_would(tmp_path: Path, policy: str) -> None:
    draw = np.random.default_rng(5)
    submit = np.sort(draw.choice(250, 30, replace=False)).astype(float)
    needs, sizes = draw.choice([1, 2, 4, 8], 30), draw.integers(5, 60, 30).astype(float)
    limits = sizes * draw.integers(1, 4, 30)
    columns = {"submit": submit, "need": needs, "size": sizes, "estimate": limits}
    log = tmp_path / "log.parquet"
    pl.DataFrame(columns).write_parquet(log)
    replayed = qs.replay(qs.logs.read(log, servers=8), policy, warmup=0, cooldown=0).schedule.start
    slurm, starts, second = Pretended(8), np.full(30, np.nan), 0.0
    with Audit(None) as audit:
        planner = Planner(steering_policy(policy))
        one = Governor(slurm, "all", planner, audit, Limits(writes=10**5), True)
        while slurm.jobs or second <= submit[-1]:
            slurm.time = NOW + second
            for name, each in list(slurm.jobs.items()):
                if each.start + sizes[int(name)] <= slurm.time:
                    starts[int(name)] = each.start - NOW
                    del slurm.jobs[name]
            for i in np.flatnonzero(submit == second):
                name = str(i)
                slurm.jobs[name] = job(name, int(needs[i]), arrival=slurm.time, limit=limits[i])
            slurm.main_loop()  # before the governor has seen the events
            cycle(one)
            slurm.main_loop()
            if second % 5 == 0:
                slurm.backfill()
            second += 1
        assert not audit.open
    order = [np.sign(np.subtract.outer(each, each)) for each in (starts, replayed)]
    assert (order[0] == order[1]).mean() > 0.97
    assert (starts - submit).mean() == pytest.approx((replayed - submit).mean(), rel=0.05)
