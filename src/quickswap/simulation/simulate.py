"""Simulate a system under a policy."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from quickswap._words import counted
from quickswap.engine._core import Simulation
from quickswap.engine.custom import CustomPolicy, as_policy, label
from quickswap.engine.generators import untouched_generators
from quickswap.engine.settings import (
    CUSTOM,
    Inputs,
    PointSettings,
    Settings,
    SimulationSettings,
    check_progress,
    check_settings,
    flag,
    whole,
)
from quickswap.errors import Interrupted, PolicyError, QuickswapError, UnstableError
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy, parse
from quickswap.simulation.result import Result, Stop, Trajectory
from quickswap.statistics.estimates import Batches, Run, jackknife
from quickswap.statistics.measure import measure
from quickswap.statistics.pairing import Totals
from quickswap.statistics.quantities import batch_values
from quickswap.statistics.verdict import Known, Status, Verdict, judge, known_stability, rarest_tail

__all__ = ["rerun", "simulate", "simulate_inputs"]

BLOCKS = 511
"""Blocks that a run of known length is cut into: as many as the core keeps without merging."""
SMALL_BLOCK = 64
"""Completions in a block that are enough to begin with."""
ROUNDS = (1 / 8, 1 / 4, 1 / 2, 1.0)
"""Shares of a run after which it is looked at, so that an unstable one ends early: after two
consecutive checks, as a long swing of a stable system may look unstable once."""
FIRST_ROUND = 100_000
"""Jobs of the first round when a precision is asked for; each round doubles them."""


def simulate(
    system: System | str | Path,
    policy: Policy | CustomPolicy | str,
    *,
    progress: Callable[[int, int], object] | None = None,
    **settings: Unpack[SimulationSettings],
) -> Result:
    """Simulate a system under a policy, starting empty, and return estimates with 95 % intervals.

    Args:
        system: servers and classes, or the name of a preset or model file.
        policy: a policy, its spelling on the command line, or a custom policy (`CustomPolicy`).
        progress: called several times a second with the completions so far and those intended.
        settings: those of `Settings` (jobs, precision, seed, engine, ...); `threads`, the most to
            use (default: the cores of the machine); and `debug`, which checks every event: no
            server is used twice, no job is lost, each class is FIFO, and Little's law holds.

    Raises:
        PolicyError: the policy does not suit the system, or a custom policy made a mistake.
        UnstableError: the arrival rate is at or above the capacity, and `allow_unstable` is off.
        QuickswapError: an unknown setting, or one out of range.
        Interrupted: Ctrl-C; it carries what had been measured.
    """
    check_settings(settings, SimulationSettings, "simulate")
    system = as_system(system)
    policy = as_policy(policy, system)
    check_progress(progress)
    threads = settings.pop("threads", None)
    threads = whole(threads if threads is not None else cores(), "threads", 1, 10_000)
    debug = flag(settings.pop("debug", False), "debug")
    determining: PointSettings = settings
    inputs = Inputs.of(system, policy, Settings(**determining))
    return _Session(system, policy, inputs, threads, debug, progress).run()


def rerun(
    result: Result, policy: Policy | CustomPolicy | None = None, threads: int | None = None
) -> Result:
    """Simulate again with the inputs of a result; the new result equals that one.

    Args:
        result: of `simulate`, also one read from a file.
        policy: the policy, if it is a custom one; others are known by their spelling.
        threads: as in `simulate`.

    Raises:
        QuickswapError: the policy is a custom one and was not given.
    """
    return simulate_inputs(result.inputs, policy, threads)


def simulate_inputs(
    inputs: Inputs,
    policy: Policy | CustomPolicy | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Simulate what the inputs of a result describe; see `rerun`."""
    if policy is None:
        if inputs.policy.startswith(CUSTOM):
            name = inputs.policy.removeprefix(CUSTOM)
            raise QuickswapError(f"policy {name} is a custom policy: pass it to rerun(policy=...).")
        policy = parse(inputs.policy)
    settings = {each.name: getattr(inputs, each.name) for each in fields(Settings)}
    system = System.from_dict(inputs.system)
    return simulate(system, policy, threads=threads, progress=progress, **settings)


@dataclass
class _Session:
    """One simulation under way."""

    system: System
    policy: Policy | CustomPolicy
    inputs: Inputs
    threads: int
    debug: bool
    progress: Callable[[int, int], object] | None
    seconds: float = 0.0
    known: Known = field(init=False)

    def __post_init__(self) -> None:
        self.known = known_stability(self.system, self.policy)

    def run(self) -> Result:
        """Advance in rounds until there is a reason to stop."""
        known = self.known
        if known.hopeless and not self.inputs.allow_unstable:
            rate = counted(self.system.arrival_rate, "job", ".6g")
            raise UnstableError(
                f"the arrival rate is {rate} per second, and no policy is stable at "
                f"{known.capacity:.6g} or above: lower the rate, or allow unstable runs."
            )
        core = self._core()
        try:
            stop, verdict = self._go(core)
            if self.debug:
                self._check_little(core)
            result = self._result(core, stop, verdict)
        except KeyboardInterrupt:
            raise Interrupted(self._result(core, Stop.INTERRUPTED, None)) from None
        assert result is not None  # some job has completed
        self._report(self.inputs.jobs)
        return result

    def _go(self, core: Simulation) -> tuple[Stop, Verdict]:
        """Advance in rounds; return why no further one is needed, and the verdict then."""
        rounds = self._rounds()
        suspected = False
        for number, target in enumerate(rounds):
            reasons = self._advance(core, target)
            self._check(core, reasons)
            last = number == len(rounds) - 1
            batches = self._batches(self._counters(core, full=False))
            if not len(batches.sums):
                raise QuickswapError(
                    f"no job has completed under {label(self.policy)}: the policy never starts a "
                    "job, or more jobs must be allowed."
                )
            verdict = judge(batches, self.known, crowded="crowded" in reasons)
            unstable = verdict.status is Status.UNSTABLE
            if "crowded" in reasons:
                return Stop.UNSTABLE if unstable else Stop.CROWDED, verdict
            unstable = unstable and not self.inputs.allow_unstable
            if unstable and (suspected or verdict.proven) and not last:
                return Stop.UNSTABLE, verdict
            suspected = unstable
            if self.inputs.precision is None:
                continue
            repeated = number > 0 or last  # one look is too little to end a run
            if repeated and verdict.status is not Status.TOO_SHORT and self._precise(batches):
                return Stop.PRECISE, verdict
        return Stop.COMPLETED if self.inputs.precision is None else Stop.BUDGET, verdict

    def _rounds(self) -> list[int]:
        """Completions of each replication at the end of each round."""
        each = -(-self.inputs.jobs // self.inputs.replications)
        if self.inputs.precision is None:
            return sorted({max(1, round(share * each)) for share in ROUNDS})
        rounds = [max(1, FIRST_ROUND // self.inputs.replications)]
        while rounds[-1] < each:
            rounds.append(2 * rounds[-1])
        return [min(each, target) for target in rounds]

    def _core(self) -> Simulation:
        """Return the core, its orders given."""
        inputs, rounds = self.inputs, self._rounds()
        longest = rounds[-1] if inputs.precision is None else rounds[0]
        custom = None if isinstance(self.policy, Policy) else self.policy
        spec = {
            "system": inputs.system,
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
            return Simulation(json.dumps(spec), custom)
        except ValueError as error:
            raise QuickswapError(f"{error}.") from None

    def _advance(self, core: Simulation, target: int) -> list[str]:
        begun = time.perf_counter()
        try:
            if isinstance(self.policy, Policy):
                return core.advance(target, self.threads, self._report)
            with untouched_generators(label(self.policy)):
                # they run one at a time anyway; in one thread the first mistake is the same
                return core.advance(target, 1, self._report)
        finally:
            self.seconds += time.perf_counter() - begun

    def _report(self, completed: int) -> None:
        if self.progress is not None:
            self.progress(completed, self.inputs.jobs)

    def _check(self, core: Simulation, reasons: list[str]) -> None:
        """Raise if the policy made a mistake, or the core."""
        if "broken" in reasons:
            raise RuntimeError(f"a check of the debug mode failed: {core.fault()}")
        if "fault" not in reasons:
            return
        what, cause = core.fault() or ("the policy gave an answer that cannot be carried out", None)
        if cause is not None and not isinstance(cause, Exception):
            raise cause  # Ctrl-C is not a mistake of the policy
        raise PolicyError(what + ".") from cause

    def _check_little(self, core: Simulation) -> None:
        gap = max(core.little_gaps())
        if not gap < 1e-6:
            raise RuntimeError(f"Little's law does not hold on the path: relative gap {gap}")

    def _counters(self, core: Simulation, full: bool) -> list[dict[str, Any]]:
        return [core.counters(i, full) for i in range(self.inputs.replications)]

    def _batches(self, counters: list[dict[str, Any]]) -> Batches:
        runs = [
            Run(c["classes"], c["rows"], c.get("histograms", []), c["segment_blocks"])
            for c in counters
        ]
        return Batches.pool(runs, self.inputs.warmup)

    def _precise(self, batches: Batches) -> bool:
        """Whether all that the precision is asked of has it."""
        table = batches.whole_and_less().of_classes("completions", "response_time")
        aim = self.inputs.precision_of
        means = [batch_values("mean_response_time", table, self.system)]
        if aim != "mean":
            means.append(batch_values("weighted_mean_response_time", table, self.system))
        if aim == "classes":
            means += [
                batch_values("mean_response_time", table, self.system, cls)
                for cls in range(len(self.system.needs))
            ]
        found = jackknife(np.concatenate(means, axis=1), batches.sizes, reciprocal=True)
        return all(each.relative <= (self.inputs.precision or 0) for each in found)

    def _result(self, core: Simulation, stop: Stop, verdict: Verdict | None) -> Result | None:
        """Return the result, or None if nothing has completed."""
        counters = self._counters(core, full=True)
        batches = self._batches(counters)
        if not len(batches.sums):
            return None
        verdict = verdict or judge(batches, self.known, crowded=False)
        measured = measure(
            self.system,
            batches,
            verdict.status is not Status.UNSTABLE,
            rarest_tail(batches, self.known),
        )
        if verdict.status is Status.TOO_SHORT:
            measured = measured.without_intervals()
        policy = self.policy
        points = counters[0]["trajectory"]
        step = float(counters[0]["trajectory_step"])
        result = Result(
            inputs=self.inputs,
            policy_label=label(policy),
            trajectory=Trajectory(step, tuple(map(tuple, points.tolist())))
            if len(points)
            else None,
            stop=stop,
            verdict=verdict,
            completed=sum(c["completed"] for c in counters),
            events=sum(c["events"] for c in counters),
            seconds=self.seconds,
            **{name: getattr(measured, name) for name in measured.__dataclass_fields__},
        )
        object.__setattr__(result, "_batches", batches)  # not part of its value
        object.__setattr__(result, "_totals", Totals.of(batches, len(self.system.needs)))
        result.__dict__["system"] = self.system
        return result


def _first_block(jobs: int) -> int:
    """Return how many completions the first blocks of a replication have.

    The core merges blocks as they become too many. Starting small leaves enough of them if the run
    is interrupted early; at its end there are still as many as fit.
    """
    block = -(-jobs // BLOCKS)
    while block >= 2 * SMALL_BLOCK:
        block = -(-block // 2)
    return block


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
