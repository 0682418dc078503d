"""Arrival processes with the states of a Markov chain: MMPP and MAP.

Source: Neuts, "A versatile Markovian point process", Journal of Applied Probability 16 (1979).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self, final

from quickswap._check import items, numbers, rates_of
from quickswap._words import counted
from quickswap.errors import ModelError, inside, invalid
from quickswap.model.arrivals.base import Arrivals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Rows = tuple[tuple[float, ...], ...]


@final
@dataclass(frozen=True, slots=True, init=False)
class MarkovModulatedPoisson(Arrivals):
    """Poisson arrivals whose rate follows a Markov chain of n states.

    In state i jobs arrive at `rates[i]` per second (0 is allowed, but not in all states); the chain
    jumps from i to j at `switching[i][j]` per second. The diagonal is ignored and stored as 0.
    Every state must be reachable from every other. `scaled` multiplies the arrival rates and keeps
    the switching rates: the length of a burst does not depend on the load.
    """

    process: ClassVar[str] = "mmpp"
    keys: ClassVar[tuple[str, ...]] = ("rates", "switching")

    rates: tuple[float, ...]
    switching: tuple[tuple[float, ...], ...]
    _rate: float = field(init=False, repr=False, compare=False)

    def __init__(self, rates: Iterable[float], switching: Iterable[Iterable[float]]) -> None:
        with inside("rates"):
            speeds = rates_of(rates, "rates of MarkovModulatedPoisson")
        with inside("switching"):
            jumps = _square("switching of MarkovModulatedPoisson", switching, len(speeds))
            shares = _stationary("switching of MarkovModulatedPoisson", jumps)
        rate = sum(share * speed for share, speed in zip(shares, speeds, strict=True))
        object.__setattr__(self, "rates", speeds)
        object.__setattr__(self, "switching", jumps)
        object.__setattr__(self, "_rate", rate)

    @property
    def rate(self) -> float:
        return self._rate

    @property
    def dispersion(self) -> float:
        import numpy as np

        return _dispersion(np.array(self.switching), np.diag(self.rates))

    def _scaled(self, factor: float) -> Self:
        return type(self)([factor * speed for speed in self.rates], self.switching)


@final
@dataclass(frozen=True, slots=True, init=False)
class MarkovianArrivals(Arrivals):
    """A Markovian arrival process (MAP): some of the jumps of a Markov chain bring a job.

    The chain jumps from state i to j at `d0[i][j]` per second without an arrival, and at
    `d1[i][j]`, also for j = i, with one. The diagonal of `d0` is ignored, and stored as minus the
    sum of the other rates of its row in both matrices. Every state must be reachable from every
    other. `scaled` compresses time: all rates are multiplied.
    """

    process: ClassVar[str] = "map"
    keys: ClassVar[tuple[str, ...]] = ("d0", "d1")

    d0: Rows
    d1: Rows
    _rate: float = field(init=False, repr=False, compare=False)

    def __init__(self, d0: Iterable[Iterable[float]], d1: Iterable[Iterable[float]]) -> None:
        with inside("d0"):
            hidden = _square("d0 of MarkovianArrivals", d0, None)
        with inside("d1"):
            jobs = _square("d1 of MarkovianArrivals", d1, len(hidden), diagonal=True)
            speeds = [sum(row) for row in jobs]
            if max(speeds) == 0:
                raise ModelError(
                    "at least one rate of d1 of MarkovianArrivals must be above 0.",
                    argument="d1",
                    given=jobs,
                    allowed="at least one above 0",
                )
        pairs = zip(hidden, jobs, strict=True)
        jumps = tuple(
            tuple(0.0 if i == j else a + b for j, (a, b) in enumerate(zip(*rows, strict=True)))
            for i, rows in enumerate(pairs)
        )
        shares = _stationary("d0 + d1 of MarkovianArrivals", jumps)
        rate = sum(share * speed for share, speed in zip(shares, speeds, strict=True))
        leaving = [sum(row) + speed for row, speed in zip(hidden, speeds, strict=True)]
        object.__setattr__(
            self,
            "d0",
            tuple(
                tuple(-leaving[i] if i == j else value for j, value in enumerate(row))
                for i, row in enumerate(hidden)
            ),
        )
        object.__setattr__(self, "d1", jobs)
        object.__setattr__(self, "_rate", rate)

    @property
    def rate(self) -> float:
        return self._rate

    @property
    def dispersion(self) -> float:
        import numpy as np

        return _dispersion(np.array(self.d0), np.array(self.d1))

    def _scaled(self, factor: float) -> Self:
        return type(self)(
            *([[factor * rate for rate in row] for row in rows] for rows in (self.d0, self.d1))
        )


def _dispersion(d0: Floats, d1: Floats) -> float:
    """Return the variance over mean of the number of arrivals in a long time.

    With D = D0 + D1, its stationary distribution pi, and the rate r = pi D1 1, it is 1 + 2 / r (pi
    D1 (c 1 pi - D)^-1 D1 1 - r^2 / c) for any c > 0. The diagonal of `d0` is not used.
    """
    import numpy as np

    chain = d0 + d1
    np.fill_diagonal(chain, 0.0)
    shares = np.array(_stationary("the chain", tuple(map(tuple, chain.tolist()))))
    np.fill_diagonal(chain, -chain.sum(axis=1))
    jobs = d1.sum(axis=1)
    rate = float(shares @ jobs)
    speed = max(float(-chain.diagonal().min()), rate)
    solved = np.linalg.solve(speed * np.outer(np.ones(len(jobs)), shares) - chain, jobs)
    return 1 + 2 / rate * (float(shares @ d1 @ solved) - rate**2 / speed)


def _square(what: str, rows: object, size: int | None, diagonal: bool = False) -> Rows:
    """Return `size` rows of `size` non-negative numbers; without `diagonal` 0 stands there."""
    given = items(rows)
    size = max(1, len(given or [])) if size is None else size
    allowed = f"{counted(size, 'row')} of {counted(size, 'number')}, one for each state"
    if not given:
        raise invalid(what, rows, allowed)
    table = [numbers(row, f"row {i} of {what}") for i, row in enumerate(given)]
    if [len(row) for row in table] != [size] * size:
        raise invalid(what, table, allowed)
    for i, row in enumerate(table):
        if any(value < 0 for j, value in enumerate(row) if diagonal or j != i):
            raise invalid(f"row {i} of {what}", row, "a list of rates of at least 0")
    return tuple(
        tuple(value if diagonal or i != j else 0.0 for j, value in enumerate(row))
        for i, row in enumerate(table)
    )


def _stationary(what: str, jumps: Rows) -> list[float]:
    """Return the stationary probabilities of the chain with these jump rates.

    By state reduction, which subtracts nothing: Grassmann, Taksar, Heyman, Operations Research 33
    (1985).
    """
    size = len(jumps)
    _refuse_reducible(what, jumps)
    rates = [list(row) for row in jumps]
    for last in range(size - 1, 0, -1):
        out = sum(rates[last][:last])
        for i in range(last):
            rates[i][last] /= out
            for j in range(last):
                rates[i][j] += rates[i][last] * rates[last][j]
    weights = [1.0]
    for state in range(1, size):
        weights.append(sum(weights[i] * rates[i][state] for i in range(state)))
    total = sum(weights)
    return [weight / total for weight in weights]


def _refuse_reducible(what: str, jumps: Rows) -> None:
    """Raise unless every state leads to every other."""
    states = range(len(jumps))
    for forward in (True, False):
        seen, todo = {0}, [0]
        while todo:
            i = todo.pop()
            new = [j for j in states if (jumps[i][j] if forward else jumps[j][i]) > 0]
            todo += [j for j in new if j not in seen]
            seen.update(new)
        if len(seen) < len(jumps):
            raise ModelError(
                f"{what} must lead from every state to every other.",
                argument=what,
                given=jumps,
                allowed="a chain that leads from every state to every other",
            )
