"""Values of theory for a series of an experiment, named as the quantities of a result."""

from __future__ import annotations

from typing import Literal

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
from quickswap.statistics.estimates import Estimate
from quickswap.theory import fcfs, msfq, server_filling, static_quickswap
from quickswap.theory.means import Means
from quickswap.theory.threshold import Thresholds

__all__ = ["MEAN", "WEIGHTED", "Method", "computed"]

MEAN, WEIGHTED = "mean_response_time", "weighted_mean_response_time"

Method = Literal["simulated", "exact", "printed", "corrected", "approximation", "best thresholds"]
"""How a series is obtained: "printed" and "corrected" are the two forms of the paper's analysis,
"approximation" is our own of Static Quickswap, "best thresholds" compares thresholds with k - 1."""


def computed(method: Method, system: System, policy: Policy) -> dict[tuple[str, str], Estimate]:
    """Return values by class (or "all") and quantity, times in seconds.

    The half-width is 0 for exact values and nan for approximations. There are no values where the
    method does not apply to the system, or the policy is unstable.

    Raises:
        PolicyError: the method does not apply to the policy.
    """
    try:
        if method == "best thresholds" and isinstance(policy, MSFQ):
            scan = Thresholds(system, policy.drain)
            values = {}
            for metric in ("mean", "weighted"):
                best = scan.best(metric)
                values["all", f"best_threshold_for_{metric}"] = float(best.threshold)
                values["all", f"cost_of_default_for_{metric}"] = 1 + best.loss
        else:
            means = _means(method, system, policy)
            values = {(each.name, MEAN): each.mean_response_time for each in means.classes}
            values["all", MEAN] = means.mean_response_time
            values["all", WEIGHTED] = means.weighted_mean_response_time
    except (ModelError, UnstableError):
        return {}
    half_width = 0.0 if method in ("exact", "best thresholds") else float("nan")
    return {key: Estimate(value, half_width) for key, value in values.items()}


def _means(method: Method, system: System, policy: Policy) -> Means:
    match method, policy:
        case "exact", MSFQ():
            return msfq.exact(system, policy.threshold, policy.drain)
        case "exact", MSF():
            return msfq.exact(system, 0)
        case "exact", AdaptiveQuickswap():
            return msfq.exact(system, system.servers)
        case "exact", FCFS():
            return fcfs.exact(system)
        case "exact", ServerFilling(order="arrival"):
            return server_filling.exact(system)
        case ("printed" | "corrected") as form, MSFQ(drain="always"):
            threshold = system.servers - 1 if policy.threshold is None else policy.threshold
            return msfq.approximate(system, threshold, form)
        case "approximation", StaticQuickswap(drain="exclusive"):
            return static_quickswap.approximate(system, threshold=policy.threshold)
    raise PolicyError(
        f"policy: {policy.label} has no values of theory ({method}).",
        argument="series.policy",
        given=policy,
        allowed=f"one to which {method!r} applies",
    )
