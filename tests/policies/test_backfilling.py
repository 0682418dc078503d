"""EASY and Conservative: schedules worked out by hand, what they promise, and what they reject.

Schedules are those of the core and of the twin alike. A timeline in a comment reads `time: what
completes | what arrives | what starts`; jobs are numbered from 0.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import quickswap as qs
from quickswap.engine._core import replay
from quickswap.theory import chain
from twin import check, run
from verification.known import FOUR
from verification.systems import mixed

Floats = NDArray[np.float64]


class Job(NamedTuple):
    """Arrival, need, size; an estimate if it is not the size."""

    arrival: float
    need: int
    size: float
    estimate: float | None = None


class Trace(NamedTuple):
    """Jobs in columns."""

    arrival: Floats
    need: NDArray[np.int64]
    size: Floats
    estimate: Floats


def columns(jobs: list[Job]) -> Trace:
    seen = [job.size if job.estimate is None else job.estimate for job in jobs]
    plain = (np.array([job[i] for job in jobs], dtype=float) for i in (0, 2))
    arrival, size = plain
    need = np.array([job.need for job in jobs], dtype=np.int64)
    return Trace(arrival, need, size, np.array(seen, dtype=float))


def served(
    servers: int, policy: str, trace: Trace, patience: dict[str, object] | None = None
) -> tuple[Floats, Floats]:
    """Start and end of each job, by the core."""
    needs, cls = np.unique(trace.need, return_inverse=True)
    system = qs.System(servers, [qs.JobClass(int(n), 1.0, qs.Exponential(mean=1.0)) for n in needs])
    spec = json.dumps(
        {"system": system.to_dict(), "policy": {"name": policy, "patience": patience}}
    )
    columns = trace.arrival, cls.astype(np.uint32), trace.size
    return replay(spec, *columns, estimate=trace.estimate)[:2]


def both(
    servers: int, policy: str, jobs: list[Job], patience: dict[str, object] | None = None
) -> list[float]:
    """Start of each job, on which core and twin agree."""
    trace = columns(jobs)
    needs = sorted(set(trace.need.tolist()))
    rows = [(job.arrival, needs.index(job.need), job.size) for job in jobs]
    spec = {"name": policy, "patience": patience or {}}
    schedule = run(servers, needs, spec, rows, estimates=trace.estimate.tolist())
    check(schedule)
    start, end = served(servers, policy, trace, patience)
    assert (start.tolist(), end.tolist()) == (schedule.start, schedule.end)
    return schedule.start


EASY: list[tuple[str, int, list[Job], list[float]]] = [
    # 0: | 0 1 | 0; shadow of 1 is 4, extra 0   1: | 2 3 | 2 (ends at 4), not 3 (ends at 5)
    # 4: 0 2 | | 1   6: 1 | | 3
    ("by its end", 4, [Job(0, 2, 4), Job(0, 4, 2), Job(1, 1, 3), Job(1, 1, 4)], [0, 4, 1, 6]),
    # 0: | 0 1 | 0; shadow of 1 is 4, extra 5 - 4 = 1   1: | 2 3 | 2 (extra is then 0), not 3
    # 4: 0 | | 1   6: 1 | | 3
    ("beside", 5, [Job(0, 3, 4), Job(0, 4, 2), Job(1, 1, 9), Job(1, 1, 9)], [0, 4, 1, 6]),
    # 0: | 0 1 | 0; shadow of 1 is 10 as estimated   1: | 2 | 2 (ends at 9)   4: 0 | | -
    # 9: 2 | | 1 (two servers were free, but not 4: the early end of 0 did not help)
    ("estimates decide", 4, [Job(0, 2, 4, 10), Job(0, 4, 2), Job(1, 1, 8)], [0, 9, 1]),
    # 0: | 0 1 | 0; shadow of 1 is 1, extra 1   2: | 2 3 | 2 (needs the extra one; 0 is taken to end
    # now), not 3   5: 0 2 | | 1 3
    (
        "beyond its estimate",
        4,
        [Job(0, 2, 5, 1), Job(0, 3, 2), Job(2, 1, 3), Job(2, 1, 1)],
        [0, 5, 2, 5],
    ),
    # 0: | 0 1 2 | 0; shadow of 1 is 4, extra 2   1: | 3 | 3, though 2 has to wait for it
    # 4: 0 | | 1   8: 1 | | - (3 runs until 9)   9: 3 | | 2
    (
        "only the head is safe",
        4,
        [Job(0, 3, 4), Job(0, 2, 4), Job(0, 4, 1), Job(1, 1, 8)],
        [0, 4, 9, 1],
    ),
]
ENDLESS = {"reservation": "oldest", "least": None, "factor": 0.0}
FIRST = {"reservation": "first", "least": 0.0, "factor": 0.0}
RATIOS = [Job(0, 4, 4), Job(1, 4, 1.5), Job(1, 1, 1), Job(1, 1, 3)]
CROWD = [Job(0, 4, 4), Job(1, 4, 1), Job(1, 1, 5), Job(1, 2, 1), Job(1, 1, 2)]
PATIENCE: list[tuple[str, dict[str, object], list[Job], list[float]]] = [
    # 0: | 0 1 | 0   1: | 2 | 2, as 1 is not due   4: 0 | | -   4.5: | 3 | 3   5: 1 is due, at 10
    # 6: | 4 5 | 5 (ends at 10), not 4   10: 2 5 | | 1   12: 1 | | 4
    (
        "due by age",
        {"order": "oldest", "reservation": "oldest", "least": 5.0, "factor": 0.0},
        [Job(0, 2, 4), Job(0, 4, 2), Job(1, 1, 9), Job(4.5, 1, 5), Job(6, 1, 5), Job(6, 1, 4)],
        [0, 10, 1, 4.5, 12, 6],
    ),
    # 0: | 0 1 | 0 1   1: | 2 3 | -   1.25: 3 is due, at 20   3: 1 | | -, as 2 would end at 33
    # 8.5: 2 is due, older than 3, and starts   38.5: 2 | | 3
    (
        "due between events",
        {"order": "oldest", "reservation": "oldest", "least": 0.0, "factor": 0.25},
        [Job(0, 2, 20), Job(0, 2, 3), Job(1, 2, 30), Job(1, 4, 1)],
        [0, 0, 8.5, 38.5],
    ),
    # 0: | 0 1 | 0; 1 is due, at 10   1: | 2 3 | 3   4: 3 | | 2
    (
        "the shortest before the oldest",
        {"order": "shortest", "reservation": "oldest", "least": 0.0, "factor": 0.0},
        [Job(0, 3, 10), Job(0, 4, 1), Job(1, 1, 5), Job(1, 1, 3)],
        [0, 10, 4, 1],
    ),
    # 4: 0 | | 3 2   5: 3 | | 1
    (
        "shortest",
        {"order": "shortest", **ENDLESS},
        [Job(0, 4, 4), Job(1, 2, 5), Job(1, 2, 2), Job(1, 2, 1)],
        [0, 5, 4, 4],
    ),
    # 4: 0 | | 3 (area 2), 4 (2), 2 (5), as 1 (4) does not fit   9: 2 | | 1
    ("area", {"order": "area", **ENDLESS}, CROWD, [0, 9, 4, 4, 4]),
    # 4: 0 | | 1   5: 1 | | 3 2 4
    ("largest", {"order": "largest", **ENDLESS}, CROWD, [0, 4, 5, 5, 5]),
    # 4: 0 | | 2 (waited 3 times its estimate); 1 (twice) is due at 5, before 3 would end
    # 5: 2 | | 1   6.5: 1 | | 3
    ("expansion", {"order": "expansion", **FIRST}, RATIOS, [0, 5, 4, 6.5]),
    # 4: 0 | | 1 (4 * 2^3, more than 1 * 3^3)   5.5: 1 | | 2 3
    ("wfp3", {"order": "wfp3", **FIRST}, RATIOS, [0, 4, 5.5, 5.5]),
]
CONSERVATIVE: list[tuple[str, int, list[Job], list[float]]] = [
    # 0: | 0 1 | 0; 1 is due at 4   1: | 2 3 4 | 3, due now until 4; 2 at 6, 4 at 6
    # 4: 0 3 | | 1   6: 1 | | 2 4
    (
        "holes are filled",
        4,
        [Job(0, 2, 4), Job(0, 4, 2), Job(1, 2, 5), Job(1, 2, 3), Job(1, 2, 5)],
        [0, 4, 6, 1, 6],
    ),
    # As under EASY above, but 2 is due at 8, so 3 is not due before 9.
    (
        "all jobs start in time",
        4,
        [Job(0, 3, 4), Job(0, 2, 4), Job(0, 4, 1), Job(1, 1, 8)],
        [0, 4, 8, 9],
    ),
    # 0: | 0 1 2 3 | 0; 1 and 3 are due at 10, 2 at 12   4: 0 | | 1 3, due now; 2 is due at 6
    # 6: 1 3 | | 2
    (
        "an early end",
        4,
        [Job(0, 4, 4, 10), Job(0, 3, 2), Job(0, 2, 2), Job(0, 1, 2)],
        [0, 4, 6, 4],
    ),
    # 0: | 0 1 2 3 | 0 1; 2 (all servers) is due at 10, 3 at 3 until 9   2: 0 | | 3: in the order of
    # arrival 2 is due at 9, when 3 is to end, and 3 now; then 2 at 8   8: 3 | | 2
    (
        "an early end, twice",
        4,
        [Job(0, 2, 2, 10), Job(0, 2, 3), Job(0, 4, 1), Job(0, 2, 6)],
        [0, 0, 8, 2],
    ),
    # 0: | 0 1 2 | 0; 1 is due at 2 until 5, 2 at 5   2: 0 goes on, so 1 has to wait
    # 3: | 3 | 3; the reservations are void: 1 (does not fit) and 3 (does) are due now, 2 at 6
    # 4: 0 3 | | 1; given anew: 2 is due at 7   7: 1 | | 2
    (
        "a missed reservation",
        4,
        [Job(0, 2, 4, 2), Job(0, 3, 3), Job(0, 4, 1), Job(3, 1, 1)],
        [0, 4, 7, 3],
    ),
    # 0: | 0 1 2 3 | 0 1; 2 (three servers) is due at 3, when 0 should end, until 13; 3 (one) at 5,
    # when 1 should end; neither does, but 3 fits   5: | | 3   6: 1 | | -   7: 0 | | 2
    (
        "missed by two",
        4,
        [Job(0, 1, 7, 3), Job(0, 1, 6, 5), Job(0, 3, 10), Job(0, 1, 9)],
        [0, 0, 7, 5],
    ),
    # 8: | 2 3 | 1 is beyond its estimate, so 2 is due now and does not fit; 3 is due at 19,
    # when 0 should end   19: | | 3, although nothing ends   21: 0 | | 2
    (
        "due between events",
        7,
        [Job(0, 2, 21, 19), Job(4, 2, 19, 1), Job(8, 4, 4, 45), Job(8, 2, 0.25, 47)],
        [0, 4, 21, 19],
    ),
    # As before, but the reservations are given anew at two events, and the last ones hold.
    # 8: | 2 | -   10: | 3 4 | 4 takes the seventh server; 2 is due now, 3 at 19   12: 4 | | -
    # 19: | | 3   21: 0 | | 2
    (
        "due between events, given anew",
        7,
        [
            Job(0, 2, 21, 19),
            Job(4, 2, 19, 1),
            Job(8, 4, 4, 45),
            Job(10, 2, 0.25, 47),
            Job(10, 1, 2, 2),
        ],
        [0, 4, 21, 19, 10],
    ),
]


@pytest.mark.parametrize(
    ("servers", "jobs", "start"), [row[1:] for row in EASY], ids=[row[0] for row in EASY]
)
def test_easy_by_hand(servers: int, jobs: list[Job], start: list[float]) -> None:
    assert both(servers, "easy", jobs) == start


@pytest.mark.parametrize(
    ("patience", "jobs", "start"),
    [row[1:] for row in PATIENCE],
    ids=[row[0] for row in PATIENCE],
)
def test_patience_by_hand(patience: dict[str, object], jobs: list[Job], start: list[float]) -> None:
    assert both(4, "easy", jobs, patience) == start


@pytest.mark.parametrize(
    ("servers", "jobs", "start"),
    [row[1:] for row in CONSERVATIVE],
    ids=[row[0] for row in CONSERVATIVE],
)
def test_conservative_by_hand(servers: int, jobs: list[Job], start: list[float]) -> None:
    assert both(servers, "conservative", jobs) == start


@st.composite
def crowds(draw: st.DrawFn) -> tuple[int, Trace]:
    """Up to 30 jobs with sizes of any kind of float, zero and ties among them."""
    servers = draw(st.integers(1, 12))
    spread = draw(st.sampled_from([1.0, 5.0, 20.0]))
    times = st.floats(0, spread) | st.integers(0, int(spread)).map(float)
    rows = draw(st.lists(st.tuples(times, st.integers(1, servers), times), min_size=1, max_size=30))
    arrivals = sorted(draw(st.lists(times, min_size=len(rows), max_size=len(rows))))
    jobs = [Job(at, need, size) for at, (_, need, size) in zip(arrivals, rows, strict=True)]
    return servers, columns(jobs)


def longer(crowd: tuple[int, Trace], spread: float, seed: int) -> tuple[int, Trace]:
    """Estimates that are up to `1 + spread` times the sizes."""
    servers, trace = crowd
    factor = 1.0 + spread * np.random.default_rng(seed).random(len(trace.size))
    return servers, trace._replace(estimate=trace.size * factor)


def first_promise(servers: int, trace: Trace, job: int, start: Floats, end: Floats) -> float:
    """When a job can start at the latest, by the jobs in service as it becomes the oldest."""
    blocked = max(float(trace.arrival[job]), float(start[:job].max(initial=0.0)))
    if start[job] <= blocked:
        return blocked
    inside = np.flatnonzero((start <= blocked) & (end > blocked))
    need, expected = trace.need[inside], start[inside] + trace.estimate[inside]
    for time in [blocked, *sorted(expected)]:
        if servers - need[expected > time].sum() >= trace.need[job]:
            return float(time)
    raise AssertionError("the job never fits")


@given(crowds(), st.sampled_from([0.0, 0.5, 3.0]), st.integers(0, 2**32 - 1))
def test_easy_never_delays_the_reservation_of_the_head(
    crowd: tuple[int, Trace], spread: float, seed: int
) -> None:
    """With exact estimates, and with too long ones."""
    servers, trace = longer(crowd, spread, seed)
    start, end = served(servers, "easy", trace)
    for job in range(len(start)):
        assert start[job] <= first_promise(servers, trace, job, start, end)


def test_easy_keeps_the_promise_in_a_long_run() -> None:
    """Sums of ten thousand lognormal times, so a rounding error would show."""
    draw = np.random.default_rng(3)
    jobs, servers = 10_000, 20
    need = draw.integers(1, servers + 1, jobs)
    size = draw.lognormal(0.0, 1.5, jobs)
    arrival = np.cumsum(draw.exponential(float((need * size).mean()) / servers / 0.7, jobs))
    trace = Trace(arrival, need, size, size)
    start, end = served(servers, "easy", trace)
    delayed = [first_promise(servers, trace, job, start, end) for job in range(jobs)]
    assert (start <= delayed).all()
    assert (start > trace.arrival).mean() > 0.3  # else no job had a reservation


def reservations(servers: int, trace: Trace) -> Floats:
    """The first reservation of each job under Conservative: its start if no job arrives after it
    and all jobs present take as long as estimated.
    """
    start, end = served(servers, "conservative", trace)
    promised = np.empty(len(start))
    for job, arrival in enumerate(trace.arrival):
        seen = slice(job + 1)
        gone = (end[seen] <= arrival) & (start[seen] < arrival)
        size = np.where(gone, trace.size[seen], trace.estimate[seen])
        past = Trace(trace.arrival[seen], trace.need[seen], size, trace.estimate[seen])
        promised[job] = served(servers, "conservative", past)[0][job]
    return promised


@given(crowds(), st.sampled_from([0.0, 0.5, 3.0]), st.integers(0, 2**32 - 1))
def test_conservative_never_delays_a_reservation(
    crowd: tuple[int, Trace], spread: float, seed: int
) -> None:
    """With exact estimates it keeps it to the second, with too long ones it may be early."""
    servers, trace = longer(crowd, spread, seed)
    start, _ = served(servers, "conservative", trace)
    promised = reservations(servers, trace)
    assert (start <= promised).all()
    assert spread > 0 or (start == promised).all()


def test_where_all_need_the_same_both_are_first_come_first_served() -> None:
    trace = columns([Job(i / 4, 2, 1.0 + (i * 7 % 5), 1.0 + (i * 3 % 4)) for i in range(40)])
    fcfs = served(5, "fcfs", trace)[0]
    for policy in ("easy", "conservative"):
        assert np.array_equal(served(5, policy, trace)[0], fcfs)


class TestReplay:
    """What the core is given."""

    def test_estimates_are_sizes_unless_given(self) -> None:
        trace = columns(EASY[2][2])
        system = qs.System(4, [qs.JobClass(n, 1.0, qs.Exponential(mean=1.0)) for n in (1, 2, 4)])
        spec = json.dumps({"system": system.to_dict(), "policy": {"name": "easy"}})
        cls = np.array([1, 2, 0], dtype=np.uint32)
        assert replay(spec, trace.arrival, cls, trace.size)[0].tolist() == [0, 4, 6]

    @pytest.mark.parametrize(
        ("estimate", "sentence"), [([1.0], "length of"), ([-1.0, 1, 1], "not negative")]
    )
    def test_bad_estimates_are_refused(self, estimate: list[float], sentence: str) -> None:
        trace = columns(EASY[2][2])._replace(estimate=np.array(estimate))
        with pytest.raises(ValueError, match=sentence):
            served(4, "easy", trace)

    def test_progress_is_reported_and_may_stop_it(self) -> None:
        trace = columns([Job(i, 1, 2.0) for i in range(100)])
        system = qs.System(4, [qs.JobClass(1, 1.0, qs.Exponential(mean=1.0))])
        spec = json.dumps({"system": system.to_dict(), "policy": {"name": "conservative"}})
        cls = np.zeros(100, dtype=np.uint32)
        seen: list[int] = []
        jobs = trace.arrival, cls, trace.size
        plain = replay(spec, *jobs, debug=False, progress=seen.append)[0]
        assert seen[-1] == 100
        assert np.array_equal(plain, replay(spec, *jobs)[0])

        def stop(completed: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            replay(spec, *jobs, progress=stop)


def test_a_scheduler_decides_when_a_job_becomes_due() -> None:
    """The jobs of "due between events"."""
    system = mixed(4, [(2, 1.0, 1.0), (4, 1.0, 1.0)], 0.5)
    scheduler = qs.Scheduler(system, qs.EASY(patience=0.25, least=0))
    assert scheduler.arrive([0, 0], [20.0, 3.0]) == ([0, 1], [0, 1])
    scheduler.wait_until(1.0)
    assert scheduler.arrive([0, 1], [30.0, 1.0]) == ([2, 3], [])
    scheduler.wait_until(3.0)
    assert scheduler.complete(1) == []
    assert scheduler.wait_until(8.0) == []
    assert scheduler.wait_until(9.0) == [2]


@pytest.mark.parametrize(
    "policy", [qs.EASY(), qs.EASY(patience=0.01, least=0, order="area"), qs.Conservative()]
)
class TestElsewhere:
    def test_a_simulation_knows_the_sizes(self, policy: qs.Policy) -> None:
        result = qs.simulate(FOUR.with_load(0.5), policy, jobs=20_000, debug=True)
        assert result.inputs.engine == "events"
        assert result.verdict.status != "unstable"
        with pytest.raises(qs.QuickswapError, match=f"{policy.title} uses individual jobs"):
            qs.simulate(FOUR, policy, engine="jumps")

    def test_a_chain_is_refused(self, policy: qs.Policy) -> None:
        with pytest.raises(qs.PolicyError, match=r"estimated sizes of jobs, so .*: simulate"):
            chain.exact(mixed(2, [(1, 1.0, 1.0), (2, 1.0, 1.0)], 0.3), policy)

    def test_step_by_step_with_estimates(self, policy: qs.Policy) -> None:
        scheduler = qs.Scheduler(
            mixed(4, [(1, 1.0, 1.0), (2, 1.0, 1.0), (4, 1.0, 1.0)], 0.5), policy
        )
        assert scheduler.arrive(1, 4.0) == ([0], [0])
        assert scheduler.arrive(2, 2.0) == ([1], [])
        assert scheduler.wait_until(1.0) == []
        assert scheduler.arrive([0, 0], [3.0, 4.0]) == ([2, 3], [2])
        scheduler.wait_until(4.0)
        assert scheduler.complete([0, 2]) == [1]
        scheduler.wait_until(6.0)
        assert scheduler.complete(1) == [3]

    def test_step_by_step_without_estimates_is_refused(self, policy: qs.Policy) -> None:
        scheduler = qs.Scheduler(FOUR, policy)
        for estimates in (float("nan"), float("inf")):
            with pytest.raises(qs.QuickswapError, match="give one for each job that arrives"):
                scheduler.arrive(0, estimates)
        assert scheduler.waiting() == scheduler.running() == []

    def test_its_state_is_neither_kept_nor_restored(self, policy: qs.Policy) -> None:
        scheduler = qs.Scheduler(FOUR, policy)
        empty = qs.State((0,) * 4, (0,) * 4, (), ())
        with pytest.raises(qs.PolicyError, match="which a State does not contain"):
            _ = scheduler.state
        with pytest.raises(qs.PolicyError, match="which a State does not contain"):
            scheduler.restore(empty)
