"""Any other distribution, as a table of its quantiles."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, final

from quickswap._check import numbers
from quickswap.errors import ModelError, inside, invalid, shown
from quickswap.model.distributions.base import Distribution, exp

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LOWEST, HIGHEST = -25.0, 25.0
"""Log-odds of the ends of the fine part of a table: 1e-11 of the values are outside at each end."""
FAR = (*range(28, 60, 3), *range(70, 691, 20))
"""Log-odds of the coarse part, up to 1e-300, which moments of heavy tails need."""
ERROR = 2e-5
"""Largest relative error of a value halfway between two rows of the fine part."""
NARROW = 1e-7
"""Distance of log-odds that is not halved further, as at a jump of the quantiles."""
MOST_ROWS = 20_000
VANISHING = 1e-3
"""A power of the tail whose exponent is nearer to that of an infinite moment counts as infinite."""


class Quantiles(Protocol):
    """What a distribution must have to be tabulated; frozen distributions of SciPy have it."""

    def sf(self, x: Any, /) -> Any:
        """Return P(S > x)."""

    def isf(self, probability: Any, /) -> Any:
        """Return the least x with P(S > x) <= `probability`."""

    def ppf(self, probability: Any, /) -> Any:
        """Return the least x with P(S <= x) >= `probability`."""


@final
@dataclass(frozen=True, slots=True, init=False)
class Tabulated(Distribution):
    """A table of quantiles, between which the logarithm of the value is linear in the log-odds.

    The value `values[i]` is not exceeded with probability p, with `log_odds[i]` = log(p / (1 - p)).
    Both ends continue as powers of the probability. `Tabulated.of(distribution)` tabulates a frozen
    distribution of SciPy, or an object with the methods `sf`, `isf` and `ppf`.
    """

    kind: ClassVar[str] = "tabulated"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("log_odds", "values"),)

    log_odds: tuple[float, ...]
    values: tuple[float, ...]
    _mean: float = field(init=False, repr=False, compare=False)
    _var: float = field(init=False, repr=False, compare=False)

    def __init__(self, log_odds: Iterable[float], values: Iterable[float]) -> None:
        with inside("log_odds"):
            odds = numbers(log_odds, "log_odds of Tabulated")
            if len(odds) < 2 or any(other <= one for one, other in pairwise(odds)):
                raise invalid("log_odds of Tabulated", odds, "at least two, increasing")
        with inside("values"):
            sizes = numbers(values, "values of Tabulated")
            if len(sizes) != len(odds):
                allowed = f"{len(odds)}, one for each of log_odds"
                raise invalid("number of values of Tabulated", len(sizes), allowed)
            if sizes[0] <= 0 or any(other < one for one, other in pairwise(sizes)):
                raise invalid("values of Tabulated", sizes, "positive, and not decreasing")
        object.__setattr__(self, "log_odds", odds)
        object.__setattr__(self, "values", sizes)
        mean = self._moment(1)
        self._store(_mean=mean, _var=self._moment(2, mean))

    @classmethod
    def of(cls, distribution: Quantiles) -> Self:
        """Tabulate a distribution of positive values.

        Rows are added until the value halfway between two rows has a relative error below 2e-5,
        except at jumps of the quantiles. Moments are those of the table. One that is infinite is
        infinite in the table, too, as its last rows have the power of the tail.

        Raises:
            ModelError: a method is missing, the methods do not agree, a value is not positive and
                finite, or the mean is infinite.
        """
        for name in ("sf", "isf", "ppf"):
            if not callable(getattr(distribution, name, None)):
                allowed = "a frozen distribution of SciPy, or an object with sf, isf and ppf"
                raise invalid("the distribution to tabulate", distribution, allowed)
        with warnings.catch_warnings():  # of SciPy, far out, where values are checked
            warnings.simplefilter("ignore", RuntimeWarning)
            rows = _table(distribution)
        return cls(*rows)

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def var(self) -> float:
        return self._var

    @property
    def mean_inverse(self) -> float:
        return self._moment(-1)

    def moment(self, order: int) -> float:
        return self._moment(order)

    def isf(self, probability: float) -> float:
        odds = math.log1p(-probability) - math.log(probability)
        part, slope = self._part(self.log_odds, odds)
        return self.values[part] * exp(slope * (odds - self.log_odds[part]))

    def sf(self, x: float) -> float:
        if x <= 0:
            return 1.0
        part, slope = self._part(self.values, x)
        if slope == 0:  # an end of the values
            return float(x < self.values[part])
        return 1 / (1 + exp(self.log_odds[part] + math.log(x / self.values[part]) / slope))

    def _part(self, rows: tuple[float, ...], value: float) -> tuple[int, float]:
        """Return the row before a value of a column, and the slope of the logarithm after it."""
        part = min(max(bisect_right(rows, value) - 1, 0), len(rows) - 2)
        growth = math.log(self.values[part + 1] / self.values[part])
        return part, growth / (self.log_odds[part + 1] - self.log_odds[part])

    def _moment(self, order: int, centre: float = 0.0) -> float:
        """Return E[(S - centre)^order].

        With s = 1 / (1 + e^z) the log-odds z have the density s (1 - s). The integral over it is
        computed by quadrature in panels of at most 1, and beyond the ends exactly.
        """
        import numpy as np

        odds, logs = np.array(self.log_odds), np.log(self.values)
        slopes = np.diff(logs) / np.diff(odds)
        # beyond the ends the integrand is e^(low z) and e^(-high z)
        low, high = 1 + order * slopes[0], 1 - order * slopes[-1]
        if min(low, high) < VANISHING:
            return math.inf
        panels = [np.linspace(a, b, 2 + int(b - a)) for a, b in pairwise(self.log_odds)]
        ends = np.unique(np.concatenate(panels))
        nodes, weights = np.polynomial.legendre.leggauss(6)
        half = np.diff(ends)[:, None] / 2
        z = (ends[:-1, None] + half) + half * nodes
        density = half * weights * np.exp(-np.logaddexp(0, z) - np.logaddexp(0, -z))
        with np.errstate(over="ignore"):
            first, last = (np.array([self.values[0], self.values[-1]]) - centre) ** order
            inner = np.sum(density * (np.exp(np.interp(z, odds, logs)) - centre) ** order)
            below = np.exp(-np.logaddexp(0, -odds[0])) * first / low
            above = np.exp(-np.logaddexp(0, odds[-1])) * last / high
        return float(inner + below + above)

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.log_odds, [factor * value for value in self.values])


def _table(distribution: Quantiles) -> tuple[Floats, Floats]:
    """Return log-odds and values, between which the logarithm of the value is nearly linear."""
    import numpy as np

    odds = np.arange(LOWEST, HIGHEST + 1)
    logs = _logs(distribution, odds)
    new, wide = odds[:-1] + 0.5, np.diff(odds)
    while len(new):
        found = _logs(distribution, new)
        split = (np.abs(found - np.interp(new, odds, logs)) > ERROR) & (wide > NARROW)
        odds, logs = np.append(odds, new), np.append(logs, found)
        order = np.argsort(odds)
        odds, logs = odds[order], logs[order]
        if len(odds) > MOST_ROWS:
            raise ModelError(
                f"the quantiles of {shown(distribution)} require more than {MOST_ROWS:,} rows: "
                "give a distribution with fewer jumps.",
                argument="distribution",
                given=distribution,
                allowed="a distribution with few jumps",
            )
        new, wide = new[split], np.tile(wide[split] / 2, 2)
        shift = wide[: len(new)] / 2
        new = np.concatenate([new - shift, new + shift])
    for z in FAR:  # as far as quantiles are reliable, which those of SciPy are not everywhere
        try:
            log = _logs(distribution, np.array([float(z)]), 0.0)
        except ModelError:
            break
        odds, logs = np.append(odds, z), np.append(logs, log)
    return odds, np.exp(logs)


def _logs(distribution: Quantiles, odds: Floats, error: float = 1e-12) -> Floats:
    """Return the logarithms of the values that are not exceeded with these log-odds.

    Args:
        distribution: whose values they are.
        odds: the log-odds.
        error: of survival probabilities, in addition to a relative error of 1e-3.

    Raises:
        ModelError: a value is not positive and finite, or its survival probability is another.
    """
    import numpy as np

    share = np.exp(-np.logaddexp(0, np.abs(odds)))
    values = np.empty(len(odds))
    for part, quantile in ((odds < 0, distribution.ppf), (odds >= 0, distribution.isf)):
        values[part] = _each(quantile, share[part])
    usable = (values > 0) & (values < math.inf)
    if not usable.all():
        wrong = float(values[np.argmin(usable)])
        raise invalid("a quantile of the distribution", wrong, "positive and finite")
    survival = np.where(odds < 0, 1 - share, share)
    above, at_least = (_each(distribution.sf, values * factor) for factor in (1 + 1e-9, 1 - 1e-9))
    agree = above <= survival * (1 + 1e-3) + error
    agree &= at_least >= survival * (1 - 1e-3) - error
    if not agree.all():
        wrong = float(values[np.argmin(agree)])
        raise ModelError(
            f"the quantile {wrong:g} does not agree with the survival function: correct sf, isf or "
            "ppf of the distribution.",
            argument="distribution",
            given=distribution,
            allowed="a distribution whose quantiles agree with its survival function",
        )
    return np.log(values)


def _each(function: Callable[[Any], Any], values: Floats) -> Floats:
    """Return the values of a function of arrays, or of numbers."""
    import numpy as np

    try:
        found = np.asarray(function(values), dtype=float)
    except (TypeError, ValueError):  # a function of numbers
        found = np.array([])
    return (
        found if found.shape == values.shape else np.array([function(x) for x in values.tolist()])
    )
