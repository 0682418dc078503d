"""Simulate a system under a policy."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Unpack

import msgspec
import numpy as np

from quickswap._check import checks_keywords, flag
from quickswap._progress import jobs_bar, shows
from quickswap._words import counted, load_words
from quickswap.engine._core import NativePolicy, Simulation
from quickswap.engine.compiled import native
from quickswap.engine.custom import CustomPolicy, as_policy, label
from quickswap.engine.generators import untouched_generators
from quickswap.engine.settings import (
    SETTINGS,
    Inputs,
    PointSettings,
    SimulationSettings,
    check_progress,
    check_settings,
    check_threads,
)
from quickswap.errors import Interrupted, PolicyError, QuickswapError, UnstableError, invalid
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.policies.custom import Custom
from quickswap.simulation.result import Result, Stop, Trajectory
from quickswap.statistics.control import PARTS, estimated
from quickswap.statistics.estimates import Batches
from quickswap.statistics.measure import measure
from quickswap.statistics.quantities import batch_values
from quickswap.statistics.verdict import Evidence, Known, Status, Verdict, judge, known_stability

__all__ = ["rerun", "simulate", "simulate_inputs"]

BLOCKS = 511
"""Blocks into which a run of known length is divided: the most that the core keeps unmerged."""
SMALL_BLOCK = 64
"""Completions in the first blocks of a long run."""
ROUNDS = (1 / 8, 1 / 4, 1 / 2, 1.0)
"""Shares of a run after which it is checked. An unstable run ends early, after two
consecutive checks, as a long oscillation of a stable system may look unstable once."""
SHORT = 200_000
"""Jobs below which a run is checked at its end only: a check would take longer than it saves."""
FIRST_ROUND = 100_000
"""Jobs of the first round of a run to a given precision; each further round doubles them."""


@shows(jobs_bar, "simulating")
def simulate(
    system: System | str | Path,
    policy: Policy | CustomPolicy | str,
    *,
    progress: Callable[[int, int], object] | bool | None = None,
    **settings: Unpack[SimulationSettings],
) -> Result:
    """Simulate a system, empty at first, under a policy; return estimates with intervals.

    Args:
        system: servers and classes, or the name of a preset or model file.
        policy: a policy, its spelling on the command line, or a custom policy (`CustomPolicy`).
        progress: True for a bar, or a function that is called several times a second, with the
            completions so far and in total.
        settings: those of `Settings` (jobs, precision, seed, engine, ...); `threads`, the maximum
            number of threads (default: the cores of the machine); and `debug`, which checks every
            event: no server is used twice, no job is lost, each class is FIFO, and Little's law
            holds.

    Raises:
        PolicyError: the policy does not apply to the system, or a custom policy raised an exception
            or returned an invalid answer.
        UnstableError: the arrival rate is at or above the capacity, without `allow_unstable`.
        QuickswapError: an unknown setting, or one out of range.
        Interrupted: Ctrl-C; the exception contains the results so far.
    """
    check_settings(settings, SimulationSettings, "simulate", "progress")
    system = as_system(system)
    policy = as_policy(policy, system)
    progress = check_progress(progress)
    threads = check_threads(settings.pop("threads", None)) or cores()
    debug = flag(settings.pop("debug", False), "debug", QuickswapError)
    determining: PointSettings = settings
    inputs = Inputs.of(system, policy, **determining)
    return _Session(system, policy, inputs, threads, debug, progress).run()


@checks_keywords
def rerun(
    result: Result, policy: Policy | CustomPolicy | None = None, threads: int | None = None
) -> Result:
    """Repeat the simulation of a result; the new result equals the given one.

    Args:
        result: a result of `simulate`, also one read from a file.
        policy: the policy, if it is custom and the result was read from a file.
        threads: as in `simulate`.

    Raises:
        QuickswapError: `result` is no result, or the policy is custom and was not given.
    """
    if not isinstance(result, Result):
        advice = "use Result.from_json for the text of a file"
        raise invalid("result", result, "a result of simulate", QuickswapError, advice=advice)
    inputs = result.inputs
    if policy is None:
        policy = inputs.policy
        if isinstance(policy, Custom) and policy.served is None:
            advice = "pass it to rerun(policy=...)"
            message = f"policy {policy.called} is a custom policy: {advice}."
            raise QuickswapError(message, argument="policy", given=policy.called, advice=advice)
    settings = {name: getattr(inputs, name) for name in SETTINGS}
    return simulate(inputs.system, policy, threads=threads, **settings)


def simulate_inputs(
    inputs: Inputs,
    policy: Policy | CustomPolicy,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Run the simulation of inputs that are already checked, under their policy."""
    progress = check_progress(progress)
    threads = check_threads(threads) or cores()
    return _Session(inputs.system, policy, inputs, threads, False, progress).run()


@dataclass
class _Session:
    """A running simulation."""

    system: System
    policy: Policy | CustomPolicy
    inputs: Inputs
    threads: int = 1
    debug: bool = False
    progress: Callable[[int, int], object] | None = None
    seconds: float = 0.0
    known: Known = field(init=False)
    code: object = field(init=False)
    """A custom policy, in the form that the core runs."""

    def __post_init__(self) -> None:
        self.code = None if isinstance(self.policy, Policy) else native(self.policy)
        self.known = known_stability(self.system, self.policy)

    def run(self) -> Result:
        """Run in rounds until a stopping rule applies."""
        if not self.inputs.allow_unstable:
            refuse_unstable([self.system], self.known.capacity)
        core = self.core()
        try:
            stop, verdict, evidence = self._go(core)
            if self.debug and not (gap := max(core.little_gaps())) < 1e-6:
                raise RuntimeError(f"Little's law does not hold on the path: relative gap {gap}")
            result = self._result(core, stop, verdict, evidence)
        except KeyboardInterrupt:
            evidence = self.evidence(core)
            if not evidence.batches.runs:
                raise Interrupted(None) from None
            verdict = judge(evidence, crowded=False)
            raise Interrupted(self._result(core, Stop.INTERRUPTED, verdict, evidence)) from None
        if self.progress is not None:
            self.progress(self.inputs.jobs, self.inputs.jobs)
        return result

    def _go(self, core: Simulation) -> tuple[Stop, Verdict, Evidence]:
        """Run in rounds; return the reason to stop, the verdict and the evidence."""
        rounds = self.rounds()
        suspected = False
        for number, target in enumerate(rounds):
            reasons = self._advance(core, target)
            last = number == len(rounds) - 1
            evidence = self.evidence(core)
            if not evidence.batches.runs:
                raise QuickswapError(
                    f"no job has completed under {label(self.policy)}: the policy never starts a "
                    "job, or too few are allowed in the system",
                    argument="max_in_system",
                    given=self.inputs.max_in_system,
                    advice="correct the policy, or give a larger {max_in_system}",
                )
            if "crowded" in reasons:
                stop = Stop.UNSTABLE if evidence.unstable else Stop.CROWDED
                return stop, judge(evidence, crowded=True), evidence
            unstable = evidence.unstable and not self.inputs.allow_unstable
            if unstable and (suspected or self.known.verdict == "unstable") and not last:
                return Stop.UNSTABLE, judge(evidence, crowded=False), evidence
            suspected = unstable
            if self.inputs.precision is not None and (number > 0 or last):  # one check is too few
                verdict = judge(evidence, crowded=False)
                if verdict.status is not Status.TOO_SHORT and self._precise(evidence):
                    return Stop.PRECISE, verdict, evidence
        stop = Stop.COMPLETED if self.inputs.precision is None else Stop.BUDGET
        return stop, judge(evidence, crowded=False), evidence

    def rounds(self) -> list[int]:
        """Return the completions of each replication at the end of each round."""
        each = -(-self.inputs.jobs // self.inputs.replications)
        if self.inputs.precision is None:
            shares = ROUNDS if self.inputs.jobs >= SHORT else ROUNDS[-1:]
            return sorted({max(1, round(share * each)) for share in shares})
        rounds = [max(1, FIRST_ROUND // self.inputs.replications)]
        while rounds[-1] < each:
            rounds.append(2 * rounds[-1])
        return [min(each, target) for target in rounds]

    def core(self) -> Simulation:
        """Return the simulation of the core that these inputs describe."""
        inputs, rounds = self.inputs, self.rounds()
        longest = rounds[-1] if inputs.precision is None else rounds[0]
        spec = {
            "system": _encoded(self.system),
            "policy": self.policy.resolve(self.system) if isinstance(self.policy, Policy) else {},
            "engine": inputs.engine,
            "seed": inputs.seed,
            "replications": inputs.replications,
            "block_jobs": _first_block(longest),
            "trajectory": inputs.trajectory,
            "slowdown_bound": inputs.slowdown_bound,
            "crowd": inputs.max_in_system,
            "debug": self.debug,
        }
        try:
            return Simulation(msgspec.json.encode(spec).decode(), self.code)
        except ValueError as error:
            raise QuickswapError(f"{error}.") from None

    def _advance(self, core: Simulation, target: int) -> list[str]:
        """Run to this many completions; raise if the policy or the core fails."""
        progress, intended = self.progress, self.inputs.jobs
        report = None if progress is None else lambda completed: progress(completed, intended)
        begun = time.perf_counter()
        try:
            if self.code is None or isinstance(self.code, NativePolicy):
                reasons = core.advance(target, self.threads, report)
            else:
                with untouched_generators(label(self.policy)):
                    # replications take turns anyway, and in one thread the first error is the same
                    reasons = core.advance(target, 1, report)
        finally:
            self.seconds += time.perf_counter() - begun
        if "broken" in reasons:
            raise RuntimeError(f"a check of the debug mode failed: {core.fault()}")
        if "fault" in reasons:
            unknown = "the policy returned an invalid answer", None
            what, cause = core.fault() or unknown
            if cause is not None and not isinstance(cause, Exception):
                raise cause  # Ctrl-C is not an error of the policy
            raise PolicyError(what + ".") from cause
        return reasons

    def evidence(self, core: Simulation) -> Evidence:
        """Return the evidence of the run so far."""
        controlled = self.known.balance is not None and not self.inputs.plain_estimates
        parts = PARTS if controlled else 1
        batches = Batches.pool(core, self.inputs.warmup, len(self.system.classes), parts)
        return Evidence(batches, self.known)

    def _precise(self, evidence: Evidence) -> bool:
        """Whether every mean that `precision_of` names has the requested precision."""
        totals = evidence.totals
        table = totals.responses()
        aim = self.inputs.precision_of
        means = [batch_values("mean_response_time", table, self.system)]
        if aim != "mean":
            means.append(batch_values("weighted_mean_response_time", table, self.system))
        if aim == "classes":
            means += [
                batch_values("mean_response_time", table, self.system, cls)
                for cls in range(len(self.system.needs))
            ]
        values = np.concatenate(means, axis=1)
        found = estimated(
            values,
            [totals.controls()],
            totals.split,
            self.inputs.confidence,
            reciprocal=True,
        )
        return all(each.relative <= (self.inputs.precision or 0) for each in found)

    def _result(self, core: Simulation, stop: Stop, verdict: Verdict, evidence: Evidence) -> Result:
        measured = measure(
            self.system,
            evidence,
            verdict.status,
            confidence=self.inputs.confidence,
            percentiles=self.inputs.more_percentiles,
        )
        step, points = core.trajectory()
        completed, events = core.totals()
        result = Result(
            inputs=self.inputs,
            policy_label=label(self.policy),
            trajectory=Trajectory(step, tuple(map(tuple, points.tolist())))
            if len(points)
            else None,
            stop=stop,
            verdict=verdict,
            completed=completed,
            events=events,
            seconds=self.seconds,
            **measured,
        )
        object.__setattr__(result, "_totals", evidence.totals)  # not part of its value
        return result


def refuse_unstable(systems: Sequence[System], capacity: float | None = None) -> None:
    """Reject systems that differ in their rates only, if no policy is stable at one of them.

    Raises:
        UnstableError: an arrival rate is at or above the capacity.
    """
    limit = systems[0].capacity if capacity is None else capacity
    for each in systems:
        if each.arrival_rate >= limit:
            rate = counted(each.arrival_rate, "job", ".6g")
            raise UnstableError(
                f"at load {load_words(each.load)} the arrival rate is {rate} per second, and no "
                f"policy is stable at {limit:.6g} or above",
                argument="arrival rate",
                given=each.arrival_rate,
                allowed=f"below {limit:.6g} jobs per second",
                advice="lower the rate, or give {allow_unstable:True}",
            )


@lru_cache(maxsize=64)
def _encoded(system: System) -> msgspec.Raw:
    """Return a system as JSON; many runs simulate the same one."""
    return msgspec.Raw(msgspec.json.encode(system.to_dict()))


def _first_block(jobs: int) -> int:
    """Return the number of completions in the first blocks of a replication.

    The core merges blocks when there are too many. Small first blocks leave enough of them if the
    run is interrupted early, and do not reduce their number at its end.
    """
    block = -(-jobs // BLOCKS)
    while block >= 2 * SMALL_BLOCK:
        block = -(-block // 2)
    return block


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
