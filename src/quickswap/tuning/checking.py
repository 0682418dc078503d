"""From a race to what is reported: the winner on fresh jobs, and a place for everybody else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from quickswap.estimates import Estimate
from quickswap.experiments.outcomes import Outcomes
from quickswap.experiments.point import Point
from quickswap.policies import Policy, spell
from quickswap.result import Result
from quickswap.system import System
from quickswap.tuning.candidates import key_of
from quickswap.tuning.entry import Entry, point_of
from quickswap.tuning.exact import Exact
from quickswap.tuning.metrics import Known, excess, gap, measured
from quickswap.tuning.outcome import Row, Tuning
from quickswap.tuning.racing import LEAST, RISK, Race

__all__ = ["tuning_of"]

NOTHING = Estimate(math.nan, math.nan)
ORDER = ("best", "tied", "not told", "worse", "unstable")


def tuning_of(
    race: Race,
    system: System,
    metric: str,
    default: Policy,
    exact: Exact,
    indifference: float,
    seed: int,
    budget: int,
    run: Callable[[Sequence[Point]], Outcomes] | None,
    jobs: int,
) -> Tuning:
    """Return what a race has found.

    Args:
        race: as far as it has come.
        system, metric, default, exact, indifference, seed, budget: of `tune`.
        run: simulates points, for fresh jobs; None to do without.
        jobs: of each of these simulations.
    """
    winner = race.winner()
    rows = _rows(race, winner, metric)
    known = {key: entry.latest for key, entry in race.entries.items()}
    home = key_of(default, system)
    keys = {row.policy: key for row, key in rows}
    rivals = [key for row, key in rows if row.status in ("not told", "worse")]
    rivals = [key for key in rivals if known[key] is not None]
    first = keys[winner.candidate.spelling] if winner is not None else None
    rival = rivals[0] if rivals else None
    fresh: dict[str, Known | None] = {}
    simulations = sum(len(each.results) for each in race.entries.values())
    used, ran = race.used, race.ran
    if first is not None:
        wanted = dict.fromkeys(key for key in (first, rival, home) if key is not None)
        fresh = {
            key: race.entries[key].exact if key in race.entries else exact.value(default)
            for key in wanted
        }
        todo = [key for key, value in fresh.items() if value is None]
        if run is not None and todo:
            policies = {
                key: race.entries[key].candidate.policy if key in race.entries else default
                for key in todo
            }
            points = [
                point_of(system, policies[key], jobs=max(jobs, LEAST), seed=seed + 1)
                for key in todo
            ]
            outcomes = run(points)
            ran += outcomes.ran
            for key, outcome in zip(todo, outcomes, strict=True):
                if isinstance(outcome, Result):
                    fresh[key] = outcome
                    used += outcome.completed
                    simulations += 1
        elif run is None:
            fresh |= {key: known.get(key) for key in todo}
    best = None if first is None else fresh[first]
    return Tuning(
        system=system,
        metric=metric,
        rows=tuple(row for row, _ in rows),
        value=NOTHING if best is None else measured(best, metric),
        next=None if rival is None else race.entries[rival].candidate.label,
        margin=_less(fresh.get(rival or ""), best, metric),
        default=spell(default),
        default_label=default.label,
        default_cost=_less(fresh.get(home), best, metric),
        default_excess=_less(fresh.get(home), best, metric, relative=True),
        checked=run is not None and best is not None,
        indifference=indifference,
        confidence=1 - RISK,
        budget=budget,
        jobs=used,
        rounds=0 if race.turn is None else race.turn + 1,
        seed=seed,
        simulations=simulations,
        ran=ran,
    )


def _less(a: Known | None, b: Known | None, metric: str, relative: bool = False) -> Estimate:
    """Return one value less the other, or the share of it; nothing for unstable runs."""
    for each in (a, b):
        if each is None or (isinstance(each, Result) and each.verdict.status == "unstable"):
            return NOTHING
    assert a is not None
    assert b is not None
    if a is b:
        return Estimate(0.0, 0.0)
    return excess(a, b, metric) if relative else gap(a, b, metric)


def _rows(race: Race, winner: Entry | None, metric: str) -> list[tuple[Row, str]]:
    """Return a row for each candidate with its key, the best first."""
    rows = [(_row(race, entry, winner, metric), key) for key, entry in race.entries.items()]
    return sorted(rows, key=lambda pair: _rank(pair[0]))


def _rank(row: Row) -> tuple[int, float, float]:
    unknown = math.isnan(row.value.value)
    return ORDER.index(row.status), unknown, 0.0 if unknown else _distance(row)


def _distance(row: Row) -> float:
    return row.value.value if math.isnan(row.above.value) else row.above.value


def _row(race: Race, entry: Entry, winner: Entry | None, metric: str) -> Row:
    known = entry.latest
    if isinstance(known, Result) and known.verdict.status == "unstable":
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
    )


def _status(race: Race, entry: Entry, winner: Entry | None) -> str:
    if entry is winner:
        return "best"
    if entry.twin is not None:
        return _status(race, entry.twin, winner).replace("best", "tied")
    if entry.status == "unstable":
        return "unstable"
    if winner is None or entry.status == "failed":
        return "not told"
    turn = entry.last if entry.last is not None else winner.last
    place = race.place(entry, winner, turn)
    return "worse" if place == "not told" and entry.status == "worse" else place


def _doubt(known: Known | None) -> str:
    """Return why a run cannot be trusted, if it cannot."""
    return "" if not isinstance(known, Result) or known.stable else known.verdict.reason
