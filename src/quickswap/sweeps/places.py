"""What a sweep has found, place by place: which policy is best, and which is better than which."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from quickswap.errors import QuickswapError, unknown
from quickswap.model.system import System
from quickswap.simulation.comparison import gap_of
from quickswap.simulation.result import Result, Stop
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome, best_of, outcome_of
from quickswap.sweeps.grid import Spot
from quickswap.sweeps.outcomes import Outcomes
from quickswap.sweeps.point import SETTINGS
from quickswap.sweeps.record import Failure

__all__ = ["PAIRED", "Place", "mean_of", "places_of", "worst"]

PAIRED = ("weighted_mean_response_time", "mean_response_time")
"""Quantities that policies are compared by; less is better."""


@dataclass(frozen=True)
class Place:
    """All policies on one system, at one rate, with the same settings; seeds are put together.

    Attributes:
        model: its name in the grid.
        system: at this rate.
        settings: that have several values in the grid, the seed left out.
        results: by the label of the policy, one for each seed that has run.
        failures: by the label of the policy, why there is no result.
        not_run: by the label of the policy, for how many seeds Ctrl-C came before they had run;
            policies of which all seeds have run are left out.
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
        """Whether it is as precise as was asked for, if anything was, with every seed."""
        return all(each.stop is not Stop.BUDGET for each in self.results.get(policy, ()))

    def estimate(self, policy: str, quantity: str, cls: int | None = None) -> Estimate:
        """Return a quantity of a policy, the mean over the seeds.

        Args:
            policy: its label.
            quantity: an attribute of `Result`, or of `ClassResult` if a class is given.
            cls: position of a class.
        """
        found = []
        for each in self._results(policy):
            holder = each if cls is None else each.classes[cls]
            found.append(getattr(holder, quantity))
        return mean_of(found)

    def difference(
        self, first: str, second: str, quantity: str = "weighted_mean_response_time"
    ) -> Estimate:
        """Return `first` less `second`, seed by seed, with a 95 % interval.

        Runs of the same jobs are paired, so that their difference has a narrow interval; runs that
        cannot be (engine "jumps", or of different lengths, as with a precision) count as
        independent.

        Args:
            first, second: labels of policies.
            quantity: "weighted_mean_response_time" or "mean_response_time".

        Raises:
            QuickswapError: there is no such policy or quantity here.
        """
        if quantity not in PAIRED:
            unknown("quantity", quantity, PAIRED, QuickswapError)
        pairs = _paired(self._results(first), self._results(second))
        return mean_of([gap_of(a, b, quantity) for a, b in pairs])

    def better(self, first: str, second: str, quantity: str = "weighted_mean_response_time") -> str:
        """Return "yes" if `first` is better than `second` here, "no" if it is worse, "undecided".

        It is decided where the interval of their difference leaves 0 out, and where one of them is
        stable and the other is unstable; see `outcome`.
        """
        words = {Outcome.BETTER: "yes", Outcome.WORSE: "no"}
        return words.get(self.outcome(first, second, quantity), "undecided")

    def outcome(
        self, first: str, second: str, quantity: str = "weighted_mean_response_time"
    ) -> Outcome:
        """Return how `first` compares with `second`."""
        verdicts = self.verdict(first), self.verdict(second)
        if all(each in self.results for each in (first, second)):
            gap = self.difference(first, second, quantity)
            floors = self._fills_up(first), self._fills_up(second)
            return outcome_of(gap, *verdicts, floors=floors)
        return outcome_of(Estimate(math.nan, math.nan), *verdicts)

    def best(self, quantity: str = "weighted_mean_response_time") -> tuple[str, ...]:
        """Return the policy with the least value, then those that are tied with it.

        Only policies with the verdict "stable" for every seed count; () if there are none, where
        one that is too short has a lower value, and after Ctrl-C where a policy has not run with
        any seed.
        """
        if any(each.not_run for each in self.failures.values()):
            return ()
        return best_of(
            {policy: self.estimate(policy, quantity).value for policy in self.policies},
            {policy: self.verdict(policy) for policy in self.policies},
            lambda one, other: self.outcome(one, other, quantity),
        )

    def _fills_up(self, policy: str) -> bool:
        """Whether the number in system still grows with every seed, so that values are too low."""
        return all(each.verdict.growth.low > 0 for each in self._results(policy))

    def _results(self, policy: str) -> tuple[Result, ...]:
        if policy not in self.results:
            unknown("policy at this place", policy, self.results, QuickswapError)
        return self.results[policy]


def places_of(spots: Sequence[Spot], outcomes: Outcomes) -> list[Place]:
    """Put the outcomes of spots together by place, in the order of the grid."""
    varied = _varied(spots)
    groups: dict[tuple[Any, ...], dict[str, list[Result | Failure]]] = {}
    where: dict[tuple[Any, ...], Spot] = {}
    for spot, outcome in zip(spots, outcomes, strict=True):
        inputs = spot.point.inputs
        rate = spot.point.system.arrival_rate
        key = (spot.model, rate, *(getattr(inputs, name) for name in varied))
        where.setdefault(key, spot)
        groups.setdefault(key, {}).setdefault(spot.label, []).append(outcome)
    places = []
    for key, found in groups.items():
        failed = {
            label: failure
            for label, outcomes in found.items()
            if (failure := _failure(outcomes)) is not None
        }
        results = {
            label: tuple(each for each in outcomes if isinstance(each, Result))
            for label, outcomes in found.items()
            if label not in failed
        }
        settings = dict(zip(varied, key[2:], strict=True))
        waiting = {
            label: sum(isinstance(each, Failure) and each.not_run for each in outcomes)
            for label, outcomes in found.items()
        }
        waiting = {label: number for label, number in waiting.items() if number}
        places.append(Place(key[0], where[key].point.system, settings, results, failed, waiting))
    return places


def _failure(outcomes: Sequence[Result | Failure]) -> Failure | None:
    """Return why a policy has no result at a place; seeds that have run do without the others."""
    failures = [each for each in outcomes if isinstance(each, Failure)]
    mistakes = [each for each in failures if not each.not_run]
    if mistakes:
        return mistakes[0]
    return failures[0] if len(failures) == len(outcomes) else None


def _varied(spots: Sequence[Spot]) -> list[str]:
    """Return the settings that have several values, the seed and the engine chosen left out."""
    kept = [name for name in SETTINGS if name not in ("seed", "engine")]
    return [name for name in kept if len({getattr(spot.point.inputs, name) for spot in spots}) > 1]


def _paired(first: Sequence[Result], second: Sequence[Result]) -> Sequence[tuple[Result, Result]]:
    """Return the results of equal seeds side by side; without any, those of each in their order."""
    of_seed = {each.inputs.seed: each for each in second}
    pairs = [(each, of_seed[each.inputs.seed]) for each in first if each.inputs.seed in of_seed]
    return pairs or list(zip(first, second, strict=False))


def worst(verdicts: Iterable[str]) -> str:
    """Return "stable", or the worst verdict there is."""
    found = set(verdicts)
    return next(word for word in ("unstable", "too short", "stable") if word in found)


def mean_of(found: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates, those of several seeds."""
    if len(found) == 1:
        return found[0]
    value = math.fsum(each.value for each in found) / len(found)
    return Estimate(value, math.hypot(*(each.half_width for each in found)) / len(found))
