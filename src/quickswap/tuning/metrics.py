"""What a workload is tuned for, and how two candidates compare in it.

A candidate is known exactly, as a number, or by a simulation. Runs of the same jobs are paired: the
jackknife over their batches knows what they have in common. Percentiles, whose batches no store
keeps, count as independent; under common random numbers that makes the interval too wide.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from quickswap.errors import QuickswapError, unknown
from quickswap.estimates import CONFIDENCE, Estimate, Floats, jackknife
from quickswap.measure import overall_values
from quickswap.result import Result
from quickswap.theory.means import Means

__all__ = ["METRICS", "Known", "check_metric", "exactly", "excess", "gap", "measured"]

METRICS = {
    "weighted": "weighted mean response time",
    "mean": "mean response time",
    "p99": "99th percentile of the response time",
    "max-class": "mean response time of the class that waits longest",
}
"""The metrics, less is better, and what they are."""
FREEDOM = 7.0
"""Degrees of freedom with which the interval of a percentile is widened: half of its batches."""

Known = Result | float
"""What is known of a candidate: a simulation, or the exact value."""


def check_metric(given: object) -> str:
    """Return a metric.

    Raises:
        QuickswapError: there is no such one.
    """
    if not isinstance(given, str) or given not in METRICS:
        unknown("metric", given, METRICS, QuickswapError)
    return given


def exactly(means: Means, metric: str) -> float:
    """Return a metric from a solution."""
    if metric == "mean":
        return means.mean_response_time
    if metric == "weighted":
        return means.weighted_mean_response_time
    return means.largest_mean_response_time


def measured(known: Known, metric: str, confidence: float = CONFIDENCE) -> Estimate:
    """Return the value of a candidate, seconds."""
    if isinstance(known, float):
        return Estimate(known, 0.0)
    if metric == "p99":
        return _widened(known.overall.response_time.p99, confidence)
    return jackknife(_values(known, metric), _sizes(known), confidence)[0]


def gap(first: Known, second: Known, metric: str, confidence: float = CONFIDENCE) -> Estimate:
    """Return `first` less `second`, seconds."""
    if _paired(first, second, metric):
        assert isinstance(first, Result)
        assert isinstance(second, Result)
        values = _values(first, metric) - _values(second, metric)
        return jackknife(values, _sizes(first), confidence)[0]
    a, b = (measured(each, metric, confidence) for each in (first, second))
    return Estimate(a.value - b.value, math.hypot(a.half_width, b.half_width))


def excess(first: Known, second: Known, metric: str, confidence: float = CONFIDENCE) -> Estimate:
    """Return by what share `first` is above `second`: .07 says 7 %."""
    if _paired(first, second, metric):
        assert isinstance(first, Result)
        assert isinstance(second, Result)
        values = _values(first, metric) / _values(second, metric) - 1
        return jackknife(values, _sizes(first), confidence)[0]
    a, b = (measured(each, metric, confidence) for each in (first, second))
    ratio = a.value / b.value
    return Estimate(
        ratio - 1, math.hypot(a.half_width, ratio * b.half_width) / abs(b.value)
    )  # to first order


def _paired(first: Known, second: Known, metric: str) -> bool:
    """Whether both have served the same jobs, so that their batches belong together."""
    if metric == "p99" or not (isinstance(first, Result) and isinstance(second, Result)):
        return False
    return first.completed == second.completed and _sizes(first) == _sizes(second)


def _values(result: Result, metric: str) -> Floats:
    """Return a metric from all batches, then with one left out: (1 + batches, 1)."""
    assert result._totals is not None  # the store keeps them
    table = result._totals.whole_and_less()
    if metric == "weighted":
        return overall_values(table, result.system)[:, :1]
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric == "mean":
            total = table.sum(axis=1)
            means: Floats = total[:, 1:] / total[:, :1]
        else:
            means = np.nanmax(table[..., 1] / table[..., 0], axis=1, keepdims=True)
    return means


def _sizes(result: Result) -> list[int]:
    return result._totals.sizes if result._totals is not None else []


def _widened(estimate: Estimate, confidence: float) -> Estimate:
    """Return an estimate of 95 % with an interval of another confidence."""
    if confidence == CONFIDENCE:
        return estimate
    here, there = (stdtrit(FREEDOM, (1 + level) / 2) for level in (CONFIDENCE, confidence))
    return Estimate(estimate.value, estimate.half_width * float(there / here))
