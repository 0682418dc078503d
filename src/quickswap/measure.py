"""From the batches of a run to the quantities of a result."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickswap._core import OVERALL, PER_CLASS
from quickswap.estimates import QUANTILES, Batches, Estimate, by_class, jackknife
from quickswap.result import SUMMARIES, ClassResult, PhaseResult, Summary
from quickswap.system import System

__all__ = ["Measured", "measure", "overall_values"]

Floats = NDArray[np.float64]

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
    sums = batches.whole_and_less()
    table, duration, wasted = _parts(sums, system)
    quantiles = [batches.quantiles(metric) for metric in range(len(SUMMARIES))]
    count = len(system.needs)
    tables = [*(table[:, i] for i in range(count)), table.sum(axis=1)]
    classes = [
        _class(system, each, [q[:, i] for q in quantiles], duration, i, stable)
        for i, each in enumerate(tables)
    ]
    busy = ((table[..., 10] - table[..., 11]) * np.array(system.needs)).sum(axis=1)
    servers = system.servers * duration
    weighted, jain, utilisation, waste = _estimates(
        np.stack(
            [*overall_values(sums, system).T, busy / servers, wasted / servers],
            axis=1,
        )
    )
    if not stable:
        weighted = jain = NOTHING
    return Measured(
        classes=tuple(classes[:count]),
        overall=classes[count],
        weighted_mean_response_time=weighted,
        jain_index=jain,
        utilisation=utilisation,
        wasted_capacity=waste,
        phases=_phases(sums, count) if stable else (),
    )


def overall_values(sums: Floats, system: System) -> Floats:
    """Return weighted mean response time and Jain's index: (1 + batches, 2)."""
    table, _, _ = _parts(sums, system)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = table[..., 2] / table[..., 0]
    weighted = (means * np.array(system.load_shares)).sum(axis=1)
    present = table[0, :, 0] > 0  # Jain's index runs over the classes present
    means = means[:, present]
    with np.errstate(invalid="ignore", divide="ignore"):
        jain = means.sum(axis=1) ** 2 / (means.shape[1] * np.square(means).sum(axis=1))
    return np.stack([weighted, jain], axis=1)


def _parts(sums: Floats, system: System) -> tuple[Floats, Floats, Floats]:
    """Return the numbers per class, the duration, and the capacity wasted (servers x seconds)."""
    table = by_class(sums, len(system.needs))
    rest = sums[:, len(system.needs) * PER_CLASS :]
    return table, rest[:, 0], rest[:, 1]


def _estimates(values: Floats) -> list[Estimate]:
    whole, half = jackknife(values)
    return [Estimate(float(v), float(h)) for v, h in zip(whole, half, strict=True)]


def _class(
    system: System,
    table: Floats,
    quantiles: list[Floats],
    duration: Floats,
    position: int,
    stable: bool,
) -> ClassResult:
    """Return one class (or, at the position behind the last, all together).

    Args:
        table: its numbers, (1 + batches, PER_CLASS).
        quantiles: per metric, (1 + segments, QUANTILES).
        duration: seconds, (1 + batches).
    """
    together = position == len(system.needs)
    jobs = table[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        per_second = np.stack([table[:, 10], table[:, 11], jobs], axis=1) / duration[:, None]
        means = table[:, 2:10:2] / jobs[:, None]
        variances = table[:, 3:10:2] / jobs[:, None] - means**2
    present, waiting, throughput = _estimates(per_second)
    if not stable:
        present = waiting = NOTHING
    summaries = {}
    for metric, name in enumerate(SUMMARIES):
        moments = np.stack([means[:, metric], np.sqrt(np.maximum(variances[:, metric], 0))], axis=1)
        mean, std, *percentiles = (*_estimates(moments), *_estimates(quantiles[metric]))
        laws = system.classes if together else (system.classes[position],)
        if name == "slowdown" and any(math.isinf(law.size.mean_inverse) for law in laws):
            mean = std = NOTHING if jobs[0] == 0 else Estimate(math.inf, 0.0)  # exactly
        known = (mean, std, *percentiles) if stable else (NOTHING,) * (2 + len(QUANTILES))
        summaries[name] = Summary(*known)
    return ClassResult(
        name="all" if together else system.names[position],
        need=0 if together else system.needs[position],
        jobs=round(float(jobs[0])),
        number_in_system=present,
        number_waiting=waiting,
        throughput=throughput,
        **summaries,
    )


def _phases(sums: Floats, classes: int) -> tuple[PhaseResult, ...]:
    """Return the durations of the phases, if the policy has any."""
    numbers = sums[:, classes * PER_CLASS + OVERALL :]
    results = []
    for i in range(numbers.shape[1] // 3):
        count, total, square = numbers[:, 3 * i : 3 * i + 3].T
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / count
            std = np.sqrt(np.maximum(square / count - mean**2, 0))
        estimates = _estimates(np.stack([mean, std], axis=1))
        results.append(PhaseResult(PHASES[i], round(float(count[0])), *estimates))
    return tuple(results)
