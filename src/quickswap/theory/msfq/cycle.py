"""Means over a cycle, from one start of a visit to the light jobs to the next.

For n >= k the descent from n to k - 1 light jobs consists of n - k + 1 independent passages of the
same distribution. Given N = n the means below are hence polynomials in n of degree at most 2, and
the distribution of N enters through P(N = n) for n < k, E[N] and E[N(N-1)] alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickswap.theory.conditions import OneOrAll
from quickswap.theory.msfq.equation import Unknowns
from quickswap.theory.msfq.transforms import LightVisits, OnDemand

Floats = NDArray[np.float64]

__all__ = ["Cycle", "cycle"]


@dataclass(frozen=True)
class Cycle:
    """Means over a cycle; all but the last two in seconds.

    Attributes:
        length: from start to start.
        idle: the system is empty (with drain="always"; otherwise part of `falling`).
        heavies: phase 1, heavy jobs in service.
        full: phase 2, from N >= k light jobs down to k - 1.
        falling: phase 3, until the drain begins.
        drain: phase 4.
        light_area: integral of the number of light jobs present over the cycle.
        heavy_area: integral of the number of waiting heavy jobs, over the time when none is served.
    """

    length: float
    idle: float
    heavies: float
    full: float
    falling: float
    drain: float
    light_area: float
    heavy_area: float

    @property
    def vacation(self) -> float:
        """Time in which no heavy job is served, seconds: the vacation of their server."""
        return self.idle + self.full + self.falling + self.drain


@dataclass(frozen=True)
class Descent:
    """Moments of the time until the number of light jobs has fallen, by the level j at its start.

    Attributes, each an array with index j from 0 to k:
        mean: seconds.
        variance: seconds squared.
        area: mean integral of the number of light jobs present.
    """

    mean: Floats
    variance: Floats
    area: Floats

    @property
    def square(self) -> Floats:
        """Mean square, seconds squared."""
        return self.variance + self.mean**2

    def down_to(self, level: int) -> Descent:
        """Return the descents from j to `level`, sums of these independent passages j -> j-1."""
        above = np.arange(len(self.mean)) > level
        return Descent(*(np.cumsum(above * row) for row in (self.mean, self.variance, self.area)))

    def base(self, passages: Descent) -> tuple[float, float, float]:
        """Return mean, variance and area of the descent from k - 1: that from k less a passage.

        For l = k it is minus one passage, which the passages from k on complete.
        """
        pairs = (self.mean, passages.mean), (self.variance, passages.variance)
        mean, variance, area = (a[-1] - b[-1] for a, b in (*pairs, (self.area, passages.area)))
        return float(mean), float(variance), float(area)


def passages(model: OneOrAll, level: int) -> Descent:
    """Return the passages j -> j-1 of an M/M/k queue of light jobs, for `level` < j <= k.

    The passage from k is a busy period of M/M/1(l1, k m1): mean b = 1 / (k m1 - l1), second moment
    2 k m1 b^3, and area k m1 b^2 for its own jobs, plus (k - 1) b for the k - 1 below. For j < k
    the first event is a completion or an arrival, after which the passages j+1 -> j and j -> j-1
    follow (the paper, lemma lem:h3, differentiated):

        m_j = (1 + l1 m_{j+1}) / (j m1),   E_j = 2 m_j^2 + l1 E_{j+1} / (j m1) for squares,
        a_j = (j + l1 a_{j+1}) / (j m1) for areas.
    """
    k, rate = model.k, model.k * model.m1
    mean, square, area = np.zeros((3, k + 1))
    mean[k] = 1 / (rate - model.l1)
    square[k] = 2 * rate * mean[k] ** 3
    area[k] = (k - 1) * mean[k] + rate * mean[k] ** 2
    for j in range(k - 1, level, -1):
        served = j * model.m1
        mean[j] = (1 + model.l1 * mean[j + 1]) / served
        square[j] = 2 * mean[j] ** 2 + model.l1 * square[j + 1] / served
        area[j] = (j + model.l1 * area[j + 1]) / served
    return Descent(mean, square - mean**2, area)


def drains(model: OneOrAll, threshold: int) -> Descent:
    """Return the drain of u light jobs, 0 <= u <= l: j of them take 1 / (j m1) on average.

    The area is u / m1, as each light job is present for its size.
    """
    lights = np.arange(threshold + 1)
    each = np.append(0.0, 1 / (lights[1:] * model.m1))
    return Descent(np.cumsum(each), np.cumsum(each * each), lights / model.m1)


@dataclass(frozen=True)
class Start:
    """N at the start of a visit: P(N = n) for n < k, and sums over n >= k.

    Attributes:
        low: P(N = n), n < k.
        above: P(N >= k).
        first: sum of pi_n i, where i = n - k + 1.
        second: sum of pi_n i^2.
    """

    low: Floats
    above: float
    first: float
    second: float

    @classmethod
    def of(cls, unknowns: Unknowns, k: int) -> Start:
        """Return the probabilities and sums of a solved distribution of N."""
        n, low = np.arange(k), unknowns.pi[:k]
        above = 1 - float(low.sum())
        mean = unknowns.mean - float(low @ n)
        square = unknowns.pairs + unknowns.mean - float(low @ (n * n))
        first = mean - (k - 1) * above
        return cls(low, above, first, square - 2 * (k - 1) * mean + (k - 1) ** 2 * above)

    def expect(self, low: Floats, base: float, slope: float = 0.0, bend: float = 0.0) -> float:
        """Return E[f(N)] with f(n) = low[n] for n < k, otherwise base + slope i + bend i^2.

        As above, i = n - k + 1.
        """
        high = base * self.above + slope * self.first + bend * self.second
        return float(self.low @ low[: len(self.low)]) + high

    def area_above(self, model: OneOrAll, base: float) -> float:
        """Return the sum over n >= k of pi_n (base + area under the descent from n to k - 1).

        A passage from j >= k has the area (j - 1) b + k m1 b^2, where b is its mean. The sum over j
        from k to n is i (k m1 b^2 + (k - 1) b) + b i (i - 1) / 2
        = i ((k - 3/2) b + k m1 b^2) + i^2 b / 2, with i = n - k + 1.
        """
        b = 1 / (model.k * model.m1 - model.l1)
        slope = (model.k - 1.5) * b + model.k * model.m1 * b * b
        return base * self.above + slope * self.first + b / 2 * self.second


def cycle(visits: LightVisits, unknowns: Unknowns) -> Cycle:
    """Return the means over a cycle in which N has the distribution `unknowns`.

    The light jobs that wait for the next visit arrive at rate l1 over a time Y. The integral of
    their number over Y is l1 Y^2 / 2 on average, and N given Y is Poisson(l1 Y), so E[N(N-1)] =
    l1^2 E[Y^2] and the mean integral is E[N(N-1)] / (2 l1). Likewise the heavy jobs that wait in a
    vacation X have the mean integral lk E[X^2] / 2.
    """
    if isinstance(visits, OnDemand):
        return _on_demand(visits, unknowns)
    return _always(visits, unknowns)


def _always(visits: LightVisits, unknowns: Unknowns) -> Cycle:
    """drain="always": the vacation X is the descent from n to min(n, l) and the drain of the rest.

    For n >= k its mean is base + b i and its variance spread + vb i, i = n - k + 1, so E[X^2] is
    base^2 + spread + (2 base b + vb) i + b^2 i^2. lk X heavy jobs arrive in it on average, and each
    leads to a busy period of mean 1 / (mk - lk); if the system is empty at the start (n = 0) and a
    heavy job arrives first, so does that job.
    """
    model, ell, k = visits.model, visits.threshold, visits.model.k
    each, drain = passages(model, ell), drains(model, ell)
    fall, start = each.down_to(ell), Start.of(unknowns, k)
    left = np.minimum(np.arange(k + 1), ell)  # light jobs that the drain finishes
    total = Descent(
        fall.mean + drain.mean[left],
        fall.variance + drain.variance[left],
        fall.area + drain.area[left],
    )
    light_first = model.l1 / (model.l1 + model.lk)
    mean, square, area = total.mean, total.square, total.area
    drained = drain.mean[left]
    for row in (mean, square, area, drained):  # n = 0: as n = 1 if a light job arrives first
        row[0] = light_first * row[1]
    base, spread, base_area = total.base(each)
    b, vb = float(each.mean[k]), float(each.variance[k])
    vacation = start.expect(mean, base, b)
    squares = start.expect(square, base**2 + spread, 2 * base * b + vb, b * b)
    served = float(start.low @ area[:k]) + start.area_above(model, base_area)
    idle = float(unknowns.pi[0]) / (model.l1 + model.lk)
    full = b * start.first
    drain_time = start.expect(drained, float(drain.mean[ell]))
    heavies = (model.lk * vacation + float(unknowns.pi[0]) * (1 - light_first)) / (
        model.mk - model.lk
    )
    return Cycle(
        length=idle + vacation + heavies,
        idle=idle,
        heavies=heavies,
        full=full,
        falling=vacation - full - drain_time,
        drain=drain_time,
        light_area=served + unknowns.pairs / (2 * model.l1),
        heavy_area=model.lk * squares / 2,
    )


def _on_demand(visits: OnDemand, unknowns: Unknowns) -> Cycle:
    """drain="on_demand": a cycle is 1 / lk until a heavy job, its wait V, and the heavy jobs.

    The first heavy job waits for all of V, and those that arrive during V for lk V^2 / 2 in sum:
    the heavy area is E[V] + lk E[V^2] / 2. Together they lead to 1 + lk E[V] busy periods.

    Given N = n, V is the drain if the first heavy job arrives at a level j <= l; first-step
    analysis of the level until then is `until_met`. If it arrives on the descent H from n > l to l,
    V is what remains of H, and the drain from l. With T ~ Exp(lk), independent of H, integration by
    parts gives, where p = P(T < H) is `met`,

        E[(H - T)^+] = E[H] - p / lk,   E[((H - T)^+)^2] = E[H^2] - 2 E[H] / lk + 2 p / lk^2.

    These serve for n >= k, summed over pi_n. For l < n < k the differences would cancel if lk is
    small, and `_FirstHeavy` adds up positive terms instead.
    """
    model, ell, k, lk = visits.model, visits.threshold, visits.model.k, visits.model.lk
    each, drain, start = passages(model, ell), drains(model, ell), Start.of(unknowns, k)
    heavy = _FirstHeavy.of(visits, each)
    # For l = k the descent is from k + 1: that from k, with one more light present throughout.
    fall = (
        each.down_to(ell) if ell < k else Descent(each.mean, each.variance, each.area + each.mean)
    )
    end, end_square, end_area = drain.mean[ell], drain.square[ell], drain.area[ell]

    def mean(rates: Floats, met: Floats, above: float) -> float:
        """Return the mean over N of a quantity x, gathered until the first heavy job and by it.

        Args:
            rates: for j <= l, gathered per second at level j, including lk times that of a heavy
                job.
            met: for l < n < k, gathered on the descent to l.
            above: the same for n >= k, times pi_n and summed.
        """
        low = visits.until_met(rates, met[visits.next])
        high = met[ell + 1 : k] + (1 - heavy.met[ell + 1 : k]) * low[ell]
        return start.expect(np.append(low, high), 0.0) + above + unknowns.unmet * float(low[ell])

    base, spread, base_area = each.down_to(ell).base(each)
    b, vb = float(each.mean[k]), float(each.variance[k])
    falls = base * start.above + b * start.first
    squares = (base**2 + spread) * start.above + (2 * base * b + vb) * start.first
    squares += b * b * start.second
    met = start.above - unknowns.unmet  # n >= k, and a heavy job arrives on the way down to l
    rest = falls - met / lk
    rest_square = squares - 2 * falls / lk + 2 * met / lk**2
    wait = mean(lk * drain.mean, heavy.first + heavy.met * end, rest + met * end)
    wait_square = mean(
        lk * drain.square,
        heavy.second + 2 * heavy.first * end + heavy.met * end_square,
        rest_square + 2 * rest * end + met * end_square,
    )
    drain_time = mean(lk * drain.mean, heavy.met * end, met * end)
    served = mean(
        np.arange(ell + 1) + lk * drain.area,
        fall.area + heavy.met * end_area,
        start.area_above(model, base_area) + met * end_area,
    )
    heavies = (1 + lk * wait) / (model.mk - lk)
    full = b * start.first
    if ell == k:
        # If a heavy job waits, phase 2 ends at level k, after i - 1 passages instead of i.
        # Otherwise it ends with the passage k -> k-1 or, at level k, with the first heavy job:
        # from level k on it takes F, (l1 + k m1 + lk) F = 1 + l1 (b + h_k(lk) F).
        leave = lk + k * model.m1 + model.l1 * float(visits.met[k])
        full += unknowns.unmet * (1 + model.l1 * b) / leave - b * start.above
    return Cycle(
        length=1 / lk + wait + heavies,
        idle=0.0,
        heavies=heavies,
        full=full,
        falling=1 / lk + wait - full - drain_time,
        drain=drain_time,
        light_area=served + unknowns.pairs / (2 * model.l1),
        heavy_area=wait + lk * wait_square / 2,
    )


@dataclass(frozen=True)
class _FirstHeavy:
    """The first heavy job on the descent from n > l to l: the rest of the descent at its arrival.

    At index n from 0 to k; for l = k the descent is from k + 1, at index k.

    Attributes:
        met: the probability that one arrives.
        first: mean of the remaining time, which is 0 if none arrives, seconds.
        second: its mean square.
    """

    met: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, visits: OnDemand, each: Descent) -> _FirstHeavy:
        """Return it by first-step analysis of each passage, then of the descents.

        At level j a heavy job arrives (lk), and a passage remains, as they have no memory; or a
        light job arrives (l1), and the heavy job does in the passage j+1 -> j, with probability
        p_{j+1}, or not:

            (l1 + j m1 + lk) f_j = lk m_j + l1 (f_{j+1} + p_{j+1} m_j + (1 - p_{j+1}) f_j),

        and for squares, of which the sum of two independent times has s + 2 f m + E,

            (l1 + j m1 + lk) s_j = lk E_j
                + l1 (s_{j+1} + 2 f_{j+1} m_j + p_{j+1} E_j + (1 - p_{j+1}) s_j).

        For j = k, j + 1 is replaced by k. A descent from n is the passage n -> n-1 and the descent
        from n - 1. All terms are positive.
        """
        model, k, l1, lk = visits.model, visits.model.k, visits.model.l1, visits.model.lk
        met, first, second = np.zeros((3, k + 1))
        met[:] = visits.met
        square = each.square
        leave = l1 + k * model.m1 + lk - l1 * (1 - met[k])
        now = lk + l1 * met[k]
        first[k] = each.mean[k] * now / (leave - l1)
        second[k] = (square[k] * now + 2 * each.mean[k] * l1 * first[k]) / (leave - l1)
        for j in range(k - 1, visits.threshold, -1):
            leave = l1 + j * model.m1 + lk - l1 * (1 - met[j + 1])
            now = lk + l1 * met[j + 1]
            first[j] = (each.mean[j] * now + l1 * first[j + 1]) / leave
            second[j] = square[j] * now + l1 * (2 * each.mean[j] * first[j + 1] + second[j + 1])
            second[j] /= leave
        if visits.threshold < k:
            below = each.down_to(visits.threshold)
            for n in range(visits.threshold + 1, k + 1):
                mean, mean_square, none = below.mean[n - 1], below.square[n - 1], 1 - met[n]
                second[n] += 2 * first[n] * mean + met[n] * mean_square + none * second[n - 1]
                first[n] += met[n] * mean + none * first[n - 1]
                met[n] += none * met[n - 1]
        return cls(met, first, second)
