"""`quickswap simulate MODEL --policy P`: one policy on one model."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from quickswap.cli.options import (
    Debug,
    Model,
    Output,
    Quantities,
    Scale,
    SettingOptions,
    Threads,
    check_writable,
    chosen,
)
from quickswap.cli.running import progress, until_interrupted

if TYPE_CHECKING:
    from quickswap.simulation.result import Result
    from quickswap.statistics.quantities import ClassResult

__all__ = ["simulate"]

POINTS = 2000
"""Points of a trajectory at most."""


def simulate(
    model: Model,
    /,
    *,
    policy: str = "adaptive-quickswap",
    scale: Scale | None = None,
    settings: SettingOptions | None = None,
    threads: Threads = None,
    debug: Debug = False,
    json: Output = None,
    csv: Quantities = None,
    trajectory: Output = None,
) -> None:
    """Simulate one policy on a model; print means and percentiles with intervals.

    Parameters
    ----------
    policy
        A policy, with parameters as in msfq:threshold=31,drain=always.
    json
        Write the whole result to this file (- for standard output), from which it can be rerun.
    trajectory
        Write the number in system per class against time to this CSV file (- for standard output).
    """
    from quickswap.cli.output import emit, writing_files
    from quickswap.simulation.simulate import simulate as run

    check_writable(json, csv, trajectory, sources=[model])
    system = chosen(model, scale)
    how = vars(settings or SettingOptions()) | {"threads": threads, "debug": debug}
    how["trajectory"] = 0 if trajectory is None else POINTS
    with progress("simulating") as report:
        result, interruption = until_interrupted(
            lambda: run(system, policy, progress=report, **how)
        )
    with writing_files(interruption) as attempt:
        attempt(lambda: emit(json, result.to_json))
        attempt(lambda: emit(csv, lambda: result.to_frame().write_csv()))
        attempt(lambda: emit(trajectory, lambda: _trajectory(result)))
        if "-" not in map(str, (json, csv, trajectory)):
            _print(result)  # after the files, which must be written even if the pipe is closed


def _print(result: Result) -> None:
    from quickswap._words import counted, load_words
    from quickswap.cli.output import explain_unknown, half_width, print_table
    from quickswap.statistics.quantities import OF_LOGS, OVERALL

    system = result.system
    print(
        f"{result.policy_label} on {counted(system.servers, 'server')}, "
        f"{counted(system.arrival_rate, 'job', '.6g')} per second, load {load_words(system.load)}: "
        f"{result.verdict.status}"
    )
    print(f"({result.verdict.reason})\n")
    columns = ["class", "need", "jobs", "mean response", "P50", "P90", "P99", "P99.9"]
    columns += [f"P{level:.10g}" for level in result.inputs.more_percentiles]
    columns += ["mean wait", "P99 slowdown", "in system"]
    rows = [_row(each) for each in (*result.classes, result.overall)]
    print_table(columns, rows)
    words = {name: each.label.removesuffix(" [s]") for name, each in OVERALL.items()}
    shown = [(word, getattr(result, name)) for name, word in words.items()]
    bound = ("lower bound of the weighted mean", f"{result.lower_bound:.6g} (exact)")
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
    print("\n" + "\n".join(lines))
    if gains := result.gains.values():
        times = " and ".join(f"{gain:.0f}" if gain > 10 else f"{gain:.1f}" for gain in gains)
        print(
            "control variates: without them the mean and the weighted mean response time would "
            f"need about {times} times as many jobs"
        )
    for note in result.notes:
        print(f"note: {note}")
    rate = result.events / result.seconds / 1e6
    jobs = counted(result.completed, "job", ",")
    print(f"\n{jobs} in {result.seconds:.2f} s ({rate:.3g} million events/s)")
    print(f"{result.stop.explanation}; times in seconds, {half_width([result])}")
    explain_unknown(chain(lines, *rows))


def _row(each: ClassResult) -> list[str]:
    response, slowdown = each.response_time, each.slowdown
    estimates = (
        *(response.mean, response.p50, response.p90, response.p99, response.p999),
        *response.percentiles.values(),
        *(each.waiting_time.mean, slowdown.p99, each.number_in_system),
    )
    return [each.name, str(each.need or ""), f"{each.jobs:,}", *map(str, estimates)]


def _trajectory(result: Result) -> str:
    """Return the trajectory as CSV: seconds, then the number in system of each class."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", *result.system.names])
    if result.trajectory is not None:
        rows = zip(result.trajectory.times, result.trajectory.counts, strict=True)
        writer.writerows([time, *counts] for time, counts in rows)
    return text.getvalue()
