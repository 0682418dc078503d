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

- `overrun`, a share: (1 / D + lambda_j) E[max(S_j - D, 0)] <= overrun. One job of the class, and
  the lambda_j D that are expected during the drain, prolong it by their overruns; these are at most
  so large a share of D, taken together. As it counts the jobs to come, one share suits systems with
  few jobs a drain and with a million.
- `backfill`, a risk: P(S_j > D) <= backfill, whatever the number of jobs; for exponential sizes it
  is E[S_j] <= D / ln(1 / backfill).

Sizes without a second moment have no mean residual size: D is infinite while b needs the servers of
such jobs, and everybody who fits may start.

Only the laws of the classes and their arrival rates are looked at, no size of a job. In a replay
every job has an estimate: there D is the first time at which b can start if all jobs in service end
as estimated, as in EASY, and a job may start if its estimated end is not after that, whatever the
share or the risk.

Not in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickswap._check import boolean, items, positive, real
from quickswap.errors import PolicyError, shown

if TYPE_CHECKING:
    from quickswap.distributions import Distribution
    from quickswap.system import System

__all__ = ["OVERRUN", "RISK", "WITH", "Backfilling", "by_estimates"]

RISK = 0.03
"""The risk of a policy that is just told to backfill."""
OVERRUN = 0.2
"""The share of a policy that is just told to bound the overrun."""
WITH = "-with-backfill"
"""What the core adds to the name of a policy; `by_estimates` is for replays."""
EXACT = 1e-12
"""Relative error of a horizon."""


@dataclass(frozen=True, slots=True)
class Backfilling:
    """Parameters of backfilling, checked.

    Attributes:
        backfill: the risk, 0 if it is not limited by one.
        overrun: the share, 0 if there is none. With both 0 nobody is let in.
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
        share = _limit(overrun, f"overrun of {policy}", "a share of the drain", OVERRUN)
        if risk and share:
            raise PolicyError(
                f"{policy} takes backfill or overrun, not both: the one limits the risk of a job, "
                "the other what all jobs of a class add to the drain."
            )
        if believed is None:
            return cls(risk, share, None)
        if not (risk or share):
            raise PolicyError(f"{policy} believes in sizes for backfilling: give overrun as well.")
        return cls(risk, share, _factors(believed, f"believed of {policy}"))

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
        laws = [
            each.size if factor == 1 else each.size.scaled(factor)
            for each, factor in zip(system.classes, factors, strict=True)
        ]
        rates = [each.arrival_rate for each in system.classes]
        horizons = [self._horizon(*each) for each in zip(laws, rates, strict=True)]
        residuals = [law.second_moment / (2 * law.mean) for law in laws]
        return {"horizons": _finite(horizons), "residuals": _finite(residuals)}

    def _horizon(self, law: Distribution, rate: float) -> float:
        """Return the least D at which jobs of a law, arriving at a rate, are let in."""
        if self.backfill:
            return law.exceeded(self.backfill)

        def allowed(time: float) -> bool:
            return (1 / time + rate) * law.overrun(time) <= self.overrun

        high = law.mean
        while not allowed(high):
            high *= 2
            if not math.isfinite(high):
                return math.inf
        low = high / 2
        while allowed(low):
            low, high = low / 2, low
        while high - low > EXACT * high:
            middle = low + (high - low) / 2
            low, high = (low, middle) if allowed(middle) else (middle, high)
        return high

    def told(self) -> list[str]:
        """Return the parameters as a label has them, e.g. "overrun .2"."""
        limits = (("backfill", self.backfill), ("overrun", self.overrun))
        words = [f"{name} {value:g}".replace(" 0.", " .") for name, value in limits if value > 0]
        if self.believed is not None:
            words.append("believed " + "+".join(f"{each:g}" for each in self.believed))
        return words


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
