"""How long points take: a guess from their inputs, corrected by those that have run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from quickswap.experiments.point import Point

__all__ = ["Costs"]

NANOSECONDS = {"jumps": 100.0, "events": 400.0}
"""Of a job, before anything has been measured."""
FIXED = 0.01
"""Seconds of a point without jobs: its setup and its estimates."""
RARE = 4.0
"""Jobs that a relative half-width of 1 takes on an idle system; as 1 / precision^2 beyond."""
HIGHEST = 0.99
"""Load from which on the jobs of a precision grow no further: unstable points end early."""
FIRST = 200_000
"""Least jobs of a run with a precision: two rounds."""


@dataclass
class Costs:
    """Seconds of points, by policy, engine and number of classes."""

    _seconds: dict[tuple[str, str, int], float] = field(default_factory=lambda: defaultdict(float))
    _work: dict[tuple[str, str, int], float] = field(default_factory=lambda: defaultdict(float))

    def expected(self, point: Point) -> float:
        """Return the seconds that a point will take."""
        kind = _kind(point)
        if self._work[kind] > 0:
            return self._seconds[kind] / self._work[kind] * work(point)
        work_done = sum(self._work.values())
        factor = sum(self._seconds.values()) / work_done if work_done else 1.0
        return factor * work(point)

    def learn(self, point: Point, seconds: float) -> None:
        """Take note of the seconds that a point took."""
        self._seconds[_kind(point)] += seconds
        self._work[_kind(point)] += work(point)


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


def _kind(point: Point) -> tuple[str, str, int]:
    inputs = point.inputs
    return inputs.policy.partition(":")[0], inputs.engine, len(inputs.system["classes"])
