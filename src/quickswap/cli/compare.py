"""`quickswap compare MODEL`: several policies at several loads."""

from __future__ import annotations

from typing import Any

from quickswap._progress import jobs_bar
from quickswap.cli.options import (
    Debug,
    File,
    Model,
    Numbers,
    Output,
    Quantities,
    Scale,
    SettingOptions,
    Threads,
    Words,
    check_writable,
    chosen,
)
from quickswap.cli.running import until_interrupted

__all__ = ["compare"]

JOBS = 15_000_000
"""Default completions of each run: five loads and five policies take less than a minute."""


def compare(
    model: Model,
    /,
    *,
    policies: Words | None = None,
    loads: Numbers | None = None,
    rates: Numbers | None = None,
    scale: Scale | None = None,
    settings: SettingOptions | None = None,
    threads: Threads = None,
    debug: Debug = False,
    plot: File = None,
    csv: Quantities = None,
    json: Output = None,
    parquet: File = None,
) -> None:
    """Compare policies on a model; print a table with intervals, the best marked.

    Parameters
    ----------
    policies
        Policies, separated by spaces or semicolons, in quotes: "msf smash:window=10". By default
        MSF, First-Fit, Static Quickswap, and Adaptive Quickswap with and without backfilling.
    loads
        Loads, separated by commas; by default 0.5,0.6,0.7,0.8,0.9.
    rates
        Total arrivals per second, separated by commas, instead of loads.
    plot
        Draw the mean response times against the load into this file (svg, pdf or png).
    json
        Write the whole comparison to this file (- for standard output).
    parquet
        Write all quantities to this file.
    """
    from quickswap.cli.output import emit, print_page, writing_files
    from quickswap.display.simulations import comparison_page
    from quickswap.files import write_with
    from quickswap.plotting import check_format, plot_comparison
    from quickswap.simulation.comparison import DEFAULT_POLICIES
    from quickswap.simulation.comparison import compare as run

    check_writable(plot, csv, json, parquet, sources=[model])
    if plot is not None:
        check_format(plot)
    system = chosen(model, scale)
    how = vars(settings or SettingOptions()) | {"threads": threads, "debug": debug}
    if how["jobs"] is None and how["precision"] is None:
        how["jobs"] = JOBS
    how |= _points(model, scale, loads, rates)
    with jobs_bar("comparing") as report:
        comparison, interruption = until_interrupted(
            lambda: run(system, policies or DEFAULT_POLICIES, progress=report, **how)
        )
    with writing_files(interruption) as attempt:
        attempt(lambda: emit(csv, lambda: comparison.to_frame().write_csv()))
        attempt(lambda: emit(json, comparison.to_json))
        if parquet is not None:
            attempt(lambda: write_with(parquet, comparison.to_frame().write_parquet))
        if plot is not None:
            attempt(lambda: plot_comparison(comparison, plot))
        if "-" not in {str(csv), str(json)}:
            # after the files, which must be written even if printing fails
            print_page(comparison_page(comparison))
            if interruption is not None:
                print("interrupted: the last row is incomplete")


def _points(
    model: str, scale: Scale | None, loads: Numbers | None, rates: Numbers | None
) -> dict[str, Any]:
    """Return the points as arguments of `quickswap.compare`.

    A load or a rate in the name of the model, as in one-or-all:load=0.5, is the only point.
    """
    from quickswap.errors import QuickswapError
    from quickswap.simulation.comparison import LOADS

    single = scale is not None and (scale.rate is not None or scale.load is not None)
    if sum((single, loads is not None, rates is not None)) > 1:
        raise QuickswapError("give one of --loads, --rates, --load and --rate.")
    named = {option.split("=")[0].strip() for option in model.partition(":")[2].split(",")}
    if loads is rates is None and not single and not named & {"load", "rate"}:
        loads = LOADS
    return {"loads": loads, "rates": rates}
