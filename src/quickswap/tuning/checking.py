"""From a race to what is reported: the winner on fresh jobs, and a place for everybody else."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from quickswap.model.system import System
from quickswap.policies import Policy, spell
from quickswap.statistics.estimates import Estimate
from quickswap.tuning.candidates import key_of
from quickswap.tuning.race import Entry
from quickswap.tuning.exact import Exact
from quickswap.tuning.metrics import Known, excess, gap, measured, place, trusted
from quickswap.tuning.result import FRESH, Row, Tuning
from quickswap.tuning.race import RISK, Race
from quickswap.tuning.runs import Run, Runs, even, seeds_of, simulated

__all__ = ["Asked", "tuning_of"]

NOTHING = Estimate(math.nan, math.nan)
ORDER = ("best", "tied", "not told", "worse", "unstable")


@dataclass(frozen=True)
class Asked:
    """What `tune` was asked for."""

    system: System
    metric: str
    default: Policy
    indifference: float
    seed: int
    budget: int


def tuning_of(asked: Asked, race: Race, exact: Exact, run: Run | None, jobs: int = 0) -> Tuning:
    """Return what a race has found.

    Args:
        asked: of `tune`.
        race: as far as it has come.
        exact: values of theory.
        run: simulates points, for fresh jobs; None to do without.
        jobs: of each of these simulations.
    """
    metric, winner = asked.metric, race.winner()
    rows = _rows(race, winner, metric, {})
    rival = _rival(rows)
    keys = {"best": None if winner is None else race.key(winner)}
    keys |= {"next": rival, "default": key_of(asked.default, asked.system)}
    wanted = {key: _policy(race, key, asked.default) for key in keys.values() if key is not None}
    fresh = _Fresh({}, 0, 0, 0)
    if winner is not None and run is not None:
        fresh = _simulated(asked, race, exact, run, jobs, wanted)
    elif winner is not None:
        fresh = _Fresh({key: race.latest(key) for key in wanted}, 0, 0, 0)
    known = {name: fresh.known.get(key or "") for name, key in keys.items()}
    best, simple = known["best"], known["default"]
    if run is not None and (told := _told(asked, race, fresh.known, keys["best"])):
        rows = _rows(race, winner, metric, told)
    return Tuning(
        system=asked.system,
        metric=metric,
        rows=tuple(row for row, _ in rows),
        value=NOTHING if best is None else measured(best, metric),
        next=None if rival is None else race.entries[rival].candidate.label,
        margin=_less(known["next"], best, metric),
        default=spell(asked.default),
        default_label=asked.default.label,
        default_cost=_less(simple, best, metric),
        default_excess=_less(simple, best, metric, relative=True),
        checked=run is not None and best is not None,
        doubt=_doubt(best),
        indifference=asked.indifference,
        confidence=1 - RISK,
        budget=asked.budget,
        jobs=race.used + fresh.jobs,
        rounds=0 if race.turn is None else race.turn + 1,
        seed=asked.seed,
        simulations=race.simulations + fresh.simulations,
        ran=race.ran + fresh.ran,
    )


@dataclass(frozen=True)
class _Fresh:
    """What is known of some candidates from jobs that nobody was chosen by."""

    known: dict[str, Known | None]
    jobs: int
    simulations: int
    ran: int


def _simulated(
    asked: Asked, race: Race, exact: Exact, run: Run, jobs: int, wanted: dict[str, Policy]
) -> _Fresh:
    """Simulate on fresh jobs those without an exact value."""
    known: dict[str, Known | None] = {
        key: race.entries[key].exact if key in race.entries else exact.value(policy)
        for key, policy in wanted.items()
    }
    todo = {key: policy for key, policy in wanted.items() if known[key] is None}
    if not todo:
        return _Fresh(known, 0, 0, 0)
    seed = asked.seed + seeds_of(asked.metric)
    policies = list(todo.values())
    found, ran = simulated(run, asked.system, policies, asked.metric, even(jobs), seed)
    runs = {key: each for key, each in zip(todo, found, strict=True) if isinstance(each, Runs)}
    known.update(runs)
    simulations = sum(len(each.results) for each in runs.values())
    return _Fresh(known, sum(each.completed for each in runs.values()), simulations, ran)


def _told(
    asked: Asked, race: Race, fresh: dict[str, Known | None], best: str | None
) -> dict[str, str]:
    """Return who is worse than the best one, or tied with it, by the fresh jobs."""
    value = fresh.get(best or "")
    if value is None or not trusted(value):
        return {}
    told = {}
    for key, known in fresh.items():
        if key == best or known is None or (isinstance(known, Runs) and known.unstable):
            continue
        found = place(known, value, asked.metric, asked.indifference, race.final_confidence)
        if found != "not told":
            told[key] = found
    return told


def _rival(rows: list[tuple[Row, str]]) -> str | None:
    """Return the key of the candidate nearest to the winner that is not tied with it."""
    others = [
        (row, key)
        for row, key in rows
        if row.status in ("not told", "worse") and not math.isnan(row.above.value)
    ]
    return min(others, key=lambda pair: pair[0].above.value, default=(None, None))[1]


def _policy(race: Race, key: str, default: Policy) -> Policy:
    return race.entries[key].candidate.policy if key in race.entries else default


def _less(a: Known | None, b: Known | None, metric: str, relative: bool = False) -> Estimate:
    """Return one value less the other, or the share of it; nothing for unstable runs."""
    for each in (a, b):
        if each is None or (isinstance(each, Runs) and each.unstable):
            return NOTHING
    assert a is not None
    assert b is not None
    if a is b:
        return Estimate(0.0, 0.0)
    return excess(a, b, metric) if relative else gap(a, b, metric)


def _rows(
    race: Race, winner: Entry | None, metric: str, told: dict[str, str]
) -> list[tuple[Row, str]]:
    """Return a row for each candidate with its key, the best first.

    Args:
        race: that is over.
        winner: of it.
        metric: in which.
        told: places by the fresh jobs, which those have of whom the race has not told.
    """
    rows = []
    for key, entry in race.entries.items():
        row = _row(race, entry, winner, metric)
        first = key if entry.twin is None else race.key(_first(entry))
        if row.status == "not told" and first in told:
            row = replace(row, status=told[first], reason=FRESH.format(told[first]))
        rows.append((row, key))
    return sorted(rows, key=lambda pair: _rank(pair[0]))


def _first(entry: Entry) -> Entry:
    """Return the one that stayed in the race of those that decided alike."""
    return entry if entry.twin is None else _first(entry.twin)


def _rank(row: Row) -> tuple[int, float, float]:
    unknown = math.isnan(row.value.value)
    return ORDER.index(row.status), unknown, 0.0 if unknown else _distance(row)


def _distance(row: Row) -> float:
    return row.value.value if math.isnan(row.above.value) else row.above.value


def _row(race: Race, entry: Entry, winner: Entry | None, metric: str) -> Row:
    known = entry.latest
    if isinstance(known, Runs) and known.unstable:
        known = None
    beside = None
    if winner is not None:
        beside = winner.known(entry.last) or winner.latest
    return Row(
        label=entry.candidate.label,
        policy=entry.candidate.spelling,
        status=_status(race, entry, winner),
        exact=entry.exact is not None,
        value=NOTHING if known is None else measured(known, metric),
        above=_less(known, beside, metric),
        jobs=entry.jobs,
        reason=entry.reason or _doubt(known),
        equals=entry.candidate.equals,
        alike="" if entry.twin is None else entry.twin.candidate.label,
    )


def _status(race: Race, entry: Entry, winner: Entry | None) -> str:
    if entry is winner:
        return "best"
    if entry.twin is not None:
        return _status(race, entry.twin, winner).replace("best", "tied")
    if entry.status == "unstable":
        return "unstable"
    if winner is None or entry.status == "failed":
        return "worse" if entry.status == "worse" else "not told"
    turn = entry.last if entry.last is not None else winner.last
    place = race.place(entry, winner, turn, race.final_confidence)
    return "worse" if place == "not told" and entry.status == "worse" else place


def _doubt(known: Known | None) -> str:
    """Return why a run cannot be trusted, if it cannot."""
    return known.reason if isinstance(known, Runs) else ""
