"""Do estimates agree? With tolerances that follow from their own intervals.

Two half-widths are about four standard errors: a correct program fails such a check once in
several thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Unpack

import quickswap as qs
from quickswap.engine._core import Simulation
from quickswap.engine.settings import Inputs, PointSettings
from quickswap.simulation.simulate import _Session
from quickswap.statistics.control import estimated
from quickswap.statistics.measure import measure
from quickswap.statistics.quantities import batch_values
from quickswap.statistics.verdict import Status

__all__ = ["Check", "alike", "coverage", "mean_again", "near", "problems", "same_distribution"]

WIDTHS = 2.0
"""Half-widths within which an estimate must lie."""


@dataclass(frozen=True)
class Check:
    """A value, what it should be, and how far off it may be."""

    name: str
    value: float
    target: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the value lies within the tolerance; never if one of them is nan."""
        return abs(self.value - self.target) <= self.tolerance

    def __str__(self) -> str:
        verdict = "ok" if self.passed else "FAILED"
        return (
            f"{verdict:6}  {self.value:<11.6g} target {self.target:<11.6g} "
            f"± {self.tolerance:<9.3g} {self.name}"
        )


def near(
    name: str, estimate: qs.Estimate, target: float, half_width: float = 0.0, widths: float = WIDTHS
) -> Check:
    """Compare an estimate with a known value, which has a half-width itself or is exact."""
    tolerance = widths * math.hypot(estimate.half_width, half_width)
    return Check(name, estimate.value, target, tolerance)


def alike(name: str, one: qs.Estimate, other: qs.Estimate, widths: float = WIDTHS) -> Check:
    """Compare two independent estimates of the same quantity."""
    return near(name, one, other.value, other.half_width, widths)


def same_distribution(
    name: str, one: qs.Result, other: qs.Result, widths: float = WIDTHS
) -> list[Check]:
    """Compare two independent results of the same system and policy in several quantities."""
    pairs = {
        "mean response": (one.mean_response_time, other.mean_response_time),
        "P90 response": (one.overall.response_time.p90, other.overall.response_time.p90),
        "utilisation": (one.utilisation, other.utilisation),
        "wasted capacity": (one.wasted_capacity, other.wasted_capacity),
        "number in system": (one.overall.number_in_system, other.overall.number_in_system),
        "number waiting": (one.overall.number_waiting, other.overall.number_waiting),
    }
    for a, b in zip(one.classes, other.classes, strict=True):
        pairs[f"mean response of {a.name}"] = (a.mean_response_time, b.mean_response_time)
    return [alike(f"{name}: {what}", a, b, widths) for what, (a, b) in pairs.items()]


def with_intervals(result: qs.Result) -> qs.Result:
    """Return a result with the intervals that one of a run too short for them withholds."""
    session, core = _again(result, result.inputs.seed)
    measured = measure(result.system, session.evidence(core), Status.STABLE, rarest=1.0)
    return replace(result, **measured)


def without_theorem(
    system: qs.System, policy: qs.Policy, **settings: Unpack[PointSettings]
) -> qs.Result:
    """Simulate, and judge by the run alone, as if no theorem were known."""
    session = _Session(system, policy, Inputs.of(system, policy, **settings))
    session.known = replace(session.known, verdict="unknown")
    return session.run()


def coverage(
    estimate: Callable[[int], qs.Estimate], target: float, runs: int = 400, threads: int = 2
) -> float:
    """Return the share of runs, with the seeds 0, 1, ..., whose interval holds the target."""
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(estimate, range(runs)))
    return sum(each.low <= target <= each.high for each in found) / len(found)


def mean_again(result: qs.Result, seed: int) -> qs.Estimate:
    """Return the mean response time of the same simulation with another seed.

    Quicker than `simulate`, as nothing else is worked out and no verdict is passed.
    """
    session, core = _again(result, seed)
    totals = session.evidence(core).totals
    means = batch_values("mean_response_time", totals.responses(), result.system)
    controls = totals.controls() if result.stable else None
    return estimated(means, [controls], totals.split, reciprocal=True)[0]


def _again(result: qs.Result, seed: int) -> tuple[_Session, Simulation]:
    """Return the same simulation with a seed, at its end."""
    inputs = replace(result.inputs, seed=seed)
    session = _Session(result.system, qs.parse(inputs.spelling), inputs)
    core = session.core()
    core.advance(session.rounds()[-1], 1)
    return session, core


def problems(checks: Iterable[Check]) -> Sequence[str]:
    """Return the checks that failed, as text; a test asserts that there are none."""
    return list(_failed(checks))


def _failed(checks: Iterable[Check]) -> Iterator[str]:
    return (str(check) for check in checks if not check.passed)
