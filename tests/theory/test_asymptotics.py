"""Heavy traffic: the approximations tend to the limits, and what the threshold saves."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

import quickswap as qs
from quickswap.theory import classical, msfq, static_quickswap
from quickswap.theory.asymptotics import heavy_traffic


def test_msf_and_msfq_differ_by_a_factor_of_twenty() -> None:
    system = qs.load("one-or-all")
    msf, best = heavy_traffic(system, threshold=0), heavy_traffic(system, threshold=31)
    assert msf.mean_response_time / best.mean_response_time == pytest.approx(20.5, abs=0.05)


@pytest.mark.parametrize("k", [2, 3, 8, 32])
def test_least_is_lost_by_the_two_highest_thresholds(k: int) -> None:
    system = qs.load(f"one-or-all:k={k}")
    lost = [heavy_traffic(system, threshold=threshold).lost for threshold in range(k)]
    assert lost[-1] == pytest.approx(lost[-2], rel=1e-12)
    assert all(more > less for more, less in pairwise(lost[:-1]))
    assert lost[-1] == pytest.approx(sum(1 / j for j in range(1, k)) - (k - 1) / k)


@pytest.mark.parametrize("threshold", [0, 7, 31])
def test_msfq_tends_to_the_limit(threshold: int) -> None:
    system = qs.load("one-or-all:p1=.8")
    limit = heavy_traffic(system, threshold=threshold)
    errors = []
    for load in (0.999, 0.9999):
        found = msfq.approximate(system.with_load(load), threshold)
        pairs = zip(found.classes, limit.classes, strict=True)
        errors.append(
            [
                (1 - load) * each.mean_response_time / target.mean_response_time - 1
                for each, target in pairs
            ]
        )
        assert (1 - load) * found.cycle == pytest.approx(limit.lost, rel=3 * (1 - load) + 0.01)
    for near, nearer in zip(*errors, strict=True):
        assert abs(nearer) < 1e-3
        assert nearer == pytest.approx(near / 10, rel=0.02)


def test_static_quickswap_tends_to_the_limit() -> None:
    classes = [(1, 2.0, 1.0), (4, 0.5, 0.8), (10, 0.25, 1.5)]
    system = qs.System(
        11, [qs.JobClass(n, rate, qs.Exponential(mean=mean)) for n, rate, mean in classes]
    )
    for thresholds in (None, [3, 0, 0]):
        limit = heavy_traffic(system, thresholds)
        errors = []
        for load in (0.999, 0.9999):
            near = limit.system.with_rate(load * limit.system.arrival_rate)
            found = static_quickswap.approximate(near, thresholds)
            errors.append(
                [
                    (1 - load) * each.number_in_system / target.number_in_system - 1
                    for each, target in zip(found.classes, limit.classes, strict=True)
                ]
            )
        for near_error, nearer_error in zip(*errors, strict=True):
            assert abs(nearer_error) < 1e-3
            assert nearer_error == pytest.approx(near_error / 10, rel=0.03)


def test_the_rates_are_those_at_load_one_whatever_was_given() -> None:
    low, high = (heavy_traffic(qs.load(f"four-class:rate={rate}")) for rate in (0.1, 5.0))
    assert low.system.arrival_rate == pytest.approx(5.0)
    assert low.mean_response_time == pytest.approx(high.mean_response_time, rel=1e-12)
    assert low.thresholds == (14, 4, 2, 0)


def test_one_class_tends_to_a_plain_queue() -> None:
    system = qs.System(8, [qs.JobClass(2, 1.0, qs.Exponential(mean=3.0))])
    limit = heavy_traffic(system)
    assert math.isnan(limit.lost)
    plain = classical.mmk(4, 4 / 3 * (1 - 1e-6), 3.0).mean_response_time
    assert limit.mean_response_time == pytest.approx(1e-6 * plain, rel=1e-4)
    near = static_quickswap.approximate(limit.system.with_rate(4 / 3 * (1 - 1e-6)))
    assert limit.mean_response_time == pytest.approx(1e-6 * near.mean_response_time, rel=1e-4)


def test_mistakes_get_one_sentence() -> None:
    system = qs.load("one-or-all")
    with pytest.raises(qs.PolicyError, match="from 0 to 32"):
        heavy_traffic(system, threshold=33)
    with pytest.raises(qs.PolicyError, match="from 0 to 31"):
        heavy_traffic(system, [32, 0])
    distributions = qs.System(
        2, [qs.JobClass(1, 1, qs.Uniform(0, 1)), qs.JobClass(2, 1, qs.Uniform(0, 1))]
    )
    with pytest.raises(qs.ModelError, match="exponential sizes"):
        heavy_traffic(distributions)
