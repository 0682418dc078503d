"""From the batches of a run to the quantities of a result."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quickswap.engine.columns import METRICS
from quickswap.model.system import System
from quickswap.model.variability import bursty, heavy, scatter
from quickswap.statistics.estimates import (
    QUANTILES,
    ROUNDING,
    Estimate,
    Floats,
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
    quantiles: tuple[Floats, Floats, list[int]],
    rarest: float,
) -> Measured:
    """Return all quantities; those that an unstable system does not have are nan.

    Args:
        system: that was simulated.
        evidence: of the run.
        status: a run that is too short has no intervals, except for values that are exact.
        quantiles: of `Batches.quantiles`.
        rarest: probability of the farthest tail whose percentile has an interval.
    """
    sums, sizes = evidence.batches.sums, evidence.batches.sizes

    def columns(*names: str) -> Floats:
        """Return columns of all classes, and last of all jobs together."""
        each = sums.of_classes(*names)
        return np.concatenate([each, each.sum(axis=1, keepdims=True)], axis=1)

    response = sums.of_classes("completions", "response_time")
    completions = columns("completions")
    counts, durations, squares = sums.of_phases().transpose(2, 0, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = columns(*METRICS) / completions[..., None]
        second = columns(*(f"{each}_squared" for each in METRICS)) / completions[..., None]
        rates = columns("area_in_system", "area_waiting", "completions")
        rates /= sums.of_system("duration")[:, None, None]
        jain = batch_values("jain_index", response, system)
        # the means of all first, and last what has its interval from 1 / x
        parts = {
            "means": means,
            "stds": np.sqrt(np.maximum(second - means**2, 0)),
            "rates": rates,
            "weighted": batch_values("weighted_mean_response_time", response, system),
            "unfairness": np.log(1 - jain),
            "phases": durations / counts,
            "phase_stds": np.sqrt(np.maximum(squares / counts - (durations / counts) ** 2, 0)),
        }
    flat = [each.reshape(len(each), -1) for each in parts.values()]
    direct = np.zeros(rates.shape[1:], dtype=bool)
    direct[:, 2] = True  # throughput is not inversely proportional to the distance from saturation
    reciprocal = [
        ~direct.ravel() if name == "rates" else np.full(each.shape[1], name != "unfairness")
        for name, each in zip(parts, flat, strict=True)
    ]
    half = half_widths(
        np.concatenate(flat, axis=1), sizes, reciprocal=np.concatenate(reciprocal)
    )
    ends = np.cumsum([each.shape[1] for each in flat])
    halves = {
        name: piece.reshape(each.shape[1:])
        for (name, each), piece in zip(parts.items(), np.split(half, ends[:-1]), strict=True)
    }
    percentiles, off, batches = quantiles
    widths = half_widths(percentiles.reshape(len(percentiles), -1), batches, reciprocal=True)
    widths = widths.reshape(off.shape) + off

    jobs = completions[0]
    above = (jobs[:, None] * (1 - np.array(QUANTILES)))[:, None, :]
    seen = (above >= ENOUGH) & (1 - np.array(QUANTILES) >= rarest)
    values = np.concatenate(
        [
            parts["means"][0, :, :, None],
            parts["stds"][0, :, :, None],
            np.where(above < 1, math.nan, percentiles[0]),
        ],
        axis=2,
    )
    halved = np.stack([halves["means"], halves["stds"]], axis=2)
    halved = np.concatenate([halved, np.where(seen, widths, math.nan)], axis=2)
    overall = np.array([parts["weighted"][0, 0], jain[0, 0], 0.0, 0.0])
    fairness = math.nan
    if jain[0, 0] > 1 - ROUNDING:  # one class, or classes that are alike
        overall[1], fairness = 1.0, 0.0
    elif (unfairness := float(halves["unfairness"][0])) < 1:
        # 1 - index is a square of differences between classes: it cannot be below 0, and where
        # the differences may be 0 nothing is known but that
        fairness = (1 - overall[1]) * math.expm1(unfairness)
    overall_half = np.array([halves["weighted"][0], fairness, 0.0, 0.0])
    for place, each in enumerate((evidence.used, evidence.wasted), start=2):
        overall[place], overall_half[place] = each.value, each.half_width

    if evidence.half_width(scatter(system, 3)) > CUBES:
        halved[:, :, 1] = math.nan
    if heavy(system):
        halved[:, :, :2] = halves["rates"][:, :2] = math.nan
        overall_half[:2] = math.nan, math.nan if fairness else 0.0  # else it is exact
    if bursty(system):
        halves["rates"][:] = math.nan
    if bursty(system) or not math.isfinite(evidence.known.dispersion):
        overall_half[2:] = math.nan
    boundless = [math.isinf(each.size.mean_inverse) for each in system.classes]
    infinite = np.array([*boundless, any(boundless)]) & (jobs > 0)
    slowdown = METRICS.index("slowdown")
    values[infinite, slowdown, :2], halved[infinite, slowdown, :2] = math.inf, 0.0  # exactly
    if status is Status.UNSTABLE:
        for array in (values, halved, overall[:2], overall_half[:2]):
            array[...] = math.nan
        parts["rates"][0, :, :2] = halves["rates"][:, :2] = math.nan
    if status is Status.TOO_SHORT:
        for array in (halved, overall_half, *halves.values()):
            array[array != 0] = math.nan

    cells = estimates(values.ravel(), halved.ravel())
    step = values.shape[2]
    summaries = [Summary(*cells[at : at + step]) for at in range(0, len(cells), step)]
    averages = estimates(parts["rates"][0].ravel(), halves["rates"].ravel())
    many, few = len(METRICS), rates.shape[2]
    classes = [
        ClassResult(
            name,
            need,
            round(count),
            *summaries[many * i : many * (i + 1)],
            *averages[few * i : few * (i + 1)],
        )
        for i, (name, need, count) in enumerate(
            zip((*system.names, "all"), (*system.needs, 0), jobs.tolist(), strict=True)
        )
    ]
    phases = zip(
        PHASES,
        map(round, counts[0].tolist()),
        estimates(parts["phases"][0], halves["phases"]),
        estimates(parts["phase_stds"][0], halves["phase_stds"]),
        strict=False,  # MSFQ alone has phases
    )
    return Measured(
        tuple(classes[:-1]),
        classes[-1],
        *estimates(overall, overall_half),
        tuple(PhaseResult(*each) for each in phases) if status is not Status.UNSTABLE else (),
    )
