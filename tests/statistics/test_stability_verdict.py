"""Unstable systems are called unstable, never given a number; stable ones are not called so."""

from __future__ import annotations

import math
from functools import partial

import pytest

import quickswap as qs
from verification.agreement import without_theorem
from verification.known import FOUR, one_or_all
from verification.systems import mixed, single

FCFS_LIMIT = 3.0260928
"""Of one-or-all with k = 32 and p1 = .9, unit means: theory.md, closed form."""


def numbers(result: qs.Result) -> list[float]:
    """What an unstable system does not have."""
    found = [result.weighted_mean_response_time, result.jain_index]
    for each in (result.overall, *result.classes):
        found += [each.number_in_system, each.number_waiting]
        for summary in (each.response_time, each.waiting_time, each.slowdown):
            found += [summary.mean, summary.std, summary.p50, summary.p999]
    return [value for each in found for value in (each.value, each.half_width)]


class TestUnstable:
    @pytest.mark.parametrize("engine", ["jumps", "events"])
    def test_fcfs_on_four_classes_at_rate_4(self, engine: str) -> None:
        result = qs.simulate(FOUR.with_rate(4.0), "fcfs", jobs=1_000_000, engine=engine)
        assert result.verdict.status == "unstable"
        assert not result.stable
        assert result.stop is qs.Stop.UNSTABLE
        assert result.completed < 500_000  # it ended early
        assert all(map(math.isnan, numbers(result)))
        assert result.verdict.growth.low > 0
        assert 0 < result.utilisation.value < result.system.load

    @pytest.mark.parametrize(
        ("system", "policy"),
        [
            (one_or_all(32, 0.9 * 3.6, 0.1 * 3.6), "fcfs"),
            (one_or_all(4, 1.8, 0.4), "lsf"),
            # one slot of three servers or five of one: a share of .8 / 1 and 1.5 / 5 of the time
            (mixed(5, [(3, 0.8, 1.0), (1, 1.5, 1.0)], 0.78), "static-quickswap:drain=exclusive"),
        ],
        ids=["fcfs", "lsf", "static"],
    )
    def test_by_evidence_alone(self, system: qs.System, policy: str) -> None:
        """The run itself shows it, were there no theorem."""
        run = without_theorem(system, qs.parse(policy), jobs=3_000_000, allow_unstable=True)
        verdict = run.verdict
        assert verdict.status == "unstable"
        assert not verdict.proven

    def test_a_load_of_one_is_refused_unless_allowed(self) -> None:
        for load in (1.0, 1.3):
            with pytest.raises(qs.UnstableError, match="give allow_unstable=True"):
                qs.simulate(FOUR.with_load(load), "msf", jobs=1000)
        result = qs.simulate(FOUR.with_load(1.3), "msf", jobs=200_000, allow_unstable=True)
        assert result.verdict.status == "unstable"
        assert result.verdict.proven
        assert all(map(math.isnan, numbers(result)))

    def test_a_capacity_below_load_one_counts(self) -> None:
        """Jobs of need 2 on 3 servers: at most two thirds can ever be used."""
        system = mixed(3, [(2, 1.0, 1.0)], 0.7)
        assert system.capacity == pytest.approx(1.0)
        with pytest.raises(qs.UnstableError):
            qs.simulate(system, "msf", jobs=1000)

    def test_compare_refuses_before_it_simulates(self) -> None:
        with pytest.raises(qs.UnstableError, match=r"load 1\.1"):
            qs.compare(FOUR, ["msf"], loads=[0.5, 1.1], jobs=10**12)

    def test_too_many_jobs_end_a_run(self) -> None:
        result = qs.simulate(
            FOUR.with_load(1.5), "msf", jobs=10_000_000, max_in_system=5000, allow_unstable=True
        )
        assert result.verdict.status == "unstable"
        assert result.completed < 1_000_000

    def test_a_limit_that_is_too_low_is_told_from_instability(self) -> None:
        result = qs.simulate(single(0.95), "fcfs", jobs=2_000_000, max_in_system=60)
        assert result.stop is qs.Stop.CROWDED
        assert result.verdict.status != "unstable"


class TestStable:
    def test_a_theorem_is_quoted(self) -> None:
        result = qs.simulate(one_or_all(4, 1.35, 0.15), "msf", jobs=20_000)
        assert (result.verdict.status, result.verdict.proven) == ("stable", True)

    @pytest.mark.parametrize(("policy", "seeds"), [("adaptive-quickswap", 30), ("msf", 10)])
    def test_load_95_is_not_called_unstable(self, policy: str, seeds: int) -> None:
        """By the evidence of the runs, with no theorem."""
        system = FOUR.with_load(0.95)
        for seed in range(seeds):
            result = without_theorem(system, qs.parse(policy), jobs=200_000, seed=seed)
            assert result.verdict.status != "unstable"

    @pytest.mark.parametrize("policy", ["msf", "msfq", "msfq:drain=always"])
    def test_one_or_all_at_load_95(self, policy: str) -> None:
        system = one_or_all(32, 0.9, 0.1).with_load(0.95)
        for seed in range(3):
            result = without_theorem(system, qs.parse(policy), jobs=1_000_000, seed=seed)
            assert result.verdict.status != "unstable"

    def test_below_the_limit_of_fcfs_it_is_stable_above_it_is_not(self) -> None:
        for rate, status in ((0.9 * FCFS_LIMIT, "stable"), (1.02 * FCFS_LIMIT, "unstable")):
            system = one_or_all(32, 0.9 * rate, 0.1 * rate)
            verdict = qs.simulate(system, "fcfs", jobs=400_000).verdict
            assert verdict.status == status
            assert verdict.proven


@pytest.mark.parametrize("jobs", [50_000, 200_000, 1_000_000])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_misses_its_rare_big_jobs_says_so(jobs: int, seed: int) -> None:
    """MSF on Borg cell B: the mean is thousands of seconds, these runs see ten."""
    result = qs.simulate(qs.load("borg-b"), "msf", jobs=jobs, seed=seed)
    assert result.mean_response_time.value < 50
    assert math.isnan(result.mean_response_time.half_width)
    assert result.verdict.status == "too short"
    assert "simulate more jobs" in result.verdict.reason


def test_a_class_that_never_starts_is_not_stable() -> None:
    """First-Fit on Borg cell A: the jobs of need 2998 never start, and are few."""
    result = qs.simulate(qs.load("borg-a:load=.7"), "first-fit", jobs=16_000_000, engine="jumps")
    assert result.classes[-1].jobs == 0
    assert result.verdict.status == "too short"
    assert "of need 2998 none of the " in result.verdict.reason


def test_one_check_does_not_make_a_run_unstable() -> None:
    """After 3,200,000 jobs the number in system has grown steadily; later it falls."""
    run = partial(
        qs.simulate,
        qs.load("borg-b:rate=4.4"),
        qs.AdaptiveQuickswap(overrun=0.9),
        precision=0.1,
        precision_of="weighted",
        seed=34,
    )
    short, longer = run(jobs=3_200_000), run(jobs=10_000_000)
    assert (short.verdict.status, longer.verdict.status) == ("unstable", "too short")
    assert longer.completed > 2 * short.completed


def test_growth_is_that_of_the_number_in_system() -> None:
    """Twice the capacity: half of the arrivals never leave."""
    system = single(2.0)
    result = qs.simulate(system, "fcfs", jobs=200_000, allow_unstable=True)
    growth = result.verdict.growth
    expected = system.arrival_rate - system.capacity
    assert growth.value == pytest.approx(expected, abs=2 * growth.half_width)
    assert growth.relative < 0.1


@pytest.mark.parametrize("rate", [3.36, 3.4])
@pytest.mark.parametrize("seed", [1, 3, 5, 7])
def test_close_to_an_unknown_limit_of_stability(rate: float, seed: int) -> None:
    """The limit is about 3.38: the runs hold few oscillations, and their means are far too low."""
    size = qs.Exponential(mean=1.0)
    system = qs.System(5, [qs.JobClass(1, 0.6 * rate, size), qs.JobClass(2, 0.4 * rate, size)])
    result = qs.simulate(system, "balanced-splitting", jobs=300_000, seed=seed)
    assert result.verdict.status == "too short"
    assert math.isnan(result.mean_response_time.half_width)


def test_many_waiting_jobs_are_no_sign_of_the_limit_if_the_backlog_oscillates() -> None:
    """First-Fit drains servers for each heavy job, so its backlog is that of a far higher load."""
    result = qs.simulate("one-or-all:rate=7", "first-fit", jobs=8_000_000)
    assert result.verdict.status == "stable"
    assert not result.verdict.proven


class Greedy:
    """A custom policy: the first class that fits."""

    def start(self, view: qs.View) -> int | None:
        fits = (i for i, need in enumerate(view.needs) if view.waiting[i] and need <= view.free)
        return next(fits, None)


@pytest.mark.parametrize("jobs", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("warmup", [0.0, 0.9])
@pytest.mark.parametrize("rate", [0.95, 1.0])
def test_few_jobs_up_to_the_capacity(jobs: int, warmup: float, rate: float) -> None:
    """No warning either, as tests turn warnings into errors."""
    system = qs.System(1, [qs.JobClass(1, rate, qs.Exponential(mean=1.0))])
    result = qs.simulate(
        system, Greedy(), jobs=jobs, warmup=warmup, replications=1, allow_unstable=True
    )
    assert result.verdict.status == "too short"


def test_times_that_are_alike_are_not_exact() -> None:
    """Hardly any job waits, and this run has none that does; the mean is 1.0005."""
    system = qs.System(1, [qs.JobClass(1, 0.001, qs.Deterministic(1.0))])
    result = qs.simulate(system, "fcfs", jobs=1000, seed=17)
    assert result.mean_response_time.value == 1.0
    assert math.isnan(result.mean_response_time.half_width)
    assert math.isnan(result.overall.number_waiting.half_width)
    assert result.jain_index == qs.Estimate(1.0, 0.0)
