"""The quantities of a run, as simulations and replays report them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from quickswap.statistics.estimates import Estimate

__all__ = ["OVERALL", "RATES", "SUMMARIES", "ClassResult", "PhaseResult", "Quantities", "Summary"]

OVERALL = ("weighted_mean_response_time", "jain_index", "utilisation", "wasted_capacity")
SUMMARIES = ("response_time", "waiting_time", "slowdown", "bounded_slowdown")
RATES = ("number_in_system", "number_waiting", "throughput")


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean, standard deviation and percentiles of a quantity of a job."""

    mean: Estimate
    std: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate
    p999: Estimate


@dataclass(frozen=True, slots=True)
class ClassResult:
    """What was found for one class, or for all jobs together.

    Times are in seconds. Under a preemptive policy the waiting time is all time not in service.

    Attributes:
        name: of the class; "all" for all jobs.
        need: servers; 0 for all jobs.
        jobs: completions that the estimates rest on.
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


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """Durations of one phase of MSFQ, in seconds; `count` of them were seen."""

    name: str
    count: int
    mean: Estimate
    std: Estimate


@dataclass(frozen=True)
class Quantities:
    """What simulations and replays alike find. Estimates carry 95 % intervals.

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
                for f in fields(summary):
                    yield each.name, f"{f.name}_{metric}", getattr(summary, f.name)
            for name in RATES:
                yield each.name, name, getattr(each, name)
