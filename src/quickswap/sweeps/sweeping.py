"""`sweep`: a grid, a store, and what has been found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from quickswap._check import items
from quickswap._words import counted
from quickswap.engine.settings import check_progress, whole
from quickswap.errors import Interrupted, QuickswapError, shown
from quickswap.sweeps.costs import work
from quickswap.sweeps.grid import Grid, Spot, read_grids
from quickswap.sweeps.outcomes import Advance, Outcomes
from quickswap.sweeps.places import Place, places_of
from quickswap.sweeps.point import Point
from quickswap.sweeps.running import check_where, run_points
from quickswap.sweeps.shards import dealt
from quickswap.sweeps.store import Store

__all__ = ["Sweep", "run_spots", "spots_of", "sweep"]

LEAST = 10_000
"""Jobs that a budget leaves each point at least."""


@dataclass(frozen=True)
class Sweep:
    """What a sweep has found.

    Attributes:
        spots: points and their places in the grid, in its order; of the shard, if there is one.
        outcomes: a result or a failure for each of them.
    """

    spots: tuple[Spot, ...]
    outcomes: Outcomes

    @cached_property
    def places(self) -> list[Place]:
        """The policies side by side, at each model, rate and setting of the grid."""
        return places_of(self.spots, self.outcomes)


def sweep(
    grid: Grid | str | Path | Iterable[Grid],
    store: Store | str | Path | None = None,
    *,
    executor: Executor | None = None,
    threads: int | None = None,
    shard: str | None = None,
    budget: int | None = None,
    progress: Callable[[Advance], object] | None = None,
) -> Sweep:
    """Run all points of a grid that a store does not hold yet, and compare the policies.

    Run it again after it was killed, on as many machines as there are, with more loads or policies:
    what is in the store is not run again.

    Args:
        grid: a `Grid`, several, or a TOML file of them.
        store: a `Store` or its file, made if it is not there; None to keep results in memory.
        executor: where the points run, one thread each: any of `concurrent.futures`, or
            `Client.get_executor()` of Dask; None for threads of this process.
        threads: of this process, in place of an executor; default: the cores of the machine.
        shard: "3/10" for the third of ten parts that take about equally long.
        budget: jobs of all points together, for grids with a `precision`: each gets a part of it
            as the most it may use, in proportion to what it is expected to need.
        progress: called several times a second with an `Advance`, which has the points done, all
            points, the share of the work done, and the seconds left.

    Raises:
        QuickswapError: a mistake in the grid, a file that is no store, a full disk.
        Interrupted: Ctrl-C; its `result` is the `Sweep` as far as it had come.
    """
    spots = spots_of(grid, budget, shard)
    check_progress(progress)
    threads = check_where(executor, threads)
    opened = store if isinstance(store, Store) else Store(store)
    return run_spots(spots, opened, executor=executor, threads=threads, progress=progress)


def run_spots(
    spots: Sequence[Spot],
    store: Store,
    *,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Callable[[Advance], object] | None = None,
) -> Sweep:
    """Run the points of a grid that a store does not hold yet, as `sweep` does.

    Raises:
        QuickswapError, Interrupted: as `sweep`.
    """
    points = [spot.point for spot in spots]
    try:
        outcomes = run_points(points, store, executor=executor, threads=threads, progress=progress)
    except Interrupted as interrupted:
        found = cast("Outcomes", interrupted.result)
        raise Interrupted(Sweep(tuple(spots), found)) from None
    return Sweep(tuple(spots), outcomes)


def spots_of(
    grid: Grid | str | Path | Iterable[Grid], budget: int | None = None, shard: str | None = None
) -> list[Spot]:
    """Return the points of grids, each once, with their places; of one shard if it is given.

    Raises:
        QuickswapError: it is no grid, the budget does not suit it, or the shard is none.
    """
    distinct: dict[str, Spot] = {}
    for each in _grids(grid):
        for spot in each.spots():
            distinct.setdefault(spot.point.key, spot)
    spots = _told_apart(list(distinct.values()))
    if budget is not None:
        spots = _within(spots, whole(budget, "budget", 1))
    if shard is None:
        return spots
    keys = {point.key for point in dealt([spot.point for spot in spots], shard)}
    return [spot for spot in spots if spot.point.key in keys]


def _grids(given: object) -> Sequence[Grid]:
    if isinstance(given, Grid):
        return [given]
    if isinstance(given, str | Path):
        return read_grids(given, {})
    listed = items(given)
    if listed is None or not listed:
        raise QuickswapError(f"{shown(given)} is no grid: give a Grid, several, or a TOML file.")
    for each in listed:
        if not isinstance(each, Grid):
            raise QuickswapError(f"{shown(each)} is no Grid.")
    return [each for each in listed if isinstance(each, Grid)]


def _told_apart(spots: list[Spot]) -> list[Spot]:
    """Return the spots, policies that differ and have one label called by their spellings."""
    spellings: dict[str, set[str]] = {}
    for spot in spots:
        spellings.setdefault(spot.label, set()).add(spot.point.inputs.policy)
    return [
        replace(spot, label=spot.point.inputs.policy) if len(spellings[spot.label]) > 1 else spot
        for spot in spots
    ]


def _within(spots: list[Spot], budget: int) -> list[Spot]:
    """Give each point a part of the budget as the most jobs that it may use.

    The parts depend on the grid alone, and are equal for all policies at one place.
    """
    if any(spot.point.inputs.precision is None for spot in spots):
        raise QuickswapError(
            "a budget is shared out among points with a precision: give the grid a precision."
        )
    if budget < LEAST * len(spots):
        raise QuickswapError(
            f"budget is {budget}, and each of {counted(len(spots), 'point')} takes {LEAST} jobs: "
            f"give {LEAST * len(spots)} or more."
        )
    works = [work(spot.point) for spot in spots]
    free = budget - LEAST * len(spots)
    total = sum(works)
    result = []
    for spot, each in zip(spots, works, strict=True):
        most = min(spot.point.inputs.jobs, LEAST + int(free * each / total))
        result.append(replace(spot, point=Point(replace(spot.point.inputs, jobs=most))))
    return result
