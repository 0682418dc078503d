"""The approximation of Static Quickswap against MSFQ, polling and reference values."""

from __future__ import annotations

import re

import numpy as np
import pytest

import quickswap as qs
from quickswap.theory import classical, msfq, static_quickswap


def system(servers: int, *classes: tuple[int, float, float]) -> qs.System:
    """A system from (need, arrival rate, mean size) of each class."""
    return qs.System(
        servers, [qs.JobClass(n, rate, qs.Exponential(mean=mean)) for n, rate, mean in classes]
    )


@pytest.mark.parametrize(("rate", "mean"), [(4.0, 12.516), (4.75, 44.92)])
def test_reference_values_of_the_four_classes(rate: float, mean: float) -> None:
    found = static_quickswap.approximate(qs.load("four-class").with_rate(rate))
    assert found.mean_response_time == pytest.approx(mean, rel=3e-4)
    assert found.thresholds == (14, 4, 2, 0)
    assert found.order == (3, 2, 1, 0)


@pytest.mark.parametrize("load", [0.9, 0.999, 0.99999])
def test_on_one_or_all_it_is_msfq(load: float) -> None:
    within = 1e-12 if load < 0.9999 else 1e-10  # the variance feeds back by all but 1 - load
    for light, heavy in ((1.0, 1.0), (3.0, 0.2), (1e-3, 1e3)):
        rates = load * 0.6 * 8 / light, load * 0.4 / heavy
        for threshold in (0, 3, 7):
            one = system(8, (1, rates[0], light), (8, rates[1], heavy))
            other = msfq.approximate(one, threshold)
            for order in ([0, 1], [1, 0]):
                found = static_quickswap.approximate(one, [threshold, 0], order)
                for a, b in zip(found.classes, other.classes, strict=True):
                    assert a.mean_response_time == pytest.approx(b.mean_response_time, rel=within)
                assert found.cycle == pytest.approx(other.cycle, rel=1e-13)
                assert found.away[0].variance == pytest.approx(other.y.variance, rel=within)
                assert found.away[1].variance == pytest.approx(other.x.variance, rel=within)


def test_takes_what_the_policy_takes() -> None:
    four = qs.load("four-class")
    found = static_quickswap.approximate(four, threshold=9)
    assert found.thresholds == (9, 3, 1, 0)
    assert found == static_quickswap.approximate(four, [9, 3, 1, 0], ["need 15", 2, 1, 0])
    other = static_quickswap.approximate(four, order=[0, 3, 1, 2])
    assert other.mean_response_time == pytest.approx(
        static_quickswap.approximate(four).mean_response_time, rel=0.02
    )


def test_a_cycle_may_begin_anywhere() -> None:
    four = qs.load("four-class")
    found = [
        static_quickswap.approximate(four, order=order)
        for order in ([3, 1, 2, 0], [1, 2, 0, 3], [0, 3, 1, 2])
    ]
    for other in found[1:]:
        for a, b in zip(found[0].classes, other.classes, strict=True):
            assert a.mean_response_time == pytest.approx(b.mean_response_time, rel=1e-12)


def test_the_order_of_the_classes_in_the_system_does_not_matter() -> None:
    classes = [(1, 2.0, 1.0), (4, 0.5, 0.8), (10, 0.25, 1.5)]
    one = static_quickswap.approximate(system(10, *classes))
    other = static_quickswap.approximate(system(10, *classes[::-1]))
    times = [each.mean_response_time for each in one.classes]
    assert [each.mean_response_time for each in other.classes] == pytest.approx(times[::-1])


def test_needs_that_do_not_divide_count_whole_slots() -> None:
    uneven = static_quickswap.approximate(system(11, (2, 3.6, 1.0), (5, 0.3, 1.0)))
    even = static_quickswap.approximate(system(10, (2, 3.6, 1.0), (5, 0.3, 1.0)))
    for a, b in zip(uneven.classes, even.classes, strict=True):
        assert a.mean_response_time == pytest.approx(b.mean_response_time, rel=1e-13)


def test_one_at_a_time_it_is_polling_without_switchover() -> None:
    """No approximation is left: it must obey the conservation law."""
    rates, means, needs = [0.2, 0.3, 0.1], [1.0, 0.7, 3.0], [3, 4, 5]
    one = system(5, *zip(needs, rates, means, strict=True))
    found = static_quickswap.approximate(one)
    assert found.cycle == 0
    waits = [
        rate * mean * (each.mean_response_time - mean)
        for rate, mean, each in zip(rates, means, found.classes, strict=True)
    ]
    sizes = [qs.Exponential(mean=mean) for mean in means]
    assert sum(waits) == pytest.approx(classical.polling_waiting_work(rates, sizes), rel=1e-12)


def test_two_equal_queues_one_at_a_time_share_the_waiting() -> None:
    found = static_quickswap.approximate(system(3, (2, 0.3, 1.0), (3, 0.3, 1.0)))
    both = classical.mg1(0.6, qs.Exponential(mean=1.0))
    for each in found.classes:
        assert each.mean_response_time == pytest.approx(both.mean_response_time, rel=1e-12)


def test_one_class_one_at_a_time_is_a_plain_queue() -> None:
    found = static_quickswap.approximate(system(1, (1, 0.8, 1.0)))
    assert found.mean_response_time == pytest.approx(5.0, rel=1e-13)


def test_one_class_is_at_best_a_plain_queue() -> None:
    rate = 7.9
    plain = classical.mmk(8, rate, 1.0).mean_response_time
    found = static_quickswap.approximate(system(8, (1, rate, 1.0)))
    assert plain < found.mean_response_time < 1.6 * plain
    with pytest.raises(qs.ModelError, match="at no arrival rate"):
        static_quickswap.approximate(system(8, (1, rate, 1.0)), threshold=0)


def test_the_variance_is_a_fixed_point_of_the_visits() -> None:
    """Cycle after cycle from an arbitrary start, by simulating moments only, ends there."""
    classes = [(1, 2.6, 1.0), (2, 0.8, 1.0), (6, 0.2, 1.0)]
    one = system(6, *classes)
    found = static_quickswap.approximate(one)
    n = len(classes)
    covariance = np.zeros((2 * n, 2 * n))
    for _ in range(400):
        for i in found.order:
            need, rate, mean = classes[i]
            speed = 6 // need / mean
            busy, second = 1 / (speed - rate), (speed + rate) / (speed - rate) ** 3
            weight = np.ones(2 * n)
            weight[i] = 0
            away = found.cycle - found.working[i].mean
            step = np.eye(2 * n)
            step[i] = rate * busy * weight
            step[n + i] = 0
            assert found.away[i].mean == pytest.approx(away)
            reached = weight @ covariance @ weight
            covariance = step @ covariance @ step.T
            noise = found.waiting[i].mean - (6 // need - 1)
            covariance[i, i] += noise * second + busy**2 * rate * away
            covariance[n + i, n + i] = found.drains[i].variance
    assert found.away[i].variance == pytest.approx(reached, rel=1e-10)


def test_below_its_range_it_says_where_the_range_begins() -> None:
    four = qs.load("four-class").with_rate(1.0)
    with pytest.raises(qs.ModelError, match="jobs of class 'need 1'") as rejected:
        static_quickswap.approximate(four)
    start = float(re.search(r"rate of (\S+) on", str(rejected.value))[1])  # type: ignore[index]  # no match fails as well
    assert 1 < start < 5
    static_quickswap.approximate(four.with_rate(start))
    with pytest.raises(qs.ModelError):
        static_quickswap.approximate(four.with_rate(start * (1 - 3e-5)))


def test_borg_is_covered_at_high_load() -> None:
    borg = qs.load("borg-b")
    found = static_quickswap.approximate(borg.with_rate(4.8))
    assert found.weighted_mean_response_time > 1e5
    with pytest.raises(qs.ModelError, match="holds from an arrival rate of 4"):
        static_quickswap.approximate(borg.with_rate(4.0))


def test_mistakes_get_one_sentence() -> None:
    four = qs.load("four-class")
    with pytest.raises(qs.UnstableError, match="below 5"):
        static_quickswap.approximate(four.with_rate(5.0))
    uneven = system(10, (3, 0.4, 1.0), (4, 0.6, 1.0)).with_load(0.97)  # more than whole slots carry
    with pytest.raises(qs.UnstableError, match="sum of rate x mean size"):
        static_quickswap.approximate(uneven)
    with pytest.raises(qs.PolicyError, match="it must be 4, one for each class"):
        static_quickswap.approximate(four, [1, 2])
    with pytest.raises(qs.PolicyError, match="from 0 to 14"):
        static_quickswap.approximate(four, [15, 0, 0, 0])
    with pytest.raises(qs.PolicyError, match="not both"):
        static_quickswap.approximate(four, [1, 0, 0, 0], threshold=3)
    with pytest.raises(qs.PolicyError, match="an order of all 4 classes"):
        static_quickswap.approximate(four, order=[0, 1, 2])
    distributions = qs.System(
        2, [qs.JobClass(1, 1, qs.Uniform(0, 1)), qs.JobClass(2, 0.1, qs.Uniform(0, 1))]
    )
    with pytest.raises(qs.ModelError, match="exponential sizes"):
        static_quickswap.approximate(distributions)
