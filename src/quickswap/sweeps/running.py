"""Runs the points of a sweep that a store does not hold yet, on any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from quickswap._check import items
from quickswap.engine._core import VERSION
from quickswap.engine.settings import check_progress, whole
from quickswap.errors import Interrupted, QuickswapError, shown
from quickswap.simulation.simulate import cores
from quickswap.sweeps.costs import Clock, Costs
from quickswap.sweeps.outcomes import Advance, Outcomes
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure, Record
from quickswap.sweeps.store import Store

__all__ = ["check_where", "compute", "run_points"]

TICK = 0.2
"""Seconds between calls of `progress` if no point ends."""


def run_points(
    points: Iterable[Point],
    store: Store | None = None,
    *,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Callable[[Advance], object] | None = None,
) -> Outcomes:
    """Run the points that the store does not hold, the longest first, and keep their results.

    Each result is in the store before the next one is waited for, so that a killed process loses
    only the points that were running. Any executor gives the same bytes. A point whose simulation
    fails with a mistake (`PolicyError`, `UnstableError`) does not end the others; its failure is
    kept in the store as well. A point that fails for another reason (a worker out of memory, say)
    is reported, not kept, and tried again next time.

    Args:
        points: equal ones are run once.
        store: where results are kept; None for one in memory.
        executor: where the points run, one thread each: any of `concurrent.futures`, or
            `Client.get_executor()` of Dask. It is not shut down. None for threads of this process.
        threads: of this process, in place of an executor; default: the cores of the machine.
        progress: called several times a second with an `Advance`.

    Raises:
        QuickswapError: something given is no point, the disk is full, or the executor has broken.
        Interrupted: Ctrl-C; what was running is given up, its `result` are the `Outcomes`.
    """
    chosen = _points(points)
    check_progress(progress)
    if store is None:
        store = Store()
    elif not isinstance(store, Store):
        raise QuickswapError(f"results are kept in a Store, not in {shown(store)}.")
    threads = check_where(executor, threads)
    sweep = _Sweep(chosen, store, progress)
    if not sweep.todo:
        sweep.report()
        return sweep.outcomes()
    if executor is not None:
        return sweep.run(executor)
    with ThreadPoolExecutor(min(threads or cores(), len(sweep.todo))) as own:
        return sweep.run(own)


def check_where(executor: object, threads: int | None) -> int | None:
    """Return the number of threads; refuse what is none, or no executor.

    Whoever makes a store for `run_points` checks this first, so that a mistake leaves no store.
    """
    if executor is not None and not isinstance(executor, Executor):
        raise QuickswapError(
            f"executor is {shown(executor)}; it must be one of concurrent.futures, or a Dask "
            "client's get_executor()."
        )
    return None if threads is None else whole(threads, "threads", 1, 10_000)


def compute(text: str, watch: Callable[[int, int], object] | None = None) -> Record:
    """Run the point of a JSON text on one thread; this is what an executor is sent.

    Raises:
        RuntimeError: the worker has another version of quickswap than the sender.
    """
    point = Point.from_json(text)
    if point.inputs.version != VERSION:
        raise RuntimeError(
            f"the worker has quickswap {VERSION}, the sweep {point.inputs.version}: install one "
            "version everywhere."
        )
    try:
        return Record.of(point, point.run(progress=watch))
    except QuickswapError as error:
        return Record.of(point, error)


class _AbandonedError(Exception):
    """Ends a simulation in a thread, whose result nobody waits for."""


@dataclass
class _Sweep:
    """Points under way."""

    points: tuple[Point, ...]
    store: Store
    progress: Callable[[Advance], object] | None
    todo: dict[str, Point] = field(default_factory=dict)
    left: dict[str, None] = field(default_factory=dict)
    """Keys of the points that have not ended."""
    failures: dict[str, Failure] = field(default_factory=dict)
    costs: Costs = field(default_factory=Costs)
    shares: dict[str, float] = field(default_factory=dict)
    """Of running points, where they can be watched: how much of each is done."""
    unkept: list[Record] = field(default_factory=list)
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
        """Run what is to do; give it up on Ctrl-C."""
        finished: SimpleQueue[tuple[str, Future[Record]]] = SimpleQueue()
        local = isinstance(executor, ThreadPoolExecutor)
        futures: dict[str, Future[Record]] = {}
        try:
            self.report()
            for key in self.clock.heaviest_first():
                text = self.todo[key].to_json()
                more = (partial(self._watch, key),) if local else ()
                futures[key] = executor.submit(compute, text, *more)
                futures[key].add_done_callback(partial(_finish, finished, key))
            while self.left:
                ended = _waiting(finished, TICK)
                for key, _ in ended:
                    del futures[key]  # and with it the result, here and on a cluster
                self._keep(ended)
                self.report()
        except BaseException as error:
            self.abandoned = True
            for future in futures.values():
                future.cancel()
            if not isinstance(error, KeyboardInterrupt):
                raise
            self._keep(_waiting(finished, 0))
            raise Interrupted(self.outcomes()) from None
        return self.outcomes()

    def _watch(self, key: str, done: int, intended: int) -> None:
        """Note how far a point is; end it if nobody waits for it."""
        if self.abandoned:
            raise _AbandonedError
        self.shares[key] = min(1.0, done / intended)

    def _keep(self, ended: list[tuple[str, Future[Record]]]) -> None:
        """Put what has ended into the store, all at once."""
        broken = None
        for key, future in ended:
            error = None if future.cancelled() else future.exception()
            if isinstance(error, BrokenExecutor):
                broken = error
            elif isinstance(error, Exception) and not isinstance(error, _AbandonedError):
                kind = type(error).__name__
                self._end(key, Failure(self.todo[key], kind, str(error) or kind))
            elif error is None and not future.cancelled():
                self.unkept.append(future.result())
        self.store.add(self.unkept)
        for record in self.unkept:
            key, outcome = record.key.hex(), record.outcome if record.failure else None
            if outcome is None:
                self.costs.learn(self.todo[key], record.seconds)
            self._end(key, outcome if isinstance(outcome, Failure) else None)
        self.unkept.clear()
        if broken is not None:
            raise QuickswapError(
                "the executor has broken: a worker died, for want of memory perhaps; results "
                "until then are in the store, run the sweep again for the others."
            ) from broken

    def _end(self, key: str, failure: Failure | None) -> None:
        """Note that a point has ended."""
        self.left.pop(key, None)
        self.shares.pop(key, None)
        self.clock.end(key)
        if failure is not None:
            self.failures[key] = failure

    def report(self) -> None:
        """Tell how far it is."""
        if self.progress is None:
            return
        share, seconds = self.clock.read(self.shares)
        ended = self.distinct - len(self.left)
        self.progress(Advance(ended, self.distinct, share, seconds))

    def outcomes(self) -> Outcomes:
        """Return what there is."""
        failures = dict(self.failures)
        for key in self.left:
            failures[key] = Failure(self.todo[key], "Interrupted", "the sweep ended before it.")
        return Outcomes(self.points, self.store, failures, len(self.todo) - len(self.left))


def _finish(
    queue: SimpleQueue[tuple[str, Future[Record]]], key: str, future: Future[Record]
) -> None:
    queue.put((key, future))


def _waiting(queue: SimpleQueue[Any], seconds: float) -> list[Any]:
    """Return what is in a queue; wait so long for the first item."""
    found = list(_drain(queue))
    if not found and seconds:
        try:
            found = [queue.get(timeout=seconds), *_drain(queue)]
        except Empty:
            return []
    return found


def _drain(queue: SimpleQueue[Any]) -> Iterator[Any]:
    while True:
        try:
            yield queue.get_nowait()
        except Empty:
            return


def _points(given: object) -> tuple[Point, ...]:
    listed = [given] if isinstance(given, Point) else items(given)
    if listed is None:
        raise QuickswapError(f"points must be a list of points, not {shown(given)}.")
    for each in listed:
        if not isinstance(each, Point):
            raise QuickswapError(f"{shown(each)} is no point: build it with Point.of.")
    return tuple(each for each in listed if isinstance(each, Point))
