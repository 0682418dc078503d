"""From the batches of a run to the quantities of a result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quickswap._core import OVERALL, PER_CLASS
from quickswap.estimates import Batches, Estimate, Floats, by_class, jackknife
from quickswap.result import SUMMARIES, ClassResult, PhaseResult, Summary
from quickswap.system import System

__all__ = ["Measured", "busy", "measure", "overall_values"]

PHASES = ("idle", "1", "2", "3", "4")
"""Phases of MSFQ: nobody there; heavies; lights, all servers taken; lights; the drain."""
NOTHING = Estimate(math.nan, math.nan)


@dataclass(frozen=True)
class Measured:
    """The quantities of a result."""

    classes: tuple[ClassResult, ...]
    overall: ClassResult
    weighted_mean_response_time: Estimate
    jain_index: Estimate
    utilisation: Estimate
    wasted_capacity: Estimate
    phases: tuple[PhaseResult, ...]


def measure(system: System, batches: Batches, stable: bool) -> Measured:
    """Return all quantities; those that an unstable system does not have are nan."""
    sums, sizes = batches.whole_and_less(), batches.sizes
    table, duration, wasted = _parts(sums, system)
    quantiles = [batches.quantiles(metric) for metric in range(len(SUMMARIES))]
    count = len(system.needs)
    classes = [
        _class(
            system,
            _Part(position, table[:, position] if position < count else table.sum(axis=1)),
            duration,
            batches,
            [each[:, position] for each in quantiles],
            stable,
        )
        for position in range(count + 1)
    ]
    servers = system.servers * duration
    shares = np.stack([busy(table, system.needs) / servers, wasted / servers], axis=1)
    utilisation, waste = jackknife(shares, sizes)
    weighted, jain = jackknife(overall_values(sums, system), sizes)
    return Measured(
        classes=tuple(classes[:count]),
        overall=classes[count],
        weighted_mean_response_time=weighted if stable else NOTHING,
        jain_index=jain if stable else NOTHING,
        utilisation=utilisation,
        wasted_capacity=waste,
        phases=_phases(sums, count, sizes) if stable else (),
    )


def busy(table: Floats, needs: Sequence[int]) -> Floats:
    """Return servers in use times seconds, from the numbers of all classes: (1 + batches)."""
    area: Floats = ((table[..., 10] - table[..., 11]) * np.array(needs)).sum(axis=1)
    return area


def overall_values(sums: Floats, system: System) -> Floats:
    """Return weighted mean response time and Jain's index: (1 + batches, 2)."""
    table, _, _ = _parts(sums, system)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = table[..., 2] / table[..., 0]
        weighted = (means * np.array(system.load_shares)).sum(axis=1)
        means = means[:, table[0, :, 0] > 0]  # Jain's index runs over the classes present
        jain = means.sum(axis=1) ** 2 / (means.shape[1] * np.square(means).sum(axis=1))
    return np.stack([weighted, jain], axis=1)


def _parts(sums: Floats, system: System) -> tuple[Floats, Floats, Floats]:
    """Return the numbers per class, the duration, and the capacity wasted (servers x seconds)."""
    table = by_class(sums, len(system.needs))
    rest = sums[:, len(system.needs) * PER_CLASS :]
    return table, rest[:, 0], rest[:, 1]


@dataclass(frozen=True)
class _Part:
    """A class, or all together behind the last one; the table is (1 + batches, PER_CLASS)."""

    position: int
    table: Floats


def _class(
    system: System,
    part: _Part,
    duration: Floats,
    batches: Batches,
    quantiles: list[Floats],
    stable: bool,
) -> ClassResult:
    """Return the result of one class."""
    together = part.position == len(system.needs)
    table, jobs = part.table, part.table[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        per_second = np.stack([table[:, 10], table[:, 11], jobs], axis=1) / duration[:, None]
        means = table[:, 2:10:2] / jobs[:, None]
        stds = np.sqrt(np.maximum(table[:, 3:10:2] / jobs[:, None] - means**2, 0))
    present, waiting, throughput = jackknife(per_second, batches.sizes)
    laws = system.classes if together else (system.classes[part.position],)
    boundless = any(math.isinf(each.size.mean_inverse) for each in laws)
    summaries = {}
    for metric, name in enumerate(SUMMARIES):
        moments = np.stack([means[:, metric], stds[:, metric]], axis=1)
        mean, std = jackknife(moments, batches.sizes)
        if name == "slowdown" and boundless and jobs[0] > 0:
            mean = std = Estimate(math.inf, 0.0)  # exactly
        percentiles = jackknife(quantiles[metric], batches.segments)
        summaries[name] = Summary(mean, std, *percentiles) if stable else Summary(*[NOTHING] * 6)
    return ClassResult(
        name="all" if together else system.names[part.position],
        need=0 if together else system.needs[part.position],
        jobs=round(float(jobs[0])),
        response_time=summaries["response_time"],
        waiting_time=summaries["waiting_time"],
        slowdown=summaries["slowdown"],
        bounded_slowdown=summaries["bounded_slowdown"],
        number_in_system=present if stable else NOTHING,
        number_waiting=waiting if stable else NOTHING,
        throughput=throughput,
    )


def _phases(sums: Floats, classes: int, sizes: list[int]) -> tuple[PhaseResult, ...]:
    """Return the durations of the phases, if the policy has any."""
    numbers = sums[:, classes * PER_CLASS + OVERALL :]
    results = []
    for i in range(numbers.shape[1] // 3):
        count, total, square = numbers[:, 3 * i : 3 * i + 3].T
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / count
            std = np.sqrt(np.maximum(square / count - mean**2, 0))
        estimates = jackknife(np.stack([mean, std], axis=1), sizes)
        results.append(PhaseResult(PHASES[i], round(float(count[0])), *estimates))
    return tuple(results)
