"""From the sums that the core keeps to estimates with confidence intervals.

Each replication is a row of blocks of equally many completions. The warm-up is cut off, the rest is
put into a few batches of neighbouring blocks, long enough to be nearly independent, and the batches
of all replications are pooled. Every quantity is a smooth function of the summed batches, so its
interval comes from the delete-one jackknife over them, with Student's t, widened for what
correlation is left between neighbours.

Sources: batch means, Law and Kelton, "Simulation Modeling and Analysis", ch. 9; jackknife, Miller,
Biometrika 61 (1974); MSER-5, White, Cobb and Spratt, Winter Simulation Conference 2000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from quickswap._values import Value
from quickswap.engine.columns import Columns

__all__ = ["QUANTILES", "Batches", "Estimate", "Run", "jackknife", "mser5"]

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
BATCHES = 16
"""Batches aimed at over all replications: enough for Student's t, few enough to be long."""
MOST_CORRELATED = 0.8
"""Correlation of neighbouring batches that is allowed for; beyond it no run is long enough."""
MOST_RELATIVE = 0.5
"""Relative half-width up to which the interval of 1 / x is taken; it has no upper end at 1."""
ROUNDING = 1e-13
"""Relative half-width that rounding leaves of a value that is exact."""
QUANTILES = (0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Estimate(Value):
    """An estimate and the half-width of its 95 % confidence interval, in the unit of the value.

    `half_width` is 0 for a value that is exact and nan where it cannot be trusted. A
    `value` of nan means that there is nothing to estimate: no job of the class completed, or the
    system is unstable.
    """

    value: float
    half_width: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + self.half_width

    @property
    def relative(self) -> float:
        """Half-width as a share of the value; infinite where it is not known."""
        if self.value == 0 or math.isnan(self.half_width) or math.isnan(self.value):
            return math.inf
        return abs(self.half_width / self.value)

    def over(self, unit: float) -> Estimate:
        """Return the estimate in another unit, which is `unit` of the present ones."""
        return Estimate(self.value / unit, self.half_width / unit)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "-"
        if math.isinf(self.value):
            return "infinite"
        if math.isnan(self.half_width):
            return (
                f"{_number(self.value, _decimals(abs(self.value) / 10) if self.value else 0)} ± ?"
            )
        if self.half_width == 0:
            return f"{self.value:.6g}"
        decimals = _decimals(self.half_width)
        more = int(0 < abs(self.value) < 10 ** (1 - decimals))  # else one digit or none is left
        value = _number(self.value, decimals + more)
        return f"{value} ± {_number(self.half_width, decimals)}"


def _decimals(size: float) -> int:
    """Return the decimals that leave two digits of a number; negative for whole tens and more."""
    return 1 - math.floor(math.log10(size)) if size > 0 else 3


def _number(value: float, decimals: int) -> str:
    """Return a number with so many decimals and commas between thousands, or a power of ten."""
    if abs(value) >= 1e9 or decimals > 9:
        return f"{value:.3g}"
    return f"{round(value, decimals):,.{max(0, decimals)}f}"


def jackknife(
    values: Floats,
    sizes: Sequence[int],
    confidence: float = CONFIDENCE,
    *,
    reciprocal: bool = False,
) -> list[Estimate]:
    """Return the estimates of p quantities.

    Neighbouring batches may still be correlated. The lag-1 correlation c of what the batches
    contribute widens the interval by (1 + c) / (1 - c), as for an autoregressive series, and leaves
    so many fewer degrees of freedom.

    Args:
        values: shape (1 + batches, p): the quantities from all batches, then with one left out.
        sizes: batches of each replication, in their order.
        confidence: of the intervals.
        reciprocal: take the interval from that of 1 / x, whose upper end is farther away. Means of
            times near saturation are proportional to 1 / (1 - load), and it is the load that
            estimates are normal in: a run that sees too little of it is too low and looks too good.
    """
    whole, less = values[0], values[1:]
    batches = len(less)
    if batches < 2:
        return [Estimate(float(value), math.nan) for value in whole]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = less - less.mean(axis=0)
        squares = np.square(shares).sum(axis=0)
        edges = np.cumsum([0, *sizes])
        runs = [shares[a:b] for a, b in pairwise(edges)]
        products = sum((run[1:] * run[:-1]).sum(axis=0) for run in runs)
        # the mean taken out makes independent batches look negatively correlated, by 1 / batches
        correlation = np.clip(products / squares + 1 / batches, 0, MOST_CORRELATED)
        correlation = np.where(max(sizes) > 1, np.nan_to_num(correlation), 0.0)
        widening = (1 + correlation) / (1 - correlation)
        spread = (batches - 1) / batches * squares * widening
        freedom = np.maximum(batches / widening - 1, 1)
        half = stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(spread)
        half = np.where(half < ROUNDING * np.abs(whole), 0.0, half)
        if reciprocal:
            some = half > 0  # else the value is exact, and may be 0
            relative = np.divide(half, np.abs(whole), out=np.zeros_like(half), where=some)
            half = half / (1 - np.minimum(relative, MOST_RELATIVE))
    return [Estimate(float(v), float(h)) for v, h in zip(whole, half, strict=True)]


def mser5(series: Floats) -> int:
    """Return how many leading values of a series MSER-5 cuts off, at most half of them.

    Values are averaged in fives; the cut is where the marginal standard error of the rest is least.
    """
    fives = series[: len(series) // 5 * 5].reshape(-1, 5).mean(axis=1)
    most = len(fives) // 2
    if most == 0:
        return 0
    errors = [np.square(rest - rest.mean()).sum() / len(rest) ** 2 for rest in _tails(fives, most)]
    return 5 * int(np.argmin(errors))


def _tails(series: Floats, most: int) -> list[Floats]:
    return [series[cut:] for cut in range(most + 1)]


@dataclass(frozen=True)
class Run:
    """What the core has measured in one replication.

    Attributes:
        classes: number of classes.
        rows: (blocks, numbers); see `counters` in the core for the numbers of a row.
        histograms: per metric first bucket, shift, zeros (segments, classes) and counts
            (segments, classes, buckets).
        segment_blocks: blocks in a full segment.
    """

    classes: int
    rows: Floats
    histograms: list[dict[str, Any]]
    segment_blocks: int

    @property
    def columns(self) -> Columns:
        """The rows by the names of their columns."""
        return Columns(self.rows, self.classes)

    @property
    def mean_response_times(self) -> Floats:
        """Mean response time of all jobs in each block."""
        totals = self.columns.of_classes("response_time", "completions").sum(axis=1)
        means: Floats = totals[:, 0] / totals[:, 1]
        return means

    @property
    def segments(self) -> int:
        """Segments begun."""
        return int(self.histograms[0]["zeros"].shape[0])


@dataclass(frozen=True)
class Batches:
    """The batches of all replications, warm-up cut off.

    Attributes:
        sums: (batches, numbers of a row).
        sizes: batches of each replication.
        runs: the replications they come from, with the number of blocks cut off each.
    """

    sums: Floats
    sizes: list[int]
    runs: list[tuple[Run, int]]

    @classmethod
    def pool(cls, runs: list[Run], warmup: float | str) -> Batches:
        """Cut the warm-up off: a share of each run, or the cut of MSER-5 in their mean."""
        runs = [run for run in runs if len(run.rows)]
        if not runs:
            return cls(np.empty((0, 0)), [], [])
        cuts = [_cut(run, warmup, runs) for run in runs]
        each = max(1, round(BATCHES / len(runs)))
        sums = []
        for run, cut in zip(runs, cuts, strict=True):
            kept = run.rows[cut:]
            sums.append(np.add.reduceat(kept, _edges(len(kept), each), axis=0))
        return cls(np.concatenate(sums), list(map(len, sums)), list(zip(runs, cuts, strict=True)))

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.runs[0][0].classes

    def whole_and_less(self) -> Columns:
        """Return the sum of all batches, then sums with one left out: 1 + batches rows."""
        total = self.sums.sum(axis=0)
        with np.errstate(invalid="ignore"):  # infinite slowdowns of jobs of size zero
            return Columns(np.concatenate([total[None], total - self.sums]), self.classes)

    @property
    def segments(self) -> list[int]:
        """Batches of each replication that percentiles use."""
        return [len(_edges(kept, self._each())) for kept in self._kept()]

    def _kept(self) -> list[int]:
        """Segments of each replication that the warm-up leaves whole; the last one in any case."""
        return [run.segments - self._first_segment(run, cut) for run, cut in self.runs]

    def _each(self) -> int:
        """Batches aimed at in each replication."""
        return max(1, round(BATCHES / len(self.runs)))

    def _first_segment(self, run: Run, cut: int) -> int:
        return min(-(-cut // run.segment_blocks), run.segments - 1)

    def quantiles(self, metric: int) -> tuple[Floats, Floats]:
        """Return the quantiles of a metric, and how far off each may be inside its bucket.

        Returns:
            Quantiles (1 + batches, classes + 1, QUANTILES), the last class being all of them
            together; distances (classes + 1, QUANTILES), see `_inside`.
        """
        low, shift, counts = self._counts(metric)
        np.cumsum(counts, axis=-1, out=counts)  # in place: these are the largest arrays of all
        total, less = counts[:1], counts[1:]
        np.sum(less, axis=0, out=total[0])
        if len(less) > 1:
            np.subtract(total, less, out=less)
        found, _ = _quantiles(counts if len(less) > 1 else total, low, shift)
        return found, _quantiles(total, low, shift)[1][0]

    def _counts(self, metric: int) -> tuple[int, int, Floats]:
        """Return first bucket, shift, and counts (1 + batches, classes + 1, 1 + buckets).

        The first batch is left empty, the last class is all of them together, and the first bucket
        that of the zeros.
        """
        parts = []
        for (run, cut), kept in zip(self.runs, self._kept(), strict=True):
            first = self._first_segment(run, cut)
            histogram = run.histograms[metric]
            bounds = pairwise([*_edges(kept, self._each()), kept])
            zeros, counts = histogram["zeros"][first:], histogram["counts"][first:]
            parts += [(histogram["low"], zeros[a:b], counts[a:b]) for a, b in bounds]
        filled = [(low, counts.shape[2]) for low, _, counts in parts if counts.shape[2]]
        low = min((low for low, _ in filled), default=0)
        end = max((low + size for low, size in filled), default=0)
        classes = parts[0][1].shape[1]
        table = np.zeros((1 + len(parts), classes + 1, 1 + end - low))
        for row, (start, zeros, counts) in zip(table[1:], parts, strict=True):
            row[:classes, 0] = zeros.sum(axis=0)
            if counts.shape[2]:
                at = 1 + start - low
                row[:classes, at : at + counts.shape[2]] = counts.sum(axis=0)
            row[:classes].sum(axis=0, out=row[classes])
        return low, int(self.runs[0][0].histograms[metric]["shift"]), table


def _edges(length: int, parts: int) -> list[int]:
    """Return where each of at most so many nearly equal parts begins."""
    edges: list[int] = np.linspace(0, length, min(parts, length) + 1).astype(int)[:-1].tolist()
    return edges


def _cut(run: Run, warmup: float | str, runs: list[Run]) -> int:
    """Return the number of blocks to cut off."""
    if isinstance(warmup, str):
        shortest = min(len(each.rows) for each in runs)
        series = np.mean([each.mean_response_times[:shortest] for each in runs], axis=0)
        return mser5(series)
    return min(math.ceil(warmup * len(run.rows)), len(run.rows) - 1)


def _quantiles(cumulated: Floats, low: int, shift: int) -> tuple[Floats, Floats]:
    """Return quantiles from cumulated counts (..., 1 + buckets), the zeros first.

    They are linear inside a bucket. With them come the distances by which this may be off: where a
    bucket holds about as many values as its neighbours the density is smooth, and the line is
    right; where a single value fills it, that value may be anywhere between its edges. So it is
    the distance to the farther edge, times the relative difference to the neighbours, at most 1.
    """
    buckets = cumulated.shape[-1]
    bits = (low + np.arange(buckets, dtype=np.uint64)) << np.uint64(shift)
    edges = np.concatenate([[0.0], bits.view(np.float64)])
    rows = cumulated.reshape(-1, buckets)
    total = rows[:, -1:]
    target = total * np.array(QUANTILES)
    found = [np.searchsorted(row, aims) for row, aims in zip(rows, target, strict=True)]
    bucket = np.minimum(np.array(found), buckets - 1)
    upto = np.take_along_axis(rows, bucket, axis=-1)
    before = np.where(bucket == 0, 0.0, np.take_along_axis(rows, bucket - 1, axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (target - before) / (upto - before)
    left, right = edges[bucket], edges[bucket + 1]
    value = np.where(bucket == 0, 0.0, left + share * (right - left))
    out: Floats = np.where(total > 0, value, np.nan)
    beyond = np.take_along_axis(rows, np.minimum(bucket + 1, buckets - 1), axis=-1) - upto
    below = np.take_along_axis(rows, np.maximum(bucket - 2, 0), axis=-1)
    below = np.where(bucket > 1, before - below, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = upto - before
        uneven = np.maximum(np.abs(inside - beyond), np.abs(inside - below)) / inside
    off = np.minimum(uneven, 1.0) * np.maximum(value - left, right - value)
    off = np.where((bucket > 0) & (total > 0), off, 0.0)
    shape = (*cumulated.shape[:-1], len(QUANTILES))
    return out.reshape(shape), off.reshape(shape)
