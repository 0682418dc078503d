"""How far a sweep has come, and what became of its points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final, overload

from quickswap.simulation.result import Result
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure
from quickswap.sweeps.store import Store

__all__ = ["Advance", "Outcomes"]


@dataclass(frozen=True, slots=True)
class Advance:
    """How far a sweep has come.

    Attributes:
        done: points that have ended, those found in the store included.
        points: all points.
        share: of the work that there was to do at the start, by expected seconds, 0 to 1.
        seconds_left: as it looks now; nan while nothing is known.
    """

    done: int
    points: int
    share: float
    seconds_left: float


@final
@dataclass(frozen=True)
class Outcomes(Sequence["Result | Failure"]):
    """What became of the points, in their order; read from the store when it is asked for.

    Attributes:
        points: as they were given.
        store: that holds the results.
        failures: by key; with an interrupted sweep also those that have not run.
        ran: points that were run now, and not found in the store.
    """

    points: tuple[Point, ...]
    store: Store
    failures: dict[str, Failure]
    ran: int

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> Result | Failure: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result | Failure]: ...
    def __getitem__(self, index: int | slice) -> Result | Failure | list[Result | Failure]:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        point = self.points[index]
        failure = self.failures.get(point.key)
        return self.store[point] if failure is None else failure

    @property
    def results(self) -> list[Result]:
        """The results of all points that have one, in their order."""
        return [each for each in self if isinstance(each, Result)]
