"""The simulations of a candidate in one round: one, or for a percentile one for each of seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.simulation.result import Result
from quickswap.sweeps.run import Outcomes
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure

__all__ = ["Run", "Runs", "even", "seeds_of", "simulated"]

SEEDS = 8
"""Of a percentile."""
MOSTLY = 0.75
"""Share of the runs that must be stable."""

Run = Callable[[Sequence[Point]], Outcomes]
"""Runs points, as `run_points` does."""


@dataclass(frozen=True)
class Runs:
    """The simulations of one candidate, of the same seeds as those of the others."""

    results: tuple[Result, ...]

    @property
    def only(self) -> Result:
        """The result, where there is one."""
        (result,) = self.results
        return result

    @property
    def sizes(self) -> list[int]:
        """Batches of each replication."""
        totals = self.only._totals
        return [] if totals is None else totals.sizes

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
        """Whether the backlog grows without end; if runs differ, in half of them at least."""
        return self._share("unstable") >= 0.5

    @property
    def fills_up(self) -> bool:
        """Whether the system still fills up, so that the values of these runs are too low."""
        growing = sum(each.verdict.growth.low > 0 for each in self.results)
        return growing >= MOSTLY * len(self.results)

    @property
    def reason(self) -> str:
        """Why the values cannot be trusted, if they cannot."""
        if self.stable:
            return ""
        status = "unstable" if self.unstable else "too short"
        found = (each.verdict for each in self.results)
        return next((each.reason for each in found if each.status == status), "runs differ.")

    def alike(self, other: Runs) -> bool:
        """Whether both have served the same jobs to the end, so that batches belong together."""
        return self.completed == other.completed and self.sizes == other.sizes

    def same_as(self, other: Runs) -> bool:
        """Whether the two have decided alike at every event, as far as the results tell."""
        pairs = zip(self.results, other.results, strict=True)
        return all((a.events, a.classes) == (b.events, b.classes) for a, b in pairs)

    def _share(self, status: str) -> float:
        return sum(each.verdict.status == status for each in self.results) / len(self.results)


def seeds_of(metric: str) -> int:
    """Return with how many seeds a candidate is simulated."""
    return SEEDS if metric == "p99" else 1


def even(jobs: int) -> int:
    """Return jobs that seeds and replications share evenly, so that no budget is exceeded."""
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
    """Return the simulations of each policy, all on the same jobs, and how many were run now.

    Args:
        run: simulates points.
        system, policies: who and where.
        metric: for which.
        jobs: of each policy.
        seed: the first one.
        whole: of each policy, whether it runs to the end though it looks unstable; if it is left
            out, none does.
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
