"""One simulation as data: a system, a policy and the settings that determine the result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, Unpack, cast, final

from quickswap.engine._core import VERSION
from quickswap.engine.custom import CustomPolicy, as_policy
from quickswap.engine.settings import (
    SETTINGS,
    Inputs,
    PointSettings,
    check_settings,
)
from quickswap.errors import PolicyError, QuickswapError, invalid
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.policies.custom import Custom
from quickswap.simulation.result import Result
from quickswap.simulation.simulate import simulate_inputs

__all__ = ["Point"]


@final
@dataclass(frozen=True, eq=False)
class Point:
    """One simulation, described by all that determines its result; equal points have equal keys.

    Build it with `Point.of`, or from `Result.inputs`.

    Attributes:
        inputs: as in the result. A custom policy is there only in the process that built the point
            and in those to which it was sent; a point read from a store cannot run without it.
    """

    inputs: Inputs

    def __post_init__(self) -> None:
        if not isinstance(self.inputs, Inputs):
            raise invalid(
                "inputs",
                self.inputs,
                "the inputs of a result",
                QuickswapError,
                advice="use Point.of(system, policy)",
            )

    @classmethod
    def of(
        cls,
        system: System | str | Path,
        policy: Policy | CustomPolicy | str,
        **settings: Unpack[PointSettings],
    ) -> Self:
        """Describe a simulation.

        Args:
            system: servers and classes, or the name of a preset or model file.
            policy: a policy, its spelling, or a custom policy.
            settings: as `simulate` takes them, with the same defaults; see `Settings`.

        Raises:
            PolicyError: the policy does not suit the system.
            QuickswapError: a setting that is unknown or out of range.
        """
        check_settings(settings, PointSettings, "a point")
        system = as_system(system)
        return cls(Inputs.of(system, as_policy(policy, system), **settings))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            QuickswapError: the text is not the JSON of a point.
        """
        try:
            return cls(Inputs.from_dict(json.loads(text)))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, QuickswapError):
                raise
            raise QuickswapError(f"not a quickswap point: {error}.") from None

    def to_json(self) -> str:
        """Return the inputs as JSON, with sorted keys and no blanks."""
        return self._text

    @cached_property
    def _text(self) -> str:
        data = self.inputs.to_dict()
        return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def key(self) -> str:
        """SHA-256 of `to_json`, in hexadecimal.

        The inputs include the version of quickswap, so versions do not share results.
        """
        return hashlib.sha256(self._text.encode()).hexdigest()

    @property
    def system(self) -> System:
        """The system simulated."""
        return self.inputs.system

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.inputs.policy

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, as `simulate` takes them."""
        return {name: getattr(self.inputs, name) for name in SETTINGS}

    def run(
        self, threads: int | None = 1, progress: Callable[[int, int], object] | None = None
    ) -> Result:
        """Simulate.

        Args:
            threads: threads at most; None for the cores of the machine. The result is the same.
            progress: called repeatedly with the completions so far and those intended.

        Raises:
            PolicyError, UnstableError, Interrupted: as `simulate`.
            QuickswapError: the point is one of another version of quickswap.
        """
        if self.inputs.version != VERSION:
            raise QuickswapError(
                f"the point belongs to quickswap {self.inputs.version}, and this is {VERSION}: "
                "build the point again with Point.of."
            )
        return simulate_inputs(self.inputs, as_policy(self.policy, self.system), threads, progress)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the point to another process as text, which the version there may reject."""
        if isinstance(self.policy, Custom) and self.policy.served is not None:
            return _received, (self._text, _pickled(self.policy))
        return Point.from_json, (self._text,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _pickled(policy: Custom) -> bytes:
    """Return a custom policy as bytes, with the code of classes that other processes cannot import.

    Raises:
        PolicyError: an attribute cannot be pickled.
    """
    import cloudpickle  # type: ignore[import-untyped]  # the library has no types

    try:
        return cast("bytes", cloudpickle.dumps(policy.served))
    except Exception as error:  # of the objects that the policy holds
        raise PolicyError(
            f"policy {policy.called} cannot be sent to another process ({error})",
            argument="policy",
            given=policy.called,
            advice="run it in threads",
        ) from error


def _received(text: str, policy: bytes) -> Point:
    """Return the point with its custom policy."""
    import cloudpickle

    point = Point.from_json(text)
    served = replace(cast("Custom", point.policy), served=cloudpickle.loads(policy))
    return Point(replace(point.inputs, policy=served))
