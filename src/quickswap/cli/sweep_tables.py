"""The tables of `quickswap sweep`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from quickswap.cli.compare import mark

if TYPE_CHECKING:
    import polars

    from quickswap.sweeps.cells import Cell
    from quickswap.sweeps.grid import Grid
    from quickswap.sweeps.run import Sweep

__all__ = ["frame_of", "print_sweep", "spelling_of"]

MOST = 200
"""Lines of a table of all policies; beyond it there is one line a cell."""
WIDE = ", wide"
"""Suffix of the verdict of a run that did not reach its precision."""


def spelling_of(policy: str, grids: Sequence[Grid]) -> str:
    """Return the spelling of a policy of the grids.

    Raises:
        PolicyError: no grid contains it.
    """
    from quickswap.errors import PolicyError
    from quickswap.policies import parse, spell

    known = dict.fromkeys(spell(each) for grid in grids for each in grid.policies)
    spelling = spell(parse(policy))
    if spelling not in known:
        raise PolicyError(
            f"--against is {policy!r}; it must be a policy of the grid: {', '.join(known)}."
        )
    return spelling


def frame_of(found: Sweep) -> polars.DataFrame:
    """Return all quantities of the points of a sweep, one per row."""
    from quickswap.sweeps.frames import frame_of as frame

    return frame(found.outcomes.results)


def print_sweep(found: Sweep, against: str | None, *, interrupted: bool) -> None:
    """Print the outcome of a sweep: all policies of each cell, or in a long table the best.

    Args:
        found: the sweep.
        against: spelling of the policy with which the others are compared.
        interrupted: whether Ctrl-C ended it.
    """
    from quickswap._words import counted
    from quickswap.cli.output import explain_unknown, print_table
    from quickswap.simulation.result import Stop

    cells = found.cells
    labels = {each.point.inputs.policy: each.label for each in found.grid_points}
    baseline = None if against is None else labels.get(against, against)
    lines = sum(len(cell.policies) + len(cell.failures) for cell in cells)
    models = len({cell.model for cell in cells}) > 1
    print("response times, seconds, ± is the 95 % half-width\n")
    if lines <= MOST:
        columns, rows = _long(cells, models, baseline)
    else:
        columns, rows = _short(cells, models, baseline)
    words = len(_where_columns(cells[0], models)) + 2 if cells else 1
    print_table(columns, rows, text=words)
    print("\nbest: least weighted mean response time; tied: not significantly different")
    explain_unknown(chain(*rows))
    wide = sum(each.stop is Stop.BUDGET for each in found.outcomes.results)
    if wide:
        print(
            f"wide: {counted(wide, 'point', ',')} of {len(found.grid_points):,} used all jobs "
            "allowed before the precision was reached; allow more with --budget or --jobs"
        )
    failures = list(found.outcomes.failures.values())
    reasons = Counter(
        (each.model, failure.message)
        for each in found.grid_points
        if (failure := found.outcomes.failures.get(each.point.key)) and not failure.not_run
    )
    for (model, message), number in reasons.items():
        prefix = f"{model}: " if models else ""
        print(f"{counted(number, 'point')} without a result: {prefix}{message}")
    ran, points = found.outcomes.ran, len(found.grid_points)
    others = ", the others were in the store" if ran < points and not interrupted else ""
    print(f"{ran:,} of {counted(points, 'point', ',')} run now{others}")
    waiting = sum(each.not_run for each in failures)
    if waiting:
        print(
            f"not run: {counted(waiting, 'point', ',')}; without one of the policies none is best"
        )
    if interrupted:
        print("interrupted: with --store, repeat the command to continue")


def _not_run(cell: Cell) -> list[str]:
    """Return the policies that had not run at Ctrl-C."""
    return [policy for policy, each in cell.failures.items() if each.not_run]


def _where_columns(cell: Cell, models: bool) -> list[str]:
    precise = any(
        each.inputs.precision is not None for found in cell.results.values() for each in found
    )
    names = {"jobs": "jobs at most"} if precise else {}
    settings = (names.get(name, name) for name in cell.settings)
    return [*(["model"] if models else []), "load", "rate", *settings]


def _where(cell: Cell, models: bool) -> list[str]:
    from quickswap._words import load_words

    system = cell.system
    numbers = [load_words(system.load), f"{system.arrival_rate:.4g}"]
    return [*([cell.model] if models else []), *numbers, *map(str, cell.settings.values())]


def _long(
    cells: Sequence[Cell], models: bool, baseline: str | None
) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with a line for each policy of each cell."""
    columns = [*(_where_columns(cells[0], models) if cells else []), "policy", ""]
    columns += ["weighted mean", "mean", "lightest", "heaviest", "Jain", "utilisation", "verdict"]
    if baseline is not None:
        columns += [f"difference from {baseline}", f"compared with {baseline}"]
    rows = []
    for cell in cells:
        best = cell.best()
        for policy in (*cell.policies, *cell.failures):
            row = [*_where(cell, models), policy, mark(policy, best), *_values(cell, policy)]
            row.append(_verdict(cell, policy))
            rows.append(row + ([] if baseline is None else _against(cell, policy, baseline)))
        rows.append([""] * len(columns))
    return columns, rows[:-1]


def _verdict(cell: Cell, policy: str) -> str:
    """Return the verdict, marked if the interval is wide or seeds have not run."""
    from quickswap._words import counted

    words = cell.verdict(policy) + ("" if cell.reached(policy) else WIDE)
    ran, waiting = len(cell.results.get(policy, ())), cell.not_run.get(policy, 0)
    return f"{words}, {ran} of {counted(ran + waiting, 'seed')}" if ran and waiting else words


def _values(cell: Cell, policy: str) -> list[str]:
    if policy in cell.failures:
        return ["-"] * 6
    needs = cell.system.needs
    light = min(range(len(needs)), key=needs.__getitem__)
    heavy = max(range(len(needs)), key=needs.__getitem__)
    estimates = [
        cell.estimate(policy, "weighted_mean_response_time"),
        cell.estimate(policy, "mean_response_time"),
        cell.estimate(policy, "mean_response_time", light),
        cell.estimate(policy, "mean_response_time", heavy),
        cell.estimate(policy, "jain_index"),
        cell.estimate(policy, "utilisation"),
    ]
    return ["-" if math.isnan(each.value) else str(each) for each in estimates]


def _against(cell: Cell, policy: str, baseline: str) -> list[str]:
    """Return the difference of the weighted means from a policy, and the outcome."""
    if policy == baseline:
        return ["", ""]
    if not {policy, baseline} <= cell.results.keys() | cell.failures.keys():
        return ["-", "-"]
    both = {policy, baseline} <= cell.results.keys()
    difference = str(cell.difference(policy, baseline)) if both else "-"
    return [difference, cell.outcome(policy, baseline).value]


def _short(
    cells: Sequence[Cell], models: bool, baseline: str | None
) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with a line for each cell."""
    columns = [*_where_columns(cells[0], models), "best", "tied with", "weighted mean", "mean"]
    if baseline is not None:
        columns += [f"difference from {baseline}", f"compared with {baseline}"]
    rows = []
    for cell in cells:
        best = cell.best()
        none = f"- ({len(waiting)} not run)" if (waiting := _not_run(cell)) else "-"
        row = [*_where(cell, models), best[0] if best else none, ", ".join(best[1:])]
        row += _values(cell, best[0])[:2] if best else ["-", "-"]
        if baseline is not None:
            row += _against(cell, best[0], baseline) if best else ["-", "-"]
        rows.append(row)
    return columns, rows
