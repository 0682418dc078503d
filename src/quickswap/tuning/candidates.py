"""The candidates: default policies, distinct policies, and parameters between those tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from quickswap._check import items
from quickswap.errors import PolicyError, QuickswapError, invalid
from quickswap.model.system import System
from quickswap.policies import (
    FCFS,
    MSF,
    MSFQ,
    AdaptiveQuickswap,
    FirstFit,
    Policy,
    Smash,
    StaticQuickswap,
    spell,
)
from quickswap.sweeps.parameters import expand_parameters
from quickswap.theory.conditions import is_exclusive, markovian

__all__ = ["Candidate", "between", "chosen", "default_policies", "distinct", "simple_default"]

OVERRUNS = (0.1, 0.3, 0.6, 0.9)
"""Overruns of backfilling: expected numbers of jobs that outlast a drain."""
RISKS = (1e-4, 0.03, 0.3)
"""Risks of backfilling."""
WINDOWS = (2, 8, 32)
"""Windows of Smash."""
STATIC_STEPS = 4
"""Steps of the thresholds of Static Quickswap, from 0 to all servers."""
MSFQ_STEPS = 8
"""Steps of the thresholds of MSFQ where they are simulated."""
CLOSEST = 1.3
"""Ratio of neighbouring risks, or overruns, that are not refined further."""
MOST = 1000
"""Candidates at most."""


@dataclass(frozen=True)
class Candidate:
    """A policy to try.

    Attributes:
        policy: the policy.
        label: as tables show it; its spelling if another candidate has the same label.
        equals: labels of given policies that take the same decisions on this system.
    """

    policy: Policy
    label: str
    equals: tuple[str, ...] = ()

    @property
    def spelling(self) -> str:
        """The policy as one word, which `parse` and the command line read."""
        return spell(self.policy)


def simple_default(system: System) -> Policy:
    """Return the recommended policy without tuning."""
    return MSFQ() if system.one_or_all else AdaptiveQuickswap()


def default_policies(system: System, thresholds: Sequence[int] = ()) -> list[Policy]:
    """Return the default policies: nonpreemptive, without estimates.

    Args:
        system: the workload.
        thresholds: of MSFQ or, in slots of the smaller class, of Static Quickswap, for which there
            are exact values. On these systems backfilling during a drain is equivalent to a lower
            threshold (see `quickswap.theory.stability`), and is not tried.
    """
    policies: list[Policy] = [simple_default(system), FirstFit(), MSF(), AdaptiveQuickswap()]
    if thresholds:
        policies += [_at(system, level) for level in thresholds]
    elif system.one_or_all:
        steps = {round(i * system.servers / MSFQ_STEPS) for i in range(MSFQ_STEPS + 1)}
        policies += [MSFQ(level) for level in sorted(steps)]
    if not thresholds:
        upwards = sorted(range(len(system.needs)), key=lambda i: system.needs[i])
        steps = {round(i * system.servers / STATIC_STEPS) for i in range(STATIC_STEPS)}
        for order in (None, upwards):
            policies.append(StaticQuickswap(order=order))
            policies += [StaticQuickswap(level, order=order) for level in sorted(steps)]
    if not (is_exclusive(system) and markovian(system)):
        for kind in (AdaptiveQuickswap, StaticQuickswap):
            policies += [kind(overrun=most) for most in OVERRUNS]
            policies += [kind(backfill=risk) for risk in RISKS]
    return [*policies, *map(Smash, WINDOWS)]


def _at(system: System, slots: int) -> Policy:
    """Return the policy with a threshold in slots of the smaller class."""
    if system.one_or_all:
        return MSFQ(slots)
    least = min(system.needs)
    return (
        AdaptiveQuickswap() if slots == system.servers // least else StaticQuickswap(slots * least)
    )


def chosen(given: object) -> list[Policy]:
    """Return the policies that a list of policies and spellings expands to.

    Raises:
        PolicyError: it is not such a list, it is empty, or it expands to too many.
    """
    listed = [given] if isinstance(given, str | Policy) else items(given)
    if listed is None:
        raise invalid("policies", given, "a list of policies", PolicyError)
    if not listed:
        raise PolicyError(
            "policies is empty; give at least one, or leave it out.",
            argument="policies",
            given=given,
        )
    policies = [policy for each in listed for policy in expand_parameters(each)]
    if len(policies) > MOST:
        raise PolicyError(
            f"policies has {len(policies):,} candidates; at most {MOST:,} are allowed: give fewer, "
            "as neighbours of the best ones are tried anyway.",
            argument="policies",
            given=given,
            allowed=f"at most {MOST:,}",
        )
    return policies


def distinct(policies: Iterable[Policy], system: System) -> dict[str, Candidate]:
    """Return a candidate for each policy, by its key; policies with one key are one candidate.

    Raises:
        PolicyError: a policy does not suit the system.
    """
    groups: dict[str, dict[str, Policy]] = {}
    for policy in policies:
        groups.setdefault(key_of(policy, system), {}).setdefault(spell(policy), policy)
    firsts = [next(iter(group.values())) for group in groups.values()]
    labels = [policy.label for policy in firsts]
    candidates = {}
    for (key, group), policy in zip(groups.items(), firsts, strict=True):
        label = policy.label if labels.count(policy.label) == 1 else spell(policy)
        others = tuple(each.label for each in list(group.values())[1:])
        candidates[key] = Candidate(policy, label, others)
    return candidates


def key_of(policy: Policy, system: System) -> str:
    """Return a text that is equal for policies that take the same decisions on a system.

    These are: with a class that occupies the servers alone, MSFQ at threshold 0 and MSF, MSFQ at
    threshold k and Adaptive Quickswap, MSFQ and Static Quickswap; Smash with a window of 1 and
    FCFS, with an infinite window and MSF; cycles that differ in their first class; and all policies
    that leave no slot idle on a single class.
    """
    spec = policy.resolve(system)
    alike = (FCFS, FirstFit, MSF, AdaptiveQuickswap) if len(system.classes) == 1 else (FCFS,)
    if isinstance(policy, alike):
        return FCFS.name
    if isinstance(policy, Smash) and policy.window in (1, None):
        return key_of(FCFS() if policy.window == 1 else MSF(), system)
    if is_exclusive(system) and (level := threshold_of(policy, system)) is not None:
        return f"{MSFQ.name}:{level[0]}:{level[1]}"
    if isinstance(policy, StaticQuickswap):
        order = cast("list[int]", spec["order"])
        first = order.index(min(order))
        spec = spec | {"order": order[first:] + order[:first]}
    return repr(sorted(spec.items()))


def threshold_of(policy: Policy, system: System) -> tuple[int, str] | None:
    """Return threshold and drain of a policy that is equivalent to MSFQ, or None.

    The threshold is in slots of the smaller class. The system has two classes, the larger of which
    occupies the servers alone. If the smaller class has one slot too, each departure frees all
    servers, and MSF and Adaptive Quickswap give the larger class priority, which is not a
    threshold.
    """
    slots = system.servers // min(system.needs)
    if slots == 1 and isinstance(policy, MSF | AdaptiveQuickswap):
        return None
    if isinstance(policy, MSF):
        return 0, "on_demand"
    if "backfilling" in policy.resolve(system):
        return None
    if isinstance(policy, AdaptiveQuickswap):
        return slots, "on_demand"
    if isinstance(policy, MSFQ):
        spec = policy.resolve(system)
        return cast("int", spec["threshold"]), policy.drain
    if isinstance(policy, StaticQuickswap):
        light = system.needs.index(min(system.needs))
        level = cast("list[int]", policy.resolve(system)["thresholds"])[light]
        return level, "on_demand" if policy.drain == "overlap" else "always"
    return None


LIMITS = ("backfill", "overrun")
"""Parameters below 1, of which 0 is another policy."""
NUMERIC = ("threshold", "window", *LIMITS)
"""Parameters that can be refined."""


def between(best: Iterable[Policy], tried: Iterable[Policy], system: System) -> Iterator[Policy]:
    """Yield policies with parameters midway between those of the best ones and their neighbours.

    Only parameters of which several values have been tried vary. The upper neighbour of the largest
    risk or overrun is 1, and that of the largest window is four times its value.

    Args:
        best: policies; only the first one of each family counts.
        tried: all policies so far, including the best ones.
        system: the workload.
    """
    known = [(family, value) for policy in tried for family, value in _families(policy, system)]
    seen = set()
    for policy in best:
        for family, value in _families(policy, system):
            if family in seen:
                continue
            seen.add(family)
            values = sorted({other for name, other in known if name == family})
            if len(values) == 1:
                continue
            values = _extended(family[-1], values)
            index = values.index(value)
            for neighbour in values[max(index - 1, 0) : index] + values[index + 1 : index + 2]:
                if (middle := _midway(family[-1], value, neighbour)) is not None:
                    yield replace(cast("Any", policy), **{family[-1]: middle})


Family = tuple[str, str, str]
"""Name of a policy, its other parameters, and the name of the one that varies."""


def _families(policy: Policy, system: System) -> Iterator[tuple[Family, float]]:
    """Yield the families of a policy, with its value of the parameter."""
    if not is_dataclass(policy):
        return
    values = {field.name: getattr(policy, field.name) for field in fields(policy)}
    for name in NUMERIC:
        if name not in values or values.get("thresholds") is not None:
            continue
        value = values[name]
        if value is None and name == "threshold":
            value = system.servers - isinstance(policy, MSFQ)
        if value is None or (name in LIMITS and value == 0) or isinstance(value, bool):
            continue
        others = {key: each for key, each in values.items() if key != name}
        yield (policy.name, repr(others), name), value


def _extended(name: str, values: list[float]) -> list[float]:
    """Return values and a bound, so the best one may lie beyond those tried."""
    if name in LIMITS:
        return [*values, 1.0]
    if name == "window":
        return sorted({1, *values, 4 * values[-1]})
    return values


def _midway(name: str, value: float, neighbour: float) -> float | None:
    """Return the value midway, or None if the two are close."""
    if name in LIMITS:
        ratio = max(value, neighbour) / min(value, neighbour)
        return float(f"{math.sqrt(value * neighbour):.2g}") if ratio > CLOSEST else None
    middle = math.sqrt(value * neighbour) if name == "window" else (value + neighbour) / 2
    return round(middle) if round(middle) not in (value, neighbour) else None


def check_suits(policies: Iterable[Policy], system: System) -> None:
    """Reject policies that do not suit a system."""
    for policy in policies:
        try:
            policy.resolve(system)
        except QuickswapError as error:
            raise error.within(f"{policy.label} cannot be a candidate: ") from None
