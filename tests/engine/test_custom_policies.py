"""Policies written in Python: accepted as policies, with clear messages."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import quickswap as qs
from quickswap.engine._core import ViewedJob, replay
from replay_helpers import random_log
from twin import run
from verification.known import FOUR, one_or_all
from verification.systems import shared

ONE_OR_ALL = one_or_all(4, 1.35, 0.15)


class PythonFCFS:
    """The oldest waiting job if it fits."""

    def start(self, view: qs.View) -> int | None:
        heads = [(head, i) for i, head in enumerate(view.heads) if head is not None]
        if not heads:
            return None
        oldest = min(heads)[1]
        return oldest if view.needs[oldest] <= view.free else None


class PythonMSF:
    """The oldest job of the largest need that fits."""

    name = "my MSF"

    def start(self, view: qs.View) -> int | None:
        fitting = [
            (-need, head, i)
            for i, (need, head) in enumerate(zip(view.needs, view.heads, strict=True))
            if head is not None and need <= view.free
        ]
        return min(fitting)[2] if fitting else None


class WholeSeconds:
    """First-Fit that starts jobs at whole seconds only."""

    def start(self, view: qs.View) -> int | None:
        if not view.time.is_integer():
            return None
        for i, need in enumerate(view.needs):
            if view.waiting[i] and need <= view.free:
                return i
        return None

    def wake_at(self, view: qs.View) -> float | None:
        return math.floor(view.time) + 1.0 if any(view.waiting) else None


class ShortestFirst:
    """The job of the shortest estimate among those that fit."""

    sees_jobs = True

    def start(self, view: qs.View) -> ViewedJob | None:
        assert view.queue is not None
        fitting = [job for job in view.queue if job.need <= view.free]
        return min(fitting, key=lambda job: (job.estimate, job.number), default=None)


def replayed(needs: list[int], policy: object, jobs: list[tuple[float, int, float]]) -> list[float]:
    """Start times of a trace on `max(needs)` servers."""
    classes = [qs.JobClass(need, 1.0, qs.Exponential(mean=1.0)) for need in needs]
    spec = {"system": qs.System(max(needs), classes).to_dict(), "policy": {}}
    arrival, cls, size = (np.array(column) for column in zip(*jobs, strict=True))
    columns = (arrival.astype(float), cls.astype(np.uint32), size.astype(float))
    start: list[float] = replay(json.dumps(spec), *columns, policy)[0].tolist()
    return start


def random_jobs(seed: int, classes: int, count: int = 200) -> list[tuple[float, int, float]]:
    """With many ties: times and sizes are multiples of a quarter."""
    draw = np.random.default_rng(seed)
    arrival = np.cumsum(draw.integers(0, 4, count)) / 4
    return [(t, int(draw.integers(classes)), float(draw.integers(0, 9)) / 4) for t in arrival]


class TestDecisions:
    @pytest.mark.parametrize(
        ("mine", "name"), [(PythonFCFS, "fcfs"), (PythonMSF, "msf")], ids=["fcfs", "msf"]
    )
    @pytest.mark.parametrize("needs", [[1, 3], [3, 1, 2, 2]])
    def test_they_are_those_of_the_twin(self, mine: type, name: str, needs: list[int]) -> None:
        jobs = random_jobs(1, len(needs))
        assert replayed(needs, mine(), jobs) == run(max(needs), needs, {"name": name}, jobs).start

    def test_a_policy_may_choose_single_jobs(self) -> None:
        """One server: each time it falls free, the shortest of those that wait."""
        jobs = [(0.0, 0, 5.0), (1.0, 0, 3.0), (2.0, 0, 1.0), (3.0, 0, 2.0), (9.5, 0, 0.5)]
        assert replayed([1], ShortestFirst(), jobs) == [0.0, 8.0, 5.0, 6.0, 11.0]

    def test_a_policy_may_ask_to_be_woken(self) -> None:
        jobs = [(0.25, 0, 0.5), (0.5, 0, 0.5), (3.0, 0, 0.5), (3.5, 1, 2.0), (3.75, 0, 0.25)]
        # two servers, needs 1 and 2; class 0 starts first; at 5 the big one
        assert replayed([1, 2], WholeSeconds(), jobs) == [1.0, 1.0, 3.0, 5.0, 4.0]


def test_a_job_is_called_by_its_number() -> None:
    class Oldest:
        sees_jobs = True

        def start(self, view: qs.View) -> Any:
            return view.queue[0] if view.queue else None

    with pytest.raises(qs.PolicyError, match=r"answered job \d+ of class \d, a job that does not"):
        qs.simulate(FOUR, Oldest(), jobs=1000)


def test_the_first_mistake_is_the_same_each_time() -> None:
    """With eight replications, whose threads would race for it."""

    class Greedy:
        def start(self, view: qs.View) -> int | None:
            return 3 if view.waiting[3] else None

    def sentence() -> str:
        with pytest.raises(qs.PolicyError) as caught:
            qs.simulate(FOUR, Greedy(), jobs=1000, replications=8, threads=8)
        return str(caught.value)

    assert len({sentence() for _ in range(6)}) == 1


@pytest.mark.parametrize("system", [ONE_OR_ALL, FOUR, shared(0.5)], ids=["2", "4", "shared"])
def test_a_python_msf_gives_the_estimates_of_the_core_byte_for_byte(system: qs.System) -> None:
    mine, core = (
        qs.simulate(system, policy, jobs=5000, engine="events", seed=2, debug=True)
        for policy in (PythonMSF(), qs.MSF())
    )
    one, other = json.loads(mine.to_json()), json.loads(core.to_json())
    assert one["inputs"].pop("policy").startswith("custom:my MSF#")
    assert other["inputs"].pop("policy") == "msf"
    assert (one.pop("policy_label"), other.pop("policy_label")) == ("my MSF", "MSF")
    for each in (one, other):
        each.pop("verdict")  # the core knows theorems about the policies in it
    assert one == other


class TestSimulate:
    def test_equal_seeds_give_equal_bytes_on_any_number_of_threads(self) -> None:
        texts = {
            qs.simulate(FOUR, ShortestFirst(), jobs=3000, threads=threads).to_json()
            for threads in (1, 3)
        }
        assert len(texts) == 1

    def test_a_timer_policy_is_woken_in_simulations(self) -> None:
        """At random arrivals nothing would ever start at a whole second otherwise."""
        result = qs.simulate(ONE_OR_ALL, WholeSeconds(), jobs=2000)
        assert result.overall.jobs == 1800
        assert result.mean_waiting_time.value > 0.4  # half a second until the next whole one

    def test_the_size_estimates_are_seen(self) -> None:
        """Shortest first on one server beats the order of arrival: 3.55 against 5 seconds."""
        system = qs.System(1, [qs.JobClass(1, 0.8, qs.Exponential(mean=1.0))])
        shortest = qs.simulate(system, ShortestFirst(), jobs=10_000).mean_response_time
        assert shortest.high < 5.0 - 0.5

    def test_each_replication_has_a_policy_of_its_own(self) -> None:
        class Counter(PythonMSF):
            calls = 0

            def start(self, view: qs.View) -> int | None:
                self.calls += 1
                return super().start(view)

        policy = Counter()
        qs.simulate(ONE_OR_ALL, policy, jobs=400)
        assert policy.calls == 0  # the copies were asked, not the original

    def test_rerun_wants_the_policy_back(self) -> None:
        result = qs.simulate(ONE_OR_ALL, PythonMSF(), jobs=400)
        stored = qs.Result.from_json(result.to_json())
        assert qs.rerun(result) == stored == result
        with pytest.raises(qs.QuickswapError, match=r"my MSF is a custom policy.*policy="):
            qs.rerun(stored)
        assert qs.rerun(stored, PythonMSF()).to_json() == result.to_json()

    def test_jumps_are_refused(self) -> None:
        with pytest.raises(qs.QuickswapError, match="a custom policy"):
            qs.simulate(ONE_OR_ALL, PythonMSF(), jobs=400, engine="jumps")

    def test_compare_and_scheduler_take_it(self) -> None:
        comparison = qs.compare(ONE_OR_ALL, [PythonMSF(), "msf"], jobs=1000, engine="events")
        assert comparison.policies == ("my MSF", "MSF")
        scheduler = qs.Scheduler(ONE_OR_ALL, PythonMSF())
        assert scheduler.arrive([0, 1]) == ([0, 1], [1])


class Wrong:
    """Answers the same whatever it sees."""

    name = "wrong"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def start(self, view: qs.View) -> Any:
        return self.answer


class Heavy(Wrong):
    """Starts the heavy class as soon as one waits, whether it fits or not."""

    def start(self, view: qs.View) -> Any:
        return 1 if view.waiting[1] else 0 if view.waiting[0] and view.free else None


class Raises(Wrong):
    def start(self, view: qs.View) -> Any:
        raise ZeroDivisionError("of my own")


class WakeWrong(PythonMSF):
    name = "wrong"
    time: ClassVar[Any] = 0.0

    def wake_at(self, view: qs.View) -> Any:
        return self.time


class WakeText(WakeWrong):
    time = "soon"


class Uncopied(PythonMSF):
    name = "wrong"

    def __init__(self) -> None:
        self.lock = threading.Lock()


STATE = (
    r"; the state was: time [\d.e-]+, \d of 4 servers free, needs \[1, 4\], waiting \[\d+, \d+\]"
)
MISTAKES: list[tuple[Any, str]] = [
    (Raises(None), "raised ZeroDivisionError: of my own" + STATE),
    (Wrong(2), "answered 2, which is not a class.*" + STATE),
    (Wrong(-1), "answered -1, which is not a class.*" + STATE),
    (Wrong(10**30), "answered 1000.*, which is not a class.*" + STATE),
    (Wrong("msf"), "answered 'msf', which is not allowed.*" + STATE),
    (Wrong(0.0), "answered 0.0, which is not allowed.*" + STATE),
    (Wrong(True), "answered True, which is not allowed.*" + STATE),
    (Wrong(0), "answered 0, a class without waiting jobs.*" + STATE),
    (Heavy(None), "answered 1, a job that does not fit.*" + STATE),
    (WakeWrong(), r"returned 0\.?0? from wake_at, which is not in the future" + STATE),
    (WakeText(), "raised .*wake_at" + STATE),
    (Uncopied(), "cannot be copied: .*lock"),
]


@pytest.mark.parametrize(("policy", "sentence"), MISTAKES, ids=lambda x: type(x).__name__)
class TestMistakes:
    def test_in_a_simulation(self, policy: Any, sentence: str) -> None:
        with pytest.raises(qs.PolicyError, match=f"^policy wrong {sentence}") as caught:
            qs.simulate(ONE_OR_ALL, policy, jobs=10_000)
        text = str(caught.value)
        assert "\n" not in text
        assert text.endswith(".")
        if isinstance(policy, Raises):
            assert isinstance(caught.value.__cause__, ZeroDivisionError)

    def test_in_a_scheduler(self, policy: Any, sentence: str) -> None:
        def drive() -> None:
            scheduler = qs.Scheduler(ONE_OR_ALL, policy)
            scheduler.arrive(0)
            scheduler.arrive([0, 1])
            scheduler.wait_until(1.0)

        with pytest.raises(qs.PolicyError, match=f"^policy wrong {sentence}") as caught:
            drive()
        if isinstance(policy, Raises):
            assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_job_that_has_left_is_refused() -> None:
    class Stale(ShortestFirst):
        name = "stale"
        first: ViewedJob | None = None

        def start(self, view: qs.View) -> ViewedJob | None:
            self.first = self.first or super().start(view)
            return self.first

    with pytest.raises(qs.PolicyError, match=r"^policy stale answered .*a job that is not waiting"):
        qs.simulate(ONE_OR_ALL, Stale(), jobs=1000)


@pytest.mark.parametrize("policy", [object(), object, qs.Policy, slice(3), 3, None, b"msf"])
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    with pytest.raises(qs.PolicyError, match=r"is not a policy: pass a|start of policy slice is"):
        qs.simulate(ONE_OR_ALL, policy, jobs=100)


@pytest.mark.parametrize(
    ("policy", "hint"),
    [
        (qs.MSF, r"MSF is a class: .*qs\.MSF\(\)\."),
        (qs.StaticQuickswap, r"qs\.StaticQuickswap\(\)\."),
        (qs.Smash, r"qs\.Smash\(window=8\)\."),
        (PythonMSF, r"as in PythonMSF\(\)\."),
    ],
)
def test_a_class_in_place_of_a_policy_is_answered_with_a_hint(policy: Any, hint: str) -> None:
    for call in (
        lambda: qs.simulate(ONE_OR_ALL, policy, jobs=100),
        lambda: qs.compare(ONE_OR_ALL, [policy], jobs=100),
        lambda: qs.Scheduler(ONE_OR_ALL, policy),
        lambda: qs.spell(policy),
    ):
        with pytest.raises(qs.PolicyError, match=hint):
            call()


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"name": 3}, "name of the policy Odd is 3; it must be a text that is not empty"),
        ({"name": " "}, "name of the policy Odd is .*; it must be a text"),
        ({"sees_jobs": "yes"}, "sees_jobs of policy Odd is 'yes'; it must be True or False"),
        ({"remembers_order": 0}, "remembers_order of policy Odd is 0; it must be True or False"),
        ({"wake_at": 3.0}, "wake_at of policy Odd is 3.0; it must be a method"),
        ({"save": ()}, r"save of policy Odd is \(\); it must be a method"),
        ({"start": 5}, "start of policy Odd is 5; it must be a method"),
    ],
)
def test_optional_parts_of_the_wrong_kind_are_refused(part: dict[str, Any], sentence: str) -> None:
    policy = type("Odd", (PythonFCFS,), {"name": "Odd"} | part)()
    with pytest.raises(qs.PolicyError, match=sentence):
        qs.simulate(ONE_OR_ALL, policy, jobs=100)
    with pytest.raises(qs.PolicyError, match=sentence):
        qs.Scheduler(ONE_OR_ALL, policy)


def test_numbers_of_numpy_are_classes() -> None:
    class NumpyMSF(PythonMSF):
        def start(self, view: qs.View) -> Any:
            answer = super().start(view)
            return None if answer is None else np.int64(answer)

    one, other = (qs.simulate(FOUR, policy, jobs=1000) for policy in (NumpyMSF(), PythonMSF()))
    assert one.classes == other.classes
    with pytest.raises(qs.PolicyError, match=r"answered np\.True_, which is not allowed"):
        qs.simulate(FOUR, Wrong(np.True_), jobs=1000)


class TestNobodyStarts:
    def test_it_is_told_soon(self) -> None:
        policy = Wrong(None)
        with pytest.raises(qs.PolicyError, match="policy wrong has not started a job") as caught:
            qs.simulate(ONE_OR_ALL, policy, jobs=10**9)
        waiting = re.search(r"waiting \[(\d+), (\d+)\]", str(caught.value))
        assert waiting is not None
        assert sum(map(int, waiting.groups())) == 1000  # of the million that are allowed

    def test_many_servers_may_be_waited_for(self) -> None:
        """Ten jobs a server at most: who waits until 300 servers can be filled is left alone."""

        class Gathering(PythonFCFS):
            name = "gathering"
            begun = False

            def start(self, view: qs.View) -> int | None:
                self.begun |= view.waiting[0] >= 2000
                return super().start(view) if self.begun else None

        system = qs.System(300, [qs.JobClass(1, 100.0, qs.Exponential(mean=1.0))])
        assert qs.simulate(system, Gathering(), jobs=12_000).completed == 12_000

    def test_who_asks_to_be_woken_may_wait(self) -> None:
        class Late(PythonFCFS):
            def start(self, view: qs.View) -> int | None:
                return super().start(view) if view.time >= 1500.0 else None

            def wake_at(self, view: qs.View) -> float | None:
                return 1500.0 if view.time < 1500.0 else None

        system = qs.System(4, [qs.JobClass(1, 1.0, qs.Exponential(mean=1.0))])
        assert qs.simulate(system, Late(), jobs=8000).completed == 8000

    def test_a_scheduler_is_patient(self) -> None:
        scheduler = qs.Scheduler(ONE_OR_ALL, Wrong(None))
        assert scheduler.arrive([0] * 2000)[1] == []


class Struck(PythonFCFS):
    """Is hit by Ctrl-C in one of its decisions."""

    def __init__(self, left: int) -> None:
        self.left = left

    def start(self, view: qs.View) -> int | None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().start(view)


def test_ctrl_c_inside_a_policy_is_no_mistake_of_the_policy() -> None:
    with pytest.raises(qs.Interrupted):
        qs.simulate(ONE_OR_ALL, Struck(100), jobs=10_000)
    scheduler = qs.Scheduler(ONE_OR_ALL, Struck(3))
    with pytest.raises(KeyboardInterrupt):
        scheduler.arrive([0, 0, 0, 0])
    with pytest.raises(KeyboardInterrupt):
        replayed([1, 4], Struck(100), random_jobs(1, 2))


class Coin:
    """Starts the first class that fits, by a draw of the run's generator."""

    remembers_order = False

    def start(self, view: qs.View) -> int | None:
        fitting = [i for i, need in enumerate(view.needs) if view.waiting[i] and need <= view.free]
        return fitting[0] if fitting and view.random.random() < 0.8 else None


class Drawing(Coin):
    """Keeps what it draws first."""

    first: ClassVar[list[float]] = []

    def __init__(self) -> None:
        self.drawn = False

    def start(self, view: qs.View) -> int | None:
        if not self.drawn:
            self.drawn = True
            self.first.append(view.random.random())
        return super().start(view)


def draw_from_the_global_one() -> float:
    return random.random()


HIDDEN = random.Random(1)


def with_generators() -> list[object]:
    """Policies that draw from other generators, each in another way."""
    local = np.random.default_rng(1)

    class Attribute(Coin):
        def __init__(self) -> None:
            self.table = {"first": [random.Random(1)]}

    class Slot(Coin):
        __slots__ = ("state",)

        def __init__(self) -> None:
            self.state = np.random.RandomState(1)

    class Method(Coin):
        draw = staticmethod(HIDDEN.random)

    class Module(Coin):
        def start(self, view: qs.View) -> int | None:
            return 0 if np.random.random() < 0 else None

    class Fresh(Coin):
        def start(self, view: qs.View) -> int | None:
            return 0 if np.random.default_rng(1).random() < 0 else None

    class Imported(Coin):
        def start(self, view: qs.View) -> int | None:
            from numpy import random as renamed

            return 0 if renamed.random() < 0 else None

    class Helped(Coin):
        def start(self, view: qs.View) -> int | None:
            return 0 if any(draw_from_the_global_one() < 0 for _ in range(2)) else None

    class Enclosed(Coin):
        def wake_at(self, view: qs.View) -> float:
            return view.time + float(local.random())

    return [Attribute(), Slot(), Method(), Module(), Fresh(), Imported(), Helped(), Enclosed()]


class TestRandomDecisions:
    SYSTEM = qs.load("four-class:load=.3")

    def test_each_replication_draws_its_own_numbers(self) -> None:
        Drawing.first.clear()
        for seed in (1, 1, 2):
            qs.simulate(self.SYSTEM, Drawing(), jobs=400, replications=4, seed=seed)
        one, again, other = (set(Drawing.first[i : i + 4]) for i in (0, 4, 8))
        assert one == again
        assert len(one | other) == 8

    def test_results_repeat(self) -> None:
        one, again, other = (
            qs.simulate(self.SYSTEM, Coin(), jobs=400, seed=seed) for seed in (1, 1, 2)
        )
        assert one == again
        assert one.mean_response_time != other.mean_response_time

    def test_a_replay_has_a_seed(self, tmp_path: Path) -> None:
        class Shuffled(Coin):
            def start(self, view: qs.View) -> int | None:
                able = [i for i, n in enumerate(view.needs) if view.waiting[i] and n <= view.free]
                return view.random.choice(able) if able else None

        log = random_log(tmp_path, 200)
        one, again, other = (qs.replay(log, Shuffled(), seed=seed).schedule for seed in (1, 1, 2))
        assert np.array_equal(one.start, again.start)
        assert not np.array_equal(one.start, other.start)
        for policy in with_generators()[:2]:
            with pytest.raises(qs.PolicyError, match=r"view\.random"):
                qs.replay(log, policy)  # type: ignore[arg-type]  # wrong on purpose

    def test_a_scheduler_has_a_seed(self) -> None:
        def starts(seed: int) -> list[object]:
            scheduler = qs.Scheduler(self.SYSTEM, Coin(), seed=seed)
            return [scheduler.arrive(0) for _ in range(30)]

        assert starts(3) == starts(3)
        assert starts(3) != starts(4)
        with pytest.raises(qs.QuickswapError, match="seed"):
            qs.Scheduler(self.SYSTEM, Coin(), seed=-1)

    @pytest.mark.parametrize("policy", with_generators(), ids=lambda each: type(each).__name__)
    def test_other_generators_are_refused(self, policy: Any) -> None:
        for attempt in (
            lambda: qs.simulate(self.SYSTEM, policy, jobs=100),
            lambda: qs.compare(self.SYSTEM, [policy], jobs=100),
            lambda: qs.Scheduler(self.SYSTEM, policy),
        ):
            with pytest.raises(qs.PolicyError, match=r"view\.random"):
                attempt()

    def test_a_draw_that_cannot_be_seen_is_noticed(self) -> None:
        class Unseen(Coin):
            def start(self, view: qs.View) -> int | None:
                vars(__import__("ran" + "dom"))["random"]()
                return super().start(view)

        with pytest.raises(qs.PolicyError, match="global generator"):
            qs.simulate(self.SYSTEM, Unseen(), jobs=100)

    def test_an_exact_chain_has_none(self) -> None:
        with pytest.raises(qs.PolicyError, match="exact chain"):
            qs.theory.chain.exact(qs.load("one-or-all:k=2,load=.3"), Coin())

    def test_a_chain_too_large_names_the_flag(self) -> None:
        class Ordered:
            def start(self, view: qs.View) -> int | None:
                able = (i for i, n in enumerate(view.needs) if view.waiting[i] and n <= view.free)
                return next(able, None)

        small = qs.load("one-or-all:k=4,load=.5")
        with pytest.raises(qs.QuickswapError, match="remembers_order"):
            qs.theory.chain.exact(small, Ordered(), max_states=300)
        Ordered.remembers_order = False  # type: ignore[attr-defined]  # wrong on purpose
        with pytest.raises(qs.QuickswapError, match=r"simulate the system\.$"):
            qs.theory.chain.exact(small, Ordered(), max_states=50)


ENDLESS = """
import os, signal, sys, threading
import quickswap as qs

class Endless:
    calls = 0

    def start(self, view):
        self.calls += 1
        if self.calls == 500:
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        while self.calls >= 500:
            pass
        fitting = [i for i, need in enumerate(view.needs) if view.waiting[i] and need <= view.free]
        return fitting[0] if fitting else None

try:
    qs.simulate("four-class", Endless(), jobs=int(sys.argv[1]), replications=1)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("jobs", [2000, 100_000], ids=["in one thread", "in another thread"])
def test_ctrl_c_ends_an_endless_loop(jobs: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS, str(jobs)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "interrupted\n", done.stderr
