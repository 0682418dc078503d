"""A policy step by step: jobs arrive, jobs complete, what starts?

The decisions are those of the policy that the simulations run. A live scheduler drives it with real
arrivals and completions; an exact chain visits states with `restore`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import NoReturn

from quickswap._check import flag, items, number, real, whole
from quickswap._words import counted
from quickswap.engine._core import Stepper
from quickswap.engine.compiled import native
from quickswap.engine.custom import CustomPolicy, as_policy, label
from quickswap.errors import PolicyError, QuickswapError, invalid
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy, draining

__all__ = ["Scheduler", "State"]

MOST_JOBS = 2**31
"""Jobs of a class in a state, as in a simulation."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a system under a policy: equal states have the same future, in distribution.

    Attributes:
        waiting: jobs waiting, per class.
        running: jobs in service, per class.
        order: classes of the waiting jobs, oldest first; None if the policy does not use the order.
        policy: the policy's own state, whole numbers; a phase, a target.
    """

    waiting: tuple[int, ...]
    running: tuple[int, ...]
    order: tuple[int, ...] | None
    policy: tuple[int, ...]


class Scheduler:
    """A system under a nonpreemptive policy, moved by hand. Empty at first, at time 0.

    Jobs have numbers, in order of arrival; classes are numbered as in the system, from 0. Times are
    in seconds, and affect only policies that use them.

    Args:
        system: servers and classes, or the name of a preset or model file.
        policy: a policy, its spelling, or a custom policy.
        seed: seed of the `view.random` of a custom policy, which `restore` resets.
        estimates: whether backfilling during a drain uses the estimates of the jobs, as in replays,
            instead of the distributions of their classes.

    Raises:
        PolicyError: the policy does not suit the system, is preemptive, or draws random numbers.
    """

    def __init__(
        self,
        system: System | str | Path,
        policy: Policy | CustomPolicy | str,
        *,
        seed: int = 1,
        estimates: bool = False,
    ) -> None:
        system = as_system(system)
        policy = as_policy(policy, system)
        known = isinstance(policy, Policy)
        if isinstance(policy, Policy) and policy.preemptive:
            raise PolicyError(
                f"{policy.label} is preemptive; a Scheduler requires a nonpreemptive policy.",
                argument="policy",
                given=policy,
                allowed="a nonpreemptive policy",
            )
        if isinstance(policy, Policy) and policy.random:
            raise PolicyError(
                f"{policy.label} draws random numbers; a Scheduler requires a policy whose "
                "decisions follow from the events.",
                argument="policy",
                given=policy,
                allowed="a policy without random numbers",
            )
        resolved = policy.resolve(system) if isinstance(policy, Policy) else {}
        if by_estimates := flag(estimates, "estimates", QuickswapError):
            resolved = draining.by_estimates(resolved)
        spec = {
            "system": system.to_dict(),
            "policy": resolved,
            "seed": whole(seed, "seed", 0, 2**64 - 1, QuickswapError),
        }
        try:
            self._core = Stepper(json.dumps(spec), None if known else native(policy))
        except ValueError as error:
            _refuse(error, PolicyError)
        self.system = system
        uses = isinstance(policy, Policy) and (
            policy.uses_estimates if by_estimates else policy.estimates
        )
        self._estimating = label(policy) if uses else None
        backfilling = resolved.get("backfilling")
        aging = isinstance(backfilling, dict) and backfilling["by"] == "ages"
        missing = "estimated sizes" if uses else "the ages of jobs" if aging else ""
        self._beyond_state = missing and f"{label(policy)} uses {missing}"

    @property
    def time(self) -> float:
        """Time, seconds."""
        return self._core.time

    @property
    def free(self) -> int:
        """Free servers."""
        return self._core.free

    def wait_until(self, time: float) -> list[int]:
        """Let time pass; call the policy if its timer is due. Return the jobs that start.

        Raises:
            QuickswapError: the time lies in the past.
            PolicyError: a custom policy failed.
        """
        seconds = number(time, "time", error=QuickswapError)
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
            estimates: estimated sizes, seconds, for policies that use them.

        Raises:
            QuickswapError: an unknown class, or the policy needs an estimate that is missing.
            PolicyError: a custom policy failed.
        """
        each = [self._class(cls) for cls in _listed(classes)]
        known = [real(one) for one in _listed(estimates)]
        if any(one is None or one < 0 for one in known):
            allowed = "a list of numbers of seconds of at least 0, or nan for none"
            raise invalid("estimates", estimates, allowed, QuickswapError)
        sizes = [one for one in known if one is not None]
        if items(estimates) is None:
            sizes *= len(each)
        if len(sizes) != len(each):
            raise QuickswapError(
                f"{counted(len(each), 'job')} {'arrives' if len(each) == 1 else 'arrive'} with "
                f"{counted(len(sizes), 'estimate')}: give one for each job.",
                argument="estimates",
                given=estimates,
                allowed="one for each job that arrives",
            )
        if self._estimating is not None and not all(map(math.isfinite, sizes)):
            advice = "give one for each job that arrives, in seconds, as in arrive(0, 60.0)"
            raise QuickswapError(
                f"{self._estimating} uses estimated sizes: {advice}.",
                argument="estimates",
                given=estimates,
                advice=advice,
            )
        try:
            return self._core.arrive(each, sizes)
        except (ValueError, OverflowError) as error:
            _refuse(error)

    def resume(
        self,
        running: Iterable[tuple[int, float, float]],
        waiting: Iterable[tuple[int, float, float]],
        policy: Iterable[int] | None = None,
    ) -> tuple[list[int], list[int]]:
        """Replace all jobs by those of a real system; return their numbers and those that start.

        The numbers are those of the jobs in service, in order of start, and then of the waiting
        jobs, in order of arrival. The policy then decides at the present time.

        Args:
            running: class, start and estimated size of each job in service, seconds.
            waiting: class, arrival and estimated size of each waiting job, seconds.
            policy: the policy's own state, as in `policy_state`; by default its present one.

        Raises:
            QuickswapError: a job is not valid, or those in service need too many servers.
        """
        jobs = [sorted(each, key=itemgetter(1)) for each in (running, waiting)]
        try:
            state = self.policy_state if policy is None else tuple(policy)
            return self._core.resume(jobs, state), self._core.ask()
        except (ValueError, OverflowError) as error:
            _refuse(error)

    @property
    def reserved(self) -> int | None:
        """The waiting job for which Adaptive Quickswap drains, or for which EASY reserves."""
        return self._core.reserved()

    @property
    def policy_state(self) -> tuple[int, ...]:
        """The policy's own state, whole numbers; a phase, a target."""
        return tuple(self._core.state()[3])

    def complete(self, jobs: int | Iterable[int]) -> list[int]:
        """Let jobs in service complete in one instant; return the numbers of those that start.

        Raises:
            QuickswapError: one of them is not in service; then nothing is changed.
            PolicyError: a custom policy failed.
        """
        each = [whole(job, "job", 0, 2**64 - 1, QuickswapError) for job in _listed(jobs)]
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
            raise QuickswapError(
                f"no job of class {cls} is in service.",
                argument="class",
                given=cls,
                allowed="a class with a job in service",
            )
        return self.complete(job)

    def _class(self, given: object) -> int:
        """Return the number of a class of the system."""
        return whole(given, "class", 0, len(self.system.needs) - 1, QuickswapError)

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
            PolicyError: the policy uses estimated sizes or ages, which are not part of a State.
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
            PolicyError: the policy uses estimated sizes or ages, which are not part of a State.
        """
        self._check_restorable()
        if not isinstance(state, State):
            raise invalid("state", state, "a State", QuickswapError)
        waiting = _whole_numbers(state.waiting, "waiting", 0, MOST_JOBS)
        running = _whole_numbers(state.running, "running", 0, MOST_JOBS)
        for name, counts in (("waiting", waiting), ("running", running)):
            if len(counts) != len(self.system.needs):
                allowed = f"a number for each of the {counted(len(self.system.needs), 'class')}"
                raise invalid(f"{name} of a state", counts, allowed, QuickswapError)
        order = state.order
        if order is not None:
            order = tuple(map(self._class, _list_of(order, "order")))
        own = _whole_numbers(state.policy, "policy", -(2**63), 2**63 - 1)
        try:
            self._core.restore((waiting, running, order, own))
        except (ValueError, OverflowError) as error:
            _refuse(error)

    def _check_restorable(self) -> None:
        """Reject states whose future depends on more than the numbers and the order of jobs."""
        if self._beyond_state:
            raise PolicyError(
                f"{self._beyond_state}, which a State does not contain: its state can be neither "
                "saved nor restored.",
                argument="policy",
                given=self._beyond_state,
                allowed="a policy without estimated sizes and ages",
            )


def _refuse(error: Exception, kind: type[QuickswapError] = QuickswapError) -> NoReturn:
    """Raise an error of the core as an error of quickswap, with its fields."""
    if str(error).startswith("policy "):
        kind = PolicyError
    argument, given, allowed = (getattr(error, key, "") for key in ("argument", "given", "allowed"))
    message = f"{error}."
    raise kind(message, argument=argument, given=given, allowed=allowed) from error.__cause__


def _listed(given: object) -> list[object]:
    """Return a list of the argument, which is one item or several."""
    several = items(given)
    return [given] if several is None else several


def _list_of(given: object, what: str) -> list[object]:
    several = items(given)
    if several is None:
        raise invalid(f"{what} of a state", given, "a tuple of whole numbers", QuickswapError)
    return several


def _whole_numbers(given: object, what: str, low: int, high: int) -> tuple[int, ...]:
    return tuple(
        whole(each, f"an item of {what} of a state", low, high, QuickswapError)
        for each in _list_of(given, what)
    )
