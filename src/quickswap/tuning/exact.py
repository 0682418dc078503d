"""Exact values of candidates from theory."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

from quickswap.errors import ModelError, UnstableError
from quickswap.model.distributions import Exponential
from quickswap.model.system import System
from quickswap.policies import FCFS, Policy, ServerFilling
from quickswap.theory import classical, fcfs, server_filling
from quickswap.theory.conditions import is_exclusive, markovian, poisson
from quickswap.theory.means import Means
from quickswap.theory.threshold import Thresholds
from quickswap.tuning.candidates import key_of, threshold_of
from quickswap.tuning.metrics import exactly

__all__ = ["Exact"]

MOST_SLOTS = 256
"""Slots up to which MSFQ is solved, some seconds for all thresholds."""
MOST_SERVERS = 128
"""Servers up to which FCFS and ServerFilling are solved, in a second."""


class Exact:
    """Exact values of one metric on one system, computed on demand."""

    def __init__(self, system: System, metric: str) -> None:
        self._system, self._metric = system, metric
        self._solvers: dict[str, Thresholds | None] = {}

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Thresholds of MSFQ, in slots of the smaller class, that include the best one."""
        solver = self._solver("on_demand")
        if solver is None:
            return ()
        try:
            return solver.best(self._metric).thresholds
        except (ModelError, UnstableError):  # the default cannot be solved either
            return ()

    def value(self, policy: Policy) -> float | None:
        """Return the metric under a policy, seconds; None if there is no exact solution."""
        if self._metric == "p99":
            return None
        if self._queue is not None and key_of(policy, self._system) == FCFS.name:
            return self._queue
        try:
            means = self._solved(policy)
        except (ModelError, UnstableError):
            return None
        return None if means is None else float(exactly(means, self._metric))

    @cached_property
    def _queue(self) -> float | None:
        """Mean response time of a single class under any policy that leaves no slot idle."""
        if len(self._system.classes) != 1 or not poisson(self._system):
            return None
        (only,) = self._system.classes
        slots = self._system.servers // only.need
        if isinstance(only.size, Exponential):
            return classical.mmk(slots, only.arrival_rate, only.size.mean).mean_response_time
        if slots == 1:
            return classical.mg1(only.arrival_rate, only.size).mean_response_time
        return None

    def _solved(self, policy: Policy) -> Means | None:
        system = self._system
        if is_exclusive(system) and (found := threshold_of(policy, system)) is not None:
            threshold, drain = found
            solver = self._solver(drain)
            return None if solver is None else solver.at(threshold)
        if not system.one_or_all or system.servers > MOST_SERVERS or not markovian(system):
            return None
        if key_of(policy, system) == key_of(FCFS(), system):
            return fcfs.exact(system)
        if policy == ServerFilling():
            return server_filling.exact(system)
        return None

    def _solver(self, drain: str) -> Thresholds | None:
        """Return the solver of MSFQ; None if it does not apply."""
        system = self._system
        if drain not in self._solvers:
            self._solvers[drain] = None
            fits = is_exclusive(system) and system.servers // min(system.needs) <= MOST_SLOTS
            if self._metric != "p99" and fits and markovian(system):
                with suppress(ModelError, UnstableError):
                    self._solvers[drain] = Thresholds(system, drain)
        return self._solvers[drain]
