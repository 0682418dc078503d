"""A policy step by step: jobs arrive, jobs complete, what starts?

The decisions are those of the policy that the simulations run. A live scheduler drives it with real
arrivals and completions; an exact chain visits states with `restore`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from quickswap._check import integer, items, real, whole
from quickswap._words import counted
from quickswap.engine._core import Stepper
from quickswap.engine.custom import CustomPolicy, as_policy
from quickswap.errors import PolicyError, QuickswapError, shown
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy

__all__ = ["Scheduler", "State"]

MOST_JOBS = 2**31
"""Jobs of a class in a state, as in a simulation."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a system under a policy: equal states have the same future, in distribution.

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
        system: servers and classes, or the name of a preset or model file.
        policy: a policy, its spelling, or a custom policy.
        seed: of the `view.random` of a custom policy, which `restore` begins anew.

    Raises:
        PolicyError: the policy does not suit the system, is preemptive, or draws random numbers.
    """

    def __init__(
        self, system: System | str | Path, policy: Policy | CustomPolicy | str, *, seed: int = 1
    ) -> None:
        system = as_system(system)
        policy = as_policy(policy, system)
        known = isinstance(policy, Policy)
        if isinstance(policy, Policy) and policy.preemptive:
            raise PolicyError(
                f"{policy.label} is preemptive, and a Scheduler is for nonpreemptive ones."
            )
        if isinstance(policy, Policy) and policy.random:
            raise PolicyError(
                f"{policy.label} draws random numbers, and a Scheduler is for policies whose "
                "decisions follow from what has happened."
            )
        spec = {
            "system": system.to_dict(),
            "policy": policy.resolve(system) if isinstance(policy, Policy) else {},
            "seed": whole(seed, "seed", 0, 2**64 - 1, QuickswapError),
        }
        try:
            self._core = Stepper(json.dumps(spec), None if known else policy)
        except ValueError as error:
            raise PolicyError(f"{error}.") from None
        self.system = system
        self._estimating = policy.label if isinstance(policy, Policy) and policy.estimates else None

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
            PolicyError: a custom policy made a mistake.
        """
        seconds = real(time)
        if seconds is None:
            raise QuickswapError(f"time must be a number of seconds, not {shown(time)}.")
        if not math.isfinite(seconds):
            raise QuickswapError(f"time {seconds} is not allowed; it must be finite, in seconds.")
        try:
            started = []
            while (wake := self._core.wake_at()) <= seconds:
                self._core.wait_until(wake)
                started += self._core.ask()
            self._core.wait_until(seconds)
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
            QuickswapError: an unknown class, or the policy needs an estimate that is missing.
            PolicyError: a custom policy made a mistake.
        """
        each = [self._class(cls) for cls in _listed(classes)]
        known = [_estimate(one) for one in _listed(estimates)]
        if items(estimates) is None:
            known *= len(each)
        if len(known) != len(each):
            raise QuickswapError(
                f"{counted(len(each), 'job')} {'arrives' if len(each) == 1 else 'arrive'} with "
                f"{counted(len(known), 'estimate')}: give one each."
            )
        if self._estimating is not None and not all(map(math.isfinite, known)):
            raise QuickswapError(
                f"{self._estimating} looks at estimated sizes: give one for each job that arrives, "
                "in seconds, as in arrive(0, 60.0)."
            )
        try:
            return self._core.arrive(each, known)
        except (ValueError, OverflowError) as error:
            _refuse(error)

    def complete(self, jobs: int | Iterable[int]) -> list[int]:
        """Let jobs in service complete in one instant; return the numbers of those that start.

        Raises:
            QuickswapError: one of them is not in service; then nothing is changed.
            PolicyError: a custom policy made a mistake.
        """
        each = [_job(job) for job in _listed(jobs)]
        try:
            return self._core.complete(each)
        except (ValueError, OverflowError) as error:
            _refuse(error)

    def complete_one(self, cls: int) -> list[int]:
        """Let the job of a class complete that started first; return what starts.

        Raises:
            QuickswapError: no job of the class is in service.
        """
        cls = self._class(cls)
        job = self._core.first_running(cls)
        if job is None:
            raise QuickswapError(f"no job of class {cls} is in service.")
        return self.complete(job)

    def _class(self, given: object) -> int:
        """Return the number of a class of the system."""
        cls, last = integer(given), len(self.system.needs) - 1
        if cls is None:
            raise QuickswapError(
                f"a class is given by its number, from 0 to {last}, not as {shown(given)}."
            )
        if not 0 <= cls <= last:
            raise QuickswapError(f"there is no class {shown(cls)}; classes are 0 to {last}.")
        return cls

    def waiting(self) -> list[tuple[int, int]]:
        """Return number and class of the jobs waiting, oldest first."""
        return self._core.jobs()[0]

    def running(self) -> list[tuple[int, int]]:
        """Return number and class of the jobs in service, in order of their start."""
        return self._core.jobs()[1]

    @property
    def state(self) -> State:
        """The state, to be compared, kept, or restored.

        Raises:
            PolicyError: the policy looks at estimated sizes, which are not part of a State.
        """
        self._check_restorable()
        try:
            waiting, running, order, policy = self._core.state()
        except ValueError as error:
            _refuse(error)
        seen = None if order is None else tuple(order)
        return State(tuple(waiting), tuple(running), seen, tuple(policy))

    def restore(self, state: State) -> None:
        """Put the system into a state; the jobs there get new numbers, time stays.

        Raises:
            QuickswapError: the state is impossible in this system under this policy.
            PolicyError: the policy looks at estimated sizes, which are not part of a State.
        """
        self._check_restorable()
        if not isinstance(state, State):
            raise QuickswapError(f"a Scheduler is put into a State, not into {shown(state)}.")
        waiting = _whole_numbers(state.waiting, "waiting", 0, MOST_JOBS)
        running = _whole_numbers(state.running, "running", 0, MOST_JOBS)
        for counts in (waiting, running):
            if len(counts) != len(self.system.needs):
                raise QuickswapError(
                    f"a state has one count for each of the "
                    f"{counted(len(self.system.needs), 'class')}, not {len(counts)}."
                )
        order = state.order
        if order is not None:
            order = tuple(map(self._class, _list_of(order, "order")))
        own = _whole_numbers(state.policy, "policy", -(2**63), 2**63 - 1)
        try:
            self._core.restore((waiting, running, order, own))
        except (ValueError, OverflowError) as error:
            _refuse(error)

    def _check_restorable(self) -> None:
        """Refuse states whose future depends on more than the numbers and the order of jobs."""
        if self._estimating is not None:
            raise PolicyError(
                f"{self._estimating} looks at estimated sizes, and a State holds none: its "
                "Scheduler can be moved, but its state neither kept nor restored."
            )


def _refuse(error: Exception) -> NoReturn:
    """Raise the core's sentence as an error of quickswap."""
    kind = PolicyError if str(error).startswith("policy ") else QuickswapError
    raise kind(f"{error}.") from error.__cause__


def _listed(given: object) -> list[object]:
    """Return a list of what was given, which may be one thing or several."""
    several = items(given)
    return [given] if several is None else several


def _list_of(given: object, what: str) -> list[object]:
    several = items(given)
    if several is None:
        raise QuickswapError(
            f"{what} of a state must be a tuple of whole numbers, not {shown(given)}."
        )
    return several


def _whole_numbers(given: object, what: str, low: int, high: int) -> tuple[int, ...]:
    return tuple(
        whole(each, f"each of {what} of a state", low, high, QuickswapError)
        for each in _list_of(given, what)
    )


def _estimate(given: object) -> float:
    estimate = real(given)
    if estimate is None or estimate < 0:
        raise QuickswapError(
            f"an estimated size must be a number of seconds of at least 0, or nan for none, "
            f"not {shown(given)}."
        )
    return estimate


def _job(given: object) -> int:
    job = integer(given)
    if job is None:
        raise QuickswapError(f"a job is given by its number, not as {shown(given)}.")
    if not 0 <= job < 2**64:
        raise QuickswapError(f"job {shown(job)} is not in service.")
    return job
