"""Backfilling during a drain: who may start ahead of the job that the drain is for.

A drain leaves servers idle and blocks everybody, also jobs a thousand times shorter than itself. So
while a policy drains for a job b, a waiting job of another class j may start if it fits now and
P(S_j > D) <= risk; of several that may, the largest need goes first, the oldest of equals.

D is the expected time until b can start. All u jobs of a class in service are expected to have left
after H(u) r, with the harmonic number H(u) = 1 + 1/2 + ... + 1/u and the mean residual size
r = E[S^2] / (2 E[S]) of the class; for exponential sizes, where r is the mean, that is exact. The
classes free their servers in the order of these times, until b fits: that time is D. If a class
must have left completely first (`StaticQuickswap` with drain="exclusive"), D is not before that.

For exponential sizes the rule is E[S_j] <= D / ln(1 / risk). Sizes without a second moment have no
mean residual size: D is infinite while b needs the servers of such jobs, and everybody who fits may
start.

Only the laws of the classes are looked at, no size of a job. In a replay every job has an estimate:
there D is the first time at which b can start if all jobs in service end as estimated, as in EASY,
and a job may start if its estimated end is not after that, whatever the risk.

Not in the paper.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from quickswap._check import boolean, real
from quickswap.errors import PolicyError, shown

if TYPE_CHECKING:
    from quickswap.system import System

__all__ = ["RISK", "WITH", "backfilling", "by_estimates", "risk", "told"]

RISK = 0.03
"""The risk of a policy that is just told to backfill."""
WITH = "-with-backfill"
"""What the core adds to the name of a policy; `by_estimates` is for replays."""


def risk(given: object, what: str) -> float:
    """Return the risk of a policy, 0 if it does not backfill."""
    if given is None or boolean(given):
        return RISK if given else 0.0
    value = real(given)
    if value is None or not 0 <= value < 1:
        raise PolicyError(
            f"{what} must be a risk from 0 (no backfilling) to below 1, such as {RISK}, "
            f"not {shown(given)}."
        )
    return value


def backfilling(risk: float, system: System) -> dict[str, object]:
    """Return what the core needs to know of the classes, in seconds; nothing if `risk` is 0.

    `quantiles` are the sizes exceeded with probability `risk`, `residuals` the mean residual sizes,
    None where there is none.
    """
    if risk == 0:
        return {}
    laws = [each.size for each in system.classes]
    residuals = [law.second_moment / (2 * law.mean) for law in laws]
    return {
        "quantiles": [law.exceeded(risk) for law in laws],
        "residuals": [value if math.isfinite(value) else None for value in residuals],
    }


def told(risk: float) -> list[str]:
    """Return the risk as a label has it, e.g. "backfill .03"."""
    return [f"backfill {risk:g}".replace(" 0.", " .")] if risk > 0 else []


def by_estimates(spec: dict[str, object]) -> dict[str, object]:
    """Return the same policy of the core for jobs that carry estimates."""
    if "quantiles" not in spec:
        return spec
    rest = {key: value for key, value in spec.items() if key not in ("quantiles", "residuals")}
    return rest | {"name": f"{spec['name']}-by-estimates"}
