"""Arrival processes that repeat in cycles, such as days: rates by time, and a list of times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self, final

from quickswap._check import numbers, positive, positives, rates_of
from quickswap.errors import inside, invalid
from quickswap.model.arrivals.base import Arrivals


@final
@dataclass(frozen=True, slots=True, init=False)
class PiecewisePoisson(Arrivals):
    """Poisson arrivals whose rate depends on the time, in cycles that begin at time 0.

    Jobs arrive at `rates[0]` per second for `durations[0]` seconds, then at `rates[1]` for
    `durations[1]` seconds, and so on; after the last the cycle begins again. A rate may be 0.
    `scaled` multiplies the rates.
    """

    process: ClassVar[str] = "piecewise"
    keys: ClassVar[tuple[str, ...]] = ("rates", "durations")

    rates: tuple[float, ...]
    durations: tuple[float, ...]

    def __init__(self, rates: Iterable[float], durations: Iterable[float]) -> None:
        with inside("rates"):
            speeds = rates_of(rates, "rates of PiecewisePoisson")
        with inside("durations"):
            times = positives(durations, "durations of PiecewisePoisson", len(speeds), "rate")
        object.__setattr__(self, "rates", speeds)
        object.__setattr__(self, "durations", times)

    @property
    def rate(self) -> float:
        return math.fsum(map(math.prod, zip(self.rates, self.durations, strict=True))) / self.cycle

    @property
    def dispersion(self) -> float:
        return 1.0

    @property
    def cycle(self) -> float:
        return math.fsum(self.durations)

    def _scaled(self, factor: float) -> Self:
        return type(self)([factor * rate for rate in self.rates], self.durations)


@final
@dataclass(frozen=True, slots=True, init=False)
class GivenArrivals(Arrivals):
    """Arrivals at given `times`, in seconds and not decreasing, repeated every `period` seconds.

    The period is at least the last time. A run of as many jobs as there are times uses the list
    once. `scaled` compresses time.
    """

    process: ClassVar[str] = "given"
    keys: ClassVar[tuple[str, ...]] = ("times", "period")

    times: tuple[float, ...]
    period: float

    def __init__(self, times: Iterable[float], period: float) -> None:
        with inside("times"):
            moments = numbers(times, "times of GivenArrivals", 0.0)
            for i, (one, other) in enumerate(pairwise(moments), start=1):
                if other < one:
                    allowed = f"at least the one before, {one:g}"
                    raise invalid(f"item {i} of times of GivenArrivals", other, allowed)
        with inside("period"):
            length = positive(period, "period of GivenArrivals")
            if length < moments[-1]:
                allowed = f"at least the last of the times, {moments[-1]:g}"
                raise invalid("period of GivenArrivals", length, allowed)
        object.__setattr__(self, "times", moments)
        object.__setattr__(self, "period", length)

    @property
    def rate(self) -> float:
        return len(self.times) / self.period

    @property
    def dispersion(self) -> float:
        return 0.0

    @property
    def cycle(self) -> float:
        return self.period

    def _scaled(self, factor: float) -> Self:
        return type(self)([time / factor for time in self.times], self.period / factor)
