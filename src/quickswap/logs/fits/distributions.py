"""Distributions of job sizes, fitted by maximum likelihood under the constraint that the mean of
the sample is kept.

The mean determines the load: a distribution that fits the short jobs well but has another mean
describes another system. For exponential, gamma and hyperexponential distributions, the maximum
likelihood estimate has the mean of the sample anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc, gammaln, logsumexp, ndtr, psi

from quickswap.errors import LogError, unknown
from quickswap.logs.fits.sample import Floats, Sample
from quickswap.model.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    LogNormal,
)

__all__ = [
    "SIZES",
    "Candidate",
    "best",
    "candidates",
    "cdf",
    "fitted",
    "ks_distance",
]

POINTS = 200
"""Largest number of values of an empirical distribution."""
CONSTANT = 1e-9
"""Squared coefficient of variation up to which sizes count as equal."""
TAIL = 10.0
"""Largest ratio of the scv of the best distribution to the scv of the sample."""
EM_POINTS = 500
"""Largest number of values for the EM algorithm."""
FIRST_STEPS, EM_STEPS = 50, 3000
EM_GAIN = 1e-10
"""Increase of the log-likelihood per job below which the EM algorithm has converged."""
LEAST = 1e-9
"""Smallest mean of a phase, relative to the mean of the sample."""


def _gamma(sample: Sample) -> Gamma:
    """Solve log a - psi(a) = log E[S] - E[log S], the likelihood equation for the shape a."""
    gap = math.log(sample.mean) - float(np.log(sample.values) @ sample.counts) / sample.jobs
    # 1 / (2 a) < log a - psi(a) < 1 / a
    low, high = 0.4 / gap, 1.1 / gap
    shape = brentq(lambda a: math.log(a) - float(psi(a)) - gap, low, high, xtol=1e-300, rtol=1e-12)
    return Gamma(shape=float(shape), scale=sample.mean / float(shape))


def _lognormal(sample: Sample) -> LogNormal:
    """With the mean m of the sample, mu = log m - sigma^2 / 2.

    The log-likelihood is then maximal at v = sigma^2 with v^2 / 4 + v = E[(log S / m)^2].
    """
    square = float(np.square(np.log(sample.values / sample.mean)) @ sample.counts) / sample.jobs
    variance = 2 * square / (1 + math.sqrt(1 + square))
    return LogNormal(mu=math.log(sample.mean) - variance / 2, sigma=math.sqrt(variance))


def _hyperexponential(sample: Sample) -> Hyperexponential:
    """Two phases by the EM algorithm: a few steps from several starts, then more from the best."""
    points = sample.thinned(EM_POINTS)
    starts = [_start(points, share) for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)]
    first = max((_em(points, *start, FIRST_STEPS) for start in starts), key=lambda end: end[0])
    _, shares, means = _em(points, *first[1:], EM_STEPS)
    means *= sample.mean / float(shares @ means)  # each step keeps the mean, except for rounding
    return Hyperexponential(shares.tolist(), (1 / means).tolist())


def _start(sample: Sample, share: float) -> tuple[Floats, Floats]:
    """Return shares and means of two phases; the first has the given share, of the shortest jobs.

    The phases of a mixture overlap, so both means are moved towards the mean of the sample.
    """
    weights = sample.counts / sample.jobs
    place = np.cumsum(weights) - weights / 2
    short = np.where(place <= share, weights, 0.0)
    shares = np.clip([short.sum(), 1 - short.sum()], 0.01, None)
    shares /= shares.sum()
    low = 0.9 * float(short @ sample.values) / max(float(short.sum()), 0.01)
    low = min(max(low, 1e-3 * sample.mean), 0.9 * sample.mean)
    return shares, np.array([low, (sample.mean - shares[0] * low) / shares[1]])


def _em(sample: Sample, shares: Floats, means: Floats, steps: int) -> tuple[float, Floats, Floats]:
    """Return log-likelihood per job, shares and means after convergence or `steps` steps."""
    x, weights = sample.values, sample.counts / sample.jobs
    before = -math.inf
    for _ in range(steps):
        rates = 1 / means
        # relative to the longer phase, whose density does not underflow
        slow = int(np.argmax(means))
        other = 1 - slow
        ratio = shares[other] * rates[other] / (shares[slow] * rates[slow])
        odds = ratio * np.exp(-x * (rates[other] - rates[slow]))
        constant = math.log(shares[slow] * rates[slow])
        likelihood = constant - float(rates[slow] * (x @ weights)) + float(np.log1p(odds) @ weights)
        if likelihood - before < EM_GAIN:
            break
        before = likelihood
        mine = weights * (odds / (1 + odds))
        share = min(max(float(mine.sum()), 1e-12), 1 - 1e-12)
        least = LEAST * float(x @ weights)  # the mean of a phase without jobs is undefined
        mean = max(float(mine @ x) / share, least)
        rest = max(float(x @ weights) - share * mean, least) / (1 - share)
        shares, means = np.empty(2), np.empty(2)
        shares[[other, slow]], means[[other, slow]] = (share, 1 - share), (mean, rest)
    return likelihood, shares, means


_FITS: dict[str, tuple[Callable[[Sample], Distribution], int]] = {
    "exponential": (lambda sample: Exponential(mean=sample.mean), 1),
    "gamma": (_gamma, 2),
    "hyperexponential": (_hyperexponential, 3),
    "lognormal": (_lognormal, 2),
}
"""The fit of each distribution, and its number of parameters."""

SIZES = ("best", *_FITS, "empirical")
"""Values of the argument `size` of `fit`."""


@dataclass(frozen=True)
class Candidate:
    """A distribution fitted to a sample, with measures of the fit.

    Attributes:
        distribution: the distribution, with the mean of the sample.
        log_likelihood: of the sample under its density, sizes in seconds.
        aic: Akaike's criterion, 2 x parameters - 2 x log-likelihood; smaller is better.
        ks: Kolmogorov-Smirnov distance, the largest difference of the distribution functions.
    """

    distribution: Distribution
    log_likelihood: float
    aic: float
    ks: float


def candidates(sample: Sample) -> list[Candidate]:
    """Return the fitted distributions, the smallest AIC first; none if all sizes are equal."""
    result = []
    if sample.scv > CONSTANT:
        for fit, parameters in _FITS.values():
            distribution = fit(sample)
            likelihood = float(_log_density(distribution, sample.values) @ sample.counts)
            aic = 2 * parameters - 2 * likelihood
            result.append(
                Candidate(distribution, likelihood, aic, ks_distance(distribution, sample))
            )
    return sorted(result, key=lambda each: each.aic)


def best(found: Sequence[Candidate], sample: Sample) -> Candidate:
    """Return the candidate with the smallest AIC among those whose tail is not too long.

    A lognormal distribution may fit the many short jobs best, but have a hundred times the variance
    of the log, in which time limits truncate the tail. Distributions with more than `TAIL` times
    the scv of the sample are excluded, unless all exceed it.
    """
    modest = [each for each in found if each.distribution.scv <= TAIL * sample.scv]
    return min(modest or found, key=lambda each: each.aic)


def fitted(sample: Sample, size: str) -> Distribution:
    """Return the distribution for a value of `SIZES`; deterministic if all sizes are equal.

    Raises:
        LogError: the distribution is unknown.
    """
    if size not in SIZES:
        unknown("distribution to fit", size, SIZES, LogError, argument="size")
    if sample.scv <= CONSTANT and size != "exponential":
        return Deterministic(sample.mean)
    if size == "best":
        return best(candidates(sample), sample).distribution
    if size == "empirical":
        points = sample.thinned(POINTS)
        return Empirical(points.values.tolist(), points.counts.tolist())
    return _FITS[size][0](sample)


def _log_density(distribution: Distribution, x: Floats) -> Floats:
    """Return the logarithm of the density of a distribution of `_FITS`; x > 0 in seconds."""
    if isinstance(distribution, Exponential):
        return np.asarray(-x / distribution.mean - math.log(distribution.mean))
    if isinstance(distribution, Gamma):
        shape, scale = distribution.shape, distribution.scale
        constant = float(gammaln(shape)) + shape * math.log(scale)
        return np.asarray((shape - 1) * np.log(x) - x / scale - constant)
    if isinstance(distribution, LogNormal):
        z = (np.log(x) - distribution.mu) / distribution.sigma
        return np.asarray(
            -z * z / 2 - np.log(x) - math.log(distribution.sigma * math.sqrt(2 * math.pi))
        )
    assert isinstance(distribution, Hyperexponential)
    shares, rates = np.array(distribution.probabilities), np.array(distribution.rates)
    return np.asarray(logsumexp(np.log(shares * rates)[:, None] - x * rates[:, None], axis=0))


def cdf(distribution: Distribution, x: Floats, below: bool = False) -> Floats:
    """Return the probability that a size is at most x seconds; `below`: less than x.

    Raises:
        LogError: the distribution cannot be compared with a log.
    """
    if isinstance(distribution, Exponential):
        return np.asarray(-np.expm1(-x / distribution.mean))
    if isinstance(distribution, Gamma):
        return np.asarray(gammainc(distribution.shape, x / distribution.scale))
    if isinstance(distribution, LogNormal):
        return np.asarray(ndtr((np.log(x) - distribution.mu) / distribution.sigma))
    if isinstance(distribution, Hyperexponential):
        shares, rates = np.array(distribution.probabilities), np.array(distribution.rates)
        return np.asarray(-shares @ np.expm1(-x * rates[:, None]))
    points = _points(distribution)
    at = np.searchsorted(points.values, x, side="left" if below else "right")
    return np.concatenate([[0.0], points.cumulative])[at]


def _points(distribution: Distribution) -> Sample:
    """Return the values of a discrete distribution, and their weights."""
    if isinstance(distribution, Deterministic):
        return Sample(np.array([distribution.value]), np.ones(1))
    if not isinstance(distribution, Empirical):
        raise LogError(
            f"a {distribution.kind} distribution cannot be compared with a log",
            allowed=f"deterministic, {', '.join(SIZES[1:])}",
            advice=f"use deterministic, {', '.join(SIZES[1:])}",
        )
    values, where = np.unique(np.array(distribution.values), return_inverse=True)
    weights = np.bincount(where, np.array(distribution.weights)).astype(float)
    return Sample(values[weights > 0], weights[weights > 0])


def ks_distance(distribution: Distribution, sample: Sample) -> float:
    """Return the Kolmogorov-Smirnov distance of a distribution from a sample, from 0 to 1."""
    x = sample.values
    if isinstance(distribution, Empirical | Deterministic):
        x = np.union1d(x, _points(distribution).values)
    share = np.concatenate([[0.0], sample.cumulative])
    upto = share[np.searchsorted(sample.values, x, side="right")]
    less = share[np.searchsorted(sample.values, x, side="left")]
    return float(
        max(
            np.abs(cdf(distribution, x) - upto).max(),
            np.abs(cdf(distribution, x, below=True) - less).max(),
        )
    )
