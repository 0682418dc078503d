"""Points run on any executor: once each, the same bytes, whatever goes wrong."""

from __future__ import annotations

import _thread
import math
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import quickswap as qs
from quickswap.sweeps import Failure, Outcomes, SweepProgress, run_points
from quickswap.sweeps.costs import Costs, expected_work, kind_of
from quickswap.sweeps.run import compute
from verification.known import FOUR

POLICIES = ("msf", "fcfs", "first-fit")


def grid(jobs: int = 300, **settings: Any) -> list[qs.Point]:
    return [
        qs.Point.of(FOUR.with_load(load), policy, jobs=jobs, engine="events", **settings)
        for load in (0.4, 0.6)
        for policy in POLICIES
    ]


def content(store: qs.Store) -> dict[str, str]:
    return {qs.Point(each.inputs).key: each.to_json() for each in store}


def test_results_are_those_of_the_points_in_their_order() -> None:
    points = grid()
    outcomes = run_points(points)
    assert list(outcomes) == [each.run() for each in points] == outcomes.results
    assert outcomes[1:3] == list(outcomes)[1:3]
    assert (len(outcomes), outcomes.ran, outcomes.failures) == (6, 6, {})


def test_only_what_is_missing_runs(tmp_path: Path) -> None:
    points = grid()
    with qs.Store(tmp_path / "s.db") as store:
        assert run_points(points[:2], store).ran == 2
    with qs.Store(tmp_path / "s.db") as store:
        assert run_points([*points, *points], store).ran == 4
        assert run_points(points, store).ran == 0
        assert len(store) == 6


def test_any_executor_gives_the_same_bytes() -> None:
    points = grid()
    stores = [qs.Store() for _ in range(4)]
    run_points(points, stores[0], threads=1)
    run_points(points, stores[1], threads=3)
    with ThreadPoolExecutor(2) as executor:
        run_points(points, stores[2], executor=executor)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        run_points(points, stores[3], executor=executor)
    records = [{each.key: (each.result, each.totals) for each in s._records()} for s in stores]
    assert records[0] == records[1] == records[2] == records[3]


def test_failures_do_not_end_the_others() -> None:
    unstable = qs.Point.of(FOUR.with_load(1.2), "msf", jobs=300)
    points = [unstable, *grid()]
    store = qs.Store()
    outcomes = run_points(points, store)
    first = outcomes[0]
    assert isinstance(first, Failure)
    assert first.unstable
    assert "no policy is stable" in first.message
    assert outcomes.results == list(outcomes)[1:]
    assert unstable not in store
    assert store.failure(unstable) == first
    again = run_points(points, store)
    assert again.ran == 0
    assert again[0] == first
    other = qs.Store()
    other.merge(store)
    assert other.failure(unstable) == first


class Failing(Executor):
    """Runs at once; the first point dies of something that is not its fault."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.sent.append(args)
        future: Future[Any] = Future()
        if len(self.sent) == 1:
            future.set_exception(MemoryError())
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_what_is_not_the_fault_of_a_point_is_tried_again() -> None:
    store, executor = qs.Store(), Failing()
    outcomes = run_points(grid(), store, executor=executor)
    assert [each.kind for each in outcomes.failures.values()] == ["MemoryError"]
    assert (outcomes.ran, len(store)) == (6, 5)
    assert run_points(grid(), store).ran == 1


def _die(point: qs.Point) -> None:
    import os

    os._exit(1)


def test_a_broken_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quickswap.sweeps.run.compute", _die)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor,
        pytest.raises(qs.QuickswapError, match="executor failed"),
    ):
        run_points(grid(), executor=executor)


def test_heavy_points_first() -> None:
    executor = Failing()
    points = [qs.Point.of(FOUR, "msf", jobs=jobs) for jobs in (400, 5000, 100, 30_000, 2000)]
    run_points(points, executor=executor)
    sent = [point.inputs.jobs for (point,) in executor.sent]
    assert sent == [30_000, 5000, 2000, 400, 100]


def test_costs_are_learned() -> None:
    costs = Costs()
    cheap, dear = (qs.Point.of(FOUR, each, jobs=10**6) for each in ("msf", "fcfs"))

    def expected(point: qs.Point) -> float:
        return costs.rate(kind_of(point)) * expected_work(point)

    assert expected(cheap) == expected(dear) == expected_work(cheap)
    costs.learn(dear, 3.0)
    assert expected(cheap) == pytest.approx(3)  # nothing better is known
    costs.learn(cheap, 1.0)
    assert expected(cheap) == pytest.approx(1)
    assert expected(dear) == pytest.approx(3)


def test_a_precision_costs_more_the_higher_the_load() -> None:
    low, high, short = (
        qs.Point.of(FOUR.with_load(load), "msf", precision=0.01, jobs=jobs)
        for load, jobs in ((0.5, None), (0.95, None), (0.95, 10**6))
    )
    assert expected_work(low) < expected_work(high)
    assert expected_work(short) < expected_work(high)


def test_progress_is_reported() -> None:
    reports: list[SweepProgress] = []
    points = grid(200_000)
    run_points([*points, points[0]], progress=reports.append)
    assert (reports[0].done, reports[0].points, reports[0].share) == (0, 6, 0)
    assert math.isnan(reports[0].seconds_left)
    assert reports[-1] == SweepProgress(6, 6, 1.0, 0.0)
    assert all(one.share <= other.share + 1e-9 for one, other in pairwise(reports))
    store = qs.Store()
    run_points(points[:1], store)
    reports.clear()
    run_points(points[:1], store, progress=reports.append)
    assert reports == [SweepProgress(1, 1, 1.0, 0.0)]


def test_ctrl_c_keeps_what_is_done() -> None:
    """Running points are given up at once."""
    store = qs.Store()
    long = [qs.Point.of(FOUR, "msf", jobs=10**12, seed=seed, engine="events") for seed in (1, 2)]

    def interrupt(advance: SweepProgress) -> None:
        if advance.done == 6:
            _thread.interrupt_main()

    with ThreadPoolExecutor(3, "given up") as executor, pytest.raises(qs.Interrupted) as caught:
        run_points([*grid(), *long], store, executor=executor, progress=interrupt)
    outcomes = caught.value.result
    assert isinstance(outcomes, Outcomes)
    assert len(outcomes.results) == len(store) == 6
    assert {each.kind for each in outcomes.failures.values()} == {"Interrupted"}
    assert not [each for each in threading.enumerate() if each.name.startswith("given up")]


def test_compute_returns_failures() -> None:
    assert compute(qs.Point.of(FOUR.with_load(2), "msf")).failure


def test_a_worker_of_another_version_is_reported() -> None:
    point = grid()[0]
    other = qs.Point(replace(point.inputs, version="0.0"))
    with pytest.raises(qs.QuickswapError, match=r"to quickswap 0\.0"):
        other.run()
    (failure,) = run_points([other]).failures.values()
    assert "install one version everywhere" in failure.message


@pytest.mark.parametrize(
    ("points", "options", "part"),
    [
        (["msf"], {}, "points is"),
        (3, {}, "list of points"),
        ([], {"store": "s.db"}, "must be a Store"),
        ([], {"executor": 3}, "concurrent.futures"),
        ([], {"progress": 3}, "progress"),
    ],
)
def test_mistakes(points: Any, options: dict[str, Any], part: str) -> None:
    with pytest.raises(qs.QuickswapError, match=part):
        run_points(points, **options)
