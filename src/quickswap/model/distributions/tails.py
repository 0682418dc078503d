"""Distributions of large variability: lognormal, Weibull, Pareto and bounded Pareto."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self, final

from quickswap.errors import ModelError, invalid
from quickswap.model.distributions.base import Distribution, exp, expm1, power


@final
@dataclass(frozen=True, slots=True, init=False)
class LogNormal(Distribution):
    """e^Z with Z normal of mean `mu` and standard deviation `sigma`. Also `(mean, scv)`."""

    kind: ClassVar[str] = "lognormal"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("mu", "sigma"), ("mean", "scv"))

    mu: float
    sigma: float

    def __init__(
        self,
        mu: float | None = None,
        sigma: float | None = None,
        *,
        mean: float | None = None,
        scv: float | None = None,
    ) -> None:
        if self._form(mu=mu, sigma=sigma, mean=mean, scv=scv) == ("mean", "scv"):
            log_variance = math.log1p(self._positive("scv", scv))
            mu = math.log(self._positive("mean", mean)) - log_variance / 2
            sigma = math.sqrt(log_variance)
        self._store(mu=self._number("mu", mu), sigma=self._positive("sigma", sigma))

    @property
    def mean(self) -> float:
        return exp(self.mu + self.sigma**2 / 2)

    @property
    def var(self) -> float:
        return expm1(self.sigma**2) * exp(2 * self.mu + self.sigma**2)

    def moment(self, order: int) -> float:
        return exp(order * self.mu + (order * self.sigma) ** 2 / 2)

    @property
    def mean_inverse(self) -> float:
        return exp(self.sigma**2 / 2 - self.mu)

    def isf(self, probability: float) -> float:
        from scipy.special import ndtri

        return exp(self.mu - self.sigma * float(ndtri(probability)))

    def sf(self, x: float) -> float:
        return math.erfc((math.log(x) - self.mu) / self.sigma / math.sqrt(2)) / 2 if x > 0 else 1.0

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.mu + math.log(factor), self.sigma)


@final
@dataclass(frozen=True, slots=True, init=False)
class Weibull(Distribution):
    """Weibull with P(S > x) = e^(-(x/scale)^shape). Also `(shape, mean)`."""

    kind: ClassVar[str] = "weibull"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("shape", "scale"), ("shape", "mean"))

    shape: float
    scale: float

    def __init__(
        self, shape: float, scale: float | None = None, *, mean: float | None = None
    ) -> None:
        form = self._form(shape=shape, scale=scale, mean=mean)
        shape = self._positive("shape", shape)
        if "mean" in form:
            scale = self._positive("mean", mean) * exp(-math.lgamma(1 + 1 / shape))
        self._store(shape=shape, scale=self._positive("scale", scale))

    @property
    def mean(self) -> float:
        return self.scale * exp(math.lgamma(1 + 1 / self.shape))

    @property
    def var(self) -> float:
        ratio = math.lgamma(1 + 2 / self.shape) - 2 * math.lgamma(1 + 1 / self.shape)
        return self.mean * self.mean * expm1(ratio)

    def moment(self, order: int) -> float:
        return power(self.scale, order) * exp(math.lgamma(1 + order / self.shape))

    @property
    def mean_inverse(self) -> float:
        return math.gamma(1 - 1 / self.shape) / self.scale if self.shape > 1 else math.inf

    def isf(self, probability: float) -> float:
        return self.scale * math.pow(-math.log(probability), 1 / self.shape)

    def sf(self, x: float) -> float:
        return exp(-exp(self.shape * math.log(x / self.scale))) if x > 0 else 1.0

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.shape, factor * self.scale)


@final
@dataclass(frozen=True, slots=True, init=False)
class Pareto(Distribution):
    """Pareto with P(S > x) = (scale/x)^shape for x >= scale, the minimum. Also `(shape, mean)`.

    A finite mean requires a shape above 1 (others are rejected), a finite variance a shape above 2.
    """

    kind: ClassVar[str] = "pareto"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("shape", "scale"), ("shape", "mean"))

    shape: float
    scale: float

    def __init__(
        self, shape: float, scale: float | None = None, *, mean: float | None = None
    ) -> None:
        form = self._form(shape=shape, scale=scale, mean=mean)
        shape = self._positive("shape", shape)
        if shape <= 1:
            raise ModelError(
                f"Pareto of shape {shape:g} has no finite mean: take a shape above 1, or "
                "BoundedPareto.",
                ("shape",),
                argument="shape of Pareto",
                given=shape,
                allowed="above 1",
                advice="take a shape above 1, or BoundedPareto",
            )
        if "mean" in form:
            scale = self._positive("mean", mean) * (shape - 1) / shape
        self._store(shape=shape, scale=self._positive("scale", scale))

    @property
    def mean(self) -> float:
        return self.scale * self.shape / (self.shape - 1)

    @property
    def var(self) -> float:
        if self.shape <= 2:
            return math.inf
        return self.scale**2 * self.shape / ((self.shape - 1) ** 2 * (self.shape - 2))

    def moment(self, order: int) -> float:
        if self.shape <= order:
            return math.inf
        return self.shape / (self.shape - order) * power(self.scale, order)

    @property
    def mean_inverse(self) -> float:
        return self.shape / ((self.shape + 1) * self.scale)

    def isf(self, probability: float) -> float:
        return self.scale * math.pow(probability, -1 / self.shape)

    def sf(self, x: float) -> float:
        return math.pow(self.scale / max(x, self.scale), self.shape)

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.shape, factor * self.scale)


@final
@dataclass(frozen=True, slots=True, init=False)
class BoundedPareto(Distribution):
    """Density proportional to x^(-shape-1) for low <= x <= high, with any positive shape."""

    kind: ClassVar[str] = "bounded_pareto"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("shape", "low", "high"),)

    shape: float
    low: float
    high: float

    def __init__(self, shape: float, low: float, high: float) -> None:
        shape, low, high = (
            self._positive("shape", shape),
            self._positive("low", low),
            self._positive("high", high),
        )
        if low >= high:
            raise invalid("low of BoundedPareto", low, f"below its high, {high:g}")
        self._store(shape=shape, low=low, high=high)

    def moment(self, order: int) -> float:
        span = math.log(self.high / self.low)  # negative orders exist too
        return (
            power(self.low, order)
            * _integral(order - self.shape, span)
            / _integral(-self.shape, span)
        )

    @property
    def mean(self) -> float:
        return self.moment(1)

    @property
    def var(self) -> float:
        return max(0.0, self.moment(2) - self.mean * self.mean)

    @property
    def mean_inverse(self) -> float:
        return self.moment(-1)

    def isf(self, probability: float) -> float:
        least = math.pow(self.low / self.high, self.shape)  # P(S > x) + a (1 - P) = (low/x)^shape
        return self.low * math.pow(probability + (1 - probability) * least, -1 / self.shape)

    def sf(self, x: float) -> float:
        if x >= self.high:
            return 0.0
        x = max(x, self.low)
        left, span = math.log(self.high / x), math.log(self.high / self.low)
        above = math.pow(self.low / x, self.shape)
        return above * math.expm1(-self.shape * left) / math.expm1(-self.shape * span)

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.shape, factor * self.low, factor * self.high)


def _integral(power: float, span: float) -> float:
    """Integrate e^(power t) for t from 0 to span, without cancellation near power = 0."""
    return expm1(power * span) / power if power != 0 else span
