"""Phase-type distributions: the time until a Markov chain is absorbed.

Sources: Neuts, "Matrix-Geometric Solutions in Stochastic Models" (1981), ch. 2; sf as a sum without
subtractions: Xue and Ye, "Computing exponentials of essentially non-negative matrices entrywise to
high relative accuracy", Mathematics of Computation 82 (2013).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self, final

from quickswap._check import items, numbers, positive
from quickswap._words import counted
from quickswap.errors import ModelError, inside, invalid
from quickswap.model.distributions.base import Distribution, probabilities_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Rows = tuple[tuple[float, ...], ...]
TERMS = 20
"""Terms of the series of e^x for x <= 1, of which the rest is below rounding."""


@final
@dataclass(frozen=True, slots=True, init=False)
class PhaseType(Distribution):
    """The time until a Markov chain of n phases ends.

    It begins in phase i with probability `probabilities[i]` and jumps from phase i to j at
    `generator[i][j]` per second. The diagonal is negative, and the rate at which the chain ends in
    phase i is minus the sum of row i.

    `PhaseType(rates=[...], continuation=[...])` is a Coxian distribution: the phases follow each
    other, the phase i takes an exponential time of rate `rates[i]`, and the next one follows with
    probability `continuation[i]`, one fewer than rates.
    """

    kind: ClassVar[str] = "phase_type"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("probabilities", "generator"),
        ("rates", "continuation"),
    )

    probabilities: tuple[float, ...]
    generator: Rows
    _mean: float = field(init=False, repr=False, compare=False)
    _var: float = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        probabilities: Iterable[float] | None = None,
        generator: Iterable[Iterable[float]] | None = None,
        *,
        rates: Iterable[float] | None = None,
        continuation: Iterable[float] | None = None,
    ) -> None:
        given = {"rates": rates, "continuation": continuation}
        form = self._form(probabilities=probabilities, generator=generator, **given)
        if "rates" in form:
            start, rows = _coxian(rates, continuation)
        else:
            start = probabilities_of("PhaseType", probabilities)
            with inside("generator"):
                rows = _generator(generator, len(start))
        object.__setattr__(self, "probabilities", start)
        object.__setattr__(self, "generator", rows)
        with inside("generator"):
            mean = self.moment(1)
            # E[S^2] - E[S]^2, in which little cancels unless there are very many phases
            self._store(_mean=mean, _var=self.moment(2) - mean * mean)

    @property
    def mean(self) -> float:
        return self._mean

    @property
    def var(self) -> float:
        return self._var

    def moment(self, order: int) -> float:
        import numpy as np

        start, matrix = self._arrays()
        powers = np.linalg.matrix_power(np.linalg.inv(-matrix), order)  # k! a (-T)^-k 1
        return math.factorial(order) * float((start @ powers).sum())

    @property
    def mean_inverse(self) -> float:
        """E[1/S] per second, infinite if a phase in which the chain may begin can be the last.

        With t the rates of absorption, E[1/S] is the integral of the transform a (sI - T)^-1 t over
        s > 0, and an antiderivative of the matrix is the logarithm of sI - T. At infinity it is
        log(s) I, and a t = 0.
        """
        from scipy.linalg import logm

        start, matrix = self._arrays()
        ends = -matrix.sum(axis=1)
        if start @ ends > 1e-12 * (start @ -matrix.diagonal()):
            return math.inf
        return float(-start @ logm(-matrix).real @ ends)

    def isf(self, probability: float) -> float:
        from scipy.optimize import brentq

        high = self._mean
        while self.sf(high) > probability:
            high *= 2
        return float(brentq(lambda x: self.sf(x) - probability, 0.0, high, xtol=1e-300, rtol=1e-14))

    def sf(self, x: float) -> float:
        import numpy as np

        start, matrix = self._arrays()
        rate = float(-matrix.diagonal().min())
        halvings = max(0, math.ceil(math.log2(rate * x))) if rate * x > 0 else 0
        step = x / 2.0**halvings
        # e^(T step) = e^(-rate step) e^((T + rate I) step), of which all terms are positive
        positive_part = (matrix + rate * np.eye(len(start))) * step
        term = power = np.eye(len(start))
        for order in range(1, TERMS):
            term = term @ positive_part / order
            power = power + term
        power *= math.exp(-rate * step)
        for _ in range(halvings):
            power = power @ power
        return min(1.0, float((start @ power).sum()))

    def _arrays(self) -> tuple[Floats, Floats]:
        import numpy as np

        return np.array(self.probabilities), np.array(self.generator)

    def _scaled(self, factor: float) -> Self:
        rows = [[rate / factor for rate in row] for row in self.generator]
        return type(self)(self.probabilities, rows)


def _coxian(rates: object, continuation: object) -> tuple[tuple[float, ...], Rows]:
    """Return the first phase and the generator of a Coxian distribution."""
    with inside("rates"):
        speeds = numbers(rates, "rates of PhaseType")
        for speed in speeds:
            positive(speed, "an item of rates of PhaseType")
    n = len(speeds)
    with inside("continuation"):
        given = items(continuation)
        goes = numbers(given, "continuation of PhaseType", 0.0) if given else ()
        if given is None or len(goes) != n - 1:
            allowed = f"{counted(n - 1, 'number')}, one fewer than rates"
            raise invalid("continuation of PhaseType", continuation, allowed)
        for each in goes:
            if each > 1:
                raise invalid("an item of continuation of PhaseType", each, "from 0 to 1")
    rows = [[0.0] * n for _ in speeds]
    for i, speed in enumerate(speeds):
        rows[i][i] = -speed
        if i < n - 1:
            rows[i][i + 1] = speed * goes[i]
    return (1.0,) + (0.0,) * (n - 1), tuple(map(tuple, rows))


def _generator(given: object, size: int) -> Rows:
    """Return the rows of a generator from whose every phase the chain ends."""
    what = "generator of PhaseType"
    allowed = f"{counted(size, 'row')} of {counted(size, 'number')}, one for each probability"
    rows = items(given)
    if rows is None:
        raise invalid(what, given, allowed)
    table = [numbers(row, f"row {i} of {what}") for i, row in enumerate(rows)]
    if [len(row) for row in table] != [size] * size:
        raise invalid(what, table, allowed)
    for i, row in enumerate(table):
        others = [rate for j, rate in enumerate(row) if j != i]
        if row[i] >= 0 or min(others, default=0.0) < 0 or math.fsum(row) > -1e-12 * row[i]:
            allowed = (
                "a negative number on the diagonal, others of at least 0, and a sum of at most 0"
            )
            raise invalid(f"row {i} of {what}", row, allowed)
    ending = {i for i, row in enumerate(table) if math.fsum(row) < 1e-12 * row[i]}
    grown = True
    while grown:  # phases that lead to one of them
        more = {i for i, row in enumerate(table) if any(row[j] > 0 for j in ending)} - ending
        grown, ending = bool(more), ending | more
    if len(ending) < size:
        stuck = min(set(range(size)) - ending)
        raise ModelError(
            f"the chain of PhaseType never ends from phase {stuck}: make the sum of a row that it "
            "leads to negative.",
            argument=what,
            given=table,
            allowed="a chain that ends from every phase",
        )
    return tuple(table)
