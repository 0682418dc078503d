"""`sweep` and `run_points`: run the points that a store does not contain, on any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, cast, final, overload

from quickswap._check import checks_keywords, items, whole
from quickswap._progress import duration, shows, work_bar
from quickswap._shown import Plotted, Shown
from quickswap._words import counted
from quickswap.engine._core import VERSION
from quickswap.engine.settings import MOST_JOBS, check_progress, check_threads
from quickswap.errors import Interrupted, QuickswapError, invalid
from quickswap.simulation.result import Result
from quickswap.simulation.simulate import cores
from quickswap.sweeps.cells import Cell, cells_of
from quickswap.sweeps.costs import Clock, Costs, expected_work, shard_of
from quickswap.sweeps.grid import Grid, GridPoint, read_grids
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure, Record
from quickswap.sweeps.store import Store, frame_of

if TYPE_CHECKING:
    import polars


__all__ = [
    "Outcomes",
    "Sweep",
    "SweepProgress",
    "check_where",
    "compute",
    "grid_points_of",
    "run_grid_points",
    "run_points",
    "sweep",
]

MIN_JOBS = 10_000
"""Minimum number of jobs that a budget allocates to a point."""
TICK = 0.2
"""Seconds between calls of `progress` if no point ends."""
Ended = SimpleQueue[tuple[str, Future[Record]]]
"""Points that have ended, each with its key."""


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """The progress of a sweep.

    Attributes:
        done: points that have ended, including those in the store.
        points: all points.
        share: share of the work that is done, by expected run time, from 0 to 1.
        seconds_left: present estimate; nan while it is unknown.
    """

    done: int
    points: int
    share: float
    seconds_left: float

    def __str__(self) -> str:
        left = duration(self.seconds_left)
        return f"{self.done:,} of {counted(self.points, 'point', ',')}, {left}"


@final
@dataclass(frozen=True)
class Outcomes(Sequence["Result | Failure"]):
    """The result or failure of each point, in order; results are read from the store on demand.

    Attributes:
        points: as they were given.
        store: contains the results.
        failures: by key; after Ctrl-C they include the points that have not run.
        ran: number of points that were run by this call.
    """

    points: tuple[Point, ...]
    store: Store
    failures: dict[str, Failure]
    ran: int

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> Result | Failure: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result | Failure]: ...
    def __getitem__(self, index: int | slice) -> Result | Failure | list[Result | Failure]:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        point = self.points[index]
        failure = self.failures.get(point.key)
        return self.store[point] if failure is None else failure

    @property
    def results(self) -> list[Result]:
        """The results of all points that have one, in their order."""
        return [each for each in self if isinstance(each, Result)]


@dataclass(frozen=True, repr=False)
class Sweep(Shown, Plotted):
    """The outcome of a sweep.

    Attributes:
        grid_points: the points of the grid, in its order; of the shard, if there is one.
        outcomes: a result or a failure for each of them.
    """

    grid_points: tuple[GridPoint, ...]
    outcomes: Outcomes

    @cached_property
    def cells(self) -> list[Cell]:
        """The policies side by side, at each model, rate and setting of the grid."""
        return cells_of(self.grid_points, self.outcomes)

    def to_frame(self, *, wide: bool = False) -> polars.DataFrame:
        """Return the results of the grid's points as `Store.to_frame`."""
        return frame_of(self.outcomes.results, wide=wide)

    def __repr__(self) -> str:
        points, cells = len(self.grid_points), len(self.cells)
        return f"<Sweep of {counted(points, 'point', ',')} in {counted(cells, 'cell', ',')}>"


@checks_keywords
@shows(work_bar, "sweeping")
def sweep(
    grid: Grid | str | Path | Iterable[Grid],
    store: Store | str | Path | None = None,
    *,
    executor: Executor | None = None,
    threads: int | None = None,
    shard: str | None = None,
    budget: int | None = None,
    progress: Callable[[SweepProgress], object] | bool | None = None,
) -> Sweep:
    """Run all points of a grid that a store does not contain yet, and compare the policies.

    A point whose result is in the store is not run again: the sweep can be repeated after it was
    killed, on several machines, and with more loads or policies.

    Args:
        grid: a `Grid`, several, or a TOML file of them.
        store: a `Store` or its file, created if it does not exist; None for a store in memory.
        executor: where the points run, one thread each: any of `concurrent.futures`, or
            `Client.get_executor()` of Dask; None for threads of this process.
        threads: threads of this process, without an executor; by default the cores of the machine.
        shard: "3/10" for the third of ten parts that take about equally long.
        budget: jobs of all points together, for grids with a `precision`: each point may use a part
            of it, in proportion to the jobs that it is expected to need.
        progress: True for a bar, or a function that is called several times a second with a
            `SweepProgress`: the points done, all points, the share of the work done, and the
            seconds left.

    Raises:
        QuickswapError: the grid is not valid, the file is not a store, or the disk is full.
        Interrupted: Ctrl-C; its `result` is the `Sweep` so far.
    """
    grid_points = grid_points_of(grid, budget, shard)
    progress = check_progress(progress)
    threads = check_where(executor, threads)
    opened = store if isinstance(store, Store) else Store(store)
    return run_grid_points(
        grid_points, opened, executor=executor, threads=threads, progress=progress
    )


def run_grid_points(
    grid_points: Sequence[GridPoint],
    store: Store,
    *,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Callable[[SweepProgress], object] | None = None,
) -> Sweep:
    """Run the points of a grid that a store does not contain yet, as `sweep` does.

    Raises:
        QuickswapError, Interrupted: as `sweep`.
    """
    points = [each.point for each in grid_points]
    try:
        outcomes = run_points(points, store, executor=executor, threads=threads, progress=progress)
    except Interrupted as interrupted:
        outcomes = cast("Outcomes", interrupted.result)
        raise Interrupted(Sweep(tuple(grid_points), outcomes)) from None
    return Sweep(tuple(grid_points), outcomes)


def grid_points_of(
    grid: Grid | str | Path | Iterable[Grid], budget: int | None = None, shard: str | None = None
) -> list[GridPoint]:
    """Return the distinct points of grids, or those of one shard.

    Policies that differ but have one label are labelled by their spellings.

    Raises:
        QuickswapError: the grid, the budget or the shard is not valid.
    """
    if isinstance(grid, str | Path):
        grid = read_grids(grid, {})
    grids = [grid] if isinstance(grid, Grid) else items(grid)
    if not grids or not all(isinstance(each, Grid) for each in grids):
        allowed = "a Grid, several, or a TOML file"
        raise invalid("grid", grid, allowed, QuickswapError)
    distinct: dict[str, GridPoint] = {}
    spellings: dict[str, set[str]] = {}
    for each in cast("list[Grid]", grids):
        for grid_point in each.grid_points():
            distinct.setdefault(grid_point.point.key, grid_point)
            spellings.setdefault(grid_point.label, set()).add(grid_point.point.inputs.spelling)
    grid_points = [
        replace(each, label=each.point.inputs.spelling) if len(spellings[each.label]) > 1 else each
        for each in distinct.values()
    ]
    if budget is not None:
        grid_points = _within(grid_points, whole(budget, "budget", 1, MOST_JOBS, QuickswapError))
    if shard is None:
        return grid_points
    keys = {point.key for point in shard_of([each.point for each in grid_points], shard)}
    return [each for each in grid_points if each.point.key in keys]


def _within(grid_points: list[GridPoint], budget: int) -> list[GridPoint]:
    """Limit the jobs of each point to a part of the budget.

    The parts depend on the grid alone, and are equal for all policies of a cell.
    """
    if any(each.point.inputs.precision is None for each in grid_points):
        raise QuickswapError(
            "budget requires a precision: give the grid a precision.", argument="budget"
        )
    if budget < MIN_JOBS * len(grid_points):
        least = MIN_JOBS * len(grid_points)
        raise QuickswapError(
            f"budget is {budget}, and each of {counted(len(grid_points), 'point')} requires "
            f"{MIN_JOBS} jobs: give {least} or more.",
            argument="budget",
            given=budget,
            allowed=f"at least {least}",
        )
    works = [expected_work(each.point) for each in grid_points]
    free = budget - MIN_JOBS * len(grid_points)
    result = []
    for each, work in zip(grid_points, works, strict=True):
        jobs = min(each.point.inputs.jobs, MIN_JOBS + int(free * work / sum(works)))
        result.append(replace(each, point=Point(replace(each.point.inputs, jobs=jobs))))
    return result


def run_points(
    points: Iterable[Point],
    store: Store | None = None,
    *,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Callable[[SweepProgress], object] | None = None,
) -> Outcomes:
    """Run the points that the store does not contain, the longest first, and store the results.

    Results are stored as they arrive, so a killed process loses only the points that were
    running. All executors give the same bytes. If the simulation of a point raises a
    `QuickswapError`, the other points run on, and the store keeps the failure. If it fails for
    another reason, such as a worker out of memory, the failure is reported but not stored, and the
    point runs again next time.

    Args:
        points: equal ones are run once.
        store: takes the results; None for a store in memory.
        executor: where the points run, one thread each: any of `concurrent.futures`, or
            `Client.get_executor()` of Dask. It is not shut down. None for threads of this process.
        threads: threads of this process, without an executor; by default the cores of the machine.
        progress: called several times a second with a `SweepProgress`.

    Raises:
        QuickswapError: an argument is not valid, the disk is full, or the executor failed.
        Interrupted: Ctrl-C; running points are cancelled, and its `result` is the `Outcomes`.
    """
    listed = [points] if isinstance(points, Point) else items(points)
    if listed is None or not all(isinstance(each, Point) for each in listed):
        allowed = "a list of points, each built with Point.of"
        raise invalid("points", points, allowed, QuickswapError)
    progress = check_progress(progress)
    if store is None:
        store = Store()
    elif not isinstance(store, Store):
        raise invalid("store", store, "a Store", QuickswapError)
    threads = check_where(executor, threads)
    sweep = _Sweep(tuple(cast("list[Point]", listed)), store, progress)
    if not sweep.todo:
        sweep.report()
        return sweep.outcomes()
    if executor is not None:
        return sweep.run(executor)
    with ThreadPoolExecutor(min(threads or cores(), len(sweep.todo))) as own:
        return sweep.run(own)


def check_where(executor: object, threads: int | None) -> int | None:
    """Return the number of threads; reject a value that is not valid.

    A caller that creates a store for `run_points` checks this first, so no file is left
    behind.
    """
    if executor is not None and not isinstance(executor, Executor):
        allowed = "one of concurrent.futures, or a Dask client's get_executor()"
        raise invalid("executor", executor, allowed, QuickswapError)
    return check_threads(threads)


def compute(point: Point, watch: Callable[[int, int], object] | None = None) -> Record:
    """Run a point on one thread; the task that is sent to an executor.

    Raises:
        RuntimeError: the worker has another version of quickswap than the sender.
    """
    if point.inputs.version != VERSION:
        raise RuntimeError(
            f"the worker has quickswap {VERSION}, and the sweep {point.inputs.version}: install "
            "one version everywhere."
        )
    try:
        return Record.of(point, point.run(progress=watch))
    except QuickswapError as error:
        return Record.of(point, error)


class _AbandonedError(Exception):
    """Ends a simulation in a thread after its sweep was interrupted."""


@dataclass
class _Sweep:
    """A run of points."""

    points: tuple[Point, ...]
    store: Store
    progress: Callable[[SweepProgress], object] | None
    todo: dict[str, Point] = field(default_factory=dict)
    left: dict[str, None] = field(default_factory=dict)
    """Keys of the points that have not ended."""
    failures: dict[str, Failure] = field(default_factory=dict)
    costs: Costs = field(default_factory=Costs)
    shares: dict[str, float] = field(default_factory=dict)
    """The share of each running point that is done; of local threads only."""
    unstored: list[Record] = field(default_factory=list)
    """Results that are not in the store yet."""
    abandoned: bool = False

    def __post_init__(self) -> None:
        for point in self.points:
            if (seconds := self.store.seconds(point)) is not None:
                self.costs.learn(point, seconds)
            elif (failure := self.store.failure(point)) is not None:
                self.failures[point.key] = failure
            else:
                self.todo[point.key] = point
        self.left = dict.fromkeys(self.todo)
        self.clock = Clock(self.costs, self.todo)
        self.distinct = len({point.key for point in self.points})

    def run(self, executor: Executor) -> Outcomes:
        """Run the points that are left; cancel them on Ctrl-C."""
        finished: Ended = SimpleQueue()
        local = isinstance(executor, ThreadPoolExecutor)
        futures: dict[str, Future[Record]] = {}
        try:
            self.report()
            for key in self.clock.longest_first():
                more = (partial(self._watch, key),) if local else ()
                futures[key] = executor.submit(compute, self.todo[key], *more)
                futures[key].add_done_callback(partial(lambda *ended: finished.put(ended), key))
            while self.left:
                ended = _ended(finished, TICK)
                for key, _ in ended:
                    del futures[key]  # frees the result, here and on a cluster
                self._keep(ended)
                self.report()
        except BaseException as error:
            self.abandoned = True
            for future in futures.values():
                future.cancel()
            if not isinstance(error, KeyboardInterrupt):
                raise
            self._keep(_ended(finished, 0))
            raise Interrupted(self.outcomes()) from None
        return self.outcomes()

    def _watch(self, key: str, done: int, intended: int) -> None:
        """Record the progress of a point; end it if the sweep was interrupted."""
        if self.abandoned:
            raise _AbandonedError
        self.shares[key] = min(1.0, done / intended)

    def _keep(self, ended: list[tuple[str, Future[Record]]]) -> None:
        """Store the results of the points that have ended, in one transaction."""
        failed = None
        for key, future in ended:
            error = None if future.cancelled() else future.exception()
            if isinstance(error, BrokenExecutor):
                failed = error
            elif isinstance(error, Exception) and not isinstance(error, _AbandonedError):
                kind = type(error).__name__
                self._end(key, Failure(self.todo[key], kind, str(error) or kind))
            elif error is None and not future.cancelled():
                self.unstored.append(future.result())
        self.store.add(self.unstored)
        for record in self.unstored:
            key, outcome = record.key.hex(), record.outcome if record.failure else None
            if outcome is None:
                self.costs.learn(self.todo[key], record.seconds)
            self._end(key, outcome if isinstance(outcome, Failure) else None)
        self.unstored.clear()
        if failed is not None:
            raise QuickswapError(
                "the executor failed, possibly out of memory; earlier results are in the store: "
                "run the sweep again for the others."
            ) from failed

    def _end(self, key: str, failure: Failure | None) -> None:
        """Record that a point has ended."""
        self.left.pop(key, None)
        self.shares.pop(key, None)
        self.clock.end(key)
        if failure is not None:
            self.failures[key] = failure

    def report(self) -> None:
        """Call `progress`."""
        if self.progress is None:
            return
        share, seconds = self.clock.read(self.shares)
        ended = self.distinct - len(self.left)
        self.progress(SweepProgress(ended, self.distinct, share, seconds))

    def outcomes(self) -> Outcomes:
        """Return the outcomes so far."""
        failures = dict(self.failures)
        for key in self.left:
            failures[key] = Failure(self.todo[key], "Interrupted", "the sweep ended before it.")
        return Outcomes(self.points, self.store, failures, len(self.todo) - len(self.left))


def _ended(queue: Ended, timeout: float) -> list[tuple[str, Future[Record]]]:
    """Return the items of a queue; wait for the first one until the timeout."""
    ended = []
    with suppress(Empty):
        ended.append(queue.get(block=timeout > 0, timeout=timeout))
        while True:
            ended.append(queue.get_nowait())
    return ended
