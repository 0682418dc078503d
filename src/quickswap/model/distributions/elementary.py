"""Elementary distributions: deterministic, uniform, empirical."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Self, final

from quickswap._check import numbers
from quickswap.errors import inside, invalid
from quickswap.model.distributions.base import Distribution, power


@final
@dataclass(frozen=True, slots=True, init=False)
class Deterministic(Distribution):
    """Constant `value`, in seconds. Also `Deterministic(mean=...)`."""

    kind: ClassVar[str] = "deterministic"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("value",), ("mean",))

    value: float

    def __init__(self, value: float | None = None, *, mean: float | None = None) -> None:
        form = self._form(value=value, mean=mean)
        self._store(value=self._positive(form[0], value if mean is None else mean))

    @property
    def mean(self) -> float:
        return self.value

    @property
    def var(self) -> float:
        return 0.0

    def moment(self, order: int) -> float:
        return power(self.value, order)

    @property
    def mean_inverse(self) -> float:
        return 1 / self.value

    def isf(self, probability: float) -> float:
        return self.value

    def sf(self, x: float) -> float:
        return float(self.value > x)

    def _scaled(self, factor: float) -> Self:
        return type(self)(factor * self.value)


@final
@dataclass(frozen=True, slots=True, init=False)
class Uniform(Distribution):
    """Uniform between `low` and `high` seconds. `Uniform(mean=m)` is uniform between 0 and 2 m."""

    kind: ClassVar[str] = "uniform"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("low", "high"), ("mean",))

    low: float
    high: float

    def __init__(
        self, low: float | None = None, high: float | None = None, *, mean: float | None = None
    ) -> None:
        if self._form(low=low, high=high, mean=mean) == ("mean",):
            low, high = 0.0, 2 * self._positive("mean", mean)
        low, high = self._number("low", low, 0.0), self._positive("high", high)
        if low > high:
            raise invalid("low of Uniform", low, f"at most its high, {high:g}")
        self._store(low=low, high=high)

    @property
    def mean(self) -> float:
        return self.low + (self.high - self.low) / 2

    @property
    def var(self) -> float:
        return (self.high - self.low) ** 2 / 12

    def moment(self, order: int) -> float:
        # Gauss-Legendre quadrature with n points is exact for polynomials of degree 2 n - 1
        from numpy.polynomial.legendre import leggauss

        points, weights = leggauss(order // 2 + 1)
        middle, half = self.mean, (self.high - self.low) / 2
        return (
            _sum(w * power(middle + half * x, order) for x, w in zip(points, weights, strict=True))
            / 2
        )

    @property
    def mean_inverse(self) -> float:
        if self.low == 0:
            return math.inf
        width = self.high - self.low
        return math.log1p(width / self.low) / width if width > 0 else 1 / self.low

    def isf(self, probability: float) -> float:
        return self.high - probability * (self.high - self.low)

    def sf(self, x: float) -> float:
        if x < self.low:
            return 1.0
        return (self.high - x) / (self.high - self.low) if x < self.high else 0.0

    def _scaled(self, factor: float) -> Self:
        return type(self)(factor * self.low, factor * self.high)


@final
@dataclass(frozen=True, slots=True, init=False)
class Empirical(Distribution):
    """One of `values` (seconds, 0 allowed), with probability proportional to its weight.

    `values` and `weights` have the same length. Weights are equal by default; they are at least 0
    and need not add up to 1.
    """

    kind: ClassVar[str] = "empirical"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("values", "weights"), ("values",))

    values: tuple[float, ...]
    weights: tuple[float, ...]
    # These moments are computed once, as they require a pass over the values.
    _mean: float = field(init=False, repr=False, compare=False)
    _var: float = field(init=False, repr=False, compare=False)

    def __init__(self, values: Iterable[float], weights: Iterable[float] | None = None) -> None:
        with inside("values"):
            points = numbers(values, "values of Empirical", 0.0)
        with inside("weights"):
            given = (1.0,) * len(points) if weights is None else weights
            masses = numbers(given, "weights of Empirical", 0.0)
            if len(masses) != len(points):
                allowed = f"{len(points)}, one for each value"
                raise invalid("number of weights of Empirical", len(masses), allowed)
            total = _sum(masses)
            if not 0 < total < math.inf:
                raise invalid("sum of the weights of Empirical", total, "positive and finite")
        pairs = [(x, w) for x, w in zip(points, masses, strict=True) if w > 0]
        mean = _sum(w * x for x, w in pairs) / total
        variance = _sum(w * ((x - mean) * (x - mean)) for x, w in pairs) / total
        self._store(values=points, weights=masses, _mean=mean, _var=variance)

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def var(self) -> float:
        return self._var

    def moment(self, order: int) -> float:
        pairs = zip(self.values, self.weights, strict=True)
        return _sum(w * power(x, order) for x, w in pairs if w > 0) / _sum(self.weights)

    @property
    def mean_inverse(self) -> float:
        pairs = [(x, w) for x, w in zip(self.values, self.weights, strict=True) if w > 0]
        if any(x == 0 for x, _ in pairs):
            return math.inf
        return math.fsum(w / x for x, w in pairs) / math.fsum(self.weights)

    def isf(self, probability: float) -> float:
        pairs = sorted(zip(self.values, self.weights, strict=True), reverse=True)
        allowed, above = probability * _sum(self.weights), 0.0
        for value, weight in pairs:
            above += weight
            if above > allowed:
                return value
        return pairs[-1][0]

    def sf(self, x: float) -> float:
        above = (w for each, w in zip(self.values, self.weights, strict=True) if each > x)
        return _sum(above) / _sum(self.weights)

    def _scaled(self, factor: float) -> Self:
        return type(self)([factor * x for x in self.values], self.weights)


def _sum(values: Iterable[float]) -> float:
    """Return the sum, correctly rounded, or `inf` if it overflows."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf
