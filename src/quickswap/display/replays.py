"""Replays as text and a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from quickswap._tables import Page, TextTable
from quickswap._words import counted, load_words
from quickswap.display.simulations import mark
from quickswap.replays.backlog import ReplayVerdict
from quickswap.replays.logged_waits import LoggedWaits
from quickswap.replays.result import AS_LOGGED
from quickswap.report.causes import REMEDY, idle_sentence, unexplained_sentence
from quickswap.report.data import further_levels
from quickswap.report.text import common_unit

if TYPE_CHECKING:
    from quickswap.replays.result import ReplayComparison, ReplayResult
    from quickswap.report.text import Unit

__all__ = ["replay_page"]


def replay_page(comparison: ReplayComparison) -> Page:
    """Return the quality of the log, and a line for each policy at each load, the best marked."""
    first, waits = comparison.results[0], LoggedWaits.of(comparison)
    pieces, piece = first.resampled
    unit = common_unit(comparison)
    level = f"{100 * first.inputs.confidence:.6g} %"
    width = f"± is the {level} half-width over {counted(pieces, piece)} of the log"
    columns = ["load", "policy", "", "mean wait", "P90 wait", "P99 wait"]
    columns += [*(f"P{level:.10g} wait" for level in further_levels(first)), "longest"]
    columns += ["mean response", "weighted mean", "bounded slowdown", "utilisation", "verdict"]
    rows = []
    for point, results in enumerate(comparison.points):
        best = comparison.best(point)
        rows += [_row(each, best, unit) for each in results]
        rows.append([""] * len(columns))
    warning = []
    if waits is not None and waits.unexplained:
        warning = [unexplained_sentence(waits, unit), REMEDY, ""]
    return [
        *warning,
        *_of_log(comparison),
        f"times in {unit.word}; {width if pieces > 1 else 'the log is too short for intervals'}",
        "",
        TextTable(columns, rows[:-1], text=3),
        *_of_pools(comparison, columns, unit),
        *_of_preemptible(comparison, unit),
        "",
        *([] if waits is None else [idle_sentence(waits)]),
        *_notes(comparison, rows, unit),
    ]


def _of_pools(
    comparison: ReplayComparison, columns: list[str], unit: Unit
) -> Iterator[str | TextTable]:
    """Yield the table of each pool."""
    first = comparison.results[0]
    for pool in first.pools:
        parts = [each.pools[pool] for each in comparison.results if pool in each.pools]
        title = f"pool {pool}, {counted(first.log.pools[pool], 'server', ',')}:"
        yield ""
        yield TextTable(columns, [_row(each, (), unit) for each in parts], text=3, title=title)


def _of_preemptible(comparison: ReplayComparison, unit: Unit) -> Iterator[str | TextTable]:
    """Yield the table of the preemptible jobs and the others."""
    columns = ["load", "policy", "jobs", "measured", "mean wait", "P90 wait", "mean response"]
    columns += ["bounded slowdown", "preemptions", "lost work"]
    rows = []
    for each in comparison.results:
        if each.preemption is None:
            continue
        for group in (each.preemption.preemptible, each.preemption.others):
            waiting, response = group.waiting_time, group.response_time.mean
            times = [str(unit.convert(time)) for time in (waiting.mean, waiting.p90, response)]
            cells = [load_words(each.load), each.policy_label, group.name, f"{group.jobs:,}"]
            rows.append([*cells, *times, str(group.bounded_slowdown.mean), "", ""])
        rows[-2][-2:] = [f"{each.preemption.count:,}", f"{100 * each.preemption.lost_share:.3g} %"]
    if rows:
        yield ""
        yield TextTable(columns, rows, text=3, title="preemptible jobs and others:")
        yield "lost work: of runs that were stopped, as a share of the work of the preemptible jobs"


def _of_log(comparison: ReplayComparison) -> Iterator[str]:
    """Yield what is replayed of the log."""
    first = comparison.results[0]
    quality = first.log.report
    servers = counted(first.schedule.servers, "server", ",")
    yield (
        f"{quality.kept:,} of {counted(quality.rows, 'row', ',')} kept, on {servers}; "
        f"{counted(first.jobs, 'job', ',')} measured"
    )
    for finding in quality.findings:
        yield f"  {finding.kind}: {finding.count:,} {finding.text}"
    for fact in quality.facts:
        yield f"  {fact}"
    too_large = max(each.too_large for each in comparison.results)
    if too_large:
        yield f"  dropped: {counted(too_large, 'job', ',')} that need more than {servers}"
    ended = max(each.ended_at_limit for each in comparison.results)
    if ended:
        jobs = counted(ended, "job", ",")
        yield f"  {jobs} ended at their time limit, and ran longer in the log"
    if first.inputs.estimate == "predicted":
        predicted = [each.predicted for each in comparison.results if each.policy is not None]
        jobs = counted(len(first.schedule.rows), "job", ",")
        yield f"  estimates: {min(predicted):,} of {jobs} predicted, the others as logged"


def _notes(comparison: ReplayComparison, rows: list[list[str]], unit: Unit) -> Iterator[str]:
    """Yield the lines below the table."""
    yield _window(comparison.results[0])
    yield "best: smallest mean bounded slowdown; tied: not significantly different"
    yield f"lower bound: {_lower_bound(comparison, unit)}"
    if any("± ?" in cell for cell in chain(*rows)):
        yield "± ?: the log is too short, or the jobs too few, to estimate the half-width"
    shown = {row[-1] for row in rows}
    for verdict in ReplayVerdict:
        if verdict.lagging and verdict in shown:
            yield f"{verdict}: {verdict.explanation}"
    yield f"{counted(len(comparison.results), 'replay')} in {comparison.seconds:.1f} s"


def _window(first: ReplayResult) -> str:
    """Return the explanation of the difference between utilisation and load."""
    head, tail = first.inputs.warmup, first.inputs.cooldown
    if head == tail == 0:
        return "utilisation: from the first submission to the last; the load includes later work"
    return (
        f"utilisation: without the first {100 * head:g} % and last {100 * tail:g} % of the time, "
        "which the load includes"
    )


def _lower_bound(comparison: ReplayComparison, unit: Unit) -> str:
    """Return the lower bound at each load as a sentence."""
    bounds = []
    for *_, last in comparison.points:  # the logged waits, which are first, may be of fewer jobs
        several = len(comparison.points) > 1 and not math.isnan(last.load)
        load = f" at load {load_words(last.load)}" if several else ""
        bounds.append(f"{unit.plain(last.lower_bound, down=True)} {unit.word}{load}")
    return "no scheduler could bring the mean response time of these jobs below " + ", ".join(
        bounds
    )


def _row(each: ReplayResult, best: tuple[str, ...], unit: Unit) -> list[str]:
    overall = each.overall
    waiting = overall.waiting_time
    further = map(waiting.percentile, further_levels(each))
    times = (waiting.mean, waiting.p90, waiting.p99, *further)
    cells = [str(unit.convert(time)) for time in times]
    cells.append(unit.plain(each.longest_wait))
    means = (overall.response_time.mean, each.weighted_mean_response_time)
    cells += [str(unit.convert(time)) for time in means]
    rest = (overall.bounded_slowdown.mean, each.utilisation)
    label = each.policy_label
    load = "-" if math.isnan(each.load) else load_words(each.load)
    verdict = "" if label == AS_LOGGED else each.verdict  # not a schedule of this machine
    return [load, label, mark(label, best), *cells, *map(str, rest), verdict]
