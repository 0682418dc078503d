"""Quantities of results by short names, and what figures call them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from quickswap.errors import QuickswapError, unknown
from quickswap.estimates import Estimate
from quickswap.measure import PHASES
from quickswap.result import OVERALL, RATES, SUMMARIES, Result, Summary

__all__ = ["METRICS", "SHARES", "Metric", "metric_of", "value_of"]

METRICS = {
    "weighted": "weighted_mean_response_time",
    "mean": "mean_response_time",
    "std": "std_response_time",
    "p50": "p50_response_time",
    "p90": "p90_response_time",
    "p99": "p99_response_time",
    "p999": "p999_response_time",
    "wait": "mean_waiting_time",
    "slowdown": "mean_slowdown",
    "bounded-slowdown": "mean_bounded_slowdown",
    "jain": "jain_index",
    "utilisation": "utilisation",
    "wasted": "wasted_capacity",
    "in-system": "number_in_system",
    "waiting": "number_waiting",
    "throughput": "throughput",
}
"""Short names of quantities of `Result.quantities`."""
PHASE = "mean_duration_of_phase_"
STATISTICS = tuple(each.name for each in fields(Summary))
BY_CLASS = (*(f"{each}_{what}" for what in SUMMARIES for each in STATISTICS), *RATES)
"""Quantities that each class has, and all jobs together."""
QUANTITIES = (*OVERALL, *BY_CLASS, *(f"{PHASE}{name}" for name in PHASES))
SHARES = ("jain_index", "utilisation", "wasted_capacity")
"""Quantities from 0 to 1."""
WORDS = {
    "weighted_mean_response_time": "weighted mean response time [s]",
    "jain_index": "Jain's fairness index",
    "utilisation": "utilisation",
    "wasted_capacity": "wasted capacity",
    "number_in_system": "mean number in system",
    "number_waiting": "mean number waiting",
    "throughput": "throughput [jobs per second]",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity that can be drawn.

    Attributes:
        name: as it was given.
        quantity: as `Result.quantities` names it.
    """

    name: str
    quantity: str

    @property
    def by_class(self) -> bool:
        """Whether each class has it."""
        return self.quantity in BY_CLASS

    @property
    def label(self) -> str:
        """What figures call it, with its unit."""
        if self.quantity in WORDS:
            return WORDS[self.quantity]
        if self.quantity.startswith(PHASE):
            return f"mean duration of phase {self.quantity.removeprefix(PHASE)} [s]"
        statistic, _, what = self.quantity.partition("_")
        words, unit = what.replace("_", " "), "" if what.endswith("slowdown") else " [s]"
        if statistic == "mean":
            return f"mean {words}{unit}"
        kind = {"std": "standard deviation", "p999": "P99.9"}.get(statistic, statistic.upper())
        return f"{kind} of the {words}{unit}"


def metric_of(given: object) -> Metric:
    """Return the metric of a short name, or of a quantity as `Result.quantities` names it.

    Raises:
        QuickswapError: it is neither.
    """
    name = given.strip() if isinstance(given, str) else ""
    quantity = METRICS.get(name, name)
    if quantity not in QUANTITIES:
        unknown("metric", given, QUANTITIES if "_" in name else METRICS, QuickswapError)
    return Metric(name, quantity)


def value_of(result: Result, quantity: str, cls: int | None) -> Estimate | None:
    """Return a quantity of a result, of all jobs or the class at a position; None if not there."""
    if quantity.startswith(PHASE):
        name = quantity.removeprefix(PHASE)
        return next((each.mean for each in result.phases if each.name == name), None)
    if quantity in OVERALL:
        found: Estimate = getattr(result, quantity)
        return found
    holder = result.overall if cls is None else result.classes[cls]
    if quantity in RATES:
        rate: Estimate = getattr(holder, quantity)
        return rate
    statistic, _, what = quantity.partition("_")
    value: Estimate = getattr(getattr(holder, what), statistic)
    return value
