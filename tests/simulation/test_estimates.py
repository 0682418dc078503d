"""Estimates of a model: the ratio of estimate to size has a distribution for each class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import quickswap as qs
from quickswap.engine._core import ViewedJob
from verification.known import FOUR


class Recorder:
    """First come, first served, which notes the estimates of all jobs."""

    sees_jobs = True

    seen: ClassVar[dict[int, float]] = {}

    def start(self, view: qs.View) -> ViewedJob | None:
        assert view.queue is not None
        self.seen.update((job.number, job.estimate) for job in view.queue)
        first = next(iter(view.queue), None)
        return first if first is not None and first.need <= view.free else None


@pytest.mark.parametrize("arrivals", [qs.Poisson(0.7), qs.Renewal(qs.Deterministic(1.5))])
def test_estimates_of_a_model(arrivals: qs.Arrivals) -> None:
    """They change nothing else."""

    def seen(*estimates: qs.Distribution | None) -> dict[int, float]:
        classes = [
            qs.JobClass(1, size=qs.Exponential(mean=2.0), arrivals=arrivals, estimate=estimate)
            for estimate in estimates
        ]
        Recorder.seen.clear()
        qs.simulate(qs.System(4, classes), Recorder(), jobs=200, replications=1)
        return Recorder.seen.copy()

    sizes, doubled = seen(None, None), seen(qs.Deterministic(2.0), qs.Deterministic(2.0))
    assert {number: 2 * size for number, size in sizes.items()} == doubled
    some = seen(None, qs.Uniform(1.0, 5.0))
    ratios = [some[number] / size for number, size in sizes.items() if number in some]
    exact = sum(ratio == 1 for ratio in ratios)
    assert 60 < exact < len(ratios) - 60
    assert all(1 <= ratio <= 5 for ratio in ratios)
    assert np.mean([ratio for ratio in ratios if ratio != 1]) == pytest.approx(3, abs=0.4)


def test_backfilling_by_estimates_that_are_not_exact() -> None:
    classes = FOUR.classes
    wide = [
        qs.JobClass(each.need, each.arrival_rate, each.size, estimate=qs.Uniform(1.0, 9.0))
        for each in classes
    ]
    one = [
        qs.JobClass(each.need, each.arrival_rate, each.size, estimate=qs.Deterministic(1.0))
        for each in classes
    ]
    runs = [qs.System(FOUR.servers, each) for each in (classes, one, wide)]
    exact, same, other = (qs.simulate(each, "easy", jobs=2000) for each in runs)
    assert exact.mean_response_time == same.mean_response_time
    assert exact.mean_response_time != other.mean_response_time


@pytest.mark.parametrize("estimate", [2.0, "uniform", {}])
def test_what_is_no_distribution(estimate: Any) -> None:
    with pytest.raises(qs.ModelError, match="estimate"):
        qs.JobClass(1, 1.0, qs.Exponential(mean=1.0), estimate=estimate)


def test_a_class_as_a_table() -> None:
    table = FOUR.classes[0].to_dict() | {
        "estimate": {"distribution": "uniform", "low": 1, "high": 5}
    }
    found = qs.JobClass.from_dict(table)
    assert found.estimate == qs.Uniform(1.0, 5.0)
    assert qs.JobClass.from_dict(found.to_dict()) == found
    with pytest.raises(qs.ModelError, match="low of Uniform"):
        qs.JobClass.from_dict(
            table | {"estimate": {"distribution": "uniform", "low": 5, "high": 1}}
        )
