"""Backfilling during a drain: who may start ahead of the job that the drain is for.

A drain leaves servers idle and blocks everybody, also jobs a thousand times shorter than itself. So
while a policy drains for a job b, a waiting job of another class j may start if it fits now and is
likely to be gone in time; of several that may, the largest need goes first, the oldest of equals.

D is the expected time until b can start. All u jobs of a class in service are expected to have left
after H(u) r, with the harmonic number H(u) = 1 + 1/2 + ... + 1/u and the mean residual size
r = E[S^2] / (2 E[S]) of the class; for exponential sizes, where r is the mean, that is exact. The
classes free their servers in the order of these times, until b fits: that time is D. If a class
must have left completely first (`StaticQuickswap` with drain="exclusive"), D is not before that.

Who is likely to be gone in time is told by one of two rules:

- `overrun`, a number of jobs: P_j + D sum_i lambda_i min(P_i, P_j) <= overrun, for D and all that
  is longer, with P_i = P(S_i > D). So many jobs are expected to outlast the drain: this one, and of
  those that arrive until its end the ones that are let in as well. As it counts the jobs to come,
  one number suits systems with few jobs a drain and with a million.
- `backfill`, a risk: P_j <= backfill, whatever the number of jobs; for exponential sizes it is
  E[S_j] <= D / ln(1 / backfill).

Sizes without a second moment have no mean residual size: D is infinite while b needs the servers of
such jobs, and everybody who fits may start.

Only the distributions of the classes and their arrival rates are looked at, no size of a job. In a
replay every job has an estimate: there D is the first time at which b can start if all jobs in
service end as estimated, as in EASY, and a job may start if its estimated end is not after that,
whatever the limit.

Not in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from quickswap._check import boolean, items, positive, real
from quickswap.errors import PolicyError, shown

if TYPE_CHECKING:
    from quickswap.model.distributions import Distribution
    from quickswap.model.system import System

__all__ = ["OVERRUN", "RISK", "WITH", "Backfilling", "by_estimates"]

RISK = 0.03
"""The risk of a policy that is just told to backfill."""
OVERRUN = 0.9
"""The jobs that may be expected to outlast a drain, of a policy that is just told to bound them."""
WITH = "-with-backfill"
"""What the core adds to the name of a policy; `by_estimates` is for replays."""
FINE = 64
"""Lengths of a drain that are looked at, to each factor of two."""
SHORT = 2.0**-40
"""Drains below this share of all mean sizes let nobody in."""


@dataclass(frozen=True, slots=True)
class Backfilling:
    """Parameters of backfilling, checked.

    Attributes:
        backfill: the risk, 0 if it is not limited by one.
        overrun: the number of jobs, 0 if it does not limit. With both 0 nobody is let in.
        believed: how many times as long as they are the sizes of each class are taken to be.
    """

    backfill: float
    overrun: float
    believed: tuple[float, ...] | None

    @classmethod
    def of(cls, policy: str, backfill: object, overrun: object, believed: object) -> Backfilling:
        """Check the parameters of a policy.

        Raises:
            PolicyError: one is out of range, both limits are given, or beliefs without a limit.
        """
        risk = _limit(backfill, f"backfill of {policy}", "a risk", RISK)
        most = _limit(overrun, f"overrun of {policy}", "a number of jobs", OVERRUN)
        if risk and most:
            raise PolicyError(
                f"{policy} takes backfill or overrun, not both: the one limits the risk that a job "
                "outlasts the drain, the other how many jobs are expected to."
            )
        if believed is None:
            return cls(risk, most, None)
        if not (risk or most):
            raise PolicyError(f"{policy} believes in sizes for backfilling: give overrun as well.")
        return cls(risk, most, _factors(believed, f"believed of {policy}"))

    def __bool__(self) -> bool:
        """Whether anybody is let in."""
        return self.backfill > 0 or self.overrun > 0

    def parameters(self, system: System) -> dict[str, object]:
        """Return what the core needs to know of the classes, in seconds; nothing if it is off.

        `horizons` are the least D at which jobs of the class are let in, `residuals` the mean
        residual sizes; None where there is none.

        Raises:
            PolicyError: beliefs are not as many as the classes.
        """
        if not self:
            return {}
        factors = self.believed or (1.0,) * len(system.classes)
        if len(factors) != len(system.classes):
            raise PolicyError(
                "believed must hold as many factors as there are classes, "
                f"{len(system.classes)}, not {len(factors)}."
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
        residuals = [
            distribution.second_moment / (2 * distribution.mean) for distribution in distributions
        ]
        return {"horizons": _finite(horizons), "residuals": _finite(residuals)}

    def told(self) -> list[str]:
        """Return the parameters as a label has them, e.g. "overrun .9"."""
        limits = (("backfill", self.backfill), ("overrun", self.overrun))
        words = [f"{name} {value:g}".replace(" 0.", " .") for name, value in limits if value > 0]
        if self.believed is not None:
            words.append("believed " + "+".join(f"{each:g}" for each in self.believed))
        return words


@lru_cache(maxsize=16)
def _horizons(
    distributions: tuple[Distribution, ...], rates: tuple[float, ...], most: float
) -> list[float]:
    """Return for each class the least drain, in seconds, from which on it is let in.

    It is found from above: no more jobs than `most` outlast that drain or any longer one. As only
    `FINE` lengths to a factor of two are looked at, it may be 1.1 % too large.
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
    """Return how many jobs are expected to outlast a drain if a class is let in, for each class."""
    tails = [distribution.sf(time) for distribution in distributions]
    expected, below, above = [0.0] * len(distributions), 0.0, math.fsum(rates)
    for j in sorted(range(len(distributions)), key=tails.__getitem__):
        below, above = below + rates[j] * tails[j], above - rates[j]
        expected[j] = tails[j] + time * (below + max(0.0, above) * tails[j])
    return expected


def _longest(distributions: Sequence[Distribution], rates: Sequence[float], most: float) -> float:
    """Return a drain in seconds that so few jobs outlast, and any longer one too.

    By Chebyshev, P(S > D) <= E[S^2] / D^2. Distributions without a second moment have a tail that
    falls faster than 1 / D.
    """

    def bound(distribution: Distribution) -> float:
        second = distribution.second_moment
        return second / time / time if math.isfinite(second) else distribution.sf(time)

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
        raise PolicyError(
            f"{what} must be {kind} from 0 (no backfilling) to below 1, such as {default}, "
            f"not {shown(given)}."
        )
    return value


def _factors(given: object, what: str) -> tuple[float, ...]:
    listed = items(given) if isinstance(given, Iterable) else None
    if not listed:
        raise PolicyError(f"{what} must be a list of factors, one for each class, not {given!r}.")
    return tuple(positive(each, f"each of {what}", PolicyError) for each in listed)


def _finite(values: list[float]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]


def by_estimates(spec: dict[str, object]) -> dict[str, object]:
    """Return the same policy of the core for jobs that carry estimates."""
    if "horizons" not in spec:
        return spec
    rest = {key: value for key, value in spec.items() if key not in ("horizons", "residuals")}
    return rest | {"name": f"{spec['name']}-by-estimates"}
