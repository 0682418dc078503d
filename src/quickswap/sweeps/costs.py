"""The expected run time of points, corrected as points end, and shards of equal expected time."""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quickswap.errors import QuickswapError, invalid
from quickswap.sweeps.point import Point

__all__ = ["Clock", "Costs", "Kind", "expected_work", "kind_of", "read_shard", "shard_of"]

NANOSECONDS = {"jumps": 100.0, "events": 400.0}
"""Of a job, before anything has been measured."""
FIXED = 0.01
"""Seconds of a point without jobs: its setup and its estimates."""
JOBS_AT_UNIT_PRECISION = 50.0
"""Jobs that a relative half-width of 1 takes on an idle system.

From 10 to 130 on four classes and on one-or-all with 8 servers, at loads from 0.3 to 0.9, and ten
times that on 32 servers.
"""
MAX_LOAD = 0.99
"""Load above which the expected jobs no longer grow: unstable points end early."""
MIN_JOBS = 200_000
"""Jobs of the shortest run with a precision: two rounds."""
MAX_SHARDS = 100_000


Kind = tuple[str, str, int]
"""Policy, engine and number of classes: the main factors of the run time of a job."""


@dataclass
class Costs:
    """Seconds that a unit of work takes, by kind of point; 1 until some points have run."""

    _seconds: dict[Kind, float] = field(default_factory=lambda: defaultdict(float))
    _work: dict[Kind, float] = field(default_factory=lambda: defaultdict(float))

    def rate(self, kind: Kind) -> float:
        """Return the seconds of a unit of work of a kind, or of all kinds if none of it has run."""
        if self._work.get(kind):
            return self._seconds[kind] / self._work[kind]
        total = sum(self._work.values())
        return sum(self._seconds.values()) / total if total else 1.0

    def learn(self, point: Point, seconds: float) -> None:
        """Record the run time of a point."""
        kind = kind_of(point)
        self._seconds[kind] += seconds
        self._work[kind] += expected_work(point)


def expected_work(point: Point) -> float:
    """Return the run time of a point, in seconds, as expected before any point has run.

    With a precision the jobs grow as 1 / (precision (1 - load))^2, up to those allowed: as the
    variance of a mean does in heavy traffic (Whitt, Management Science 35 (1989), 1341-1366).
    """
    inputs = point.inputs
    jobs = float(inputs.jobs)
    if inputs.precision is not None:
        gap = 1 - min(point.system.load, MAX_LOAD)
        jobs = min(jobs, max(MIN_JOBS, JOBS_AT_UNIT_PRECISION / (inputs.precision * gap) ** 2))
    return FIXED + jobs * NANOSECONDS[inputs.engine] * 1e-9


def kind_of(point: Point) -> Kind:
    """Return the kind of a point."""
    return point.policy.name, point.inputs.engine, len(point.system.classes)


class Clock:
    """The share of a sweep that is done, and the time left, by the present estimate of the costs.

    The time left is the time elapsed, times the work left over the work done. It does not depend on
    the number of workers. It is at least that of the longest point that reports its progress.
    """

    def __init__(self, costs: Costs, todo: Mapping[str, Point]) -> None:
        self._costs = costs
        self._works = {key: (kind_of(point), expected_work(point)) for key, point in todo.items()}
        self._all: dict[Kind, float] = defaultdict(float)
        for kind, amount in self._works.values():
            self._all[kind] += amount
        self._left = dict(self._all)
        self._open = set(self._works)
        self._share = 0.0
        self._start = time.monotonic()

    def longest_first(self) -> list[str]:
        """Return the keys, those of the longest points first."""
        rates = {kind: self._costs.rate(kind) for kind in self._all}
        works = self._works.items()
        return [key for _, key in sorted((-rates[kind] * size, key) for key, (kind, size) in works)]

    def end(self, key: str) -> None:
        """Record that a point has ended."""
        if key in self._open:
            self._open.remove(key)
            kind, amount = self._works[key]
            self._left[kind] -= amount

    def read(self, shares: Mapping[str, float]) -> tuple[float, float]:
        """Return the share of the work that is done, and the seconds left, nan if unknown.

        Args:
            shares: the share of each running point that is done.
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
        elapsed = time.monotonic() - self._start
        measured = len(self._open) < len(self._works)
        return self._share, max(elapsed * left / done, longest if measured else 0.0)


def read_shard(text: object) -> tuple[int, int]:
    """Return the number of a shard and of all shards: (3, 10) for "3/10", the third of ten.

    Raises:
        QuickswapError: the text does not describe a shard.
    """
    match = (
        re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text) if isinstance(text, str) else None
    )
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= MAX_SHARDS:
        allowed = "as in '3/10', the third of ten, from '1/10' to '10/10'"
        raise invalid("shard", text, allowed, QuickswapError)
    return int(match[1]), int(match[2])


def shard_of(points: Sequence[Point], shard: str) -> list[Point]:
    """Return the points of one shard.

    The points are sorted by expected run time, the longest first, then by key, and every count-th
    of them is in one shard, so all shards take about equally long. This depends on the points
    alone: on every machine, each point belongs to one shard.
    """
    number, count = read_shard(shard)
    distinct = {point.key: point for point in points}
    order = sorted(distinct, key=lambda key: (-expected_work(distinct[key]), key))
    return [distinct[key] for key in order[number - 1 :: count]]
