"""What theory says at a point, in the words of a result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from quickswap.errors import ModelError, PolicyError, UnstableError
from quickswap.model.system import System
from quickswap.policies import (
    FCFS,
    MSF,
    MSFQ,
    AdaptiveQuickswap,
    Policy,
    ServerFilling,
    StaticQuickswap,
)

if TYPE_CHECKING:
    from quickswap.theory.means import Means

__all__ = ["APPROXIMATE", "METHODS", "computed"]

Values = dict[tuple[str, str], float]
"""By class (or "all") and quantity; times in seconds."""


def computed(method: str, system: System, policy: Policy) -> Values:
    """Return what a method of `METHODS` says; nothing where it does not apply, or is unstable."""
    try:
        return METHODS[method](system, policy)
    except (ModelError, UnstableError):
        return {}


def _exact(system: System, policy: Policy) -> Values:
    from quickswap.theory import fcfs, msfq, server_filling

    match policy:
        case MSFQ():
            means: Means = msfq.exact(system, policy.threshold, policy.drain)
        case MSF():
            means = msfq.exact(system, 0)
        case AdaptiveQuickswap():
            means = msfq.exact(system, system.servers)
        case FCFS():
            means = fcfs.exact(system)
        case ServerFilling(order="arrival"):
            means = server_filling.exact(system)
        case _:
            raise PolicyError(f"no exact solution of {policy.label} is known.")
    return _told(means)


def _paper(system: System, policy: Policy, form: str) -> Values:
    from quickswap.theory import msfq

    if not isinstance(policy, MSFQ) or policy.drain != "always":
        raise PolicyError(
            f"the analysis of the paper is of MSFQ with drain=always, not of {policy.label}."
        )
    level = system.servers - 1 if policy.threshold is None else policy.threshold
    return _told(msfq.approximate(system, level, form))


def _static(system: System, policy: Policy) -> Values:
    from quickswap.theory import static_quickswap

    if not isinstance(policy, StaticQuickswap) or policy.drain != "exclusive":
        raise PolicyError(
            f"the approximation is of StaticQuickswap with drain=exclusive, not of {policy.label}."
        )
    return _told(static_quickswap.approximate(system, threshold=policy.threshold))


def _best_thresholds(system: System, policy: Policy) -> Values:
    """Compare the best thresholds of MSFQ with l = k - 1, all exact."""
    from quickswap.theory.threshold import Thresholds

    assert isinstance(policy, MSFQ)
    scan = Thresholds(system, policy.drain)
    values: Values = {}
    for metric in ("mean", "weighted"):
        best = scan.best(metric)
        values["all", f"best_threshold_for_{metric}"] = float(best.threshold)
        values["all", f"cost_of_default_for_{metric}"] = 1 + best.loss
    return values


METHODS: dict[str, Callable[[System, Policy], Values]] = {
    "exact": _exact,
    "printed": partial(_paper, form="printed"),
    "corrected": partial(_paper, form="corrected"),
    "approximation": _static,
    "best thresholds": _best_thresholds,
}
"""How a series can be computed: "printed" and "corrected" are the two forms of the analysis of the
paper, "approximation" is ours of Static Quickswap; the others are exact."""
APPROXIMATE = ("printed", "corrected", "approximation")
"""Methods whose error is not known."""


def _told(means: Means) -> Values:
    values = {(each.name, "mean_response_time"): each.mean_response_time for each in means.classes}
    values["all", "mean_response_time"] = means.mean_response_time
    values["all", "weighted_mean_response_time"] = means.weighted_mean_response_time
    return values
