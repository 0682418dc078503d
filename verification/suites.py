"""The long checks, by name. Each is a generator of checks; seeds are fixed."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import quickswap as qs
from quickswap.statistics.estimates import QUANTILES
from quickswap.theory import msfq
from quickswap.theory.threshold import Thresholds
from verification.agreement import (
    Check,
    coverage,
    mean_again,
    near,
    same_distribution,
    without_theorem,
)
from verification.crashes import crash
from verification.governing import govern, govern_briefly
from verification.known import EXACT, FOUR, GOLDEN, Known, one_or_all
from verification.slurm import slurm
from verification.systems import (
    COUNT_POLICIES,
    drawn_log,
    many,
    mixed,
    random_system,
    shared,
    uneven,
)

__all__ = ["SUITES"]

Checks = Iterator[Check]


def engines(policy: qs.Policy) -> tuple[str, ...]:
    """The loops that run a policy."""
    single = policy.estimates or isinstance(policy, qs.Smash)
    return ("events",) if policy.preemptive or single else ("jumps", "events")


def exact() -> Checks:
    """The known answers, per class and overall, in both loops."""
    for known in EXACT:
        for engine in engines(known.policy):
            jobs = 12_000_000 if known.system.arrival_rate == 7 else 4_000_000
            result = qs.simulate(known.system, known.policy, jobs=jobs, engine=engine, seed=21)
            name = f"{known.label} {engine}"
            yield near(name, result.mean_response_time, known.mean)
            for each, value in zip(result.classes, known.classes or (), strict=True):
                yield near(f"{name} {each.name}", each.mean_response_time, value)


def distribution() -> Checks:
    """Jumps against events, in distribution, for every policy."""
    systems = {
        "one-or-all": one_or_all(4, 1.8, 0.2),
        "four": FOUR.with_rate(2.0),
        "uneven": uneven(0.4),
        "shared": shared(0.4),
        "40 classes": many(40, 8, 0.35),
    }
    msfq = [qs.MSFQ(t, d) for t in (0, 2) for d in ("on_demand", "always")]
    for name, system in systems.items():
        for policy in (*COUNT_POLICIES, *(msfq if system.one_or_all else ())):
            yield from both_loops(f"{name} {policy.label}", system, policy, 2_000_000)


def random() -> Checks:
    """Ten random systems, jumps against events; at loads at which every policy here is stable."""
    policies = (qs.FirstFit(), qs.MSF(), qs.AdaptiveQuickswap())
    for seed in range(10):
        system = random_system(seed)
        policy = policies[seed % 3]
        yield from both_loops(f"random system {seed} {policy.label}", system, policy, 1_000_000)


def both_loops(name: str, system: qs.System, policy: qs.Policy, jobs: int) -> list[Check]:
    """Compare the loops; three half-widths, as hundreds of such comparisons are made."""
    jumps, events = (
        qs.simulate(system, policy, engine=engine, jobs=jobs, seed=31)
        for engine in ("jumps", "events")
    )
    return same_distribution(name, jumps, events, widths=3.0)


def goldens() -> Checks:
    """The estimates of an independent simulator, from long runs."""
    for golden in GOLDEN:
        jobs = 10_000_000 if golden.system.servers == 32 else 4_000_000
        result = qs.simulate(golden.system, golden.policy, jobs=jobs, seed=41)
        mean, width = result.mean_response_time, golden.half_width[0]
        yield near(f"{golden.label} mean", mean, golden.mean, width)
        if golden.weighted is not None:
            ours = result.weighted_mean_response_time
            # the golden has none for the weighted mean: it is to ours as those of the means are
            theirs = ours.half_width * width / mean.half_width
            yield near(f"{golden.label} weighted", ours, golden.weighted, theirs)


COVERED: dict[str, dict[str, Any]] = {
    "msfq:threshold=3 k=4": {"engine": "events", "jobs": 20_000, "replications": 4},
    "first-fit k=32": {"engine": "jumps", "jobs": 40_000, "replications": 1},
    "msf k=4": {"engine": "events", "jobs": 100_000, "replications": 4},
    "msfq:threshold=31 k=32 rate=7": {"engine": "jumps", "jobs": 1_000_000, "replications": 2},
}
"""Exact cases, by the beginning of their labels, and runs short enough to be made 400 times."""


def intervals() -> Checks:
    """Coverage of the 95 % intervals of the mean: 400 runs, 92 to 98 % (2.75 deviations)."""
    for label, settings in COVERED.items():
        known = next(each for each in EXACT if each.label.startswith(label))
        first = qs.simulate(known.system, known.policy, seed=0, **settings)

        def estimate(seed: int, first: qs.Result = first) -> qs.Estimate:
            return mean_again(first, seed)

        share = coverage(estimate, known.mean)
        yield Check(f"coverage, {known.label}", share, 0.95, 0.03)


def percentiles() -> Checks:
    """Coverage of percentiles: the response time of M/M/1 in order of arrival is exponential."""
    system = mixed(1, [(1, 1.0, 1.0)], 0.7)
    mean = 1 / (1 - 0.7)

    def response(seed: int) -> qs.Summary:
        result = qs.simulate(system, "fcfs", jobs=400_000, seed=seed, threads=1)
        return result.overall.response_time

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(response, range(400)))
    for name, level in zip(("p50", "p90", "p99", "p999"), QUANTILES, strict=True):
        target = -mean * math.log(1 - level)
        found = [getattr(run, name) for run in runs]
        share = sum(each.low <= target <= each.high for each in found) / len(found)
        yield Check(f"coverage, M/M/1 load .7 {name}", share, 0.95, 0.03)
    share = sum(run.std.low <= mean <= run.std.high for run in runs) / len(runs)
    yield Check("coverage, M/M/1 load .7 standard deviation", share, 0.95, 0.03)


def weeks() -> Checks:
    """Coverage of the intervals of replays: 400 logs of twelve weeks, of systems known exactly."""
    for label in ("msfq:threshold=3 k=4", "first-fit k=32"):
        known = next(each for each in EXACT if each.label.startswith(label))

        def estimate(seed: int, known: Known = known) -> qs.Estimate:
            log = drawn_log(known.system, seed, weeks=12, mean_size=900.0)
            return qs.replay(log, known.policy).mean_response_time / 900.0

        share = coverage(estimate, known.mean)
        yield Check(f"coverage over weeks, {known.label}", share, 0.95, 0.03)


def identities() -> Checks:
    """Utilisation is the load, throughput the arrival rate, Little's law: at load .9."""
    for policy in (qs.MSF(), qs.AdaptiveQuickswap(), qs.FirstFit(), qs.ServerFilling()):
        result = qs.simulate(FOUR.with_load(0.85), policy, jobs=4_000_000, seed=51)
        name, system = policy.label, result.system
        yield near(f"{name} utilisation", result.utilisation, system.load)
        for each, spec in zip(result.classes, system.classes, strict=True):
            little = each.throughput.value * each.mean_response_time.value
            yield near(f"{name} throughput {each.name}", each.throughput, spec.arrival_rate)
            yield near(f"{name} Little {each.name}", each.number_in_system, little, widths=1.0)


def verdicts() -> Checks:
    """Stable systems at load .95 are not called unstable by the evidence of a run: 30 seeds."""
    one_all = one_or_all(32, 0.9, 0.1).with_load(0.95)
    cases: tuple[tuple[qs.System, qs.Policy], ...] = (
        (one_all, qs.MSF()),
        (one_all, qs.MSFQ()),
        (FOUR.with_load(0.95), qs.AdaptiveQuickswap()),
    )
    for system, policy in cases:
        runs = (without_theorem(system, policy, seed=seed) for seed in range(30))
        wrong = sum(each.verdict.status == "unstable" for each in runs)
        yield Check(f"called unstable, {policy.label} load .95", wrong, 0.0, 0.0)


def theory() -> Checks:
    """The exact solution of MSFQ on ten larger systems, per class, with percentiles of heavies."""
    shapes = ((7, 0.9), (16, 0.5), (24, 0.97), (40, 0.8), (64, 0.6))
    for number, (k, light) in enumerate(shapes):
        means = 0.5 + 0.4 * number, 2.5 - 0.5 * number
        classes = [
            qs.JobClass(1, light * k / means[0], qs.Exponential(mean=means[0])),
            qs.JobClass(k, (1 - light) / means[1], qs.Exponential(mean=means[1])),
        ]
        system = qs.System(k, classes).with_load((0.5, 0.85)[number % 2])
        for drain, threshold in (("on_demand", k * number // 4), ("always", k // 2)):
            policy = qs.MSFQ(threshold, drain)
            known = msfq.exact(system, threshold, drain)
            result = qs.simulate(system, policy, jobs=6_000_000, seed=61)
            name = f"{qs.spell(policy)} k={k} load={system.load:.3g}"
            for one, other in zip(result.classes, known.classes, strict=True):
                found, value = one.mean_response_time, other.mean_response_time
                yield near(f"{name} {one.name}", found, value)
            times, heavy = known.heavy_response_time, result.classes[1].response_time
            for quantile, value in (("p50", 50), ("p90", 90), ("p99", 99)):
                yield near(f"{name} {quantile}", getattr(heavy, quantile), times.percentile(value))


def borders() -> Checks:
    """At load .9999, k = 32, both drains are MSF for l = 0, and the heavies' two means agree."""
    for heavy_mean in (1e-6, 1.0, 1e6):
        classes = [
            qs.JobClass(1, 16.0, qs.Exponential(mean=1.0)),
            qs.JobClass(32, 0.5 / heavy_mean, qs.Exponential(mean=heavy_mean)),
        ]
        system = qs.System(32, classes).with_load(0.9999)
        for threshold in (0, 31):
            both = [msfq.exact(system, threshold, drain) for drain in ("on_demand", "always")]
            name = f"MSFQ({threshold}), heavy mean {heavy_mean:g}, load .9999"
            for each in both:
                ratio = each.heavy_response_time.mean / each.classes[1].mean_response_time
                yield Check(f"{name} {each.drain}, heavies", ratio, 1.0, 1e-7)
            if threshold == 0:
                ratio = both[0].mean_response_time / both[1].mean_response_time
                yield Check(f"{name}, both drains", ratio, 1.0, 1e-7)


def thresholds() -> Checks:
    """The best of some thresholds is the best of all, k = 100."""
    system = qs.load("one-or-all:k=100")
    for load in (0.3, 0.7, 0.95):
        for drain in ("on_demand", "always"):
            scan = Thresholds(system.with_load(load), drain)
            for metric in ("mean", "weighted"):
                some, every = scan.best(metric), scan.best(metric, every=True)
                gap = some.threshold - every.threshold
                yield Check(f"best threshold, load {load}, {drain}, {metric}", gap, 0.0, 0.0)


def crashes() -> Checks:
    """Sweeps killed with -9 at random moments, 100 while simulating and 50 while writing."""
    for kills, writing in ((100, False), (50, True)):
        with TemporaryDirectory() as folder:
            seen = crash(Path(folder), kills, writing=writing)
        name = (
            f"of {seen.kills} kills, {seen.in_commit} in a commit, {seen.sweeps} "
            f"{'stores written' if writing else 'sweeps'}"
        )
        yield Check(f"rows lost {name}", seen.lost, 0.0, 0.0)
        yield Check(f"points run twice {name}", seen.twice, 0.0, 0.0)
        yield Check(f"results that differ {name}", seen.different, 0.0, 0.0)


def properties() -> Checks:
    """The tests of properties with many random examples, fresh ones each time."""
    tests = Path(__file__).parents[1] / "tests"
    files = sorted(each for each in tests.rglob("test_*.py") if "@given" in each.read_text("utf-8"))
    for file in files:
        found = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", str(file)],
            env={**os.environ, "QUICKSWAP_EXAMPLES": "400"},
            cwd=tests.parent,
            stdout=sys.stderr,
            check=False,
        )
        yield Check(f"{file.relative_to(tests)}, exit code", found.returncode, 0, 0)


SUITES: dict[str, Callable[[], Checks]] = {
    suite.__name__: suite
    for suite in (
        *(exact, goldens, distribution, random, intervals, percentiles, identities, verdicts),
        *(weeks, theory, borders, thresholds, properties, crashes, slurm, govern, govern_briefly),
    )
}
