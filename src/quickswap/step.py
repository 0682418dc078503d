"""A policy step by step: jobs arrive, jobs complete, what starts?

The decisions are those of the policy that the simulations run. A live scheduler drives it with real
arrivals and completions; an exact chain visits states with `restore`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from quickswap._core import Stepper
from quickswap.errors import PolicyError, QuickswapError
from quickswap.own import OwnPolicy
from quickswap.policies import Policy, parse
from quickswap.simulation import check_policy
from quickswap.system import System

__all__ = ["Scheduler", "State"]


@dataclass(frozen=True, slots=True)
class State:
    """The state of a system under a policy: equal states have the same future, in law.

    Attributes:
        waiting: jobs waiting, per class.
        running: jobs in service, per class.
        order: classes of the waiting jobs, oldest first, where the policy remembers it; else None.
        policy: the policy's own state, whole numbers; a phase, a target.
    """

    waiting: tuple[int, ...]
    running: tuple[int, ...]
    order: tuple[int, ...] | None
    policy: tuple[int, ...]


class Scheduler:
    """A system under a nonpreemptive policy, moved by hand. Empty at first, at time 0.

    Jobs have numbers, in order of arrival; classes are numbered as in the system, from 0. Times are
    in seconds and matter only to policies that look at them.

    Args:
        system: servers and classes.
        policy: a policy, its spelling, or one of your own.

    Raises:
        PolicyError: the policy does not suit the system, or is preemptive.
    """

    def __init__(self, system: System, policy: Policy | OwnPolicy | str) -> None:
        policy = parse(policy) if isinstance(policy, str) else policy
        check_policy(policy, system)
        known = isinstance(policy, Policy)
        if isinstance(policy, Policy) and policy.preemptive:
            raise PolicyError(
                f"{policy.label} is preemptive, and a Scheduler is for nonpreemptive ones."
            )
        spec = {
            "system": system.to_dict(),
            "policy": policy.resolve(system) if isinstance(policy, Policy) else {},
        }
        try:
            self._core = Stepper(json.dumps(spec), None if known else policy)
        except ValueError as error:
            raise PolicyError(f"{error}.") from None
        self.system = system

    @property
    def time(self) -> float:
        """Time, seconds."""
        return self._core.time

    @property
    def free(self) -> int:
        """Free servers."""
        return self._core.free

    def wait_until(self, time: float) -> list[int]:
        """Let time pass; ask the policy if it wanted to be woken by then. Return what starts.

        Raises:
            QuickswapError: the time lies in the past.
            PolicyError: a policy of your own made a mistake.
        """
        try:
            started = []
            while (wake := self._core.wake_at()) <= time:
                self._core.wait_until(wake)
                started += self._core.ask()
            self._core.wait_until(time)
        except ValueError as error:
            _refuse(error)
        return started

    def arrive(
        self, classes: int | Sequence[int], estimates: float | Sequence[float] = math.nan
    ) -> tuple[list[int], list[int]]:
        """Let jobs arrive in one instant; return their numbers, and those of the jobs that start.

        Args:
            classes: the class of the job, or of each of them.
            estimates: estimated sizes, seconds, for policies that look at them.

        Raises:
            QuickswapError: there is no such class.
            PolicyError: a policy of your own made a mistake.
        """
        each = [classes] if isinstance(classes, int) else list(classes)
        for cls in each:
            self._check_class(cls)
        known = [estimates] * len(each) if isinstance(estimates, int | float) else list(estimates)
        if len(known) != len(each):
            raise QuickswapError(
                f"{len(each)} jobs arrive with {len(known)} estimates: give one each."
            )
        try:
            return self._core.arrive(each, [float(estimate) for estimate in known])
        except (ValueError, OverflowError) as error:
            _refuse(error)

    def complete(self, jobs: int | Iterable[int]) -> list[int]:
        """Let jobs in service complete in one instant; return the numbers of those that start.

        Raises:
            QuickswapError: one of them is not in service; then nothing is changed.
            PolicyError: a policy of your own made a mistake.
        """
        each = [jobs] if isinstance(jobs, int) else list(jobs)
        for job in each:
            if job < 0:
                raise QuickswapError(f"job {job} is not in service.")
        try:
            return self._core.complete(each)
        except (ValueError, OverflowError) as error:
            _refuse(error)

    def complete_one(self, cls: int) -> list[int]:
        """Let the job of a class complete that started first; return what starts.

        Raises:
            QuickswapError: nobody of the class is in service.
        """
        self._check_class(cls)
        job = self._core.first_running(cls)
        if job is None:
            raise QuickswapError(f"no job of class {cls} is in service.")
        return self.complete(job)

    def _check_class(self, cls: int) -> None:
        if not 0 <= cls < len(self.system.needs):
            last = len(self.system.needs) - 1
            raise QuickswapError(f"there is no class {cls}; classes are 0 to {last}.")

    def waiting(self) -> list[tuple[int, int]]:
        """Return number and class of the jobs waiting, oldest first."""
        return self._core.jobs()[0]

    def running(self) -> list[tuple[int, int]]:
        """Return number and class of the jobs in service, in order of their start."""
        return self._core.jobs()[1]

    @property
    def state(self) -> State:
        """The state, to be compared, kept, or restored."""
        try:
            waiting, running, order, policy = self._core.state()
        except ValueError as error:
            _refuse(error)
        seen = None if order is None else tuple(order)
        return State(tuple(waiting), tuple(running), seen, tuple(policy))

    def restore(self, state: State) -> None:
        """Put the system into a state; the jobs there get new numbers, time stays.

        Raises:
            QuickswapError: it is no state of this system under this policy.
        """
        for count in (*state.waiting, *state.running):
            if count < 0:
                raise QuickswapError(f"a state has a count of {count}; counts are not negative.")
        parts = (state.waiting, state.running, state.order, state.policy)
        try:
            self._core.restore(parts)
        except (ValueError, OverflowError) as error:
            _refuse(error)


def _refuse(error: Exception) -> NoReturn:
    """Raise the core's sentence as an error of quickswap."""
    kind = PolicyError if str(error).startswith("policy ") else QuickswapError
    raise kind(f"{error}.") from error.__cause__
