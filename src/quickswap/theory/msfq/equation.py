"""The functional equation for N, the number of light jobs at the start of a visit.

Let pi_n = P(N = n) and Pi(z) = E[z^N]. N has the same distribution at the next visit, so
Pi(z) = sum_n pi_n g_n(z). For n >= k, g_n = upper w^(n-k+1), by `transforms`; and

    sum_{n>=k} pi_n w^(n-k+1) = w^(1-k) (Pi(w) - sum_{n<k} pi_n w^n).

Hence

    Pi(z) = f(z) Pi(w(z)) + sum_{n<k} pi_n r_n(z) + Q e(z),
    f = upper w^(1-k),   r_n = g_n - f w^n,   e = unmet.

One step z -> w(z) replaces light jobs by those that arrive in the busy periods of heavy jobs they
lead to, fewer on average: w'(1) = R_H R_L < 1 at a load below 1, with R_H = lk / (mk - lk) and R_L
= l1 / (k m1 - l1). So the orbit z, w(z), w(w(z)), ... converges to 1, where Pi is 1, and Pi(z) is a
constant plus a sum of known functions times the unknowns pi_0 ... pi_{k-1} (and Q). With rest =
sum_{n<k} pi_n r_n + Q e,

    Pi(z_0) = f(z_0) ... f(z_i) Pi(z_{i+1}) + sum_{j<=i} f(z_0) ... f(z_{j-1}) rest(z_j).

The coefficients 0 ... k-1 of Pi, computed from values on a circle by a fast Fourier transform, are
the unknowns themselves: a linear system. Only the first step of the orbits is computed at all
points of the circle; what follows it is smooth along the circle and interpolated between a few.

Near 1 all functions are power series in t = (1 - z) / radius, computed from values on a small
circle. Once the orbit is in that circle only powers of t are summed; once it shrinks in proportion,
the rest of the sum is a power series too.

If heavy jobs are so short that many are served while one light job leaves, |w| is small on the
circle, and w^(1-k) would amplify rounding. There sum_{n>=k} pi_n w^(n-k+1) is summed directly, with
as many more unknowns pi_n as that takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.linalg import solve, solve_triangular

from quickswap.theory.msfq.transforms import LightVisits, OnDemand, Transforms, products
from quickswap.theory.residuals import check_residual
from quickswap.theory.visits import too_long

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

__all__ = ["Equation", "Unknowns"]

ORDER = 26
"""Order of the power series; at half the radius of their circle they are exact to rounding."""
ON_CIRCLE = 64
"""Points of that circle."""
FEW = 1e-3
"""Smallest w^(k-1) to divide by when the distribution of N is computed."""
FEWER = 1e-6
"""The same once it is known."""
SMALLEST = 1e-140
"""Smallest radius; it is about 1 over the number of light jobs at the start of a visit."""
BLOCK = 256
"""Points, or unknowns, handled at once, so memory and cache hold their arrays."""
FEWEST = 64
"""Intervals between the nodes to begin with, where orbits are interpolated."""
DIGITS = 14
"""Decimal digits to which sums are carried."""
SOLVER = "the exact solution of MSFQ"
RESIDUAL = 1e-7
"""Largest error of the generating function; rounding leaves 1e-12 as a rule, and 1e-9 if a heavy
job is a million times as long as a light job."""


@dataclass(frozen=True)
class Unknowns:
    """The distribution of N.

    Attributes:
        pi: P(N = n) for n = 0, 1, ...; those left out, or less accurate, are negligible.
        unmet: Q, or 0 if it does not occur.
        series: coefficients of Pi in powers of t = (1 - z) / radius, from t^1 on.
        radius: of the circle on which they are known.
    """

    pi: Floats
    unmet: float
    series: Floats
    radius: float

    @property
    def mean(self) -> float:
        """E[N] = Pi'(1)."""
        return float(-self.series[0]) / self.radius

    @property
    def pairs(self) -> float:
        """E[N(N-1)] = Pi''(1)."""
        return float(2 * self.series[1]) / self.radius / self.radius


@dataclass(frozen=True)
class _Circle:
    """Pi at points of a circle: an affine function of the unknowns.

    Attributes:
        constant: one per point.
        parts: the factors of the unknowns, one row per unknown, except what `nodes` adds.
        basis: the factor of each node's value in the values at all points, one row per node.
        nodes: the values that the unknowns add at the nodes, one row per unknown.
    """

    constant: Complex
    parts: Complex
    basis: Complex
    nodes: Complex

    def at(self, unknowns: Floats) -> Complex:
        """Return Pi at the points."""
        return self.constant + unknowns @ self.parts + (unknowns @ self.nodes) @ self.basis

    def coefficients(self, points: int, columns: int) -> Floats:
        """Return the first coefficients of the factors by powers of z, one row per unknown."""
        result = np.empty((len(self.parts), len(self.parts)))
        result[:, columns:] = 0
        real, imaginary = (np.fft.irfft(turn * self.basis, points)[:, :columns] for turn in (1, 1j))
        for first in range(0, len(result), BLOCK):
            here = slice(first, first + BLOCK)
            result[here, :columns] = np.fft.irfft(self.parts[here], points)[:, :columns]
            nodes = self.nodes[here]
            result[here, :columns] += nodes.real @ real + nodes.imag @ imaginary
        return result


class Equation:
    """The functional equation of a system of visits.

    Attributes:
        visits: its transforms.
        radius: in delta = 1 - z, of the circle of the power series.
        near: in delta, the radius in which the sum over the rest of an orbit is a power series.
    """

    def __init__(self, visits: LightVisits) -> None:
        self.visits = visits
        self.k = visits.model.k
        self.radius = self._find_radius()
        turn = np.exp(-2j * np.pi * np.arange(ON_CIRCLE // 2 + 1) / ON_CIRCLE)
        visit = visits.at(self.radius * turn)
        missing, r = self._step(visit)
        self._w, self._f = _series(visit.w) / self.radius, -_series(missing)
        self._f[0] = 1.0
        self._r = _series(r)
        self._e = None if visit.unmet is None else _series(visit.unmet)
        # One step maps Pi to f Pi(w): column i holds the series of its image of t^i. With
        # Pi = 1 + sum c_i t^i, coefficients give c = shift c + (f - 1) + rest: the moment equations
        # of N, whose matrix 1 - shift is triangular, as w(1) = 1. Its inverse is the sum of all
        # powers of shift, and hence of the images of a series along the rest of an orbit: `_sums`
        # sums r_n along it, and the product of all f is 1 + `_limit`.
        shift = np.empty((ORDER + 1, ORDER + 1))
        column = self._f
        for i in range(ORDER + 1):
            shift[:, i] = column
            column = np.convolve(column, self._w)[: ORDER + 1]
        unit = np.eye(ORDER)
        self._sums = solve_triangular(unit - shift[1:, 1:], unit, lower=True)
        self._first = shift[1:, 0]
        self._limit = self._sums @ self._first
        # Where |t| <= (1 - slope) / (8 bend) the quadratic term of w changes its slope by at most
        # an eighth of 1 - slope: each step shrinks t in proportion, and `_sums` converges.
        slope, bend = self._w[1], abs(self._w[2])
        self.near = self.radius * min(0.5, (1 - slope) / (8 * bend) if bend > 0 else math.inf)

    def _find_radius(self) -> float:
        """Return half a radius around z = 1 within which all functions are analytic.

        They are built from generating functions, whose coefficients are positive: by Pringsheim's
        theorem the nearest singularity is at a real z > 1. The search starts halfway to that of
        beta, the branch point of busy periods of heavy jobs.
        """
        model = self.visits.model
        radius = (math.sqrt(model.mk) - math.sqrt(model.lk)) ** 2 / (2 * model.l1)
        while radius > SMALLEST:
            with np.errstate(all="ignore"):
                visit = self.visits.at(np.array([-radius]))
                missing, _ = self._step(visit)
                unmet = np.zeros(1) if visit.unmet is None else visit.unmet
                rows = [visit.w, visit.upper, missing, unmet, *visit.low]
                if self.visits.analytic(-2 * radius) and np.all(np.abs(np.concatenate(rows)) < 0.5):
                    return radius
            radius /= 2
        raise too_long("this threshold")

    def _step(self, visit: Transforms) -> tuple[Any, Any]:
        """Return 1 - f, and r_n in row n, for n < k.

        With c the complement of w^(k-1-n), f w^n = (1 - upper) / (1 - c).
        """
        missing = np.empty_like(visit.low)  # first c
        missing[-1] = 0
        for n in range(self.k - 2, -1, -1):
            np.multiply(missing[n + 1], 1 - visit.w, out=missing[n])
            missing[n] += visit.w
        rest = 1 - missing
        np.subtract(visit.upper, missing, out=missing)
        missing /= rest
        return missing[0], missing - visit.low

    def affine(self, delta: Complex, columns: int, least: float = 0.0) -> tuple[Complex, Complex]:
        """Return Pi at z = 1 - delta as a constant plus a combination of the unknowns.

        Args:
            delta: points with |1 - delta| <= 1.
            columns: number of unknown pi_n; Q, if it occurs, comes after them.
            least: where |w| is smaller the sum is direct; then `columns` must suffice for it.

        Returns:
            The constants, one per point; the factors, one row per unknown.
        """
        constant = np.empty_like(delta)
        parts = np.zeros((columns + self.visits.unmet, len(delta)), dtype=complex)
        for first in range(0, len(delta), BLOCK):
            here = slice(first, first + BLOCK)
            constant[here] = self._sum_orbits(delta[here], parts[:, here], least)
        return constant, parts

    def _sum_orbits(self, delta: Complex, parts: Complex, least: float) -> Complex:
        """Add to `parts` the factors of the unknowns, and return the constants; see `affine`."""
        factor = np.ones_like(delta)  # the product of f along the orbit
        while np.max(np.abs(delta)) > self.radius / 2:
            factor, delta = self._advance(delta, factor, parts, least)
        # The same in powers of t: r_n is a series, and the sum of factor t^m along the orbit is all
        # that it needs. r_n(1) = 0, as f(1) = w(1) = 1.
        sums = np.zeros((ORDER, len(delta)), dtype=complex)
        turn = np.array([self._f[1:], self._w[1:]], dtype=complex)
        t = delta / self.radius
        while np.max(np.abs(t)) > self.near / self.radius:
            powers = _powers_of(t)
            sums += factor * powers
            growth, t = turn @ powers
            factor = factor * (1 + growth)
        powers = _powers_of(t)
        sums += factor * (self._sums.T @ powers)
        parts[: self.k] += self._r[:, 1:] @ sums
        if self._e is not None:
            parts[-1] += self._e[1:] @ sums
        return np.asarray(factor * (1 + self._limit @ powers))

    def _advance(
        self, delta: Complex, factor: Complex, parts: Complex, least: float
    ) -> tuple[Complex, Complex]:
        """Add one step of the orbits at `delta` to `parts`; return the factor and the next delta.

        Orbits that the direct sum ends continue with the factor 0.
        """
        visit = self.visits.at(delta)
        small = np.abs(1 - visit.w) < least
        if small.any():
            visit = self._finish(visit, small, factor, parts)
        missing, r = self._step(visit)
        r *= factor
        parts[: self.k] += r
        if visit.unmet is not None:
            parts[-1] += factor * visit.unmet
        return factor * (1 - missing), visit.w

    def _on_circle(self, radius: float, points: int, columns: int, least: float) -> _Circle:
        """Return Pi at `points` points of the circle |z| = radius, as an affine function.

        After one step the rest of the orbits varies little along the circle: it is computed at a
        few nodes, between which a polynomial interpolates. With z = radius exp(-i a), all functions
        are analytic up to |z| = 1, at the distance `scale` from the circle, and vary most near
        a = 0. So the nodes are Chebyshev points in asinh(a / scale). Their number is doubled until
        the coefficients of all polynomials are negligible; where that takes too many of them, the
        orbits of all points are summed.
        """
        angles = 2 * np.pi * np.arange(points // 2 + 1) / points
        delta = 1 - radius * np.exp(-1j * angles)
        parts = np.zeros((columns + self.visits.unmet, len(delta)), dtype=complex)
        factor = np.zeros_like(delta)
        count = FEWEST
        if 4 * count > len(delta):
            return _Circle(*self.affine(delta, columns, least), *_no_nodes(parts))
        for first in range(0, len(delta), BLOCK):
            here = slice(first, first + BLOCK)
            one = np.ones_like(delta[here])
            factor[here], _ = self._advance(delta[here], one, parts[:, here], least)
        going = np.flatnonzero(factor)
        last, scale = angles[going[-1]], -math.log(radius)
        width = math.asinh(last / scale)
        while 4 * count <= len(delta):
            at = (1 - np.cos(np.pi * np.arange(count + 1) / count)) / 2
            turned = radius * np.exp(-1j * scale * np.sinh(width * at))
            known, rest = self.affine(self.visits.step(1 - turned), columns, least)
            if _resolved(rest):
                basis = np.zeros((count + 1, len(delta)), dtype=complex)
                basis[:, going] = _interpolation(np.arcsinh(angles[going] / scale) / width, at)
                basis *= factor
                return _Circle(known @ basis, parts, basis, rest)
            count *= 2
        constant, parts = self.affine(delta, columns, least)
        return _Circle(constant, parts, *_no_nodes(parts))

    def _finish(
        self, visit: Transforms, small: NDArray[np.bool_], factor: Complex, parts: Complex
    ) -> Transforms:
        """End the orbits at the points `small` by the direct sum; return neutral values there."""
        last, w = factor[small], 1 - visit.w[small]
        parts[: self.k, small] += last * (1 - visit.low[:, small])
        power = last * (1 - visit.upper[small])
        for n in range(self.k, len(parts) - self.visits.unmet):
            power = power * w
            parts[n, small] += power
        if visit.unmet is not None:
            parts[-1, small] += last * visit.unmet[small]
        factor[small] = 0
        return Transforms(
            np.where(small, 0, visit.w),
            np.where(small, 0, visit.upper),
            np.where(small, 0, visit.low),
            None if visit.unmet is None else np.where(small, 0, visit.unmet),
        )

    def solve(self) -> Unknowns:
        """Return the distribution of N.

        On the circle |z| = r the discrete transform of K points returns pi_n + r^K pi_{n+K} + ...
        instead of pi_n; r^K = 10^(1 - DIGITS) makes that a rounding error. Row n of the linear
        system is pi_n r^n = known_n + sum_m rows_nm pi_m.
        """
        points, columns, least = self._sizes()
        radius = 10 ** (-(DIGITS - 1) / points)
        circle = self._on_circle(radius, points, columns, least)
        scale = radius ** np.arange(columns)  # unknown: pi_n radius^n
        known = np.fft.irfft(circle.constant, points)[:columns]
        matrix = circle.coefficients(points, columns)  # transposed: a row for each unknown
        if isinstance(self.visits, OnDemand):
            matrix[:, -1], value = self._unmet_row(self.visits, columns, least)
            known, scale = np.append(known, value), np.append(scale, 1.0)
        matrix /= -scale[:, None]
        matrix[np.diag_indices(len(matrix))] += 1
        answer = solve(matrix.T, known, overwrite_a=True, check_finite=False) / scale
        unmet = float(answer[-1]) if self.visits.unmet else 0.0
        # r^-n amplifies rounding errors, up to 10^(DIGITS - 1) times: the last eighth is left out
        pi = np.fft.irfft(circle.at(answer), points)[: points * 7 // 8]
        pi = pi / radius ** np.arange(len(pi))
        self._check(pi, answer, radius, least)
        series = self._first + self._r[:, 1:].T @ pi[: self.k]
        if self._e is not None:
            series = series + self._e[1:] * unmet
        return Unknowns(pi, unmet, self._sums @ series, self.radius)

    def _check(self, pi: Floats, answer: Floats, radius: float, least: float) -> None:
        """Compare Pi with the sum of its coefficients on the circle, between the points used.

        Raises:
            QuickswapError: they differ, or the coefficients are no probabilities.
        """
        turns = (np.array([0, 3, 7, 10]) * len(pi) // 20 + 0.5) / len(pi)
        between = radius * np.exp(-2j * np.pi * turns)
        constant, parts = self.affine(1 - between, len(answer) - self.visits.unmet, least)
        gap = constant + answer @ parts - np.polynomial.polynomial.polyval(between, pi)
        gap = max(
            float(np.abs(gap).max()), -float(pi[: self.k].min()), float(pi[: self.k].sum()) - 1
        )
        check_residual(SOLVER, "the functional equation for the lights", gap, RESIDUAL)

    def _sizes(self) -> tuple[int, int, float]:
        """Return the points on the circle, the unknowns pi_n, and the least w to divide by.

        |w| is least where |z| = 1. Where |w| is below the least, `floor`, the direct sum stops at
        the first term below 10^-DIGITS: floor^(columns - k) = 10^-DIGITS.
        """
        k, points = self.k, max(3 * self.k, 64)
        around = np.exp(2j * np.pi * np.arange(points // 2 + 1) / points)
        least = float(np.min(np.abs(1 - self.visits.step(1 - around))))
        if isinstance(self.visits, OnDemand):
            least = min(least, float(1 - self.visits.met[k]))
        if k == 1 or least ** (k - 1) > FEW:
            return points, k, 0.0
        floor = _floor(k, FEW)
        columns = k + math.ceil(-DIGITS / math.log10(floor))
        return max(points, 2 * columns), columns, floor

    def _unmet_row(self, visits: OnDemand, columns: int, least: float) -> tuple[Floats, float]:
        """Return the equation of Q: factors of the unknowns, and the constant.

        Q is the probability that N >= k and no heavy job arrives until the level is l. Each passage
        is free of heavy jobs with probability h = h_k(lk): Q = unmet_above sum_{n>=k} pi_n
        h^(n-k+1), and the sum is h^(1-k) (Pi(h) - sum_{n<k} pi_n h^n).
        """
        k, start = self.k, float(1 - visits.met[self.k])
        row = np.zeros(columns + 1)
        if start < least:
            row[k:columns] = visits.unmet_above * start ** np.arange(1, columns - k + 1)
            return row, 0.0
        constant, parts = self.affine(np.array([visits.met[k] + 0j]), columns)
        scale = visits.unmet_above * start ** (1 - k)
        row[:] = scale * parts[:, 0].real
        row[:k] -= scale * start ** np.arange(k)
        return row, scale * float(constant[0].real)

    def above(self, unknowns: Unknowns, delta: Complex) -> Complex:
        """Return sum_{n >= k} pi_n (1 - y^(n-k+1)) at points y = 1 - delta, |y| <= 1.

        With P = P(N >= k) and c_n = 1 - y^n it is P - y^(1-k) (Pi(y) - sum_{n<k} pi_n y^n)
        = ((1 - Pi(y)) - sum_{n<k} pi_n c_n - P c_{k-1}) / (1 - c_{k-1}).
        """
        k, pi, result = self.k, unknowns.pi, np.empty_like(delta)
        low, high = pi[:k], 1 - pi[:k].sum()
        small = np.abs(1 - delta) < _floor(k, FEWER)
        y = 1 - delta[small]
        result[small] = high - y * np.polynomial.polynomial.polyval(y, pi[k:])
        far = delta[~small]
        powers = np.zeros((k, len(far)), dtype=far.dtype)  # complements of y^n
        powers[1:] = products(np.broadcast_to(far, powers[1:].shape))
        last = powers[-1]
        result[~small] = (self._missing(unknowns, far) - low @ powers - high * last) / (1 - last)
        return result

    def _missing(self, unknowns: Unknowns, delta: Complex) -> Complex:
        """Return 1 - Pi at z = 1 - delta."""
        result = np.empty_like(delta)
        close = np.abs(delta) <= self.near
        result[close] = -unknowns.series @ _powers_of(delta[close] / self.radius)
        if not close.all():
            factors = unknowns.pi[: self.k]
            if self.visits.unmet:
                factors = np.append(factors, unknowns.unmet)
            constant, parts = self.affine(delta[~close], self.k)
            result[~close] = 1 - (constant + factors @ parts)
        return result


def _no_nodes(parts: Complex) -> tuple[Complex, Complex]:
    """Return the `basis` and `nodes` of a circle whose `parts` are complete."""
    rows, points = parts.shape
    return np.zeros((0, points), dtype=complex), np.zeros((rows, 0), dtype=complex)


def _resolved(values: Complex) -> bool:
    """Return whether polynomials through values at Chebyshev points have converged.

    Each row is one polynomial. Its last coefficients show the error of the interpolation.
    """
    tail = np.abs(dct(values, type=1, axis=1) / values.shape[1])[:, -values.shape[1] // 8 :]
    return bool(tail.max() <= 10**-DIGITS * max(1.0, np.abs(values).max()))


def _interpolation(where: Floats, nodes: Floats) -> Floats:
    """Return the Lagrange polynomials of Chebyshev points, one row per node, at `where`.

    This is the second barycentric formula (Berrut, Trefethen, SIAM Review 46, 2004, section 5).
    """
    weights = (-1.0) ** np.arange(len(nodes))
    weights[[0, -1]] /= 2
    gap = where - nodes[:, None]
    exact = gap == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = weights[:, None] / gap
        rows /= rows.sum(axis=0)
    hit = exact.any(axis=0)
    rows[:, hit] = exact[:, hit]
    return np.asarray(rows)


def _floor(k: int, least: float) -> float:
    """Return the least |w| whose power w^(k-1) is at least `least`."""
    return float(least ** (1 / (k - 1))) if k > 1 else 0.0


def _series(values: Any) -> Floats:
    """Return coefficients of t, t^2, ... from values on |t| = 1; that of t^0 is set to 0."""
    series = np.fft.irfft(values, ON_CIRCLE, axis=-1)[..., : ORDER + 1]
    series[..., 0] = 0.0
    return np.asarray(series)


def _powers_of(t: Complex) -> Complex:
    """Return t, t^2, ..., one per row."""
    rows = np.broadcast_to(t, (ORDER, len(t)))
    return np.asarray(np.multiply.accumulate(rows, axis=0))
