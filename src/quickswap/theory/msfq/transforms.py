"""The transforms of a cycle, from the start of a visit to the light jobs to that of the next.

At the start of a visit no heavy job is present, and N light jobs are. Given N = n, the number N' at
the start of the next visit has the generating function g_n(z). The number of light jobs present is
the *level*. A *passage* is the time in which the level first falls from j to j - 1; h_j(s) is its
transform. Every heavy job that arrives in a passage or in the drain leads to a busy period of heavy
jobs at the end of the cycle, with the transform B_H. All light jobs that arrive in the drain and in
these busy periods wait, and are the N' light jobs of the next visit; light jobs that arrive in a
passage are served in it. With

    beta(z) = B_H(l1 (1 - z)),   theta = lk (1 - beta),   sigma = theta + l1 (1 - z),

E[z^(light jobs that arrive in one busy period)] = beta. A passage of length t contributes
Poisson(lk t) busy periods, and hence the factor exp(-lk t (1 - beta)) = exp(-theta t). A drain of
length t contributes its own arrivals of light jobs as well: exp(-sigma t). This is the argument of
the paper's lemma lem:ztrans, here for each n instead of n >= k only.

All functions are functions of delta = 1 - z. A value x near 1 is stored as 1 - x, its *complement*:
under high load N is large, the solution depends on values near z = 1, and 1 - x would cancel there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quickswap.theory.conditions import OneOrAll

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    """Real or complex; the last axis is that of the points."""

__all__ = ["Always", "LightVisits", "OnDemand", "Transforms", "both", "busy", "products"]

SMALL = 20_000
"""Entries up to which `products` is faster without a loop over rows."""


def both(a: Any, b: Any) -> Any:
    """Return the complement of a product: 1 - (1 - a)(1 - b)."""
    return a * (1 - b) + b


def products(factors: Array) -> Array:
    """Return the complements of the products of the first 1, 2, ... rows, given complements.

    1 - x_1 ... x_j is the sum over i <= j of (1 - x_i) x_1 ... x_{i-1}: no term cancels. On large
    arrays `accumulate` along the first axis is slow, as it goes through them column by column.
    """
    if factors.size > SMALL:
        rows = np.array(factors)
        for j in range(1, len(rows)):
            rows[j] += rows[j - 1] * (1 - factors[j])
        return rows
    before = np.ones_like(factors)
    np.multiply.accumulate(1 - factors[:-1], axis=0, out=before[1:])
    return np.asarray(np.add.accumulate(factors * before, axis=0))


def busy(arrival: float, service: float, s: Any) -> Any:
    """Return 1 - B(s), where B is the transform of the busy period of an M/M/1 queue.

    B solves arrival B^2 - (arrival + service + s) B + service = 0 (the paper, remark "Busy
    Periods"). For y = 1 - B this is arrival y^2 + (service - arrival + s) y - s = 0; the form
    below of its root subtracts nothing.
    """
    x = service - arrival + s
    return 2 * s / (x + np.sqrt(x * x + 4 * arrival * s))


def _branch(arrival: float, service: float) -> float:
    """Return -s at the singularity of `busy`, where the square root in it is zero.

    Its argument is (s + service + arrival)^2 - 4 arrival service. The zero nearest to s = 0 is
    s = 2 sqrt(arrival service) - service - arrival.
    """
    return (math.sqrt(service) - math.sqrt(arrival)) ** 2


class Transforms(NamedTuple):
    """The transforms of a cycle at some points, all as complements except `unmet`.

    `E[z^N'] = upper sum_{n >= k} pi_n w^(n-k+1) + sum_{n < k} pi_n g_n + Q unmet`, since the
    descent from n >= k consists of n - k + 1 passages while all slots are busy, and the rest.

    Attributes:
        w: of a passage while all k slots are busy, h_k(theta).
        upper: of the rest of the cycle from the level k - 1 on.
        low: g_0 ... g_{k-1}, one per row.
        unmet: factor of Q, the probability that N >= k and the level falls to l before any heavy
            job arrives; None if Q does not occur.
    """

    w: Array
    upper: Array
    low: Array
    unmet: Array | None


class LightVisits(ABC):
    """The visits to light jobs of a one-or-all system under MSFQ.

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
    def at(self, delta: Array) -> Transforms:
        """Return the transforms at z = 1 - delta."""

    def analytic(self, delta: float) -> bool:
        """Return whether no singularity lies between z = 1 and z = 1 - delta, delta < 0.

        Each factor is checked on its own: beyond an even number of poles a product is positive and
        finite again. Busy periods are checked at their branch point, where their value is small.
        """
        model = self.model
        if model.l1 * -delta >= _branch(model.lk, model.mk):
            return False
        _, theta, sigma = self._exponents(np.array([delta]))
        return self.regular(float(theta[0]), float(sigma[0]))

    def regular(self, theta: float, sigma: float) -> bool:
        """Return whether passages and drains are regular from 0 to `theta` < 0 and `sigma`.

        The first pole of a drain is that of its last light job, s = -m1. As s decreases from 0, the
        denominator of h_j decreases, and h_j grows up to its pole. Beyond it h_j is negative, at
        least until the pole of h_{j+1}. So all h_j are positive only if none has passed a pole.
        """
        model = self.model
        if -theta >= _branch(model.l1, model.k * model.m1):
            return False
        drains = self.threshold == 0 or sigma > -model.m1
        return drains and bool(np.all(self.passages(np.array([theta])) < 1))

    def step(self, delta: Array) -> Array:
        """Return 1 - w, of the transforms at z = 1 - delta, alone."""
        return np.asarray(
            busy(self.model.l1, self.model.k * self.model.m1, self._exponents(delta)[1])
        )

    def passages(self, s: Any) -> Array:
        """Return the complements of h_j(s), passage j -> j-1: row j, for l < j <= k; others 0.

        The first event at level j < k is an arrival of a light job, which adds a passage j+1 -> j
        and starts again, or a completion: h_j = j m1 / (l1 + j m1 + s - l1 h_{j+1}) (the paper,
        lemma lem:h3). For complements x_j this reads x_j = (s + l1 x_{j+1}) / (j m1 + s + l1
        x_{j+1}).
        """
        model = self.model
        rows = np.zeros((model.k + 1, *np.shape(s)), dtype=np.result_type(s, float))
        rows[model.k] = busy(model.l1, model.k * model.m1, s)
        for j in range(model.k - 1, self.threshold, -1):
            x = s + model.l1 * rows[j + 1]
            rows[j] = x / (j * model.m1 + x)
        return rows

    def drains(self, s: Any) -> Array:
        """Return the complements of d_u(s), the drain of u light jobs: row u, for 0 <= u <= l.

        d_u(s) is the product over j <= u of j m1 / (j m1 + s) (the paper, lemma lem:h4). For
        complements x_u this reads x_u = (s + u m1 x_{u-1}) / (s + u m1).
        """
        rows = np.zeros((self.threshold + 1, *np.shape(s)), dtype=np.result_type(s, float))
        for u in range(1, self.threshold + 1):
            rate = u * self.model.m1
            rows[u] = (s + rate * rows[u - 1]) / (s + rate)
        return rows

    def descents(self, passages: Array, end: Array) -> Array:
        """Return the complements of the descent from n to l and what follows, for l <= n < k.

        Args:
            passages: the rows of `passages`.
            end: the complement of the transform of what follows at l.

        Returns:
            Level n in row n - l.
        """
        steps = passages[self.threshold + 1 : self.model.k]
        return np.concatenate([end[None], both(products(steps), end)])

    def _exponents(self, delta: Array) -> tuple[Array, Array, Array]:
        """Return the complement of beta, theta, and sigma."""
        model = self.model
        beta = busy(model.lk, model.mk, model.l1 * delta)
        theta = model.lk * beta
        return beta, theta, theta + model.l1 * delta


class Always(LightVisits):
    """drain="always": phases 2, 3 and 4 follow each other whether or not a heavy job waits.

    g_n = prod_{j=l+1}^{min(n, k-1)} h_j(theta) w^((n-k+1)^+) d_{min(n, l)}(sigma) for n >= 1.
    """

    unmet = False

    def at(self, delta: Array) -> Transforms:
        beta, theta, sigma = self._exponents(delta)
        return self._visit(self.passages(theta), self.drains(sigma), beta)

    def until_heavies(self, s: Array) -> Transforms:
        """Return the transforms of X, the time until heavy jobs are served, idle time excluded.

        X consists of the same passages and drain, with s instead of theta and sigma. X is 0 if the
        system is empty and a heavy job arrives first.
        """
        return self._visit(self.passages(s), self.drains(s), np.zeros_like(s))

    def _visit(self, passages: Array, drains: Array, heavy_first: Array) -> Transforms:
        k, ell, model = self.model.k, self.threshold, self.model
        descents = self.descents(passages, drains[ell])
        rows = np.concatenate([drains[:ell], descents, [both(descents[-1], passages[k])]])
        # the system is empty: the next arrival starts its own phase, which gives
        # g_0 = (l1 g_1 + lk beta) / (l1 + lk)
        rows[0] = (model.l1 * rows[1] + model.lk * heavy_first) / (model.l1 + model.lk)
        return Transforms(passages[k], descents[-1], rows[:k], None)


class OnDemand(LightVisits):
    """drain="on_demand": the drain begins once a heavy job is present and at most l light jobs are.

    Until the first heavy job arrives the light jobs are an M/M/k queue. R_j is g given that j light
    jobs and no heavy job are present. At j <= l the first event is the arrival of a heavy job,
    which starts the drain and adds a busy period (beta), a completion, or the arrival of a light
    job. At n > l a heavy job changes
    nothing until the level reaches l; whether one arrives on the way decides what happens there. In
    a passage of length t none arrives with probability exp(-lk t), hence

        (l1 + j m1 + lk) R_j = lk beta d_j(sigma) + j m1 R_{j-1} + l1 R_{j+1},   j <= l,
        R_{l+1} = (h_{l+1}(theta) - h_{l+1}(lk)) d_l(sigma) + h_{l+1}(lk) R_l.

    Here h(theta) covers both cases, and h(lk) the part without a heavy job, in which theta plays no
    role. The first l + 1 equations are a tridiagonal system for R_0 ... R_l. With H_n the product
    of the passages from n down to l, the same argument gives, for n > l,

        g_n = (H_n(theta) - H_n(lk)) d_l(sigma) + H_n(lk) R_l
            = H_n(theta) d_l(sigma) + H_n(lk) (R_l - d_l(sigma)).

    Summed over pi_n, n >= k, the second term is Q (R_l - d_l), Q = sum_{n >= k} pi_n H_n(lk).

    Attributes:
        met: probability that a heavy job arrives during passage j -> j-1, 1 - h_j(lk), at index j.
        met_above: the same for the descent from n to l, at index n - l, for l <= n < k.
        unmet_above: H_{k-1}(lk), the probability that no heavy job arrives on the descent from
            k - 1 to l. For l = k it is 1 / h_k(lk): the n - k + 1 passages from n to k - 1 are one
            too many.
        next: the level whose passage has the transform of the passage from l + 1; k if l = k.
    """

    unmet = True

    def __init__(self, model: OneOrAll, threshold: int) -> None:
        super().__init__(model, threshold)
        k = model.k
        self.met = self.passages(model.lk)
        self.met_above = self.descents(self.met, np.array(0.0))
        self.unmet_above = float(1 - self.met_above[-1] if threshold < k else 1 / (1 - self.met[k]))
        self.next = min(threshold + 1, k)
        # Elimination of x_0 ... x_{j-1} from equation j of `until_met` leaves l1 + excess_j as the
        # factor of x_j, where excess_j = lk + j m1 excess_{j-1} / (l1 + excess_{j-1}), the row
        # sum; from the last equation, x_{l+1} = above + h_{l+1}(lk) x_l as well. All terms are
        # positive.
        excess, self._down, self._pivots = 0.0, np.zeros(threshold + 1), np.zeros(threshold + 1)
        for j in range(threshold + 1):
            self._down[j] = j * model.m1 / self._pivots[j - 1] if j else 0.0
            excess = model.lk + self._down[j] * excess
            self._pivots[j] = model.l1 + excess
        self._pivots[-1] = model.l1 * self.met[self.next] + excess

    def until_met(self, rates: Array, above: Any) -> Array:
        """Solve `(l1 + j m1 + lk) x_j = rates_j + j m1 x_{j-1} + l1 x_{j+1}` for j <= l.

        Args:
            rates: a row for each j up to l.
            above: `x_{l+1} = above + h_{l+1}(lk) x_l`.
        """
        rows = np.array(rates)
        for j in range(1, len(rows)):
            rows[j] += self._down[j] * rows[j - 1]
        rows[-1] = (rows[-1] + self.model.l1 * above) / self._pivots[-1]
        for j in range(len(rows) - 2, -1, -1):
            rows[j] = (rows[j] + self.model.l1 * rows[j + 1]) / self._pivots[j]
        return rows

    def until_end(self, passages: Array, end: Array) -> Array:
        """Return P(A) - E[exp(-s t); A], where A: a heavy job arrives on the descent from n to l.

        For one passage, F_j = E[exp(-s t); A] solves

            (l1 + j m1 + lk) F_j = lk h_j + l1 (F_{j+1} h_j + h_{j+1}(lk) F_j):

        a heavy job arrives, and the passage begins anew without memory; or a light job does, and
        the heavy job arrives in the passage j+1 -> j that it adds, or not. At s = 0 this is the
        equation of p_j = P(A_j) = 1 - h_j(lk). The difference of the two, with c_j = 1 - h_j(s), is
        one of positive terms for x_j = p_j - F_j:

            (lk + l1 p_{j+1} + j m1) x_j = lk c_j + l1 (x_{j+1} + c_j (p_{j+1} - x_{j+1})).

        For j = k, j + 1 is replaced by k. The descent from n is the passage n -> n-1 and then the
        descent from n - 1, with the transform D of its length and of what follows. A heavy arrives
        in the passage, or else in that descent:

            y_n = p_n - F_n D + (1 - p_n) y_{n-1} = x_n + (p_n - x_n)(1 - D) + (1 - p_n) y_{n-1}.

        Args:
            passages: the rows of `passages(s)`.
            end: the complement of what follows at l; t is the time from the arrival to its end.

        Returns:
            Row n for l < n <= k, others 0; for l = k the descent from k + 1 in row k.
        """
        model, k, l1, lk = self.model, self.model.k, self.model.l1, self.model.lk
        rows = np.zeros((k + 1, *np.shape(end)), dtype=end.dtype)
        for j in range(k, self.threshold - (self.threshold == k), -1):
            up = min(j + 1, k)
            now = lk + l1 * self.met[up]
            leave = now + j * model.m1
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

    def at(self, delta: Array) -> Transforms:
        k, ell = self.model.k, self.threshold
        beta, theta, sigma = self._exponents(delta)
        passages, drains = self.passages(theta), self.drains(sigma)
        last = drains[ell]
        # 1 - R_{l+1} = above + h_{l+1}(lk) (1 - R_l)
        above = self.met[self.next] * last + passages[self.next] * (1 - last)
        low = self.until_met(self.model.lk * both(drains, beta), above)
        unmet = last - low[ell]
        if ell == k:  # n - k passages, and the drain of k light jobs: upper = d_k / w
            upper = (last - passages[k]) / (1 - passages[k])
            return Transforms(passages[k], upper, low[:k], unmet)
        descents = self.descents(passages, np.zeros_like(last))
        met = self.met_above[1:, None]  # the first form of g_n, for l < n < k
        high = met * last + descents[1:] * (1 - last) + (1 - met) * low[ell]
        return Transforms(passages[k], both(descents[-1], last), np.concatenate([low, high]), unmet)
