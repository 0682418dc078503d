"""The Gittins rank against what is known about it, and ServerFilling in its order."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

import quickswap as qs
from quickswap.engine._core import replay
from quickswap.policies.gittins import STEP, ranks
from verification.known import FOUR

HYPER = qs.Hyperexponential(mean=1, scv=8)


def rank(size: qs.Distribution, age: float) -> float:
    """The rank at an age by the table; a rank that rises is that of the age before."""
    table = ranks(size)
    at = int(np.searchsorted(table["ages"], age, side="right")) - 1
    steps = table["ranks"][at : at + 2]
    if len(steps) == 2 and steps[1] < steps[0]:
        return float(np.interp(age, table["ages"], table["ranks"]))
    return steps[0]


def test_the_rank_is_the_mean_for_exponential_sizes() -> None:
    assert ranks(qs.Exponential(mean=3)) == {"ages": [0.0], "ranks": [3.0]}


@pytest.mark.parametrize("age", [0.0, 0.3, 1.7])
def test_the_rank_is_the_mean_remaining_size_if_that_falls(age: float) -> None:
    assert rank(qs.Deterministic(2), age) == pytest.approx(2 - age)
    assert rank(qs.Uniform(0, 2), age) == pytest.approx((2 - age) / 2, rel=STEP)


@pytest.mark.parametrize("age", [0.0, 0.5, 2.0, 8.0])
def test_the_rank_is_one_over_a_hazard_rate_that_falls(age: float) -> None:
    step = 1e-5
    hazard = (HYPER.sf(age) - HYPER.sf(age + step)) / step / HYPER.sf(age)
    assert rank(HYPER, age) == pytest.approx(1 / hazard, rel=2 * STEP)


def test_the_rank_falls_before_each_of_two_sizes() -> None:
    """Sizes 1 and 10 with equal probabilities: serve up to 1, then to the end."""
    size = qs.Empirical([1.0, 10.0])
    assert rank(size, 0.0) == pytest.approx(2.0)  # 1 / P(S = 1), below the mean of 5.5
    assert rank(size, 0.5) == pytest.approx(1.0)
    assert rank(size, 1.0) == pytest.approx(9.0)
    assert rank(size, 9.5) == pytest.approx(0.5)


def ends(order: str, system: qs.System, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    draw = np.random.default_rng(5)
    arrival = np.cumsum(draw.exponential(1 / system.arrival_rate, len(sizes)))
    cls = np.arange(len(sizes), dtype=np.uint32) % len(system.needs)
    policy = qs.ServerFilling(order).resolve(system)
    spec = json.dumps({"system": system.to_dict(), "policy": policy})
    found: NDArray[np.float64] = replay(spec, arrival, cls, sizes)[1]
    return found


def test_deterministic_sizes_are_in_the_order_of_srpt() -> None:
    means = (1.0, 2.0, 0.7, 0.4)
    pairs = zip(FOUR.needs, means, strict=True)
    system = qs.System(15, [qs.JobClass(n, 0.7, qs.Deterministic(mean)) for n, mean in pairs])
    sizes = np.tile(means, 1000)
    assert np.array_equal(ends("gittins", system, sizes), ends("srpt", system, sizes))
    assert not np.array_equal(ends("gittins", system, sizes), ends("arrival", system, sizes))


def test_equal_ranks_are_in_the_order_of_arrival() -> None:
    """Exponential sizes for which need times mean size is the same in all classes."""
    classes = [qs.JobClass(n, 0.2 * n, qs.Exponential(mean=1 / n)) for n in (1, 2, 4, 8)]
    sizes = np.random.default_rng(6).exponential(1, 4000) / np.tile([1, 2, 4, 8], 1000)
    system = qs.System(8, classes)
    assert np.array_equal(ends("gittins", system, sizes), ends("arrival", system, sizes))


def test_least_age_first_on_one_server() -> None:
    """The M/G/1 queue with a falling hazard rate, against the formula of the foreground-background
    queue: the mean response time of size x is (lambda m_2(x) / 2 / (1 - rho) + x) / (1 - rho),
    with the load rho and the second moment m_2 of sizes cut at x.
    """
    rate, x = 0.7, np.linspace(0, 10, 20_001) ** 2
    tail = np.array([HYPER.sf(float(each)) for each in x])
    steps = np.diff(x)
    rho, work = (
        rate * np.append(0, np.cumsum(steps * (each[1:] + each[:-1]) / 2))
        for each in (tail, x * tail)
    )
    response = (work / (1 - rho) + x) / (1 - rho)
    mean = float(((response[1:] + response[:-1]) / 2 * -np.diff(tail)).sum())
    system = qs.System(1, [qs.JobClass(1, rate, HYPER)])
    result = qs.simulate(system, "server-filling:order=gittins", jobs=150_000, seed=4)
    found = result.mean_response_time
    assert abs(found.value - mean) < 2 * found.half_width
    assert found.half_width < 0.05 * mean
