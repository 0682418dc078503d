"""The exponential distribution and its relatives: Erlang, gamma, hyperexponential."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Self, final

from quickswap._check import positives, whole
from quickswap.errors import inside
from quickswap.model.distributions.base import Distribution, power, probabilities_of


@final
@dataclass(frozen=True, slots=True, init=False)
class Exponential(Distribution):
    """Exponential of the given `mean` in seconds, or of the given `rate` per second."""

    kind: ClassVar[str] = "exponential"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("mean",), ("rate",))

    mean: float = field()

    def __init__(self, *, mean: float | None = None, rate: float | None = None) -> None:
        if self._form(mean=mean, rate=rate) == ("rate",):
            mean = 1 / self._positive("rate", rate)
        self._store(mean=self._positive("mean", mean))

    @property
    def rate(self) -> float:
        """Completions per second of a job in service, 1 / mean."""
        return 1 / self.mean

    @property
    def var(self) -> float:
        return self.mean * self.mean

    def moment(self, order: int) -> float:
        return math.factorial(order) * power(self.mean, order)

    @property
    def mean_inverse(self) -> float:
        return math.inf

    def isf(self, probability: float) -> float:
        return -self.mean * math.log(probability)

    def sf(self, x: float) -> float:
        return math.exp(-x / self.mean)

    def _scaled(self, factor: float) -> Self:
        return type(self)(mean=factor * self.mean)


@final
@dataclass(frozen=True, slots=True, init=False)
class Erlang(Distribution):
    """The sum of `phases` exponential times, `mean` seconds in all, or each of rate `rate`."""

    kind: ClassVar[str] = "erlang"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("phases", "mean"), ("phases", "rate"))

    phases: int
    mean: float = field()

    def __init__(
        self, phases: int, mean: float | None = None, *, rate: float | None = None
    ) -> None:
        form = self._form(phases=phases, mean=mean, rate=rate)
        with inside("phases"):
            phases = whole(phases, "phases of Erlang", 1)
        if "rate" in form:
            mean = phases / self._positive("rate", rate)
        self._store(phases=phases, mean=self._positive("mean", mean))

    @property
    def var(self) -> float:
        return self.mean * self.mean / self.phases

    def moment(self, order: int) -> float:
        return _gamma_moment(self.phases, self.mean / self.phases, order)

    @property
    def mean_inverse(self) -> float:
        return self.phases / (self.mean * (self.phases - 1)) if self.phases > 1 else math.inf

    def isf(self, probability: float) -> float:
        return self.mean / self.phases * _gamma_isf(self.phases, probability)

    def sf(self, x: float) -> float:
        return _gamma_sf(self.phases, x * self.phases / self.mean)

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.phases, factor * self.mean)


@final
@dataclass(frozen=True, slots=True, init=False)
class Gamma(Distribution):
    """Density proportional to x^(shape-1) e^(-x/scale). Also `(mean, scv)` and `(shape, mean)`."""

    kind: ClassVar[str] = "gamma"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("shape", "scale"),
        ("mean", "scv"),
        ("shape", "mean"),
    )

    shape: float
    scale: float

    def __init__(
        self,
        shape: float | None = None,
        scale: float | None = None,
        *,
        mean: float | None = None,
        scv: float | None = None,
    ) -> None:
        form = self._form(shape=shape, scale=scale, mean=mean, scv=scv)
        if form == ("mean", "scv"):
            shape = 1 / self._positive("scv", scv)
        shape = self._positive("shape", shape)
        if "mean" in form:
            scale = self._positive("mean", mean) / shape
        self._store(shape=shape, scale=self._positive("scale", scale))

    @property
    def mean(self) -> float:
        return self.shape * self.scale

    @property
    def var(self) -> float:
        return self.shape * self.scale**2

    def moment(self, order: int) -> float:
        return _gamma_moment(self.shape, self.scale, order)

    @property
    def mean_inverse(self) -> float:
        return 1 / (self.scale * (self.shape - 1)) if self.shape > 1 else math.inf

    def isf(self, probability: float) -> float:
        return self.scale * _gamma_isf(self.shape, probability)

    def sf(self, x: float) -> float:
        return _gamma_sf(self.shape, x / self.scale)

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.shape, factor * self.scale)


@final
@dataclass(frozen=True, slots=True, init=False)
class Hyperexponential(Distribution):
    """With probability `probabilities[i]` exponential of rate `rates[i]` per second.

    Both are sequences of the same length. `Hyperexponential(mean=m, scv=c)` with c >= 1 has two
    phases of balanced means, p1 / r1 = p2 / r2.
    """

    kind: ClassVar[str] = "hyperexponential"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("probabilities", "rates"), ("mean", "scv"))

    probabilities: tuple[float, ...]
    rates: tuple[float, ...]

    def __init__(
        self,
        probabilities: Iterable[float] | None = None,
        rates: Iterable[float] | None = None,
        *,
        mean: float | None = None,
        scv: float | None = None,
    ) -> None:
        form = self._form(probabilities=probabilities, rates=rates, mean=mean, scv=scv)
        if form == ("mean", "scv"):
            mean, scv = self._positive("mean", mean), self._number("scv", scv, 1.0)
            probabilities, rates = _balanced(mean, scv)
        weights = probabilities_of("Hyperexponential", probabilities)
        with inside("rates"):
            count = len(weights)
            speeds = positives(rates, "rates of Hyperexponential", count, "probability")
        self._store(probabilities=weights, rates=speeds)

    @property
    def mean(self) -> float:
        return math.fsum(p / r for p, r in zip(self.probabilities, self.rates, strict=True))

    @property
    def var(self) -> float:
        # variance within the phases plus variance between their means: nothing cancels
        means, mean = [1 / rate for rate in self.rates], self.mean
        phases = zip(self.probabilities, means, strict=True)
        return math.fsum(p * (m * m + (m - mean) * (m - mean)) for p, m in phases)

    def moment(self, order: int) -> float:
        phases = zip(self.probabilities, self.rates, strict=True)
        return math.factorial(order) * math.fsum(p * power(1 / r, order) for p, r in phases)

    @property
    def mean_inverse(self) -> float:
        return math.inf

    def isf(self, probability: float) -> float:
        from scipy.optimize import brentq

        phases = [(p, r) for p, r in zip(self.probabilities, self.rates, strict=True) if p > 0]
        longest = max(1 / rate for _, rate in phases)

        def excess(units: float) -> float:
            tail = math.fsum(p * math.exp(-r * longest * units) for p, r in phases)
            return tail - probability

        highest = -math.log(probability)  # the value for the longest phase alone
        if len(phases) == 1 or excess(highest) >= 0:
            return longest * highest
        return longest * float(brentq(excess, 0.0, highest, xtol=1e-300, rtol=1e-14))

    def sf(self, x: float) -> float:
        phases = zip(self.probabilities, self.rates, strict=True)
        return math.fsum(p * math.exp(-r * x) for p, r in phases)

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.probabilities, [rate / factor for rate in self.rates])


def _gamma_moment(shape: float, scale: float, order: int) -> float:
    """Return shape (shape + 1) ... (shape + order - 1) scale^order, a moment of a gamma."""
    return math.prod(shape + i for i in range(order)) * power(scale, order)


def _gamma_isf(shape: float, probability: float) -> float:
    """Return `isf` of a gamma distribution of scale 1."""
    from scipy.special import gammainccinv

    return float(gammainccinv(shape, probability))


def _gamma_sf(shape: float, x: float) -> float:
    """Return `sf` of a gamma distribution of scale 1."""
    from scipy.special import gammaincc

    return float(gammaincc(shape, x))


def _balanced(mean: float, scv: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return probabilities and rates of the two-phase distribution with balanced means (Tijms,
    1994).
    """
    root = math.sqrt((scv - 1) / (scv + 1))
    rare = 1 / ((scv + 1) * (1 + root))  # (1 - root) / 2 without the cancellation
    return (1 - rare, rare), (2 * (1 - rare) / mean, 2 * rare / mean)
