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
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from quickswap._check import real
from quickswap.engine import _core
from quickswap.engine._core import BLOCK_COLUMNS, Simulation
from quickswap.engine.columns import Columns
from quickswap.engine.settings import PERCENTILES

__all__ = ["QUANTILES", "Batches", "Estimate", "Split", "estimates", "half_widths", "jackknife"]

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
BATCHES = 16
"""Batches aimed at over all replications: enough for Student's t, few enough to be long."""
QUANTILES = tuple(round(each / 100, 12) for each in PERCENTILES)
"""Levels of the percentiles of every result."""


class Estimate(Struct, frozen=True, array_like=True, eq=False, gc=False):
    """An estimate and the half-width of its confidence interval, in the unit of the value.

    `half_width` is 0 for a value that is exact and nan where it cannot be trusted. A
    `value` of nan means that there is nothing to estimate: no job of the class completed, or the
    system is unstable.

    `float(e)` is the value, and `e < 5` compares the value with a number, whatever the interval:
    `e.high < 5` takes it into account. Two estimates are not ordered, and `==` compares both
    fields.

    Sums, differences, products and quotients propagate the half-widths, to first order, of
    estimates that are assumed to be independent. Estimates of one run, or of runs on the same jobs,
    are not: `quickswap.difference` pairs them.

    A format that ends in a type of numbers (`e`, `f`, `g`, `%`) applies to the value and to the
    half-width, as in `f"{e:.3f}"`; any other applies to the text.
    """

    __array_ufunc__: ClassVar[None] = None  # a NumPy number leaves arithmetic to the estimate

    value: float
    half_width: float

    def _numbers(self) -> list[float | None]:
        """Return the fields, with None for nan, which is equal to nothing."""
        return [None if each != each else each for each in (self.value, self.half_width)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Estimate) and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash(tuple(self._numbers()))

    def __float__(self) -> float:
        return self.value

    def __lt__(self, other: float) -> bool:
        return NotImplemented if (x := _comparable(other)) is None else self.value < x

    def __le__(self, other: float) -> bool:
        return NotImplemented if (x := _comparable(other)) is None else self.value <= x

    def __gt__(self, other: float) -> bool:
        return NotImplemented if (x := _comparable(other)) is None else self.value > x

    def __ge__(self, other: float) -> bool:
        return NotImplemented if (x := _comparable(other)) is None else self.value >= x

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, self.half_width)

    def __pos__(self) -> Estimate:
        return self

    def __abs__(self) -> Estimate:
        return Estimate(abs(self.value), self.half_width)

    def __add__(self, other: Estimate | float) -> Estimate:
        if (b := _operand(other)) is None:
            return NotImplemented
        return Estimate(self.value + b.value, math.hypot(self.half_width, b.half_width))

    def __sub__(self, other: Estimate | float) -> Estimate:
        return NotImplemented if (b := _operand(other)) is None else self + -b

    def __mul__(self, other: Estimate | float) -> Estimate:
        if (b := _operand(other)) is None:
            return NotImplemented
        parts = _scaled(self.half_width, b.value), _scaled(b.half_width, self.value)
        return Estimate(self.value * b.value, math.hypot(*parts))

    def __truediv__(self, other: Estimate | float) -> Estimate:
        if (b := _operand(other)) is None:
            return NotImplemented
        ratio = self.value / b.value
        parts = self.half_width / b.value, _scaled(b.half_width, ratio) / b.value
        return Estimate(ratio, math.hypot(*parts))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: float) -> Estimate:
        return -self + other

    def __rtruediv__(self, other: float) -> Estimate:
        return NotImplemented if (a := _operand(other)) is None else a / self

    def __format__(self, spec: str) -> str:
        if not spec.endswith(("e", "E", "f", "F", "g", "G", "%")):
            return format(str(self), spec)
        if not math.isfinite(self.value):
            return str(self)
        value = format(self.value, spec)
        if math.isnan(self.half_width):
            return f"{value} ± ?"
        return f"{value} ± {self.half_width:{spec}}" if self.half_width else value

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

    def contains(self, x: float) -> bool:
        """Whether the interval contains a number; false where the interval is not known."""
        return self.low <= x <= self.high

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
        digits = decimals + int(0 < abs(self.value) < 10 ** (1 - decimals))  # else one or none
        if abs(self.value) < 10.0**-digits:  # still none
            digits = max(digits, 0)
        value = _number(self.value, digits)
        return f"{value} ± {_number(self.half_width, decimals)}"


def _comparable(other: object) -> float | None:
    """Return a number with which an estimate is compared, or None for anything else."""
    return None if isinstance(other, Estimate) else real(other)


def _operand(other: object) -> Estimate | None:
    """Return the other operand as an estimate, a number as an exact one."""
    if isinstance(other, Estimate):
        return other
    return None if (number := real(other)) is None else Estimate(number, 0.0)


def _scaled(half_width: float, factor: float) -> float:
    """Return a half-width times a factor; an exact value stays exact, even if it is infinite."""
    return half_width * factor if half_width else 0.0


def _decimals(size: float) -> int:
    """Return the decimals that leave two digits of a number; negative for whole tens and more."""
    return 1 - math.floor(math.log10(size)) if size > 0 else 3


def _number(value: float, decimals: int) -> str:
    """Return a number with this many decimals and commas between thousands, or a power of ten."""
    if abs(value) >= 1e9 or decimals > 9:
        return f"{value:.3g}"
    return f"{round(value, decimals):z,.{max(0, decimals)}f}"


def estimates(values: Floats, half_widths: Floats) -> list[Estimate]:
    """Return the estimates of p quantities from two arrays."""
    return list(map(Estimate, values.tolist(), half_widths.tolist()))


def jackknife(
    values: Floats,
    sizes: Sequence[int],
    confidence: float = CONFIDENCE,
    *,
    reciprocal: bool = False,
) -> list[Estimate]:
    """Return the estimates of p quantities; see `half_widths`."""
    return estimates(values[0], half_widths(values, sizes, confidence, reciprocal=reciprocal))


def half_widths(
    values: Floats,
    sizes: Sequence[int],
    confidence: float = CONFIDENCE,
    *,
    reciprocal: bool | NDArray[np.bool_] = False,
) -> Floats:
    """Return the half-widths of the intervals of p quantities: (p).

    Neighbouring batches may still be correlated: `rust/src/intervals.rs` has the formulas.

    Args:
        values: shape (1 + batches, p): the quantities from all batches, then with one left out.
        sizes: batches of each replication, in their order.
        confidence: of the intervals.
        reciprocal: take the interval from that of 1 / x, whose upper end is farther away; for all
            quantities or each: (p). Means of times near saturation are proportional to
            1 / (1 - load), and the estimate of the load is nearly normal: a run that has too
            little of it is too low and looks too good.
    """
    inverted = np.full(values.shape[1], reciprocal, dtype=bool)
    return _core.half_widths(np.ascontiguousarray(values), sizes, (1 + confidence) / 2, inverted)


def mser5(series: Floats) -> int:
    """Return how many leading values of a series MSER-5 cuts off, at most half of them.

    Values are averaged in fives; the cut is where the marginal standard error of the rest is least.
    """
    fives = series[: len(series) // 5 * 5].reshape(-1, 5).mean(axis=1)
    tails = [fives[cut:] for cut in range(len(fives) // 2 + 1)]
    if len(tails) == 1:
        return 0
    return 5 * int(np.argmin([np.square(t - t.mean()).sum() / len(t) ** 2 for t in tails]))


@dataclass(frozen=True)
class Run:
    """One replication in blocks.

    Attributes:
        number: of the replication.
        blocks: (blocks, BLOCK_COLUMNS), the warm-up included.
        cut: blocks of the warm-up.
    """

    number: int
    blocks: Floats
    cut: int

    def column(self, name: str) -> Floats:
        """Return a column: (blocks)."""
        return self.blocks[:, BLOCK_COLUMNS.index(name)]

    @cached_property
    def seconds(self) -> Floats:
        """Time at the end of each block."""
        return self.column("duration").cumsum()


@dataclass(frozen=True)
class Split:
    """How a run is divided: batches are as long as independence needs, and have equal parts.

    Attributes:
        sizes: batches of each replication.
        parts: parts of each batch.
    """

    sizes: list[int]
    parts: list[int]

    @property
    def starts(self) -> NDArray[np.int64]:
        """First part of each batch."""
        return np.cumsum([0, *self.parts[:-1]])

    def whole_and_less(self, rows: Floats) -> Floats:
        """Return sums of all parts, then with a batch left out, then with a part left out.

        Args:
            rows: of the parts: (parts, ...).

        Returns:
            (1 + batches + parts, ...); (1 + batches, ...) if each batch is one part.
        """
        total = rows.sum(axis=0)
        if len(rows) == len(self.parts):
            return np.concatenate([total[None], total - rows])
        batches = np.add.reduceat(rows, self.starts, axis=0)
        return np.concatenate([total[None], total - batches, total - rows])


@dataclass(frozen=True)
class Batches:
    """The batches of all replications, warm-up cut off.

    Sums and quantiles are computed on first use, from what the core has counted until then.

    Attributes:
        core: that has counted them.
        edges: blocks at which the parts of the batches of each replication begin, and the end.
        split: the batches and their parts.
        runs: the replications in which a job has completed.
        classes: number of classes.
    """

    core: Simulation
    edges: list[list[int]]
    split: Split
    runs: list[Run]
    classes: int

    @classmethod
    def pool(cls, core: Simulation, warmup: float | str, classes: int, parts: int = 1) -> Batches:
        """Cut the warm-up off: a share of each run, or the cut of MSER-5 in their mean.

        `parts` is the number of parts of a batch, if it has as many blocks.
        """
        blocks = core.blocks()
        begun = [number for number, each in enumerate(blocks) if len(each)]
        if isinstance(warmup, str):
            shortest = min((len(blocks[number]) for number in begun), default=0)
            runs = [Run(number, blocks[number][:shortest], 0) for number in begun]
            means = [run.column("response_time") / run.column("completions") for run in runs]
            cuts = [mser5(np.mean(means, axis=0))] * len(runs) if runs else []
        else:
            lengths = [len(blocks[number]) for number in begun]
            cuts = [min(math.ceil(warmup * length), length - 1) for length in lengths]
        runs = [Run(number, blocks[number], cut) for number, cut in zip(begun, cuts, strict=True)]
        edges: list[list[int]] = [[] for _ in blocks]
        sizes, counts = [], []
        for run in runs:
            batches = pieces(run.cut, len(run.blocks), round(BATCHES / len(runs)))
            split = [pieces(first, end, parts) for first, end in pairwise(batches)]
            edges[run.number] = [run.cut, *(edge for each in split for edge in each[1:])]
            sizes.append(len(split))
            counts += [len(each) - 1 for each in split]
        return cls(core, edges, Split(sizes, counts), runs, classes)

    @property
    def sizes(self) -> list[int]:
        """Batches of each replication."""
        return self.split.sizes

    @cached_property
    def rows(self) -> Floats:
        """Sums of each part: (parts, numbers of a row)."""
        return self.core.sums(self.edges)

    @cached_property
    def spread(self) -> Columns:
        """The sum of all batches, then with a batch, then with a part left out: see `Split`."""
        with np.errstate(invalid="ignore"):  # infinite slowdowns of jobs of size zero
            return Columns(self.split.whole_and_less(self.rows), self.classes)

    @cached_property
    def sums(self) -> Columns:
        """The sum of all batches, then sums with one left out: 1 + batches rows."""
        return Columns(self.spread.rows[: 1 + len(self.split.parts)], self.classes)

    def quantiles(self, levels: Sequence[float]) -> tuple[Floats, Floats, list[int]]:
        """Return quantiles of METRICS, and how far off each may be inside its bucket.

        Percentiles use whole segments of blocks so that they have batches of their own.

        Returns:
            Quantiles (1 + batches, classes + 1, METRICS, levels), the last class being all of them
            together; distances (classes + 1, METRICS, levels); batches of each replication.
        """
        blocks, segments = self.core.segments()
        edges: list[list[int]] = [[] for _ in segments]
        for run in self.runs:
            count = segments[run.number]
            first = min(-(-run.cut // blocks), count - 1)  # the last one is kept in any case
            edges[run.number] = pieces(first, count, round(BATCHES / len(self.runs)))
        sizes = [len(edges[run.number]) - 1 for run in self.runs]
        return *self.core.quantiles(edges, levels), sizes


def pieces(first: int, end: int, parts: int) -> list[int]:
    """Return the edges of at most this many nearly equal parts of a range."""
    parts = max(1, min(parts, end - first))
    length = (end - first) / parts
    return [*[first + int(part * length) for part in range(parts)], end]
