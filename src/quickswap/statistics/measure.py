"""From the batches of a run to the quantities of a result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickswap.engine._core import OVERALL, PER_CLASS
from quickswap.model.system import System
from quickswap.statistics.estimates import QUANTILES, Batches, Estimate, Floats, by_class, jackknife
from quickswap.statistics.quantities import SUMMARIES, ClassResult, PhaseResult, Summary

__all__ = ["Measured", "busy", "measure", "overall_values"]

PHASES = ("idle", "1", "2", "3", "4")
"""Phases of MSFQ: nobody there; heavies; lights, all servers taken; lights; the drain."""
NOTHING = Estimate(math.nan, math.nan)
ENOUGH = 10
"""Jobs that must lie above a percentile for its interval to be trusted."""


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
    classes = _classes(system, batches, table, duration, stable)
    servers = system.servers * duration
    with np.errstate(invalid="ignore"):  # nothing is left without the only batch
        shares = np.stack([busy(table, system.needs) / servers, wasted / servers], axis=1)
    utilisation, waste = jackknife(shares, sizes)
    weighted, jain = jackknife(overall_values(table[..., [0, 2]], system), sizes)
    return Measured(
        classes=tuple(classes[:-1]),
        overall=classes[-1],
        weighted_mean_response_time=weighted if stable else NOTHING,
        jain_index=jain if stable else NOTHING,
        utilisation=utilisation,
        wasted_capacity=waste,
        phases=_phases(sums, len(system.needs), sizes) if stable else (),
    )


def busy(table: Floats, needs: Sequence[int]) -> Floats:
    """Return servers in use times seconds, from the numbers of all classes: (1 + batches)."""
    area: Floats = ((table[..., 10] - table[..., 11]) * np.array(needs)).sum(axis=1)
    return area


def overall_values(table: Floats, system: System) -> Floats:
    """Return weighted mean response time and Jain's index: (1 + batches, 2).

    Args:
        table: (1 + batches, classes, 2): jobs, and the sum of their response times.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        means = table[..., 1] / table[..., 0]
        weighted = (means * np.array(system.load_shares)).sum(axis=1)
        means = means[:, table[0, :, 0] > 0]  # Jain's index runs over the classes present
        jain = means.sum(axis=1) ** 2 / (means.shape[1] * np.square(means).sum(axis=1))
    return np.stack([weighted, jain], axis=1)


def _parts(sums: Floats, system: System) -> tuple[Floats, Floats, Floats]:
    """Return the numbers per class, the duration, and the capacity wasted (servers x seconds)."""
    table = by_class(sums, len(system.needs))
    rest = sums[:, len(system.needs) * PER_CLASS :]
    return table, rest[:, 0], rest[:, 1]


def _classes(
    system: System, batches: Batches, table: Floats, duration: Floats, stable: bool
) -> list[ClassResult]:
    """Return the results of all classes, and behind them that of all jobs together."""
    table = np.concatenate([table, table.sum(axis=1, keepdims=True)], axis=1)
    jobs = table[0, :, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = table[..., [10, 11, 0]] / duration[:, None, None]
        means = table[..., 2:10:2] / table[..., :1]
        stds = np.sqrt(np.maximum(table[..., 3:10:2] / table[..., :1] - means**2, 0))
    present, waiting, throughput = _grid(rates, batches.sizes).T
    moments = _grid(np.stack([means, stds], axis=-1), batches.sizes)
    quantiles = []
    for metric in range(len(SUMMARIES)):
        found, off = batches.quantiles(metric)
        quantiles.append(_widened(_grid(found, batches.segments), off))
    boundless = [math.isinf(each.size.mean_inverse) for each in system.classes]
    names, needs = (*system.names, "all"), (*system.needs, 0)
    results = []
    for i, infinite in enumerate([*boundless, any(boundless)]):
        summaries = {name: Summary(*[NOTHING] * 6) for name in SUMMARIES}
        for metric, name in enumerate(SUMMARIES if stable else ()):
            mean, std = moments[i, metric]
            if name == "slowdown" and infinite and jobs[i] > 0:
                mean = std = Estimate(math.inf, 0.0)  # exactly
            levels = zip(quantiles[metric][i], QUANTILES, strict=True)
            percentiles = [_percentile(each, level, jobs[i]) for each, level in levels]
            summaries[name] = Summary(mean, std, *percentiles)
        results.append(
            ClassResult(
                name=names[i],
                need=needs[i],
                jobs=round(float(jobs[i])),
                response_time=summaries["response_time"],
                waiting_time=summaries["waiting_time"],
                slowdown=summaries["slowdown"],
                bounded_slowdown=summaries["bounded_slowdown"],
                number_in_system=present[i] if stable else NOTHING,
                number_waiting=waiting[i] if stable else NOTHING,
                throughput=throughput[i],
            )
        )
    return results


def _grid(values: Floats, sizes: Sequence[int]) -> Any:
    """Return an array of estimates from values (1 + batches, ...): one for each of the rest."""
    flat = jackknife(values.reshape(len(values), -1), sizes)
    grid = np.empty(len(flat), dtype=object)
    grid[:] = flat
    return grid.reshape(values.shape[1:])


def _widened(estimates: Any, by: Floats) -> Any:
    """Return an array of estimates with their intervals wider."""
    for place, each in np.ndenumerate(estimates):
        estimates[place] = Estimate(each.value, each.half_width + float(by[place]))
    return estimates


def _percentile(estimate: Estimate, level: float, jobs: float) -> Estimate:
    """Return a percentile: no value without a job above it, no interval with few of them."""
    above = jobs * (1 - level)
    if above < 1:
        return NOTHING
    return estimate if above >= ENOUGH else Estimate(estimate.value, math.nan)


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
