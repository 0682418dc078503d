"""The description of a custom policy, and the policies of other packages.

A package registers a policy by an entry point of the group `quickswap.policies`: its name, and the
class of the policy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, final

from quickswap.errors import PolicyError, unknown
from quickswap.model.system import System
from quickswap.policies.base import Policy
from quickswap.policies.fingerprint import fingerprint

__all__ = [
    *("CUSTOM", "Custom", "built", "custom_name", "described", "registered"),
    "registered_names",
]

CUSTOM = "custom:"
"""Prefix of the text of a custom policy."""
GROUP = "quickswap.policies"
"""Entry points of policies in other packages."""


def custom_name(policy: object) -> str:
    """Return the name of a custom policy for tables and messages."""
    return str(getattr(policy, "name", type(policy).__name__))


@final
@dataclass(frozen=True, slots=True)
class Custom(Policy):
    """The description of a custom policy, for results, points and grids.

    Attributes:
        called: its name.
        source: the fingerprint of its source and its attributes.
        served: the policy itself; None in what was read from a file.
    """

    called: str
    source: str
    served: Any = field(default=None, compare=False, repr=False)

    name: ClassVar[str] = "custom"
    title: ClassVar[str] = "custom"

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the description that `spell` wrote."""
        called, _, source = text.removeprefix(CUSTOM).rpartition("#")
        return cls(called, source)

    @property
    def label(self) -> str:
        """The name."""
        return self.called

    def parameters(self, system: System | None = None) -> dict[str, bool | float | str]:
        return {}

    def _parameters(self, system: System) -> dict[str, object]:
        return {"called": self.called, "source": self.source}

    def _spelling(self) -> str:
        return f"{CUSTOM}{self.called}#{self.source}"


def described(policy: object) -> Policy:
    """Return a policy as a value: a custom one by its name and fingerprint."""
    if isinstance(policy, Policy):
        return policy
    return Custom(custom_name(policy), fingerprint(policy), policy)


def registered_names() -> list[str]:
    """Return the names of the policies of other packages."""
    from importlib.metadata import entry_points

    return sorted(each.name for each in entry_points(group=GROUP))


def registered(name: str, values: Mapping[str, Any]) -> Policy:
    """Return a policy of another package.

    Args:
        name: of its entry point.
        values: its parameters.

    Raises:
        PolicyError: the package cannot be imported, or the policy does not take the parameters.
    """
    from importlib.metadata import entry_points

    (found,) = entry_points(group=GROUP, name=name)
    try:
        kind = found.load()
    except Exception as error:  # of the other package
        raise PolicyError(
            f"policy {name} of the package {found.value.partition(':')[0]} cannot be loaded: "
            f"{type(error).__name__}: {error}",
            argument="policy",
            given=name,
            advice="repair or remove the package",
        ) from error
    known = inspect.signature(kind).parameters
    for key in values:
        if key not in known:
            unknown(f"parameter of policy {name}", key, list(known), PolicyError)
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in values:
            raise PolicyError(
                f"policy {name} requires {key}",
                argument=f"{key} of policy {name}",
                advice=f"give {key}, as in {name}:{key}=8",
            )
    return built(kind, name, values)


def built(kind: Callable[..., Any], name: str, values: Mapping[str, Any]) -> Policy:
    """Return the policy that a class makes of parameters, which are in its name.

    Raises:
        PolicyError: the class does not take the parameters.
    """
    try:
        policy = kind(**values)
    except (TypeError, ValueError) as error:
        raise PolicyError(
            f"policy {name} does not take its parameters ({error})",
            argument=f"parameters of policy {name}",
            given=dict(values),
            advice="give others",
        ) from error
    if not hasattr(policy, "name"):
        words = ", ".join(f"{key} {value}" for key, value in values.items())
        with suppress(AttributeError):  # a class may forbid new attributes
            policy.name = f"{name} ({words})" if words else name
    return described(policy)
