"""The quantities of a run, each defined once: name, unit, and how a difference of it is estimated.

Results, frames, figures, comparisons and tuning take them from `QUANTITIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from quickswap.errors import QuickswapError, unknown
from quickswap.model.system import System
from quickswap.statistics.estimates import Estimate, Floats

__all__ = [
    *("OVERALL", "PHASES", "QUANTITIES", "RATES", "SHORT_NAMES", "SUMMARIES", "ClassResult"),
    *(
        "PhaseResult",
        "Quantities",
        "Quantity",
        "Summary",
        "batch_values",
        "quantity_of",
        "value_of",
    ),
]

OVERALL = ("weighted_mean_response_time", "jain_index", "utilisation", "wasted_capacity")
"""One number for all classes."""
SUMMARIES = ("response_time", "waiting_time", "slowdown", "bounded_slowdown")
"""Quantities of a job; each class has a `Summary` of each."""
RATES = ("number_in_system", "number_waiting", "throughput")
"""Time averages, which each class has."""
PHASES = ("idle", "1", "2", "3", "4")
"""Phases of MSFQ: empty; heavy jobs; light jobs, all servers taken; light jobs; the drain."""
_PHASE = "mean_duration_of_phase_"

BatchValues = Callable[[Floats, System, int | None], Floats]
"""From completions and summed response times, (1 + batches, classes, 2), of all batches and then
with one left out, to the quantity: (1 + batches, 1). The last argument is the class, None for all.
"""


class Summary(Struct, frozen=True, forbid_unknown_fields=True):
    """Mean, standard deviation and percentiles of a quantity of a job."""

    mean: Estimate
    std: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate
    p999: Estimate


class ClassResult(Struct, frozen=True, forbid_unknown_fields=True):
    """The estimates for one class, or for all jobs together.

    Times are in seconds. Under a preemptive policy the waiting time is all time not in service.

    Attributes:
        name: name of the class; "all" for all jobs.
        need: servers; 0 for all jobs.
        jobs: completions that the estimates use.
        response_time: from arrival to completion.
        waiting_time: response time less size.
        slowdown: response time over size; its mean is infinite where sizes come too close to zero.
        bounded_slowdown: max(1, response time / max(size, bound)).
        number_in_system: time average.
        number_waiting: time average.
        throughput: completions per second.
    """

    name: str
    need: int
    jobs: int
    response_time: Summary
    waiting_time: Summary
    slowdown: Summary
    bounded_slowdown: Summary
    number_in_system: Estimate
    number_waiting: Estimate
    throughput: Estimate

    @property
    def mean_response_time(self) -> Estimate:
        """Mean of the response time, seconds."""
        return self.response_time.mean

    @property
    def mean_waiting_time(self) -> Estimate:
        """Mean of the waiting time, seconds."""
        return self.waiting_time.mean


class PhaseResult(Struct, frozen=True, forbid_unknown_fields=True):
    """Durations of one phase of MSFQ, in seconds; `count` of them were seen."""

    name: str
    count: int
    mean: Estimate
    std: Estimate


@dataclass(frozen=True)
class Quantities:
    """Estimates of a simulation or a replay. Estimates have 95 % intervals.

    Attributes:
        policy_label: the policy as tables show it.
        classes: one by one.
        overall: all jobs together.
        weighted_mean_response_time: classes weighted by their share of the load (the paper, section
            "Weighted mean response time"), seconds.
        jain_index: Jain's fairness index of the mean response times of the classes present.
        utilisation: share of the servers in use.
        wasted_capacity: share of the servers idle while jobs wait.
    """

    policy_label: str
    classes: tuple[ClassResult, ...]
    overall: ClassResult
    weighted_mean_response_time: Estimate
    jain_index: Estimate
    utilisation: Estimate
    wasted_capacity: Estimate

    @property
    def mean_response_time(self) -> Estimate:
        """Mean response time of all jobs, seconds."""
        return self.overall.response_time.mean

    @property
    def mean_waiting_time(self) -> Estimate:
        """Mean waiting time of all jobs, seconds."""
        return self.overall.waiting_time.mean

    def quantities(self) -> Iterator[tuple[str, str, Estimate]]:
        """Yield class (or "all"), quantity and estimate, in the order of the tables."""
        for name in OVERALL:
            yield "all", name, getattr(self, name)
        for each in (self.overall, *self.classes):
            for metric in SUMMARIES:
                summary = getattr(each, metric)
                for statistic in Summary.__struct_fields__:
                    yield each.name, f"{statistic}_{metric}", getattr(summary, statistic)
            for name in RATES:
                yield each.name, name, getattr(each, name)


def _mean(table: Floats, system: System, cls: int | None) -> Floats:
    chosen = table.sum(axis=1) if cls is None else table[:, cls]
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = chosen[:, 1:] / chosen[:, :1]
    return means


def _weighted_mean(table: Floats, system: System, cls: int | None) -> Floats:
    """Classes weighted by their share of the load."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = table[..., 1] / table[..., 0]
    weighted: Floats = (means * np.array(system.load_shares)).sum(axis=1, keepdims=True)
    return weighted


def _jain(table: Floats, system: System, cls: int | None) -> Floats:
    """Jain's index of the mean response times, over the classes present."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (table[..., 1] / table[..., 0])[:, table[0, :, 0] > 0]
        squares = means.shape[1] * np.square(means).sum(axis=1, keepdims=True)
        index: Floats = means.sum(axis=1, keepdims=True) ** 2 / squares
    return index


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that results have.

    Attributes:
        name: as `Result.quantities` has it.
        label: in figures, with the unit.
        short: on the command line, if it has a short name.
        by_class: whether each class has it.
        share: whether it is a number from 0 to 1.
        batch_values: how it follows from the sums of batches, which paired differences need; None
            where no difference is offered.
    """

    name: str
    label: str
    short: str | None = None
    by_class: bool = False
    share: bool = False
    batch_values: BatchValues | None = None


def _summaries() -> Iterator[Quantity]:
    """Yield mean, standard deviation and percentiles of the quantities of a job."""
    statistics = {
        "mean": "mean {}",
        "std": "standard deviation of the {}",
        "p50": "P50 of the {}",
        "p90": "P90 of the {}",
        "p99": "P99 of the {}",
        "p999": "P99.9 of the {}",
    }
    short = {("response_time", statistic): statistic for statistic in statistics} | {
        ("waiting_time", "mean"): "wait",
        ("slowdown", "mean"): "slowdown",
        ("bounded_slowdown", "mean"): "bounded-slowdown",
    }
    for what in SUMMARIES:
        words, unit = what.replace("_", " "), "" if what.endswith("slowdown") else " [s]"
        for statistic, form in statistics.items():
            yield Quantity(
                f"{statistic}_{what}",
                form.format(words) + unit,
                short.get((what, statistic)),
                by_class=True,
                batch_values=_mean if (statistic, what) == ("mean", "response_time") else None,
            )


QUANTITIES = {
    each.name: each
    for each in (
        Quantity(
            "weighted_mean_response_time",
            "weighted mean response time [s]",
            "weighted",
            batch_values=_weighted_mean,
        ),
        Quantity("jain_index", "Jain's fairness index", "jain", share=True, batch_values=_jain),
        Quantity("utilisation", "utilisation", "utilisation", share=True),
        Quantity("wasted_capacity", "wasted capacity", "wasted", share=True),
        *_summaries(),
        Quantity("number_in_system", "mean number in system", "in-system", by_class=True),
        Quantity("number_waiting", "mean number waiting", "waiting", by_class=True),
        Quantity("throughput", "throughput [jobs per second]", "throughput", by_class=True),
        *(Quantity(f"{_PHASE}{name}", f"mean duration of phase {name} [s]") for name in PHASES),
    )
}
"""All quantities by name."""
SHORT_NAMES = {each.short: each.name for each in QUANTITIES.values() if each.short}


def quantity_of(given: object) -> Quantity:
    """Return a quantity by its name or its short name.

    Raises:
        QuickswapError: an unknown name.
    """
    name = given.strip() if isinstance(given, str) else ""
    found = QUANTITIES.get(SHORT_NAMES.get(name, name))
    if found is None:
        known = QUANTITIES if "_" in name else SHORT_NAMES
        unknown("metric", given, known, QuickswapError, argument="metric")
    return found


def batch_values(quantity: str, table: Floats, system: System, cls: int | None = None) -> Floats:
    """Return a quantity from the sums of batches: (1 + batches, 1); see `BatchValues`.

    Raises:
        QuickswapError: no difference of this quantity is offered.
    """
    found = QUANTITIES.get(quantity) if isinstance(quantity, str) else None
    values = found.batch_values if found is not None else None
    if values is None:
        known = [each.name for each in QUANTITIES.values() if each.batch_values]
        unknown("quantity", quantity, known, QuickswapError, argument="quantity")
    return values(table, system, cls)


def value_of(result: Quantities, quantity: str, cls: int | None) -> Estimate | None:
    """Return a quantity of all jobs or of the class at a position; None if the result has none."""
    if quantity.startswith(_PHASE):
        phases: tuple[PhaseResult, ...] = getattr(result, "phases", ())
        name = quantity.removeprefix(_PHASE)
        return next((each.mean for each in phases if each.name == name), None)
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
