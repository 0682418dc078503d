"""What a workload is tuned for, and how two candidates compare in it.

A candidate is known exactly, as a number, or by simulations. Runs of the same jobs are paired: the
jackknife over their batches knows what they have in common. A percentile has no batches that could
be paired, so that each candidate is simulated with several seeds, and paired seed by seed.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from quickswap.errors import QuickswapError, unknown
from quickswap.simulation.result import Result
from quickswap.statistics.estimates import CONFIDENCE, Estimate, Floats, jackknife
from quickswap.statistics.paired import Outcome, outcome_of
from quickswap.statistics.quantities import batch_values
from quickswap.theory.means import Means
from quickswap.tuning.runs import Runs

__all__ = [
    *("METRICS", "Known", "bounded", "check_metric", "exactly"),
    *("excess", "gap", "measured", "place", "trusted"),
]

METRICS = {
    "weighted": "weighted mean response time",
    "mean": "mean response time",
    "p99": "99th percentile of the response time",
    "max-class": "mean response time of the class that waits longest",
}
"""The metrics, less is better, and what they are."""

PLACES = {Outcome.ALIKE: "tied", Outcome.WORSE: "worse"}
Known = Runs | float
"""What is known of a candidate: simulations, or the exact value."""


def trusted(known: Known | None) -> bool:
    """Whether a value can be trusted, so that its candidate may lead."""
    return isinstance(known, float) or (known is not None and known.stable)


def bounded(known: Known | None) -> bool:
    """Whether a value, if not to be trusted, is too low rather than too high."""
    return trusted(known) or (isinstance(known, Runs) and known.fills_up)


def place(known: Known, best: Known, metric: str, indifference: float, confidence: float) -> str:
    """Return "tied", "worse" or "not told": how a candidate compares with the best one.

    Args:
        known, best: what is known of the two.
        metric: in which.
        indifference: relative difference up to which they are tied.
        confidence: of the interval of their difference.
    """
    room = indifference * measured(best, metric).value
    if isinstance(known, float) and isinstance(best, float):
        return "tied" if known - best <= room else "worse"
    difference = gap(known, best, metric, confidence)
    statuses = ("stable" if trusted(each) else "too short" for each in (known, best))
    found = outcome_of(difference, *statuses, floors=(bounded(known), False), room=room)
    return PLACES.get(found, "not told")


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
        return _over_seeds(_percentiles(known), confidence)
    return jackknife(_values(known.only, metric), known.sizes, confidence, reciprocal=True)[0]


def gap(first: Known, second: Known, metric: str, confidence: float = CONFIDENCE) -> Estimate:
    """Return `first` less `second`, seconds."""
    if isinstance(first, Runs) and isinstance(second, Runs):
        if metric == "p99":
            return _over_seeds(_percentiles(first) - _percentiles(second), confidence)
        if first.alike(second):
            values = _values(first.only, metric) - _values(second.only, metric)
            return jackknife(values, first.sizes, confidence)[0]
    a, b = (measured(each, metric, confidence) for each in (first, second))
    return Estimate(a.value - b.value, math.hypot(a.half_width, b.half_width))


def excess(first: Known, second: Known, metric: str, confidence: float = CONFIDENCE) -> Estimate:
    """Return by what share `first` is above `second`: .07 says 7 %."""
    a, b = (measured(each, metric, confidence) for each in (first, second))
    ratio = a.value / b.value
    if isinstance(first, Runs) and isinstance(second, Runs):
        if metric == "p99":
            rest = _over_seeds(_percentiles(first) - ratio * _percentiles(second), confidence)
            return Estimate(ratio - 1, rest.half_width / b.value)  # to first order
        if first.alike(second):
            values = _values(first.only, metric) / _values(second.only, metric) - 1
            return jackknife(values, first.sizes, confidence)[0]
    return Estimate(ratio - 1, math.hypot(a.half_width, ratio * b.half_width) / b.value)


def _values(result: Result, metric: str) -> Floats:
    """Return a metric from all batches, then with one left out: (1 + batches, 1)."""
    assert result._totals is not None  # the store keeps them
    table = result._totals.whole_and_less()
    if metric == "weighted":
        return batch_values("weighted_mean_response_time", table, result.system)
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric == "mean":
            means = batch_values("mean_response_time", table, result.system)
        else:
            means = (table[..., 1] / table[..., 0]).max(axis=1, keepdims=True)
    return means


def _percentiles(runs: Runs) -> Floats:
    """Return the percentile of each run."""
    return np.array([each.overall.response_time.p99.value for each in runs.results])


def _over_seeds(values: Floats, confidence: float) -> Estimate:
    """Return the mean over independent runs."""
    number = len(values)
    spread = float(values.std(ddof=1)) / math.sqrt(number)
    half = float(stdtrit(number - 1, (1 + confidence) / 2)) * spread
    return Estimate(float(values.mean()), half)
