"""The exact mean response times of any count-based policy on a small system.

A system with Poisson arrivals and exponential sizes is a Markov chain. Its states and jumps are
explored by asking the policy, with the code that is also simulated, which jobs start after each
arrival and completion. The chain has infinitely many states, and is truncated so far out that the
error is negligible.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quickswap._check import positive, whole
from quickswap.engine.custom import CustomPolicy, as_policy
from quickswap.errors import PolicyError, QuickswapError, UnstableError, invalid, unknown
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.policies.custom import custom_name
from quickswap.theory.chain.graph import explore
from quickswap.theory.chain.truncation import Level, first_limits, region, solve
from quickswap.theory.conditions import check_load, check_markovian
from quickswap.theory.means import Means
from quickswap.theory.stability import stability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["Chain", "exact"]

LEAST = 1e-12
"""Smallest tolerance; below it rounding dominates."""


@dataclass(frozen=True, kw_only=True)
class Chain(Means):
    """Mean response times from the stationary distribution of the chain.

    Attributes:
        policy: the policy.
        error: estimate of the absolute error of `mean_response_time`, seconds.
        errors: the same of the mean response time of each class, seconds.
        states: number of states.
        truncation: jobs of each class that may be present if no other class is; jobs of several
            classes are admitted while their shares of these limits add up to at most 1. Other
            arrivals are turned away.

    The errors are not proven bounds. They come from an exact identity for the effect of the
    truncation, in which one factor is estimated with a margin (see `truncation.solve`). In the
    tests they exceed the true error, mostly by a factor of 1.4 to 10.
    """

    policy: Policy | CustomPolicy
    error: float
    errors: tuple[float, ...]
    states: int
    truncation: tuple[int, ...]
    _level: Level = field(repr=False, compare=False)

    def number_distribution(self, cls: int | str) -> Vector:
        """Return the probabilities of 0, 1, 2, ... jobs of a class in the system.

        Args:
            cls: position of the class in the system, or its name.

        Raises:
            QuickswapError: the class is unknown.
        """
        from scipy.stats import binom

        names = self.system.names
        if cls not in names and cls not in range(len(names)):
            allowed = [*names, *map(str, range(len(names)))]
            unknown("class", cls, allowed, QuickswapError, argument="cls")
        place = names.index(cls) if isinstance(cls, str) else cls
        graph = self._level.graph
        known = (graph.waiting[:, place] + graph.running[:, place]).astype(np.int64)
        behind = graph.behind.astype(np.int64)
        most = int(behind.max())
        table = np.zeros((int(known.max()) + 1, most + 1))
        np.add.at(table, (known, behind), self._level.distribution)
        result = np.zeros(len(table) + most)
        for hidden in range(most + 1):
            # each job behind the window of the policy is of this class with the same probability
            chances = binom.pmf(np.arange(hidden + 1), hidden, self.system.job_shares[place])
            for number, mass in enumerate(table[:, hidden]):
                result[number : number + hidden + 1] += mass * chances
        return result

    @property
    def busy_servers(self) -> float:
        """Mean number of servers in use; k times the load, by Little's law."""
        used = self._level.graph.running @ np.array(self.system.needs, dtype=np.float64)
        return float(self._level.distribution @ used)


def exact(
    system: System | str | Path,
    policy: Policy | CustomPolicy | str,
    *,
    tolerance: float = 1e-9,
    max_states: int = 1_000_000,
) -> Chain:
    """Return the mean response times of a policy on a system.

    Every nonpreemptive policy is covered whose decisions depend on the numbers of jobs, or on the
    order of arrival. If the order matters there are many states, and the system must be very small,
    except for: FCFS, and Smash with a finite window, on any system; First-Fit on systems of two
    classes whose jobs do not fit together; policies in which the order matters only among
    classes with the same need, if there are few of them. Custom policies are covered if they use
    numbers only (`remembers_order = False`), or else on very small systems; they must expose any
    state of their own by `save` and `restore`. A million states take about 4 seconds to explore and
    a minute to solve.

    Args:
        system: Poisson arrivals and exponential sizes; few classes and servers.
        policy: a policy, its spelling, or a custom policy.
        tolerance: largest relative error of the mean response time of each class, as estimated; at
            least 1e-12.
        max_states: give up beyond that many states.

    Raises:
        ModelError: other arrivals or sizes.
        PolicyError: the policy does not suit the system, or is not covered.
        UnstableError: the system has no mean response time under this policy.
        QuickswapError: the error is too large at `max_states`.
    """
    system = as_system(system)
    policy = as_policy(policy, system)
    if isinstance(policy, Policy) and policy.estimates:
        raise PolicyError(
            f"{policy.label} uses estimated sizes of jobs, so the numbers of jobs are not a Markov "
            "chain: simulate the system instead.",
            argument="policy",
            given=policy,
            allowed="a policy without estimates of sizes",
        )
    check_markovian(system, "chain.exact")
    tolerance = positive(tolerance, "tolerance")
    if not LEAST <= tolerance < 1:
        raise invalid("tolerance", tolerance, f"from {LEAST:g} to below 1", QuickswapError)
    max_states = whole(max_states, "max_states", 1, 2**31 - 1)
    _check_stable(system, policy)
    level = _deep_enough(system, policy, tolerance, max_states)
    shares = np.array(system.job_shares)
    return Chain.of(
        system,
        level.response_times,
        policy=policy,
        error=float(shares @ level.errors),
        errors=tuple(level.errors.tolist()),
        states=level.graph.states,
        truncation=tuple(int(limit + 1e-9) for limit in level.limits),
        _level=level,
    )


def _check_stable(system: System, policy: Policy | CustomPolicy) -> None:
    """Check that the policy is not known to be unstable."""
    check_load(system.load, system.arrival_rate, "the chain")
    known = stability(system, policy) if isinstance(policy, Policy) else None
    limit = known.necessary_limit if known is not None else system.capacity
    if system.arrival_rate >= limit:
        name = policy.label if isinstance(policy, Policy) else "every policy"
        raise UnstableError(
            f"{name} has no mean response time at arrival rate {system.arrival_rate:.6g}: it is "
            f"stable only below {limit:.6g}.",
            argument="arrival_rate",
            given=system.arrival_rate,
            allowed=f"below {limit:.6g}",
        )


def _deep_enough(
    system: System, policy: Policy | CustomPolicy, tolerance: float, max_states: int
) -> Level:
    """Move the border outwards until the error is at most the tolerance."""
    limits, levels = first_limits(system), list[Level]()
    ceiling = np.inf
    while True:
        graph = explore(system, policy, region(limits, system), max_states)
        if graph is None:
            limits, ceiling = _largest_that_fits(levels, limits, max_states), float(limits.max())
            least = 1.03 * levels[-1].limits if levels else np.full(len(limits), 3.0)
            if np.all(limits <= least):
                raise _too_large(levels, tolerance, max_states, policy)
            continue
        if graph.windowed and len(set(limits)) > 1:
            limits = np.full(len(limits), limits.max())  # the classes have one queue
            continue
        levels.append(solve(system, graph, limits))
        if levels[-1].error <= tolerance:
            return levels[-1]
        if levels[-1].limits.max() > 0.9 * ceiling:
            raise _too_large(levels, tolerance, max_states, policy)
        limits = levels[-1].next_limits(tolerance, _pace(levels))


def _pace(levels: list[Level]) -> float:
    """Return how fast the error fell with the last move of the border: 1 is as fast as expected."""
    if len(levels) < 2:
        return 1.0
    before, last = levels[-2:]
    decay = last._decay()
    moved = float(np.min(decay * last.limits) - np.min(decay * before.limits))
    return float(np.clip(np.log(before.error / last.error) / max(moved, 1e-9), 0.5, 1.0))


def _largest_that_fits(levels: list[Level], limits: Vector, max_states: int) -> Vector:
    """Return limits that give fewer states: between those solved, if any, and those given.

    The states grow like a power of the limits: one for each class, or one for all behind a window;
    more where the order of arrival counts, as the last two levels show.
    """
    if not levels:
        return 0.7 * limits
    last = levels[-1]
    power = max(1.0, len(limits) if not last.graph.windowed else 1.0)
    if len(levels) > 1 and levels[-2].graph.states < last.graph.states:
        growth = float(np.mean(np.log(last.limits / levels[-2].limits)))
        seen = np.log(last.graph.states / levels[-2].graph.states)
        power = max(power, float(seen) / growth if growth > 0 else power)
    room = (0.9 * max_states / last.graph.states) ** (1 / power)
    smaller: Vector = limits * min(0.95, room * float(np.min(last.limits / limits)))
    return smaller


def _too_large(
    levels: list[Level], tolerance: float, max_states: int, policy: Policy | CustomPolicy
) -> QuickswapError:
    """Return the error about a chain that is too large, or too imprecise, at `max_states`."""
    advice = ""
    if not isinstance(policy, Policy) and getattr(policy, "remembers_order", True):
        advice = (
            " The order of arrival is part of the states: if the decisions of policy "
            f"{custom_name(policy)} depend on the numbers of jobs alone, set "
            "remembers_order = False."
        )
    if not levels:
        return QuickswapError(
            f"the chain has more than {max_states} states even if it is truncated early: raise "
            f"max_states, or simulate the system.{advice}",
            argument="max_states",
            given=max_states,
        )
    last = levels[-1]
    return QuickswapError(
        f"the chain reaches a relative error of {last.error:.1e} with {last.graph.states} states, "
        f"not {tolerance:.1e} with {max_states}: raise max_states or tolerance, lower the load, or "
        f"simulate the system.{advice}",
        argument="tolerance",
        given=tolerance,
        allowed=f"{last.error:.1e} or more with {max_states} states",
    )
