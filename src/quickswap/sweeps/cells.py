"""The cells of a sweep: the policies compared at each model, rate and combination of settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from quickswap.engine.settings import SETTINGS
from quickswap.errors import QuickswapError, unknown
from quickswap.model.system import System
from quickswap.simulation.comparison import gap_of
from quickswap.simulation.result import Result, Stop
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome, best_of, outcome_of
from quickswap.statistics.quantities import QUANTITIES
from quickswap.sweeps.grid import GridPoint
from quickswap.sweeps.record import Failure

__all__ = ["PAIRED", "Cell", "cells_of", "mean_of", "worst"]

PAIRED = tuple(name for name, each in QUANTITIES.items() if each.of_responses and not each.share)
"""Quantities by which policies are compared: means of response times; less is better."""


@dataclass(frozen=True)
class Cell:
    """All policies on one system, at one rate, with the same settings, and every seed.

    Attributes:
        model: its name in the grid.
        system: at this rate.
        settings: those with several values in the grid, except the seed.
        results: by the label of the policy, one for each seed that has run.
        failures: by the label of the policy, why there is no result.
        not_run: by the label of the policy, the number of seeds that had not run at Ctrl-C; without
            the policies for which it is 0.
    """

    model: str
    system: System
    settings: dict[str, Any]
    results: dict[str, tuple[Result, ...]]
    failures: dict[str, Failure]
    not_run: dict[str, int] = field(default_factory=dict)

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies that have results, in the order of the grid."""
        return tuple(self.results)

    def verdict(self, policy: str) -> str:
        """Return the worst verdict over the seeds; without a result "failed" or "not run"."""
        if policy in self.failures:
            failure = self.failures[policy]
            return "unstable" if failure.unstable else "not run" if failure.not_run else "failed"
        return worst(each.verdict.status for each in self._results(policy))

    def reached(self, policy: str) -> bool:
        """Whether the requested precision, if any, was reached with every seed."""
        return all(each.stop is not Stop.BUDGET for each in self.results.get(policy, ()))

    def estimate(self, policy: str, quantity: str, cls: int | None = None) -> Estimate:
        """Return a quantity of a policy, the mean over the seeds.

        Args:
            policy: its label.
            quantity: an attribute of `Result`, or of `ClassResult` if a class is given.
            cls: position of a class.
        """
        results = self._results(policy)
        holders = results if cls is None else [each.classes[cls] for each in results]
        return mean_of([getattr(each, quantity) for each in holders])

    def difference(
        self, first: str, second: str, quantity: str = "weighted_mean_response_time"
    ) -> Estimate:
        """Return the difference `first` - `second`, the mean over the seeds, with a 95 % interval.

        Runs on the same jobs are paired, so their difference has a narrow interval. Runs that
        cannot be paired (engine "jumps", or different lengths, as with a precision) count as
        independent.

        Args:
            first, second: labels of policies.
            quantity: "weighted_mean_response_time" or "mean_response_time".

        Raises:
            QuickswapError: unknown policy or quantity.
        """
        if quantity not in PAIRED:
            unknown("quantity", quantity, PAIRED, QuickswapError, argument="quantity")
        ones, others = self._results(first), self._results(second)
        of_seed = {each.inputs.seed: each for each in others}
        pairs = [(one, of_seed[seed]) for one in ones if (seed := one.inputs.seed) in of_seed]
        pairs = pairs or list(zip(ones, others, strict=False))  # without equal seeds, in order
        return mean_of([gap_of(one, other, quantity) for one, other in pairs])

    def outcome(
        self, first: str, second: str, quantity: str = "weighted_mean_response_time"
    ) -> Outcome:
        """Return how `first` compares with `second`, also where only one of them is stable."""
        verdicts = self.verdict(first), self.verdict(second)
        if all(each in self.results for each in (first, second)):
            gap = self.difference(first, second, quantity)
            floors = self._fills_up(first), self._fills_up(second)
            return outcome_of(gap, *verdicts, floors=floors)
        return outcome_of(Estimate(math.nan, math.nan), *verdicts)

    def best(self, quantity: str = "weighted_mean_response_time") -> tuple[str, ...]:
        """Return the policy with the least value, then those not significantly different from it.

        Only policies with the verdict "stable" for every seed count. The result is () if there are
        none, if a run that is too short has a lower value, and if Ctrl-C came before a policy had
        run with any seed.
        """
        if any(each.not_run for each in self.failures.values()):
            return ()
        return best_of(
            {policy: self.estimate(policy, quantity).value for policy in self.policies},
            {policy: self.verdict(policy) for policy in self.policies},
            lambda one, other: self.outcome(one, other, quantity),
        )

    def _fills_up(self, policy: str) -> bool:
        """Whether the number in system still grows with every seed: the values are too low."""
        return all(each.verdict.growth.low > 0 for each in self._results(policy))

    def _results(self, policy: str) -> tuple[Result, ...]:
        if policy not in self.results:
            unknown("policy", policy, self.results, QuickswapError, argument="policy")
        return self.results[policy]


def cells_of(grid_points: Sequence[GridPoint], outcomes: Sequence[Result | Failure]) -> list[Cell]:
    """Group the outcomes of the points of a grid by cell, in the order of the grid."""
    varied = [
        name
        for name in SETTINGS
        if name not in ("seed", "engine")
        and len({getattr(each.point.inputs, name) for each in grid_points}) > 1
    ]
    groups: dict[tuple[Any, ...], dict[str, list[Result | Failure]]] = {}
    systems: dict[tuple[Any, ...], System] = {}
    for each, outcome in zip(grid_points, outcomes, strict=True):
        inputs, system = each.point.inputs, each.point.system
        key = (each.model, system.arrival_rate, *(getattr(inputs, name) for name in varied))
        systems.setdefault(key, system)
        groups.setdefault(key, {}).setdefault(each.label, []).append(outcome)
    cells = []
    for key, by_label in groups.items():
        cell = Cell(key[0], systems[key], dict(zip(varied, key[2:], strict=True)), {}, {})
        for label, of_seeds in by_label.items():
            failures = [each for each in of_seeds if isinstance(each, Failure)]
            waiting = [each for each in failures if each.not_run]
            errors = [each for each in failures if not each.not_run]
            if waiting:
                cell.not_run[label] = len(waiting)
            if errors or len(waiting) == len(of_seeds):
                cell.failures[label] = (errors or waiting)[0]
            else:
                cell.results[label] = tuple(each for each in of_seeds if isinstance(each, Result))
        cells.append(cell)
    return cells


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst of several verdicts."""
    return min(verdicts, key=("unstable", "too short", "stable").index)


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates, those of several seeds."""
    number = len(estimates)
    if number == 1:
        return estimates[0]
    value = math.fsum(each.value for each in estimates) / number
    return Estimate(value, math.hypot(*(each.half_width for each in estimates)) / number)
