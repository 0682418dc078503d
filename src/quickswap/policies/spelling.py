"""Policies as one word of text: `msfq:threshold=31,drain=always`.

A name, then a colon and the parameters that differ from their defaults, `key=value` between commas.
A list is written with `+` between its items: `static-quickswap:order=3+2+1+0`. An item that reads
as a number is a number. A class is given by its position if its name contains `+`, `,` or `=`, or
is a number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache

from quickswap._words import split
from quickswap.errors import PolicyError, invalid, unknown
from quickswap.policies.backfilling import EASY, Conservative
from quickswap.policies.base import Policy, not_a_policy
from quickswap.policies.clocks import NMSR, RandomizedTimers
from quickswap.policies.custom import CUSTOM, Custom, registered, registered_names
from quickswap.policies.orders import FCFS, LSF, MSF, FirstFit, Smash
from quickswap.policies.preemptive import DivisorFilling, MaxWeight, ServerFilling
from quickswap.policies.quickswap import MSFQ, AdaptiveQuickswap, StaticQuickswap
from quickswap.policies.slurm import Slurm
from quickswap.policies.splitting import BalancedSplitting

POLICIES: tuple[type[Policy], ...] = (
    FCFS,
    FirstFit,
    MSF,
    LSF,
    Smash,
    EASY,
    Conservative,
    Slurm,
    MSFQ,
    StaticQuickswap,
    AdaptiveQuickswap,
    NMSR,
    RandomizedTimers,
    BalancedSplitting,
    ServerFilling,
    DivisorFilling,
    MaxWeight,
)
"""Every policy of the core."""

FLAGS = {"true": True, "false": False}


def parse(text: str) -> Policy:
    """Build a policy from its spelling; the name may be in capitals or with underscores.

    Other packages can register policies by entry points of the group `quickswap.policies`.

    Raises:
        PolicyError: an unknown name, parameter or choice, a value out of range, or no `key=value`.
    """
    if not isinstance(text, str):
        allowed = "text such as 'msfq:threshold=31'"
        raise invalid("the spelling of a policy", text, allowed, PolicyError)
    return _parse(text)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Policy:
    if text.startswith(CUSTOM):
        return Custom.read(text)
    if "=[" in text.replace(" ", ""):
        raise PolicyError(
            f"policy {text!r} contains a list of values, which only grids and tuning expand",
            given=text,
            allowed="one value of each parameter",
            advice="give a policy for each value",
        )
    name, given = split(text, "policy", PolicyError)
    known = {kind.name: kind for kind in POLICIES}
    plain = name.lower().replace("_", "-")
    if plain not in known:
        others = registered_names()
        if name in others:
            return registered(name, {key: _item(value) for key, value in given.items()})
        unknown("policy", name, [*known, *others], PolicyError, argument="name of the policy")
    parameters = parameters_of(known[plain])
    for key in given:
        if key not in parameters:
            if not parameters:
                raise PolicyError(
                    f"policy {plain} has no parameters: remove {key!r}.",
                    given=key,
                    advice=f"remove {key!r}",
                )
            unknown(f"parameter of policy {plain}", key, parameters, PolicyError)
    for key, default in parameters.items():
        if default is MISSING and key not in given:
            raise PolicyError(
                f"policy {plain} requires {key}",
                argument=f"{key} of policy {plain}",
                advice=f"give {key}, as in {plain}:{key}=8",
            )
    build: Callable[..., Policy] = known[plain]
    lists = known[plain].lists
    return build(
        **{
            key: tuple(map(_item, value.split("+"))) if key in lists else _item(value)
            for key, value in given.items()
        }
    )


def spell(policy: Policy) -> str:
    """Return the spelling that `parse` reads back as an equal policy.

    Raises:
        PolicyError: the name of a class cannot be spelled.
    """
    if not isinstance(policy, Policy):
        raise not_a_policy(policy)
    if (text := policy._spelling()) is not None:
        return text
    changed = {
        key: getattr(policy, key)
        for key, default in parameters_of(type(policy)).items()
        if getattr(policy, key) != default
    }
    words = [f"{key}={spelled(value)}" for key, value in changed.items()]
    return ":".join([policy.name, ",".join(words)]) if words else policy.name


def parameters_of(kind: type[Policy]) -> dict[str, object]:
    """Return the parameters of a policy and their defaults; MISSING for one without."""
    if not is_dataclass(kind):
        raise PolicyError(f"{kind.__name__} is not a policy of the core, so it has no spelling.")
    return {field.name: field.default for field in fields(kind)}


def _item(text: str) -> object:
    """Return True or False, a whole number, another number, or else the text."""
    if text.lower() in FLAGS:
        return FLAGS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def spelled(value: object) -> str:
    """Return one parameter as text."""
    if value is None:
        return "inf"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, tuple):
        return str(value).lower() if isinstance(value, bool) else str(value)
    for each in value:
        if isinstance(each, str) and (
            _item(each) != each or each != each.strip() or set(each) & set("+,=")
        ):
            raise PolicyError(
                f"class {each!r} has a name that cannot be spelled: give its position.",
                given=each,
                advice="give its position",
            )
    return "+".join(map(str, value))
