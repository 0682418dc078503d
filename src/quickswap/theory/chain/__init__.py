"""The exact mean response times of any count-based policy on a small system.

The system with Poisson arrivals and exponential sizes is a Markov chain; its states and jumps are
found by asking the policy itself, the same code that is simulated, what starts after each arrival
and completion. It has infinitely many states and is cut off where that does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quickswap._check import positive, whole
from quickswap.engine.custom import CustomPolicy, check_policy, custom_name
from quickswap.errors import PolicyError, QuickswapError, UnstableError, unknown
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy, parse
from quickswap.theory.chain.graph import Graph, explore
from quickswap.theory.chain.truncation import Level, first_limits, region, solve
from quickswap.theory.means import Means
from quickswap.theory.models import check_load, check_markovian
from quickswap.theory.stability import stability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["Chain", "exact"]

LEAST = 1e-12
"""Smallest tolerance; below, rounding decides."""


@dataclass(frozen=True, kw_only=True)
class Chain(Means):
    """Mean response times from the stationary distribution of the chain.

    Attributes:
        policy: who decided.
        error: estimate of the absolute error of `mean_response_time`, seconds.
        errors: the same of the mean response time of each class, seconds.
        states: number of states solved for.
        truncation: jobs of each class that may be present while nobody else is; jobs of several
            classes as long as their shares of these limits add up to 1. What arrives beyond is
            turned away.

    The errors are not proven bounds. They come from an exact identity for what the truncation
    changes, in which one factor is estimated with a margin (see `truncation.solve`); in the tests
    they are above the true error, mostly 1.4 to 10 times.
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
            QuickswapError: there is no such class.
        """
        names = self.system.names
        if cls not in names and cls not in range(len(names)):
            unknown("class", cls, [*names, *map(str, range(len(names)))], QuickswapError)
        place = names.index(cls) if isinstance(cls, str) else cls
        return _marginal(self._level, place, self.system.job_shares[place])

    @property
    def busy_servers(self) -> float:
        """Mean number of servers in use; by Little's law k times the load."""
        used = self._level.graph.running @ np.array(self.system.needs, dtype=np.float64)
        return float(self._level.distribution @ used)


def exact(
    system: System | str | Path,
    policy: Policy | CustomPolicy | str,
    *,
    tolerance: float = 1e-9,
    max_states: int = 1_000_000,
) -> Chain:
    """Return the mean response times of `policy` on `system`.

    Covered is every nonpreemptive policy that decides by numbers of jobs, or by the order of
    arrival of all jobs. Where the order matters the states are many and the systems must be very
    small, with these exceptions: FCFS and Smash of a finite window, on any system; First-Fit on
    systems of two classes, of which no two jobs of different class fit at once; policies that look
    at the order only among classes that share a need, if few do. Custom policies are covered
    if they look at numbers only (`remembers_order = False`) or else on very small systems; a state
    of their own must be given by `save` and `restore`. A million states take some 4 seconds to find
    and a minute to solve.

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
    policy = parse(policy) if isinstance(policy, str) else policy
    check_policy(policy, system)
    if isinstance(policy, Policy) and policy.estimates:
        raise PolicyError(
            f"{policy.label} looks at the estimated sizes of jobs, so that the numbers of jobs are "
            "no Markov chain under it: simulate."
        )
    check_markovian(system, "chain.exact")
    tolerance = positive(tolerance, "tolerance")
    if not LEAST <= tolerance < 1:
        raise QuickswapError(f"tolerance must be from {LEAST:g} to below 1, not {tolerance:g}.")
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
    """Refuse what is known to be unstable."""
    check_load(system.load, system.arrival_rate, "the chain")
    known = stability(system, policy) if isinstance(policy, Policy) else None
    limit = known.necessary_limit if known is not None else system.capacity
    if system.arrival_rate >= limit:
        name = policy.label if isinstance(policy, Policy) else "every policy"
        raise UnstableError(
            f"{name} has no mean response time at arrival rate {system.arrival_rate:.6g}: it is "
            f"stable only below {limit:.6g}."
        )


def _deep_enough(
    system: System, policy: Policy | CustomPolicy, tolerance: float, max_states: int
) -> Level:
    """Move the border outwards until the error is small enough."""
    limits, levels = first_limits(system), list[Level]()
    ceiling = np.inf
    while True:
        graph = explore(system, policy, region(limits, system), max_states)
        if graph is None:
            limits, ceiling = _largest_that_fits(levels, limits, max_states), float(limits.max())
            least = 1.03 * levels[-1].limits if levels else np.full(len(limits), 3.0)
            if np.all(limits <= least):
                raise QuickswapError(_too_large(levels, tolerance, max_states, policy))
            continue
        if graph.windowed and len(set(limits)) > 1:
            limits = np.full(len(limits), limits.max())  # the classes have one queue
            continue
        levels.append(solve(system, graph, limits))
        if levels[-1].error <= tolerance:
            return levels[-1]
        if levels[-1].limits.max() > 0.9 * ceiling:
            raise QuickswapError(_too_large(levels, tolerance, max_states, policy))
        limits = levels[-1].next_limits(tolerance, _pace(levels))


def _pace(levels: list[Level]) -> float:
    """Return how fast the error fell with the last move of the border, 1 being as expected."""
    if len(levels) < 2:
        return 1.0
    before, last = levels[-2:]
    decay = last._decay()
    moved = float(np.min(decay * last.limits) - np.min(decay * before.limits))
    return float(np.clip(np.log(before.error / last.error) / max(moved, 1e-9), 0.5, 1.0))


def _largest_that_fits(levels: list[Level], limits: Vector, max_states: int) -> Vector:
    """Return limits between those solved, if any, and those given that make fewer states."""
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
) -> str:
    advice = ""
    if not isinstance(policy, Policy) and getattr(policy, "remembers_order", True):
        advice = (
            f" The order of arrival is part of the states, as policy {custom_name(policy)} has no "
            "remembers_order = False: set that if it decides by the numbers of jobs alone."
        )
    if not levels:
        return (
            f"the chain has more than {max_states} states even where it is cut off early: raise "
            f"max_states, or simulate.{advice}"
        )
    last = levels[-1]
    return (
        f"the chain reaches a relative error of {last.error:.1e} with {last.graph.states} states, "
        f"not {tolerance:.1e} with {max_states}: raise max_states or tolerance, lower the load, or "
        f"simulate.{advice}"
    )


def _marginal(level: Level, place: int, share: float) -> Vector:
    """Return the distribution of the number of a class; each job behind is of it with `share`."""
    from scipy.stats import binom

    graph: Graph = level.graph
    known = (graph.waiting[:, place] + graph.running[:, place]).astype(np.int64)
    behind = graph.behind.astype(np.int64)
    most = int(behind.max())
    table = np.zeros((int(known.max()) + 1, most + 1))
    np.add.at(table, (known, behind), level.distribution)
    result = np.zeros(len(table) + most)
    for hidden in range(most + 1):
        chances = binom.pmf(np.arange(hidden + 1), hidden, share)
        for number, mass in enumerate(table[:, hidden]):
            result[number : number + hidden + 1] += mass * chances
    return result
