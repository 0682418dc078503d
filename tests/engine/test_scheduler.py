"""A policy step by step: what starts, what the state holds, and that a state put back goes on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quickswap as qs
from verification.known import FOUR, one_or_all
from verification.systems import mixed

ONE_OR_ALL = one_or_all(3, 1.0, 0.2)
SHARED = mixed(3, [(3, 1.0, 1.0), (1, 1.0, 1.0), (3, 1.0, 1.0)], 0.5)
PAIR = mixed(4, [(1, 1.0, 1.0), (3, 1.0, 1.0)], 0.5)


class TestByHand:
    def test_arrivals_and_completions(self) -> None:
        scheduler = qs.Scheduler(PAIR, "fcfs")
        assert scheduler.arrive(1) == ([0], [0])
        assert scheduler.arrive([1, 0]) == ([1, 2], [])  # job 1 blocks job 2
        assert scheduler.free == 1
        assert scheduler.waiting() == [(1, 1), (2, 0)]
        assert scheduler.running() == [(0, 1)]
        assert scheduler.complete(0) == [1, 2]
        assert scheduler.running() == [(1, 1), (2, 0)]
        assert scheduler.complete([1, 2]) == []
        assert scheduler.free == 4

    def test_arrivals_of_one_instant_are_decided_on_together(self) -> None:
        """MSF starts the big job first; one after the other the small one has started before."""
        assert qs.Scheduler(ONE_OR_ALL, "msf").arrive([0, 1]) == ([0, 1], [1])
        scheduler = qs.Scheduler(ONE_OR_ALL, "msf")
        assert scheduler.arrive(0) == ([0], [0])
        assert scheduler.arrive(1) == ([1], [])

    def test_complete_one_takes_the_job_that_started_first(self) -> None:
        scheduler = qs.Scheduler(ONE_OR_ALL, "msf")
        scheduler.arrive([0, 0, 0, 0])
        assert scheduler.complete_one(0) == [3]
        assert scheduler.running() == [(1, 0), (2, 0), (3, 0)]

    def test_time_passes(self) -> None:
        scheduler = qs.Scheduler(PAIR, "msf")
        assert scheduler.time == 0.0
        assert scheduler.wait_until(2.5) == []
        assert scheduler.time == 2.5
        assert scheduler.wait_until(2.5) == []

    def test_a_timer_policy_starts_jobs_while_time_passes(self) -> None:
        class Later:
            """Starts jobs at whole seconds only."""

            def start(self, view: qs.View) -> int | None:
                return 0 if view.time.is_integer() and view.waiting[0] and view.free else None

            def wake_at(self, view: qs.View) -> float | None:
                return math.floor(view.time) + 1.0 if view.waiting[0] else None

        scheduler = qs.Scheduler(mixed(1, [(1, 1.0, 1.0)], 0.5), Later())
        scheduler.wait_until(0.5)
        assert scheduler.arrive([0, 0])[1] == []
        assert scheduler.wait_until(0.9) == []
        assert scheduler.wait_until(1.0) == [0]
        assert scheduler.complete(0) == [1]
        assert scheduler.time == 1.0

    def test_the_drain_of_msfq(self) -> None:
        """Threshold 1 of 3: with one light left and a heavy waiting, no job starts."""
        scheduler = qs.Scheduler(ONE_OR_ALL, "msfq:threshold=1")
        scheduler.arrive([0, 0, 1])
        assert scheduler.complete_one(0) == []
        assert scheduler.arrive(0) == ([3], [])  # though two servers are free
        assert scheduler.complete_one(0) == [2]
        assert scheduler.complete_one(1) == [3]


def mistakes() -> list[tuple[str, Callable[[qs.Scheduler], Any], str, str]]:
    """Name, call, the argument that the error names, and a part of the values allowed."""
    return [
        ("class", lambda s: s.arrive(2), "class", "from 0 to 1"),
        ("negative class", lambda s: s.arrive(-1), "class", "from 0 to 1"),
        ("job twice", lambda s: s.complete([0, 0]), "job", "in service"),
        ("job unknown", lambda s: s.complete(99), "job", "in service"),
        ("job waiting", lambda s: s.complete(2), "job", "in service"),
        ("negative job", lambda s: s.complete(-1), "job", "from 0"),
        ("no job", lambda s: s.complete_one(0), "class", "in service"),
        ("no such class", lambda s: s.complete_one(7), "class", "from 0 to 1"),
        ("past", lambda s: s.wait_until(0.5), "time", "at least 1"),
        ("nan", lambda s: s.wait_until(math.nan), "time", "finite"),
        ("endless", lambda s: s.wait_until(math.inf), "time", "finite"),
        ("estimates", lambda s: s.arrive([0, 0], [1.0]), "estimates", "one for each job"),
        (
            "servers",
            lambda s: s.restore(qs.State((0, 0), (2, 1), None, ())),
            "running",
            "at most 4 servers, not 5",
        ),
        (
            "counts",
            lambda s: s.restore(qs.State((0,), (0,), None, ())),
            "waiting of a state",
            "2 classes",
        ),
        ("order", lambda s: s.restore(qs.State((1, 0), (0, 0), None, ())), "order", "given, since"),
        (
            "content",
            lambda s: s.restore(qs.State((1, 0), (0, 0), (1,), ())),
            "order",
            "the classes of the waiting",
        ),
        (
            "negative",
            lambda s: s.restore(qs.State((-1, 0), (0, 0), (), ())),
            "an item of waiting of a state",
            "from 0",
        ),
    ]


def state(**fields: Any) -> Any:
    """A state of PAIR under FCFS with some fields replaced."""
    plain = {"waiting": (0, 0), "running": (0, 0), "order": (), "policy": ()}
    return qs.State(**(plain | fields))


NO_NUMBERS: tuple[Any, ...] = (None, "1", b"1", True, np.True_, 0.5, math.nan, 1j, {}, [[0]], int)
"""What is neither a whole number nor a list of them."""


def wrong_types() -> list[tuple[str, Callable[[qs.Scheduler, Any], Any], str]]:
    """Name, call, and a part of the argument that the error names."""
    return [
        ("arrive", lambda s, x: s.arrive(x), "class"),
        ("arrive several", lambda s, x: s.arrive([0, x]), "class"),
        ("complete", lambda s, x: s.complete(x), "job"),
        ("complete several", lambda s, x: s.complete([0, x]), "job"),
        ("complete one", lambda s, x: s.complete_one(x), "class"),
        ("restore", lambda s, x: s.restore(x), "state"),
        ("waiting", lambda s, x: s.restore(state(waiting=x)), "waiting of a state"),
        ("count", lambda s, x: s.restore(state(running=(0, x))), "an item of running of a state"),
        ("order", lambda s, x: s.restore(state(order=(x,), waiting=(1, 0))), "class"),
        ("own", lambda s, x: s.restore(state(policy=(x,))), "an item of policy of a state"),
    ]


@pytest.mark.parametrize(
    ("name", "call", "argument"), wrong_types(), ids=[row[0] for row in wrong_types()]
)
def test_what_is_no_number_is_refused_and_changes_nothing(
    name: str, call: Callable[[qs.Scheduler, Any], Any], argument: str
) -> None:
    scheduler = qs.Scheduler(PAIR, "fcfs")
    scheduler.arrive([1, 1, 0])
    before = (scheduler.state, scheduler.waiting(), scheduler.running())
    for wrong in NO_NUMBERS:
        with pytest.raises(qs.QuickswapError) as caught:
            call(scheduler, wrong)
        assert argument in caught.value.argument
        assert caught.value.allowed
        assert str(caught.value).endswith(".")
        assert (scheduler.state, scheduler.waiting(), scheduler.running()) == before


@pytest.mark.parametrize("wrong", [None, "1", b"1", True, 1j, {}, [None], -1.0, [-1]])
def test_what_is_no_size_is_refused(wrong: Any) -> None:
    with pytest.raises(
        qs.QuickswapError, match=r"estimates is .*; it must be a list of numbers of seconds"
    ):
        qs.Scheduler(PAIR, "fcfs").arrive(0, wrong)


@pytest.mark.parametrize("wrong", [None, "1", True, 1j, [1.0], 10**400])
def test_what_is_no_time_is_refused(wrong: Any) -> None:
    with pytest.raises(qs.QuickswapError, match=r"time is .*; it must be a finite number"):
        qs.Scheduler(PAIR, "fcfs").wait_until(wrong)


def test_waiting_for_ever_is_refused_even_if_the_policy_has_timers() -> None:
    class Restless:
        def start(self, view: qs.View) -> None:
            return None

        def wake_at(self, view: qs.View) -> float:
            return view.time + 1.0

    with pytest.raises(qs.QuickswapError, match="time is inf; it must be a finite number"):
        qs.Scheduler(PAIR, Restless()).wait_until(math.inf)


def test_numbers_of_numpy_are_numbers() -> None:
    scheduler: Any = qs.Scheduler(PAIR, "fcfs")
    assert scheduler.arrive(np.int64(1), np.float32(2.5)) == ([0], [0])
    assert scheduler.arrive(np.array([1, 0], dtype=np.int8), np.array([1.0, 2.0]))[0] == [1, 2]
    assert scheduler.wait_until(np.float64(1.5)) == []
    assert scheduler.complete(np.uint64(0)) == [1, 2]
    assert scheduler.complete_one(np.int32(1)) == []
    kept = scheduler.state
    scheduler.restore(state(waiting=np.array([0, 0]), running=[np.int64(1), 0], order=[]))
    assert scheduler.state == kept


@pytest.mark.parametrize(
    ("name", "call", "argument", "allowed"), mistakes(), ids=[m[0] for m in mistakes()]
)
def test_a_mistake_changes_nothing(
    name: str, call: Callable[[qs.Scheduler], Any], argument: str, allowed: str
) -> None:
    scheduler = qs.Scheduler(PAIR, "fcfs")
    scheduler.wait_until(1.0)
    scheduler.arrive([1, 1, 0])  # the first runs, the others wait
    before = (scheduler.state, scheduler.waiting(), scheduler.running(), scheduler.time)
    with pytest.raises(qs.QuickswapError) as caught:
        call(scheduler)
    assert caught.value.argument == argument
    assert allowed in caught.value.allowed
    assert str(caught.value).endswith(".")
    assert (scheduler.state, scheduler.waiting(), scheduler.running(), scheduler.time) == before


def test_what_it_is_not_for() -> None:
    with pytest.raises(qs.PolicyError, match="nonpreemptive"):
        qs.Scheduler(PAIR, "server-filling")
    with pytest.raises(qs.PolicyError, match="nMSR draws random numbers"):
        qs.Scheduler(PAIR, "nmsr")
    with pytest.raises(qs.PolicyError, match="MSFQ serves"):
        qs.Scheduler(PAIR, "msfq")
    with pytest.raises(qs.PolicyError, match="unknown policy"):
        qs.Scheduler(PAIR, "fifo")
    with pytest.raises(qs.PolicyError, match="3 is not a policy"):
        qs.Scheduler(PAIR, 3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(qs.QuickswapError, match="None is not a system"):
        qs.Scheduler(None, "msf")  # type: ignore[arg-type]  # wrong on purpose


class TestState:
    def test_it_can_be_compared_and_hashed(self) -> None:
        one, other = (qs.Scheduler(PAIR, "adaptive-quickswap") for _ in range(2))
        assert len({one.state, other.state}) == 1
        one.arrive(1)
        assert one.state != other.state
        other.arrive([1])
        assert len({one.state, other.state}) == 1

    def test_what_it_holds(self) -> None:
        scheduler = qs.Scheduler(PAIR, "fcfs")
        scheduler.arrive([1, 1, 0])
        assert scheduler.state == qs.State((1, 1), (0, 1), (1, 0), ())
        assert qs.Scheduler(PAIR, "msf").state.order is None  # MSF does not use it

    def test_the_order_of_classes_that_share_a_need_belongs_to_it(self) -> None:
        """MSF takes the older of two jobs of the same need, so the future depends on it."""
        system = mixed(2, [(2, 1.0, 1.0), (2, 1.0, 1.0)], 0.5)
        one, other = (qs.Scheduler(system, "msf") for _ in range(2))
        one.arrive([0, 1, 0])
        other.arrive([0, 0, 1])
        assert one.state != other.state  # the next to start is of class 1 here, of class 0 there


POLICIES = {
    "four": (FOUR, ["fcfs", "first-fit", "msf", "lsf", "smash:window=3", "adaptive-quickswap"]),
    "static": (FOUR, ["static-quickswap", "static-quickswap:drain=exclusive,threshold=4"]),
    "one-or-all": (
        ONE_OR_ALL,
        [f"msfq:threshold={t},drain={d}" for t in (0, 2) for d in ("on_demand", "always")],
    ),
    "shared": (SHARED, ["msf", "lsf", "adaptive-quickswap", "static-quickswap", "first-fit"]),
}
CASES = [(system, policy) for system, policies in POLICIES.values() for policy in policies]
Steps = list[tuple[bool, int]]
"""Arrival or completion, and of which class (taken as it fits)."""


def follow(scheduler: qs.Scheduler, steps: Steps) -> list[tuple[qs.State, list[int]]]:
    """Carry out the steps; return the states passed and the classes that start."""
    seen = []
    classes = len(scheduler.system.needs)
    for arrives, draw in steps:
        present = sorted({cls for _, cls in scheduler.running()})
        if arrives or not present:
            _, started = scheduler.arrive(draw % classes)
        else:
            started = scheduler.complete_one(present[draw % len(present)])
        of = dict(scheduler.running())
        seen.append((scheduler.state, [of[job] for job in started]))
    return seen


@pytest.mark.parametrize(("system", "policy"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_a_state_put_back_has_the_same_future(system: qs.System, policy: str) -> None:
    """The jobs there get new numbers, and leave in another order, so classes are compared."""
    steps = st.lists(st.tuples(st.booleans(), st.integers(0, 11)), max_size=25)

    @given(past=steps, future=steps, other=steps)
    def goes_on(past: Steps, future: Steps, other: Steps) -> None:
        original, copy = qs.Scheduler(system, policy), qs.Scheduler(system, policy)
        follow(original, past)
        follow(copy, other)  # whatever it was in before
        copy.restore(original.state)
        assert copy.state == original.state
        assert copy.free == original.free
        assert follow(copy, future) == follow(original, future)

    goes_on()


class Counting:
    """First-Fit on even days: a state of its own, saved and restored."""

    def __init__(self) -> None:
        self.asked = 0

    def start(self, view: qs.View) -> int | None:
        self.asked += 1
        fitting = [i for i, n in enumerate(view.needs) if view.waiting[i] and n <= view.free]
        return fitting[0] if fitting and self.asked % 3 else None

    def save(self) -> list[int]:
        return [self.asked]

    def restore(self, state: list[int]) -> None:
        (self.asked,) = state


def test_a_policy_of_your_own_saves_and_restores_its_state() -> None:
    original, copy = (qs.Scheduler(PAIR, Counting()) for _ in range(2))
    steps = [(True, i) for i in range(7)] + [(False, 0), (True, 1), (False, 1)]
    follow(original, steps)
    assert original.state.policy[0] > 0
    copy.restore(original.state)
    assert copy.state == original.state
    assert follow(copy, steps) == follow(original, steps)


class TestOwnState:
    def test_a_policy_that_cannot_save_says_so(self) -> None:
        class Forgetful(Counting):
            def save(self) -> list[int]:
                raise OSError("no paper")

        with pytest.raises(qs.PolicyError, match=r"Forgetful failed to save: .*no paper"):
            _ = qs.Scheduler(PAIR, Forgetful()).state

    def test_a_state_that_does_not_suit_is_refused(self) -> None:
        scheduler = qs.Scheduler(PAIR, Counting())
        with pytest.raises(qs.PolicyError, match=r"Counting failed to restore \[1, 2\]"):
            scheduler.restore(qs.State((0, 0), (0, 0), (), (1, 2)))
        adaptive = qs.Scheduler(PAIR, "adaptive-quickswap")
        with pytest.raises(qs.QuickswapError, match=r"state is \[7\].*\(0,\) or \(1,\)"):
            adaptive.restore(qs.State((0, 0), (0, 0), None, (7,)))


def test_conservative_starts_a_job_at_its_reservation() -> None:
    """As a replay of these jobs does, although nothing arrives or ends at time 19."""
    size = qs.Exponential(mean=1.0)
    system = qs.System(7, [qs.JobClass(2, 1.0, size), qs.JobClass(4, 1.0, size)])
    scheduler = qs.Scheduler(system, "conservative")
    assert scheduler.arrive(0, 19.0)[1] == [0]
    scheduler.wait_until(4.0)
    assert scheduler.arrive(0, 1.0)[1] == [1]
    scheduler.wait_until(8.0)
    assert scheduler.arrive([1, 0], [45.0, 47.0])[1] == []
    assert scheduler.wait_until(18.9) == []
    assert scheduler.wait_until(20.0) == [3]
    assert scheduler.wait_until(21.0) == []
    assert scheduler.complete(0) == []
    assert scheduler.complete(3) == [2]


def test_jobs_of_a_real_system_must_be_possible() -> None:
    system = qs.System(4, [qs.JobClass(2, 1.0, qs.Exponential(mean=1.0))])
    scheduler = qs.Scheduler(system, "easy")
    scheduler.wait_until(10)
    for running, waiting in (
        ([(0, 1.0, 5.0)] * 3, []),
        ([], [(0, 11.0, 5.0)]),
        ([], [(0, 1.0, math.nan)]),
        ([], [(1, 1.0, 5.0)]),
    ):
        with pytest.raises(qs.QuickswapError):
            scheduler.resume(running, waiting)
    numbers, started = scheduler.resume([(0, 1.0, 5.0)], [(0, 2.0, 5.0), (0, 3.0, 5.0)])
    assert (started, scheduler.reserved) == ([numbers[1]], numbers[2])


def test_backfilling_uses_the_ages_of_the_jobs_of_a_real_system() -> None:
    """A job of 8 s in service, one that needs all servers waits; may one of mean 1 s start?"""
    sizes = [qs.Deterministic(8.0), qs.Exponential(mean=1), qs.Exponential(mean=1)]
    rows = zip((2, 4, 1), sizes, strict=True)
    system = qs.System(4, [qs.JobClass(need, 0.01, size) for need, size in rows])
    for start, numbers in ((2.0, [2]), (0.5, [])):  # 5 s or 3.5 s left, ln(1 / 0.02) = 3.9
        scheduler = qs.Scheduler(system, "adaptive-quickswap:backfill=.02")
        scheduler.wait_until(5.0)
        running, waiting = [(0, start, 8.0)], [(1, 3.0, 1.0), (2, 4.0, 1.0)]
        assert scheduler.resume(running, waiting, [1])[1] == numbers
        assert scheduler.complete(0) == ([] if numbers else [1])
    with pytest.raises(qs.QuickswapError, match="ages of jobs, which a State does not contain"):
        scheduler.state  # noqa: B018 # the property checks
