"""Simulation: checks at every event, identities that hold for every policy, equal seeds."""

from __future__ import annotations

import json
import math
from functools import partial
from statistics import mean
from typing import Any

import pytest

import quickswap as qs
from quickswap.engine._core import Simulation
from verification.agreement import near, problems, with_intervals
from verification.known import FOUR, one_or_all
from verification.systems import (
    COUNT_POLICIES,
    bursty,
    every_distribution,
    huge,
    many,
    mixed,
    shared,
    single,
    uneven,
)

ANY = (
    *COUNT_POLICIES,
    qs.Smash(5),
    qs.Smash(None),
    qs.EASY(),
    qs.Conservative(),
    qs.ServerFilling(),
    qs.ServerFilling("srpt"),
    qs.MaxWeight(),
)
MSFQS = [qs.MSFQ(t, drain) for t in (0, 2) for drain in ("on_demand", "always")] + [qs.MSFQ(4)]
POISSON = {
    "four classes": FOUR.with_load(0.35),
    "needs do not divide k": uneven(0.35),
    "shared needs": shared(0.35),
    "2^20 servers": huge(0.15),
}
OTHERS = {"bursty arrivals": bursty(0.35), "every size distribution": every_distribution(0.35)}
CASES = [
    *[(name, policy, "jumps") for name in POISSON for policy in COUNT_POLICIES],
    *[(name, policy, "events") for name in (*POISSON, *OTHERS) for policy in ANY],
]
pytestmark = pytest.mark.filterwarnings("error")


def identities(result: qs.Result) -> list[str]:
    """What does not hold of: utilisation is the load, throughput the arrival rate, Little's law."""
    system = result.system
    checks = [near("utilisation", result.utilisation, system.load)]
    for i, each in enumerate((*result.classes, result.overall)):
        rate = system.arrival_rate if each.need == 0 else system.classes[i].arrival_rate
        number = each.number_in_system
        by_little = each.throughput.value * each.mean_response_time.value
        checks += [
            near(f"throughput of {each.name}", each.throughput, rate),
            near(f"Little's law for {each.name}", number, by_little, widths=1.0),
        ]
    return list(problems(checks))


@pytest.mark.parametrize(("name", "policy", "engine"), CASES, ids=lambda x: getattr(x, "label", x))
def test_every_check_holds_at_every_event(name: str, policy: qs.Policy, engine: str) -> None:
    system = (POISSON | OTHERS)[name]
    result = qs.simulate(system, policy, engine=engine, jobs=6000, seed=3, debug=True)
    assert result.inputs.engine == engine
    assert result.stop is qs.Stop.COMPLETED
    assert result.completed == 6000
    assert result.verdict.status != "unstable"  # 6000 jobs hardly begin to fill 2^20 servers
    assert identities(with_intervals(result)) == []


@pytest.mark.parametrize("engine", ["jumps", "events"])
@pytest.mark.parametrize("policy", MSFQS, ids=lambda policy: policy.label)
def test_every_check_holds_for_msfq(policy: qs.Policy, engine: str) -> None:
    system = one_or_all(4, 1.35, 0.15)
    result = qs.simulate(system, policy, engine=engine, jobs=20_000, seed=3, debug=True)
    assert identities(result) == []


@pytest.mark.parametrize(
    ("policy", "engine"), [("msf", "jumps"), ("static-quickswap", "jumps"), ("first-fit", "events")]
)
def test_many_classes(policy: str, engine: str) -> None:
    """More classes than the loop over jumps scans, so it draws from a tree."""
    result = qs.simulate(many(45, 8, 0.35), policy, engine=engine, jobs=10_000, debug=True)
    assert identities(result) == []


@pytest.mark.parametrize("policy", [qs.DivisorFilling(), qs.ServerFilling("srpt"), qs.MaxWeight()])
def test_needs_that_divide_the_servers(policy: qs.Policy) -> None:
    classes = [qs.JobClass(need, 1.0, qs.Exponential(mean=1.0)) for need in (4, 6, 3, 1)]
    system = qs.System(12, classes).with_load(0.8)
    result = qs.simulate(system, policy, jobs=30_000, seed=3, debug=True)
    assert identities(result) == []


@pytest.mark.parametrize("policy", ["msf", "first-fit"])
def test_arrivals_that_start_at_once_take_a_short_cut(policy: str) -> None:
    """Not in the debug mode, which gives the same path."""
    for system in (FOUR.with_rate(4), many(24, 8, 0.7), many(45, 8, 0.7), one_or_all(4, 1.2, 0.2)):
        run = partial(qs.simulate, system, policy, engine="jumps", jobs=20_000, threads=1)
        for quick, whole in zip(run().classes, run(debug=True).classes, strict=True):
            assert quick.response_time == whole.response_time
            assert quick.waiting_time == whole.waiting_time
            assert quick.number_in_system == whole.number_in_system
            assert quick.number_waiting.value == pytest.approx(whole.number_waiting.value)


def test_hundreds_of_classes() -> None:
    system = many(200, 50, 0.6)
    result = qs.simulate(system, "msf", engine="jumps", jobs=30_000, debug=True)
    assert len(result.classes) == 200
    assert sum(each.jobs for each in result.classes) == result.overall.jobs
    assert problems([near("utilisation", result.utilisation, system.load)]) == []


def test_jobs_are_counted_once() -> None:
    result = qs.simulate(FOUR, "msf", jobs=10_001, warmup=0.0)
    assert result.overall.jobs == result.completed == 4 * 2501  # rounded up per replication
    assert result.events >= 2 * result.completed
    tenth_off = qs.simulate(FOUR, "msf", jobs=10_001, warmup=0.1)
    assert tenth_off.completed == result.completed
    assert tenth_off.overall.jobs == pytest.approx(0.9 * result.completed, rel=0.01)


def test_waiting_and_service_add_up_to_the_response_time() -> None:
    """The service time is the size, so its mean is that of the size distributions."""
    result = qs.simulate(uneven(0.5), "first-fit", jobs=200_000)
    for each, spec in zip(result.classes, result.system.classes, strict=True):
        service = each.mean_response_time.value - each.mean_waiting_time.value
        error = spec.size.mean / math.sqrt(each.jobs)  # exponential: deviation = mean
        assert service == pytest.approx(spec.size.mean, abs=4 * error)


def test_deterministic_sizes_without_a_queue_leave_nothing_to_chance() -> None:
    calm = qs.System(100, [qs.JobClass(1, 1.0, qs.Deterministic(3.0))])
    all_jobs = qs.simulate(calm, "fcfs", jobs=20_000, debug=True).overall
    for each in (all_jobs.response_time.mean, all_jobs.slowdown.mean, all_jobs.slowdown.p999):
        assert each.value == pytest.approx(
            3.0 if each is all_jobs.response_time.mean else 1.0, rel=0.02
        )
    assert all_jobs.waiting_time.p999.value == 0.0
    assert all_jobs.response_time.std.value == pytest.approx(0.0, abs=1e-6)


SAME = [
    (FOUR, "adaptive-quickswap", "jumps"),
    (FOUR, "msf", "events"),
    (one_or_all(4, 1.35, 0.15), "msfq:threshold=2,drain=always", "jumps"),
    (bursty(0.5), "smash:window=3", "events"),
    (shared(0.5), "server-filling", "events"),
]


@pytest.mark.parametrize(("system", "policy", "engine"), SAME, ids=[row[1] for row in SAME])
def test_equal_seeds_give_equal_bytes_on_any_number_of_threads(
    system: qs.System, policy: str, engine: str
) -> None:
    def text(threads: int, seed: int = 1) -> str:
        return qs.simulate(
            system,
            policy,
            jobs=40_000,
            engine=engine,
            trajectory=50,
            replications=5,
            threads=threads,
            seed=seed,
        ).to_json()

    assert text(1) == text(2) == text(4)
    assert text(1) != text(1, seed=2)


def test_rounds_do_not_depend_on_threads() -> None:
    def text(threads: int) -> str:
        result = qs.simulate(FOUR, "msf", precision=0.02, jobs=1_000_000, seed=4, threads=threads)
        return result.to_json()

    assert text(1) == text(2) == text(3)


def test_replications_are_independent_and_a_prefix_of_more() -> None:
    """One replication is the first of several; the second is another path."""
    system = mixed(4, [(1, 1.0, 1.0)], 0.5)
    one, two = (
        qs.simulate(system, "fcfs", replications=r, jobs=r * 10_000, warmup=0.0) for r in (1, 2)
    )
    a, both = one.mean_response_time.value, two.mean_response_time.value
    assert a != both
    second = 2 * both - a
    assert second == pytest.approx(a, abs=0.3)
    assert second != a


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_the_ends_of_the_range_of_seeds(seed: int) -> None:
    assert qs.simulate(FOUR, "msf", jobs=1000, seed=seed).inputs.seed == seed


@pytest.mark.parametrize(
    ("jobs", "precision"), [(100_000, None), (1_000_000, None), (1_000_000, 1e-4)]
)
def test_progress_reports_grow_to_the_jobs_asked_for(jobs: int, precision: float | None) -> None:
    seen: list[tuple[int, int]] = []

    def note(done: int, whole: int) -> None:
        seen.append((done, whole))

    qs.simulate(FOUR, "msf", jobs=jobs, precision=precision, progress=note)
    assert {whole for _, whole in seen} == {jobs}
    done = [done for done, _ in seen]
    assert done == sorted(done)
    assert done[-1] == jobs


class TestWarmUp:
    def test_it_takes_the_start_from_empty_away(self) -> None:
        """Short runs at load .9: what is kept from the start makes the mean too small."""

        def average(warmup: float | str) -> float:
            runs = [
                qs.simulate(single(0.9), "fcfs", jobs=6000, seed=seed, warmup=warmup)
                for seed in range(20)
            ]
            return mean(run.mean_response_time.value for run in runs)

        none, some, half = (average(warmup) for warmup in (0.0, 0.1, 0.5))
        assert none < some < half

    def test_mser5_cuts_at_most_half(self) -> None:
        for seed in range(5):
            result = qs.simulate(FOUR, "msf", jobs=20_000, warmup="mser5", seed=seed)
            assert 10_000 <= result.overall.jobs <= 20_000


class TestStop:
    def test_precise_is_precise(self) -> None:
        result = qs.simulate(FOUR.with_rate(2.0), "msf", precision=0.005)
        assert result.stop is qs.Stop.PRECISE
        assert result.mean_response_time.relative <= 0.005
        assert result.completed < result.inputs.jobs
        wider = qs.simulate(FOUR.with_rate(2.0), "msf", precision=0.2)
        assert wider.completed < result.completed

    def test_a_budget_that_ends_first_is_named(self) -> None:
        result = qs.simulate(FOUR, "msf", precision=0.001, jobs=300_000)
        assert result.stop is qs.Stop.BUDGET
        assert result.mean_response_time.relative > 0.001
        assert result.completed == 300_000

    @pytest.mark.parametrize(
        ("precision", "stop"), [(0.15, qs.Stop.PRECISE), (0.005, qs.Stop.BUDGET)]
    )
    def test_the_last_look_counts_if_it_is_the_only_one(
        self, precision: float, stop: qs.Stop
    ) -> None:
        result = qs.simulate(FOUR.with_load(0.4), "msf", precision=precision, jobs=50_000)
        assert (result.stop, result.completed) == (stop, 50_000)
        assert (result.mean_response_time.relative <= precision) == (stop is qs.Stop.PRECISE)

    def test_without_precision_all_jobs_complete(self) -> None:
        result = qs.simulate(FOUR, "msf", jobs=30_000)
        assert result.stop is qs.Stop.COMPLETED
        assert result.completed == 30_000

    @pytest.mark.parametrize("jobs", [1, 3, 41])
    def test_a_few_jobs_are_enough_to_run(self, jobs: int) -> None:
        result = qs.simulate(FOUR, "msf", jobs=jobs, replications=2)
        assert result.completed == 2 * math.ceil(jobs / 2)
        assert result.mean_response_time.value > 0


class TestTrajectory:
    @pytest.mark.parametrize("engine", ["jumps", "events"])
    @pytest.mark.parametrize("points", [2, 100, 1001])
    def test_it_is_bounded_and_starts_empty(self, engine: str, points: int) -> None:
        result = qs.simulate(FOUR, "msf", jobs=50_000, trajectory=points, engine=engine)
        path = result.trajectory
        assert path is not None
        assert points / 2 <= len(path.counts) <= points + 1
        assert path.counts[0] == (0, 0, 0, 0)
        assert path.times == tuple(i * path.step for i in range(len(path.counts)))
        duration = 50_000 / 4 / FOUR.arrival_rate
        assert path.times[-1] == pytest.approx(duration, rel=2 / points + 0.1)

    def test_its_time_average_is_the_number_in_system(self) -> None:
        system = one_or_all(4, 1.35, 0.15)
        result = qs.simulate(
            system, "msfq", warmup=0.0, jobs=200_000, replications=1, trajectory=20_000
        )
        path = result.trajectory
        assert path is not None
        checks = []
        for i, each in enumerate(result.classes):
            average = mean(counts[i] for counts in path.counts)
            checks.append(near(each.name, each.number_in_system, average, widths=1.0))
        assert problems(checks) == []

    def test_there_is_none_unless_asked_for(self) -> None:
        assert qs.simulate(FOUR, "msf", jobs=1000).trajectory is None


class TestPhases:
    """Of MSFQ: idle; heavies; lights, all servers taken; lights; the drain."""

    @pytest.mark.parametrize("engine", ["jumps", "events"])
    @pytest.mark.parametrize("drain", ["on_demand", "always"])
    @pytest.mark.parametrize("threshold", [0, 2, 3])
    def test_they_follow_each_other(self, threshold: int, drain: str, engine: str) -> None:
        system = one_or_all(4, 2.25, 0.25)
        policy = qs.MSFQ(threshold, drain)
        result = qs.simulate(system, policy, jobs=100_000, warmup=0.0, engine=engine)
        idle, heavies, full, lights, drained = result.phases
        # one more or less for each replication, of the phase that is on at the end
        assert abs(full.count - lights.count) <= 4
        assert abs(lights.count - drained.count) <= 4
        assert heavies.count >= drained.count - 4
        if drain == "on_demand":
            assert idle.count == 0
            assert abs(heavies.count - drained.count) <= 4
        total = sum(each.count * each.mean.value for each in result.phases if each.count)
        assert total == pytest.approx(result.completed / result.overall.throughput.value, rel=5e-3)

    @pytest.mark.parametrize("drain", ["on_demand", "always"])
    def test_heavies_run_in_phase_1_all_the_time_and_nowhere_else(self, drain: str) -> None:
        """So its share of the time is the load of the heavies, to their own statistics."""
        system = one_or_all(4, 1.35, 0.15)
        settings: dict[str, Any] = {
            "jobs": 100_000,
            "warmup": 0.0,
            "replications": 1,
            "plain_estimates": True,
        }
        result = qs.simulate(system, qs.MSFQ(2, drain), **settings)
        phase, heavy = result.phases[1], result.classes[1]
        in_service = heavy.number_in_system.value - heavy.number_waiting.value
        time = result.completed / result.overall.throughput.value
        assert phase.count * phase.mean.value == pytest.approx(in_service * time, rel=1e-3)

    def test_empty_phases_and_the_idle_one(self) -> None:
        system = one_or_all(4, 1.35, 0.15)
        always = qs.simulate(system, qs.MSFQ(3, "always"), jobs=100_000).phases
        assert always[3].mean == qs.Estimate(0.0, 0.0)  # l = k - 1: phase 3 ends as it begins
        assert problems([near("idle", always[0].mean, 1 / system.arrival_rate)]) == []
        at_once = qs.simulate(system, qs.MSFQ(0), jobs=100_000).phases
        assert at_once[4].mean == qs.Estimate(0.0, 0.0)  # l = 0: no job is left to drain

    def test_other_policies_have_none(self) -> None:
        assert qs.simulate(FOUR, "msf", jobs=1000).phases == ()


def test_a_thread_of_the_core_that_dies_ends_the_run() -> None:
    """Rates that are infinite get past no check but here."""
    size, arrivals = (
        {"distribution": "exponential", "mean": 1e-310},
        {"process": "poisson", "rate": 1.0},
    )
    spec = {
        "system": {
            "servers": 8,
            "classes": [{"need": need, "size": size, "arrivals": arrivals} for need in (1, 8)],
        },
        "policy": {"name": "fcfs"},
        "engine": "jumps",
        "seed": 1,
        "replications": 4,
        "block_jobs": 64,
        "trajectory": 0,
        "slowdown_bound": 10.0,
        "crowd": 10**7,
        "debug": False,
    }
    with pytest.raises(RuntimeError, match="panicked"):
        Simulation(json.dumps(spec)).advance(100_000, 2)
