"""Means over a cycle, from one start of a visit to the lights to the next.

Given the number n of lights at the start, they are at most quadratic in n for n >= k, so that of
the distribution of N only P(N = n) for n < k, E[N] and E[N(N-1)] enter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickswap.theory.models import OneOrAll
from quickswap.theory.msfq.equation import Unknowns
from quickswap.theory.msfq.transforms import OnDemand, Visits

Floats = NDArray[np.float64]

__all__ = ["Cycle", "cycle"]


@dataclass(frozen=True)
class Cycle:
    """Means over a cycle; all but the last two in seconds.

    Attributes:
        length: from start to start.
        idle: nobody there (only told apart where drain is "always").
        heavies: phase 1, heavies in service.
        full: phase 2, from N >= k lights down to k - 1.
        falling: phase 3, until the drain begins.
        drain: phase 4.
        light_area: integral of the number of lights present over the cycle.
        heavy_area: integral of the number of heavies that wait, over the time when none is served.
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
        """Time when no heavy is served, seconds."""
        return self.idle + self.full + self.falling + self.drain


@dataclass(frozen=True)
class Way:
    """Moments of a descent of the lights, at index j of its start; from 0 to k.

    Attributes:
        mean: seconds.
        variance: seconds squared.
        area: mean integral of the number of lights present.
    """

    mean: Floats
    variance: Floats
    area: Floats

    @property
    def square(self) -> Floats:
        """Mean square, seconds squared."""
        return self.variance + self.mean**2

    def down_to(self, level: int) -> Way:
        """Return the ways from j down to `level`, of these passages j -> j-1."""
        above = np.arange(len(self.mean)) > level
        return Way(*(np.cumsum(above * row) for row in (self.mean, self.variance, self.area)))

    def base(self, passages: Way) -> tuple[float, float, float]:
        """Return the way from k - 1; from the level k it is a passage less than none."""
        pairs = (self.mean, passages.mean), (self.variance, passages.variance)
        mean, variance, area = (a[-1] - b[-1] for a, b in (*pairs, (self.area, passages.area)))
        return float(mean), float(variance), float(area)


def passages(model: OneOrAll, level: int) -> Way:
    """Return the passages j -> j-1 of an M/M/k queue of lights, from the top down to `level`.

    Source: the paper, lemmas on the durations H_2 and H_3; the area likewise.
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
    return Way(mean, square - mean**2, area)


def drains(model: OneOrAll, threshold: int) -> Way:
    """Return the drain of u lights, none of whom is replaced; from 0 to l."""
    lights = np.arange(threshold + 1)
    each = np.append(0.0, 1 / (lights[1:] * model.m1))
    return Way(np.cumsum(each), np.cumsum(each * each), lights / model.m1)


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
        """Read them off the distribution of N."""
        n, low = np.arange(k), unknowns.pi[:k]
        above = 1 - float(low.sum())
        mean = unknowns.mean - float(low @ n)
        square = unknowns.pairs + unknowns.mean - float(low @ (n * n))
        first = mean - (k - 1) * above
        return cls(low, above, first, square - 2 * (k - 1) * mean + (k - 1) ** 2 * above)

    def expect(self, low: Floats, base: float, slope: float = 0.0, bend: float = 0.0) -> float:
        """Return the mean of `low[n]` for n < k, `base + slope i + bend i^2` from k on."""
        high = base * self.above + slope * self.first + bend * self.second
        return float(self.low @ low[: len(self.low)]) + high

    def area_above(self, model: OneOrAll, base: float) -> float:
        """Return the sum over n >= k of pi_n times the area under n -> k-1, and `base` more.

        A passage from level j >= k has the area (j - 1) b + k m1 b^2, b the mean passage.
        """
        b = 1 / (model.k * model.m1 - model.l1)
        slope = (model.k - 1.5) * b + model.k * model.m1 * b * b
        return base * self.above + slope * self.first + b / 2 * self.second


def cycle(visits: Visits, unknowns: Unknowns) -> Cycle:
    """Return the means over a cycle of visits whose N has the distribution `unknowns`.

    Lights that wait for the start of a visit arrive over a time Y, after which there are N of them:
    the integral of their number has the mean l1 E[Y^2] / 2 = E[N(N-1)] / (2 l1).
    """
    if isinstance(visits, OnDemand):
        return _on_demand(visits, unknowns)
    return _always(visits, unknowns)


def _always(visits: Visits, unknowns: Unknowns) -> Cycle:
    """A visit goes from n down to l, drains, and leaves lk times as many heavies."""
    model, ell, k = visits.model, visits.threshold, visits.model.k
    each, drain = passages(model, ell), drains(model, ell)
    fall, start = each.down_to(ell), Start.of(unknowns, k)
    left = np.minimum(np.arange(k + 1), ell)  # lights that the drain finishes
    total = Way(
        fall.mean + drain.mean[left],
        fall.variance + drain.variance[left],
        fall.area + drain.area[left],
    )
    light_first = model.l1 / (model.l1 + model.lk)
    mean, square, area = total.mean, total.square, total.area
    drained = drain.mean[left]
    for row in (mean, square, area, drained):  # nobody there: a light starts a visit, or none
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
    """The first heavy arrives after 1 / lk on average; Y is the time from then to its start."""
    model, ell, k, lk = visits.model, visits.threshold, visits.model.k, visits.model.lk
    each, drain, start = passages(model, ell), drains(model, ell), Start.of(unknowns, k)
    way = _Met.of(visits, each)
    fall = each.down_to(ell) if ell < k else Way(each.mean, each.variance, each.area + each.mean)
    end, end_square, end_area = drain.mean[ell], drain.square[ell], drain.area[ell]

    def mean(rates: Floats, met: Floats, above: float) -> float:
        """Return the mean of x_N: of rate `rates` up to l, `met` given n > l, `above` from k on."""
        low = visits.until_met(rates, met[visits.next])
        high = met[ell + 1 : k] + (1 - way.met[ell + 1 : k]) * low[ell]
        return start.expect(np.append(low, high), 0.0) + above + unknowns.unmet * float(low[ell])

    base, spread, base_area = each.down_to(ell).base(each)
    b, vb = float(each.mean[k]), float(each.variance[k])
    falls = base * start.above + b * start.first
    squares = (base**2 + spread) * start.above + (2 * base * b + vb) * start.first
    squares += b * b * start.second
    met = start.above - unknowns.unmet  # n >= k, and a heavy arrives on the way down to l
    rest = falls - met / lk
    rest_square = squares - 2 * falls / lk + 2 * met / lk**2
    wait = mean(lk * drain.mean, way.first + way.met * end, rest + met * end)
    wait_square = mean(
        lk * drain.square,
        way.second + 2 * way.first * end + way.met * end_square,
        rest_square + 2 * rest * end + met * end_square,
    )
    drain_time = mean(lk * drain.mean, way.met * end, met * end)
    served = mean(
        np.arange(ell + 1) + lk * drain.area,
        fall.area + way.met * end_area,
        start.area_above(model, base_area) + met * end_area,
    )
    heavies = (1 + lk * wait) / (model.mk - lk)
    full = b * start.first
    if ell == k:  # a heavy that comes, or is there, at level k begins the drain
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
class _Met:
    """A heavy arrives on the way from n > l down to l, and the time from then to the end of it.

    At index n from 0 to k; for l = k the way is from k + 1, at index k.

    Attributes:
        met: the probability that one arrives.
        first: mean of the time, 0 if none arrives, seconds.
        second: its mean square.
    """

    met: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, visits: OnDemand, each: Way) -> _Met:
        """Add up the passages, first each by itself, then the ways; all terms are positive."""
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
