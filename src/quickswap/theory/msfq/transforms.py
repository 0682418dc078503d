"""What happens from the start of one visit to the lights to the start of the next, in transforms.

At the start of a visit no heavy job is present, and N light ones are. Given N = n, the number N' at
the start of the next has the generating function g_n(z). Each light that leaves at a level above
the threshold l brings down the level by one, a *passage*; the heavies that arrive meanwhile, and
those that arrive during their service, are served at the end, and lights that arrive meanwhile
wait. With

    beta(z) = B_H(l1 (1 - z)),   theta = lk (1 - beta),   sigma = theta + l1 (1 - z),

where B_H is the transform of the busy period of a heavy, a passage of length t multiplies g by
exp(-theta t) and a drain of length t by exp(-sigma t).

Everything is a function of delta = 1 - z, and every value x near 1 is kept as 1 - x, its
*complement*, so that nothing cancels near z = 1, where systems under high load are decided.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import solve_banded

from quickswap.theory.models import OneOrAll

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    """Real or complex; the last axis is that of the points."""

__all__ = ["Always", "OnDemand", "Visit", "Visits", "both", "busy", "products"]


def both(a: Any, b: Any) -> Any:
    """Return the complement of a product from those of its factors."""
    return a + b - a * b


def products(factors: Array) -> Array:
    """Return the complements of the products of the first 1, 2, .. rows, given complements."""
    before = np.ones_like(factors)
    np.multiply.accumulate(1 - factors[:-1], axis=0, out=before[1:])
    return np.asarray(np.add.accumulate(factors * before, axis=0))


def busy(arrival: float, service: float, s: Any) -> Any:
    """Return 1 - B(s), where B is the transform of the busy period of an M/M/1 queue."""
    x = service - arrival + s
    return 2 * s / (x + np.sqrt(x * x + 4 * arrival * s))


def _branch(arrival: float, service: float) -> float:
    """Return -s at the singularity of the transform of a busy period."""
    return (math.sqrt(service) - math.sqrt(arrival)) ** 2


class Visit(NamedTuple):
    """The transforms of a visit at some points, all as complements but `unmet`.

    `E[z^N'] = upper sum_{n >= k} pi_n w^(n-k+1) + sum_{n < k} pi_n g_n + Q unmet`.

    Attributes:
        w: of the passage of a light while all k slots are taken.
        upper: of what follows from the level k - 1 to the end.
        low: g_0 .. g_{k-1}, one a row.
        unmet: factor of Q, the probability that a visit with n >= k comes down to l before any
            heavy arrives; None where that does not matter.
    """

    w: Array
    upper: Array
    low: Array
    unmet: Array | None


class Visits(ABC):
    """The visits to lights of a one-or-all system under MSFQ.

    Attributes:
        model: the system, of k slots.
        threshold: l.
        unmet: whether Q is among the unknowns.
    """

    unmet: bool

    def __init__(self, model: OneOrAll, threshold: int) -> None:
        self.model = model
        self.threshold = threshold

    @abstractmethod
    def at(self, delta: Array) -> Visit:
        """Return the transforms at z = 1 - delta."""

    def analytic(self, delta: float) -> bool:
        """Return whether no singularity lies between z = 1 and z = 1 - delta, delta < 0.

        Each factor is looked at, as products look harmless again beyond an even number of poles;
        and busy periods where their square root turns negative, as they are small there.
        """
        model = self.model
        if model.l1 * -delta >= _branch(model.lk, model.mk):
            return False
        _, theta, sigma = self._exponents(np.array([delta]))
        return self.regular(float(theta[0]), float(sigma[0]))

    def regular(self, theta: float, sigma: float) -> bool:
        """Return whether passages at `theta` < 0 and drains at `sigma` have no singularity before.

        See `analytic`.
        """
        model = self.model
        if -theta >= _branch(model.l1, model.k * model.m1):
            return False
        drains = self.threshold == 0 or sigma > -model.m1
        return drains and bool(np.all(self.passages(np.array([theta])) < 1))  # h_j is positive

    def passages(self, s: Any) -> Array:
        """Return the complements of h_j(s), passage j -> j-1: row j, for l < j <= k; others 0."""
        model = self.model
        rows = np.zeros((model.k + 1, *np.shape(s)), dtype=np.result_type(s, float))
        rows[model.k] = busy(model.l1, model.k * model.m1, s)
        for j in range(model.k - 1, self.threshold, -1):
            x = s + model.l1 * rows[j + 1]
            rows[j] = x / (j * model.m1 + x)
        return rows

    def drains(self, s: Any) -> Array:
        """Return the complements of d_u(s), the drain of u lights: row u, for 0 <= u <= l."""
        rows = np.zeros((self.threshold + 1, *np.shape(s)), dtype=np.result_type(s, float))
        rates = self.model.m1 * np.arange(1, self.threshold + 1)
        rates = rates.reshape(-1, *(1 for _ in np.shape(s)))
        rows[1:] = products(s / (rates + s))
        return rows

    def descents(self, passages: Array, end: Array) -> Array:
        """Return the complements of the way from n down to l and on: row n - l, for l <= n < k.

        Args:
            passages: the rows of `passages`.
            end: the complement of what follows at l.
        """
        steps = passages[self.threshold + 1 : self.model.k]
        return np.concatenate([end[None], both(products(steps), end)])

    def _exponents(self, delta: Array) -> tuple[Array, Array, Array]:
        """Return the complement of beta, theta, and sigma."""
        model = self.model
        beta = busy(model.lk, model.mk, model.l1 * delta)
        theta = model.lk * beta
        return beta, theta, theta + model.l1 * delta


class Always(Visits):
    """drain="always": phases 2, 3 and 4 follow each other whether or not a heavy waits."""

    unmet = False

    def at(self, delta: Array) -> Visit:
        beta, theta, sigma = self._exponents(delta)
        return self._visit(self.passages(theta), self.drains(sigma), beta)

    def until_heavies(self, s: Array) -> Visit:
        """Return the transforms of the time until the heavies' turn; idle time does not count."""
        return self._visit(self.passages(s), self.drains(s), np.zeros_like(s))

    def _visit(self, passages: Array, drains: Array, heavy_first: Array) -> Visit:
        k, ell, model = self.model.k, self.threshold, self.model
        descents = self.descents(passages, drains[ell])
        rows = np.concatenate([drains[:ell], descents, [both(descents[-1], passages[k])]])
        # with nobody there, the next arrival begins its own phase
        rows[0] = (model.l1 * rows[1] + model.lk * heavy_first) / (model.l1 + model.lk)
        return Visit(passages[k], descents[-1], rows[:k], None)


class OnDemand(Visits):
    """drain="on_demand": the drain begins once a heavy is there and at most l lights are.

    Until the first heavy arrives the lights are an M/M/k queue. At a level n > l this matters only
    once the level has come down to l, so the levels up to l form a tridiagonal system:

        (l1 + j m1 + lk) R_j = lk beta d_j(sigma) + j m1 R_{j-1} + l1 R_{j+1},
        R_{l+1} = (h_{l+1}(theta) - h_{l+1}(lk)) d_l(sigma) + h_{l+1}(lk) R_l.

    Attributes:
        met: probabilities that a heavy arrives during passage j -> j-1, at index j.
        met_above: the same for the way from n to l, at index n - l, for l <= n < k.
        unmet_above: probability that none does on the way from k - 1 to l; for l = k, the factor
            that turns the probability from k into one from k + 1.
    """

    unmet = True

    def __init__(self, model: OneOrAll, threshold: int) -> None:
        super().__init__(model, threshold)
        k = model.k
        self.met = self.passages(model.lk)
        self.met_above = self.descents(self.met, np.array(0.0))
        self.unmet_above = float(1 - self.met_above[-1] if threshold < k else 1 / (1 - self.met[k]))
        self.next = min(threshold + 1, k)
        level = np.arange(threshold + 1)
        self._band = np.zeros((3, threshold + 1))
        self._band[0, 1:] = -model.l1
        self._band[1] = model.l1 + level * model.m1 + model.lk
        self._band[1, -1] -= model.l1 * (1 - self.met[self.next])
        self._band[2, :-1] = -level[1:] * model.m1

    def until_met(self, rates: Array, above: Any) -> Array:
        """Solve `(l1 + j m1 + lk) x_j = rates_j + j m1 x_{j-1} + l1 x_{j+1}` for j <= l.

        Args:
            rates: a row for each j up to l.
            above: `x_{l+1} = above + h_{l+1}(lk) x_l`.
        """
        rates = np.array(rates)
        rates[-1] += self.model.l1 * above
        return np.asarray(solve_banded((1, 1), self._band, rates, check_finite=False))

    def until_end(self, passages: Array, end: Array) -> Array:
        """Return P(A) - E[exp(-s t); A], where a heavy arrives (A) on the way from n down to l.

        Args:
            passages: the rows of `passages(s)`.
            end: the complement of what follows at l; t is the time from the arrival to its end.

        Returns:
            Row n for l < n <= k, others 0; for l = k the way from k + 1 in row k.
        """
        model, k, l1, lk = self.model, self.model.k, self.model.l1, self.model.lk
        rows = np.zeros((k + 1, *np.shape(end)), dtype=end.dtype)
        for j in range(k, self.threshold - (self.threshold == k), -1):
            up = min(j + 1, k)
            now = lk + l1 * self.met[up]
            leave = now + j * model.m1  # or start a passage j+1 -> j that no heavy interrupts
            if j == k:
                rows[j] = passages[j] * now / (leave - l1 + l1 * passages[j])
            else:
                rest = self.met[up] - rows[up]
                rows[j] = (lk * passages[j] + l1 * (rows[up] + passages[j] * rest)) / leave
        if self.threshold == k:
            met = self.met[k]
            rows[k] += (met - rows[k]) * end
            return rows
        below = end
        for n in range(self.threshold + 1, k + 1):
            met = self.met[n]
            before = rows[n - 1] if n > self.threshold + 1 else 0.0
            alone = rows[n]
            rows[n] = alone + (met - alone) * below + (1 - met) * before
            below = both(below, passages[n])
        return rows

    def at(self, delta: Array) -> Visit:
        k, ell = self.model.k, self.threshold
        beta, theta, sigma = self._exponents(delta)
        passages, drains = self.passages(theta), self.drains(sigma)
        last = drains[ell]
        above = self.met[self.next] * last + passages[self.next] * (1 - last)
        low = self.until_met(self.model.lk * both(drains, beta), above)
        unmet = last - low[ell]
        if ell == k:
            upper = (last - passages[k]) / (1 - passages[k])
            return Visit(passages[k], upper, low[:k], unmet)
        descents = self.descents(passages, np.zeros_like(last))
        met = self.met_above[1:, None]
        high = met * last + descents[1:] * (1 - last) + (1 - met) * low[ell]
        return Visit(passages[k], both(descents[-1], last), np.concatenate([low, high]), unmet)
