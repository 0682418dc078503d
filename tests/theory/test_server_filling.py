"""ServerFilling: the exact solution against its limits, and the published value at large load."""

from __future__ import annotations

import pytest

import quickswap as qs
from quickswap.theory import classical, server_filling


def system(servers: int, light: tuple[float, float], heavy: tuple[float, float]) -> qs.System:
    """A one-or-all system from (arrival rate, mean size) of both classes."""
    rows = ((1, light), (servers, heavy))
    classes = [qs.JobClass(n, rate, qs.Exponential(mean=mean)) for n, (rate, mean) in rows]
    return qs.System(servers, classes)


def test_reference_values() -> None:
    found = server_filling.exact(system(4, (1.35, 1.0), (0.15, 1.0)))
    times = [*(each.mean_response_time for each in found.classes), found.mean_response_time]
    assert times == pytest.approx((1.46857991, 1.29189934, 1.45091186), abs=6e-9)


def test_exact_with_one_class_only_is_a_plain_queue() -> None:
    found = server_filling.exact(system(16, (14.0, 1.0), (1e-7, 1.0)))
    plain = classical.mmk(16, 14.0, 1.0).mean_response_time
    assert found.classes[0].mean_response_time == pytest.approx(plain, rel=1e-5)
    found = server_filling.exact(system(16, (1e-7, 1.0), (0.9, 1.0)))
    assert found.classes[1].mean_response_time == pytest.approx(10.0, rel=1e-5)


@pytest.mark.parametrize("light", [1.0, 5.0, 1e-3])
def test_exact_tends_to_the_published_value(light: float) -> None:
    one = system(8, (3.0 / light, light), (0.5, 1.0))
    ratios = []
    for gap in (1e-3, 1e-4):
        near = one.with_load(1 - gap)
        ratios.append(
            server_filling.exact(near).mean_response_time / server_filling.large_load(near)
        )
    assert ratios[1] == pytest.approx(1, abs=0.01)
    assert abs(ratios[1] - 1) < 0.2 * abs(ratios[0] - 1)


def test_the_published_value_counts_work_not_time() -> None:
    """Lights of 1/8 of the servers and heavies of all, each the same work: M/G/1 with that size."""
    one = qs.System(
        8,
        [
            qs.JobClass(1, 0.4, qs.Deterministic(8.0)),
            qs.JobClass(8, 0.4, qs.Deterministic(1.0)),
        ],
    )
    assert server_filling.large_load(one) == pytest.approx(0.5 / 0.2)


def test_exact_keeps_the_work_of_a_queue_of_one_server() -> None:
    """While fewer than k jobs are lost to idle servers the rest is M/G/1: a bound from below."""
    one = system(8, (3.0, 1.0), (0.5, 1.0)).with_load(0.9)
    found = server_filling.exact(one)
    light, heavy = one.classes
    pooled = light.arrival_rate / 64 + heavy.arrival_rate
    work = pooled / (1 - one.load)  # lambda E[S^2] / 2 / (1 - rho)
    present = [each.number_in_system for each in found.classes]
    assert present[0] / 8 + present[1] > work
    assert present[0] / 8 + present[1] < work + 7 / 8


def test_mistakes_get_one_sentence() -> None:
    with pytest.raises(qs.UnstableError, match="load must be below 1"):
        server_filling.exact(qs.load("one-or-all:load=1.01"))
    with pytest.raises(qs.ModelError, match="two classes"):
        server_filling.exact(qs.load("four-class"))
    with pytest.raises(qs.UnstableError, match="load must be below 1"):
        server_filling.large_load(qs.load("one-or-all:load=1.01"))
    for other in (
        qs.System(6, [qs.JobClass(4, 0.1, qs.Exponential(mean=1.0))]),
        qs.System(8, [qs.JobClass(1, 0.1, qs.LogNormal(mean=1.0, scv=2.0))]),
    ):
        with pytest.raises(qs.ModelError, match="divide each other"):
            server_filling.large_load(other)
