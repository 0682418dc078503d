"""A candidate in the race, what is known of it, and the simulation that tells more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quickswap.experiments.point import Point
from quickswap.policies import Policy
from quickswap.result import Result
from quickswap.system import System
from quickswap.tuning.candidates import Candidate
from quickswap.tuning.metrics import Known

__all__ = ["Entry", "fills_up", "point_of"]


@dataclass
class Entry:
    """A candidate, and how it fares.

    Attributes:
        candidate: the policy.
        exact: its value, if theory gives it.
        status: "racing"; "worse", "unstable" or "failed" and out of the race; "alike" (another one
            decided alike on all jobs); "settled" (another one has a lower exact value).
        reason: for the status, in a sentence.
        results: by round.
        jobs: simulated in all rounds together.
    """

    candidate: Candidate
    exact: float | None = None
    status: str = "racing"
    reason: str = ""
    results: dict[int, Result] = field(default_factory=dict)
    jobs: int = 0
    twin: Entry | None = None
    """The one that decided alike."""

    @property
    def last(self) -> int | None:
        """The last round in which it was simulated."""
        return max(self.results, default=None)

    @property
    def latest(self) -> Known | None:
        """The most that is known of it."""
        if self.exact is not None:
            return self.exact
        return None if self.last is None else self.results[self.last]

    def known(self, turn: int | None) -> Known | None:
        """Return what is known of it after a round."""
        return (
            self.exact if self.exact is not None else self.results.get(-1 if turn is None else turn)
        )

    def judged(self, turn: int | None) -> bool:
        """Whether its value can be trusted, so that it may lead."""
        known = self.known(turn)
        return isinstance(known, float) or (known is not None and known.stable)


def point_of(system: System, policy: Policy, *, jobs: int, seed: int, **settings: Any) -> Point:
    """Return the simulation of a candidate; those of equal jobs and seed serve the same jobs."""
    return Point.of(system, policy, jobs=jobs, seed=seed, engine="events", **settings)


def fills_up(known: Known) -> bool:
    """Whether a run is too short as the system still fills up, so that its value is too low."""
    return isinstance(known, Result) and known.verdict.growth.low > 0
