"""A candidate in the race, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from quickswap.tuning.candidates import Candidate
from quickswap.tuning.metrics import Known, bounded, trusted
from quickswap.tuning.runs import Runs

__all__ = ["Entry"]


@dataclass
class Entry:
    """A candidate, and how it fares.

    Attributes:
        candidate: the policy.
        exact: its value, if theory gives it.
        status: "racing"; "worse", "unstable" or "failed" and out of the race; "alike" (another one
            decided alike on all jobs); "settled" (another one has a lower exact value).
        reason: for the status, in a sentence.
        results: its simulations, by round.
        jobs: simulated in all rounds together.
    """

    candidate: Candidate
    exact: float | None = None
    status: str = "racing"
    reason: str = ""
    results: dict[int, Runs] = field(default_factory=dict)
    jobs: int = 0
    strikes: int = 0
    """Last rounds in a row in which it looked unstable."""
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
        return trusted(self.known(turn))

    def bounded(self, turn: int | None) -> bool:
        """Whether its value, if not to be trusted, is too low rather than too high."""
        return bounded(self.known(turn))
