"""Intervals for a log: the bootstrap over its weeks.

A log is one path of a system whose days and weeks differ. Its span is cut into pieces of about a
week (a day or an hour where it is short), which are drawn with replacement again and again; every
quantity is computed from each draw, and the spread over the draws gives the interval, with
Student's t for the number of pieces. It says how much the answer depends on the weeks that the log
happens to hold, if weeks are alike and nearly independent; it does not know of other logs.

Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 6 and 8 (blocks).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickswap.engine._core import student_t
from quickswap.statistics.estimates import CONFIDENCE, Estimate

__all__ = ["Pieces"]

Floats = NDArray[np.float64]

DRAWS = 400
UNITS = {"week": 7 * 86400.0, "day": 86400.0, "hour": 3600.0}
MOST = 520
"""Pieces at most, so work does not grow with empty years: longer ones then."""
FEWEST = 6
"""Pieces that an interval needs; with fewer of them the next smaller unit is taken."""
SMALL = 1 << 18
"""Multiplications up to which OpenBLAS uses one thread. Sums over up to about two years of weeks
are computed in parts of this size: more threads would take longer, as they wait for each other."""
NARROWEST = 4
"""Fewest columns of a part; if there would be fewer, the sums are computed as a whole."""


@dataclass(frozen=True)
class Pieces:
    """A span of time in equal pieces, and the draws from them.

    Attributes:
        edges: starts of the pieces and the end of the last, in seconds: (pieces + 1,).
        unit: approximate length of a piece: "week", "day", "hour"; "stretch", if there would be
            too many weeks; or "whole", if the span is too short for any interval.
        weights: how often each draw contains each piece; the first row is the whole span:
            (1 + draws, pieces).
        confidence: of the intervals.
    """

    edges: Floats
    unit: str
    weights: Floats
    confidence: float = CONFIDENCE

    @classmethod
    def of(
        cls,
        begin: float,
        end: float,
        unit_length: float = 1.0,
        seed: int = 1,
        confidence: float = CONFIDENCE,
    ) -> Pieces:
        """Cut a span, seconds; `unit_length` shrinks all units as a change of the load does."""
        span = end - begin
        counts = {unit: round(span / (unit_length * length)) for unit, length in UNITS.items()}
        found = (each for each in counts.items() if each[1] >= FEWEST)
        unit, count = next(found, ("whole", 1))
        if count > MOST:
            unit, count = "stretch", MOST
        edges = np.linspace(begin, end, count + 1)
        drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), DRAWS)
        weights = np.concatenate([np.ones((1, count)), drawn.astype(float)])
        return cls(edges, unit, weights, confidence)

    def __len__(self) -> int:
        return len(self.edges) - 1

    def same(self, other: Pieces) -> bool:
        """Whether other pieces lie in the same places and are drawn in the same way."""
        return np.array_equal(self.edges, other.edges) and np.array_equal(
            self.weights, other.weights
        )

    def inside(self, times: Floats) -> NDArray[np.bool_]:
        """Whether each time is in the span."""
        inside: NDArray[np.bool_] = (times >= self.edges[0]) & (times <= self.edges[-1])
        return inside

    def index(self, times: Floats) -> NDArray[np.int64]:
        """Return the piece of each time of the span."""
        found = np.searchsorted(self.edges, times, side="right") - 1
        return np.clip(found, 0, len(self) - 1)

    def sums(self, values: Floats) -> Floats:
        """Return sums over the pieces of each draw: (1 + draws, ...) from (pieces, ...)."""
        flat = values.reshape(len(self), -1)
        out = np.empty((len(self.weights), flat.shape[1]))
        width = SMALL // self.weights.size
        width = width if width >= NARROWEST else flat.shape[1]
        for at in range(0, flat.shape[1], width):
            part = slice(at, at + width)
            np.matmul(self.weights, flat[:, part], out=out[:, part])
        return out.reshape(len(self.weights), *values.shape[1:])

    def half_widths(self, drawn: Floats) -> Floats:
        """Return half-widths (...) from values (1 + draws, ...); those of no value are left out."""
        pieces = len(self)
        if pieces < 2:
            return np.full(drawn.shape[1:], math.nan)
        rest = drawn[1:]
        valid = np.isfinite(rest)
        seen = valid.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(valid, rest, 0.0).sum(axis=0) / seen
            square = np.square(np.where(valid, rest - mean, 0.0)).sum(axis=0) / (seen - 1)
        width = student_t(pieces - 1, (1 + self.confidence) / 2) * math.sqrt(pieces / (pieces - 1))
        out: Floats = np.where(seen > DRAWS / 2, width * np.sqrt(square), math.nan)
        return out

    def estimates(self, drawn: Floats, exact: Floats | None = None) -> list[Estimate]:
        """Return estimates of p quantities from (1 + draws, p).

        `exact` takes the place of the values of the whole, where they are known better.
        """
        values = drawn[0] if exact is None else exact
        pairs = zip(values, self.half_widths(drawn), strict=True)
        return [Estimate(float(value), float(width)) for value, width in pairs]
