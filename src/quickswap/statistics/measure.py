"""From the batches of a run to the quantities of a result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from quickswap.engine.columns import METRICS
from quickswap.model.system import System
from quickswap.model.variability import bursty, heavy, scatter
from quickswap.statistics.estimates import (
    QUANTILES,
    ROUNDING,
    estimates,
    half_widths,
)
from quickswap.statistics.quantities import (
    OVERALL,
    PHASES,
    RATES,
    ClassResult,
    PhaseResult,
    Responses,
    Summary,
)
from quickswap.statistics.verdict import Evidence, Status

__all__ = ["measure"]

CUBES = 0.3
"""Relative half-width of the third moment of the sizes that arrive, beyond which a run has not seen
the rare sizes that the standard deviation of the waiting time comes from."""
ENOUGH = 30
"""Jobs that must lie above a percentile for its interval to be trusted."""
NEAR_ONE = np.array([each.near_one for each in OVERALL.values()])
OF_RESPONSES = np.array([each.of_responses is not None for each in OVERALL.values()])
"""Which quantities of the system come close to 1, and which follow from response times."""
GROWING = np.array([each.reciprocal for each in RATES.values()])
"""Which time averages grow like 1 / (1 - load)."""


def measure(
    system: System,
    evidence: Evidence,
    status: Status,
    rarest: float | None = None,
) -> dict[str, Any]:
    """Return the measured fields of a `Result`.

    Quantities that an unstable system does not have are nan.

    Args:
        system: that was simulated.
        evidence: of the run.
        status: a run that is too short has no intervals, except for values that are exact.
        rarest: probability of the farthest tail whose percentile has an interval; default: that
            whose percentile has an interval.
    """
    sums, sizes = evidence.batches.sums, evidence.batches.sizes
    responses = Responses.of(sums.of_classes("completions", "response_time"), system)
    every = sums.with_all()
    completions = every.of_classes("completions")
    counts, durations, squares = sums.of_phases().transpose(2, 0, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = every.of_classes(*METRICS) / completions[..., None]
        second = every.of_classes(*(f"{each}_squared" for each in METRICS)) / completions[..., None]
        rates = every.of_classes(*(each.column for each in RATES.values()))
        numbers = np.stack(
            [each.values(responses, evidence.areas) for each in OVERALL.values()], axis=1
        )
        parts = [
            means,
            np.sqrt(np.maximum(second - means**2, 0)),
            rates / sums.of_system("duration")[:, None, None],
            np.where(NEAR_ONE, np.log(1 - numbers), numbers),
            durations / counts,
            np.sqrt(np.maximum(squares / counts - (durations / counts) ** 2, 0)),
        ]
    # all intervals at once
    reciprocal = [np.ones(each.shape[1:], dtype=bool) for each in parts]
    reciprocal[2][:] = GROWING
    reciprocal[3][:] = [each.reciprocal and not each.near_one for each in OVERALL.values()]
    half = half_widths(
        np.concatenate([each.reshape(len(each), -1) for each in parts], axis=1),
        sizes,
        reciprocal=np.concatenate([each.ravel() for each in reciprocal]),
    )
    halves, at = [], 0
    for each in reciprocal:
        halves.append(half[at : at + each.size].reshape(each.shape))
        at += each.size
    mean, std, rate, _, phase, phase_std = (each[0] for each in parts)
    mean_half, std_half, rate_half, overall_half, phase_half, phase_std_half = halves
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
    # 1 less a value near 1 is a square of differences: it cannot be below 0, and where the
    # differences may be 0 nothing is known but that
    overall = numbers[0]
    one = NEAR_ONE & (overall > 1 - ROUNDING)  # one class, or classes that are alike
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.where(overall_half < 1, (1 - overall) * np.expm1(overall_half), math.nan)
    overall = np.where(one, 1.0, overall)
    overall_half = np.where(one, 0.0, np.where(NEAR_ONE, spread, overall_half))

    if evidence.half_width(scatter(system, 3)) > CUBES:
        halved[:, :, 1] = math.nan
    if heavy(system):
        halved[:, :, :2] = rate_half[:, GROWING] = math.nan
        overall_half[OF_RESPONSES & ~one] = math.nan
    if bursty(system):
        rate_half[:] = math.nan
    if bursty(system) or not math.isfinite(evidence.known.dispersion):
        overall_half[~OF_RESPONSES] = math.nan
    boundless = [math.isinf(each.size.mean_inverse) for each in system.classes]
    infinite = np.array([*boundless, any(boundless)]) & (jobs > 0)
    slowdown = METRICS.index("slowdown")
    values[infinite, slowdown, :2], halved[infinite, slowdown, :2] = math.inf, 0.0  # exactly
    if status is Status.UNSTABLE:
        for array in (values, halved):
            array[...] = math.nan
        overall[OF_RESPONSES] = overall_half[OF_RESPONSES] = math.nan
        rate[:, GROWING] = rate_half[:, GROWING] = math.nan
    if status is Status.TOO_SHORT:
        for array in (halved, overall_half, *halves):
            array[array != 0] = math.nan

    cells = iter(estimates(values.ravel(), halved.ravel()))
    averages = iter(estimates(rate.ravel(), rate_half.ravel()))
    classes = []
    for name, need, count in zip((*system.names, "all"), (*system.needs, 0), jobs, strict=True):
        summaries = (Summary(*islice(cells, values.shape[2])) for _ in METRICS)
        estimated: Iterator[Any] = chain(summaries, islice(averages, len(RATES)))
        classes.append(ClassResult(name, need, round(float(count)), *estimated))
    phases = map(
        PhaseResult,
        PHASES,  # MSFQ alone has phases
        map(round, counts[0].tolist()),
        estimates(phase, phase_half),
        estimates(phase_std, phase_std_half),
    )
    return {
        "classes": tuple(classes[:-1]),
        "overall": classes[-1],
        **dict(zip(OVERALL, estimates(overall, overall_half), strict=True)),
        "phases": tuple(phases) if status is not Status.UNSTABLE else (),
    }
