"""`quickswap sweep GRID`: every combination of models, policies, loads and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from quickswap.cli.points import bar, executor
from quickswap.cli.run import (
    Output,
    SaidError,
    Whole,
    as_options,
    check_writable,
    files_of_stores,
    share_or_name,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from polars import DataFrame

    from quickswap.experiments.grid import Spot
    from quickswap.experiments.store import Store
    from quickswap.experiments.sweeping import Sweep

__all__ = ["sweep"]


@Parameter(name="*", group="In place of what the grid says, which is the default")
@dataclass(frozen=True)
class Overrides:
    """What takes the place of what the grid says."""

    models: str | None = None
    """Presets or model files, separated by spaces or semicolons."""
    policies: str | None = None
    """Policies, separated by spaces or semicolons, in quotes; a parameter may be a list."""
    loads: str | None = None
    """Loads, separated by commas."""
    rates: str | None = None
    """Total arrivals per second, separated by commas, in place of loads."""
    seeds: str | None = None
    """Seeds, separated by commas."""
    jobs: Whole | None = None
    """Completions of each point, over all its replications; with --precision, the most."""
    precision: float | None = None
    """Simulate until the relative half-width of the mean response time is at most this."""
    precision_of: str | None = None
    """What that is asked of: mean, weighted (that as well) or classes (those and every class)."""
    engine: str | None = None
    """events (all policies see the same jobs), jumps, or auto."""
    replications: Whole | None = None
    """Independent runs that each point consists of."""
    warmup: str | None = None
    """Share of each replication that is cut off, or mser5."""
    slowdown_bound: float | None = None
    """Sizes below this count as this in the bounded slowdown, seconds."""
    max_in_system: Whole | None = None
    """A replication with more jobs in the system is ended."""
    allow_unstable: Annotated[bool, Parameter(negative=())] = False
    """Simulate even where no policy can be stable, and to the end."""


@Parameter(name="*")
@dataclass(frozen=True)
class Where:
    """Where the points run."""

    threads: Whole | None = None
    """Threads to use, one a point; all cores by default."""
    dask: str | None = None
    """Run the points on the workers of this Dask scheduler, as in tcp://host:8786.

    By default on this machine.
    """
    shard: str | None = None
    """Run one part, as in 3/10 for the third of ten; each with a store of its own.

    By default all points.
    """
    budget: Whole | None = None
    """Jobs of all points together, shared out by expected need; for grids with a precision.

    By default each point has the jobs that the grid allows it.
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
    """Run all points of a grid that a store does not hold; print a table, the best marked.

    Parameters
    ----------
    grid
        A TOML file with models, policies, loads or rates, seeds and settings.
    store
        Keep the results in this file, made if it is not there. A sweep that was ended, by whatever,
        goes on where it was if it is run again.
    merge
        First take the results of these stores into --store; without a grid, do no more than that.
    overrides
        What takes the place of what the grid says.
    where
        Where the points run.
    against
        A policy: print for each other one whether it is better, yes, no or undecided. By default
        none.
    csv
        Write all quantities of the grid's points to this file, one a line (- for standard output);
        without a grid, of all that --store holds.
    parquet
        Write all quantities of the grid's points to this file; without a grid, as --csv.
    """
    from quickswap._words import counted
    from quickswap.errors import QuickswapError
    from quickswap.experiments.store import Store

    overrides, where = overrides or Overrides(), where or Where()
    if grid is None and not merge:
        raise QuickswapError("give a grid, a TOML file, or --merge and --store.")
    if merge and store is None:
        raise QuickswapError("--merge puts stores together in --store: give its file.")
    if str(parquet) == "-":
        raise QuickswapError("--parquet is -, and parquet is not text: give a file.")
    sources = [grid, *files_of_stores(store, *(merge or ()))]
    check_writable(csv, parquet, sources=sources)
    if grid is None:
        _check_only_merge(vars(overrides) | vars(where) | {"against": against})
    plan = None if grid is None else _planned(grid, overrides, where, against)
    if plan is not None:
        check_writable(csv, parquet, sources=[*sources, *plan.models])
    with ExitStack() as opened, executor(where.dask) as chosen:
        others = [opened.enter_context(Store(each, create=False)) for each in merge or ()]
        kept = opened.enter_context(Store(store))  # made once nothing else can be wrong
        if others:
            added = kept.merge(*others)
            if str(csv) != "-":
                verb = "is" if added == 1 else "are"
                print(
                    f"{counted(added, 'row', ',')} {verb} new in {store}, which holds "
                    f"{counted(len(kept), 'result', ',')}"
                )
        if plan is not None:
            _run(plan, kept, chosen, csv, parquet)
        else:
            _write(kept.to_frame, csv, parquet)


@dataclass(frozen=True)
class Plan:
    """What is to be run, once all of it has been checked."""

    spots: list[Spot]
    models: list[Path]
    """Files that the grid names."""
    against: str | None
    threads: int | None


def _planned(grid: Path, overrides: Overrides, where: Where, against: str | None) -> Plan:
    """Read a grid and check all that can be wrong with it."""
    from quickswap.cli.sweep_tables import spelling_of
    from quickswap.experiments.grid import model_files, read_grids
    from quickswap.experiments.running import check_where
    from quickswap.experiments.sweeping import spots_of

    changes = _given(overrides)
    with _as_written(changes):
        grids = read_grids(grid, changes)
        models = model_files(grid, changes)
        spelling = None if against is None else spelling_of(against, grids)
        spots = spots_of(grids, where.budget, where.shard)
        return Plan(spots, models, spelling, check_where(None, where.threads))


def _run(
    plan: Plan, store: Store, chosen: Executor | None, csv: Path | None, parquet: Path | None
) -> None:
    from quickswap.cli.output import numbers_kept
    from quickswap.cli.sweep_tables import frame_of, print_sweep
    from quickswap.experiments.sweeping import run_spots
    from quickswap.simulation import Interrupted

    interruption = None
    try:
        with bar("sweeping") as report:
            found = run_spots(
                plan.spots, store, executor=chosen, threads=plan.threads, progress=report
            )
    except Interrupted as interrupted:
        found, interruption = cast("Sweep", interrupted.result), interrupted
    with numbers_kept() as attempt:
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
    """Refuse options that change how a grid runs where there is none."""
    from quickswap.errors import QuickswapError

    for name, value in options.items():
        if _is_given(value):
            option = "--" + name.replace("_", "-")
            raise QuickswapError(
                f"{option} is for a grid, and without one stores are only merged: give a grid too, "
                f"or leave {option} out."
            )


@contextmanager
def _as_written(changes: dict[str, Any]) -> Iterator[None]:
    """Call settings in a sentence as they were given: as options, or as keys of the grid."""
    from quickswap.errors import QuickswapError

    try:
        yield
    except QuickswapError as error:
        raise SaidError(as_options(str(error), changes)) from error


def _is_given(value: object) -> bool:
    """Whether an option was given, be it as nothing or as 0."""
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
        found = [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        found = []
    if not found:
        raise QuickswapError(
            f"--seeds is {text!r}; give whole numbers separated by commas, as in 1,2,3."
        )
    return found
