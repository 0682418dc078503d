"""A class of jobs: need, size distribution and arrival process."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Self, final, overload

from quickswap._check import check_keys, positive, whole
from quickswap.errors import InfiniteVarianceWarning, ModelError, inside, invalid, shown
from quickswap.model.arrivals import Arrivals, Poisson
from quickswap.model.distributions import Distribution

__all__ = ["JobClass"]

KEYS = ("name", "need", "size", "arrivals", "arrival_rate", "estimate")
LEAST, MOST = 1e-100, 1e100
"""Bounds of mean sizes and arrival rates, whose squares and ratios are still floats."""


@final
@dataclass(frozen=True, slots=True, init=False)
class JobClass:
    """Jobs that need the same number of servers and draw their sizes from the same distribution.

    Args:
        need: servers that a job holds while it runs, from 1 to the servers of the system.
        arrival_rate: jobs per second, for Poisson arrivals; give this or `arrivals`.
        size: the distribution of the job size, in seconds.
        name: name of the class in tables; by default `System` names it after its need.
        arrivals: the arrival process, if it is not Poisson.
        estimate: the distribution of the ratio of a job's estimate to its size, as in
            `Uniform(1, 5)`, for policies that use estimates; by default estimates are exact.

    Raises:
        ModelError: a value out of range.

    Warns:
        InfiniteVarianceWarning: the variance of the size is infinite, or its third moment, so
            the variance of the waiting time can be infinite.
    """

    need: int
    arrivals: Arrivals
    size: Distribution
    name: str | None
    estimate: Distribution | None

    @overload
    def __init__(
        self,
        need: int,
        arrival_rate: float,
        size: Distribution,
        name: str | None = None,
        *,
        estimate: Distribution | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        need: int,
        *,
        size: Distribution,
        name: str | None = None,
        arrivals: Arrivals,
        estimate: Distribution | None = None,
    ) -> None: ...

    def __init__(
        self,
        need: int,
        arrival_rate: float | None = None,
        size: Distribution | None = None,
        name: str | None = None,
        arrivals: Arrivals | None = None,
        *,
        estimate: Distribution | None = None,
    ) -> None:
        with inside("need"):
            object.__setattr__(self, "need", whole(need, "need of a job class", 1))
        object.__setattr__(self, "arrivals", _arrivals(arrival_rate, arrivals))
        with inside("size"):
            object.__setattr__(self, "size", _size(size))
        with inside("name"):
            if name is not None and (not isinstance(name, str) or not name.strip()):
                raise invalid("name of a job class", name, "a text that is not empty")
            object.__setattr__(self, "name", name)
        with inside("estimate"):
            if estimate is not None and not isinstance(estimate, Distribution):
                allowed = "a distribution of the ratio of estimate to size, as in Uniform(1, 5)"
                raise invalid("estimate", estimate, allowed)
            object.__setattr__(self, "estimate", estimate)

    @property
    def arrival_rate(self) -> float:
        """Long-run arrivals per second."""
        return self.arrivals.rate

    def _altered(self, **fields: object) -> Self:
        """Return a copy with some fields replaced by checked values, without warning again."""
        other = copy(self)
        for name, value in fields.items():
            object.__setattr__(other, name, value)
        return other

    def _faster(self, factor: float) -> Self:
        """Return the class with its arrival rate multiplied by `factor`."""
        return self._altered(arrivals=_arrivals(None, self.arrivals.scaled(factor)))

    @property
    def work(self) -> float:
        """Server-seconds that arrive per second, need x rate x mean size: the servers kept busy."""
        return self.need * self.arrival_rate * self.size.mean

    def to_dict(self) -> dict[str, object]:
        """Return the form written to JSON and TOML; without `name` and `estimate` if None."""
        name = {} if self.name is None else {"name": self.name}
        parts = {"size": self.size.to_dict(), "arrivals": self.arrivals.to_dict()}
        estimate = {} if self.estimate is None else {"estimate": self.estimate.to_dict()}
        return {**name, "need": self.need, **parts, **estimate}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Build a class from the form of `to_dict`, or with `arrival_rate` instead of `arrivals`.

        Raises:
            ModelError: an unknown or missing key, or a value out of range.
        """
        if not isinstance(data, Mapping):
            raise invalid("the class", data, "a table")
        check_keys(data, "a class", KEYS, required=("need", "size"))
        parts = dict(data)
        readers: dict[str, Callable[[Any], object]] = {
            "size": Distribution.from_dict,
            "arrivals": Arrivals.from_dict,
            "estimate": Distribution.from_dict,
        }
        for key, read in readers.items():
            if key in parts:
                with inside(key):
                    parts[key] = read(parts[key])
        build: Callable[..., Self] = cls
        return build(**parts)


def _arrivals(rate: object, arrivals: object) -> Arrivals:
    """Return the arrival process from either argument."""
    if (rate is None) == (arrivals is None):
        raise ModelError(
            "a job class takes either arrival_rate or arrivals",
            argument="arrivals",
            given=arrivals,
            advice="give one of them" if arrivals is None else "omit one of them",
        )
    if arrivals is None:
        with inside("arrival_rate"):
            rate = positive(rate, "arrival_rate of a job class")
            _in_range(rate, "arrival_rate of a job class", "jobs per second")
            return Poisson(rate)
    if not isinstance(arrivals, Arrivals):
        with inside("arrivals"):
            raise invalid("arrivals", arrivals, "a process such as Poisson(1.0)")
    with inside("arrivals"):
        _in_range(arrivals.rate, "the rate of arrivals", "jobs per second")
    return arrivals


def _in_range(value: float, what: str, unit: str) -> None:
    if not LEAST <= value <= MOST:
        allowed = f"from {LEAST:g} to {MOST:g} {unit}"
        raise invalid(what, value, allowed, advice="use another unit of time")


def _size(size: object) -> Distribution:
    """Return the distribution of sizes; warn if its variance is infinite."""
    if not isinstance(size, Distribution):
        advice = "pass Tabulated.of(size)" if hasattr(size, "isf") else ""
        allowed = "a distribution such as Exponential(mean=1.0)"
        raise invalid("size", size, allowed, advice=advice)
    _in_range(size.mean, "the mean size", "seconds")
    if math.isinf(size.moment(3)):
        what, affected = "third moment", "waiting times can have infinite variance"
        if math.isinf(size.var):
            what, affected = "variance", "mean waiting times can be infinite"
        warnings.warn(
            f"the size {shown(size)} has infinite {what}: {affected}, and estimates of them have "
            "no interval.",
            InfiniteVarianceWarning,
            stacklevel=3,
        )
    return size
