"""The threshold of MSFQ that minimises a mean response time, from the exact solution."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from quickswap.errors import ModelError, QuickswapError, unknown
from quickswap.model.system import System
from quickswap.theory.means import Means
from quickswap.theory.msfq.solution import ExactMSFQ, MSFQSolver

__all__ = ["BestThreshold", "Thresholds", "best_threshold"]

ALL_UP_TO = 64
"""Slots for which every threshold is tried."""
GRID = 16
"""Steps of the first grid if there are more."""
FINER = 6
"""Steps of each finer grid, between the neighbours of a minimum."""

Metric = Callable[[Means], float]


@dataclass(frozen=True)
class BestThreshold:
    """The best threshold and the values of those tried; exact, in seconds.

    Attributes:
        threshold: the best l.
        solution: the solution of MSFQ with the best l.
        metric: name of the metric that is minimised.
        value: the metric at the best l.
        default: the metric at l = c - 1, the threshold that the paper recommends.
        thresholds: all thresholds tried and solved, in ascending order.
        values: the metric at each of them.
    """

    threshold: int
    solution: ExactMSFQ
    metric: str
    value: float
    default: float
    thresholds: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def loss(self) -> float:
        """Loss with l = c - 1, relative to the best: 0.07 if its value is 7 % higher."""
        return self.default / self.value - 1


def best_threshold(
    system: System | str | Path,
    metric: str | int = "mean",
    drain: str = "on_demand",
    every: bool = False,
) -> BestThreshold:
    """Return the threshold of MSFQ with the smallest mean response time.

    Up to 64 slots every threshold is tried. With more slots a grid is tried, and refined around
    each of its local minima. That gives the best threshold unless the metric has another minimum
    between two points of the grid.

    Args:
        system: as for `theory.msfq.exact`.
        metric: "mean", "weighted", "max-class" (the largest mean of a class), or one class, by name
            or by its position in the system.
        drain: "on_demand" or "always", as in `MSFQ`.
        every: try every threshold, for any number of slots.

    Raises:
        ModelError: the system is not covered; see `theory.msfq.exact`.
        UnstableError: the load is 1 or more.
        QuickswapError: the metric is unknown.
    """
    return Thresholds(system, drain).best(metric, every)


class Thresholds(MSFQSolver):
    """The solutions of MSFQ at all thresholds, each computed at its first use.

    Arguments and errors are those of `best_threshold`.
    """

    def best(self, metric: str | int = "mean", every: bool = False) -> BestThreshold:
        """Return the best threshold; see `best_threshold`."""
        name, measure = _metric(self.system, metric)

        def value(level: int) -> float:
            try:
                return measure(self.at(level))
            except ModelError:  # visits too long to compute
                return math.inf

        if every or self.highest <= ALL_UP_TO:
            _search(value, range(self.highest + 1))
        else:
            _search(value, sorted({round(i * self.highest / GRID) for i in range(GRID + 1)}))
        default = measure(self.at(self.default))
        levels = tuple(sorted(self.solutions))
        best = min(levels, key=value)
        return BestThreshold(
            threshold=best,
            solution=self.at(best),
            metric=name,
            value=value(best),
            default=default,
            thresholds=levels,
            values=tuple(value(level) for level in levels),
        )


def _search(value: Callable[[int], float], levels: range | list[int]) -> None:
    """Evaluate the levels, and finer grids around each local minimum among them."""
    pool = ThreadPoolExecutor()
    try:
        values = list(pool.map(value, levels))
    finally:  # Ctrl-C returns immediately
        pool.shutdown(cancel_futures=True)
    for i, here in enumerate(values):
        low, high = max(i - 1, 0), min(i + 1, len(values) - 1)
        if here <= min(values[low], values[high]) and levels[high] - levels[low] > high - low:
            step = max((levels[high] - levels[low]) // FINER, 1)
            between = range(levels[low], levels[high] + 1, step)
            _search(value, sorted({*between, levels[high]}))


def _metric(system: System, metric: str | int) -> tuple[str, Metric]:
    """Return the name of the metric and the function that evaluates it on a solution."""
    named: dict[str, Metric] = {
        "mean": lambda solution: solution.mean_response_time,
        "weighted": lambda solution: solution.weighted_mean_response_time,
        "max-class": lambda solution: solution.largest_mean_response_time,
    }
    if isinstance(metric, str) and metric in named:
        return metric, named[metric]
    if metric in system.names:
        place = system.names.index(str(metric))
    elif isinstance(metric, int) and not isinstance(metric, bool) and 0 <= metric < 2:
        place = metric
    else:
        unknown("metric", metric, [*named, *system.names], QuickswapError, argument="metric")
    return system.names[place], lambda solution: solution.classes[place].mean_response_time
