"""The quantities of a schedule, with confidence intervals over the weeks of the log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from quickswap.engine._core import bin_counts
from quickswap.logs.grouping import group_name
from quickswap.replays.schedule import Floats, History, Ints, Schedule, distinct
from quickswap.statistics.bootstrap import Pieces
from quickswap.statistics.estimates import QUANTILES, Estimate
from quickswap.statistics.quantities import (
    OF_LOGS,
    RATES,
    SUMMARIES,
    Areas,
    ClassResult,
    Quantities,
    Responses,
    Summary,
)

__all__ = ["MomentTable", "area", "measure", "tabulate", "waiting_work"]

MOMENTS = 3
"""Number of jobs, sum, and sum of squares of a metric."""
LEVELS = np.unique(np.concatenate([np.linspace(0, 1, 201), 1 - np.geomspace(1e-5, 0.1, 60)]))
"""Levels of the quantiles at the edges of the bins of the draws; dense in the tail."""
SAMPLE = 50_000
"""Number of values from which the edges of the bins are computed."""
ENOUGH = 10
"""Number of jobs beyond a percentile that its interval requires."""


@dataclass(frozen=True)
class MomentTable:
    """The moments of each metric by piece of time and group, and their bootstrap draws."""

    pieces: Pieces
    moments: Floats  # (pieces, groups, metrics, MOMENTS)
    weighted: Floats | None = None  # weighted mean response time, whole and draws: (1 + draws,)

    def means(self, metric: str, group: int | None) -> Floats:
        """Return the mean of a metric in the whole log and in each draw: (1 + draws,)."""
        at = SUMMARIES.index(metric)
        part = self.moments[:, :, at] if group is None else self.moments[:, [group], at]
        sums = self.pieces.sums(part.sum(axis=1))
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Floats = sums[:, 1] / sums[:, 0]
        return means

    def difference(self, other: MomentTable, metric: str, group: int | None) -> Estimate:
        """Return this mean minus that of another table with the same pieces and groups."""
        gap = self.means(metric, group) - other.means(metric, group)
        return self.pieces.estimates(gap[:, None])[0]

    def weighted_difference(self, other: MomentTable) -> Estimate | None:
        """Return the difference of weighted mean response times; None if they are not paired."""
        if self.weighted is None or other.weighted is None or not self.pieces.same(other.pieces):
            return None
        return self.pieces.estimates((self.weighted - other.weighted)[:, None])[0]


def measure(
    schedule: Schedule,
    histories: Sequence[History | None],
    pieces: Pieces,
    groups: Sequence[tuple[int, int]],
    label: str,
    slowdown_bound: float,
    percentiles: Sequence[float] = (),
) -> tuple[Quantities, MomentTable]:
    """Return the quantities of the jobs submitted within the pieces, and their table.

    Args:
        schedule: the schedule.
        histories: those of its pools; None if it is preemptive, so utilisation and wasted capacity
            are nan.
        pieces: the weeks, days or hours that are resampled.
        groups: smallest and largest need of each class.
        label: label of the policy.
        slowdown_bound: smallest size in the bounded slowdown, seconds.
        percentiles: that are computed besides `QUANTILES`.
    """
    jobs = np.flatnonzero(pieces.inside(schedule.arrival))
    group = np.searchsorted([low for low, _ in groups], schedule.need, side="right") - 1
    cell = pieces.index(schedule.arrival[jobs]) * len(groups) + group[jobs]
    by_group = np.argsort(group[jobs].astype(np.uint16), kind="stable")  # fast for 16 bits
    metrics = _metrics(schedule, jobs, slowdown_bound)
    table = MomentTable(pieces, _moments(metrics, cell, (len(pieces), len(groups))))
    with ThreadPoolExecutor(max_workers=2) as pool:  # NumPy releases the GIL
        found = pool.map(
            partial(_summaries, cell, by_group, table, percentiles), metrics, range(len(metrics))
        )
        summaries = dict(zip(SUMMARIES, found, strict=True))
    rates = _rates(schedule, group, len(groups), pieces)
    names = [*((group_name(each), each[1]) for each in groups), ("all", 0)]
    counts = np.bincount(group[jobs], minlength=len(groups))
    results = []
    for i, (name, servers) in enumerate(names):
        number = int(counts[i]) if i < len(groups) else len(jobs)
        estimated: dict[str, Any] = {metric: each[i] for metric, each in summaries.items()}
        estimated.update(rates[i])
        results.append(ClassResult(name, servers, number, **estimated))
    responses, areas = _responses(schedule, jobs, pieces), _areas(schedule, histories, pieces)
    drawn = {name: each.values(responses, areas) for name, each in OF_LOGS.items()}
    quantities = Quantities(
        policy_label=label,
        classes=tuple(results[:-1]),
        overall=results[-1],
        **dict(zip(drawn, pieces.estimates(np.stack([*drawn.values()], axis=1)), strict=True)),
    )
    table = replace(table, weighted=drawn["weighted_mean_response_time"])
    return quantities, table


def tabulate(
    schedule: Schedule,
    pieces: Pieces,
    group: Ints,
    groups: int,
    slowdown_bound: float,
) -> MomentTable:
    """Return the table for any grouping; `group` is the group of each job, below `groups`."""
    jobs = np.flatnonzero(pieces.inside(schedule.arrival))
    cell = pieces.index(schedule.arrival[jobs]) * groups + group[jobs]
    metrics = _metrics(schedule, jobs, slowdown_bound)
    return MomentTable(pieces, _moments(metrics, cell, (len(pieces), groups)))


def _metrics(schedule: Schedule, jobs: Ints, bound: float) -> list[Floats]:
    """Return the metrics of some jobs, in the order of `SUMMARIES`."""
    metrics = (
        schedule.response,
        schedule.wait,
        schedule.slowdown,
        schedule.bounded_slowdown(bound),
    )
    return [values[jobs] for values in metrics]


def _moments(metrics: Sequence[Floats], cell: Ints, shape: tuple[int, int]) -> Floats:
    cells = shape[0] * shape[1]
    count = np.bincount(cell, minlength=cells)
    out = np.empty((cells, len(metrics), MOMENTS))
    for at, values in enumerate(metrics):
        out[:, at, 0] = count
        out[:, at, 1] = np.bincount(cell, values, cells)
        out[:, at, 2] = np.bincount(cell, values * values, cells)
    return out.reshape(*shape, len(metrics), MOMENTS)


def _summaries(
    cell: Ints,
    by_group: Ints,
    table: MomentTable,
    more: Sequence[float],
    values: Floats,
    metric: int,
) -> list[Summary]:
    """Return the summary of a metric for each group, then for all jobs.

    `by_group`: the jobs in the order of their groups.
    """
    pieces, groups = table.pieces, table.moments.shape[1]
    moments = table.moments[:, :, metric]
    moments = np.concatenate([moments, moments.sum(axis=1, keepdims=True)], axis=1)
    sums = pieces.sums(moments)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums[..., 1] / sums[..., 0]
        stds = np.sqrt(np.maximum(sums[..., 2] / sums[..., 0] - means**2, 0))
    mean, std = pieces.estimates(means), pieces.estimates(stds)
    levels = np.array([*QUANTILES, *(each / 100 for each in more)])
    ordered, ends = values[by_group], sums[0, :-1, 0].astype(int).cumsum()
    exact = [_quantiles(each, levels) for each in (*np.split(ordered, ends[:-1]), ordered)]
    widths = _quantile_widths(values, cell, pieces, groups, levels)
    out = []
    for g, found in enumerate(exact):
        jobs = sums[0, g, 0]
        known: list[Any] = [
            _percentile(Estimate(float(v), float(w)), level, jobs)
            for v, w, level in zip(found, widths[g], levels.tolist(), strict=True)
        ]
        p50, p90, p99, p999, *others = known
        percentiles = dict(zip(more, others, strict=True))
        out.append(Summary(mean[g], std[g], p50, p90, p99, p999, percentiles))
    return out


def _quantiles(values: Floats, levels: Floats) -> Floats:
    """Return quantiles of values, which are sorted in place; nan without values."""
    values.sort()  # faster than the partition by several levels at once
    return np.quantile(values, levels) if len(values) else np.full(len(levels), math.nan)


def _percentile(estimate: Estimate, level: float, jobs: float) -> Estimate:
    beyond = jobs * min(level, 1 - level)
    if beyond < 1:
        return Estimate(math.nan, math.nan)
    return estimate if beyond >= ENOUGH else Estimate(estimate.value, math.nan)


def _quantile_widths(
    values: Floats, cell: Ints, pieces: Pieces, groups: int, levels: Floats
) -> Floats:
    """Return half-widths of the quantiles: (groups + 1, levels), all jobs last.

    Draws are counted in bins whose edges are quantiles of all values, and interpolated linearly.
    """
    finite = values[np.isfinite(values)]
    if not len(finite) or len(pieces) < 2:
        return np.full((groups + 1, len(levels)), math.nan)
    sample = finite[:: -(-len(finite) // SAMPLE)]  # edges affect the resolution only
    edges = np.unique(np.append(np.quantile(sample, LEVELS), finite.max()))
    counts = bin_counts(values, cell, len(pieces) * groups, edges)
    table = counts.reshape(len(pieces), groups, -1)
    table = np.concatenate([table, table.sum(axis=1, keepdims=True)], axis=1)
    drawn = np.cumsum(pieces.sums(table), axis=-1)
    total = drawn[..., -1:]
    upper = np.append(edges, np.inf)
    lower = np.concatenate([edges[:1], edges])
    out = np.empty((*drawn.shape[:2], len(levels)))
    for at, level in enumerate(levels):
        target = level * total
        found = np.argmax(drawn >= target, axis=-1)[..., None]
        upto = np.take_along_axis(drawn, found, -1)
        before = np.where(found > 0, np.take_along_axis(drawn, np.maximum(found - 1, 0), -1), 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (target - before) / (upto - before)
            value = lower[found] + share * (upper[found] - lower[found])
        out[..., at] = np.where(total > 0, value, math.nan)[..., 0]
    return pieces.half_widths(out)


def area(
    ups: Floats,
    downs: Floats,
    edges: Floats,
    weights: Floats | None = None,
    group: Ints | int = 0,
    groups: int = 1,
) -> Floats:
    """Return the integrals of counts between edges: (pieces, groups).

    Args:
        ups, downs: times at which a count rises and falls, of the same jobs.
        edges: of the pieces.
        weights: by how much; default: by 1.
        group: whose count it is, below `groups`.
    """
    out = np.zeros((len(edges), groups))
    for times, sign in ((ups, 1.0), (downs, -1.0)):
        cell = np.searchsorted(edges, times, side="right") * groups + group
        moments = times if weights is None else weights * times
        number, moment = (
            np.bincount(cell, each, (len(edges) + 1) * groups).reshape(-1, groups)[:-1].cumsum(0)
            for each in (weights, moments)
        )
        out += sign * (number * edges[:, None] - moment)
    return np.diff(out, axis=0)


def waiting_work(schedule: Schedule, points: int) -> tuple[Floats, Floats]:
    """Return times, in seconds, and the mean waiting work near each of them.

    The work is in seconds that the whole machine needs to serve it. The times reach until the last
    start, as a backlog is served after the last submission.
    """
    edges = np.linspace(0.0, max(float(schedule.start.max()), 1.0), points + 1)
    job, begin, end, size = schedule.waits
    work = schedule.need[job] * size
    waiting = area(begin, end, edges, work)[:, 0] / np.diff(edges)
    return (edges[1:] + edges[:-1]) / 2, np.maximum(waiting, 0) / schedule.servers


def _rates(
    schedule: Schedule, group: Ints, groups: int, pieces: Pieces
) -> list[dict[str, Estimate]]:
    """Return the time averages of each group, then of all jobs."""
    edges, (job, begin, start, _) = pieces.edges, schedule.waits
    completed = np.flatnonzero(schedule.end <= edges[-1])
    cell = np.searchsorted(edges[:-1], schedule.end[completed], side="right") * groups
    completions = np.bincount(cell + group[completed], minlength=(len(pieces) + 1) * groups)
    columns = {
        "area_in_system": area(schedule.arrival, schedule.end, edges, group=group, groups=groups),
        # a preemptive schedule does not contain the times at which a job waits
        "area_waiting": np.full((len(pieces), groups), math.nan)
        if schedule.preemptive
        else area(begin, start, edges, group=group[job], groups=groups),
        "completions": completions.reshape(-1, groups)[1:],
    }
    table = np.stack([columns[each.column] for each in RATES.values()], axis=-1)
    table = np.concatenate([table, table.sum(axis=1, keepdims=True)], axis=1)
    out = []
    for row in table.swapaxes(0, 1):
        sums = pieces.sums(np.column_stack([row, np.diff(edges)]))
        out.append(dict(zip(RATES, pieces.estimates(sums[:, :-1] / sums[:, -1:]), strict=True)))
    return out


def _responses(schedule: Schedule, jobs: Ints, pieces: Pieces) -> Responses:
    """Return the response times with each need as a class, of the whole log, then of each draw."""
    needs, need = distinct(schedule.need[jobs])
    size, response = schedule.size[jobs], schedule.response[jobs]
    work = np.bincount(need, size) * needs
    cell = pieces.index(schedule.arrival[jobs]) * len(needs) + need
    cells = len(pieces) * len(needs)
    tables = (np.bincount(cell, minlength=cells), np.bincount(cell, response, cells))
    count, total = (pieces.sums(t.reshape(len(pieces), -1).astype(float)) for t in tables)
    share = np.where(count > 0, work, 0.0)
    with np.errstate(invalid="ignore"):
        weights = share / share.sum(axis=1, keepdims=True)
    return Responses(np.stack([count, total], axis=2), weights, count > 0)


def _areas(schedule: Schedule, histories: Sequence[History | None], pieces: Pieces) -> Areas:
    """Return the servers summed over time, of the whole log, then of each draw."""
    capacity = schedule.servers * np.diff(pieces.edges)
    busy, wasted = np.zeros((2, len(pieces)))
    for history in histories:
        if history is None:
            busy = wasted = np.full(len(pieces), math.nan)
            break
        idle = np.where(history.waiting > 0, history.servers - history.busy, 0)
        busy, wasted = (
            busy + _integral(history, history.busy, pieces),
            wasted + _integral(history, idle, pieces),
        )
    return Areas(*pieces.sums(np.column_stack([busy, wasted, capacity])).T)


def _integral(history: History, servers: Ints, pieces: Pieces) -> Floats:
    """Return the integral of a number of servers over each piece."""
    upto = np.concatenate([[0.0], np.cumsum(servers[:-1] * np.diff(history.time))])
    return np.diff(np.interp(pieces.edges, history.time, upto))
