"""`quickswap sweep GRID`: every combination of models, policies, loads and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from quickswap._progress import work_bar
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
from quickswap.cli.running import executor, until_interrupted
from quickswap.errors import invalid

if TYPE_CHECKING:
    from polars import DataFrame

    from quickswap.sweeps.grid import Grid, GridPoint

__all__ = ["sweep"]


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
    from quickswap.cli.output import emit, print_page, writing_files
    from quickswap.display.sweeps import sweep_page
    from quickswap.errors import QuickswapError
    from quickswap.files import write_with
    from quickswap.sweeps.database import check_store
    from quickswap.sweeps.run import check_where, run_grid_points
    from quickswap.sweeps.store import Store

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
        with work_bar("sweeping") as report:
            found, interruption = until_interrupted(
                lambda: run_grid_points(
                    grid_points, kept, executor=chosen, threads=threads, progress=report
                )
            )
        with writing_files(interruption) as attempt:
            attempt(lambda: write(found.to_frame))
            if str(csv) != "-":
                print_page(sweep_page(found, baseline, option))
                if interruption is not None:
                    print("interrupted: with --store, repeat the command to continue")


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
