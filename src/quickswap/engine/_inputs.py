"""The inputs that determine a result, from the arguments of a simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from quickswap.engine._core import VERSION
from quickswap.engine._settings import between, flag, jobs_intended, warmup_rule, whole
from quickswap.engine.custom import CustomPolicy, custom_name
from quickswap.errors import QuickswapError, unknown
from quickswap.model.arrivals import Poisson
from quickswap.model.distributions import Exponential
from quickswap.model.system import System
from quickswap.policies import Policy, Smash, spell

__all__ = ["CUSTOM", "Inputs", "inputs_of"]

ENGINES = ("auto", "jumps", "events")
AIMS = ("mean", "weighted", "classes")
"""The estimates that a precision can apply to: see `simulate`."""
CUSTOM = "custom:"
"""Prefix of the name of a custom policy in the inputs of a result."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that determines a result; two results with equal inputs are equal byte by byte."""

    system: dict[str, Any]
    policy: str
    engine: str
    jobs: int
    precision: float | None
    seed: int
    replications: int
    warmup: float | str
    slowdown_bound: float
    trajectory: int
    max_in_system: int
    allow_unstable: bool
    version: str
    precision_of: str = "mean"


def inputs_of(
    system: System,
    policy: Policy | CustomPolicy,
    *,
    jobs: int | None = None,
    precision: float | None = None,
    precision_of: str = "mean",
    seed: int = 1,
    engine: str = "auto",
    replications: int = 4,
    warmup: float | str = 0.1,
    slowdown_bound: float = 10.0,
    trajectory: int = 0,
    max_in_system: int = 1_000_000,
    allow_unstable: bool = False,
) -> Inputs:
    """Return the inputs of a simulation, each setting checked; see `simulate` for their meaning.

    Raises:
        QuickswapError: a setting out of range.
    """
    return Inputs(
        system=system.to_dict(),
        policy=CUSTOM + custom_name(policy) if not isinstance(policy, Policy) else spell(policy),
        engine=_engine(engine, system, policy),
        jobs=jobs_intended(jobs, precision),
        precision=None if precision is None else between(precision, "precision", 0, 1),
        precision_of=_checked_aim(precision_of),
        seed=whole(seed, "seed", 0, 2**64 - 1),
        replications=whole(replications, "replications", 1, 10_000),
        warmup=warmup_rule(warmup),
        slowdown_bound=between(slowdown_bound, "slowdown_bound", 0, math.inf),
        trajectory=whole(trajectory, "trajectory", 0, 1_000_000),
        max_in_system=whole(max_in_system, "max_in_system", 1, 2**31),
        allow_unstable=flag(allow_unstable, "allow_unstable"),
        version=VERSION,
    )


def _checked_aim(given: str) -> str:
    if not isinstance(given, str) or given not in AIMS:
        unknown("precision_of", given, AIMS, QuickswapError, argument="precision_of")
    return given


def _engine(engine: str, system: System, policy: Policy | CustomPolicy) -> str:
    """Return the loop to use.

    Raises:
        QuickswapError: the engine is unknown or does not apply.
    """
    if not isinstance(engine, str) or engine not in ENGINES:
        unknown("engine", engine, ENGINES, QuickswapError)
    obstacle = _no_jumps(system, policy)
    if engine == "jumps" and obstacle:
        raise QuickswapError(
            f'engine "jumps" does not apply: {obstacle}; use "events" or "auto".', argument="engine"
        )
    if engine != "auto":
        return engine
    return "events" if obstacle else "jumps"


def _no_jumps(system: System, policy: Policy | CustomPolicy) -> str | None:
    """Return the reason why the loop over jumps does not apply, or None if it does."""
    for each in system.classes:
        if not isinstance(each.size, Exponential):
            return f"the sizes of {each.name} are not exponential"
        if not isinstance(each.arrivals, Poisson):
            return f"the arrivals of {each.name} are not Poisson"
    if not isinstance(policy, Policy):
        return "a custom policy may look at single jobs"
    if isinstance(policy, Smash) or policy.estimates:
        return f"{policy.title} looks at single jobs"
    return f"{policy.label} is preemptive" if policy.preemptive else None
