"""The race: rounds of simulations on the same jobs, in which the worse candidates are eliminated.

Successive elimination: each round simulates all candidates left with twice the jobs of the round
before and compares them with the leader. The intervals are one-sided, and their confidence holds
for all comparisons of the race together (Bonferroni over candidates and rounds): if they are exact,
the best candidate is eliminated with a probability of at most 2.5 %.

Sources: Even-Dar, Mannor, Mansour, "Action elimination and stopping conditions for the multi-armed
bandit and reinforcement learning problems", JMLR 7 (2006); Kim, Nelson, "A fully sequential
procedure for indifference-zone selection in simulation", ACM Trans. Model. Comput. Simul. 11
(2001); Maron, Moore, "The racing algorithm", Artificial Intelligence Review 11 (1997).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.statistics.paired import Outcome, best_of
from quickswap.sweeps.record import Failure
from quickswap.theory.stability import stability
from quickswap.tuning.candidates import Candidate, between, distinct
from quickswap.tuning.metrics import Exact, Known, bounded, gap, measured, outcome, trusted
from quickswap.tuning.runs import Run, Runs, even, simulated

__all__ = ["RISK", "Entry", "Race", "Status"]

RISK = 0.05
"""Probability of a wrong comparison: half for the rounds, half for the final table."""
FIRST = 100_000
"""Jobs of each candidate in the first round, at most."""
LEAST = 5_000
"""Jobs of each candidate in the first round, at least."""
SHARE = 15
"""The budget over that of the first round: enough for four rounds of all candidates."""
STRIKES = 2
"""Consecutive rounds in which a candidate must look unstable: a run that ended early may be wrong.
After the first of them it is simulated to the end."""
GROWTH = 1.5
"""Least ratio of the jobs of a round to those of the round before."""
AGAIN = 2
"""Comparisons on fresh jobs, after the race."""
STAGES = 3
"""Refinements: how often parameters between those tried are added."""
NEW = 8
"""Candidates that a refinement may add."""


class Status(StrEnum):
    """Whether a candidate is still in the race, and if not, why."""

    RACING = "racing"
    WORSE = "significantly worse than the leader"
    UNSTABLE = "unstable"
    FAILED = "its simulation failed"
    ALIKE = "another candidate took the same decisions on all jobs"
    SETTLED = "another candidate has a lower exact value"


@dataclass
class Entry:
    """A candidate and its simulations.

    Attributes:
        candidate: the policy.
        exact: its exact value, if there is one.
        status: whether it is still in the race.
        reason: of the status, in a sentence.
        results: its simulations, by round.
        jobs: simulated in all rounds together.
    """

    candidate: Candidate
    exact: float | None = None
    status: Status = Status.RACING
    reason: str = ""
    results: dict[int, Runs] = field(default_factory=dict)
    jobs: int = 0
    strikes: int = 0
    """Consecutive rounds, up to the last one, in which it looked unstable."""
    twin: Entry | None = None
    """The candidate that took the same decisions."""

    @property
    def last(self) -> int | None:
        """The last round in which it was simulated."""
        return max(self.results, default=None)

    @property
    def latest(self) -> Known | None:
        """The exact value, or else the simulations of the last round."""
        return self.known(self.last)

    def known(self, turn: int | None) -> Known | None:
        """Return the exact value, or else the simulations of a round."""
        if self.exact is not None or turn is None:
            return self.exact
        return self.results.get(turn)


class Race:
    """A race; its state can be read at any time.

    Attributes:
        system, metric, indifference, seed: as in `tune`.
        exact: exact values of the metric.
        entries: all candidates, by their key.
        turn: number of the last complete round, from 0; None before the first.
        used: jobs simulated.
        first: jobs of each candidate in the first round.
        ran: simulations that were run by this call; the others were in the store.
    """

    def __init__(
        self,
        system: System,
        metric: str,
        policies: Iterable[Policy],
        *,
        budget: int,
        indifference: float,
        seed: int,
        refine: bool,
        exact: Exact,
    ) -> None:
        self.system, self.metric, self.exact = system, metric, exact
        self.indifference, self.seed, self._budget = indifference, seed, budget
        self._stages = STAGES if refine else 0
        self.entries: dict[str, Entry] = {}
        self._enter(distinct(policies, system))
        self.turn: int | None = None
        self.used = self.ran = self._jobs = 0
        simulated = max(1, len(self._simulated()))
        self.first = even(min(FIRST, max(LEAST, budget // (SHARE * simulated))))
        rounds = 1 + int(math.log2(max(1, budget / self.first)))
        comparisons = rounds * (simulated + 1 + self._stages * NEW)
        self._confidence = 1 - RISK / comparisons
        """Two-sided: the true value lies above and below an interval with equal probability."""

    def run(self, run: Run, report: Callable[[], object]) -> None:
        """Race until one candidate is left, the race is decided, or the budget is spent.

        Args:
            run: simulates points.
            report: called before each round.
        """
        self._refine_exactly()
        while self._simulated():
            jobs = self._next_jobs()
            if jobs is None:
                break
            self._jobs = jobs
            report()
            self._round(run)
            if not self._refined() and self.decided():
                break

    @property
    def left(self) -> list[Entry]:
        """The entries that are still in the race."""
        return [each for each in self.entries.values() if each.status is Status.RACING]

    @property
    def simulations(self) -> int:
        """Number of simulations in all rounds together."""
        runs = (runs for entry in self.entries.values() for runs in entry.results.values())
        return sum(len(each.results) for each in runs)

    def key(self, entry: Entry) -> str:
        """Return the key of an entry."""
        return next(key for key, each in self.entries.items() if each is entry)

    def leader(self) -> Entry | None:
        """Return the entry with the least value that can be trusted."""
        leading = [each for each in self.left if trusted(each.known(self.turn))]
        return min(leading, key=self.value, default=None)

    def winner(self) -> Entry | None:
        """Return the leader, unless a run that is too short has a lower value."""
        left = {self.key(each): each for each in self.left}
        statuses = {
            name: "stable" if trusted(each.known(self.turn)) else "too short"
            for name, each in left.items()
        }
        values = {name: self.value(each) for name, each in left.items()}
        best = best_of(values, statuses, lambda *_: Outcome.WORSE)
        return left[best[0]] if best else None

    def value(self, entry: Entry) -> float:
        """Return the value of an entry after the last round; infinite if it has none."""
        known = entry.known(self.turn)
        if known is None or (isinstance(known, Runs) and known.unstable):
            return math.inf
        value = measured(known, self.metric).value
        return math.inf if math.isnan(value) else value

    @property
    def final_confidence(self) -> float:
        """Confidence of each comparison with the winner after the race.

        Two candidates, the next one and the default, may be compared again on fresh jobs.
        """
        number = sum(each.exact is None for each in self.entries.values())
        return 1 - RISK / (number + AGAIN)

    def outcome(
        self, entry: Entry, leader: Entry, turn: int | None, confidence: float | None = None
    ) -> Outcome:
        """Return how an entry compares with the leader.

        Args:
            entry, leader: two entries.
            turn: the round whose simulations are compared.
            confidence: of the interval of their difference; by default that of the rounds.
        """
        a, b = entry.known(turn), leader.known(turn) or leader.latest
        if a is None or b is None:
            return Outcome.INCONCLUSIVE
        confidence = confidence or self._confidence
        return outcome(a, b, self.metric, self.indifference, confidence)

    def decided(self) -> bool:
        """Whether all that are left are within the indifference of the leader."""
        leader = self.leader()
        if leader is None:
            return not self.left
        others = (each for each in self.left if each is not leader)
        return all(self.outcome(each, leader, self.turn) is Outcome.ALIKE for each in others)

    def _enter(self, candidates: dict[str, Candidate]) -> list[Entry]:
        """Add new candidates, with their exact values if there are any."""
        added = []
        for key, candidate in candidates.items():
            if key in self.entries:
                continue
            entry = self.entries[key] = Entry(candidate)
            proven = stability(self.system, candidate.policy)
            if proven.verdict == "unstable":
                entry.status, entry.reason = Status.UNSTABLE, proven.reason
            else:
                entry.exact = self.exact.value(candidate.policy)
            added.append(entry)
        exact = [each for each in self.left if each.exact is not None]
        best = min(exact, key=lambda each: each.exact or 0.0, default=None)
        for entry in exact:
            if entry is not best:
                entry.status = Status.SETTLED
        return added

    def _simulated(self) -> list[Entry]:
        return [each for each in self.left if each.exact is None]

    def _next_jobs(self) -> int | None:
        """Return the jobs of each candidate in the next round, None if the budget is spent."""
        if self.turn is None:
            return self.first
        jobs = even(min(2 * self._jobs, (self._budget - self.used) // len(self._simulated())))
        return jobs if jobs >= GROWTH * self._jobs else None

    def _round(self, run: Run) -> None:
        """Simulate the candidates that are left, and eliminate the significantly worse ones."""
        racing = self._simulated()
        turn = 0 if self.turn is None else self.turn + 1
        policies = [each.candidate.policy for each in racing]
        doubted = [each.strikes > 0 for each in racing]
        found, ran = simulated(
            run, self.system, policies, self.metric, self._jobs, self.seed, doubted
        )
        self.ran += ran
        for entry, runs in zip(racing, found, strict=True):
            if isinstance(runs, Failure):
                entry.status, entry.reason = Status.FAILED, runs.message
                continue
            entry.results[turn] = runs
            entry.jobs += runs.completed
            self.used += runs.completed
            entry.strikes = entry.strikes + 1 if runs.unstable else 0
            if entry.strikes == STRIKES:
                entry.status, entry.reason = Status.UNSTABLE, runs.reason
        self.turn = turn
        self._merge(racing, turn)
        leader = self.leader()
        for entry in self.left:
            if leader is not None and entry is not leader and self._drops(entry, leader):
                entry.status = Status.WORSE
                entry.reason = f"significantly worse than {leader.candidate.label}."

    def _merge(self, racing: Sequence[Entry], turn: int) -> None:
        """Keep one of several candidates that took the same decisions on all jobs."""
        firsts: list[Entry] = []
        for entry in racing:
            if entry.status is not Status.RACING or not trusted(entry.known(turn)):
                continue
            runs = entry.results[turn]
            first = next((each for each in firsts if each.results[turn].same_as(runs)), None)
            if first is None:
                firsts.append(entry)
                continue
            entry.status, entry.twin = Status.ALIKE, first
            entry.reason = (
                f"took the decisions of {first.candidate.label} on {runs.completed:,} jobs."
            )

    def _drops(self, entry: Entry, leader: Entry) -> bool:
        """Whether an entry is significantly worse than the leader, by any amount."""
        a, b = entry.known(self.turn), leader.known(self.turn)
        assert a is not None
        assert b is not None
        return bounded(a) and gap(a, b, self.metric, self._confidence).low > 0

    def _refine_exactly(self) -> None:
        """Refine between the best exact candidate and its neighbours, while values are exact."""
        while self._stages:
            exact = [each for each in self.left if each.exact is not None]
            fresh = self._new([each.candidate.policy for each in exact])
            values = [self.exact.value(each.policy) for each in fresh.values()]
            if not fresh or None in values:
                break
            self._enter(fresh)

    def _new(self, best: Sequence[Policy]) -> dict[str, Candidate]:
        """Return new candidates between the best policies and their neighbours."""
        tried = [each.candidate.policy for each in self.entries.values() if each.twin is None]
        candidates = distinct(islice(between(best, tried, self.system), NEW), self.system)
        return {key: each for key, each in candidates.items() if key not in self.entries}

    def _refined(self) -> list[Entry]:
        """Add candidates between the best and their neighbours, after two rounds or a decision."""
        if self._stages == 0 or not (self.turn or self.decided()):
            return []
        racing = sorted(
            (each for each in self.left if trusted(each.known(self.turn))), key=self.value
        )
        fresh = self._new([each.candidate.policy for each in racing])
        room = (self._budget - self.used) // (2 * self._jobs) - len(self._simulated())
        if not fresh or len(fresh) > room:
            return []
        self._stages -= 1
        return [each for each in self._enter(fresh) if each.exact is None]
