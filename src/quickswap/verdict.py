"""Stable or not: what theorems say, and what a run shows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickswap.estimates import Batches, Estimate, Run, jackknife
from quickswap.policies import Policy
from quickswap.result import Verdict
from quickswap.system import System

__all__ = ["Known", "judge", "known_stability"]

CERTAIN = 2.5
"""Half-widths that the growth must be above 0: about five standard errors, as runs are looked at often."""
STEADY = 0.7
"""Growth of an unstable system goes on at its pace. A stable one that still fills up from empty slows
down: like the square root of time at worst, so that its second half adds 0.41 of the first."""
CROWD = 30.0
"""Mean number in system at the end below which growth is not taken seriously."""
PIECES = 16
"""Pieces of a replication whose growth is taken as independent."""


@dataclass(frozen=True)
class Known:
    """What is known without simulation.

    Attributes:
        capacity: arrival rate that no policy can carry.
        verdict: of the theorem for this policy: "stable", "unstable" or "unknown".
        reason: of the theorem.
    """

    capacity: float
    verdict: str
    reason: str
    rate: float

    @property
    def hopeless(self) -> bool:
        """No policy at all can be stable."""
        return self.rate >= self.capacity


def known_stability(system: System, policy: object) -> Known:
    """Return what theorems say about a policy on a system."""
    from quickswap.theory import stability

    if not isinstance(policy, Policy):
        return Known(system.capacity, "unknown", "nothing is proven here", system.arrival_rate)
    found = stability(system, policy)
    return Known(system.capacity, found.verdict, found.reason, system.arrival_rate)


def judge(batches: Batches, known: Known, crowded: bool) -> Verdict:
    """Return the verdict on a run."""
    runs = [run for run, _ in batches.runs]
    growth = _growth(batches)
    grows = growth.value > CERTAIN * growth.half_width and _at_end(runs) > CROWD
    percent = 100 * growth.value / known.rate
    if known.verdict == "unstable":
        return Verdict("unstable", True, known.reason, growth)
    if not grows and not crowded:
        if known.verdict == "stable":
            return Verdict("stable", True, known.reason, growth)
        return Verdict("stable", False, "the number in system does not grow in this run.", growth)
    if known.verdict == "stable":
        reason = "stable by theorem, but the number in system still grows: simulate more jobs."
        return Verdict("too short", True, reason, growth)
    if _steady(runs):
        reason = (
            f"the number in system grows steadily: {percent:.2g} % of the arrivals never leave, "
            f"and {_at_end(runs):.0f} jobs were there at the end."
        )
        return Verdict("unstable", False, reason, growth)
    reason = "the number in system still grows, but ever more slowly: simulate more jobs."
    return Verdict("too short", False, reason, growth)


def _in_system(run: Run) -> NDArray[np.float64]:
    """Return the number in system at the end of each block."""
    from quickswap._core import OVERALL, PER_CLASS

    return run.rows[:, run.classes * PER_CLASS + OVERALL - 1]


def _durations(run: Run) -> NDArray[np.float64]:
    from quickswap._core import PER_CLASS

    return run.rows[:, run.classes * PER_CLASS]


def _growth(batches: Batches) -> Estimate:
    """Return the growth of the number in system after the warm-up, jobs per second."""
    pieces = []
    for run, cut in batches.runs:
        first = max(cut, 1)  # growth is counted from the end of a block
        number, seconds = _in_system(run), _durations(run).cumsum()
        edges = np.unique(np.linspace(first - 1, len(number) - 1, PIECES + 1).astype(int))
        pieces.append(np.stack([np.diff(number[edges]), np.diff(seconds[edges])], axis=1))
    table = np.concatenate(pieces)
    if not len(table):
        return Estimate(math.nan, math.nan)
    sums = np.concatenate([table.sum(axis=0)[None], table.sum(axis=0) - table])
    with np.errstate(invalid="ignore", divide="ignore"):
        whole, half = jackknife(sums[:, :1] / sums[:, 1:])
    return Estimate(float(whole[0]), float(half[0]))


def _at_end(runs: list[Run]) -> float:
    return float(np.mean([_in_system(run)[-1] for run in runs]))


def _steady(runs: list[Run]) -> bool:
    """Whether the second half of the time adds nearly as much as the first, on average."""
    first = second = 0.0
    for run in runs:
        seconds = _durations(run).cumsum()
        middle = int(np.searchsorted(seconds, seconds[-1] / 2))
        number = _in_system(run)
        first += number[middle]
        second += number[-1] - number[middle]
    return second >= STEADY * first
