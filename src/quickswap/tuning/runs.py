"""The simulations of a candidate in one round: one, or for a percentile one for each seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.simulation.result import Result
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure
from quickswap.sweeps.run import Outcomes

__all__ = ["Run", "Runs", "even", "seeds_of", "simulated"]

SEEDS = 8
"""Seeds for a percentile."""
MOSTLY = 0.75
"""Share of the runs that must be stable."""

Run = Callable[[Sequence[Point]], Outcomes]
"""Runs points, as `run_points` does."""


@dataclass(frozen=True)
class Runs:
    """The simulations of one candidate, with the same seeds as those of the others."""

    results: tuple[Result, ...]

    @property
    def only(self) -> Result:
        """The result, if there is a single one."""
        (result,) = self.results
        return result

    @property
    def completed(self) -> int:
        """Jobs simulated."""
        return sum(each.completed for each in self.results)

    @property
    def stable(self) -> bool:
        """Whether the values can be trusted."""
        return self._share("stable") >= MOSTLY

    @property
    def unstable(self) -> bool:
        """Whether the backlog grows without bound, in at least half of the runs."""
        return self._share("unstable") >= 0.5

    @property
    def fills_up(self) -> bool:
        """Whether the system still fills up, so the values of these runs are too low."""
        growing = sum(each.verdict.growth.low > 0 for each in self.results)
        return growing >= MOSTLY * len(self.results)

    @property
    def reason(self) -> str:
        """The reason why the values cannot be trusted; "" if they can."""
        if self.stable:
            return ""
        status = "unstable" if self.unstable else "too short"
        found = (each.verdict for each in self.results)
        return next((each.reason for each in found if each.status == status), "runs differ.")

    def pairs_with(self, other: Runs) -> bool:
        """Whether both completed the same jobs, so their batches are pairs."""
        return self.completed == other.completed and self.only._split == other.only._split

    def same_as(self, other: Runs) -> bool:
        """Whether the results of both are equal: they took the same decisions."""
        pairs = zip(self.results, other.results, strict=True)
        return all((a.events, a.classes) == (b.events, b.classes) for a, b in pairs)

    def _share(self, status: str) -> float:
        return sum(each.verdict.status == status for each in self.results) / len(self.results)


def seeds_of(metric: str) -> int:
    """Return the number of seeds with which a candidate is simulated."""
    return SEEDS if metric == "p99" else 1


def even(jobs: int) -> int:
    """Return jobs rounded down to a multiple of the seeds so that the budget is not exceeded."""
    return jobs // SEEDS * SEEDS


def simulated(
    run: Run,
    system: System,
    policies: Sequence[Policy],
    metric: str,
    jobs: int,
    seed: int,
    whole: Sequence[bool] = (),
) -> tuple[list[Runs | Failure], int]:
    """Return the simulations of each policy, on the same jobs, and how many this call ran.

    Args:
        run: simulates points.
        system, policies: as in `tune`.
        metric: one of `METRICS`.
        jobs: of each policy.
        seed: the first one.
        whole: for each policy, whether it runs to the end even if it looks unstable; by default
            none does.
    """
    number = seeds_of(metric)
    settings: dict[str, Any] = {"jobs": -(-jobs // number), "engine": "events"}
    if number > 1:
        settings["replications"] = 1
    points = []
    for policy, to_the_end in zip(policies, whole or [False] * len(policies), strict=True):
        for each in range(seed, seed + number):
            chosen = settings | {"seed": each, "allow_unstable": to_the_end}
            points.append(Point.of(system, policy, **chosen))
    outcomes = run(points)
    found: list[Runs | Failure] = []
    for start in range(0, len(outcomes), number):
        group = outcomes[start : start + number]
        failures = [each for each in group if isinstance(each, Failure)]
        results = tuple(each for each in group if isinstance(each, Result))
        found.append(failures[0] if failures else Runs(results))
    return found, outcomes.ran
