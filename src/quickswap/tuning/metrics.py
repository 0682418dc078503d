"""The metrics of tuning, exact values of candidates, and the comparison of two candidates.

The value of a candidate is an exact number or comes from simulations. Runs on the same jobs are
paired batch by batch. Batches have no percentiles: for a percentile each candidate is simulated
with several seeds, and paired seed by seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

import numpy as np

from quickswap.engine._core import student_t
from quickswap.errors import ModelError, UnstableError
from quickswap.model.system import System
from quickswap.model.variability import heavy
from quickswap.policies import FCFS, Policy, ServerFilling
from quickswap.simulation.comparison import values_of_batches
from quickswap.statistics.control import estimated
from quickswap.statistics.estimates import CONFIDENCE, Estimate, Floats
from quickswap.statistics.paired import (
    Outcome,
    outcome_of,
)
from quickswap.statistics.quantities import SHORT_NAMES
from quickswap.theory import fcfs, server_filling
from quickswap.theory.conditions import is_exclusive, markovian
from quickswap.theory.means import Means
from quickswap.theory.threshold import Thresholds
from quickswap.tuning.candidates import key_of, threshold_of
from quickswap.tuning.runs import Runs

__all__ = [
    "METRICS",
    "Exact",
    "Known",
    "bounded",
    "exactly",
    "excess",
    "gap",
    "measured",
    "outcome",
    "trusted",
]

METRICS = {
    "weighted": "weighted mean response time",
    "mean": "mean response time",
    "p99": "99th percentile of the response time",
    "max-class": "largest mean response time of a class",
}
"""The metrics and their meaning; less is better."""
Known = Runs | float
"""The simulations of a candidate, or its exact value."""


def trusted(known: Known | None) -> bool:
    """Whether a value can be trusted, so its candidate may lead."""
    return isinstance(known, float) or (known is not None and known.stable)


def bounded(known: Known | None) -> bool:
    """Whether a value can be trusted or is too low, as the system still fills up."""
    return trusted(known) or (isinstance(known, Runs) and known.fills_up)


def outcome(
    known: Known, best: Known, metric: str, indifference: float, confidence: float
) -> Outcome:
    """Return how a candidate compares with the best one.

    Args:
        known, best: the two candidates.
        metric: one of `METRICS`.
        indifference: relative difference up to which they are alike.
        confidence: of the interval of their difference.
    """
    room = indifference * measured(best, metric).value
    if isinstance(known, float) and isinstance(best, float):
        return Outcome.ALIKE if known - best <= room else Outcome.WORSE
    difference = gap(known, best, metric, confidence)
    statuses = ("stable" if trusted(each) else "too short" for each in (known, best))
    return outcome_of(difference, *statuses, floors=(bounded(known), False), room=room)


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
    return _of_batches(_values(known, metric), [known], confidence, reciprocal=True)


def gap(first: Known, second: Known, metric: str, confidence: float = CONFIDENCE) -> Estimate:
    """Return the difference `first` - `second`, seconds."""
    if isinstance(first, Runs) and isinstance(second, Runs):
        if metric == "p99":
            return _over_seeds(_percentiles(first) - _percentiles(second), confidence)
        if first.pairs_with(second):
            values = _values(first, metric) - _values(second, metric)
            return _of_batches(values, [first, second], confidence)
    return measured(first, metric, confidence) - measured(second, metric, confidence)


def excess(first: Known, second: Known, metric: str, confidence: float = CONFIDENCE) -> Estimate:
    """Return the relative difference (first - second) / second: 0.07 is 7 %."""
    a, b = (measured(each, metric, confidence) for each in (first, second))
    ratio = a.value / b.value
    if isinstance(first, Runs) and isinstance(second, Runs):
        if metric == "p99":
            rest = _over_seeds(_percentiles(first) - ratio * _percentiles(second), confidence)
            return Estimate(ratio - 1, rest.half_width / b.value)  # to first order
        if first.pairs_with(second):
            quotient = _values(first, metric) / _values(second, metric) - 1
            return _of_batches(quotient, [first, second], confidence)
    return a / b - 1


def _values(runs: Runs, metric: str) -> Floats:
    """Return a metric in the rows of `Split.whole_and_less`: (rows, 1)."""
    if metric in SHORT_NAMES:
        return values_of_batches(runs.only, SHORT_NAMES[metric])
    assert runs.only._totals is not None  # the store keeps them
    table = runs.only._totals.responses()
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = (table[..., 1] / table[..., 0]).max(axis=1, keepdims=True)
    return means


def _of_batches(
    values: Floats, runs: Sequence[Runs], confidence: float, *, reciprocal: bool = False
) -> Estimate:
    """Return an estimate, without its interval where sizes are too heavy-tailed for one."""
    first, controls = runs[0].only, [each.only._controls for each in runs]
    (found,) = estimated(values, controls, first._split, confidence, reciprocal=reciprocal)
    return Estimate(found.value, math.nan) if heavy(first.system) else found


def _percentiles(runs: Runs) -> Floats:
    """Return the percentile of each run."""
    return np.array([each.overall.response_time.p99.value for each in runs.results])


def _over_seeds(values: Floats, confidence: float) -> Estimate:
    """Return the mean over independent runs."""
    number = len(values)
    error = float(values.std(ddof=1)) / math.sqrt(number)
    half = student_t(number - 1, (1 + confidence) / 2) * error
    return Estimate(float(values.mean()), half)


MOST_SLOTS = 256
"""Slots up to which MSFQ is solved, some seconds for all thresholds."""
MOST_SERVERS = 128
"""Servers up to which FCFS and ServerFilling are solved, in a second."""


class Exact:
    """Exact values of one metric on one system, computed on demand."""

    def __init__(self, system: System, metric: str) -> None:
        self._system, self._metric = system, metric
        self._solvers: dict[str, Thresholds | None] = {}

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Thresholds of MSFQ, in slots of the smaller class, that include the best one."""
        solver = self._solver("on_demand")
        if solver is None:
            return ()
        try:
            return solver.best(self._metric).thresholds
        except (ModelError, UnstableError):  # the default cannot be solved either
            return ()

    def value(self, policy: Policy) -> float | None:
        """Return the metric under a policy, seconds; None if there is no exact solution."""
        if self._metric == "p99":
            return None
        if self._queue is not None and key_of(policy, self._system) == FCFS.name:
            return self._queue
        try:
            means = self._solved(policy)
        except (ModelError, UnstableError):
            return None
        return None if means is None else float(exactly(means, self._metric))

    @cached_property
    def _queue(self) -> float | None:
        """Mean response time of a single class under any policy that leaves no slot idle."""
        if len(self._system.classes) != 1:
            return None
        try:
            return fcfs.exact(self._system).mean_response_time
        except (ModelError, UnstableError):
            return None

    def _solved(self, policy: Policy) -> Means | None:
        system = self._system
        if is_exclusive(system) and (found := threshold_of(policy, system)) is not None:
            threshold, drain = found
            solver = self._solver(drain)
            return None if solver is None else solver.at(threshold)
        if not system.one_or_all or system.servers > MOST_SERVERS or not markovian(system):
            return None
        if key_of(policy, system) == key_of(FCFS(), system):
            return fcfs.exact(system)
        if policy == ServerFilling():
            return server_filling.exact(system)
        return None

    def _solver(self, drain: str) -> Thresholds | None:
        """Return the solver of MSFQ; None if it does not apply."""
        system = self._system
        if drain not in self._solvers:
            self._solvers[drain] = None
            fits = is_exclusive(system) and system.servers // min(system.needs) <= MOST_SLOTS
            if self._metric != "p99" and fits and markovian(system):
                with suppress(ModelError, UnstableError):
                    self._solvers[drain] = Thresholds(system, drain)
        return self._solvers[drain]
