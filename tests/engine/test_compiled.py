"""Policies in native code: compiled by Numba, and from libraries in C and Rust."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import quickswap as qs
from quickswap.engine._core import NativePolicy
from quickswap.engine.compiled import HEADER, native
from quickswap.engine.interface import JOB, VIEW
from quickswap.policies.custom import described
from replay_helpers import jobs, log_of, random_log
from verification.known import FOUR, one_or_all

EXAMPLES = Path(__file__).parents[2] / "examples"
ONE_OR_ALL = one_or_all(4, 1.35, 0.15)
LARGE = 3


def oldest_of(view: Any, largest: int) -> int:
    """The class with the oldest waiting job that fits, among needs up to the largest."""
    found = -1
    for cls in range(len(view.needs)):
        fits = view.waiting[cls] > 0 and view.needs[cls] <= min(view.free, largest)
        if fits and (found < 0 or view.heads[cls] < view.heads[found]):
            found = cls
    return found


@qs.compiled
class NativeFirstFit:
    def start(self, view: qs.View) -> int | None:
        found = oldest_of(view, view.servers)
        return found if found >= 0 else None


@qs.compiled
class NativeMSFQ:
    """On demand; the threshold is in an array, to test one."""

    name = "my MSFQ"
    remembers_order = False

    def __init__(self, threshold: int) -> None:
        self.thresholds = [threshold, 0]
        self.draining = False

    def present(self, view: qs.View, cls: int) -> int:
        return view.waiting[cls] + view.running[cls]

    def start(self, view: qs.View) -> int | None:
        if view.running[1] > 0:
            return None
        if self.draining:
            if view.running[0] > 0:
                return None
            if view.waiting[1] > 0:
                return 1
            self.draining = False
        if view.waiting[0] > 0 and view.free > 0:
            return 0
        if view.waiting[1] > 0 and self.present(view, 0) <= self.thresholds[0]:
            self.draining = True
            if view.running[0] == 0:
                return 1
        return None


@qs.compiled
class Coin:
    """First-Fit that delays large jobs at random."""

    def start(self, view: qs.View) -> int | None:
        found = oldest_of(view, view.servers)
        if found < 0 or (view.needs[found] > LARGE and view.random.random() < 0.1):
            return None
        return found


@qs.compiled
class WholeSeconds:
    def start(self, view: qs.View) -> int | None:
        if view.time % 1 != 0:
            return None
        found = oldest_of(view, view.servers)
        return found if found >= 0 else None

    def wake_at(self, view: qs.View) -> float | None:
        return math.floor(view.time) + 1.0 if sum(view.waiting) > 0 else None


@qs.compiled
class Shortest:
    sees_jobs = True

    def start(self, view: Any) -> Any:
        best = None
        for job in view.queue:
            if job.need <= view.free and (best is None or job.estimate < best.estimate):
                best = job
        return best


class PlainShortest:
    sees_jobs = True
    start = Shortest.start


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICKSWAP_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def means(result: qs.Result) -> list[float]:
    return [each.mean_response_time.value for each in result.classes]


@pytest.mark.parametrize("engine", ["events", "jumps"])
@pytest.mark.parametrize(
    ("system", "policy", "known"),
    [(FOUR, NativeFirstFit(), "first-fit"), (ONE_OR_ALL, NativeMSFQ(2), "msfq:threshold=2")],
    ids=["First-Fit", "MSFQ"],
)
def test_results_are_those_of_the_core(
    system: qs.System, policy: Any, known: str, engine: str
) -> None:
    found = qs.simulate(system, policy, jobs=20_000, seed=3, engine=engine, replications=2)
    expected = qs.simulate(system, known, jobs=20_000, seed=3, engine=engine, replications=2)
    assert means(found) == means(expected)
    assert found.inputs.engine == engine


def test_jumps_where_they_apply_and_the_same_results_again() -> None:
    result = qs.simulate(FOUR, Coin(), jobs=5_000, replications=3, threads=1)
    assert result.inputs.engine == "jumps"
    assert qs.simulate(FOUR, Coin(), jobs=5_000, replications=3, threads=2) == result
    assert qs.Result.from_json(result.to_json()).inputs == result.inputs
    assert qs.simulate(FOUR, Coin(), jobs=5_000, replications=3, seed=2) != result


@pytest.mark.parametrize("policy", [Coin(), WholeSeconds()])
def test_random_numbers_and_timers_agree_with_python(policy: Any) -> None:
    # the first 1,000 decisions of the run are compared
    assert qs.simulate(FOUR, policy, jobs=2_000, engine="events").completed == 2_000


def test_threads_may_compile_a_class_at_once() -> None:
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(native, [Shortest(), Shortest()])
    assert type(first) is type(second) is NativePolicy


def test_individual_jobs() -> None:
    found = qs.simulate(FOUR, Shortest(), jobs=3_000)
    expected = qs.simulate(FOUR, PlainShortest(), jobs=3_000)
    assert found.inputs.engine == "events"
    assert means(found) == means(expected)


@qs.compiled
class NativeAdaptive:
    """Adaptive Quickswap, with its rule stated by what the view shows."""

    remembers_order = False

    def __init__(self) -> None:
        self.draining = False

    def largest(self, view: qs.View, fits: bool) -> int:
        found = -1
        for cls in range(len(view.needs)):
            larger = found < 0 or view.needs[cls] > view.needs[found]
            fitting = not fits or view.head_needs[cls] <= view.free
            if view.waiting[cls] > 0 and fitting and larger:
                found = cls
        return found

    def start(self, view: qs.View) -> int | None:
        if not self.draining:
            found = self.largest(view, True)
            if found >= 0:
                return found
            waits = False
            for cls in range(len(view.needs)):
                if view.waiting[cls] > 0:
                    if view.running[cls] > 0:
                        return None
                    waits = True
            self.draining = waits
        if not self.draining:
            return None
        target = self.largest(view, False)
        if view.head_needs[target] > view.free:
            return None
        self.draining = False
        return target


class PlainAdaptive(NativeAdaptive):
    """The same in Python."""


PlainAdaptive.__quickswap_compiled__ = False  # type: ignore[attr-defined]  # set by `compiled`


@pytest.mark.parametrize("classes", ["need", "1-4,5-"])
def test_groups_of_needs_in_replays(tmp_path: Path, classes: str) -> None:
    log = random_log(tmp_path, 500)
    starts = {
        each: qs.replay(log, each, classes=classes).schedule.start.tolist()
        for each in ("adaptive-quickswap", NativeAdaptive(), PlainAdaptive())
    }
    known, *own = starts.values()
    assert own == [known, known]


def test_what_a_custom_policy_sees_of_groups(tmp_path: Path) -> None:
    log = log_of(tmp_path, jobs((0, 8, 5), (0, 3, 9), (1, 2, 9), (2, 8, 9), (3, 4, 9)), 11)
    seen: list[tuple[object, ...]] = []

    class Recorded(PlainAdaptive):
        sees_jobs = True

        def check(self, system: qs.System) -> None:
            seen.append(system.needs)

        def start(self, view: qs.View) -> int | None:
            counts = (view.needs, view.waiting, view.running, view.heads, view.head_needs)
            seen.append((view.time, *counts, *[(job.cls, job.need) for job in view.queue or ()]))
            return super().start(view)

    qs.replay(log, Recorded(), classes="1-4,5-")
    assert seen[0] == (4, 8)
    counts = ((4, 8), (2, 1), (1, 1), (2, 3), (2, 8))
    assert (3, *counts, (0, 2), (1, 8), (0, 4)) in seen

    class Blocked:
        def start(self, view: qs.View) -> int | None:
            return 0 if view.waiting[0] else None

    with pytest.raises(qs.PolicyError, match=r"does not fit; .* needs \[4, 8\], waiting \[1, 2\]"):
        qs.replay(log, Blocked(), classes="1-4,5-", servers=8)


def test_replays_schedulers_and_chains(tmp_path: Path) -> None:
    log = random_log(tmp_path, 300)
    assert (
        qs.replay(log, NativeFirstFit()).schedule.start.tolist()
        == qs.replay(log, "first-fit").schedule.start.tolist()
    )
    exact = qs.theory.chain.exact(ONE_OR_ALL, NativeMSFQ(2))
    known = qs.theory.chain.exact(ONE_OR_ALL, "msfq:threshold=2")
    assert exact.mean_response_time == pytest.approx(known.mean_response_time, rel=1e-9)
    scheduler = qs.Scheduler(ONE_OR_ALL, NativeMSFQ(2))
    scheduler.arrive([0, 0, 0])
    scheduler.arrive(1)
    state = scheduler.state
    assert scheduler.complete(0) == []
    assert scheduler.arrive(0)[1] == []  # it drains
    scheduler.restore(state)
    assert scheduler.state == state
    assert len(state.policy) == 3  # the thresholds, and whether it drains
    assert qs.Scheduler(FOUR, NativeFirstFit()).state.policy == ()  # it remembers nothing
    with pytest.raises(qs.PolicyError, match="random"):
        qs.theory.chain.exact(FOUR, Coin())


def half_more(number: float) -> float:
    return number + 0.5


@qs.compiled
class Halves:
    """Counts in halves, which a whole number cannot hold."""

    def __init__(self) -> None:
        self.sum: float = 0

    def start(self, view: qs.View) -> int | None:
        self.sum = half_more(self.sum)
        return 0 if view.waiting[0] and view.free and self.sum < 40 else None


def test_a_difference_from_python_is_an_error_with_the_state() -> None:
    with pytest.raises(qs.PolicyError, match=r"differently compiled \(class 0\).*the state was"):
        qs.simulate(ONE_OR_ALL, Halves(), jobs=1000)


@qs.compiled
class Invalid:
    def __init__(self, answer: int) -> None:
        self.answer = answer

    def start(self, view: qs.View) -> int:
        return self.answer


@pytest.mark.parametrize("answer", [-1, -2, 1, 2, 7])
def test_invalid_answers(answer: int) -> None:
    with pytest.raises(qs.PolicyError, match="Invalid"):
        qs.simulate(ONE_OR_ALL, Invalid(answer), jobs=1000)


@qs.compiled
class Greedy:
    """Has no state, and answers with heavy jobs that do not fit."""

    def start(self, view: qs.View) -> int | None:
        return 1 if view.waiting[1] > 0 else None


def test_an_answer_is_also_checked_while_no_job_fits() -> None:
    with pytest.raises(qs.PolicyError, match="answered 1, a job that does not fit"):
        qs.simulate(ONE_OR_ALL, Greedy(), jobs=1000)


@qs.compiled
class Pythonic:
    name = "pythonic"

    def start(self, view: qs.View) -> int | None:
        fits = [i for i, need in enumerate(view.needs) if view.waiting[i] and need <= view.free]
        label = f"{len(fits)}"
        return min(fits, key=lambda i: view.heads[i] or 0, default=None) if label else None


@qs.compiled
class Unknown:
    def start(self, view: Any) -> Any:
        return view.nothing[0] if view.waiting[0] > 10**9 else None


def test_what_is_not_compiled_runs_in_python_with_every_line_named() -> None:
    with pytest.warns(qs.CompilationWarning) as warned:
        result = qs.simulate(FOUR, Pythonic(), jobs=1000, seed=2)
    assert means(result) == means(qs.simulate(FOUR, "first-fit", jobs=1000, seed=2))
    text = str(warned[0].message)
    first = Pythonic.start.__code__.co_firstlineno
    for line, what in ((2, "text"), (3, "key or default"), (3, "lambda")):
        assert f"line {first + line}: {what}" in text.replace("a lambda", "lambda").replace(
            "min with ", ""
        )


@qs.compiled
class Walrus:
    def best(self, view: qs.View) -> int:
        return 0 if view.waiting[0] and view.free else -1

    def start(self, view: qs.View) -> int | None:
        if (found := self.best(view)) >= 0:
            return found
        return None


@qs.compiled
class OwnMethod:
    def best(self, view: qs.View) -> int:
        return -1

    def start(self, view: qs.View) -> int | None:
        best = self.best
        return best(view)


@qs.compiled
class Starred:
    def start(self, view: qs.View) -> int | None:
        first, *_ = (view.free, 2, 3)
        return 0 if first else None


@qs.compiled
class Mixed:
    def start(self, view: qs.View) -> int | None:
        number = 0 if view.free else (1, 2)
        return 0 if number else None


@pytest.mark.parametrize(
    ("kind", "line", "what"),
    [
        (Walrus, 1, "an assignment in an expression"),
        (OwnMethod, 1, "attribute best is method"),
        (Starred, 1, "unsupported opcode"),
        (Mixed, 1, "Cannot unify"),
    ],
)
def test_each_reason_has_its_line(kind: type[qs.CustomPolicy], line: int, what: str) -> None:
    line += kind.start.__code__.co_firstlineno
    with pytest.warns(qs.CompilationWarning, match=rf"test_compiled.py, line {line}\b.*{what}"):
        native(kind())


@qs.compiled
class Late:
    """First-Fit that divides by zero after the decisions that are compared."""

    def __init__(self) -> None:
        self.calls = 0

    def start(self, view: qs.View) -> int | None:
        self.calls += 1
        found = oldest_of(view, view.servers)
        if self.calls > 3000:
            found = found // (self.calls - self.calls)
        return found if found >= 0 else None


@qs.compiled
class Endless:
    """First-Fit whose loop does not end after the decisions that are compared."""

    def __init__(self) -> None:
        self.calls = 0

    def start(self, view: qs.View) -> int | None:
        self.calls += 1
        cls = 0
        while (cls < len(view.needs) or self.calls > 3000) and not (
            cls < 4 and view.waiting[cls] and view.needs[cls] <= view.free
        ):
            cls += 1
            while cls > 10**9: cls -= 1  # fmt: skip  # noqa: E701 - a body in the same line
        return cls if cls < len(view.needs) else None


def test_an_endless_loop_in_native_code_is_an_error() -> None:
    assert qs.simulate(FOUR, Endless(), jobs=500).stop == "completed"
    with pytest.raises(qs.PolicyError, match="Endless raised an exception in native code"):
        qs.simulate(FOUR, Endless(), jobs=5000)


def test_an_exception_in_native_code_is_an_error() -> None:
    with pytest.raises(qs.PolicyError, match="Late raised an exception in native code"):
        qs.simulate(FOUR, Late(), jobs=5000)


@qs.compiled
class Unlike:
    """What would differ in native code, a line each."""

    def __init__(self) -> None:
        self.count: float = 0
        self.list = [1, 2]

    def start(self, view: qs.View) -> int | None:
        self.count = self.count + view.free / 2
        self.count /= 2
        self.list = self.list[1:]
        both = self.list + self.list
        if view.heads[0] is not None and view.random is not None:
            return self.start(view)
        return 0 if both else None


def test_what_would_differ_in_native_code_is_named() -> None:
    with pytest.warns(qs.CompilationWarning) as warned:
        native(Unlike())
    text = str(warned[0].message)
    assert text.count("a fraction in a whole number") == 2
    for what in ("an array as a whole", "arithmetic with a list", "never None", "calls itself"):
        assert what in text
    assert "random numbers other than" in text


def test_an_error_of_numba_has_the_line_of_the_file() -> None:
    line = Unknown.start.__code__.co_firstlineno + 1
    with pytest.warns(qs.CompilationWarning, match=rf"line {line}, .*no attribute nothing"):
        code = native(Unknown())
    assert isinstance(code, Unknown)


@qs.compiled
class Text:
    def start(self, view: Any) -> Any:
        return "light" if view.waiting[0] > 10**9 else "heavy"


@qs.compiled
class Yes:
    def start(self, view: Any) -> Any:
        return view.waiting[0] > 0


@qs.compiled
class WakesAtText:
    def start(self, view: Any) -> Any:
        return None

    def wake_at(self, view: Any) -> Any:
        return "noon"


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [(Text(), "start must always return"), (Yes(), "start must"), (WakesAtText(), "wake_at must")],
)
def test_an_answer_of_another_type_is_named(policy: Any, allowed: str) -> None:
    with pytest.warns(qs.CompilationWarning, match=allowed):
        native(policy)


def test_compiled_code_is_cached(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(
        "import quickswap as qs\n"
        "@qs.compiled\n"
        "class Fifo:\n"
        "    def start(self, view):\n"
        "        return 0 if view.waiting[0] and view.free else None\n"
        "qs.simulate('mm1.toml', Fifo(), jobs=100)\n"
    )
    system = qs.System(1, [qs.JobClass(1, 0.5, qs.Exponential(mean=1.0))])
    (tmp_path / "mm1.toml").write_text(system.to_toml())
    for _ in range(2):
        subprocess.run([sys.executable, "policy.py"], cwd=tmp_path, check=True)
    folder = Path(os.environ["QUICKSWAP_CACHE"]) / "quickswap" / "policies"
    ours = [
        path
        for path in folder.glob("*.py")
        if "view.waiting[0] and view.free else" in path.read_text()
    ]
    assert len(ours) == 1
    assert len(list((folder / "__pycache__").glob(f"{ours[0].stem}.*.nbc"))) == 1


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples in C and Rust, compiled."""
    compilers = [shutil.which("cc"), shutil.which("rustc")]
    if None in compilers or sys.platform == "win32":
        pytest.skip("no compilers of C and Rust")
    folder = tmp_path_factory.mktemp("libraries")
    in_c = ["-O2", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{HEADER.parent}"]
    in_c += [str(EXAMPLES / "msfq.c"), "-o", str(folder / "msfq.so")]
    subprocess.run([str(compilers[0]), *in_c], check=True)
    in_rust = ["-O", "--crate-type", "cdylib", "-o", str(folder / "first_fit.so")]
    subprocess.run([str(compilers[1]), *in_rust, str(EXAMPLES / "first_fit.rs")], check=True)
    return folder


class TestLibraries:
    def test_c(self, libraries: Path) -> None:
        policy = qs.LibraryPolicy(
            libraries / "msfq.so", state=[2, 0], sees_heads=False, remembers_order=False
        )
        found = qs.simulate(ONE_OR_ALL, policy, jobs=20_000, replications=2)
        assert found.policy_label == "msfq"
        assert means(found) == means(
            qs.simulate(ONE_OR_ALL, "msfq:threshold=2", jobs=20_000, replications=2)
        )
        exact = qs.theory.chain.exact(ONE_OR_ALL, policy)
        known = qs.theory.chain.exact(ONE_OR_ALL, "msfq:threshold=2")
        assert exact.mean_response_time == pytest.approx(known.mean_response_time, rel=1e-9)

    def test_rust(self, libraries: Path) -> None:
        found = qs.simulate(FOUR, qs.LibraryPolicy(libraries / "first_fit.so"), jobs=20_000)
        assert means(found) == means(qs.simulate(FOUR, "first-fit", jobs=20_000))

    def test_it_is_the_same_policy_in_every_process(self, libraries: Path) -> None:
        policy = qs.LibraryPolicy(libraries / "msfq.so", state=[2, 0], sees_heads=False)
        grid = qs.Grid(ONE_OR_ALL, [policy], loads=[0.5], jobs=1000)
        with ProcessPoolExecutor(1) as executor:
            assert (
                qs.sweep(grid, executor=executor).outcomes.results
                == qs.sweep(grid, threads=1).outcomes.results
            )
        command = [
            *(sys.executable, "-c"),
            "import sys, quickswap as qs\n"
            "from quickswap.policies.custom import described\n"
            "p = qs.LibraryPolicy(sys.argv[1], state=[2, 0], sees_heads=False)\n"
            "print(qs.spell(described(p)))",
            str(libraries / "msfq.so"),
        ]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        assert text.strip() == qs.spell(described(policy))

    def test_mistakes(self, libraries: Path, tmp_path: Path) -> None:
        with pytest.raises(qs.PolicyError, match="cannot be loaded"):
            qs.LibraryPolicy(tmp_path / "none.so")
        with pytest.raises(qs.PolicyError, match="no function begin"):
            qs.LibraryPolicy(libraries / "msfq.so", "begin")
        with pytest.raises(qs.PolicyError, match="state"):
            qs.LibraryPolicy(libraries / "msfq.so", state=["a"])  # type: ignore[list-item]  # wrong on purpose
        with pytest.raises(qs.PolicyError, match="state"):
            qs.LibraryPolicy(libraries / "msfq.so", state=5)  # type: ignore[arg-type]  # the same

    def test_the_header_declares_the_same_structs(self, tmp_path: Path, libraries: Path) -> None:
        lines = [
            f'printf("%zu ", offsetof(struct {struct}, {name.removesuffix("_at")}));'
            for struct, layout in (("qs_view", VIEW), ("qs_job", JOB))
            for name in layout.names or ()
        ]
        program = '#include <stdio.h>\n#include <stddef.h>\n#include "quickswap_policy.h"\n'
        (tmp_path / "layout.c").write_text(f"{program}int main(void) {{ {' '.join(lines)} }}\n")
        compiler = str(shutil.which("cc"))
        command = [compiler, f"-I{HEADER.parent}", "layout.c", "-o", "layout"]
        subprocess.run(command, cwd=tmp_path, check=True)
        offsets = subprocess.run(
            [str(tmp_path / "layout")], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        expected = [place for layout in (VIEW, JOB) for _, place in layout.fields.values()]  # type: ignore[union-attr, misc]  # no titles
        assert [int(each) for each in offsets.split()] == expected


def test_only_the_class_of_a_policy_is_compiled() -> None:
    with pytest.raises(qs.PolicyError, match="class"):
        qs.compiled(oldest_of)  # type: ignore[type-var]  # wrong on purpose
