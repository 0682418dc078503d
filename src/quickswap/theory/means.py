"""Mean response times as plain numbers: the part that all solutions share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from quickswap.model.system import System

__all__ = ["ClassMeans", "Means"]


@dataclass(frozen=True, slots=True)
class ClassMeans:
    """The means of one class.

    Attributes:
        name: of the class.
        need: servers.
        mean_response_time: from arrival to completion, seconds.
        number_in_system: mean number present, waiting or in service.
    """

    name: str
    need: int
    mean_response_time: float
    number_in_system: float


@dataclass(frozen=True, kw_only=True)
class Means:
    """Computed mean response times, free of statistical error.

    Attributes:
        system: the system solved.
        classes: the means of each class, in the order of the system.
    """

    system: System
    classes: tuple[ClassMeans, ...]

    @classmethod
    def of(cls, system: System, response_times: Iterable[float], **particular: object) -> Self:
        """Build from the mean response time of each class, seconds; Little's law gives the rest."""
        classes = (
            ClassMeans(str(each.name), each.need, float(time), each.arrival_rate * float(time))
            for each, time in zip(system.classes, response_times, strict=True)
        )
        return cls(system=system, classes=tuple(classes), **particular)

    @property
    def mean_response_time(self) -> float:
        """Mean over all jobs, seconds."""
        return self._average(self.system.job_shares)

    @property
    def weighted_mean_response_time(self) -> float:
        """Mean with the classes weighted by their share of the load, seconds."""
        return self._average(self.system.load_shares)

    @property
    def largest_mean_response_time(self) -> float:
        """The largest mean of a class, seconds."""
        return max(each.mean_response_time for each in self.classes)

    @property
    def number_in_system(self) -> float:
        """Mean number of jobs present."""
        return math.fsum(each.number_in_system for each in self.classes)

    def _average(self, weights: tuple[float, ...]) -> float:
        pairs = zip(weights, self.classes, strict=True)
        return math.fsum(weight * each.mean_response_time for weight, each in pairs)
