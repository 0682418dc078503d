"""`quickswap sweep GRID`: every combination of models, policies, loads and settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from quickswap.cli.points import bar, executor
from quickswap.cli.run import Output, Whole, check_writable, share_or_name

if TYPE_CHECKING:
    from quickswap.experiments.sweeping import Sweep

__all__ = ["sweep"]


@Parameter(name="*")
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
    """Run the points on the workers of this Dask scheduler, as in tcp://host:8786."""
    shard: str | None = None
    """Run one part, as in 3/10 for the third of ten; each with a store of its own."""
    budget: Whole | None = None
    """Jobs of all points together, shared out by expected need; for grids with a precision."""


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
        A policy: print for each other one whether it is better, yes, no or undecided.
    csv
        Write all quantities of the grid's points to this file, one a line (- for standard output).
    parquet
        Write all quantities of the grid's points to this file.
    """
    from quickswap.errors import QuickswapError
    from quickswap.experiments.store import Store

    if grid is None and not merge:
        raise QuickswapError("give a grid, a TOML file, or --merge and --store.")
    if merge and store is None:
        raise QuickswapError("--merge puts stores together in --store: give its file.")
    if str(parquet) == "-":
        raise QuickswapError("--parquet is -, and parquet is not text: give a file.")
    check_writable(csv, parquet, source="" if grid is None else str(grid))
    with Store(store) as opened:
        if merge:
            added = opened.merge(*merge)
            if str(csv) != "-":
                print(f"{added:,} rows are new in {store}, which holds {len(opened):,} results")
        if grid is not None:
            _run(grid, opened, overrides or Overrides(), where or Where(), against, csv, parquet)


def _run(
    grid: Path,
    store: Any,
    overrides: Overrides,
    where: Where,
    against: str | None,
    csv: Path | None,
    parquet: Path | None,
) -> None:
    from quickswap.cli.output import emit
    from quickswap.cli.sweep_tables import frame_of, print_sweep, spelling_of
    from quickswap.experiments.grid import read_grids
    from quickswap.experiments.sweeping import sweep as run
    from quickswap.files import write_with
    from quickswap.simulation import Interrupted

    grids = read_grids(grid, _given(overrides))
    spelling = None if against is None else spelling_of(against, grids)
    interruption = None
    try:
        with executor(where.dask) as chosen, bar("sweeping") as report:
            found = run(
                grids,
                store,
                executor=chosen,
                threads=where.threads,
                shard=where.shard,
                budget=where.budget,
                progress=report,
            )
    except Interrupted as interrupted:
        found, interruption = cast("Sweep", interrupted.result), interrupted
    emit(csv, lambda: frame_of(found).write_csv())
    if parquet is not None:
        write_with(parquet, lambda path: frame_of(found).write_parquet(path))
    if str(csv) != "-":
        print_sweep(found, spelling, interrupted=interruption is not None)
    if interruption is not None:
        raise interruption


def _given(overrides: Overrides) -> dict[str, Any]:
    """Return the overrides that were given, as keys of a grid."""
    from quickswap.cli.compare import numbers

    values: dict[str, Any] = {key: value for key, value in vars(overrides).items() if value}
    for key in ("models", "policies"):
        if key in values:
            values[key] = values[key].replace(";", " ").split()
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
        return [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        message = f"--seeds is {text!r}; give whole numbers separated by commas, as in 1,2,3."
        raise QuickswapError(message) from None
