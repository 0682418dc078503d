"""From a race to the result: the winner on fresh jobs, and a row for each candidate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from quickswap.policies import Policy, spell
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome
from quickswap.tuning.candidates import key_of
from quickswap.tuning.metrics import Known, excess, gap, measured, outcome, trusted
from quickswap.tuning.race import RISK, Entry, Race, Status
from quickswap.tuning.result import Standing, Tuning, TuningRow
from quickswap.tuning.runs import Run, Runs, even, seeds_of, simulated

__all__ = ["tuning_of"]

NOTHING = Estimate(math.nan, math.nan)
STANDINGS = {Outcome.ALIKE: Standing.ALIKE, Outcome.WORSE: Standing.WORSE}
"""Other outcomes are inconclusive."""


def tuning_of(
    race: Race, default: Policy, budget: int, run: Run | None = None, jobs: int = 0
) -> Tuning:
    """Return the result of a race.

    Args:
        race: possibly incomplete.
        default: the simple default.
        budget: jobs allowed, of `tune`.
        run: runs points on fresh jobs; None for no fresh jobs.
        jobs: jobs of each of these simulations.
    """
    metric, winner = race.metric, race.winner()
    rows = _rows(race, winner, {})
    rival = _rival(rows)
    best, simple = None if winner is None else race.key(winner), key_of(default, race.system)
    policies = {
        key: race.entries[key].candidate.policy if key in race.entries else default
        for key in dict.fromkeys((best, rival, simple))
        if key is not None
    }
    known: dict[str | None, Known | None] = {}
    fresh: list[Runs] = []
    ran = 0
    if winner is not None and run is not None:
        known |= {
            key: race.entries[key].exact if key in race.entries else race.exact.value(policy)
            for key, policy in policies.items()
        }
        todo = {key: policy for key, policy in policies.items() if known[key] is None}
        seed = race.seed + seeds_of(metric)
        found, ran = simulated(run, race.system, list(todo.values()), metric, even(jobs), seed)
        runs = {key: each for key, each in zip(todo, found, strict=True) if isinstance(each, Runs)}
        known.update(runs)
        fresh = list(runs.values())
        if standings := _standings(race, known, best):
            rows = _rows(race, winner, standings)
    elif winner is not None:
        known |= {key: race.entries[key].latest for key in policies if key in race.entries}
    value = known.get(best)
    return Tuning(
        system=race.system,
        metric=metric,
        rows=tuple(row for row, _ in rows),
        value=NOTHING if value is None else measured(value, metric),
        next=None if rival is None else race.entries[rival].candidate.label,
        margin=_difference(known.get(rival), value, metric),
        default=spell(default),
        default_label=default.label,
        default_cost=_difference(known.get(simple), value, metric),
        default_excess=_difference(known.get(simple), value, metric, relative=True),
        checked=run is not None and value is not None,
        doubt=_doubt(value),
        indifference=race.indifference,
        confidence=1 - RISK,
        budget=budget,
        jobs=race.used + sum(each.completed for each in fresh),
        rounds=0 if race.turn is None else race.turn + 1,
        seed=race.seed,
        simulations=race.simulations + sum(len(each.results) for each in fresh),
        ran=race.ran + ran,
    )


def _standings(
    race: Race, fresh: Mapping[str | None, Known | None], best: str | None
) -> dict[str, Standing]:
    """Return the conclusive standings by the fresh jobs."""
    value = fresh.get(best)
    if value is None or not trusted(value):
        return {}
    standings = {}
    for key, known in fresh.items():
        if key in (None, best) or known is None or (isinstance(known, Runs) and known.unstable):
            continue
        found = outcome(known, value, race.metric, race.indifference, race.final_confidence)
        if found in STANDINGS:
            standings[str(key)] = STANDINGS[found]
    return standings


def _rival(rows: list[tuple[TuningRow, str]]) -> str | None:
    """Return the key of the candidate nearest to the winner that is worse or inconclusive."""
    others = [
        (row, key)
        for row, key in rows
        if row.standing in (Standing.INCONCLUSIVE, Standing.WORSE)
        and not math.isnan(row.above.value)
    ]
    return min(others, key=lambda pair: pair[0].above.value, default=(None, None))[1]


def _difference(a: Known | None, b: Known | None, metric: str, relative: bool = False) -> Estimate:
    """Return the difference of two values, or the relative difference; nan for unstable runs."""
    if a is None or b is None:
        return NOTHING
    if any(isinstance(each, Runs) and each.unstable for each in (a, b)):
        return NOTHING
    if a is b:
        return Estimate(0.0, 0.0)
    return excess(a, b, metric) if relative else gap(a, b, metric)


def _rows(
    race: Race, winner: Entry | None, fresh: Mapping[str, Standing]
) -> list[tuple[TuningRow, str]]:
    """Return a row for each candidate with its key, the best first.

    Args:
        race: the race.
        winner: of it.
        fresh: standings by the fresh jobs, for candidates about which the race is inconclusive.
    """
    rows = []
    for key, entry in race.entries.items():
        row = _row(race, entry, winner)
        first = entry
        while first.twin is not None:
            first = first.twin
        if row.standing is Standing.INCONCLUSIVE and (standing := fresh.get(race.key(first))):
            row = replace(row, standing=standing, reason="", fresh=True)
        rows.append((row, key))

    def rank(pair: tuple[TuningRow, str]) -> tuple[int, bool, float]:
        row, _ = pair
        unknown = math.isnan(row.value.value)
        distance = row.value.value if math.isnan(row.above.value) else row.above.value
        return list(Standing).index(row.standing), unknown, 0.0 if unknown else distance

    return sorted(rows, key=rank)


def _row(race: Race, entry: Entry, winner: Entry | None) -> TuningRow:
    known = entry.latest
    if isinstance(known, Runs) and known.unstable:
        known = None
    reference = None
    if winner is not None:
        reference = winner.known(entry.last) or winner.latest
    return TuningRow(
        label=entry.candidate.label,
        policy=entry.candidate.spelling,
        standing=_standing(race, entry, winner),
        exact=entry.exact is not None,
        value=NOTHING if known is None else measured(known, race.metric),
        above=_difference(known, reference, race.metric),
        jobs=entry.jobs,
        reason=entry.reason or _doubt(known),
        equals=entry.candidate.equals,
        alike="" if entry.twin is None else entry.twin.candidate.label,
    )


def _standing(race: Race, entry: Entry, winner: Entry | None) -> Standing:
    if entry is winner:
        return Standing.BEST
    if entry.twin is not None:
        standing = _standing(race, entry.twin, winner)
        return Standing.ALIKE if standing is Standing.BEST else standing
    if entry.status is Status.UNSTABLE:
        return Standing.UNSTABLE
    if winner is not None and entry.status is not Status.FAILED:
        turn = entry.last if entry.last is not None else winner.last
        found = race.outcome(entry, winner, turn, race.final_confidence)
        if found in STANDINGS:
            return STANDINGS[found]
    return Standing.WORSE if entry.status is Status.WORSE else Standing.INCONCLUSIVE


def _doubt(known: Known | None) -> str:
    """Return the reason why a run cannot be trusted, if it cannot."""
    return known.reason if isinstance(known, Runs) else ""
