"""The Quickswap family: policies that change class before the queue of the present one is empty.

All take `overrun` and `backfill`, which the paper does not have: jobs that probably end in time
start during a drain. Both are from 0 (off) to below 1, and at most one is given; True is the
recommended value, an overrun of 0.9 jobs or a probability of 0.03. `believed` contains a factor for
each class, by which the policy overestimates its sizes. See `quickswap.policies.draining`.

"The paper" is Chen, Anggraito, Olliaro, Marin, Ajmone Marsan, Berg, Grosof, "Improving
Nonpreemptive Multiserver Job Scheduling with Quickswap".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, final

from quickswap._check import items, whole
from quickswap._words import counted
from quickswap.errors import PolicyError, invalid, unknown
from quickswap.model.system import System
from quickswap.policies.base import Policy, choice
from quickswap.policies.draining import Backfilling


@final
@dataclass(frozen=True, slots=True)
class MSFQ(Policy):
    """Most servers first with Quickswap, for one-or-all systems: light jobs need 1, heavy jobs k.

    `threshold` is l, the number of light jobs at which the policy switches to heavy jobs; by
    default k - 1.

    - `drain="on_demand"`, 0 <= l <= k: light jobs start whenever a server is free, unless the
      system drains. The drain begins as soon as a heavy job waits and N_1 <= l; no job starts until
      the last light job has completed. Then heavy jobs are served until none is left. If no two
      events are simultaneous, l = 0 is MSF and l = k is AdaptiveQuickswap.
    - `drain="always"`, 0 <= l <= k - 1: a visit to the light jobs begins with the start of
      min(N_1, k) of them. It continues while N_1 > l. Then no light job starts, whether or not a
      heavy job waits, until those in service have completed. Then heavy jobs are served until none
      is left.

    With `overrun` or `backfill`, while light jobs drain and a heavy job waits, a light job
    starts if it is likely to complete within D, the expected time until the light jobs in service
    have completed: if at most `overrun` jobs are expected to outlast D, or if
    P(S > D) <= backfill.

    Source: the paper, section "Most Servers First Quickswap (MSFQ)".
    """

    name: ClassVar[str] = "msfq"
    title: ClassVar[str] = "MSFQ"
    lists: ClassVar[tuple[str, ...]] = ("believed",)
    drains: ClassVar[tuple[str, ...]] = ("on_demand", "always")

    threshold: int | None = None
    drain: str = "on_demand"
    backfill: float = 0.0
    overrun: float = 0.0
    believed: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _set_backfilling(self, self.backfill, self.overrun, self.believed)
        if self.threshold is not None:
            threshold = _natural(self.threshold, "threshold of MSFQ")
            object.__setattr__(self, "threshold", threshold)
        choice(self.drain, "drain of MSFQ", self.drains)

    def _parameters(self, system: System) -> dict[str, object]:
        if not system.one_or_all:
            raise PolicyError(
                "MSFQ serves systems of two classes, one that needs 1 server and one that needs "
                f"all; this one has {counted(len(system.classes), 'class')} with needs from "
                f"{min(system.needs)} to {max(system.needs)} on "
                f"{counted(system.servers, 'server')}: use "
                "AdaptiveQuickswap or StaticQuickswap.",
                argument="system",
                given=system.needs,
                allowed=f"needs 1 and {system.servers}",
                advice="use AdaptiveQuickswap or StaticQuickswap",
            )
        highest = system.servers if self.drain == "on_demand" else system.servers - 1
        threshold = system.servers - 1 if self.threshold is None else self.threshold
        what = f"threshold of MSFQ with drain {self.drain!r}"
        threshold = whole(threshold, what, 0, highest, PolicyError)
        return {"threshold": threshold, "drain": self.drain, **_backfilling(self, system)}

    def _details(self) -> list[str]:
        threshold = "k-1" if self.threshold is None else f"{self.threshold}"
        drain = [] if self.drain == "on_demand" else [self.drain]
        return [threshold, *drain, *_backfilling_details(self)]


@final
@dataclass(frozen=True, slots=True, init=False)
class StaticQuickswap(Policy):
    """Visit the classes in a cyclic order; on a visit start only jobs of that class, at most c_i.

    The swap is due when no waiting job of class i can be started and u_i <= l_i.

    - `drain="overlap"`: the swap takes place when it is due, a job of another class waits, and
      either no other class is in service or no job of class i waits. The next class of the cycle
      with a waiting job starts as servers become free, while class i finishes. On one-or-all this
      is MSFQ(l, "on_demand").
    - `drain="exclusive"`: when the swap is due no job starts until class i has left, whether or not
      other jobs wait; the next class of the cycle with a waiting job is visited then, class i last.
      If no job waits, the class of the next arrival is visited; backfilled jobs may be in service
      then. On one-or-all this is MSFQ(l, "always").

    The statements about one-or-all hold if no two events are simultaneous.

    Args:
        threshold: one l for all, in servers, from 0 to k: l_i = min(c_i - 1, floor(l / n_i)).
        thresholds: or l_i in jobs, one for each class in the order of the system, 0 to c_i - 1. If
            neither is given, l_i = c_i - 1: the first idle slot makes the swap due.
        order: the cycle, every class once, by name or by position in the system (from 0). By
            default from the largest need to the smallest.
        drain: "overlap" or "exclusive".
        backfill, overrun: during a drain for class j, jobs of another class h start if they
            probably end by D, the time at which a job of class j is expected to start: if
            P(S_h > D) <= backfill, or if at most `overrun` jobs, including future backfilled ones,
            are expected to outlast D. With "overlap" a drain is the time in which the class visited
            waits for servers that others hold. With "exclusive" class j is the next of the cycle
            with a waiting job; as backfilled jobs may outlast the drain, a swap is due only if
            class i is alone in service or no job of it waits.
        believed: factors by which the policy overestimates the sizes of the classes.

    Source: the paper, section "Static Quickswap" ("exclusive" is its text).
    """

    name: ClassVar[str] = "static-quickswap"
    title: ClassVar[str] = "Static Quickswap"
    lists: ClassVar[tuple[str, ...]] = ("thresholds", "order", "believed")
    drains: ClassVar[tuple[str, ...]] = ("overlap", "exclusive")

    threshold: int | None = None
    thresholds: tuple[int, ...] | None = None
    order: tuple[int | str, ...] | None = None
    drain: str = "overlap"
    backfill: float = 0.0
    overrun: float = 0.0
    believed: tuple[float, ...] | None = None

    def __init__(
        self,
        threshold: int | None = None,
        thresholds: Iterable[int] | None = None,
        order: Iterable[int | str] | None = None,
        drain: str = "overlap",
        backfill: float | None = 0.0,
        overrun: float | None = 0.0,
        believed: Iterable[float] | None = None,
    ) -> None:
        if threshold is not None and thresholds is not None:
            raise PolicyError(
                "StaticQuickswap takes threshold or thresholds, not both.",
                argument="thresholds of Static Quickswap",
                given=thresholds,
                allowed="None if threshold is given",
            )
        if threshold is not None:
            threshold = _natural(threshold, "threshold of Static Quickswap")
        if thresholds is not None:
            what = "thresholds of Static Quickswap"
            thresholds = tuple(
                _natural(each, f"an item of {what}") for each in _items(thresholds, what)
            )
        if order is not None:
            what = "order of Static Quickswap"
            order = tuple(
                each if isinstance(each, str) else _natural(each, f"each position in {what}")
                for each in _items(order, what)
            )
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "drain", choice(drain, "drain of Static Quickswap", self.drains))
        _set_backfilling(self, backfill, overrun, believed)

    def _parameters(self, system: System) -> dict[str, object]:
        return {
            "drain": self.drain,
            "order": self._cycle(system),
            "thresholds": self._slots(system),
            **_backfilling(self, system),
        }

    def _cycle(self, system: System) -> list[int]:
        """Return the positions of the classes in the order of the visits."""
        classes = range(len(system.classes))
        if self.order is None:
            return sorted(classes, key=lambda i: -system.needs[i])
        positions = {name: i for i, name in enumerate(system.names)}
        cycle = []
        for each in self.order:
            if isinstance(each, str) and each not in positions:
                what = "class in the order of Static Quickswap"
                unknown(what, each, positions, PolicyError, argument=what)
            cycle.append(positions[each] if isinstance(each, str) else each)
        if sorted(cycle) != list(classes):
            last, number = len(classes) - 1, counted(len(classes), "class")
            allowed = f"an order of all {number}, by name or by position from 0 to {last}"
            raise invalid("order of Static Quickswap", list(self.order), allowed, PolicyError)
        return cycle

    def _slots(self, system: System) -> list[int]:
        """Return l_i of each class, in jobs."""
        most = [system.servers // need - 1 for need in system.needs]
        if self.threshold is not None:
            what = "threshold of Static Quickswap"
            servers = whole(self.threshold, what, 0, system.servers, PolicyError)
            return [min(servers // need, top) for need, top in zip(system.needs, most, strict=True)]
        if self.thresholds is None:
            return most
        if len(self.thresholds) != len(most):
            what = "number of thresholds of Static Quickswap"
            allowed = f"{len(most)}, one for each class"
            raise invalid(what, len(self.thresholds), allowed, PolicyError)
        rows = zip(system.names, self.thresholds, most, strict=True)
        return [
            whole(slots, f"threshold of Static Quickswap for class {name!r}", 0, top, PolicyError)
            for name, slots, top in rows
        ]

    def _details(self) -> list[str]:
        details = [] if self.threshold is None else [f"{self.threshold}"]
        if self.thresholds is not None:
            details.append("thresholds " + "+".join(map(str, self.thresholds)))
        if self.order is not None:
            details.append("order " + "+".join(map(str, self.order)))
        drain = [] if self.drain == "overlap" else [self.drain]
        return [*details, *drain, *_backfilling_details(self)]


@final
@dataclass(frozen=True, slots=True)
class AdaptiveQuickswap(Policy):
    """Most servers first, until no class in service has a waiting job.

    Working: start the oldest job of the largest need that fits. After each round of starts the swap
    is triggered if a class waits that is not in service, and no class in service has a waiting job.
    Draining: no job starts except the one of the largest need among the waiting jobs; when it
    starts, the policy is working again.

    With `overrun` or `backfill`, while draining for a job b, a job of another class j that fits
    starts if it is likely to complete within D, the expected time until b fits given the ages of
    the jobs in service. With P_i = P(S_i > D), the condition for exponential sizes is
    P_j + D sum_i lambda_i min(P_i, P_j) <= overrun, where the left side is the expected number of
    jobs that outlast D, or P_j <= backfill. The job with the largest need starts first.

    Source: the paper, section "Adaptive Quickswap".
    """

    name: ClassVar[str] = "adaptive-quickswap"
    title: ClassVar[str] = "Adaptive Quickswap"

    lists: ClassVar[tuple[str, ...]] = ("believed",)

    backfill: float = 0.0
    overrun: float = 0.0
    believed: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _set_backfilling(self, self.backfill, self.overrun, self.believed)

    def _parameters(self, system: System) -> dict[str, object]:
        return _backfilling(self, system)

    def _details(self) -> list[str]:
        return _backfilling_details(self)


_Backfills = MSFQ | StaticQuickswap | AdaptiveQuickswap


def _set_backfilling(
    policy: _Backfills, backfill: object, overrun: object, believed: object
) -> None:
    found = Backfilling.of(type(policy).__name__, backfill, overrun, believed)
    for name in ("backfill", "overrun", "believed"):
        object.__setattr__(policy, name, getattr(found, name))


def _backfilling(policy: _Backfills, system: System) -> dict[str, object]:
    return Backfilling(policy.backfill, policy.overrun, policy.believed).parameters(system)


def _backfilling_details(policy: _Backfills) -> list[str]:
    return Backfilling(policy.backfill, policy.overrun, policy.believed).details()


def _natural(value: object, what: str) -> int:
    return whole(value, what, 0, None, PolicyError)


def _items(values: object, what: str) -> list[object]:
    """Return the items of a list, tuple or array."""
    given = items(values)
    if given is None:
        raise invalid(what, values, "a list", PolicyError)
    return given
