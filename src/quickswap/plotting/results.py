"""The charts of a comparison, and of exact means against the threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap.errors import QuickswapError
from quickswap.logs.times import DAY, HOUR
from quickswap.plotting.chart import MISSING, Axis, Chart, Line, Mark, Panel
from quickswap.plotting.drawing import draw
from quickswap.replays.measurement import waiting_work
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.quantities import value_of

if TYPE_CHECKING:
    from quickswap.replays.result import ReplayComparison, ReplayResult
    from quickswap.simulation.comparison import Comparison
    from quickswap.simulation.result import Result
    from quickswap.theory import Optimum

__all__ = [
    "backlog_chart",
    "comparison_chart",
    "plot_comparison",
    "plot_decisions",
    "plot_thresholds",
    "replay_chart",
    "trajectory_chart",
]

POINTS = 400
"""Points of a curve: more than a screen resolves."""
PANELS = (Panel("", "weighted_mean_response_time"), Panel("", "mean_response_time"))


def plot_comparison(comparison: Comparison, path: str | Path) -> None:
    """Draw weighted and plain mean response time against the load, with intervals, on log axes.

    Args:
        comparison: the comparison.
        path: file, whose ending decides the format.
    """
    draw(comparison_chart(comparison, PANELS), [path])


def comparison_chart(comparison: Comparison, panels: tuple[Panel, ...]) -> Chart:
    """Return the chart of quantities against the load, with a line for each policy."""
    marks: dict[str, list[Mark]] = {policy: [] for policy in comparison.policies}
    for each in comparison.results:
        marks[each.policy_label].append(Mark.of(each.system.load, each, panels))
    loads = sorted({each.system.load for each in comparison.results})
    lines = tuple(Line(policy, tuple(found)) for policy, found in marks.items())
    return Chart(Axis.of("load", loads), panels, lines, limit=1.0)


def replay_chart(comparison: ReplayComparison, panel: Panel) -> Chart:
    """Return the chart of a quantity against the load, with a line for each policy."""
    marks: dict[str, list[Mark]] = {}
    for point in comparison.points:
        load = point[-1].load  # the logged waits, which are first, may be of fewer jobs
        for each in point:
            found = value_of(each, panel.quantity, None)
            marks.setdefault(each.policy_label, []).append(Mark(load, (found or MISSING,)))
    loads = sorted(point[-1].load for point in comparison.points)
    lines = tuple(Line(policy, tuple(found)) for policy, found in marks.items())
    return Chart(Axis.of("load", loads), (panel,), lines)


def backlog_chart(result: ReplayResult) -> Chart:
    """Return the chart of the waiting work over time.

    Raises:
        QuickswapError: the policy is preemptive.
    """
    if result.schedule.preemptive:
        raise QuickswapError(
            f"{result.policy_label} is preemptive, so its schedule does not contain the waiting "
            "work over time."
        )
    times, work = waiting_work(result.schedule, POINTS)
    marks = zip(times / DAY, work / HOUR, strict=True)
    line = tuple(Mark(float(day), (Estimate(float(hours), 0.0),)) for day, hours in marks)
    panel = Panel("", "backlog", label="waiting work [hours of the machine]", log=False)
    return Chart(Axis("time [days]"), (panel,), (Line(result.policy_label, line, look="path"),))


def trajectory_chart(result: Result) -> Chart:
    """Return the chart of the number in system of each class against time.

    Raises:
        QuickswapError: the result has no trajectory.
    """
    path = result.trajectory
    if path is None:
        raise QuickswapError(
            "the result has no trajectory",
            argument="trajectory",
            advice="simulate with {trajectory:}1000",
        )
    lines = tuple(
        Line(
            name,
            tuple(
                Mark(time, (Estimate(float(counts[position]), 0.0),))
                for time, counts in zip(path.times, path.counts, strict=True)
            ),
            look="path",
        )
        for position, name in enumerate(result.system.names)
    )
    panel = Panel("", "trajectory", label="number in system", log=False)
    return Chart(Axis("time [s]"), (panel,), lines)


def plot_thresholds(curves: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Draw the mean response time of MSFQ against its threshold; the best one has a mark.

    Args:
        curves: each with the `drain`, the `thresholds` and the `mean` at each of them, seconds.
        path: file, whose ending decides the format.
    """
    lines = tuple(
        Line(
            f"drain {curve['drain'].replace('_', ' ')}",
            tuple(
                Mark(x, (Estimate(value, 0.0),))
                for x, value in zip(curve["thresholds"], curve["mean"], strict=True)
            ),
            look="curve",
            best=min(range(len(curve["mean"])), key=curve["mean"].__getitem__),
        )
        for curve in curves
    )
    means = [value for curve in curves for value in curve["mean"]]
    panel = Panel(
        "",
        "mean_response_time",
        label="mean response time [s], exact",
        log=max(means) > 10 * min(means),
    )
    draw(Chart(Axis("threshold l"), (panel,), lines), [path])


def plot_decisions(optimum: Optimum, path: str | Path) -> None:
    """Draw the best decisions for a system whose jobs of the larger need run alone.

    For some numbers of light jobs in service, a line shows against the number of heavy jobs waiting
    how many light jobs must wait for a free server to be given to one of them.

    Args:
        optimum: the best policy.
        path: file, whose ending decides the format.
    """
    table = optimum.thresholds
    most = int(table.max())
    lines = []
    for served in sorted({0, 1, most // 4, most // 2, most}):
        opens = table[1:, 1:] < served
        lines.append(
            Line(
                f"{served} in service",
                tuple(
                    Mark(heavy, (Estimate(float(column.argmax()) + 1, 0.0),))
                    for heavy, column in enumerate(opens.T, 1)
                    if column.any()
                ),
                look="curve",
            )
        )
    panel = Panel("", "light", label="light jobs waiting from which one starts", log=False)
    draw(Chart(Axis("heavy jobs waiting"), (panel,), tuple(lines)), [path])
