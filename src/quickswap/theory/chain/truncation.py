"""How far a chain must go so that what is cut off does not matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quickswap.model.system import System
from quickswap.theory.chain.graph import Graph
from quickswap.theory.chain.stationary import Solver

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["Level", "first_limits", "region", "solve"]

MARGIN = 2.0
"""Slopes beyond the border are taken as that many times the largest one inside."""
MOST_GROWTH = 2.5
"""Factor by which limits grow at most from one level to the next."""


@dataclass(frozen=True, slots=True)
class Level:
    """The chain at one truncation, solved.

    Attributes:
        limits: jobs of each class that may be present while nobody else is.
        graph: the chain.
        distribution: its stationary distribution, one probability a state.
        response_times: mean response time of each class, seconds.
        errors: estimate of the absolute error of each, seconds.
    """

    limits: Vector
    graph: Graph
    distribution: Vector
    response_times: Vector
    errors: Vector

    @property
    def error(self) -> float:
        """The largest relative error."""
        return float(np.max(self.errors / self.response_times))

    def next_limits(self, tolerance: float, pace: float) -> Vector:
        """Return limits that will probably suffice.

        Where the probability of n jobs of a class falls like exp(-decay n), the border lies where
        sum decay x number is the same everywhere, and moves outwards by the logarithm of what the
        error must fall by, divided by `pace`, the share of the expected fall that was seen.
        """
        decay = self._decay()
        depth = float(np.min(decay * self.limits))
        depth += (np.log(self.error / tolerance) + 1.0) / pace
        grown: Vector = np.clip(depth / decay, 0.9 * self.limits, MOST_GROWTH * self.limits)
        if np.all(grown < 1.1 * self.limits):
            grown = 1.1 * self.limits
        return grown

    def _decay(self) -> Vector:
        """Return by how much the logarithm of the tail falls a job; of each class, or of all."""
        if self.graph.windowed:
            numbers = np.rint(self.graph.present.sum(axis=1)).astype(np.int64)
            return np.full(len(self.limits), _slope(numbers, self.distribution, self.limits[0]))
        numbers = (self.graph.waiting + self.graph.running).astype(np.int64)
        return np.array(
            [
                _slope(column, self.distribution, limit)
                for column, limit in zip(numbers.T, self.limits, strict=True)
            ]
        )


def _slope(numbers: NDArray[np.int64], distribution: Vector, limit: float) -> float:
    """Return the decay of a tail, seen in the middle: after the start, away from the border."""
    mass = np.bincount(numbers, distribution)
    tail = mass[::-1].cumsum()[::-1]
    seen = int(np.flatnonzero(tail > 1e-11)[-1])
    high = max(min(int(0.6 * limit), seen), 2)
    low = high // 2
    if high >= len(tail) or tail[high] <= 0:
        return 1.0
    return max(float(np.log(tail[low] / tail[high])) / (high - low), 1e-3)


def first_limits(system: System) -> Vector:
    """Return limits to begin with: enough to fill the servers."""
    spare = 20 if len(system.classes) < 3 else 10
    return np.array([float(system.servers // need + spare) for need in system.needs])


def region(limits: Vector, system: System) -> list[list[float]]:
    """Return the one row of the region: sum of number / limit at most 1."""
    weights = 1 / limits
    return [[*weights.tolist(), float(weights @ system.job_shares)]]


def solve(system: System, graph: Graph, limits: Vector) -> Level:
    """Solve the chain at one truncation and estimate the error.

    Let pi be the stationary distribution of the chain cut off, f the number of jobs of a class, and
    h the solution of Qh = m - f for the chain Q that is not cut off, m its mean of f. As the chain
    cut off differs from Q only in the arrivals it turns away, and pi balances it, exactly

        m - pi f = sum over states s, classes j: pi(s) blocked(s, j) [h(s with one j more) - h(s)].

    The flows pi x blocked are known. The differences of h beyond the border are not; taken for them
    is `MARGIN` times the largest difference between two states inside that an arrival of class j
    leads from and to, where h is solved in the chain cut off. Differences grow with the queue,
    linearly in the far field (h is a quadratic there), so that the margin covers a border at twice
    the distance of the states where the largest one is found. To this is added what pi lacks in
    balance, as |imbalance| x |h|; and the error is not taken as less, relatively, than the share of
    jobs turned away.
    """
    solver = Solver(graph.rates)
    guess = 0.7 ** graph.present.sum(axis=1)
    distribution = solver.stationary(np.maximum(guess, 1e-30))
    rates = np.array([each.arrival_rate for each in system.classes])
    turned_away: Vector = distribution @ graph.blocked
    lacking = np.abs(solver.imbalance(distribution))
    numbers: Vector = distribution @ graph.present
    errors = np.empty(len(rates))
    for i, number in enumerate(numbers):
        h = solver.values(graph.present[:, i], float(number))
        h -= distribution @ h
        slopes = _largest_slopes(graph, h)
        errors[i] = MARGIN * (slopes @ turned_away) + lacking @ np.abs(h)
    errors = np.maximum(errors, numbers * (turned_away.sum() / rates.sum()))
    return Level(limits, graph, distribution, numbers / rates, errors / rates)


def _largest_slopes(graph: Graph, h: Vector) -> Vector:
    """Return for each class the largest change of h that an arrival makes."""
    origin, to, kind = graph.arrivals
    classes = graph.blocked.shape[1]
    largest = np.zeros(classes + 1)
    np.maximum.at(largest, kind, np.abs(h[to] - h[origin]))
    return np.maximum(largest[:classes], largest[classes])
