"""The best nonpreemptive policy of a small system, by a Markov decision process.

With Poisson arrivals and exponential sizes the numbers of jobs waiting and in service contain all
that a policy can know if it does not know sizes. The best decisions in each of these states follow
by policy iteration (Howard, 1960) on a truncated system, which turns arrivals away at its border.

No policy of the full system costs less than the best one of the truncated system. For take any
policy, and let the truncated system serve the jobs that it admits when the full system serves them,
keeping servers idle for the jobs that it turned away. It then contains at all times some of the
jobs of the full system, and costs at most as much. So the bound of the truncated system
(`Process.bound`) is one for the full system. The mean of the policy itself is that of its chain,
with an error that is estimated as in `theory.chain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quickswap._check import positive, whole
from quickswap.errors import QuickswapError, invalid, unknown
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.theory.chain.graph import recurrent
from quickswap.theory.chain.truncation import first_limits, solve
from quickswap.theory.conditions import check_load, check_markovian, exclusive
from quickswap.theory.decisions.process import Process, services
from quickswap.theory.decisions.table import TablePolicy
from quickswap.theory.means import Means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quickswap.theory.decisions.process import Choice, Values

    Vector = NDArray[np.float64]

__all__ = ["Optimum", "optimum"]

KEPT = 0.6
"""Part of each limit up to which decisions are used: close to the border they differ."""
LEAST = 1e-9
"""Smallest tolerance; below it rounding dominates."""
MOST_STEPS = 50
"""Steps of policy iteration; about ten suffice."""
WIDEST = 1e100
"""Largest ratio of two costs; beyond, the equations are singular in double precision."""
SWEEPS = 20
"""Sweeps of value iteration in a step once the cost hardly changes."""


@dataclass(frozen=True, kw_only=True)
class Optimum(Means):
    """The best policy, and its mean response times.

    Attributes:
        policy: the policy, for `simulate`, `compare`, `Scheduler` and `chain.exact`.
        value: its cost: seconds for `cost="mean"` and "weighted", otherwise the cost per second.
        error: estimate of the absolute error of `value`, as in `theory.chain`.
        bound: a lower bound on the cost under all nonpreemptive policies that do not use sizes,
            exact up to rounding.
        states: number of states.
        truncation: largest number of waiting jobs of each class in the decisions of the policy;
            larger numbers count as this one.
    """

    policy: TablePolicy
    value: float
    error: float
    bound: float
    states: int
    truncation: tuple[int, ...]

    @property
    def thresholds(self) -> NDArray[np.int64]:
        """The decisions on a system whose jobs of the larger need run alone, such as one-or-all.

        With a light and b heavy jobs waiting, a free server is given to a light job only if more
        than `thresholds[a, b]` of them are in service. Otherwise the servers drain, and a heavy job
        starts once all are free. -1 stands for always.

        Raises:
            ModelError: the system is of another kind.
        """
        light = exclusive(self.system, "thresholds of the optimum").light
        served = services(self.system)
        rows = np.flatnonzero(served[:, 1 - light] == 0)[:-1]  # by number of light jobs in service
        table = self.policy.table.reshape(-1, *(self.policy.limits + 1))[rows]
        drains = (table if light == 0 else table.swapaxes(1, 2)) != light
        above = np.argmax(drains[::-1], axis=0)
        return np.where(drains.any(axis=0), len(rows) - 1 - above, -1)


def optimum(
    system: System | str | Path,
    cost: str | Mapping[str, float] = "mean",
    *,
    tolerance: float = 1e-4,
    max_states: int = 1_000_000,
) -> Optimum:
    """Return the nonpreemptive policy of smallest cost among all that do not use sizes.

    It may leave servers idle while a job fits. Its decisions depend on the numbers of jobs of each
    class waiting and in service.

    Args:
        system: Poisson arrivals and exponential sizes; few classes and servers.
        cost: "mean" or "weighted" for the mean response time of this name, or the cost per second
            of a job of each class, waiting or in service, by the name of the class.
        tolerance: largest relative difference between the value with its error, and the bound; at
            least 1e-9.
        max_states: give up beyond that many states.

    Raises:
        ModelError: other arrivals or sizes.
        UnstableError: no policy is stable.
        QuickswapError: a cost is not above 0, or the difference is too large at `max_states`.
    """
    system = as_system(system)
    check_markovian(system, "optimum")
    tolerance = positive(tolerance, "tolerance", QuickswapError)
    if not LEAST <= tolerance < 1:
        raise invalid("tolerance", tolerance, f"from {LEAST:g} to below 1", QuickswapError)
    max_states = whole(max_states, "max_states", 1, 2**31 - 1, QuickswapError)
    rate = system.arrival_rate
    check_load(rate / system.capacity, rate, "the best policy")
    name, costs = _costs(system, cost)
    needs = np.array(system.needs)
    rates = np.array([each.arrival_rate for each in system.classes])
    limits, table = np.ceil(first_limits(system)).astype(np.int64), None
    while True:
        _check_size(system, limits, max_states)
        process = Process(system, costs, limits)
        first = process.simple(needs) if table is None else process.extended(table)
        values = process.evaluate(first)
        least = np.ceil(1.1 * values.cost / costs).astype(np.int64)
        if np.any(limits < least):  # a full queue, which turns jobs away, would be cheaper
            limits = np.maximum(limits, least)
            continue
        best, bound = _best(process, first, values, tolerance / 10)
        table = process.part(best, KEPT)
        choice = process.extended(table)
        level = solve(system, recurrent(process.chain(choice)[0]), limits.astype(np.float64))
        value = float(costs * rates @ level.response_times)
        error = float(costs * rates @ level.errors)
        if value + error - bound <= tolerance * value:
            break
        limits = np.ceil(level.next_limits(tolerance, 1.0)).astype(np.int64)
    truncation = tuple(size - 1 for size in table.shape[1:])
    return Optimum.of(
        system,
        level.response_times,
        policy=TablePolicy(
            f"optimum ({name})", system, process.services, np.array(truncation), table
        ),
        value=value,
        error=error,
        bound=bound,
        states=process.states,
        truncation=truncation,
    )


def _check_size(system: System, limits: NDArray[np.int64], max_states: int) -> None:
    """Check that the truncated system does not have too many states."""
    waiting = float(np.prod(limits + 1.0))
    served = np.prod([system.servers // need + 1.0 for need in system.needs])  # or fewer
    if served > max_states or len(services(system)) * waiting > max_states:
        raise QuickswapError(
            f"max_states is {max_states}, and the best policy requires more states: raise it, or "
            "choose a larger tolerance, a lower load, or fewer classes or servers.",
            argument="max_states",
            given=max_states,
        )


def _best(
    process: Process, choice: Choice, values: Values, tolerance: float
) -> tuple[Choice, float]:
    """Return the best decisions of the truncated system, and the bound that proves it.

    Policy iteration from the decisions given, whose values are known; it ends once the bound is
    close enough.
    """
    bound, before = 0.0, np.inf
    for _ in range(MOST_STEPS):
        cost = values.cost
        bound = max(bound, process.bound(values.states))
        if cost - bound <= tolerance * cost:
            break
        # states that hardly matter depend on each other along long chains: cheap sweeps settle them
        for _ in range(1 if cost < 0.999 * before else SWEEPS):
            values, choice = process.improve(values, choice)
        before, values = cost, process.evaluate(choice)
    return choice, bound


def _costs(system: System, cost: object) -> tuple[str, Vector]:
    """Return the name of the cost, and the cost per second of a job of each class."""
    rates = np.array([each.arrival_rate for each in system.classes])
    if isinstance(cost, Mapping):
        for key in cost:
            if key not in system.names:
                unknown("class", key, list(system.names), QuickswapError, argument="cost")
        given = [
            positive(cost.get(each), f"cost of {each}", QuickswapError) for each in system.names
        ]
        if max(given) > WIDEST * min(given):
            allowed = f"costs of which none exceeds another by a factor of {WIDEST:g}"
            raise invalid("cost", dict(cost), allowed, QuickswapError)
        return "cost", np.array(given)
    named = {"mean": system.job_shares, "weighted": system.load_shares}
    if not isinstance(cost, str) or cost not in named:
        unknown("cost", cost, [*named, "a cost for each class"], QuickswapError, argument="cost")
    return cost, np.array(named[cost]) / rates
