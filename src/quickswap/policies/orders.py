"""Stateless policies: an order of the waiting jobs, and which of them may overtake."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

from quickswap._check import real, whole
from quickswap.errors import PolicyError
from quickswap.model.system import System
from quickswap.policies.base import Policy

LARGEST = 2**63 - 1
"""Largest finite window that the core can count to."""


@final
@dataclass(frozen=True, slots=True)
class FCFS(Policy):
    """First come, first served: start the oldest waiting job if it fits, otherwise none.

    A job that does not fit blocks all behind it.
    """

    name: ClassVar[str] = "fcfs"
    title: ClassVar[str] = "FCFS"


@final
@dataclass(frozen=True, slots=True)
class FirstFit(Policy):
    """Start the oldest waiting job among those that fit.

    The Quickswap paper calls it First-Fit backfilling (section "Simulation Results").
    """

    name: ClassVar[str] = "first-fit"
    title: ClassVar[str] = "First-Fit"


@final
@dataclass(frozen=True, slots=True)
class MSF(Policy):
    """Most servers first: start the oldest job of the largest need that fits.

    Source: the Quickswap paper, section "Most Servers First".
    """

    name: ClassVar[str] = "msf"
    title: ClassVar[str] = "MSF"


@final
@dataclass(frozen=True, slots=True)
class LSF(Policy):
    """Least servers first: start the oldest waiting job of the smallest need, if it fits."""

    name: ClassVar[str] = "lsf"
    title: ClassVar[str] = "LSF"


@final
@dataclass(frozen=True, slots=True)
class Smash(Policy):
    """Among the first `window` waiting jobs, start the one of largest need that fits, oldest first.

    `window` is a whole number of at least 1, or `None` or `inf` for all waiting jobs. A window of 1
    is FCFS, an infinite window MSF.
    """

    name: ClassVar[str] = "smash"
    title: ClassVar[str] = "Smash"
    individual: ClassVar[bool] = True

    window: float | None

    def __post_init__(self) -> None:
        if self.window is not None:
            endless = real(self.window) == math.inf
            window = (
                None if endless else whole(self.window, "window of Smash", 1, LARGEST, PolicyError)
            )
            object.__setattr__(self, "window", window)

    def _parameters(self, system: System) -> dict[str, object]:
        return {"window": self.window}

    def _details(self) -> list[str]:
        return ["inf" if self.window is None else f"{self.window}"]
