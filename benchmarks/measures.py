"""What is measured: each measure is a ratio of two things timed in turn in the same run.

Times are the least of several repeats: on a machine that others use, too, the least is the one that
was disturbed least.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import quickswap as qs
import yardstick

Timer = Callable[[int], float]
"""From a seed to a time."""


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
LIMITS = {"jumps": 2.0, "events": 5.0}


def in_turn(repeats: int, *timers: Timer) -> list[float]:
    """The least time of each timer, over repeats in which they take turns (same seed, new seed)."""
    times = [[timer(seed) for timer in timers] for seed in range(1, repeats + 1)]
    return [min(column) for column in zip(*times, strict=True)]


def per_event(system: qs.System, policy: str, jobs: int, engine: str) -> Timer:
    """Nanoseconds of an event of `quickswap.simulate`."""

    def timer(seed: int) -> float:
        result = qs.simulate(
            system, policy, jobs=jobs, seed=seed, engine=engine, replications=1, threads=1
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

        loops = [per_event(system, case.policy, effort.jobs, engine) for engine in LIMITS]
        least, *times = in_turn(effort.repeats, bare, *loops)
        for (engine, limit), ns in zip(LIMITS.items(), times, strict=True):
            detail = {"bare_ns": least, f"{engine}_ns": ns}
            yield Row(f"`{engine}` / bare loop, {case.title}", ns / least, "x", limit, detail)


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


def growth(effort: Effort) -> Iterator[Row]:
    """Cost of an event as the system grows."""
    msf, adaptive = "msf", "adaptive-quickswap"
    few, many = many_classes(2), many_classes(2000)
    small, scaled, wide = one_or_all(32, 1), one_or_all(2**20, 2**15), one_or_all(2**20, 1)
    # Under MSF the lights of the wide system never run out, so that no heavy job is ever served.
    for what, policy, before, after, limit in (
        ("k = 2^20 / k = 32, needs in proportion", msf, small, scaled, 2.0),
        ("k = 2^20 / k = 32, needs in proportion", adaptive, small, scaled, 2.0),
        ("k = 2^20 / k = 32, light jobs of need 1", adaptive, small, wide, None),
        ("2,000 classes / 2 classes", msf, few, many, 4.0),
        ("2,000 classes / 2 classes", adaptive, few, many, 4.0),
    ):
        for engine in LIMITS:
            timers = [per_event(each, policy, effort.jobs, engine) for each in (before, after)]
            small_ns, large_ns = in_turn(effort.repeats, *timers)
            title = f"cost of an event, {what}, {policy} (`{engine}`)"
            detail = {"small_ns": small_ns, "large_ns": large_ns}
            yield Row(title, large_ns / small_ns, "x", limit, detail)


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

    one, two = in_turn(effort.repeats, wall(1), wall(2))
    title = "two replications in two threads / one"
    yield Row(title, two / one, "x", 1.15, {"one_s": one, "two_s": two})


LONG_RUN = """
import json, resource, sys, quickswap as qs
system, policy = qs.load("one-or-all:rate=7"), qs.MSFQ(threshold=31)
result = qs.simulate(system, policy, jobs=int(sys.argv[1]), seed=1, engine=sys.argv[2])
unit = 1 if sys.platform == "darwin" else 1024  # bytes or KiB
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
print(json.dumps({"seconds": result.seconds, "peak_mb": peak / 1e6}))
"""


def memory(jobs: int) -> Iterator[Row]:
    """Peak memory of a long run in a process of its own."""
    for engine in LIMITS:
        command = [sys.executable, "-c", LONG_RUN, str(jobs), engine]
        line = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        detail = json.loads(line)
        title = f"peak memory of {jobs:,} jobs (`{engine}`)"
        yield Row(title, detail["peak_mb"], "MB", 200.0, detail)
