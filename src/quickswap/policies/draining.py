"""Backfilling during a drain: jobs that may start before the job for which the system drains.

A drain leaves servers idle and blocks all waiting jobs, also those a thousand times shorter than
the drain. With backfilling, while a policy drains for a job b, a waiting job of another class j may
start if it fits now and is likely to complete before the end of the drain. If several jobs may
start, the job with the largest need starts first, and of equal needs the oldest.

D is the expected time until b can start. It follows from the ages of the jobs in service: with u
jobs of its class in service, a job of age a is expected to have left after the time t for which
P(S > a + t | S > a) = e^-H(u), with the harmonic number H(u) = 1 + 1/2 + ... + 1/u. For exponential
sizes t is H(u) E[S], the mean time until all u jobs have left; for deterministic sizes t is the
remaining time. D is the time at which b fits if all jobs leave as expected. If a class must leave
completely first (`StaticQuickswap` with drain="exclusive"), D is at least the time at which it has.

One of two limits decides whether a job of class j probably ends in time, with P_i = P(S_i > D):

- `overrun`, a number of jobs: Q_j + D sum_i lambda_i min(Q_i, Q_j) <= overrun, for D and all longer
  drains. The left-hand side is the expected number of jobs that outlast the drain: this job, and
  those backfilled among the jobs that arrive until its end. As it counts future jobs, one value
  suits systems with few jobs per drain as well as those with a million. A job counts by the time
  for which it outlasts the drain: with m = E[S - D | S > D] and r = E[S^2] / (2 E[S]), the mean
  residual size, Q = P(S > D) max(m / r, min(1, m / E[S])). So Q is E[(S - D)^+] / r if sizes are
  less variable than exponential ones, and otherwise at least the smaller of P(S > D) and
  E[(S - D)^+] / E[S]. For exponential sizes Q is P(S > D).
- `backfill`, a probability: P_j <= backfill for each job, regardless of their number. For
  exponential sizes this is E[S_j] <= D / ln(1 / backfill).

The rule uses the size distributions and arrival rates of the classes, and the ages of the jobs in
service, but no size of a job. In a replay every job has an estimate: there D is the first time at
which b fits if all jobs in service end as estimated, as in EASY, and a job may start if its
estimated end is at most D, for any limit.

The paper does not have backfilling.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from quickswap._check import boolean, items, positive, real
from quickswap.errors import PolicyError, invalid
from quickswap.model.distributions import Exponential
from quickswap.policies.remaining import STEP, excess, sizes_by_hazard

if TYPE_CHECKING:
    from quickswap.model.distributions import Distribution
    from quickswap.model.system import System

__all__ = ["OVERRUN", "RISK", "Backfilling", "by_estimates"]

RISK = 0.03
"""The value of `backfill=True`."""
OVERRUN = 0.9
"""The value of `overrun=True`."""
FINE = 64
"""Lengths of a drain that are compared, per factor of two."""
SHORT = 2.0**-40
"""No job is backfilled in drains below this share of all mean sizes."""


@dataclass(frozen=True, slots=True)
class Backfilling:
    """Parameters of backfilling, checked.

    Attributes:
        backfill: limit of the probability that a job outlasts the drain, or 0.
        overrun: limit of the expected number of jobs that do, or 0. No job is backfilled if both
            are 0.
        believed: factors by which the policy overestimates the sizes of each class.
    """

    backfill: float
    overrun: float
    believed: tuple[float, ...] | None

    @classmethod
    def of(cls, policy: str, backfill: object, overrun: object, believed: object) -> Backfilling:
        """Check the parameters of a policy.

        Raises:
            PolicyError: one is out of range, both limits are given, or `believed` without either.
        """
        risk = _limit(backfill, f"backfill of {policy}", "a probability", RISK)
        most = _limit(overrun, f"overrun of {policy}", "a number of jobs", OVERRUN)
        if risk and most:
            raise PolicyError(
                f"{policy} takes backfill or overrun, not both: backfill limits the probability "
                "that a job outlasts the drain, overrun the expected number of such jobs.",
                argument=f"overrun of {policy}",
                given=most,
                allowed="0 if backfill is given",
            )
        if believed is None:
            return cls(risk, most, None)
        if not (risk or most):
            raise PolicyError(
                f"believed of {policy} requires overrun or backfill",
                argument=f"believed of {policy}",
                given=believed,
                advice="give one of them",
            )
        what = f"believed of {policy}"
        listed = items(believed)
        if not listed:
            raise invalid(what, believed, "a list of factors, one for each class", PolicyError)
        factors = tuple(positive(each, f"an item of {what}", PolicyError) for each in listed)
        return cls(risk, most, factors)

    def __bool__(self) -> bool:
        """Whether any job is backfilled."""
        return self.backfill > 0 or self.overrun > 0

    def parameters(self, system: System) -> dict[str, object]:
        """Return the parameter `backfilling` of a policy in the core; empty without backfilling.

        For each class, in seconds: `horizons` are the least D at which its jobs are backfilled, and
        `residuals` the mean residual sizes; None if infinite. If not all sizes are exponential,
        `sizes` are those at equal steps of the hazard, None for exponential sizes.

        Raises:
            PolicyError: the length of `believed` is not the number of classes.
        """
        if not self:
            return {}
        factors = self.believed or (1.0,) * len(system.classes)
        if len(factors) != len(system.classes):
            raise PolicyError(
                f"believed must contain one factor for each class, {len(system.classes)}, "
                f"not {len(factors)}.",
                argument="believed",
                given=self.believed,
                allowed=f"{len(system.classes)} factors, one for each class",
            )
        distributions = [
            each.size if factor == 1 else each.size.scaled(factor)
            for each, factor in zip(system.classes, factors, strict=True)
        ]
        if self.backfill:
            horizons = [distribution.isf(self.backfill) for distribution in distributions]
        else:
            rates = tuple(each.arrival_rate for each in system.classes)
            horizons = _horizons(tuple(distributions), rates, self.overrun)
        rule = {
            "horizons": _finite(horizons),
            "residuals": _finite(_means(each)[1] for each in distributions),
        }
        if all(isinstance(each, Exponential) for each in distributions):
            return {"backfilling": {"by": "distributions", **rule}}
        sizes = [
            None if isinstance(each, Exponential) else list(sizes_by_hazard(each))
            for each in distributions
        ]
        return {"backfilling": {"by": "ages", **rule, "sizes": sizes, "step": STEP}}

    def details(self) -> list[str]:
        """Return the parameters as a label shows them, e.g. "overrun 0.9"."""
        limits = (("backfill", self.backfill), ("overrun", self.overrun))
        words = [f"{name} {value:g}" for name, value in limits if value > 0]
        if self.believed is not None:
            words.append("believed " + "+".join(f"{each:g}" for each in self.believed))
        return words


@lru_cache(maxsize=16)
def _horizons(
    distributions: tuple[Distribution, ...], rates: tuple[float, ...], most: float
) -> list[float]:
    """Return for each class the least drain, in seconds, from which its jobs are backfilled.

    The search goes downwards from a drain that, like any longer one, at most `most` jobs outlast.
    With `FINE` lengths per factor of two the result is at most 1.1 % too large.
    """
    time, found = _longest(distributions, rates, most), [math.inf] * len(distributions)
    least, shut = SHORT * min(distribution.mean for distribution in distributions), set[int]()
    while math.isfinite(time) and time > least and len(shut) < len(distributions):
        for j, expected in enumerate(_outlasting(distributions, rates, time)):
            if expected > most:
                shut.add(j)
            elif j not in shut:
                found[j] = time
        time *= 2 ** (-1 / FINE)
    return found


def _outlasting(
    distributions: Sequence[Distribution], rates: Sequence[float], time: float
) -> list[float]:
    """Return for each class the expected number of jobs that outlast a drain if it is backfilled.

    This is Q_j + D sum_i lambda_i min(Q_i, Q_j). In ascending order of Q, `below` is the sum of
    lambda_i Q_i up to j and `above` the sum of lambda_i after j.
    """
    tails = [_counted(distribution, time) for distribution in distributions]
    expected, below, above = [0.0] * len(distributions), 0.0, math.fsum(rates)
    for j in sorted(range(len(distributions)), key=tails.__getitem__):
        below, above = below + rates[j] * tails[j], above - rates[j]
        expected[j] = tails[j] + time * (below + max(0.0, above) * tails[j])
    return expected


def _counted(distribution: Distribution, time: float) -> float:
    """Return Q, the expected number as which a job counts that outlasts a drain of this time."""
    tail = distribution.sf(time)
    if isinstance(distribution, Exponential):
        return tail
    over, (mean, residual) = excess(distribution, time), _means(distribution)
    return max(over / residual, min(tail, over / mean))


@lru_cache(maxsize=256)
def _means(distribution: Distribution) -> tuple[float, float]:
    """Return the mean size and the mean residual size, in seconds."""
    mean = distribution.mean
    return mean, distribution.second_moment / (2 * mean)


def _longest(distributions: Sequence[Distribution], rates: Sequence[float], most: float) -> float:
    """Return a drain in seconds that, like any longer one, at most `most` jobs outlast.

    P(S > D) <= E[S^2] / D^2 by Chebyshev's inequality, which suffices for exponential sizes, and
    E[(S - D)^+] <= E[S^3] / (2 D^2) by that of Markov; both decrease faster than 1 / D. So does Q
    itself without these moments.
    """

    def bound(distribution: Distribution) -> float:
        second, third = distribution.second_moment, distribution.moment(3)
        if isinstance(distribution, Exponential):
            return second / time / time
        if math.isinf(third):
            return _counted(distribution, time)
        return max(second, third / 2 / _means(distribution)[1]) / time / time

    time = max(distribution.mean for distribution in distributions)
    while math.isfinite(time):
        tails = [bound(distribution) for distribution in distributions]
        pairs = zip(rates, tails, strict=True)
        if max(tails) + time * math.fsum(rate * tail for rate, tail in pairs) <= most:
            break
        time *= 2
    return time


def _limit(given: object, what: str, kind: str, default: float) -> float:
    if given is None or boolean(given):
        return default if given else 0.0
    value = real(given)
    if value is None or not 0 <= value < 1:
        allowed = f"{kind} from 0 (no backfilling) to below 1, such as {default}"
        raise invalid(what, given, allowed, PolicyError)
    return value


def _finite(values: Iterable[float]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]


def by_estimates(spec: dict[str, object]) -> dict[str, object]:
    """Return the description of the same policy for jobs with estimates, which it then uses."""
    return spec | {"backfilling": {"by": "estimates"}} if "backfilling" in spec else spec
