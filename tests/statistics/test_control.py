"""Control variates: narrower intervals that cover as often, and no harm without a relation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import quickswap as qs
from quickswap.statistics.control import FEWEST, controlled, estimated
from quickswap.statistics.estimates import Split, jackknife
from quickswap.statistics.pairing import Totals
from verification.agreement import near, problems
from verification.known import FOUR, one_or_all

SPLIT = Split([16], [4] * 16)


def means(data: Any) -> Any:
    """The mean of each column: of all parts, with a batch left out, with a part left out."""
    counts = SPLIT.whole_and_less(np.ones(len(data)))
    return SPLIT.whole_and_less(data) / counts[:, None]


class TestRegression:
    def test_what_the_control_explains_is_taken_out(self) -> None:
        x = np.random.default_rng(1).normal(size=(64, 1))
        values, control = means(5.0 + 3.0 * x), means(x)
        (plain,), (found,) = (estimated(values, [each], SPLIT) for each in (None, control))
        assert plain.half_width > 0.5
        assert found.value == pytest.approx(5.0)
        assert found.half_width == pytest.approx(0.0, abs=1e-9)

    def test_it_is_invariant_to_the_scale_of_the_control(self) -> None:
        draw = np.random.default_rng(2)
        x = draw.normal(size=(64, 1))
        y = means(x + draw.normal(size=(64, 1)))
        (one,), (other,) = (estimated(y, [means(scale * x)], SPLIT) for scale in (1.0, 1e12))
        assert other.value == pytest.approx(one.value)
        assert other.half_width == pytest.approx(one.half_width)

    def test_intervals_cover_and_a_control_that_explains_nothing_does_no_harm(self) -> None:
        draw, runs = np.random.default_rng(3), 300
        for slope, narrower in ((0.0, 0.97), (1.0, 1.3), (4.0, 3.5)):
            hits, ratios, gaps = 0, [], []
            for _ in range(runs):
                x = draw.normal(size=(64, 1))
                y = means(slope * x + draw.normal(size=(64, 1)))
                (plain,), (found,) = (estimated(y, [each], SPLIT) for each in (None, means(x)))
                hits += found.low <= 0 <= found.high
                ratios.append(plain.half_width / found.half_width)
                gaps.append((plain.value, found.value))
            assert 0.92 <= hits / runs <= 0.985
            assert np.median(ratios) > narrower
            variance = np.var(gaps, axis=0)
            assert variance[1] < variance[0] * 1.06

    def test_no_control_leaves_the_batches_as_they_are(self) -> None:
        values = means(np.random.default_rng(4).normal(size=(64, 2)))
        assert estimated(values, [None, None], SPLIT) == jackknife(values[:17], SPLIT.sizes)

    def test_constant_controls_and_few_parts_are_left_out(self) -> None:
        values = means(np.random.default_rng(5).normal(size=(64, 1)))
        same = controlled(values, np.zeros_like(values), SPLIT)
        assert same == pytest.approx(values[:17])
        few = Split([FEWEST // 4 - 1], [4] * (FEWEST // 4 - 1))
        rows = few.whole_and_less(np.random.default_rng(6).normal(size=(sum(few.parts), 1)))
        assert controlled(rows, rows, few) == pytest.approx(rows[: FEWEST // 4])

    def test_what_is_not_finite_stays(self) -> None:
        values = means(np.random.default_rng(7).normal(size=(64, 2)))
        values[:, 1] = np.inf
        found = controlled(values, means(np.random.default_rng(8).normal(size=(64, 1))), SPLIT)
        assert np.isfinite(found[:, 0]).all()
        assert np.isinf(found[:, 1]).all()


GAINS = [
    ("one-or-all:load=0.77", "msfq", {"jobs": 200_000}, 7.0, 7.0),
    ("one-or-all:load=0.9", "msfq", {"jobs": 500_000}, 12.0, 12.0),
    ("four-class:load=0.8", "adaptive-quickswap", {"jobs": 100_000}, 2.5, 3.5),
    ("four-class:load=0.8", "adaptive-quickswap", {"jobs": 50_000, "engine": "events"}, 2.0, 2.0),
]
"""Model, policy, settings, and how many times smaller both variances are at least."""


class TestSimulations:
    @pytest.mark.parametrize("case", GAINS, ids=lambda case: f"{case[0]}-{case[2]}")
    def test_the_variance_between_runs_is_smaller(self, case: Any) -> None:
        model, policy, settings, *least = case
        names = ("mean_response_time", "weighted_mean_response_time")
        values: dict[bool, list[list[float]]] = {True: [], False: []}
        gains = []
        for seed in range(16):
            for plain in (True, False):
                result = qs.simulate(model, policy, seed=seed, plain_estimates=plain, **settings)
                values[plain].append([getattr(result, name).value for name in names])
            gains.append([result.gains[name] for name in names])
        ratio = np.var(values[True], axis=0) / np.var(values[False], axis=0)
        assert (ratio > least).all(), ratio
        reported = np.median(gains, axis=0)
        assert (reported > ratio / 3).all(), (reported, ratio)
        assert (reported < ratio * 3).all(), (reported, ratio)

    def test_plain_estimates_are_ratios_of_sums(self) -> None:
        plain = qs.simulate(FOUR, "msf", jobs=40_000, plain_estimates=True)
        with_control = qs.simulate(FOUR, "msf", jobs=40_000)
        assert plain.gains == {}
        assert set(with_control.gains) == {"mean_response_time", "weighted_mean_response_time"}
        one, other = plain.utilisation, with_control.utilisation  # not controlled
        assert one.value == pytest.approx(other.value)
        assert one.half_width == pytest.approx(other.half_width)
        assert plain.overall.response_time.p50 == with_control.overall.response_time.p50
        assert plain.mean_response_time != with_control.mean_response_time
        assert plain.completed == with_control.completed

    def test_it_agrees_with_exact_values_for_all_that_is_controlled(self) -> None:
        system = one_or_all(4, 1.35, 0.15)
        exact = qs.theory.msfq.exact(system, 3)
        result = qs.simulate(system, "msfq:threshold=3", jobs=400_000)
        assert result.gains["mean_response_time"] > 2
        checks = [
            near("weighted", result.weighted_mean_response_time, exact.weighted_mean_response_time)
        ]
        for found, known, cls in zip(result.classes, exact.classes, system.classes, strict=True):
            time = known.mean_response_time
            checks += [
                near(f"response of {found.name}", found.mean_response_time, time),
                near(f"wait of {found.name}", found.mean_waiting_time, time - cls.size.mean),
                near(f"number of {found.name}", found.number_in_system, time * cls.arrival_rate),
            ]
        assert problems(checks) == []

    @pytest.mark.filterwarnings("ignore::quickswap.InfiniteVarianceWarning")
    def test_there_is_none_where_the_identity_does_not_hold(self) -> None:
        exponential = qs.Exponential(mean=1.0)
        for job_class in (
            qs.JobClass(1, size=exponential, arrivals=qs.Renewal(qs.Deterministic(2.0))),
            qs.JobClass(1, 0.5, qs.Pareto(1.9, mean=1.0)),
        ):
            result = qs.simulate(qs.System(1, [job_class]), "fcfs", jobs=20_000)
            assert result.gains == {}
            assert result._controls is None

    def test_a_run_that_is_too_short_has_none(self) -> None:
        result = qs.simulate("one-or-all:load=0.95", "msfq", jobs=5000)
        assert result.verdict.status == "too short"
        assert result.gains == {}

    def test_rare_large_sizes_that_have_not_arrived(self) -> None:
        size = qs.LogNormal(mean=1.0, scv=40.0)
        system = qs.System(1, [qs.JobClass(1, 0.3, size)])
        few = qs.simulate(system, "fcfs", jobs=20_000)
        assert few.gains == {}

    def test_a_precision_is_reached_sooner(self) -> None:
        settings: dict[str, Any] = {"precision": 0.05, "precision_of": "weighted"}
        plain = qs.simulate("one-or-all:load=0.9", "msfq", plain_estimates=True, **settings)
        found = qs.simulate("one-or-all:load=0.9", "msfq", **settings)
        assert found.weighted_mean_response_time.relative <= 0.05
        assert found.completed * 4 <= plain.completed


class TestTotals:
    @pytest.mark.parametrize("plain", [True, False])
    def test_they_come_back_bit_by_bit(self, plain: bool) -> None:
        totals = qs.simulate(FOUR, "msf", jobs=20_000, plain_estimates=plain)._totals
        assert totals is not None
        again = Totals.from_bytes(totals.to_bytes())
        assert again.split == totals.split
        for name in ("table", "control"):
            one, other = getattr(totals, name), getattr(again, name)
            assert one.shape == other.shape
            assert one.tobytes() == other.tobytes()
        assert (again.controls() is None) == plain
