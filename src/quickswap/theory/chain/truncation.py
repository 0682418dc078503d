"""Truncation of a chain: its error, and the border at which the error is small enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quickswap.model.system import System
from quickswap.theory.chain.graph import Graph
from quickswap.theory.chain.stationary import ChainSolver

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["Level", "first_limits", "region", "solve"]

MARGIN = 2.0
"""Slopes beyond the border are assumed to be at most this multiple of the largest one inside."""
MOST_GROWTH = 2.5
"""Largest factor by which limits grow from one level to the next."""


@dataclass(frozen=True, slots=True)
class Level:
    """The solution of the chain at one truncation.

    Attributes:
        limits: jobs of each class that may be present if no other class is.
        graph: the chain.
        distribution: its stationary distribution, one probability per state.
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
        """Return limits that are likely to suffice.

        If the probability of n jobs of a class decreases like exp(-decay n), the border is best
        where the sum of decay x number is the same everywhere. It moves outwards by the logarithm
        of the factor by which the error must decrease, divided by `pace`, the decrease observed so
        far over that expected.
        """
        decay = self._decay()
        depth = float(np.min(decay * self.limits))
        depth += (np.log(self.error / tolerance) + 1.0) / pace
        grown: Vector = np.clip(depth / decay, 0.9 * self.limits, MOST_GROWTH * self.limits)
        if np.all(grown < 1.1 * self.limits):
            grown = 1.1 * self.limits
        return grown

    def _decay(self) -> Vector:
        """Return the decrease of the logarithm of the tail per job, of each class or of all."""
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
    """Return the decay of a tail, measured beyond its start and away from the border.

    Tails below 1e-11 may be rounding errors; near the border the truncation bends them.
    """
    mass = np.bincount(numbers, distribution)
    tail = mass[::-1].cumsum()[::-1]
    seen = int(np.flatnonzero(tail > 1e-11)[-1])
    high = max(min(int(0.6 * limit), seen), 2)
    low = high // 2
    if high >= len(tail) or tail[high] <= 0:
        return 1.0
    return max(float(np.log(tail[low] / tail[high])) / (high - low), 1e-3)


def first_limits(system: System) -> Vector:
    """Return the first limits: enough to fill the servers."""
    spare = 20 if len(system.classes) < 3 else 10
    return np.array([float(system.servers // need + spare) for need in system.needs])


def region(limits: Vector, system: System) -> list[list[float]]:
    """Return the single row of the region: the sum of number / limit is at most 1."""
    weights = 1 / limits
    return [[*weights.tolist(), float(weights @ system.job_shares)]]


def solve(system: System, graph: Graph, limits: Vector) -> Level:
    """Solve the chain at one truncation and estimate the error.

    Let pi be the stationary distribution of the truncated chain Q', f the number of jobs of a
    class, and h the solution of Poisson's equation Qh = m - f for the full chain Q, where m is its
    mean of f. Then m - pi f = pi Q h, and pi Q' h = 0. Q and Q' differ only in the arrivals that Q'
    turns away, so exactly

        m - pi f = sum over states s, classes j: pi(s) blocked(s, j) [h(s with one j more) - h(s)].

    The flows pi x blocked are known. The differences of h beyond the border are unknown; they are
    replaced by `MARGIN` times the largest difference inside the border that an arrival of class j
    makes, with h of the truncated chain. Differences grow with the queue, linearly far out (h is
    quadratic there), so the margin covers a border at twice the distance of the state with the
    largest difference. |imbalance| x |h| is added for the numerical error of pi. The relative error
    is at least the share of jobs turned away.
    """
    solver = ChainSolver(graph.rates)
    distribution = solver.stationary(graph.guess())
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
    """Return for each class the largest change of h at an arrival."""
    origin, to, kind = graph.arrivals
    classes = graph.blocked.shape[1]
    largest = np.zeros(classes + 1)
    np.maximum.at(largest, kind, np.abs(h[to] - h[origin]))
    return np.maximum(largest[:classes], largest[classes])
