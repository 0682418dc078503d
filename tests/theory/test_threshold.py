"""The best threshold of MSFQ."""

from __future__ import annotations

import pytest

import quickswap as qs
from quickswap import theory


def test_the_example_of_the_theory() -> None:
    best = theory.best_threshold(qs.load("one-or-all").with_rate(5))
    assert best.threshold == 5
    assert best.value == pytest.approx(6.115, abs=5e-4)
    assert best.default == pytest.approx(6.549764618, rel=1e-9)
    assert best.loss == pytest.approx(6.549764618 / best.value - 1)
    assert best.thresholds == tuple(range(33))
    assert min(best.values) == best.value == best.solution.mean_response_time


@pytest.mark.parametrize("drain", ["on_demand", "always"])
@pytest.mark.parametrize("metric", ["mean", "weighted", "max-class", "light", 1])
def test_it_is_the_least_of_all(metric: str | int, drain: str) -> None:
    system = qs.load("one-or-all:k=5").with_load(0.8)
    best = theory.best_threshold(system, metric, drain)
    values = []
    for level in range(6 if drain == "on_demand" else 5):
        solution = theory.msfq.exact(system, level, drain)
        values.append(
            {
                "mean": solution.mean_response_time,
                "weighted": solution.weighted_mean_response_time,
                "max-class": max(each.mean_response_time for each in solution.classes),
                "light": solution.classes[0].mean_response_time,
                1: solution.classes[1].mean_response_time,
            }[metric]
        )
    assert best.values == pytest.approx(values)
    assert best.threshold == values.index(min(values))
    assert best.metric == (system.names[1] if metric == 1 else metric)


def test_with_many_slots_a_part_is_tried_and_finds_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quickswap.theory.threshold.ALL_UP_TO", 8)
    monkeypatch.setattr("quickswap.theory.threshold.GRID", 4)
    system = qs.load("one-or-all:k=24").with_load(0.7)
    some = theory.best_threshold(system)
    every = theory.best_threshold(system, every=True)
    assert some.threshold == every.threshold
    assert some.value == every.value
    assert len(every.thresholds) == 25 > len(some.thresholds)


def test_thresholds_that_cannot_be_solved_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    system = qs.load("one-or-all:k=8").with_load(0.9)
    every = theory.best_threshold(system)
    monkeypatch.setattr("quickswap.theory.msfq.equation.SMALLEST", 5e-3)
    some = theory.best_threshold(system)
    assert 0 < len(some.thresholds) < len(every.thresholds)
    assert set(some.values) <= set(every.values)
    assert some.value == min(some.values)


def test_mistakes() -> None:
    system = qs.load("one-or-all:k=4").with_load(0.5)
    with pytest.raises(qs.QuickswapError, match=r"unknown metric: 'wieghted' .*'weighted'"):
        theory.best_threshold(system, "wieghted")
    with pytest.raises(qs.QuickswapError, match="unknown metric: 2"):
        theory.best_threshold(system, 2)
    with pytest.raises(qs.UnstableError):
        theory.best_threshold(system.with_load(1.01))
    with pytest.raises(qs.ModelError):
        theory.best_threshold(qs.load("four-class"))
