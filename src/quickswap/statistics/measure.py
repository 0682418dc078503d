"""From the batches of a run to the quantities of a result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from quickswap.engine.columns import METRICS
from quickswap.model.system import System
from quickswap.model.variability import bursty, heavy, scatter
from quickswap.statistics.estimates import (
    QUANTILES,
    ROUNDING,
    Estimate,
    estimates,
    half_widths,
)
from quickswap.statistics.quantities import (
    PHASES,
    ClassResult,
    PhaseResult,
    Summary,
    batch_values,
)
from quickswap.statistics.verdict import Evidence, Status

__all__ = ["Measured", "measure"]

CUBES = 0.3
"""Relative half-width of the third moment of the sizes that arrive, beyond which a run has not seen
the rare sizes that the standard deviation of the waiting time comes from."""
ENOUGH = 30
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


def measure(
    system: System,
    evidence: Evidence,
    status: Status,
    rarest: float | None = None,
) -> Measured:
    """Return all quantities; those that an unstable system does not have are nan.

    Args:
        system: that was simulated.
        evidence: of the run.
        status: a run that is too short has no intervals, except for values that are exact.
        rarest: probability of the farthest tail whose percentile has an interval; default: that
            whose percentile has an interval.
    """
    sums, sizes = evidence.batches.sums, evidence.batches.sizes
    response = sums.of_classes("completions", "response_time")
    every = sums.with_all()
    completions = every.of_classes("completions")
    counts, durations, squares = sums.of_phases().transpose(2, 0, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = every.of_classes(*METRICS) / completions[..., None]
        second = every.of_classes(*(f"{each}_squared" for each in METRICS)) / completions[..., None]
        rates = every.of_classes("area_in_system", "area_waiting", "completions")
        jain = batch_values("jain_index", response, system)
        parts = [
            means,
            np.sqrt(np.maximum(second - means**2, 0)),
            rates / sums.of_system("duration")[:, None, None],
            batch_values("weighted_mean_response_time", response, system),
            np.log(1 - jain),
            durations / counts,
            np.sqrt(np.maximum(squares / counts - (durations / counts) ** 2, 0)),
        ]
    # all intervals at once; throughput and log(1 - index) are not proportional to 1 / (1 - load)
    reciprocal = [np.ones(each.shape[1:], dtype=bool) for each in parts]
    reciprocal[2][:, 2] = reciprocal[4][:] = False
    half = half_widths(
        np.concatenate([each.reshape(len(each), -1) for each in parts], axis=1),
        sizes,
        reciprocal=np.concatenate([each.ravel() for each in reciprocal]),
    )
    halves, at = [], 0
    for each in reciprocal:
        halves.append(half[at : at + each.size].reshape(each.shape))
        at += each.size
    mean, std, rate, weighted, _, phase, phase_std = (each[0] for each in parts)
    mean_half, std_half, rate_half, weighted_half, unfairness, phase_half, phase_std_half = halves
    percentiles, off, batches = evidence.batches.quantiles()
    widths = half_widths(percentiles.reshape(len(percentiles), -1), batches, reciprocal=True)
    widths = widths.reshape(off.shape) + off

    rarest = evidence.rarest_tail if rarest is None else rarest
    jobs = completions[0]
    above = (jobs[:, None] * (1 - np.array(QUANTILES)))[:, None, :]
    seen = (above >= ENOUGH) & (1 - np.array(QUANTILES) >= rarest)
    values = np.concatenate(
        [
            mean[..., None],
            std[..., None],
            np.where(above < 1, math.nan, percentiles[0]),
        ],
        axis=2,
    )
    halved = np.concatenate(
        [mean_half[..., None], std_half[..., None], np.where(seen, widths, math.nan)], axis=2
    )
    index, index_half = float(jain[0, 0]), math.nan
    if index > 1 - ROUNDING:  # one class, or classes that are alike
        index, index_half = 1.0, 0.0
    elif unfairness[0] < 1:
        # 1 - index is a square of differences between classes: it cannot be below 0, and where
        # the differences may be 0 nothing is known but that
        index_half = (1 - index) * math.expm1(unfairness[0])
    used, wasted = evidence.used, evidence.wasted
    overall = np.array([weighted[0], index, used.value, wasted.value])
    overall_half = np.array([weighted_half[0], index_half, used.half_width, wasted.half_width])

    if evidence.half_width(scatter(system, 3)) > CUBES:
        halved[:, :, 1] = math.nan
    if heavy(system):
        halved[:, :, :2] = rate_half[:, :2] = overall_half[0] = math.nan
        overall_half[1] = math.nan if index_half else 0.0  # else it is exact
    if bursty(system):
        rate_half[:] = math.nan
    if bursty(system) or not math.isfinite(evidence.known.dispersion):
        overall_half[2:] = math.nan
    boundless = [math.isinf(each.size.mean_inverse) for each in system.classes]
    infinite = np.array([*boundless, any(boundless)]) & (jobs > 0)
    slowdown = METRICS.index("slowdown")
    values[infinite, slowdown, :2], halved[infinite, slowdown, :2] = math.inf, 0.0  # exactly
    if status is Status.UNSTABLE:
        for array in (values, halved, overall[:2], overall_half[:2]):
            array[...] = math.nan
        rate[:, :2] = rate_half[:, :2] = math.nan
    if status is Status.TOO_SHORT:
        for array in (halved, overall_half, *halves):
            array[array != 0] = math.nan

    cells = iter(estimates(values.ravel(), halved.ravel()))
    averages = iter(estimates(rate.ravel(), rate_half.ravel()))
    classes = []
    for name, need, count in zip((*system.names, "all"), (*system.needs, 0), jobs, strict=True):
        summaries = (Summary(*islice(cells, values.shape[2])) for _ in METRICS)
        estimated: Iterator[Any] = chain(summaries, islice(averages, rate.shape[1]))
        classes.append(ClassResult(name, need, round(float(count)), *estimated))
    phases = map(
        PhaseResult,
        PHASES,  # MSFQ alone has phases
        map(round, counts[0].tolist()),
        estimates(phase, phase_half),
        estimates(phase_std, phase_std_half),
    )
    weighted_mean, jain_index, utilisation, wasted_capacity = estimates(overall, overall_half)
    return Measured(
        classes=tuple(classes[:-1]),
        overall=classes[-1],
        weighted_mean_response_time=weighted_mean,
        jain_index=jain_index,
        utilisation=utilisation,
        wasted_capacity=wasted_capacity,
        phases=tuple(phases) if status is not Status.UNSTABLE else (),
    )
