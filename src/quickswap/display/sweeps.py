"""Sweeps as text and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from quickswap._tables import Page, TextTable
from quickswap._words import counted
from quickswap.display.simulations import BEST, half_width, mark, overview, unknown_intervals
from quickswap.display.systems import where
from quickswap.simulation.result import Stop

if TYPE_CHECKING:
    from quickswap.sweeps.cells import Cell
    from quickswap.sweeps.run import Sweep

__all__ = ["sweep_page"]

MOST = 200
"""Lines of a table of all policies; beyond it, there is one line per cell."""


def sweep_page(
    found: Sweep, baseline: str | None = None, option: Callable[[str], str] | None = None
) -> Page:
    """Return all policies of each cell, or in a long table the best.

    Args:
        found: the sweep.
        baseline: label of the policy with which the others are compared.
        option: how the messages of failures name an argument; by default as in Python.
    """
    cells = found.cells
    models = len({cell.model for cell in cells}) > 1
    every = sum(len(cell.policies) + len(cell.failures) for cell in cells) <= MOST
    where = _where_columns(cells[0], models) if cells else []
    table = _long if every else _short
    columns, rows = table(cells, models, baseline)
    columns = [*where, *columns]
    if baseline is not None:
        columns += [f"difference from {baseline}", f"compared with {baseline}"]
    return [
        f"response times, seconds, {half_width(found.outcomes.results)}",
        "",
        TextTable(columns, rows, text=len(where) + 2 if cells else 1),
        "",
        BEST,
        *unknown_intervals(chain(*rows)),
        *_counts(found, models, option),
    ]


def _counts(found: Sweep, models: bool, option: Callable[[str], str] | None) -> Iterator[str]:
    """Yield how many points have run, and why others have no result."""
    points, ran, failed = len(found.grid_points), found.outcomes.ran, found.outcomes.failures
    wide = sum(each.stop is Stop.BUDGET for each in found.outcomes.results)
    if wide:
        yield (
            f"wide: {counted(wide, 'point', ',')} of {points:,} used all jobs "
            "allowed before the precision was reached; allow more jobs, or a larger budget"
        )
    reasons = Counter(
        (each.model, failure.calling(option))
        for each in found.grid_points
        if (failure := failed.get(each.point.key)) and not failure.not_run
    )
    for (model, message), number in reasons.items():
        prefix = f"{model}: " if models else ""
        yield f"{counted(number, 'point')} without a result: {prefix}{message}"
    waiting = sum(each.not_run for each in failed.values())
    others = ", the others were in the store" if ran < points and not waiting else ""
    yield f"{ran:,} of {counted(points, 'point', ',')} run now{others}"
    if waiting:
        yield f"not run: {counted(waiting, 'point', ',')}; without one of the policies none is best"


def _where_columns(cell: Cell, models: bool) -> list[str]:
    precise = any(each.inputs.precision is not None for each in chain(*cell.results.values()))
    settings = ("jobs at most" if precise and each == "jobs" else each for each in cell.settings)
    return [*(["model"] if models else []), "load", "rate", *settings]


def _where(cell: Cell, models: bool) -> list[str]:
    model = [cell.model] if models else []
    return [*model, *where(cell.system), *map(str, cell.settings.values())]


def _long(
    cells: Sequence[Cell], models: bool, baseline: str | None
) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with a line for each policy of each cell."""
    columns = ["policy", "", "weighted mean", "waste", "mean", "lightest", "heaviest"]
    columns += ["Jain", "utilisation", "verdict"]
    rows: list[list[str]] = []
    for cell in cells:
        best = cell.best()
        for policy in (*cell.policies, *cell.failures):
            verdict = cell.verdict(policy) + ("" if cell.reached(policy) else ", wide")
            ran, waiting = len(cell.results.get(policy, ())), cell.not_run.get(policy, 0)
            if ran and waiting:
                verdict += f", {ran} of {counted(ran + waiting, 'seed')}"
            row = [*_where(cell, models), policy, mark(policy, best), *_values(cell, policy)]
            rows.append([*row, verdict, *_against(cell, policy, baseline)])
        rows.append([""] * len(rows[-1]))
    return columns, rows[:-1]


def _values(cell: Cell, policy: str) -> list[str]:
    if policy in cell.failures:
        return ["-"] * 7
    return overview(cell.system, partial(cell.estimate, policy))


def _against(cell: Cell, policy: str, baseline: str | None) -> list[str]:
    """Return the difference of the weighted means from a baseline, and the outcome."""
    if baseline is None:
        return []
    if policy == baseline:
        return ["", ""]
    both = {policy, baseline}
    if not both <= cell.results.keys() | cell.failures.keys():
        return ["-", "-"]
    difference = str(cell.difference(policy, baseline)) if both <= cell.results.keys() else "-"
    return [difference, cell.outcome(policy, baseline).value]


def _short(
    cells: Sequence[Cell], models: bool, baseline: str | None
) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with a line for each cell."""
    rows = []
    for cell in cells:
        row = _where(cell, models)
        if best := cell.best():
            row += [best[0], ", ".join(best[1:]), *_values(cell, best[0])[:2]]
            row += _against(cell, best[0], baseline)
        else:
            waiting = sum(each.not_run for each in cell.failures.values())
            row += [f"- ({waiting} not run)" if waiting else "-", "", "-", "-"]
            row += [] if baseline is None else ["-", "-"]
        rows.append(row)
    return ["best", "tied with", "weighted mean", "mean"], rows
