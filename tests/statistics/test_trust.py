"""What a result promises and what it withholds: short runs, heavy and far tails, comparisons."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import quickswap as qs
from quickswap.model.variability import scatter
from quickswap.statistics.paired import Outcome, best_of, outcome_of
from verification.known import FOUR
from verification.systems import every_distribution, single

ONE_OR_ALL = qs.load("one-or-all")
UNSTABLE = qs.compare(FOUR.with_rate(4.0), ["fcfs", "msf"], jobs=100_000, engine="events")


class TestTooShort:
    @pytest.mark.parametrize(
        ("system", "policy", "jobs"),
        [
            (single(0.99), "fcfs", 100_000),
            (single(0.999), "fcfs", 1_000_000),
            (ONE_OR_ALL.with_load(0.9), "msf", 100_000),
            (single(0.9), "fcfs", 10_000),
        ],
    )
    def test_near_saturation(self, system: qs.System, policy: str, jobs: int) -> None:
        for seed in range(3):
            verdict = qs.simulate(system, policy, jobs=jobs, seed=seed).verdict
            assert verdict.status == "too short"
            asked = re.search(r"simulate more jobs, about ([\d,]+)", verdict.reason)
            assert asked is not None
            assert int(asked[1].replace(",", "")) > jobs

    @pytest.mark.parametrize(
        ("system", "policy"),
        [
            (single(0.9), "fcfs"),
            (FOUR.with_load(0.8), "adaptive-quickswap"),
            (ONE_OR_ALL.with_load(0.77), "msfq:threshold=31"),
        ],
    )
    def test_a_million_jobs_are_enough_farther_away(self, system: qs.System, policy: str) -> None:
        for seed in range(3):
            assert qs.simulate(system, policy, jobs=1_000_000, seed=seed).stable

    def test_as_many_jobs_as_the_reason_asks_for_do(self) -> None:
        reason = qs.simulate(single(0.95), "fcfs", jobs=20_000).verdict.reason
        asked = re.search(r"about ([\d,]+)", reason)
        assert asked is not None
        assert qs.simulate(single(0.95), "fcfs", jobs=int(asked[1].replace(",", ""))).stable

    @pytest.mark.parametrize(("scv", "jobs"), [(16.0, 4_000_000), (8.0, 1_000_000), (4.0, 100_000)])
    def test_sizes_whose_largest_are_not_seen(self, scv: float, jobs: int) -> None:
        """Means of lognormal sizes: intervals from so many jobs contain them too rarely."""
        system = qs.System(1, [qs.JobClass(1, 0.5, qs.LogNormal(mean=1.0, scv=scv))])
        verdict = qs.simulate(system, "fcfs", jobs=jobs).verdict
        assert verdict.status == "too short"
        assert "largest" in verdict.reason
        asked = re.search(r"simulate more jobs, about ([\d,]+)", verdict.reason)
        assert asked is not None
        # the relative half-width of the second moment is 1.96 sqrt(E[S^4] / E[S^2]^2 / jobs)
        needed = (1.96 / 0.06) ** 2 * (1 + scv) ** 4
        assert 0.5 * needed < int(asked[1].replace(",", "")) < 2 * needed


@pytest.mark.parametrize("unit", [1e-98, 1e-60, 1e-20, 1e20, 1e98])
@pytest.mark.parametrize("order", [2, 3])
def test_variability_does_not_depend_on_the_unit_of_time(order: int, unit: float) -> None:
    def system(unit: float) -> qs.System:
        sizes = qs.LogNormal(mean=unit, scv=2.0), qs.Deterministic(0.5 * unit)
        return qs.System(2, [qs.JobClass(n, 0.5 / unit, size) for n, size in enumerate(sizes, 1)])

    for less in (0.0, 6.0):
        expected = scatter(system(1.0), order, less)
        assert expected > 0
        assert scatter(system(unit), order, less) / unit == pytest.approx(expected)
    verdict = qs.simulate(system(unit), "fcfs", jobs=2000).verdict.status
    assert verdict == qs.simulate(system(1.0), "fcfs", jobs=2000).verdict.status


@pytest.mark.filterwarnings("ignore::quickswap.InfiniteVarianceWarning")
class TestHeavyTails:
    def result(self, shape: float) -> qs.Result:
        size = qs.Pareto(shape=shape, mean=1.0)
        return qs.simulate(qs.System(1, [qs.JobClass(1, 0.5, size)]), "fcfs", jobs=20_000)

    @pytest.mark.parametrize("shape", [1.5, 2.2, 3.0])
    def test_means_of_waiting_times_have_no_interval(self, shape: float) -> None:
        result = self.result(shape)
        assert len(result.notes) == 1
        for each in (
            result.mean_response_time,
            result.mean_waiting_time,
            result.weighted_mean_response_time,
            result.classes[0].response_time.std,
            result.overall.number_in_system,
        ):
            assert math.isfinite(each.value)
            assert math.isnan(each.half_width)
        assert math.isnan(result.utilisation.half_width) is (shape <= 2)

    def test_a_finite_third_moment_is_enough(self) -> None:
        result = self.result(3.5)
        assert result.notes == ()
        assert result.mean_response_time.half_width > 0

    def test_bursts_of_infinite_variance_leave_time_averages_without(self) -> None:
        arrivals = qs.Renewal(qs.Pareto(shape=1.8, mean=2.0))
        system = qs.System(1, [qs.JobClass(1, arrivals=arrivals, size=qs.Exponential(mean=1.0))])
        result = qs.simulate(system, "fcfs", jobs=20_000)
        assert len(result.notes) == 1
        assert math.isnan(result.overall.number_in_system.half_width)
        assert result.mean_response_time.half_width > 0

    def test_it_is_told_when_the_class_is_made(self) -> None:
        for shape in (1.5, 2.5):
            with pytest.warns(qs.InfiniteVarianceWarning):
                qs.JobClass(1, 0.5, qs.Pareto(shape=shape, mean=1.0))


@pytest.mark.parametrize("size", [each.size for each in every_distribution(0.4).classes], ids=repr)
def test_moments(size: qs.Distribution) -> None:
    assert size.moment(1) == pytest.approx(size.mean)
    assert size.moment(2) == pytest.approx(size.second_moment)
    assert size.moment(4) >= size.moment(2) ** 2 * (1 - 1e-12)  # Jensen
    assert size.scaled(2.0).moment(3) == pytest.approx(8 * size.moment(3))
    logs = np.linspace(-15, 30, 20_001)  # E[S^3] is the integral of 3 x^2 P(S > x)
    tail = np.array([size.sf(float(x)) for x in np.exp(logs)])
    third = np.trapezoid(3 * np.exp(3 * logs) * tail, logs)
    assert size.moment(3) == pytest.approx(third, rel=0.02)


class TestFarTails:
    def test_a_percentile_without_enough_excursions_has_no_interval(self) -> None:
        response = qs.simulate(single(0.9), "fcfs", jobs=100_000).overall.response_time
        assert math.isnan(response.p999.half_width)
        assert response.p50.half_width > 0
        longer = qs.simulate(single(0.5), "fcfs", jobs=400_000).overall.response_time
        assert longer.p999.half_width > 0

    def test_jain_next_to_one(self) -> None:
        alone = qs.System(1, [qs.JobClass(1, 0.5, qs.Exponential(mean=1.0))])
        assert qs.simulate(alone, "fcfs", jobs=2000).jain_index == qs.Estimate(1.0, 0.0)
        found = qs.simulate(ONE_OR_ALL.with_load(0.5), "msfq", jobs=10_000).jain_index
        assert found.value > 0.97  # exactly 0.9958
        assert math.isnan(found.half_width)


class TestComparison:
    def test_the_difference_to_an_unstable_policy_is_not_a_number(self) -> None:
        gap = qs.difference(UNSTABLE.results[0], UNSTABLE.results[1])
        assert math.isnan(gap.value)
        assert UNSTABLE.best(0) == ("MSF",)

    def test_none_is_best_where_one_that_is_too_short_is_lower(self) -> None:
        """The case of Borg B: the lower value belongs to the run that cannot be trusted."""
        msf, adaptive = qs.compare(FOUR, ["msf", "adaptive-quickswap"], jobs=100_000).results
        assert qs.Comparison((msf, adaptive)).best(0) == ("Adaptive Quickswap",)
        doubtful = replace(
            adaptive, verdict=replace(adaptive.verdict, status=qs.Status("too short"))
        )
        assert qs.Comparison((msf, doubtful)).best(0) == ()

    def test_outcomes(self) -> None:
        above, around = qs.Estimate(2.0, 1.0), qs.Estimate(0.5, 1.0)
        below = qs.Estimate(-2.0, 1.0)
        assert outcome_of(above) is Outcome.WORSE
        assert outcome_of(below) is Outcome.BETTER
        assert outcome_of(around) is Outcome.ALIKE
        assert outcome_of(around, room=2.0) is Outcome.ALIKE
        assert outcome_of(around, room=1.0) is Outcome.INCONCLUSIVE
        assert outcome_of(qs.Estimate(1.0, math.nan)) is Outcome.INCONCLUSIVE
        assert outcome_of(below, "stable", "unstable") is Outcome.BETTER
        assert outcome_of(above, "too short", "stable") is Outcome.INCONCLUSIVE
        assert outcome_of(above, "too short", "stable", floors=(True, False)) is Outcome.WORSE
        assert outcome_of(below, "stable", "too short", floors=(False, True)) is Outcome.BETTER
        assert outcome_of(below, "stable", "too short") is Outcome.INCONCLUSIVE
        assert outcome_of(above, "unstable", "too short") is Outcome.INCONCLUSIVE

    def test_the_best_of_several(self) -> None:
        values = {"a": 1.0, "b": 2.0, "c": 3.0, "d": math.nan}
        stable = dict.fromkeys(values, "stable")

        def worse(one: str, other: str) -> Outcome:
            return Outcome.WORSE if one == "c" else Outcome.ALIKE

        assert best_of(values, stable, worse) == ("a", "b")
        assert best_of(values, stable | {"a": "too short"}, worse) == ()
        assert best_of(values, stable | {"a": "unstable"}, worse) == ("b",)
        assert best_of(values, stable | {"c": "too short"}, worse) == ("a", "b")


VALUES: list[Callable[[], object]] = [
    lambda: UNSTABLE,
    lambda: UNSTABLE.results[0],
    lambda: qs.simulate(FOUR, "msf", jobs=100),
    lambda: qs.sweep(qs.Grid(FOUR, ["msf", "fcfs"], loads=[0.3], jobs=400)).cells,
    lambda: qs.tune(FOUR.with_load(0.3), ["msf", "fcfs"], jobs=100_000),
    lambda: qs.theory.heavy_traffic(single(0.5)),
]


@pytest.mark.parametrize("make", VALUES)
def test_values_with_nan_equal_their_copies(make: Callable[[], object]) -> None:
    value = make()
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
