"""`quickswap simulate MODEL --policy P`: one policy on one model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quickswap._progress import jobs_bar
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
from quickswap.cli.running import until_interrupted

if TYPE_CHECKING:
    from quickswap.simulation.result import Result

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
    from quickswap.cli.output import emit, print_page, writing_files
    from quickswap.display.simulations import result_page
    from quickswap.simulation.simulate import simulate as run

    check_writable(json, csv, trajectory, sources=[model])
    system = chosen(model, scale)
    how = vars(settings or SettingOptions()) | {"threads": threads, "debug": debug}
    how["trajectory"] = 0 if trajectory is None else POINTS
    with jobs_bar("simulating") as report:
        result, interruption = until_interrupted(
            lambda: run(system, policy, progress=report, **how)
        )
    with writing_files(interruption) as attempt:
        attempt(lambda: emit(json, result.to_json))
        attempt(lambda: emit(csv, lambda: result.to_frame().write_csv()))
        attempt(lambda: emit(trajectory, lambda: _trajectory(result)))
        if "-" not in map(str, (json, csv, trajectory)):
            # after the files, which must be written even if the pipe is closed
            print_page(result_page(result))


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
