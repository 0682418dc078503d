"""Confidence levels and percentiles of choice, and the distribution that percentiles form."""

from __future__ import annotations

import math
from typing import Any

import pytest

import quickswap as qs

QUEUE = qs.System(1, [qs.JobClass(1, 0.5, qs.Exponential(mean=1.0), name="only")])
"""M/M/1: the response time is exponential with rate 0.5."""
LEVELS = tuple(range(5, 100, 5))


def run(**settings: Any) -> qs.Result:
    return qs.simulate(QUEUE, "fcfs", **({"jobs": 40_000} | settings))


def test_a_confidence_level_changes_intervals_and_nothing_else() -> None:
    found = {level: dict(estimates(run(confidence=level))) for level in (0.9, 0.95, 0.99)}
    assert found[0.95] == dict(estimates(run()))
    for name, usual in found[0.95].items():
        low, high = found[0.9][name], found[0.99][name]
        assert low.value == usual.value == high.value or math.isnan(usual.value)
        if usual.half_width > 0:
            assert low.half_width < usual.half_width < high.half_width, name
        else:  # exact, or not to be trusted at any level
            assert low == usual == high, name


def test_intervals_have_the_requested_coverage() -> None:
    runs, level = 60, 0.8
    means = [run(confidence=level, seed=seed, jobs=20_000, threads=1) for seed in range(runs)]
    missed = sum(not each.mean_response_time.contains(2.0) for each in means)
    expected = runs * (1 - level)
    assert abs(missed - expected) <= 4 * math.sqrt(expected * level)


def test_differences_have_the_confidence_of_their_results() -> None:
    def difference(first: float, second: float) -> qs.Estimate:
        one, other = (
            qs.simulate("four-class", policy, jobs=20_000, engine="events", confidence=level)
            for policy, level in (("msf", first), ("adaptive-quickswap", second))
        )
        return qs.difference(one, other)

    assert difference(0.8, 0.8).half_width < difference(0.99, 0.99).half_width
    with pytest.raises(qs.QuickswapError, match="cannot be paired"):
        difference(0.8, 0.99)


def test_percentiles_of_choice_are_those_of_the_distribution() -> None:
    summary = run(percentiles=LEVELS, jobs=200_000).response_time
    for level in LEVELS:
        found = summary.percentile(level)
        exact = -math.log(1 - level / 100) / 0.5
        # twice the 95 % half-width is four standard errors
        assert abs(found.value - exact) <= 2 * found.half_width, level
    assert summary.percentile(50) == summary.p50
    assert summary.percentile(99.9) == summary.p999


def test_the_percentiles_form_the_distribution_function() -> None:
    frame = run(percentiles=LEVELS).response_time.cdf()
    assert frame.columns == ["value", "probability", "half_width"]
    levels = sorted({*LEVELS, 50, 90, 99, 99.9})
    assert frame["probability"].to_list() == pytest.approx([each / 100 for each in levels])
    assert frame["value"].is_sorted()
    assert len(run()["only"].waiting_time.cdf()) == 4


def test_a_percentile_that_few_jobs_exceed_has_no_interval() -> None:
    found = run(percentiles=[0.01, 99.99], jobs=20_000).response_time
    for level in (0.01, 99.99):
        assert math.isnan(found.percentile(level).half_width)
        assert math.isfinite(found.percentile(level).value)


def test_a_percentile_that_is_not_estimated_is_an_error() -> None:
    with pytest.raises(qs.QuickswapError, match="95") as error:
        run().response_time.percentile(95)
    assert error.value.allowed == "50, 90, 99, 99.9"
    assert "percentiles" in error.value.advice


@pytest.mark.parametrize("given", [(50, 97.5), [97.5, 50, 50], "50,97.5", "97.5, 50"])
def test_percentiles_are_written_in_one_way(given: Any) -> None:
    result = run(percentiles=given, jobs=100)
    assert result.inputs.percentiles == "50,97.5"
    assert [*result.response_time.percentiles] == [97.5]  # every result has P50


def test_percentiles_are_kept_with_the_result() -> None:
    result = run(percentiles=(95, 97.5), confidence=0.9)
    names = [name for name, _ in estimates(result)]
    assert ("all", "p97.5_waiting_time") in names
    assert qs.Result.from_json(result.to_json()) == result
    assert qs.rerun(result) == result
    store = qs.sweep(qs.Grid(QUEUE, "fcfs", jobs=2000, percentiles="95")).outcomes.store
    assert "p95_response_time" in store.to_frame()["quantity"].to_list()
    assert '"percentiles": {' not in run().to_json()


def estimates(result: qs.Result) -> list[tuple[tuple[str, str], qs.Estimate]]:
    return [((cls, quantity), each) for cls, quantity, each in result.quantities()]
