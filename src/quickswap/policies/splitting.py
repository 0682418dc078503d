"""Policies that split the servers among the classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

from quickswap._check import real
from quickswap._words import counted
from quickswap.errors import PolicyError, invalid
from quickswap.model.system import System
from quickswap.policies.base import Policy

ROUNDING = 1e-12
"""Relative excess that does not count when a number of slots is rounded down."""


@final
@dataclass(frozen=True, slots=True)
class BalancedSplitting(Policy):
    """Each class has servers of its own, in proportion to its load, and all share the other ones.

    Class i has s_i = floor(reserved x (k / n_i) x (its share of the load)) slots, each of n_i
    servers that only its jobs use. The servers outside all slots are the helpers. If a slot of its
    class is free, the oldest waiting job of the class starts there. Otherwise the oldest waiting
    job starts on helpers if enough of them are free, and if not, it blocks all jobs behind it from
    the helpers. Jobs that need more servers than there are helpers only wait for a slot. A job
    stays on the servers on which it has started.

    `reserved` is a number from 0 to 1, by default 1 - (largest need) / k: the helpers then suffice
    for a job of each class. With 0 the policy is FCFS. In a replay the loads of the needs are
    those of the log.

    Source: Anselmi, Doncel, "Balanced splitting: a framework for achieving zero-wait in the
    multiserver-job model", IEEE Trans. Parallel Distrib. Syst. (2024), arXiv 2409.18557; the
    formula of s_i, FCFS on the helpers, and that waiting jobs may start in slots that become free,
    as in mjqm-simulator. The default is from quickswap.
    """

    name: ClassVar[str] = "balanced-splitting"
    title: ClassVar[str] = "Balanced Splitting"
    individual: ClassVar[bool] = True

    reserved: float | None = None

    def __post_init__(self) -> None:
        if self.reserved is not None:
            reserved = real(self.reserved)
            if reserved is None or not 0 <= reserved <= 1:
                what = "reserved of BalancedSplitting"
                raise invalid(what, self.reserved, "a number from 0 to 1", PolicyError)
            object.__setattr__(self, "reserved", reserved)

    def slots(self, system: System) -> list[int]:
        """Return the number of slots of each class.

        Raises:
            PolicyError: a class has no slot, and its jobs need more servers than there are helpers.
        """
        servers, needs = system.servers, system.needs
        reserved = 1 - max(needs) / servers if self.reserved is None else self.reserved
        slots = [
            math.floor(reserved * servers / need * share * (1 + ROUNDING))
            for need, share in zip(needs, system.load_shares, strict=True)
        ]
        helpers = servers - sum(map(math.prod, zip(slots, needs, strict=True)))
        for name, need, own in zip(system.names, needs, slots, strict=True):
            if own == 0 and need > helpers:
                raise PolicyError(
                    f"reserved of BalancedSplitting is {reserved:g}: class {name!r} has no slot, "
                    f"and there are {counted(helpers, 'helper')} for jobs that need {need} "
                    "servers; give a smaller value.",
                    argument="reserved of BalancedSplitting",
                    given=reserved,
                    allowed=f"up to {1 - max(needs) / servers:g}, the default",
                    advice="give a smaller value",
                )
        return slots

    def _parameters(self, system: System) -> dict[str, object]:
        return {"slots": self.slots(system)}

    def _details(self) -> list[str]:
        return [] if self.reserved is None else [f"reserved {self.reserved:g}"]
