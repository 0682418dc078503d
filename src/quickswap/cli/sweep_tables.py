"""The tables of `quickswap sweep`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from quickswap.cli.compare import mark
from quickswap.cli.run import as_options

if TYPE_CHECKING:
    import polars

    from quickswap.experiments.grid import Grid
    from quickswap.experiments.places import Place
    from quickswap.experiments.sweeping import Sweep

__all__ = ["frame_of", "print_sweep", "spelling_of"]

MOST = 200
"""Lines of a table of all policies; beyond it there is one line a place."""
WIDE = ", wide"
"""Behind the verdict of a policy that is not as precise as was asked for."""


def spelling_of(policy: str, grids: Sequence[Grid]) -> str:
    """Return the spelling of a policy of the grids.

    Raises:
        PolicyError: none of them has it.
    """
    from quickswap.errors import PolicyError
    from quickswap.policies import parse, spell

    known = dict.fromkeys(spell(each) for grid in grids for each in grid.policies)
    spelling = spell(parse(policy))
    if spelling not in known:
        raise PolicyError(
            f"--against is {policy!r}, which is not in the grid: its policies are "
            f"{', '.join(known)}."
        )
    return spelling


def frame_of(found: Sweep) -> polars.DataFrame:
    """Return all quantities of the points of a sweep, one a row."""
    from quickswap.experiments.frames import frame_of as frame

    return frame(found.outcomes.results)


def print_sweep(found: Sweep, against: str | None, *, interrupted: bool) -> None:
    """Print what a sweep has found: all policies side by side, or if that is long, the best.

    Args:
        found: by the sweep.
        against: spelling of the policy that the others are compared with.
        interrupted: whether it was ended by Ctrl-C.
    """
    from quickswap._words import counted
    from quickswap.cli.output import explain_unknown, print_table

    places = found.places
    labels = {spot.point.inputs.policy: spot.label for spot in found.spots}
    baseline = None if against is None else labels.get(against, against)
    lines = sum(len(place.policies) + len(place.failures) for place in places)
    models = len({place.model for place in places}) > 1
    print("response times, seconds, ± is the 95 % half-width\n")
    if lines <= MOST:
        columns, rows = _long(places, models, baseline)
    else:
        columns, rows = _short(places, models, baseline)
    words = len(_where_columns(places[0], models)) + 2 if places else 1
    print_table(columns, rows, text=words)
    print("\nbest: least weighted mean response time; tied: not told apart from it")
    explain_unknown(chain(*rows))
    _tell_wide(found)
    failures = list(found.outcomes.failures.values())
    reasons = Counter(
        (spot.model, failure.message)
        for spot in found.spots
        if (failure := found.outcomes.failures.get(spot.point.key)) and not failure.not_run
    )
    for (model, message), number in reasons.items():
        whose = f"{model}: " if models else ""
        print(f"{counted(number, 'point')} without a result: {whose}{as_options(message)}")
    ran, points = found.outcomes.ran, len(found.spots)
    others = ", the others were in the store" if ran < points and not interrupted else ""
    print(f"{ran:,} of {counted(points, 'point', ',')} run now{others}")
    waiting = sum(each.not_run for each in failures)
    if waiting:
        print(f"not run: {counted(waiting, 'point', ',')}; where a policy has not run none is best")
    if interrupted:
        print("interrupted: with --store, run it again and it goes on where it was")


def _tell_wide(found: Sweep) -> None:
    """Print how many points ended before they were as precise as was asked for, if any did."""
    from quickswap._words import counted
    from quickswap.result import Stop

    wide = sum(each.stop is Stop.BUDGET for each in found.outcomes.results)
    if wide:
        print(
            f"wide: {counted(wide, 'point', ',')} of {len(found.spots):,} used all jobs allowed "
            "before the precision asked for was reached; allow more with --budget or --jobs"
        )


def _not_run(place: Place) -> list[str]:
    """Return the policies that have no result for want of time."""
    return [policy for policy, each in place.failures.items() if each.not_run]


def _where_columns(place: Place, models: bool) -> list[str]:
    precise = any(
        each.inputs.precision is not None for found in place.results.values() for each in found
    )
    names = {"jobs": "jobs at most"} if precise else {}
    settings = (names.get(name, name) for name in place.settings)
    return [*(["model"] if models else []), "load", "rate", *settings]


def _where(place: Place, models: bool) -> list[str]:
    from quickswap._words import load_words

    system = place.system
    numbers = [load_words(system.load), f"{system.arrival_rate:.4g}"]
    return [*([place.model] if models else []), *numbers, *map(str, place.settings.values())]


def _long(
    places: Sequence[Place], models: bool, baseline: str | None
) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with a line for each policy at each place."""
    columns = [*(_where_columns(places[0], models) if places else []), "policy", ""]
    columns += ["weighted mean", "mean", "lightest", "heaviest", "Jain", "utilisation", "verdict"]
    columns += [] if baseline is None else [f"less {baseline}", f"better than {baseline}"]
    rows = []
    for place in places:
        best = place.best()
        for policy in (*place.policies, *place.failures):
            cells = [*_where(place, models), policy, mark(policy, best), *_values(place, policy)]
            cells.append(_verdict(place, policy))
            rows.append(cells + ([] if baseline is None else _against(place, policy, baseline)))
        rows.append([""] * len(columns))
    return columns, rows[:-1]


def _verdict(place: Place, policy: str) -> str:
    """Return the verdict, and what is to be known about it."""
    from quickswap._words import counted

    words = place.verdict(policy) + ("" if place.reached(policy) else WIDE)
    ran, waiting = len(place.results.get(policy, ())), place.not_run.get(policy, 0)
    return f"{words}, {ran} of {counted(ran + waiting, 'seed')}" if ran and waiting else words


def _values(place: Place, policy: str) -> list[str]:
    if policy in place.failures:
        return ["-"] * 6
    needs = place.system.needs
    light = min(range(len(needs)), key=needs.__getitem__)
    heavy = max(range(len(needs)), key=needs.__getitem__)
    estimates = [
        place.estimate(policy, "weighted_mean_response_time"),
        place.estimate(policy, "mean_response_time"),
        place.estimate(policy, "mean_response_time", light),
        place.estimate(policy, "mean_response_time", heavy),
        place.estimate(policy, "jain_index"),
        place.estimate(policy, "utilisation"),
    ]
    return ["-" if math.isnan(each.value) else str(each) for each in estimates]


def _against(place: Place, policy: str, baseline: str) -> list[str]:
    """Return the difference to a policy in the weighted mean, and whether it is better."""
    if policy == baseline:
        return ["", ""]
    if policy in place.failures or baseline not in place.policies:
        return ["-", "undecided"]
    return [str(place.difference(policy, baseline)), place.better(policy, baseline)]


def _short(
    places: Sequence[Place], models: bool, baseline: str | None
) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with a line for each place."""
    columns = [*_where_columns(places[0], models), "best", "tied with", "weighted mean", "mean"]
    columns += [] if baseline is None else [f"less {baseline}", f"better than {baseline}"]
    rows = []
    for place in places:
        best = place.best()
        none = f"- ({len(waiting)} not run)" if (waiting := _not_run(place)) else "-"
        cells = [*_where(place, models), best[0] if best else none, ", ".join(best[1:])]
        cells += _values(place, best[0])[:2] if best else ["-", "-"]
        if baseline is not None:
            cells += _against(place, best[0], baseline) if best else ["-", "undecided"]
        rows.append(cells)
    return columns, rows
