"""From a race to the result: the winner on fresh jobs, and a row for each candidate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from quickswap.model.system import System
from quickswap.policies import Policy, spell
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome
from quickswap.tuning.candidates import key_of
from quickswap.tuning.exact import Exact
from quickswap.tuning.metrics import Known, excess, gap, measured, outcome, trusted
from quickswap.tuning.race import RISK, Entry, Race, Status
from quickswap.tuning.result import Standing, Tuning, TuningRow
from quickswap.tuning.runs import Run, Runs, even, seeds_of, simulated

__all__ = ["Request", "tuning_of"]

NOTHING = Estimate(math.nan, math.nan)
STANDINGS = {Outcome.ALIKE: Standing.ALIKE, Outcome.WORSE: Standing.WORSE}
"""Other outcomes are inconclusive."""


@dataclass(frozen=True)
class Request:
    """The arguments of `tune`, and the simple default."""

    system: System
    metric: str
    default: Policy
    indifference: float
    seed: int
    budget: int


def tuning_of(request: Request, race: Race, exact: Exact, run: Run | None, jobs: int = 0) -> Tuning:
    """Return the result of a race.

    Args:
        request: of `tune`.
        race: possibly incomplete.
        exact: exact values.
        run: runs points on fresh jobs; None for no fresh jobs.
        jobs: jobs of each of these simulations.
    """
    metric, winner = request.metric, race.winner()
    rows = _rows(race, winner, metric, {})
    rival = _rival(rows)
    keys = {"best": None if winner is None else race.key(winner)}
    keys |= {"next": rival, "default": key_of(request.default, request.system)}
    wanted = {
        key: race.entries[key].candidate.policy if key in race.entries else request.default
        for key in keys.values()
        if key is not None
    }
    fresh = _Fresh({}, 0, 0, 0)
    if winner is not None and run is not None:
        fresh = _simulated(request, race, exact, run, jobs, wanted)
    elif winner is not None:
        fresh = _Fresh({key: race.latest(key) for key in wanted}, 0, 0, 0)
    known = {name: fresh.known.get(key or "") for name, key in keys.items()}
    best, simple = known["best"], known["default"]
    if run is not None and (standings := _standings(request, race, fresh.known, keys["best"])):
        rows = _rows(race, winner, metric, standings)
    return Tuning(
        system=request.system,
        metric=metric,
        rows=tuple(row for row, _ in rows),
        value=NOTHING if best is None else measured(best, metric),
        next=None if rival is None else race.entries[rival].candidate.label,
        margin=_difference(known["next"], best, metric),
        default=spell(request.default),
        default_label=request.default.label,
        default_cost=_difference(simple, best, metric),
        default_excess=_difference(simple, best, metric, relative=True),
        checked=run is not None and best is not None,
        doubt=_doubt(best),
        indifference=request.indifference,
        confidence=1 - RISK,
        budget=request.budget,
        jobs=race.used + fresh.jobs,
        rounds=0 if race.turn is None else race.turn + 1,
        seed=request.seed,
        simulations=race.simulations + fresh.simulations,
        ran=race.ran + fresh.ran,
    )


@dataclass(frozen=True)
class _Fresh:
    """Some candidates on fresh jobs, which did not choose the winner."""

    known: dict[str, Known | None]
    jobs: int
    simulations: int
    ran: int


def _simulated(
    request: Request, race: Race, exact: Exact, run: Run, jobs: int, wanted: dict[str, Policy]
) -> _Fresh:
    """Simulate the candidates without an exact value on fresh jobs."""
    known: dict[str, Known | None] = {
        key: race.entries[key].exact if key in race.entries else exact.value(policy)
        for key, policy in wanted.items()
    }
    todo = {key: policy for key, policy in wanted.items() if known[key] is None}
    if not todo:
        return _Fresh(known, 0, 0, 0)
    seed = request.seed + seeds_of(request.metric)
    policies = list(todo.values())
    found, ran = simulated(run, request.system, policies, request.metric, even(jobs), seed)
    runs = {key: each for key, each in zip(todo, found, strict=True) if isinstance(each, Runs)}
    known.update(runs)
    simulations = sum(len(each.results) for each in runs.values())
    return _Fresh(known, sum(each.completed for each in runs.values()), simulations, ran)


def _standings(
    request: Request, race: Race, fresh: dict[str, Known | None], best: str | None
) -> dict[str, Standing]:
    """Return the conclusive standings by the fresh jobs."""
    value = fresh.get(best or "")
    if value is None or not trusted(value):
        return {}
    standings = {}
    for key, known in fresh.items():
        if key == best or known is None or (isinstance(known, Runs) and known.unstable):
            continue
        confidence = race.final_confidence
        found = outcome(known, value, request.metric, request.indifference, confidence)
        if found in STANDINGS:
            standings[key] = STANDINGS[found]
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
    race: Race, winner: Entry | None, metric: str, fresh: dict[str, Standing]
) -> list[tuple[TuningRow, str]]:
    """Return a row for each candidate with its key, the best first.

    Args:
        race: the race.
        winner: of it.
        metric: one of `METRICS`.
        fresh: standings by the fresh jobs, for candidates about which the race is inconclusive.
    """
    rows = []
    for key, entry in race.entries.items():
        row = _row(race, entry, winner, metric)
        first = entry
        while first.twin is not None:
            first = first.twin
        if row.standing is Standing.INCONCLUSIVE and (standing := fresh.get(race.key(first))):
            row = replace(row, standing=standing, reason="", fresh=True)
        rows.append((row, key))
    return sorted(rows, key=lambda pair: _rank(pair[0]))


def _rank(row: TuningRow) -> tuple[int, bool, float]:
    unknown = math.isnan(row.value.value)
    distance = row.value.value if math.isnan(row.above.value) else row.above.value
    return list(Standing).index(row.standing), unknown, 0.0 if unknown else distance


def _row(race: Race, entry: Entry, winner: Entry | None, metric: str) -> TuningRow:
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
        value=NOTHING if known is None else measured(known, metric),
        above=_difference(known, reference, metric),
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
