"""Replays of logs: schedules worked out by hand, the proof of a schedule, and the quantities."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import quickswap as qs
from quickswap import logs, replays
from quickswap.engine._core import student_t
from quickswap.replays.schedule import History, Schedule, check_schedule
from replay_helpers import jobs, log_of, random_log


@pytest.fixture
def busy(tmp_path: Path) -> logs.JobLog:
    return random_log(tmp_path)


# Two servers. A wide job (2) waits for a narrow one (1), and a narrow one comes after it.
STARTS = {
    "fcfs": [0, 10, 20],
    "first-fit": [0, 10, 2],
    "easy": [0, 10, 2],
    "conservative": [0, 10, 2],
    "msf": [0, 10, 2],
    "adaptive-quickswap": [0, 10, 20],
}


@pytest.mark.parametrize("policy", STARTS)
def test_starts_worked_out_by_hand(policy: str, tmp_path: Path) -> None:
    log = log_of(tmp_path, jobs((0, 1, 10), (1, 2, 10), (2, 1, 5)), 2)
    result = qs.replay(log, policy, warmup=0, cooldown=0)
    assert result.schedule.start.tolist() == STARTS[policy]
    waits = [start - arrival for start, arrival in zip(STARTS[policy], (0, 1, 2), strict=True)]
    assert result.mean_waiting_time.value == pytest.approx(sum(waits) / 3)
    assert result.mean_response_time.value == pytest.approx((sum(waits) + 25) / 3)
    assert math.isnan(result.mean_response_time.half_width)  # the log is too short
    assert result.jobs == 3


def test_estimates(tmp_path: Path) -> None:
    """The narrow job ends before the wide one could start, but is said to take longer."""
    rows = jobs((0, 1, 10), (1, 2, 10), (2, 1, 5))
    log = log_of(tmp_path, [row | {"estimate": 10 * row["size"]} for row in rows[:1]] + rows[1:], 2)
    late = [row | {"estimate": 50} for row in rows]
    pessimistic = log_of(tmp_path, [*late[:2], late[2] | {"estimate": 60}], 2)
    assert qs.replay(log, "easy").schedule.start.tolist() == [0, 10, 2]
    assert qs.replay(pessimistic, "easy").schedule.start.tolist() == [0, 10, 20]
    for estimate in ("exact", 3.0):
        assert qs.replay(pessimistic, "easy", estimate=estimate).schedule.start[2] == 2


@pytest.mark.parametrize(("requested", "start"), [(None, 60), (13, 42)])
def test_predicted_estimates(tmp_path: Path, requested: float | None, start: float) -> None:
    """Job 2 is predicted to take 15 s, until 55. Job 3 waits for it. Job 4, predicted to take 15 s
    or what it requested, may start by then only if that is short enough. At 60 the estimate of job
    2 has been raised by a minute, and job 4 starts before job 3.
    """
    rows = jobs((0, 2, 10), (0, 2, 20), (40, 1, 30), (41, 2, 5), (42, 1, 12), (60, 1, 1))
    users = ["ann", "ann", "ann", "bob", "ann", None]
    estimates = [100, 100, 100, 50, requested, 4]
    known = zip(rows, users, estimates, strict=True)
    log = log_of(
        tmp_path, [row | {"user": user, "estimate": estimate} for row, user, estimate in known], 2
    )
    result = qs.replay(log, "easy", estimate="predicted")
    rest = [72, 70] if start == 60 else [70, 60]
    assert result.schedule.start.tolist()[:3] == [0, 10, 40]
    assert result.schedule.start[4] == start
    assert result.schedule.start[[3, 5]].tolist() == rest
    assert result.predicted == 2
    assert qs.replay(log, "easy", estimate="logged").predicted == 0


def test_predictions_require_users(tmp_path: Path) -> None:
    log = log_of(tmp_path, jobs((0, 1, 10)), 2)
    with pytest.raises(qs.QuickswapError, match=r"does not contain the users.* use logged"):
        qs.replay(log, "easy", estimate="predicted")


def test_quantities_are_those_of_the_outcomes(busy: logs.JobLog) -> None:
    result = qs.replay(busy, "first-fit", warmup=0.1, cooldown=0.2)
    frame = result.outcomes()
    inside = frame.filter("measured")
    first, last = 0.1 * busy.duration, 0.8 * busy.duration
    assert inside["submit"].is_between(first, last).all()
    assert len(inside) == result.jobs == sum(each.jobs for each in result.classes)
    assert result.mean_waiting_time.value == pytest.approx(inside["wait"].mean())
    for level, name in ((0.5, "p50"), (0.9, "p90"), (0.99, "p99")):
        expected = np.quantile(inside["response"].to_numpy(), level)
        assert getattr(result.overall.response_time, name).value == pytest.approx(expected)
    mean, spread = inside["bounded_slowdown"].mean(), inside["bounded_slowdown"].std(ddof=0)
    assert result.overall.bounded_slowdown.mean.value == pytest.approx(mean)
    assert result.overall.bounded_slowdown.std.value == pytest.approx(spread)
    for each in result.classes:
        mine = inside.filter(pl.col("need") == each.need)
        assert each.mean_response_time.value == pytest.approx(mine["response"].mean())
    share = inside.group_by("need").agg(
        (pl.col("need") * pl.col("size")).sum().alias("work"), pl.col("response").mean()
    )
    work, means = share["work"].to_numpy(), share["response"].to_numpy()
    weighted = (work * means).sum() / work.sum()
    assert result.weighted_mean_response_time.value == pytest.approx(weighted)
    jain = means.sum() ** 2 / (len(means) * (means**2).sum())
    assert result.jain_index.value == pytest.approx(jain)


def test_time_averages_are_those_of_a_sweep(busy: logs.JobLog) -> None:
    result = qs.replay(busy, "easy")
    s = result.schedule
    first, last = 0.05 * busy.duration, 0.95 * busy.duration
    times = np.linspace(first, last, 20_001)[:-1] + (last - first) / 40_000
    held = [(s.start <= t) & (t < s.end) for t in times]
    waits = np.array([((s.arrival <= t) & (t < s.start)).sum() for t in times])
    used = np.array([s.need[mine].sum() for mine in held])
    assert result.utilisation.value == pytest.approx(used.mean() / 16, rel=2e-3)
    wasted = np.where(waits > 0, 16 - used, 0).mean() / 16
    assert result.wasted_capacity.value == pytest.approx(wasted, rel=1e-2)
    assert result.overall.number_waiting.value == pytest.approx(waits.mean(), rel=1e-2)
    present = np.mean([mine.sum() for mine in held]) + waits.mean()
    assert result.overall.number_in_system.value == pytest.approx(present, rel=1e-2)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "static-quickswap", "lsf"])
def test_infeasible_schedules(policy: str, busy: logs.JobLog) -> None:
    schedule = qs.replay(busy, policy, debug=True).schedule
    check_schedule(schedule)
    moved = schedule.start.copy()
    moved[5] = schedule.arrival[5] - 1
    early = replace(schedule, start=moved, end=moved + schedule.size)
    with pytest.raises(RuntimeError, match="of row 5 starts before"):
        check_schedule(early)
    with pytest.raises(RuntimeError, match="is not served for its size"):
        check_schedule(replace(schedule, end=schedule.end + np.where(schedule.rows == 7, 1, 0)))
    with pytest.raises(RuntimeError, match="does not complete"):
        check_schedule(replace(schedule, end=np.where(schedule.rows == 7, np.inf, schedule.end)))
    busiest = History.of(schedule).busy.max()
    with pytest.raises(RuntimeError, match=f"of {busiest - 1} servers are in use"):
        check_schedule(replace(schedule, servers=int(busiest) - 1))


def test_jobs_of_size_zero_must_fit_beside_those_that_run_through() -> None:
    def schedule(start: float) -> Schedule:
        starts, sizes = np.array([0.0, start, 4.0]), np.array([4.0, 0.0, 1.0])
        return Schedule(
            2,
            np.arange(3),
            np.array([1, 2, 2]),
            sizes,
            np.zeros(3),
            starts,
            starts + sizes,
        )

    check_schedule(schedule(4.0))
    check_schedule(schedule(5.0))
    for within in (0.5, 4.5):
        with pytest.raises(RuntimeError, match="of size zero does not fit"):
            check_schedule(schedule(within))


def test_load_factor_shortens_interarrival_times(busy: logs.JobLog) -> None:
    once, twice = (qs.replay(busy, "easy", load_factor=factor) for factor in (1.0, 1.25))
    assert twice.load == pytest.approx(1.25 * once.load)
    assert np.allclose(twice.schedule.arrival * 1.25, once.schedule.arrival)
    assert np.array_equal(twice.schedule.size, once.schedule.size)
    assert twice.jobs == once.jobs
    assert twice.mean_waiting_time.value > 2 * once.mean_waiting_time.value
    with pytest.raises(qs.QuickswapError, match=r"load factors 1\.25 and 1;"):
        twice.difference(once)
    assert twice.verdict == "falls behind"
    assert once.verdict == "keeps up"


def test_jobs_larger_than_the_machine_are_left_out_and_counted(busy: logs.JobLog) -> None:
    result = qs.replay(busy, "easy", servers=7)
    large = int((busy.jobs["need"] > 7).sum())
    assert result.too_large == large > 0
    assert len(result.outcomes()) == len(busy) - large
    assert (
        result.outcomes()["line"].to_list()
        == busy.jobs.filter(pl.col("need") < 8)["line"].to_list()
    )


def test_groups_take_the_place_of_classes(busy: logs.JobLog) -> None:
    for name in ("static-quickswap", "static-quickswap:drain=exclusive", "adaptive-quickswap"):
        plain = qs.replay(busy, name)
        single = qs.replay(busy, name, classes="1,2,3,4,8")
        assert np.array_equal(plain.schedule.start, single.schedule.start)
        grouped = qs.replay(busy, name, classes="1-4,5-")
        assert not np.array_equal(plain.schedule.start, grouped.schedule.start)
        assert [each.name for each in grouped.classes] == ["1-4", "5-8"]
        if "exclusive" not in name:  # which drains its only group
            together = qs.replay(busy, name, classes="1-")
            assert np.array_equal(together.schedule.start, qs.replay(busy, "fcfs").schedule.start)
    easy, grouped = qs.replay(busy, "easy"), qs.replay(busy, "easy", classes="1-4,5-")
    assert np.array_equal(easy.schedule.start, grouped.schedule.start)


def test_many_needs_have_few_classes(tmp_path: Path) -> None:
    rows = jobs(*((60 * i, 1 + i % 50, 100 + i % 7) for i in range(500)))
    log = log_of(tmp_path, rows, 64)
    result = qs.replay(log, "adaptive-quickswap")
    assert 1 < len(result.classes) <= 8
    assert sum(each.jobs for each in result.classes) == result.jobs
    auto = qs.replay(log, "adaptive-quickswap", classes="load")
    assert [each.name for each in auto.classes] == [each.name for each in result.classes]
    assert not np.array_equal(auto.schedule.start, result.schedule.start)


def test_preemptive_policies(busy: logs.JobLog) -> None:
    result = qs.replay(busy, "server-filling")
    assert (result.schedule.wait >= -1e-6).all()
    assert math.isnan(result.utilisation.value)
    assert math.isnan(result.overall.number_waiting.value)
    assert result.mean_waiting_time.value < qs.replay(busy, "fcfs").mean_waiting_time.value


def test_orders_are_those_of_the_groups(busy: logs.JobLog) -> None:
    """With groups of needs the classes of a policy are the groups, also in its parameters."""
    one, same, other = (
        qs.replay(busy, f"static-quickswap:order={order}", classes="1,2-4,5-").schedule.start
        for order in ("0+1+2", "1+2+0", "0+2+1")
    )
    assert np.array_equal(one, same)  # orders are cycles
    assert not np.array_equal(one, other)
    for name in (
        "static-quickswap:order=1+0,overrun=0.9",
        "adaptive-quickswap:overrun=0.9,believed=1+1",
    ):
        with pytest.raises(qs.PolicyError, match="it must be need for ") as error:
            qs.replay(busy, name, classes="1-4,5-")
        assert error.value.argument == "classes"


def test_msfq_where_it_applies(tmp_path: Path, busy: logs.JobLog) -> None:
    two = log_of(tmp_path, jobs((0, 1, 5), (0, 4, 5), (1, 1, 5)), 4)
    assert qs.replay(two, "msfq").schedule.start.tolist() == [0, 5, 10]  # a drain begins at once
    with pytest.raises(qs.PolicyError, match="MSFQ serves systems of two classes"):
        qs.replay(busy, "msfq")


class Lazy:
    """Starts the jobs of the first class only."""

    def start(self, view: qs.View) -> int | None:
        return 0 if view.waiting[0] and view.needs[0] <= view.free else None


class Oldest:
    sees_jobs = True

    def start(self, view: qs.View) -> Any:
        return view.queue[0] if view.queue and view.queue[0].need <= view.free else None


def test_custom_policies(busy: logs.JobLog) -> None:
    own, fcfs = qs.replay(busy, Oldest()), qs.replay(busy, "fcfs")
    assert own.policy_label == "Oldest"
    assert np.array_equal(own.schedule.start, fcfs.schedule.start)
    with pytest.raises(qs.PolicyError, match=r"Lazy never starts 1,[0-9]{3} jobs"):
        qs.replay(busy, Lazy())


def test_logged_waits(busy: logs.JobLog) -> None:
    result = replays.as_logged(busy)
    assert result.policy_label == "as logged"
    inside = busy.jobs.filter(
        pl.col("submit").is_between(0.05 * busy.duration, 0.95 * busy.duration)
    )
    assert result.mean_waiting_time.value == pytest.approx(inside["wait"].mean())
    with pytest.raises(qs.QuickswapError, match=r"multiplied by 1\.2"):
        replays.as_logged(busy.scaled(1.2))


def test_a_log_without_waits(tmp_path: Path) -> None:
    log = log_of(tmp_path, jobs((0, 1, 5), (1, 1, 5)), 1)
    assert [r.policy_label for r in qs.replay_all(log, "fcfs").results] == ["FCFS"]
    with pytest.raises(qs.QuickswapError, match="does not contain the waits"):
        replays.as_logged(log)


def test_several_policies_at_several_loads(busy: logs.JobLog) -> None:
    seen: list[tuple[int, int]] = []
    both = qs.replay_all(
        busy,
        ["easy", qs.FCFS()],
        load_factors=(1, 1.1),
        progress=lambda done, whole: seen.append((done, whole)),
    )
    labels = [[each.policy_label for each in point] for point in both.points]
    assert labels == [["as logged", "EASY", "FCFS"], ["EASY", "FCFS"]]
    assert both.best(0)[0] == "EASY"
    assert seen == sorted(seen)
    assert {whole for _, whole in seen} == {4 * len(busy)}
    assert seen[-1][0] <= 4 * len(busy)
    single = qs.replay(busy, "easy", load_factor=1.1)
    assert both.points[1][0] == single
    assert both.points[1][0].to_frame().equals(single.to_frame())
    assert len(both.outcomes()) == 5 * len(busy)
    data = json.loads(both.to_json())
    assert [each["inputs"]["policy"] for each in data["results"]][1:] == ["easy", "fcfs"] * 2
    assert data["log"]["rows"] == len(busy)


def test_differences_are_paired(busy: logs.JobLog) -> None:
    easy, first = qs.replay(busy, "easy"), qs.replay(busy, "first-fit")
    gap = easy.difference(first)
    assert gap.value == pytest.approx(easy.mean_waiting_time.value - first.mean_waiting_time.value)
    apart = math.hypot(easy.mean_waiting_time.half_width, first.mean_waiting_time.half_width)
    assert gap.half_width < apart
    name = easy.classes[-1].name
    expected = (
        easy.classes[-1].mean_response_time.value - first.classes[-1].mean_response_time.value
    )
    assert easy.difference(first, "response_time", name).value == pytest.approx(expected)
    assert easy.difference(easy).value == easy.difference(easy).half_width == 0


def test_outcomes_are_those_of_the_jobs(busy: logs.JobLog) -> None:
    frame = qs.replay(busy, "easy").outcomes()
    assert set(frame["user"].unique()) == {"ann", "bob", "cy"}
    assert ((frame["end"] - frame["start"] - frame["size"]).abs() < 1e-6).all()
    assert (frame["response"] >= frame["size"] - 1e-6).all()


def test_equal_seeds_give_equal_results(busy: logs.JobLog) -> None:
    one, other = qs.replay(busy, "conservative"), qs.replay(busy, "conservative")
    assert one == other
    assert one.mean_waiting_time != qs.replay(busy, "conservative", seed=2).mean_waiting_time


def test_confidence_and_percentiles_of_choice(busy: logs.JobLog) -> None:
    usual = qs.replay(busy, "easy")
    wide = qs.replay(busy, "easy", confidence=0.99, percentiles=(5, 99, 97.5))
    assert wide.mean_waiting_time.value == usual.mean_waiting_time.value
    pieces = usual.resampled[0]
    ratio = student_t(pieces - 1, 0.995) / student_t(pieces - 1, 0.975)
    found = wide.overall.response_time
    for one, other in (
        (wide.mean_waiting_time, usual.mean_waiting_time),
        (wide.utilisation, usual.utilisation),
        (found.p90, usual.overall.response_time.p90),
        (wide.difference(wide), usual.difference(usual)),
    ):
        assert one.half_width == pytest.approx(ratio * other.half_width)
    response = wide.outcomes().filter(pl.col("measured"))["response"].to_numpy()
    assert [*found.percentiles] == [5, 97.5]
    assert found.percentile(97.5).value == pytest.approx(np.quantile(response, 0.975))
    assert 0 < found.percentile(5).half_width < found.percentile(97.5).half_width
    assert found.cdf()["value"].is_sorted()


def test_interrupted(busy: logs.JobLog) -> None:
    def strike(done: int, whole: int) -> None:
        if done > whole / 2:
            raise KeyboardInterrupt

    with pytest.raises(qs.Interrupted) as caught:
        qs.replay_all(busy, ["easy", "fcfs", "msf"], progress=strike)
    partly = caught.value.result
    assert isinstance(partly, replays.ReplayComparison)
    assert [each.policy_label for each in partly.results] == ["as logged", "EASY"]


def test_scaling_on_reading_and_on_replaying_are_the_same(busy: logs.JobLog) -> None:
    here, there = qs.replay(busy, "easy", load_factor=1.2), qs.replay(busy.scaled(1.2), "easy")
    assert here.resampled == there.resampled == (9, "week")
    assert here.mean_waiting_time == there.mean_waiting_time


def test_long_gaps_cost_nothing(tmp_path: Path) -> None:
    log = log_of(tmp_path, jobs((0, 1, 5), (1e12, 2, 60)), 2)
    result = qs.replay(log, "fcfs", warmup=0, cooldown=0)
    assert result.resampled == (520, "stretch")
    assert logs.goodness(log, logs.fit(log, "need")).hours is None


def test_a_log_of_slurm_is_replayed_under_slurm(tmp_path: Path) -> None:
    """Users and partitions are those of the log, and Slurm is the baseline of the report."""
    header = "JobIDRaw|User|Partition|QOS|Submit|Start|End|NCPUS|TimelimitRaw|State"
    day = "2024-03-01T"
    rows = [  # servers, user, partition, QOS, submission
        (4, "ann", "batch", "normal", "00:00:00"),
        (4, "ann", "batch", "normal", "00:00:01"),
        (4, "bob", "batch", "normal", "00:00:02"),
        (4, "bob", "debug", "normal", "00:00:03"),
        (4, "bob", "batch", "high", "00:00:04"),
    ]
    lines = [
        f"{i}|{user}|{partition}|{qos}|{day}{at}|{day}01:00:00|{day}01:10:00|{need}|20|COMPLETED"
        for i, (need, user, partition, qos, at) in enumerate(rows)
    ]
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([header, *lines]) + "\n")
    log = qs.logs.read(path, servers=4, timezone="UTC")
    assert log.format == "sacct"
    whole: dict[str, Any] = {"warmup": 0, "cooldown": 0}
    labels = [each.policy_label for each in qs.replay_all(log, **whole).results]
    assert labels[:3] == ["as logged", "Slurm", "EASY"]
    weights = "priority_weight_partition=100,partitions=debug:2+batch:1"
    weights += ",priority_weight_qos=200,qos=high:1"
    for policy, order in (
        ("slurm", [0, 1, 2, 3, 4]),
        ("slurm:priority_weight_fairshare=1000", [0, 2, 1, 3, 4]),
        (f"slurm:{weights}", [0, 4, 3, 1, 2]),
    ):
        start = qs.replay(log, policy, **whole).schedule.start
        assert np.argsort(start).tolist() == order, policy
