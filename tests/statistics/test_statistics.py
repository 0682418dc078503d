"""Known answers, coverage of the intervals, and what they are made of."""

from __future__ import annotations

import math
import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from scipy import stats

import quickswap as qs
from quickswap.engine.columns import METRICS
from quickswap.statistics.estimates import QUANTILES, jackknife, mser5
from quickswap.statistics.quantities import OVERALL, RATES, SUMMARIES, ClassResult, ModelQuantities
from verification.agreement import coverage, mean_again, near, problems
from verification.known import EXACT, GOLDEN, Known, one_or_all
from verification.systems import mixed, single

Estimate = qs.Estimate
BOTH = [
    (known, engine)
    for known in EXACT
    for engine in ("jumps", "events")
    if engine == "events" or not known.policy.preemptive
]


def test_every_estimate_of_a_result_is_defined() -> None:
    estimates = [each.name for each in fields(ModelQuantities) if each.type == "Estimate"]
    assert estimates == list(OVERALL)
    for each in OVERALL.values():
        assert (each.of_responses is None) != (each.of_areas is None)
    of_a_class = ClassResult.__struct_fields__[3:]  # after name, need and jobs
    assert of_a_class == (*SUMMARIES, *RATES)
    assert SUMMARIES == METRICS


def jobs_for(known: Known) -> int:
    """Enough for a relative half-width below a tenth."""
    if known.system.load < 0.5 and known.system.servers < 32:
        return 100_000
    return 2_000_000 if known.system.arrival_rate == 7 else 400_000


@pytest.mark.parametrize(("known", "engine"), BOTH, ids=lambda x: getattr(x, "label", x))
def test_exact_values(known: Known, engine: str) -> None:
    result = qs.simulate(known.system, known.policy, jobs=jobs_for(known), engine=engine, seed=11)
    checks = [near("all", result.mean_response_time, known.mean)]
    for each, value in zip(result.classes, known.classes or (), strict=True):
        checks.append(near(each.name, each.mean_response_time, value))
    assert problems(checks) == []
    assert result.mean_response_time.relative < 0.12
    assert result.verdict.status == "stable"


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.label)
def test_goldens(golden: Known) -> None:
    jobs = 8_000_000 if golden.system.servers == 32 else 400_000
    result = qs.simulate(golden.system, golden.policy, jobs=jobs, seed=7)
    mean, width = result.mean_response_time, golden.half_width[0]
    checks = [near("mean", mean, golden.mean, width)]
    if golden.weighted is not None:
        ours = result.weighted_mean_response_time
        # the golden has none for the weighted mean: it is to ours as those of the means are
        theirs = ours.half_width * width / mean.half_width
        checks.append(near("weighted", ours, golden.weighted, theirs))
    assert problems(checks) == []


UNIT = qs.Exponential(mean=1.0)
COVERED: list[tuple[str, qs.System, qs.Policy, float, dict[str, Any]]] = [
    (
        *("few events", one_or_all(4, 1.35, 0.15), qs.MSFQ(3), 1.786182958),
        {"engine": "events", "jobs": 20_000},
    ),
    (
        *("one replication", mixed(32, [(1, 1.0, 1.0)], 0.875), qs.FirstFit(), 1.0907520144),
        {"engine": "jumps", "jobs": 40_000, "replications": 1},
    ),
    (
        *("load .9", single(0.9), qs.FCFS(), 0.0),
        {"engine": "jumps", "jobs": 40_000},
    ),
]


def single_server_mean(system: qs.System) -> float:
    """Mean response time of one server in order of arrival: Pollaczek and Khinchin."""
    second = sum(each.arrival_rate * 2 * each.size.mean**2 for each in system.classes)
    mean_size = system.load / system.arrival_rate
    return second / (2 * (1 - system.load)) + mean_size


@pytest.mark.parametrize("case", COVERED, ids=lambda case: case[0])
def test_coverage(case: tuple[str, qs.System, qs.Policy, float, dict[str, Any]]) -> None:
    """Of 400 intervals of 95 %, 380 hold the value; 92 to 98 % is 2.75 standard deviations."""
    _, system, policy, target, settings = case

    first = qs.simulate(system, policy, seed=0, **settings)
    again, mean = mean_again(first, 0), first.mean_response_time
    assert again.value == pytest.approx(mean.value)
    assert not first.stable or again.half_width == pytest.approx(mean.half_width)

    def estimate(seed: int) -> Estimate:
        return mean_again(first, seed)

    share = coverage(estimate, target or single_server_mean(system))
    assert 0.92 <= share <= 0.98


class TestJackknife:
    def leave_one_out(self, data: Any) -> Any:
        total = data.sum(axis=0)
        return np.concatenate([total[None], total - data])

    def means(self, data: Any) -> Any:
        """The mean of all, then with one left out, as a column."""
        counts = np.array([len(data), *[len(data) - 1] * len(data)])
        return (self.leave_one_out(data) / counts)[:, None]

    def test_of_independent_replications_it_is_students_interval(self) -> None:
        data = np.random.default_rng(1).normal(5.0, 2.0, 12)
        (found,) = jackknife(self.means(data), [1] * 12)
        assert found.value == pytest.approx(data.mean())
        width = stats.t.ppf(0.975, 11) * data.std(ddof=1) / math.sqrt(12)
        assert found.half_width == pytest.approx(width)

    def test_of_a_ratio_it_has_the_known_error(self) -> None:
        """Delta method: the variance of x/y is that of (x - ratio y)/E[y], to first order."""
        draw = np.random.default_rng(2)
        y = draw.uniform(0.9, 1.1, 400)
        x = 3 * y + draw.normal(0, 0.1, 400)
        sums = self.leave_one_out(np.stack([x, y], axis=1))
        (found,) = jackknife(sums[:, :1] / sums[:, 1:], [1] * 400)
        ratio = x.sum() / y.sum()
        error = (x - ratio * y).std(ddof=1) / y.mean() / 20
        assert found.value == pytest.approx(ratio)
        assert found.half_width == pytest.approx(stats.t.ppf(0.975, 399) * error, rel=0.01)

    def test_a_constant_ratio_is_certain(self) -> None:
        y = np.arange(1.0, 9.0)
        sums = self.leave_one_out(np.stack([3 * y, y], axis=1))
        (found,) = jackknife(sums[:, :1] / sums[:, 1:], [4, 4])
        assert found.value == pytest.approx(3.0)
        assert found.half_width == pytest.approx(0.0, abs=1e-12)

    def test_one_batch_tells_nothing_of_the_error(self) -> None:
        (found,) = jackknife(np.array([[2.0], [math.nan]]), [1])
        assert found.value == 2.0
        assert math.isnan(found.half_width)

    @pytest.mark.parametrize(("correlation", "least"), [(0.0, 0.94), (0.3, 0.90)])
    def test_coverage_of_a_normal_mean(self, correlation: float, least: float) -> None:
        """Batches may be an autoregressive series; it costs little coverage."""
        draw, hits, runs = np.random.default_rng(3), 0, 2000
        for _ in range(runs):
            noise = draw.normal(size=40)
            series = [0.0]
            for each in noise:
                series.append(correlation * series[-1] + each)
            (found,) = jackknife(self.means(np.array(series[-16:])), [16])
            hits += found.low <= 0 <= found.high
        assert least <= hits / runs <= 0.985


class TestMSER5:
    def test_the_cut_is_where_the_transient_ends(self) -> None:
        series = np.tile(np.repeat([9.0, 11.0], 5), 30)
        series[:40] += 50
        assert mser5(series) == 40

    def test_a_steady_series_is_kept(self) -> None:
        assert mser5(np.full(100, 3.0)) == 0

    def test_at_most_half_is_cut(self) -> None:
        assert mser5(np.arange(200.0)[::-1]) <= 100
        assert mser5(np.concatenate([np.full(180, 99.0), np.zeros(20)])) <= 100

    @pytest.mark.parametrize("length", [0, 1, 4, 9])
    def test_short_series_are_kept(self, length: int) -> None:
        assert mser5(np.arange(float(length))) == 0


def test_percentiles_of_a_system_without_queue_are_those_of_the_sizes() -> None:
    system = qs.System(1000, [qs.JobClass(1, 10.0, qs.Exponential(mean=2.0))])
    response = qs.simulate(system, "fcfs", jobs=200_000).overall.response_time
    found = (response.p50, response.p90, response.p99, response.p999)
    targets = [-2.0 * math.log(1 - level) for level in QUANTILES]
    checks = [near(str(t), e, t) for e, t in zip(found, targets, strict=True)]
    checks += [near("mean", response.mean, 2.0), near("deviation", response.std, 2.0)]
    assert problems(checks) == []
    assert all(each.relative < 0.06 for each in found)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(1.786182, 0.0543), "1.786 ± 0.054"),
        (Estimate(123456.0, 20.0), "123,456 ± 20"),
        (Estimate(0.5, 0.4), "0.50 ± 0.40"),
        (Estimate(144.3, 1400.0), "140 ± 1,400"),
        (Estimate(3.6, 1400.0), "4 ± 1,400"),
        (Estimate(-0.3, 1400.0), "0 ± 1,400"),
        (Estimate(2.82, 3.7), "2.8 ± 3.7"),
        (Estimate(0.0, 12.0), "0 ± 12"),
        (Estimate(2.0, 0.0), "2"),
        (Estimate(2.0, math.nan), "2.00 ± ?"),
        (Estimate(0.02059, math.nan), "0.0206 ± ?"),
        (Estimate(0.0, math.nan), "0 ± ?"),
        (Estimate(math.nan, math.nan), "-"),
        (Estimate(math.inf, 0.0), "infinite"),
    ],
)
def test_how_an_estimate_is_written(estimate: Estimate, text: str) -> None:
    assert str(estimate) == text


def test_estimates_without_a_value_are_equal() -> None:
    nan = float("nan")  # not the same object as math.nan
    assert Estimate(nan, 1.0) == Estimate(math.nan, 1.0) != Estimate(math.nan, 2.0)
    assert len({Estimate(nan, nan), Estimate(math.nan, math.nan)}) == 1
    assert pickle.loads(pickle.dumps(Estimate(1.0, nan))) == Estimate(1.0, math.nan)


def test_ends_and_relative_half_width() -> None:
    estimate = Estimate(4.0, 1.0)
    assert (estimate.low, estimate.high, estimate.relative) == (3.0, 5.0, 0.25)
    assert Estimate(0.0, 1.0).relative == math.inf
    assert Estimate(1.0, math.nan).relative == math.inf
    assert Estimate(-2.0, 1.0).relative == 0.5


def test_percentiles_of_equal_response_times_hold_them() -> None:
    system = qs.System(100, [qs.JobClass(1, 1.0, qs.Deterministic(1.0))])
    response = qs.simulate(system, "fcfs", jobs=2_000).overall.response_time
    for each in (response.p50, response.p90):
        assert each.low <= 1.0 * (1 + 1e-9)
        assert each.high >= 1.0
