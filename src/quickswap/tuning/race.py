"""The race: rounds of simulations of the same jobs, in which the worse candidates drop out.

Successive elimination: in each round all candidates left are simulated with twice the jobs of the
round before, and compared with the one that leads. The intervals are one-sided, of a confidence
that holds for all comparisons of the race together (Bonferroni over candidates and rounds), so that
the best candidate drops out with a probability of at most 2.5 %, as far as they are right.

Sources: Even-Dar, Mannor, Mansour, "Action elimination and stopping conditions for the multi-armed
bandit and reinforcement learning problems", JMLR 7 (2006); Kim, Nelson, "A fully sequential
procedure for indifference-zone selection in simulation", ACM Trans. Model. Comput. Simul. 11
(2001); Maron, Moore, "The racing algorithm", Artificial Intelligence Review 11 (1997).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.statistics.paired import Outcome, best_of
from quickswap.sweeps.record import Failure
from quickswap.theory.stability import stability
from quickswap.tuning.candidates import Candidate, between, distinct
from quickswap.tuning.race import Entry
from quickswap.tuning.exact import Exact
from quickswap.tuning.metrics import Known, gap, measured, place
from quickswap.tuning.runs import Run, Runs, even, simulated

__all__ = ["RISK", "Race"]

RISK = 0.05
"""Probability that a comparison is mistaken: half for the rounds, half for the final table."""
FIRST = 100_000
"""Jobs of each candidate in the first round, at most."""
LEAST = 5_000
"""And at least."""
SHARE = 15
"""Part of the budget for the first round: one in so many, enough for four rounds of everybody."""
STRIKES = 2
"""Rounds in a row in which a candidate must look unstable: a run that was ended early may be wrong.
After the first one it is simulated to the end."""
WORTH = 1.5
"""Times the jobs of the last round that the next one must have."""
AGAIN = 2
"""Comparisons on fresh jobs, after the race."""
STAGES = 3
"""Times that parameters between those tried join the race."""
NEW = 8
"""How many may join each time."""


class Race:
    """A race under way; what it knows can be read at any time.

    Attributes:
        entries: all candidates, by their key.
        turn: number of the last round that is complete, None before the first.
        used: jobs simulated.
        first: jobs of each candidate in the first round.
        ran: simulations that were run now, and not found in the store.
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
        self._system, self._metric, self._exact = system, metric, exact
        self._budget, self._indifference, self._seed = budget, indifference, seed
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
        """Two-sided: each end of an interval is surpassed with half of the rest."""

    def run(self, run: Run, tell: Callable[[Race], object]) -> None:
        """Race until one is left, all are near enough, or the budget is spent.

        Args:
            run: simulates points.
            tell: called before each round.
        """
        self._refine_exactly()
        while self._simulated():
            jobs = self._next_jobs()
            if jobs is None:
                break
            self._jobs = jobs
            tell(self)
            self._round(run)
            fresh = self._refined()
            if self.decided() and not fresh:
                break

    @property
    def left(self) -> list[Entry]:
        """The entries that are still in the race."""
        return [each for each in self.entries.values() if each.status == "racing"]

    @property
    def simulations(self) -> int:
        """Simulations that all rounds together took."""
        runs = (runs for entry in self.entries.values() for runs in entry.results.values())
        return sum(len(each.results) for each in runs)

    def key(self, entry: Entry) -> str:
        """Return the key of an entry."""
        return next(key for key, each in self.entries.items() if each is entry)

    def latest(self, key: str) -> Known | None:
        """Return the most that is known of a candidate; None if it is not in the race."""
        return self.entries[key].latest if key in self.entries else None

    def leader(self) -> Entry | None:
        """Return the entry with the least value of those whose value can be trusted."""
        known = [each for each in self.left if each.judged(self.turn)]
        return min(known, key=self.value, default=None)

    def winner(self) -> Entry | None:
        """Return the leader, unless a run that is too short to be trusted looks better."""
        found = {self.key(each): each for each in self.left}
        statuses = {
            name: "stable" if each.judged(self.turn) else "too short"
            for name, each in found.items()
        }
        values = {name: self.value(each) for name, each in found.items()}
        best = best_of(values, statuses, lambda *_: Outcome.WORSE)
        return found[best[0]] if best else None

    def value(self, entry: Entry) -> float:
        """Return the value of an entry after the last round; infinite if there is none."""
        known = entry.known(self.turn)
        if known is None or (isinstance(known, Runs) and known.unstable):
            return math.inf
        value = measured(known, self._metric).value
        return math.inf if math.isnan(value) else value

    @property
    def final_confidence(self) -> float:
        """Confidence of each comparison with the winner, once the race is over.

        Two candidates, the next one and the default, may be compared again on fresh jobs.
        """
        number = sum(each.exact is None for each in self.entries.values())
        return 1 - RISK / (number + AGAIN)

    def place(
        self, entry: Entry, leader: Entry, turn: int | None, confidence: float | None = None
    ) -> str:
        """Return "tied", "worse" or "not told": how an entry compares with the one that leads.

        Args:
            entry, leader: two entries.
            turn: the round whose simulations are compared.
            confidence: of the interval of their difference; that of the rounds by default.
        """
        a, b = entry.known(turn), leader.known(turn) or leader.latest
        if a is None or b is None:
            return "not told"
        sure = confidence or self._confidence
        return place(a, b, self._metric, self._indifference, sure)

    def decided(self) -> bool:
        """Whether nobody is left whose place is not told."""
        leader = self.leader()
        if leader is None:
            return not self.left
        others = (each for each in self.left if each is not leader)
        return all(self.place(each, leader, self.turn) == "tied" for each in others)

    def _enter(self, candidates: dict[str, Candidate]) -> list[Entry]:
        """Add candidates that are new, with their exact value if there is one."""
        added = []
        for key, candidate in candidates.items():
            if key in self.entries:
                continue
            entry = self.entries[key] = Entry(candidate)
            proven = stability(self._system, candidate.policy)
            if proven.verdict == "unstable":
                entry.status, entry.reason = "unstable", proven.reason
            else:
                entry.exact = self._exact.value(candidate.policy)
            added.append(entry)
        exact = [each for each in self.left if each.exact is not None]
        best = min(exact, key=lambda each: each.exact or 0.0, default=None)
        for entry in exact:
            if entry is not best:
                entry.status = "settled"
        return added

    def _simulated(self) -> list[Entry]:
        return [each for each in self.left if each.exact is None]

    def _next_jobs(self) -> int | None:
        """Return the jobs of each candidate in the next round, None if the budget is spent."""
        if self.turn is None:
            return self.first
        jobs = even(min(2 * self._jobs, (self._budget - self.used) // len(self._simulated())))
        return jobs if jobs >= WORTH * self._jobs else None

    def _round(self, run: Run) -> None:
        """Simulate everybody who is left, and let drop out who is surely worse."""
        racing = self._simulated()
        turn = 0 if self.turn is None else self.turn + 1
        policies = [each.candidate.policy for each in racing]
        doubted = [each.strikes > 0 for each in racing]
        found, ran = simulated(
            run, self._system, policies, self._metric, self._jobs, self._seed, doubted
        )
        self.ran += ran
        for entry, runs in zip(racing, found, strict=True):
            if isinstance(runs, Failure):
                entry.status, entry.reason = "failed", runs.message
                continue
            entry.results[turn] = runs
            entry.jobs += runs.completed
            self.used += runs.completed
            entry.strikes = entry.strikes + 1 if runs.unstable else 0
            if entry.strikes == STRIKES:
                entry.status, entry.reason = "unstable", runs.reason
        self.turn = turn
        self._merge(racing, turn)
        leader = self.leader()
        for entry in self.left:
            if leader is not None and entry is not leader and self._drops(entry, leader):
                entry.status = "worse"
                entry.reason = f"surely worse than {leader.candidate.label}."

    def _merge(self, racing: Sequence[Entry], turn: int) -> None:
        """Keep one of those that have decided alike on all jobs, if these were enough."""
        firsts: list[Entry] = []
        for entry in racing:
            if entry.status != "racing" or not entry.judged(turn):
                continue
            runs = entry.results[turn]
            first = next((each for each in firsts if each.results[turn].same_as(runs)), None)
            if first is None:
                firsts.append(entry)
                continue
            entry.status, entry.twin = "alike", first
            entry.reason = f"decided like {first.candidate.label} on {runs.completed:,} jobs."

    def _drops(self, entry: Entry, leader: Entry) -> bool:
        """Whether an entry is surely worse than the one that leads, be it by ever so little."""
        a, b = entry.known(self.turn), leader.known(self.turn)
        assert a is not None
        assert b is not None
        sure = entry.bounded(self.turn)
        return sure and gap(a, b, self._metric, self._confidence).low > 0

    def _refine_exactly(self) -> None:
        """Go on between the best exact candidate and its neighbours, as far as values are exact."""
        while self._stages:
            exact = [each for each in self.left if each.exact is not None]
            fresh = self._new([each.candidate.policy for each in exact])
            values = [self._exact.value(each.policy) for each in fresh.values()]
            if not fresh or None in values:
                break
            self._enter(fresh)

    def _new(self, best: Sequence[Policy]) -> dict[str, Candidate]:
        """Return candidates between the best policies and their neighbours, not tried so far."""
        tried = [each.candidate.policy for each in self.entries.values() if each.twin is None]
        found = distinct(islice(between(best, tried, self._system), NEW), self._system)
        return {key: each for key, each in found.items() if key not in self.entries}

    def _refined(self) -> list[Entry]:
        """Let parameters between those of the best and their neighbours join, if it is time."""
        if self._stages == 0 or not (self.turn or self.decided()):
            return []
        racing = sorted((each for each in self.left if each.judged(self.turn)), key=self.value)
        fresh = self._new([each.candidate.policy for each in racing])
        room = (self._budget - self.used) // (2 * self._jobs) - len(self._simulated())
        if not fresh or len(fresh) > room:
            return []
        self._stages -= 1
        return [each for each in self._enter(fresh) if each.exact is None]
