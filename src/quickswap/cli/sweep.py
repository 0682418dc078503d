"""`quickswap sweep GRID`: every combination of models, policies, loads and settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from quickswap.cli.options import (
    GRID,
    File,
    Numbers,
    Output,
    Overrides,
    Seeds,
    Whole,
    Words,
    check_writable,
    files_of_stores,
    option,
)
from quickswap.cli.running import bar, executor, until_interrupted
from quickswap.errors import invalid

if TYPE_CHECKING:
    from polars import DataFrame

    from quickswap.sweeps.cells import Cell
    from quickswap.sweeps.grid import Grid, GridPoint
    from quickswap.sweeps.run import Sweep

__all__ = ["sweep"]

MOST = 200
"""Lines of a table of all policies; beyond it, there is one line per cell."""


@Parameter(name="*", group=GRID)
@dataclass(frozen=True)
class Axes:
    """Axes that replace those of the grid."""

    models: Words | None = None
    """Presets or model files, separated by spaces or semicolons."""
    policies: Words | None = None
    """Policies, separated by spaces or semicolons, in quotes; a parameter may be a list."""
    loads: Numbers | None = None
    """Loads, separated by commas."""
    rates: Numbers | None = None
    """Total arrivals per second, separated by commas, instead of loads."""
    seeds: Seeds | None = None
    """Seeds, separated by commas."""


@Parameter(name="*")
@dataclass(frozen=True)
class Where:
    """Where the points run."""

    threads: Whole | None = None
    """Threads to use, one for each point; by default all cores."""
    dask: str | None = None
    """Run the points on the workers of this Dask scheduler, as in tcp://host:8786.

    By default on this machine.
    """
    shard: str | None = None
    """Run one part, as in 3/10 for the third of ten; give each part its own store.

    By default all points.
    """
    budget: Whole | None = None
    """Jobs of all points together, allocated by expected need; requires a precision.

    By default only the jobs of the grid limit each point.
    """


def sweep(
    grid: Path | None = None,
    /,
    *,
    store: Path | None = None,
    merge: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    axes: Axes | None = None,
    overrides: Overrides | None = None,
    where: Where | None = None,
    against: str | None = None,
    csv: Output = None,
    parquet: File = None,
) -> None:
    """Run the points of a grid that a store does not contain; print a table, the best marked.

    Parameters
    ----------
    grid
        A TOML file with models, policies, loads or rates, seeds and settings.
    store
        Keep the results in this file, created if it does not exist. A sweep that was stopped
        continues if the command is repeated.
    merge
        First copy the results of these stores into --store; without a grid, only that.
    against
        A policy with which each other one is compared. By default none.
    csv
        Write all quantities of the grid's points to this file, one per line (- for standard
        output); without a grid, those of all results in --store.
    parquet
        Write all quantities of the grid's points to this file; without a grid, as --csv.
    """
    from quickswap._words import counted
    from quickswap.cli.output import emit, writing_files
    from quickswap.errors import QuickswapError
    from quickswap.files import write_with
    from quickswap.sweeps.database import check_store
    from quickswap.sweeps.run import check_where, run_grid_points
    from quickswap.sweeps.store import Store, frame_of

    def write(frame: Callable[[], DataFrame]) -> None:
        emit(csv, lambda: frame().write_csv())
        if parquet is not None:
            write_with(parquet, lambda path: frame().write_parquet(path))

    where = where or Where()
    changes = {
        name: value
        for options in (axes, overrides)
        for name, value in (vars(options) if options else {}).items()
        if value is not None
    }
    if grid is None and not merge:
        raise QuickswapError("no grid is given: give a TOML file, or --merge and --store.")
    if merge and store is None:
        raise QuickswapError("--merge requires --store: give the file for the results.")
    sources = [grid, *files_of_stores(store, *(merge or ()))]
    check_writable(csv, parquet, sources=sources)
    if grid is None:
        for name, value in (changes | vars(where) | {"against": against}).items():
            if value is not None:
                raise QuickswapError(
                    f"{name} requires a grid: give one, or leave it out.", argument=name
                )
        grid_points: Sequence[GridPoint] = ()
        baseline = None
    else:
        grid_points, models, baseline = _planned(grid, changes, where, against)
        check_writable(csv, parquet, sources=[*sources, *models])
    threads = check_where(None, where.threads)
    with ExitStack() as opened, executor(where.dask) as chosen:
        for each in merge or ():
            check_store(each)
        kept = opened.enter_context(Store(store))  # created after all checks
        if merge:
            added = kept.merge(*merge)
            if str(csv) != "-":
                verb = "is" if added == 1 else "are"
                print(
                    f"{counted(added, 'row', ',')} {verb} new in {store}, which contains "
                    f"{counted(len(kept), 'result', ',')}"
                )
        if grid is None:
            write(kept.to_frame)
            return
        with bar("sweeping") as report:
            found, interruption = until_interrupted(
                lambda: run_grid_points(
                    grid_points, kept, executor=chosen, threads=threads, progress=report
                )
            )
        with writing_files(interruption) as attempt:
            attempt(lambda: write(lambda: frame_of(found.outcomes.results)))
            if str(csv) != "-":
                _print(found, baseline, interrupted=interruption is not None)


def _planned(
    file: Path, changes: dict[str, object], where: Where, against: str | None
) -> tuple[list[GridPoint], list[Path], str | None]:
    """Return the points of a grid, its model files, and the label of the policy `against`.

    An error of a setting calls it as it was given: as an option or as a key of the grid.
    """
    from quickswap.errors import QuickswapError
    from quickswap.policies import parse, spell
    from quickswap.sweeps.grid import model_files, read_grids
    from quickswap.sweeps.run import grid_points_of

    try:
        grids: tuple[Grid, ...] = read_grids(file, changes)
        models = model_files(file, changes)
        spelling = None if against is None else spell(parse(against))
        known = dict.fromkeys(spell(each) for grid in grids for each in grid.policies)
        if spelling is not None and spelling not in known:
            allowed = f"a policy of the grid: {', '.join(known)}"
            raise invalid("against", against, allowed, QuickswapError)
        grid_points = grid_points_of(grids, where.budget, where.shard)
        labels = {each.point.inputs.spelling: each.label for each in grid_points}
        return grid_points, models, labels.get(spelling or "", spelling)
    except QuickswapError as error:
        if error.argument == "seed" and "seeds" in changes:
            error.argument = "seeds"
        if error.argument in {*changes, *vars(where), "against"}:
            raise
        prefix = f"{file}: " if error.argument and not error.prefix else ""
        raise QuickswapError(f"{prefix}{error}") from None


def _print(found: Sweep, baseline: str | None, *, interrupted: bool) -> None:
    """Print all policies of each cell, or in a long table the best.

    Args:
        found: the sweep.
        baseline: label of the policy with which the others are compared.
        interrupted: whether Ctrl-C ended it.
    """
    from quickswap._words import counted
    from quickswap.cli.output import explain_unknown, half_width, print_table
    from quickswap.simulation.result import Stop

    cells = found.cells
    models = len({cell.model for cell in cells}) > 1
    print(f"response times, seconds, {half_width(found.outcomes.results)}\n")
    every = sum(len(cell.policies) + len(cell.failures) for cell in cells) <= MOST
    where = _where_columns(cells[0], models) if cells else []
    table = _long if every else _short
    columns, rows = table(cells, models, baseline)
    columns = [*where, *columns]
    if baseline is not None:
        columns += [f"difference from {baseline}", f"compared with {baseline}"]
    print_table(columns, rows, text=len(where) + 2 if cells else 1)
    print("\nbest: smallest weighted mean response time; tied: not significantly different")
    explain_unknown(chain(*rows))
    points, ran, failed = len(found.grid_points), found.outcomes.ran, found.outcomes.failures
    wide = sum(each.stop is Stop.BUDGET for each in found.outcomes.results)
    if wide:
        print(
            f"wide: {counted(wide, 'point', ',')} of {points:,} used all jobs "
            "allowed before the precision was reached; allow more with --budget or --jobs"
        )
    reasons = Counter(
        (each.model, failure.calling(option))
        for each in found.grid_points
        if (failure := failed.get(each.point.key)) and not failure.not_run
    )
    for (model, message), number in reasons.items():
        prefix = f"{model}: " if models else ""
        print(f"{counted(number, 'point')} without a result: {prefix}{message}")
    others = ", the others were in the store" if ran < points and not interrupted else ""
    print(f"{ran:,} of {counted(points, 'point', ',')} run now{others}")
    if waiting := sum(each.not_run for each in failed.values()):
        print(
            f"not run: {counted(waiting, 'point', ',')}; without one of the policies none is best"
        )
    if interrupted:
        print("interrupted: with --store, repeat the command to continue")


def _where_columns(cell: Cell, models: bool) -> list[str]:
    precise = any(each.inputs.precision is not None for each in chain(*cell.results.values()))
    settings = ("jobs at most" if precise and each == "jobs" else each for each in cell.settings)
    return [*(["model"] if models else []), "load", "rate", *settings]


def _where(cell: Cell, models: bool) -> list[str]:
    from quickswap.cli.output import where

    model = [cell.model] if models else []
    return [*model, *where(cell.system), *map(str, cell.settings.values())]


def _long(
    cells: Sequence[Cell], models: bool, baseline: str | None
) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with a line for each policy of each cell."""
    from quickswap._words import counted
    from quickswap.cli.output import mark

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
    from quickswap.cli.output import overview

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
