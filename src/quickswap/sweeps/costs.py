"""How long points take, and are still to take: a guess, corrected by those that have run."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from quickswap.sweeps.point import Point

__all__ = ["Clock", "Costs", "Kind", "kind_of", "work"]

NANOSECONDS = {"jumps": 100.0, "events": 400.0}
"""Of a job, before anything has been measured."""
FIXED = 0.01
"""Seconds of a point without jobs: its setup and its estimates."""
RARE = 50.0
"""Jobs that a relative half-width of 1 takes on an idle system; as 1 / precision^2 beyond.

From 10 to 130 on four classes and on one-or-all with 8 servers, at loads from .3 to .9, and ten
times that on 32 servers.
"""
HIGHEST = 0.99
"""Load from which on the jobs of a precision grow no further: unstable points end early."""
FIRST = 200_000
"""Least jobs of a run with a precision: two rounds."""


Kind = tuple[str, str, int]
"""Policy, engine and number of classes: what the seconds of a job depend on most."""


@dataclass
class Costs:
    """Seconds that a unit of work takes, by kind of point; 1 until some have run."""

    _seconds: dict[Kind, float] = field(default_factory=lambda: defaultdict(float))
    _work: dict[Kind, float] = field(default_factory=lambda: defaultdict(float))

    def rate(self, kind: Kind) -> float:
        """Return the seconds of a unit of work of a kind, or of all if none of it has run."""
        if self._work.get(kind):
            return self._seconds[kind] / self._work[kind]
        total = sum(self._work.values())
        return sum(self._seconds.values()) / total if total else 1.0

    def expected(self, point: Point) -> float:
        """Return the seconds that a point will take."""
        return self.rate(kind_of(point)) * work(point)

    def learn(self, point: Point, seconds: float) -> None:
        """Take note of the seconds that a point took."""
        kind = kind_of(point)
        self._seconds[kind] += seconds
        self._work[kind] += work(point)


def work(point: Point) -> float:
    """Return the seconds of a point as they can be guessed before any has run.

    With a precision the jobs grow as 1 / (precision (1 - load))^2, up to those allowed: as the
    variance of a mean does in heavy traffic (Whitt, Management Science 35 (1989), 1341-1366).
    """
    inputs = point.inputs
    jobs = float(inputs.jobs)
    if inputs.precision is not None:
        gap = 1 - min(point.system.load, HIGHEST)
        jobs = min(jobs, max(FIRST, RARE / (inputs.precision * gap) ** 2))
    return FIXED + jobs * NANOSECONDS[inputs.engine] * 1e-9


def kind_of(point: Point) -> Kind:
    """Return the kind of a point."""
    inputs = point.inputs
    return inputs.policy.partition(":")[0], inputs.engine, len(inputs.system["classes"])


class Clock:
    """How much of a sweep is done, and how long the rest will take, as the costs are known so far.

    The time left is the time passed, times the work left over the work done: it knows no number of
    workers, and so is right for any. It is at least that of the longest point that is watched.
    """

    def __init__(self, costs: Costs, todo: Mapping[str, Point]) -> None:
        self._costs = costs
        self._works = {key: (kind_of(point), work(point)) for key, point in todo.items()}
        self._all: dict[Kind, float] = defaultdict(float)
        for kind, amount in self._works.values():
            self._all[kind] += amount
        self._left = dict(self._all)
        self._open = set(self._works)
        self._share = 0.0
        self._begun = time.monotonic()

    def heaviest_first(self) -> list[str]:
        """Return the keys, those of the longest points first."""
        rates = {kind: self._costs.rate(kind) for kind in self._all}
        works = self._works.items()
        return [key for _, key in sorted((-rates[kind] * size, key) for key, (kind, size) in works)]

    def end(self, key: str) -> None:
        """Note that a point has ended."""
        if key in self._open:
            self._open.remove(key)
            kind, amount = self._works[key]
            self._left[kind] -= amount

    def read(self, shares: Mapping[str, float]) -> tuple[float, float]:
        """Return the share of the work that is done, and the seconds left, nan if unknown.

        Args:
            shares: of points that are under way, how much of each is done.
        """
        if not self._open:
            return 1.0, 0.0
        rates = {kind: self._costs.rate(kind) for kind in self._all}
        whole = sum(rates[kind] * amount for kind, amount in self._all.items())
        left = sum(rates[kind] * amount for kind, amount in self._left.items())
        longest = 0.0
        for key, share in list(shares.items()):
            if key in self._open:
                kind, amount = self._works[key]
                left -= share * rates[kind] * amount
                longest = max(longest, (1 - share) * rates[kind] * amount)
        done = whole - left
        self._share = min(1.0, max(self._share, done / whole))
        if not done > 1e-9 * whole:
            return self._share, math.nan
        passed = time.monotonic() - self._begun
        measured = len(self._open) < len(self._works)
        return self._share, max(passed * left / done, longest if measured else 0.0)
