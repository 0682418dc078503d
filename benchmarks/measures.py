"""What is measured: each measure is a ratio of two things timed in turn in the same run.

A ratio is the median over the turns, with its quartiles: what slows the machine down for longer
than a turn slows both down.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any
from unittest import mock

import quickswap as qs
import yardstick
from quickswap.engine._core import Simulation
from quickswap.simulation import simulate

Timer = Callable[[int], float]
"""From a seed to a time."""
Times = dict[str, list[float]]
"""Of each timer, one a turn."""


@dataclass(frozen=True)
class Effort:
    """How much work goes into a measure: jobs a run, and repeats."""

    jobs: int
    repeats: int


@dataclass(frozen=True)
class Row:
    """One line of the table: a value, what it should not exceed, and the times behind it."""

    what: str
    value: float
    unit: str  # "x" for a ratio
    limit: float | None
    detail: dict[str, float]
    quartiles: tuple[float, float] | None = None


def ratio(what: str, limit: float | None, times: Times, above: str, below: str) -> Row:
    """The row of a ratio of two columns of times."""
    ratios = [a / b for a, b in zip(times[above], times[below], strict=True)]
    detail = {name: median(times[name]) for name in (below, above)}
    low, middle, high = quantiles(ratios, n=4) if len(ratios) > 1 else 3 * ratios
    return Row(what, middle, "x", limit, detail, (low, high))


@dataclass(frozen=True)
class Case:
    """A system and a policy, in the words of quickswap and in those of the bare loop."""

    title: str
    model: str
    policy: str
    bare: str


AGAINST_BARE = (
    Case("one-or-all, MSF", "one-or-all:rate=7", "msf", "msf"),
    Case("one-or-all, MSFQ(31)", "one-or-all:rate=7", "msfq:threshold=31", "msfq:31"),
    Case("four-class, MSF", "four-class:rate=4", "msf", "msf"),
    Case("four-class, Adaptive", "four-class:rate=4", "adaptive-quickswap", "adaptive"),
    Case("borg-b, MSF", "borg-b:load=0.8", "msf", "msf"),
    Case("borg-b, Adaptive", "borg-b:load=0.8", "adaptive-quickswap", "adaptive"),
)
LIMITS = {"jumps": 1.5, "events": 3.0}


def in_turn(repeats: int, **timers: Timer) -> Times:
    """The times of each timer, over repeats in which they take turns (same seed, new seed)."""
    times: Times = {name: [] for name in timers}
    for seed in range(1, repeats + 1):
        for name, timer in timers.items():
            times[name].append(timer(seed))
    return times


def per_event(system: qs.System, policy: Any, jobs: int, engine: str) -> Timer:
    """Nanoseconds of an event of `quickswap.simulate`."""

    def timer(seed: int) -> float:
        result = qs.simulate(
            system,
            policy,
            jobs=jobs,
            seed=seed,
            engine=engine,
            replications=1,
            threads=1,
            max_in_system=100_000_000,  # k = 2^20 light jobs and more
        )
        return result.seconds / result.events * 1e9

    return timer


def against_bare(effort: Effort) -> Iterator[Row]:
    """Both loops against the yardstick, on every case."""
    program = yardstick.build()
    for case in AGAINST_BARE:
        system = qs.load(case.model)

        def bare(seed: int, case: Case = case, system: qs.System = system) -> float:
            return yardstick.nanoseconds(program, system, case.bare, 2 * effort.jobs, seed)

        loops = {
            f"{engine}_ns": per_event(system, case.policy, effort.jobs, engine) for engine in LIMITS
        }
        times = in_turn(effort.repeats, bare_ns=bare, **loops)
        for engine, limit in LIMITS.items():
            what = f"`{engine}` / bare loop, {case.title}"
            yield ratio(what, limit, times, f"{engine}_ns", "bare_ns")


def one_or_all(servers: int, light_need: int) -> qs.System:
    """The one-or-all system at rate 7 with more servers; both classes keep their loads."""
    size, lights = qs.Exponential(mean=1.0), 6.3 / 32 * servers / light_need
    classes = [qs.JobClass(light_need, lights, size), qs.JobClass(servers, 0.7, size)]
    return qs.System(servers, classes)


def many_classes(count: int) -> qs.System:
    """4,000 servers at load 0.7, with needs spread from 1 to 2,000, each class of equal load."""
    needs = [1 + round(i * 1999 / (count - 1)) for i in range(count)]
    size = qs.Exponential(mean=1.0)
    return qs.System(4000, [qs.JobClass(need, 1 / need, size) for need in needs]).with_load(0.7)


MANY_CLASSES = ("msf", "adaptive-quickswap", "first-fit", "fcfs", "lsf", "static-quickswap")


def growth(effort: Effort) -> Iterator[Row]:
    """Cost of an event as the system grows."""
    msf, adaptive = "msf", "adaptive-quickswap"
    few, many = many_classes(2), many_classes(2000)
    plain, scaled, wide = one_or_all(32, 1), one_or_all(2**20, 2**15), one_or_all(2**20, 1)
    # Under MSF the lights of the wide system never run out, so no heavy job is ever served.
    for what, policy, before, after, limit in (
        ("k = 2^20 / k = 32, needs in proportion", msf, plain, scaled, 2.0),
        ("k = 2^20 / k = 32, needs in proportion", adaptive, plain, scaled, 2.0),
        ("k = 2^20 / k = 32, light jobs of need 1", adaptive, plain, wide, 2.5),
        *(("2,000 classes / 2 classes", each, few, many, 4.0) for each in MANY_CLASSES),
    ):
        for engine in LIMITS:
            small, large = (
                per_event(each, policy, effort.jobs, engine) for each in (before, after)
            )
            times = in_turn(effort.repeats, small_ns=small, large_ns=large)
            title = f"cost of an event, {what}, {policy} (`{engine}`)"
            yield ratio(title, limit, times, "large_ns", "small_ns")


@qs.compiled
class CompiledMSFQ:
    """MSFQ(31), on demand, as a custom policy."""

    name = "MSFQ by Numba"

    def __init__(self) -> None:
        self.threshold, self.draining = 31, False

    def start(self, view: qs.View) -> int | None:
        """Return the class that starts."""
        if view.running[1] > 0 or (self.draining and view.running[0] > 0):
            return None
        if self.draining and view.waiting[1] > 0:
            return 1
        self.draining = False
        if view.waiting[0] > 0 and view.free > 0:
            return 0
        if view.waiting[1] > 0 and view.waiting[0] + view.running[0] <= self.threshold:
            self.draining = True
            return 1 if view.running[0] == 0 else None
        return None


@qs.compiled
class CompiledFirstFit:
    """First-Fit as a custom policy."""

    name = "First-Fit by Numba"

    def start(self, view: Any) -> int | None:
        """Return the class that starts."""
        found = -1
        for cls in range(len(view.needs)):
            fits = view.waiting[cls] > 0 and view.needs[cls] <= view.free
            if fits and (found < 0 or view.heads[cls] < view.heads[found]):
                found = cls
        return found if found >= 0 else None


def compiled(effort: Effort) -> Iterator[Row]:
    """Custom policies compiled by Numba against the same policies of the core."""
    cases = (
        ("one-or-all:rate=7", CompiledMSFQ(), "msfq:threshold=31"),
        ("four-class:rate=4", CompiledFirstFit(), "first-fit"),
        ("borg-b:load=0.8", CompiledFirstFit(), "first-fit"),
    )
    for model, custom, known in cases:
        system = qs.load(model)
        for engine in LIMITS:
            mine, core = (per_event(system, each, effort.jobs, engine) for each in (custom, known))
            times = in_turn(effort.repeats, custom_ns=mine, core_ns=core)
            what = f"`{engine}`, {custom.name} / core, {model.partition(':')[0]}"
            yield ratio(what, 1.5, times, "custom_ns", "core_ns")


def threads(effort: Effort) -> Iterator[Row]:
    """Two replications in two threads against one."""
    system, policy = qs.load("one-or-all:rate=7"), qs.MSFQ(threshold=31)

    def wall(count: int) -> Timer:
        def timer(seed: int) -> float:
            begin = time.perf_counter()
            qs.simulate(
                system,
                policy,
                jobs=count * effort.jobs,
                seed=seed,
                engine="jumps",
                replications=count,
                threads=count,
            )
            return time.perf_counter() - begin

        return timer

    times = in_turn(effort.repeats, one_s=wall(1), two_s=wall(2))
    yield ratio("two replications in two threads / one", 1.15, times, "two_s", "one_s")


class TimedCore:
    """A simulation of the core whose calls are timed."""

    seconds = 0.0

    def __init__(self, *arguments: Any) -> None:
        self.core = Simulation(*arguments)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.core, name)

        def timed(*arguments: Any) -> Any:
            begin = time.perf_counter()
            found = method(*arguments)
            TimedCore.seconds += time.perf_counter() - begin
            return found

        return timed


FIRST_RUN = """
import time, quickswap as qs
begin = time.perf_counter()
qs.simulate("one-or-all:rate=7", "adaptive-quickswap", jobs=1000, threads=1)
print(time.perf_counter() - begin)
"""


def short_runs(repeats: int) -> Iterator[Row]:
    """What a short run costs, and the share of the core in a longer one of many classes."""
    command = [sys.executable, "-c", FIRST_RUN]
    firsts = [float(subprocess.check_output(command)) for _ in range(min(repeats, 20))]
    detail = {"median_s": median(firsts)}
    yield Row("1,000 jobs, first simulation of a process", min(firsts), "s", 0.12, detail)
    single = qs.System(1, [qs.JobClass(1, 0.7, qs.Exponential(mean=1.0))])
    policy = qs.AdaptiveQuickswap()
    systems = {
        "M/M/1": single,
        "one-or-all": qs.load("one-or-all:rate=7"),
        "four-class": qs.load("four-class:rate=4"),
        "borg-b": qs.load("borg-b:load=0.8"),
    }
    for jobs, limit in ((1000, 2.0), (10_000, 3.0)):
        for title, system in systems.items():
            seconds = []
            for seed in range(1 + repeats):
                begin = time.perf_counter()
                qs.simulate(system, policy, jobs=jobs, seed=seed, threads=1)
                seconds.append(time.perf_counter() - begin)
            value = 1000 * min(seconds[1:])  # the first one loads libraries
            detail = {"first_ms": 1000 * seconds[0], "median_ms": 1000 * median(seconds[1:])}
            most = None if title == "borg-b" else limit
            yield Row(f"{jobs:,} jobs, {title}", value, "ms", most, detail)
    times: Times = {"outside_s": [], "whole_s": []}
    with mock.patch.object(simulate, "Simulation", TimedCore):
        for seed in range(1, repeats + 1):
            TimedCore.seconds, begin = 0.0, time.perf_counter()
            qs.simulate("borg-b:load=0.8", policy, jobs=100_000, seed=seed, threads=1)
            times["whole_s"].append(time.perf_counter() - begin)
            times["outside_s"].append(times["whole_s"][-1] - TimedCore.seconds)
    what = "time outside the core / whole, 100,000 jobs of borg-b"
    yield ratio(what, 0.25, times, "outside_s", "whole_s")


PEAK = """
import pathlib, re, resource, sys
def peak():
    if sys.platform == "linux":  # where ru_maxrss begins with the peak of the parent
        status = pathlib.Path("/proc/self/status").read_text()
        return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
    unit = 1 if sys.platform == "darwin" else 1024  # bytes or KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
"""
"""Largest memory of the process so far, in bytes."""

SOLUTION = f"""{PEAK}
import json, time, quickswap as qs
from quickswap.theory import msfq
k = int(sys.argv[1])
msfq.exact("one-or-all:rate=7")  # the first one loads libraries
begin = time.perf_counter()
msfq.exact(qs.load(f"one-or-all:k={{k}}").with_load(0.9), k - 1)
seconds = time.perf_counter() - begin
print(json.dumps({{"seconds": seconds, "peak_mb": peak() / 1e6}}))
"""


def solutions(limits: dict[int, float]) -> Iterator[Row]:
    """Seconds of the exact solution of MSFQ, by servers, and its peak memory."""
    for servers, limit in limits.items():
        command = [sys.executable, "-c", SOLUTION, str(servers)]
        line = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        detail = json.loads(line)
        title = f"exact solution of MSFQ, k = {servers:,}"
        yield Row(title, detail["seconds"], "s", limit, detail)
        yield Row(f"peak memory, {title}", detail["peak_mb"], "MB", 1000.0, detail)


LONG_RUN = f"""{PEAK}
import json, quickswap as qs
system, policy = qs.load("one-or-all:rate=7"), qs.MSFQ(threshold=31)
result = qs.simulate(system, policy, jobs=int(sys.argv[1]), seed=1, engine=sys.argv[2])
print(json.dumps({{"seconds": result.seconds, "peak_mb": peak() / 1e6}}))
"""


def memory(jobs: int) -> Iterator[Row]:
    """Peak memory of a long run in a process of its own."""
    for engine in LIMITS:
        command = [sys.executable, "-c", LONG_RUN, str(jobs), engine]
        line = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        detail = json.loads(line)
        title = f"peak memory of {jobs:,} jobs (`{engine}`)"
        yield Row(title, detail["peak_mb"], "MB", 200.0, detail)
