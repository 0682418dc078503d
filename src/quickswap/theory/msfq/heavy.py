"""The distribution of the response time of the heavy jobs under MSFQ.

Heavy jobs are served one at a time, in order of arrival, until none is left: an M/M/1 queue whose
server takes vacations. The number of heavy jobs at a random instant is the sum of two independent
numbers, that in an M/M/1 queue and that at a random instant of a vacation (Fuhrmann, Cooper,
Operations Research 33, 1985). A departing job leaves behind the heavy jobs that arrived during its
response time T, so the number it leaves has the generating function E[exp(-lk (1 - z) T)]
(distributional form of Little's law). With s = lk (1 - z):

    E[exp(-s T)] = (mk - lk) / (mk - lk + s) alpha(s),

where alpha(lk (1 - z)) is the generating function of the number at a random instant of a vacation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from quickswap._check import number, whole
from quickswap.errors import QuickswapError, invalid
from quickswap.theory.msfq.cycle import Cycle
from quickswap.theory.msfq.equation import Complex, Equation, Unknowns
from quickswap.theory.msfq.transforms import Always, LightVisits, OnDemand

__all__ = ["ResponseTimes"]

Floats = NDArray[np.float64]

TERMS = 15
"""Terms of the inversion; with more, rounding errors outweigh the gain."""
FAREST = 1e-6
"""Smallest tail of a percentile; the inversion is off by about 1e-8."""
ON_CIRCLE = 32
"""Points of the circle around 0 from which moments are read."""
MOST_MOMENTS = 6


class ResponseTimes:
    """The response time T of a heavy job, in seconds.

    Moments lose a few digits of a float. Probabilities are computed to about 1e-8 by numerical
    inversion of the transform (Abate, Whitt, INFORMS Journal on Computing 18, 2006, "Euler").
    """

    def __init__(self, equation: Equation, unknowns: Unknowns, cycle: Cycle) -> None:
        self._equation, self._unknowns, self._cycle = equation, unknowns, cycle
        self._model = equation.visits.model
        self._moments: Floats | None = None

    @property
    def mean(self) -> float:
        """E[T], seconds."""
        return self.moment(1)

    @property
    def std(self) -> float:
        """Standard deviation, seconds."""
        return math.sqrt(self.moment(2) - self.moment(1) ** 2)

    def moment(self, order: int) -> float:
        """Return E[T^order], seconds to that power, for order 1 to 6.

        Raises:
            QuickswapError: another order.
        """
        order = whole(order, "order", 1, MOST_MOMENTS, QuickswapError)
        if self._moments is None:
            self._moments = self._find_moments()
        return float(self._moments[order])

    def sf(self, time: ArrayLike) -> Any:
        """Return P(T > time) for a time in seconds, or an array of them in the same shape.

        Raises:
            QuickswapError: a time that is not a number of at least 0.
        """
        try:
            times = np.asarray(time, dtype=float)
        except (TypeError, ValueError, OverflowError):
            times = np.array(math.nan)
        if not (np.isfinite(times).all() and (times >= 0).all()):
            raise invalid("time", time, "a finite number of at least 0", QuickswapError)
        flat, result = times.reshape(-1), np.ones(times.size)
        if (flat > 0).any():
            result[flat > 0] = self._invert(flat[flat > 0])
        return result.reshape(times.shape) if times.shape else float(result[0])

    def percentile(self, percent: float) -> float:
        """Return the time t with P(T <= t) = percent / 100, seconds.

        Raises:
            QuickswapError: not above 0, or above 99.9999.
        """
        share = number(percent, "percent", error=QuickswapError) / 100
        if not 0 < share <= 1 - FAREST:
            highest = f"{100 * (1 - FAREST):.10g}, above which rounding hides the tail"
            raise invalid("percent", percent, f"above 0 and at most {highest}", QuickswapError)
        low, high = 0.0, self.mean
        while self.sf(high) > 1 - share:
            low, high = high, 2 * high
        found = brentq(lambda t: self.sf(t) - (1 - share), low, high, rtol=1e-10)
        return float(found)

    def transform(self, s: NDArray[Any]) -> Complex:
        """Return E[exp(-s T)] at an array of points, of real part at least 0.

        At a random instant of a time X over which heavy jobs arrive at rate lk, E[z^number] is
        (1 - E[exp(-s X)]) / (s E[X]). With drain="on_demand" the vacation is 1 / lk without heavy
        jobs, followed by X with one heavy job more, a factor z = 1 - s / lk.
        """
        spare, lk = self._model.mk - self._model.lk, self._model.lk
        missing = self._missing(s)
        outside: float = self._cycle.idle
        heavies: Any = 1.0
        if isinstance(self._equation.visits, OnDemand):
            outside, heavies = 1 / lk, 1 - s / lk
        vacation = (outside + heavies * missing / s) / self._cycle.vacation
        return np.asarray(spare / (spare + s) * vacation)

    def _missing(self, s: NDArray[Any]) -> Complex:
        """Return 1 - E[exp(-s X)], where X ends when the first heavy job starts.

        X begins with the visit to light jobs or, on demand, with the arrival of the first heavy
        job.
        """
        visits = self._equation.visits
        if isinstance(visits, OnDemand):
            close = np.abs(s - visits.model.lk) < 1e-4 * visits.model.lk
            if close.any():  # a removable singularity: take the mean over a small circle
                around = 1e-2 * visits.model.lk * np.exp(2j * np.pi * np.arange(8) / 8)
                result = np.array(s)
                result[~close] = self._missing(s[~close]) if (~close).any() else 0
                result[close] = self._missing(visits.model.lk + around).mean()
                return result
            return self._on_demand(visits, s)
        assert isinstance(visits, Always)
        visit = visits.until_heavies(s)
        low = self._unknowns.pi[: visits.model.k]
        above = self._equation.above(self._unknowns, visit.w)
        above += visit.upper * (1 - low.sum() - above)
        return np.asarray(low @ visit.low + above)

    def _on_demand(self, visits: OnDemand, s: NDArray[Any]) -> Complex:
        """Return 1 - E[exp(-s X)] for X from the first heavy job on; see `transforms.OnDemand`.

        For n >= k the descent H to l does not depend on the first heavy job, which arrives at
        T ~ Exp(lk). What remains of H then has

            E[exp(-s (H - T)); T < H] = lk / (lk - s) (E[exp(-s H)] - E[exp(-lk H)]),

        with a removable singularity at s = lk; lk / (lk - s) = 1 + late. Summed over pi_n, with
        P = P(N >= k), `above` = P - sum pi_n E[exp(-s H)] and met = P - Q, the part of n >= k is

            met - (1 + late)(met - above) d_l = met (1 - d_l) + (above + late (above - met)) d_l.
        """
        k, ell, lk = visits.model.k, visits.threshold, visits.model.lk
        passages, drains = visits.passages(s), visits.drains(s)
        last = drains[ell]
        met = visits.until_end(passages, last)
        levels = visits.until_met(lk * drains, met[visits.next])
        none = 1 - visits.met_above[1:, None]
        high = met[ell + 1 : k] + none * levels[ell] if ell < k else met[:0]
        low = self._unknowns.pi[:k]
        result = low @ np.concatenate([levels, high])[:k]
        if ell < k:
            down = visits.descents(passages, np.zeros_like(last))[-1]
        else:
            down = -passages[k] / (1 - passages[k])
        unmet = self._unknowns.unmet
        high_share = 1 - low.sum()
        above = self._equation.above(self._unknowns, passages[k])
        above += down * (high_share - above)  # the descent is n - k + 1 passages, and that below
        met_high, late = high_share - unmet, s / (lk - s)
        rest = (1 - last) * (above + late * (above - met_high))
        return np.asarray(result + last * met_high + rest + unmet * levels[ell])

    def _invert(self, times: Floats) -> Floats:
        """Return P(T > t) at positive times, by the method "Euler".

        With M terms and F(s) = (1 - E[exp(-s T)]) / s, the transform of P(T > t), it is

            10^(M/3) / t sum_{n=0}^{2M} (-1)^n xi_n Re F((M ln(10) / 3 + i pi n) / t),

        a Fourier series whose last M terms are averaged with binomial weights (Euler summation).
        """
        n = np.arange(2 * TERMS + 1)
        weights = np.ones(2 * TERMS + 1)
        weights[0] = 0.5
        tail = [math.comb(TERMS, j) / 2**TERMS for j in range(TERMS + 1)]
        weights[TERMS:] = np.cumsum(tail[::-1])[::-1]
        signs = (-1.0) ** n * 10 ** (TERMS / 3)
        nodes = TERMS * math.log(10) / 3 + 1j * np.pi * n
        s = (nodes[None, :] / times[:, None]).reshape(-1)
        values = ((1 - self.transform(s)) / s).real.reshape(len(times), -1)
        return np.asarray(np.clip(values @ (weights * signs) / times, 0, 1))

    def _find_moments(self) -> Floats:
        """Return E[T^n] for n = 0 ... 6 from values of the transform on a circle around 0.

        E[exp(-s T)] = sum_n (-s)^n E[T^n] / n!, so Fourier coefficients on the circle give the
        moments. The radius is such that nothing is singular up to twice as far from 0: neither the
        factor of M/M/1 at s = lk - mk, nor the passages; and that 1 - h_k(s), about s / slow, stays
        where `Equation` sums its orbit as a series.
        """
        model, visits = self._model, self._equation.visits
        slow = model.k * model.m1 - model.l1
        radius = min(model.mk - model.lk, slow, slow * self._equation.near) / 2
        with np.errstate(all="ignore"):
            while not self._regular(visits, radius):
                radius /= 2
        turn = np.exp(-2j * np.pi * np.arange(ON_CIRCLE // 2 + 1) / ON_CIRCLE)
        order = np.arange(MOST_MOMENTS + 1)
        series = np.fft.irfft(self.transform(radius * turn), ON_CIRCLE)[: MOST_MOMENTS + 1]
        signs = np.array([(-1) ** n * math.factorial(n) for n in range(MOST_MOMENTS + 1)])
        return np.asarray(series * signs / radius**order)

    def _regular(self, visits: LightVisits, radius: float) -> bool:
        """Return whether all factors are regular up to twice `radius`, and below 1.5 at -radius.

        A transform is largest, over a circle around 0, at the negative real point.
        """
        if not visits.regular(-2 * radius, -2 * radius):
            return False
        s = np.array([-radius])
        passages, drains = visits.passages(s), visits.drains(s)
        ways = visits.descents(passages, drains[-1])
        parts = np.concatenate([passages, drains, ways, 1 - self.transform(s)[None]])
        return bool(np.all(np.abs(parts) < 0.5))  # nan is not
