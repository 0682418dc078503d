"""Custom policies, written in Python."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from quickswap._check import flag
from quickswap.engine._core import View as View
from quickswap.engine._core import ViewedJob as ViewedJob
from quickswap.engine.generators import generator_of
from quickswap.errors import PolicyError, invalid
from quickswap.model.system import System
from quickswap.policies import Policy, parse
from quickswap.policies.base import not_a_policy
from quickswap.policies.custom import Custom, custom_name

__all__ = [
    *("CustomPolicy", "View", "ViewedJob", "as_policy", "check_custom", "check_policy"),
    "label",
]


FLAGS = ("sees_jobs", "remembers_order")
METHODS = ("start", "wake_at", "save", "restore", "check")
"""Methods that are called."""


@runtime_checkable
class CustomPolicy(Protocol):
    """A nonpreemptive custom policy; slow but right.

    It can be used wherever a policy of the core can. Results, points and stores contain its name,
    and a fingerprint of its source and its attributes, so a changed policy is another one.

    After every instant with events `start` is called until it returns None. The policy may keep
    state in its attributes; each replication uses a deep copy. Optional:

    * `name`: a string for tables and messages; the name of the class if there is none.
    * `sees_jobs = True`: the view also has `queue` and `in_service`, the individual jobs with
      their estimated sizes. The time of an event is then proportional to their number.
    * `wake_at(view) -> float | None`: the time of the next decision, even without an event.
    * `save() -> list[int]` and `restore(state)`: the state, for `quickswap.Scheduler` and exact
      chains.
    * `check(system)`: raises a `PolicyError` if the policy does not suit the system.
    * `parameters`: a dictionary of arguments of the class, each with a list of values. The class
      itself, given to `tune` or to a grid, then stands for a policy for each combination.
    * `remembers_order = False`: its decisions depend on the numbers of jobs, not on the order of
      their arrival, so the order is not part of the state of an exact chain.

    Random decisions draw from `view.random`, a separate `random.Random` for each replication,
    seeded by the seed of the run and the number of the replication. A generator that the
    policy holds or imports is rejected, since all replications would draw the same numbers from it.
    """

    def start(self, view: View) -> int | ViewedJob | None:
        """Return the class whose head of line starts now, or one of `view.queue`, or None.

        Classes are numbered as in the system, from 0. An invalid answer is
        reported as a `PolicyError` with the policy's name, the answer and the state.
        """
        ...


def check_custom(policy: CustomPolicy) -> None:
    """Reject a policy whose optional attributes have the wrong type.

    Raises:
        PolicyError: the name must be a string, a flag a boolean, a method callable.
    """
    kind = type(policy).__name__
    name = getattr(policy, "name", kind)
    if not isinstance(name, str) or not name.strip():
        allowed = "a text that is not empty"
        raise invalid(f"name of the policy {kind}", name, allowed, PolicyError)
    for option in FLAGS:
        flag(getattr(policy, option, False), f"{option} of policy {name}", PolicyError)
    for method in METHODS:
        found = getattr(policy, method, check_custom)
        if not callable(found):
            raise invalid(f"{method} of policy {name}", found, "a method", PolicyError)
    if (where := generator_of(policy)) is not None:
        raise PolicyError(
            f"policy {name} uses the random generator {where}, which gives all replications the "
            "same numbers: draw from view.random instead.",
            argument=f"policy {name}",
            given=where,
            advice="draw from view.random instead",
        )


def label(policy: Policy | CustomPolicy) -> str:
    """Return the name of a policy in tables."""
    return policy.label if isinstance(policy, Policy) else custom_name(policy)


def as_policy(given: object, system: System) -> Policy | CustomPolicy:
    """Return a policy as it is, or the one that a text spells.

    Args:
        given: the policy, or its text.
        system: the system that it serves.

    Raises:
        PolicyError: it is none, or does not suit the system.
    """
    policy = parse(given) if isinstance(given, str) else given
    if isinstance(policy, Custom):
        if policy.served is None:
            advice = "give the policy itself"
            message = (
                f"policy {policy.called} is custom, and its code is not in the file: {advice}."
            )
            raise PolicyError(message, argument="policy", given=policy.called, advice=advice)
        policy = policy.served
    check_policy(policy, system)
    assert isinstance(policy, Policy | CustomPolicy)
    return policy


def check_policy(policy: object, system: System) -> None:
    """Reject an object that is not a policy, or a policy that does not suit the system."""
    if isinstance(policy, Policy):
        policy.resolve(system)
    elif isinstance(policy, type) or not isinstance(policy, CustomPolicy):
        raise not_a_policy(policy)
    else:
        check_custom(policy)
        if (check := getattr(policy, "check", None)) is not None:
            check(system)
