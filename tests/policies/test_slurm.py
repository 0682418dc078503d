"""Slurm: schedules worked out by hand, policies that it contains, and the reading of slurm.conf."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quickswap as qs
from quickswap.engine._core import replay

NEVER = 1e18
"""Seconds."""
WHOLE = {"bf_resolution": 1 / 8, "bf_window": NEVER, "bf_interval": 1 / 8}
"""A cycle at every event with times in eighths of a second, which are not rounded."""


def starts(
    servers: int,
    policy: dict[str, Any],
    jobs: Sequence[tuple[float, int, float]],
    *,
    estimates: Sequence[float] | None = None,
    users: Sequence[int] | None = None,
    priorities: Sequence[float] | None = None,
    groups: Sequence[int] | None = None,
    limits: Sequence[int] | None = None,
) -> list[float]:
    """Starts of jobs, which are given by arrival, need and size in seconds."""
    needs = sorted({need for _, need, _ in jobs})
    system = qs.System(
        servers, [qs.JobClass(need, 1.0, qs.Exponential(mean=1.0)) for need in needs]
    )
    arrival, need, size = (np.array(column) for column in zip(*jobs, strict=True))
    start, *_ = replay(
        json.dumps({"system": system.to_dict(), "policy": policy}),
        arrival.astype(float),
        np.searchsorted(needs, need).astype(np.uint32),
        size.astype(float),
        estimate=None if estimates is None else np.array(estimates, dtype=float),
        user=None if users is None else np.array(users, dtype=np.uint32),
        priority=None if priorities is None else np.array(priorities, dtype=float),
        groups=None if groups is None else np.array(groups, dtype=np.uint32)[:, None],
        limits=limits,
    )
    return list(map(float, start))


def slurm(**settings: Any) -> dict[str, Any]:
    """The policy in the form of the core, with times in seconds."""
    return qs.Slurm().resolve(qs.load("four-class")) | settings


def test_a_cycle_starts_what_delays_no_reservation() -> None:
    jobs = [(0, 2, 600), (1, 3, 600), (2, 2, 540), (3, 2, 1000)]
    # In the cycle at 30, 30 seconds after the first one, the third job ends before the reservation
    # of the second one, which begins at 600. The fourth would delay it.
    assert starts(4, slurm(), jobs) == [0, 600, 30, 1200]
    # only the main loop
    assert starts(4, slurm(bf_interval=None), jobs) == [0, 600, 1200, 1200]
    # no job may reserve
    assert starts(4, slurm(bf_min_age_reserve=NEVER), jobs) == [0, 1542, 2, 542]


def test_times_are_rounded_to_the_resolution() -> None:
    # The job in service ends at 590, which is rounded down to 540: at 30 the third job, until 570,
    # would delay the reservation.
    jobs = [(0, 2, 590), (1, 3, 600), (2, 2, 540)]
    assert starts(4, slurm(), jobs) == [0, 590, 1190]
    assert starts(4, slurm(bf_resolution=1), jobs) == [0, 590, 30]


def test_limits_of_a_cycle() -> None:
    # Of the jobs behind the second one, those of user 1 fit.
    jobs = [(0, 2, 600), (1, 4, 600), (2, 3, 10), (2, 3, 10), (2, 1, 10), (2, 1, 10)]
    users = [0, 0, 0, 0, 1, 1]
    for limit, expected in (
        ({}, [30, 30]),
        ({"bf_max_job_test": 4}, [30, 60]),
        ({"bf_max_job_test": 3}, [1200, 1210]),
        ({"bf_max_job_user": 1}, [30, 60]),
    ):
        assert starts(4, slurm(**limit), jobs, users=users)[4:] == expected


def test_factors_of_the_priority() -> None:
    first = [(0.0, 4, 100.0)]
    small = slurm(priority_weight_job_size=1000, priority_favor_small=True)
    large = slurm(priority_weight_job_size=1000)
    jobs = [*first, (1, 3, 100), (2, 4, 100), (3, 2, 100)]
    assert starts(4, small, jobs) == [0, 200, 300, 100]
    assert starts(4, large, jobs) == [0, 200, 100, 300]
    # a constant of 250 is worth a server of four, and the older job is first among equals
    assert starts(4, large, jobs, priorities=[0, 250, 0, 0]) == [0, 100, 200, 300]
    # age: 200 of 600 seconds are worth 500 of 1500
    age = slurm(priority_weight_age=1500, priority_max_age=600, priority_calc_period=1)
    jobs = [*first, (1, 4, 100), (2, 4, 100), (201, 4, 100)]
    constants = [0, 0, 0, 500 + 1]
    assert starts(4, age, jobs, priorities=constants) == [0, 100, 200, 300]
    assert starts(4, age, jobs, priorities=[0, 0, 0, 510]) == [0, 100, 200, 300]
    waiting = [(0, 4, 300), (1, 4, 100), (101, 4, 100)]
    for constant, expected in ((249, [300, 400]), (251, [400, 300])):
        assert starts(4, age, waiting, priorities=[0, 0, constant])[1:] == expected


def test_fair_share() -> None:
    # Both users have half of the shares. Before 900 user 0 has used 3 of 4 parts, 2^(-1.5), and
    # user 1 one of 4, 2^(-0.5).
    jobs = [(0, 3, 900), (0, 1, 900), (1, 4, 100), (2, 4, 100)]
    fair = slurm(priority_weight_fairshare=1000)
    users = [0, 1, 0, 1]
    assert starts(4, fair, jobs, users=users) == [0, 0, 1000, 900]
    difference = 2**-0.5 - 2**-1.5
    for constant, expected in ((1000 * difference - 1, [1000, 900]), (355, [900, 1000])):
        constants = [0, 0, constant, 0]
        assert starts(4, fair, jobs, users=users, priorities=constants)[2:] == expected
    # usage of the past decays
    jobs = [(0, 4, 900), (5000, 4, 900), (5001, 4, 100), (5002, 4, 100)]
    users = [0, 1, 0, 1]
    for half_life, expected in ((0, [5900, 6000]), (300, [5900, 6000]), (1e9, [5900, 6000])):
        decay = fair | {"priority_decay_half_life": half_life}
        assert starts(4, decay, jobs, users=users)[2:] == expected


def test_each_class_is_a_user_without_users() -> None:
    jobs = [(0, 4, 900), (1, 4, 100), (2, 3, 100)]
    assert starts(4, slurm(priority_weight_fairshare=1000), jobs) == [0, 1000, 900]


def test_a_job_that_was_held_back_keeps_its_priority() -> None:
    # User 0 may have one job waiting or in service: the second job arrives at 100, as the fourth.
    jobs = [(0, 4, 100), (1, 4, 100), (2, 4, 100), (3, 4, 100)]
    held_back = starts(
        4,
        slurm(),
        jobs,
        users=[0, 0, 1, 1],
        priorities=[0, 5, 0, 9],
        groups=[0, 0, 1, 1],
        limits=[1, 9],
    )
    assert held_back == [0, 200, 300, 100]


def trace(seed: int) -> list[tuple[float, int, float]]:
    """Jobs on eight servers, with times in eighths of a second, and a queue most of the time."""
    draw = np.random.default_rng(seed)
    arrival = np.cumsum(draw.integers(1, 24, 400)) / 8
    need = draw.choice([1, 2, 3, 5, 8], 400, p=[0.4, 0.3, 0.1, 0.1, 0.1])
    size = draw.integers(1, 60, 400) / 8
    return list(zip(arrival.tolist(), need.tolist(), size.tolist(), strict=True))


LARGEST = {"priority_weight_job_size": 1000, "bf_interval": None}
MAIN_LOOP = {"bf_interval": None, "default_queue_depth": 10**6}
CONTAINED: list[tuple[str, dict[str, Any]]] = [
    ("fcfs", MAIN_LOOP),
    ("first-fit", MAIN_LOOP | {"bf_min_age_reserve": NEVER}),
    ("lsf", MAIN_LOOP | LARGEST | {"priority_favor_small": True}),
    ("msf", MAIN_LOOP | LARGEST | {"bf_min_age_reserve": NEVER}),
    ("easy", WHOLE | {"bf_job_part_count_reserve": 1}),
    ("conservative", WHOLE),
]


@pytest.mark.parametrize(("name", "settings"), CONTAINED, ids=[name for name, _ in CONTAINED])
def test_other_policies_are_special_cases(name: str, settings: dict[str, Any]) -> None:
    for seed in range(3):
        jobs = trace(seed)
        assert starts(8, slurm(**settings), jobs) == starts(8, {"name": name}, jobs)


def test_easy_with_any_estimates_is_a_special_case() -> None:
    jobs = trace(7)
    factors = np.random.default_rng(8).integers(1, 16, len(jobs)) / 8
    estimates = [max(1.0, round(8 * s * f)) / 8 for (_, _, s), f in zip(jobs, factors, strict=True)]
    settings = WHOLE | {"bf_job_part_count_reserve": 1}
    easy = starts(8, {"name": "easy"}, jobs, estimates=estimates)
    assert starts(8, slurm(**settings), jobs, estimates=estimates) == easy


def test_in_a_simulation_and_step_by_step() -> None:
    result = qs.simulate(qs.load("four-class"), qs.Slurm(), jobs=20_000, debug=True)
    assert result.inputs.engine == "events"
    scheduler = qs.Scheduler(qs.load("one-or-all"), qs.Slurm())  # classes need 1 and 32
    assert scheduler.arrive(0, 60.0) == ([0], [0])
    scheduler.wait_until(1.0)
    assert scheduler.arrive([1, 0], [60.0, 25.0]) == ([1, 2], [])
    assert scheduler.wait_until(29.0) == []
    assert scheduler.wait_until(30.0) == [2]
    with pytest.raises(qs.PolicyError, match="estimated sizes"):
        scheduler.state  # noqa: B018  # a property


CONF = """
# a cluster
ClusterName=one ControlMachine=head
SlurmctldHost=head  # the only one
schedulerparameters=bf_interval=60,BF_Window=2880,\\
bf_continue,bf_max_job_start=9,default_queue_depth=200
AccountingStorageType=accounting_storage/slurmdbd
PriorityType=priority/multifactor
PriorityFlags=NO_FAIR_TREE
PriorityWeightAge = 1000
PriorityWeightFairShare=10000
PriorityMaxAge=7-12
PriorityDecayHalfLife=12:30:00
PriorityCalcPeriod=10
PriorityFavorSmall=YES
PreemptType=preempt/qos
NodeName=n[1-8] CPUs=4 State=UNKNOWN
PartitionName=DEFAULT PriorityJobFactor=5
PartitionName=debug Nodes=n[1-2] PriorityJobFactor=10 PriorityTier=3
PartitionName=batch Nodes=ALL Default=YES
Include extra.conf
"""


def conf(folder: Path, text: str | bytes) -> Path:
    path = folder / "slurm.conf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_slurm_conf(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="not modelled") as warned:
        policy = qs.Slurm.from_conf(conf(tmp_path, CONF))
    assert policy == qs.Slurm(
        bf_interval=60,
        bf_window=2880,
        default_queue_depth=200,
        priority_weight_age=1000,
        priority_weight_fairshare=10000,
        priority_max_age=7.5 * 24 * 60,
        priority_decay_half_life=12.5 * 60,
        priority_calc_period=10,
        priority_favor_small=True,
        partitions=("debug:10", "batch:5"),
    )
    (message,) = (str(each.message) for each in warned)
    for setting in (
        "bf_max_job_start=9",
        "PreemptType=preempt/qos",
        "PriorityTier=3",
        "extra.conf",
    ):
        assert setting in message
    assert "NO_FAIR_TREE" not in message
    assert "bf_continue" not in message


@pytest.mark.filterwarnings("error")
def test_a_plain_slurm_conf_without_priorities(tmp_path: Path) -> None:
    text = "ClusterName=x\nSchedulerType=sched/builtin\nPriorityWeightAge=7\nPreemptMode=OFF\n"
    assert qs.Slurm.from_conf(conf(tmp_path, text)) == qs.Slurm(bf_interval=None)


@pytest.mark.filterwarnings("ignore:.*not modelled")
def test_age_and_usage_require_the_accounting_database(tmp_path: Path) -> None:
    lines = [line for line in CONF.splitlines() if "slurmdbd" not in line]
    policy = qs.Slurm.from_conf(conf(tmp_path, "\n".join(lines)))
    assert policy.priority_weight_age == policy.priority_weight_fairshare == 0
    assert policy.priority_max_age == 7.5 * 24 * 60


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "contains no setting of Slurm"),
        ("[section]\nkey=value", "line 1 is not a line of slurm.conf"),
        ("name: value", "line 1 is not a line of slurm.conf"),
        ("a=1\n", "contains no setting of Slurm"),
        (b"ClusterName=\xff\xfe", "is not a text file"),
        ("ClusterName=x\nSchedulerParameters=bf_interval=often", "line 2: bf_interval is 'often'"),
        ("SchedulerParameters=bf_window=0", "line 1: bf_window is 0.0; it must be a number from"),
        ("PriorityMaxAge=never", "line 1: prioritymaxage is 'never'"),
        ("PriorityFavorSmall=perhaps", "YES or NO"),
        ("PartitionName=a PriorityJobFactor=x", "line 1: PriorityJobFactor is 'x'"),
    ],
)
def test_a_slurm_conf_that_cannot_be_read(tmp_path: Path, text: str | bytes, words: str) -> None:
    path = conf(tmp_path, text)
    with pytest.raises(qs.PolicyError) as raised:
        qs.Slurm.from_conf(path)
    message = str(raised.value)
    assert words in message
    assert str(path) in message
    assert "\n" not in message


def test_a_missing_slurm_conf(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(qs.PolicyError, match="cannot be read"):
            qs.Slurm.from_conf(path)


@pytest.mark.parametrize(
    "settings",
    [
        {"bf_interval": 0.5},
        {"bf_interval": "often"},
        {"bf_max_job_test": 0},
        {"priority_weight_age": -1},
        {"priority_favor_small": 1},
        {"partitions": ("debug",)},
        {"qos": "high:x"},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(qs.PolicyError, match=f"{next(iter(settings))} of Slurm is"):
        qs.Slurm(**settings)


def test_priorities_of_partitions_and_qos() -> None:
    policy = qs.Slurm(
        priority_weight_partition=100,
        priority_weight_qos=10,
        partitions=("debug:4", "batch:1"),
        qos=("high:2",),
    )
    factors = [policy.constant_priority("partition", name) for name in ("debug", "batch", None)]
    assert factors == [100, 25, 25]
    assert [policy.constant_priority("queue", name) for name in ("high", "low")] == [10, 0]
    assert qs.Slurm(priority_weight_partition=100).constant_priority("partition", "any") == 100
