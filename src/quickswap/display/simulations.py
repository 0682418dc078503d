"""Results and comparisons as text and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from quickswap._tables import Page, TextTable
from quickswap._words import counted, load_words
from quickswap.display.systems import extremes, where
from quickswap.statistics.quantities import OF_LOGS, OVERALL, value_of
from quickswap.theory import lower_bound

if TYPE_CHECKING:
    from quickswap.model.system import System
    from quickswap.simulation.comparison import Comparison
    from quickswap.simulation.result import Result
    from quickswap.statistics.estimates import Estimate
    from quickswap.statistics.quantities import ClassResult

__all__ = [
    "BEST",
    "comparison_page",
    "half_width",
    "mark",
    "overview",
    "result_page",
    "unknown_intervals",
]

BEST = "best: smallest weighted mean response time; tied: not significantly different"
"""The meaning of the marks of a table."""


def half_width(results: Iterable[Result]) -> str:
    """Return the meaning of the half-widths of results in words."""
    levels = {f"{100 * each.inputs.confidence:.6g} %" for each in results}
    return f"± is the {' or '.join(sorted(levels)) or '95 %'} half-width"


def unknown_intervals(cells: Iterable[str]) -> list[str]:
    """Return an explanation of intervals of unknown width if there are any."""
    if any("± ?" in cell for cell in cells):
        return ["± ?: no reliable interval: the run is too short, or sizes are heavy-tailed"]
    return []


def mark(label: str, best: tuple[str, ...]) -> str:
    """Return "best", "tied" or "" for a policy."""
    if label not in best:
        return ""
    return "best" if label == best[0] else "tied"


def overview(system: System, estimate: Callable[[str, int | None], Estimate | None]) -> list[str]:
    """Return the cells of a policy: its means and their waste, those of two classes, and shares.

    The two classes are the lightest and the heaviest one.
    """
    light, heavy = extremes(system)
    estimates = (
        estimate("weighted_mean_response_time", None),
        estimate("waste", None),
        *(estimate("mean_response_time", cls) for cls in (None, light, heavy)),
        estimate("jain_index", None),
        estimate("utilisation", None),
    )
    return ["-" if each is None or math.isnan(each.value) else str(each) for each in estimates]


def result_page(result: Result) -> Page:
    """Return the estimates of a result by class, and those of the whole system."""
    system = result.system
    columns = ["class", "need", "jobs", "mean response", "P50", "P90", "P99", "P99.9"]
    columns += [f"P{level:.10g}" for level in result.inputs.more_percentiles]
    columns += ["mean wait", "P99 slowdown", "in system"]
    rows = [_row(each) for each in (*result.classes, result.overall)]
    words = {name: each.label.removesuffix(" [s]") for name, each in OVERALL.items()}
    shown = [(word, getattr(result, name)) for name, word in words.items()]
    weak = ", the weighted mean size" if _weak(result) else ""
    bound = ("lower bound of the weighted mean", f"{result.lower_bound:.6g} (exact){weak}")
    shown[len(OF_LOGS) : len(OF_LOGS)] = [
        bound,
        ("waste: weighted mean minus the bound", result.waste),
    ]
    width = max(len(word) for word, _ in shown)
    lines = [
        *(f"{word:<{width}}  {value}" for word, value in shown),
        *(
            f"{f'phase {phase.name}':<{width}}  {phase.mean} (mean of {phase.count:,})"
            for phase in result.phases
            if phase.count
        ),
    ]
    if gains := result.gains.values():
        times = " and ".join(f"{float(f'{gain:.1g}'):g}" for gain in gains)
        lines.append(
            "control variates: without them the mean and the weighted mean response time would "
            f"need roughly {times} times as many jobs (usually within a factor of 3)"
        )
    lines += [f"note: {note}" for note in result.notes]
    return [
        f"{result.policy_label} on {counted(system.servers, 'server')}, "
        f"{counted(system.arrival_rate, 'job', '.6g')} per second, "
        f"load {load_words(system.load)}: {result.verdict.status}",
        f"({result.verdict.reason})",
        "",
        TextTable(columns, rows),
        "",
        *lines,
        "",
        _speed(result),
        f"{result.stop.explanation}; times in seconds, {half_width([result])}",
        *unknown_intervals(chain(lines, *rows)),
    ]


def _speed(result: Result) -> str:
    """Return the jobs simulated, and the run time where it is known."""
    jobs = counted(result.completed, "job", ",")
    if math.isnan(result.seconds):
        return jobs
    rate = result.events / result.seconds / 1e6
    return f"{jobs} in {result.seconds:.2f} s ({rate:.3g} million events/s)"


def _weak(result: Result) -> bool:
    """Whether the bound is below that of nonpreemptive policies that do not use sizes."""
    return result.lower_bound < lower_bound(result.system)


def _waste_meaning(results: Iterable[Result]) -> str:
    """Return the meaning of the waste, with the policies whose bound is weaker."""
    weak = ", ".join(dict.fromkeys(each.policy_label for each in results if _weak(each)))
    note = f"; of {weak}: minus the weighted mean size, a weaker bound" if weak else ""
    return f"waste: weighted mean minus the lower bound on it{note}"


def _row(each: ClassResult) -> list[str]:
    response, slowdown = each.response_time, each.slowdown
    estimates = (
        *(response.mean, response.p50, response.p90, response.p99, response.p999),
        *response.percentiles.values(),
        *(each.waiting_time.mean, slowdown.p99, each.number_in_system),
    )
    return [each.name, str(each.need or ""), f"{each.jobs:,}", *map(str, estimates)]


def comparison_page(comparison: Comparison) -> Page:
    """Return a line for each policy at each rate, the best marked."""
    system = comparison.results[0].system
    light, heavy = (system.names[cls] for cls in extremes(system))
    columns = ["load", "rate", "policy", "", "weighted mean", "waste", "mean"]
    columns += [f"{light} (lightest)", f"{heavy} (heaviest)", "Jain", "utilisation"]
    levels = comparison.results[0].inputs.levels
    columns += [*(f"P{level:.10g}" for level in levels), "verdict"]
    rows = []
    for point, results in enumerate(comparison.points):
        best = comparison.best(point)
        for each in results:
            label, values = each.policy_label, overview(system, partial(value_of, each))
            values += map(str, map(each.overall.response_time.percentile, levels))
            status = each.verdict.status
            rows.append([*where(each.system), label, mark(label, best), *values, status])
        rows.append([""] * len(columns))
    jobs = counted(sum(each.completed for each in comparison.results), "job", ",")
    seconds = comparison.seconds
    return [
        f"response times on {counted(system.servers, 'server')}, seconds, "
        f"{half_width(comparison.results)}",
        "",
        TextTable(columns, rows[:-1], text=4),
        "",
        BEST,
        _waste_meaning(comparison.results),
        *unknown_intervals(chain(*rows)),
        jobs if math.isnan(seconds) else f"{jobs} in {seconds:.1f} s",
    ]
