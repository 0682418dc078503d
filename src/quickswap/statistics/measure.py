"""From the batches of a run to the quantities of a result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, islice, pairwise
from typing import Any

import numpy as np

from quickswap.engine._core import ROUNDING
from quickswap.engine.columns import METRICS
from quickswap.model.system import System
from quickswap.model.variability import bursty, heavy
from quickswap.statistics.control import controlled
from quickswap.statistics.estimates import CONFIDENCE, QUANTILES, Floats, estimates, half_widths
from quickswap.statistics.quantities import (
    OF_LOGS,
    OVERALL,
    PHASES,
    RATES,
    STATISTICS,
    ClassResult,
    PhaseResult,
    Responses,
    Summary,
)
from quickswap.statistics.verdict import CUBES, Evidence, Status

__all__ = ["measure"]

ENOUGH = 30
"""Jobs that must lie on each side of a percentile for its interval to be trusted."""
NEAR_ONE = np.array([each.near_one for each in OVERALL.values()])
OF_RESPONSES = np.array(
    [each.of_responses is not None or each.name not in OF_LOGS for each in OVERALL.values()]
)
"""Which quantities of the system come close to 1, and which are response times or parts of them."""
GAINS = ("mean_response_time", "weighted_mean_response_time")
"""Means of which a result states what control variates gain."""
GROWING = np.array([each.reciprocal for each in RATES.values()])
"""Which time averages grow like 1 / (1 - load)."""
CONTROLLED = np.array([each.controlled for each in RATES.values()])
OVERALL_CONTROLLED = np.array([each.controlled for each in OVERALL.values()])
"""For which time averages, and quantities of the system, control variates are used."""


def measure(
    system: System,
    evidence: Evidence,
    status: Status,
    rarest: float | None = None,
    confidence: float = CONFIDENCE,
    percentiles: Sequence[float] = (),
) -> dict[str, Any]:
    """Return the measured fields of a `Result`.

    Quantities that an unstable system does not have are nan.

    Args:
        system: that was simulated.
        evidence: of the run.
        status: a run that is too short has no intervals, except for values that are exact.
        rarest: probability of the farthest tail whose percentile has an interval; default: that
            whose percentile has an interval.
        confidence: of the intervals.
        percentiles: that are estimated besides `QUANTILES`.
    """
    sums, sizes = evidence.batches.spread, evidence.batches.sizes
    control = evidence.totals.controls() if status is Status.STABLE else None
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
    shapes = [each.shape[1:] for each in parts]
    reciprocal = [np.ones(shape, dtype=bool) for shape in shapes]
    reciprocal[2][:] = GROWING
    reciprocal[3][:] = [each.reciprocal and not each.near_one for each in OVERALL.values()]
    table = np.concatenate([each.reshape(len(each), -1) for each in parts], axis=1)
    plain = table[: 1 + sum(sizes)]
    use = [np.ones(shape, dtype=bool) for shape in shapes[:4]]
    use[1][:] = False  # intervals of standard deviations become too narrow in short runs
    use[2][:], use[3][:] = CONTROLLED, OVERALL_CONTROLLED
    columns = np.flatnonzero(np.concatenate([each.ravel() for each in use]))
    rows = plain.copy()
    rows[:, columns] = controlled(table[:, columns], control, evidence.batches.split)
    flags = np.concatenate([each.ravel() for each in reciprocal])
    half = half_widths(rows, sizes, confidence, reciprocal=flags)
    # times that are alike in all batches are not known exactly: other jobs may have to wait
    times = [np.zeros(shape, dtype=bool) for shape in shapes]
    times[0][:], times[1][:], times[2][:] = True, True, GROWING
    times[3][:] = [each.of_responses is not None for each in OVERALL.values()]
    half[np.concatenate([each.ravel() for each in times]) & (half == 0)] = math.nan
    ends = [0, *accumulate(math.prod(shape) for shape in shapes)]

    def unpacked(row: Floats) -> list[Floats]:
        return [
            row[first:end].reshape(shape)
            for (first, end), shape in zip(pairwise(ends), shapes, strict=True)
        ]

    gains = {}
    if control is not None:
        both = [ends[1] - len(METRICS), ends[3]]  # of all jobs, and the weighted one
        with np.errstate(invalid="ignore", divide="ignore"):
            wider = half_widths(plain[:, both], sizes, confidence, reciprocal=True)
            wider /= half[both]
        gains = dict(zip(GAINS, np.square(wider).tolist(), strict=True))
    mean, std, rate, overall, phase, phase_std = unpacked(rows[0])
    halves = unpacked(half)
    mean_half, std_half, rate_half, overall_half, phase_half, phase_std_half = halves
    levels = np.array([*QUANTILES, *(each / 100 for each in percentiles)])
    quantiles, off, batches = evidence.batches.quantiles(levels.tolist())
    table = quantiles.reshape(len(quantiles), -1)
    widths = half_widths(table, batches, confidence, reciprocal=True)
    widths = widths.reshape(off.shape) + off

    rarest = evidence.rarest_tail if rarest is None else rarest
    jobs = completions[0]
    counts = counts[0]
    tails = np.minimum(levels, 1 - levels)
    beyond = (jobs[:, None] * tails)[:, None, :]
    seen = (beyond >= ENOUGH) & (1 - levels >= rarest)
    values = np.concatenate(
        [
            mean[..., None],
            std[..., None],
            np.where(beyond < 1, math.nan, quantiles[0]),
        ],
        axis=2,
    )
    halved = np.concatenate(
        [mean_half[..., None], std_half[..., None], np.where(seen, widths, math.nan)], axis=2
    )
    # 1 less a value near 1 is a square of differences: it cannot be below 0, and where the
    # differences may be 0 nothing is known but that
    one = NEAR_ONE & (numbers[0] > 1 - ROUNDING)  # one class, or classes that are alike
    with np.errstate(over="ignore", invalid="ignore"):
        overall = np.where(NEAR_ONE, -np.expm1(overall), overall)
        spread = np.where(overall_half < 1, (1 - overall) * np.expm1(overall_half), math.nan)
    overall = np.where(one, 1.0, overall)
    overall_half = np.where(one, 0.0, np.where(NEAR_ONE, spread, overall_half))

    if evidence.half_width(evidence.known.cubes) > CUBES:
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

    cells: Iterator[Any] = iter(estimates(values.ravel(), halved.ravel()))
    averages = iter(estimates(rate.ravel(), rate_half.ravel()))
    classes = []
    for name, need, count in zip((*system.names, "all"), (*system.needs, 0), jobs, strict=True):
        fields = (
            [*islice(cells, len(STATISTICS)), dict(zip(percentiles, cells, strict=False))]
            for _ in METRICS
        )
        summaries = (Summary(*each) for each in fields)
        estimated: Iterator[Any] = chain(summaries, islice(averages, len(RATES)))
        classes.append(ClassResult(name, need, round(float(count)), *estimated))
    phases = map(
        PhaseResult,
        PHASES,  # MSFQ alone has phases
        map(round, counts.tolist()),
        estimates(phase, phase_half),
        estimates(phase_std, phase_std_half),
    )
    return {
        "classes": tuple(classes[:-1]),
        "overall": classes[-1],
        **dict(zip(OVERALL, estimates(overall, overall_half), strict=True)),
        "gains": gains,
        "phases": tuple(phases) if status is not Status.UNSTABLE else (),
    }
