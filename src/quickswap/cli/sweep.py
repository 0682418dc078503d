"""`quickswap sweep GRID`: every combination of models, policies, loads and settings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from quickswap.cli.naming import option
from quickswap.cli.points import bar, executor
from quickswap.cli.run import (
    Output,
    Whole,
    check_writable,
    files_of_stores,
    share_or_name,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from polars import DataFrame

    from quickswap.sweeps.grid import GridPoint
    from quickswap.sweeps.run import Sweep
    from quickswap.sweeps.store import Store

__all__ = ["sweep"]


@Parameter(name="*", group="Overrides of the grid, which has the defaults")
@dataclass(frozen=True)
class Overrides:
    """Values that override those of the grid."""

    models: str | None = None
    """Presets or model files, separated by spaces or semicolons."""
    policies: str | None = None
    """Policies, separated by spaces or semicolons, in quotes; a parameter may be a list."""
    loads: str | None = None
    """Loads, separated by commas."""
    rates: str | None = None
    """Total arrivals per second, separated by commas, instead of loads."""
    seeds: str | None = None
    """Seeds, separated by commas."""
    jobs: Whole | None = None
    """Completions of each point, over all its replications; with --precision, the most."""
    precision: float | None = None
    """Simulate until the relative half-width of the mean response time is at most this."""
    precision_of: str | None = None
    """The half-widths that count: mean, weighted (both means) or classes (all means)."""
    engine: str | None = None
    """events (all policies see the same jobs), jumps, or auto."""
    replications: Whole | None = None
    """Independent runs of each point."""
    warmup: str | None = None
    """Share of each replication that is discarded at its start, or mser5."""
    slowdown_bound: float | None = None
    """Least size in the bounded slowdown, in seconds; smaller sizes are raised to it."""
    max_in_system: Whole | None = None
    """A replication with more jobs in the system terminates."""
    allow_unstable: Annotated[bool, Parameter(negative=())] = False
    """Simulate to the end even where no policy is stable."""


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
    """Jobs of all points together, divided by expected need; requires a precision.

    By default only the jobs of the grid limit each point.
    """


def sweep(
    grid: Path | None = None,
    /,
    *,
    store: Path | None = None,
    merge: Annotated[list[Path] | None, Parameter(consume_multiple=True, negative=())] = None,
    overrides: Overrides | None = None,
    where: Where | None = None,
    against: str | None = None,
    csv: Output = None,
    parquet: Path | None = None,
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
    overrides
        Values that override those of the grid.
    where
        Where the points run.
    against
        A policy with which each other one is compared. By default none.
    csv
        Write all quantities of the grid's points to this file, one per line (- for standard
        output); without a grid, those of all results in --store.
    parquet
        Write all quantities of the grid's points to this file; without a grid, as --csv.
    """
    from quickswap._words import counted
    from quickswap.errors import QuickswapError
    from quickswap.sweeps.database import check_store
    from quickswap.sweeps.store import Store

    overrides, where = overrides or Overrides(), where or Where()
    if grid is None and not merge:
        raise QuickswapError("no grid is given: give a TOML file, or --merge and --store.")
    if merge and store is None:
        raise QuickswapError("--merge requires --store: give the file for the results.")
    if str(parquet) == "-":
        raise QuickswapError("--parquet is -; Parquet is not text: give a file.")
    sources = [grid, *files_of_stores(store, *(merge or ()))]
    check_writable(csv, parquet, sources=sources)
    if grid is None:
        _check_only_merge(vars(overrides) | vars(where) | {"against": against})
    plan = None if grid is None else _planned(grid, overrides, where, against)
    if plan is not None:
        check_writable(csv, parquet, sources=[*sources, *plan.models])
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
        if plan is not None:
            _run(plan, kept, chosen, csv, parquet)
        else:
            _write(kept.to_frame, csv, parquet)


@dataclass(frozen=True)
class Plan:
    """A sweep whose arguments have been checked."""

    grid_points: list[GridPoint]
    models: list[Path]
    """Model files of the grid."""
    against: str | None
    threads: int | None


def _planned(grid: Path, overrides: Overrides, where: Where, against: str | None) -> Plan:
    """Read a grid and check it, with settings called as they were given: as options or as keys."""
    from quickswap.cli.sweep_tables import spelling_of
    from quickswap.errors import QuickswapError
    from quickswap.sweeps.grid import model_files, read_grids
    from quickswap.sweeps.run import check_where, grid_points_of

    changes = _given(overrides)
    try:
        grids = read_grids(grid, changes)
        models = model_files(grid, changes)
        spelling = None if against is None else spelling_of(against, grids)
        grid_points = grid_points_of(grids, where.budget, where.shard)
        return Plan(grid_points, models, spelling, check_where(None, where.threads))
    except QuickswapError as error:
        if error.argument not in changes and error.argument not in vars(where):
            error.argument = ""
        raise


def _run(
    plan: Plan, store: Store, chosen: Executor | None, csv: Path | None, parquet: Path | None
) -> None:
    from quickswap.cli.output import writing_files
    from quickswap.cli.sweep_tables import frame_of, print_sweep
    from quickswap.errors import Interrupted
    from quickswap.sweeps.run import run_grid_points

    interruption = None
    try:
        with bar("sweeping") as report:
            found = run_grid_points(
                plan.grid_points, store, executor=chosen, threads=plan.threads, progress=report
            )
    except Interrupted as interrupted:
        found, interruption = cast("Sweep", interrupted.result), interrupted
    with writing_files() as attempt:
        attempt(lambda: _write(lambda: frame_of(found), csv, parquet))
        if str(csv) != "-":
            print_sweep(found, plan.against, interrupted=interruption is not None)
        if interruption is not None:
            raise interruption


def _write(frame: Callable[[], DataFrame], csv: Path | None, parquet: Path | None) -> None:
    from quickswap.cli.output import emit
    from quickswap.files import write_with

    emit(csv, lambda: frame().write_csv())
    if parquet is not None:
        write_with(parquet, lambda path: frame().write_parquet(path))


def _check_only_merge(options: dict[str, Any]) -> None:
    """Refuse options that require a grid."""
    from quickswap.errors import QuickswapError

    for name, value in options.items():
        if _is_given(value):
            raise QuickswapError(f"{option(name)} requires a grid: give one, or leave it out.")


def _is_given(value: object) -> bool:
    """Whether an option was given, also as an empty text or as 0."""
    return value is not None and value is not False


def _given(overrides: Overrides) -> dict[str, Any]:
    """Return the overrides that were given, as keys of a grid."""
    from quickswap.cli.compare import numbers
    from quickswap.errors import QuickswapError

    values = {key: value for key, value in vars(overrides).items() if _is_given(value)}
    for key, example in (("models", "borg-a borg-b"), ("policies", "msf first-fit")):
        if key in values:
            words = values[key].replace(";", " ").split()
            if not words:
                raise QuickswapError(
                    f'--{key} is {values[key]!r}; give at least one, as in "{example}".'
                )
            values[key] = words
    for key in ("loads", "rates"):
        if key in values:
            values[key] = numbers(f"--{key}", values[key])
    if "seeds" in values:
        values["seeds"] = _seeds(values["seeds"])
    if "warmup" in values:
        values["warmup"] = share_or_name(values["warmup"])
    return values


def _seeds(text: str) -> list[int]:
    from quickswap.errors import QuickswapError

    try:
        seeds = [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        seeds = []
    if not seeds:
        raise QuickswapError(
            f"--seeds is {text!r}; give whole numbers separated by commas, as in 1,2,3."
        )
    return seeds
