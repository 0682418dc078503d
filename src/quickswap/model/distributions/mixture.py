"""Mixtures: one of several distributions, drawn at random."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self, final

from quickswap._check import items
from quickswap.errors import inside, invalid
from quickswap.model.distributions.base import Distribution, probabilities_of


@final
@dataclass(frozen=True, slots=True, init=False)
class Mixture(Distribution):
    """With probability `probabilities[i]` a time with the distribution `distributions[i]`."""

    kind: ClassVar[str] = "mixture"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("probabilities", "distributions"),)

    probabilities: tuple[float, ...]
    distributions: tuple[Distribution, ...]

    def __init__(
        self, probabilities: Iterable[float], distributions: Iterable[Distribution]
    ) -> None:
        shares = probabilities_of("Mixture", probabilities)
        with inside("distributions"):
            parts = items(distributions)
            if parts is None or len(parts) != len(shares):
                given = distributions if parts is None else len(parts)
                allowed = f"{len(shares)}, one for each probability"
                raise invalid("number of distributions of Mixture", given, allowed)
            for part in parts:
                if not isinstance(part, Distribution):
                    allowed = "a distribution such as Exponential(mean=1.0)"
                    raise invalid("an item of distributions of Mixture", part, allowed)
        self._store(probabilities=shares, distributions=tuple(parts))

    @property
    def _parts(self) -> list[tuple[float, Distribution]]:
        """The distributions that occur, with their probabilities."""
        pairs = zip(self.probabilities, self.distributions, strict=True)
        return [(share, part) for share, part in pairs if share > 0]

    @property
    def mean(self) -> float:
        return math.fsum(share * part.mean for share, part in self._parts)

    @property
    def var(self) -> float:
        # variance within the parts plus variance between their means: nothing cancels
        mean = self.mean
        return math.fsum(
            share * (part.var + (part.mean - mean) ** 2) for share, part in self._parts
        )

    @property
    def mean_inverse(self) -> float:
        return math.fsum(share * part.mean_inverse for share, part in self._parts)

    def moment(self, order: int) -> float:
        return math.fsum(share * part.moment(order) for share, part in self._parts)

    def isf(self, probability: float) -> float:
        ends = [part.isf(probability) for _, part in self._parts]
        low, high = min(ends), max(ends)
        if self.sf(low) <= probability:
            return low
        # bisection, which needs no continuity, down to neighbouring floats
        while low < (middle := low + (high - low) / 2) < high:
            low, high = (low, middle) if self.sf(middle) <= probability else (middle, high)
        return high

    def sf(self, x: float) -> float:
        return math.fsum(share * part.sf(x) for share, part in self._parts)

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.probabilities, [part.scaled(factor) for part in self.distributions])
