"""From the batches of a run to the quantities of a result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from quickswap.engine.columns import METRICS, Columns
from quickswap.model.system import System
from quickswap.model.variability import bursty, dispersion, heavy, scatter
from quickswap.statistics.estimates import (
    CONFIDENCE,
    QUANTILES,
    ROUNDING,
    Batches,
    Estimate,
    Floats,
    jackknife,
)
from quickswap.statistics.quantities import (
    PHASES,
    SUMMARIES,
    ClassResult,
    PhaseResult,
    Summary,
    batch_values,
)

__all__ = ["Measured", "busy", "half_width_of", "measure"]

CUBES = 0.3
"""Relative half-width of the third moment of the sizes that arrive, beyond which a run has not seen
the rare sizes that the standard deviation of the waiting time comes from."""
NOTHING = Estimate(math.nan, math.nan)
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

    def without_intervals(self) -> Measured:
        """Return the same values; only those that are exact keep their half-width of 0."""
        bare: Measured = _without_intervals(self)
        return bare


def measure(system: System, batches: Batches, stable: bool, rarest: float) -> Measured:
    """Return all quantities; those that an unstable system does not have are nan.

    Args:
        system: that was simulated.
        batches: of the run.
        stable: whether it is not unstable.
        rarest: probability of the farthest tail whose percentile has an interval.
    """
    sums, sizes = batches.whole_and_less(), batches.sizes
    classes = _classes(system, batches, sums, stable, rarest)
    servers = system.servers * sums.of_system("duration")
    with np.errstate(invalid="ignore"):  # nothing is left without the only batch
        shares = np.stack([busy(sums, system.needs), sums.of_system("wasted")], axis=1)
        shares /= servers[:, None]
    utilisation, waste = jackknife(shares, sizes)
    if bursty(system) or not math.isfinite(dispersion(system)):
        utilisation, waste = (Estimate(each.value, math.nan) for each in (utilisation, waste))
    response = sums.of_classes("completions", "response_time")
    weighted = jackknife(
        batch_values("weighted_mean_response_time", response, system), sizes, reciprocal=True
    )[0]
    jain = _jain(batch_values("jain_index", response, system)[:, 0], sizes)
    if heavy(system):
        weighted = Estimate(weighted.value, math.nan)
        jain = Estimate(jain.value, math.nan) if jain.half_width else jain  # else it is exact
    return Measured(
        classes=tuple(classes[:-1]),
        overall=classes[-1],
        weighted_mean_response_time=weighted if stable else NOTHING,
        jain_index=jain if stable else NOTHING,
        utilisation=utilisation,
        wasted_capacity=waste,
        phases=_phases(sums, sizes) if stable else (),
    )


def busy(sums: Columns, needs: Sequence[int]) -> Floats:
    """Return servers in use times seconds: (1 + batches)."""
    in_service = sums.of_classes("area_in_system") - sums.of_classes("area_waiting")
    area: Floats = (in_service * np.array(needs)).sum(axis=1)
    return area


def _jain(values: Floats, sizes: Sequence[int]) -> Estimate:
    """Return Jain's index with an interval that comes from that of log(1 - index).

    1 - index is a square of differences between classes: it cannot be below 0, and where the
    differences may be 0 nothing is known but that.
    """
    index = float(values[0])
    with np.errstate(invalid="ignore", divide="ignore"):
        half = jackknife(np.log(1 - values)[:, None], sizes)[0].half_width
    if index > 1 - ROUNDING:  # one class, or classes that are alike
        return Estimate(1.0, 0.0)
    return Estimate(index, (1 - index) * math.expm1(half) if half < 1 else math.nan)


def _classes(
    system: System,
    batches: Batches,
    sums: Columns,
    stable: bool,
    rarest: float,
) -> list[ClassResult]:
    """Return the results of all classes, and last that of all jobs together."""

    def columns(*names: str) -> Floats:
        each = sums.of_classes(*names)
        return np.concatenate([each, each.sum(axis=1, keepdims=True)], axis=1)

    completions = columns("completions")
    jobs = completions[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = columns("area_in_system", "area_waiting", "completions")
        rates /= sums.of_system("duration")[:, None, None]
        means = columns(*METRICS) / completions[..., None]
        squares = columns(*(f"{each}_squared" for each in METRICS)) / completions[..., None]
        stds = np.sqrt(np.maximum(squares - means**2, 0))
    present, waiting, _ = _grid(rates, batches.sizes).T
    throughput = jackknife(rates[..., 2], batches.sizes)
    moments = _grid(np.stack([means, stds], axis=-1), batches.sizes)
    if half_width_of(scatter(system, 3), batches) > CUBES:
        moments[..., 1] = _without_interval(moments[..., 1])
    if heavy(system):
        moments, present, waiting = map(_without_interval, (moments, present, waiting))
    if bursty(system):
        present, waiting = map(_without_interval, (present, waiting))
        throughput = [Estimate(each.value, math.nan) for each in throughput]
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
            percentiles = [_percentile(each, level, jobs[i], rarest) for each, level in levels]
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
    flat = jackknife(values.reshape(len(values), -1), sizes, reciprocal=True)
    grid = np.empty(len(flat), dtype=object)
    grid[:] = flat
    return grid.reshape(values.shape[1:])


def _widened(estimates: Any, by: Floats) -> Any:
    """Return an array of estimates with their intervals wider."""
    for place, each in np.ndenumerate(estimates):
        estimates[place] = Estimate(each.value, each.half_width + float(by[place]))
    return estimates


def _percentile(estimate: Estimate, level: float, jobs: float, rarest: float) -> Estimate:
    """Return a percentile: no value without a job above it, no interval with too little there."""
    above = jobs * (1 - level)
    if above < 1:
        return NOTHING
    seen = above >= ENOUGH and 1 - level >= rarest
    return estimate if seen else Estimate(estimate.value, math.nan)


def _without_intervals(found: Any) -> Any:
    if isinstance(found, Estimate):
        return found if found.half_width == 0 else Estimate(found.value, math.nan)
    if isinstance(found, tuple):
        return tuple(map(_without_intervals, found))
    if not is_dataclass(found):
        return found
    parts = {each.name: _without_intervals(getattr(found, each.name)) for each in fields(found)}
    kind: Any = type(found)
    return kind(**parts)


def _without_interval(estimates: Any) -> Any:
    """Return an array of estimates without their intervals."""
    bare = np.empty_like(estimates)
    bare.flat = [Estimate(each.value, math.nan) for each in estimates.flat]
    return bare


def half_width_of(variance: float, batches: Batches) -> float:
    """Return the half-width of a sum over the time of a run, from its variance in a second."""
    seconds = float(batches.whole_and_less().of_system("duration")[0])
    return float(ndtri((1 + CONFIDENCE) / 2)) * math.sqrt(variance / seconds)


def _phases(sums: Columns, sizes: list[int]) -> tuple[PhaseResult, ...]:
    """Return the durations of the phases, if the policy has any."""
    results = []
    rows = sums.of_phases().transpose(1, 2, 0)
    for name, (count, total, square) in zip(PHASES, rows, strict=False):  # MSFQ alone has phases
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / count
            std = np.sqrt(np.maximum(square / count - mean**2, 0))
        estimates = jackknife(np.stack([mean, std], axis=1), sizes, reciprocal=True)
        results.append(PhaseResult(name, round(float(count[0])), *estimates))
    return tuple(results)
