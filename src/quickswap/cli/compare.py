"""`quickswap compare MODEL`: several policies at several loads."""

from __future__ import annotations

import math
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from quickswap.cli.options import Scale, chosen
from quickswap.cli.run import Output, Settings, check_writable, keywords, progress

if TYPE_CHECKING:
    from quickswap.simulation.comparison import Comparison
    from quickswap.simulation.result import Result

__all__ = ["compare", "mark", "numbers"]

JOBS = 15_000_000
"""Completions of each run by default: five loads and five policies in less than a minute."""


def compare(
    model: str,
    /,
    *,
    policies: str | None = None,
    loads: str | None = None,
    rates: str | None = None,
    scale: Scale | None = None,
    settings: Settings | None = None,
    plot: Path | None = None,
    csv: Output = None,
    json: Output = None,
    parquet: Path | None = None,
) -> None:
    """Compare policies on a model; print a table with 95 % intervals, the best marked.

    Parameters
    ----------
    model
        A preset (one-or-all, four-class, borg-a, borg-b, kth-sp2, nasa-ipsc), with options as in
        one-or-all:k=8,p1=0.5, or a TOML file.
    policies
        Policies, separated by spaces or semicolons, in quotes: "msf smash:window=10". By default
        MSF, First-Fit, Static Quickswap, and Adaptive Quickswap with and without backfilling.
    loads
        Loads, separated by commas; by default 0.5,0.6,0.7,0.8,0.9.
    rates
        Total arrivals per second, separated by commas, instead of loads.
    scale
        Changes to the model; with --rate or --load, compare at that one point.
    settings
        How to simulate; by default 15,000,000 jobs each.
    plot
        Draw the mean response times against the load into this file (svg, pdf or png).
    csv
        Write all quantities to this file, one per line (- for standard output).
    json
        Write the whole comparison to this file (- for standard output).
    parquet
        Write all quantities to this file.
    """
    from quickswap.cli.output import emit, writing_files
    from quickswap.errors import Interrupted, QuickswapError
    from quickswap.files import write_with
    from quickswap.plotting import check_format, plot_comparison
    from quickswap.simulation.comparison import DEFAULT_POLICIES
    from quickswap.simulation.comparison import compare as run

    check_writable(plot, csv, json, parquet, sources=[model])
    if plot is not None:
        check_format(plot)
    if str(parquet) == "-":
        raise QuickswapError("--parquet is -; Parquet is not text: give a file.")
    chosen_policies = (
        policies.replace(";", " ").split() if policies is not None else DEFAULT_POLICIES
    )
    system = chosen(model, scale)
    arguments = keywords(settings)
    if arguments["jobs"] is None and arguments["precision"] is None:
        arguments["jobs"] = JOBS
    points = _points(model, scale, loads, rates)
    note = interruption = None
    try:
        with progress("comparing") as report:
            comparison = run(system, chosen_policies, **points, progress=report, **arguments)
    except Interrupted as interrupted:
        if interrupted.result is None:
            raise
        comparison, interruption = cast("Comparison", interrupted.result), interrupted
        note = "interrupted: the last row is incomplete"
    with writing_files() as attempt:
        attempt(lambda: emit(csv, lambda: comparison.to_frame().write_csv()))
        attempt(lambda: emit(json, comparison.to_json))
        if parquet is not None:
            attempt(lambda: write_with(parquet, comparison.to_frame().write_parquet))
        if plot is not None:
            attempt(lambda: plot_comparison(comparison, plot))
        if "-" not in {str(csv), str(json)}:
            _print(comparison, note)  # after the files, which must be written in any case
        if interruption is not None:
            raise interruption


def _points(
    model: str, scale: Scale | None, loads: str | None, rates: str | None
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
    if single or (loads is rates is None and named & {"load", "rate"}):
        return {"loads": None, "rates": None}
    if rates is not None:
        return {"loads": None, "rates": numbers("--rates", rates)}
    return {"loads": LOADS if loads is None else numbers("--loads", loads), "rates": None}


def numbers(option: str, text: str, example: str = "0.5,0.7,0.9") -> tuple[float, ...]:
    """Return the numbers of an option, which are separated by commas."""
    from quickswap.errors import QuickswapError

    words = text.split() if "," not in text else [word.strip() for word in text.split(",")]
    try:
        values = tuple(map(float, words))
    except ValueError:
        values = ()
    if not values:
        raise QuickswapError(
            f"{option} is {text!r}; give numbers separated by commas, as in {example}."
        )
    return values


def _print(comparison: Comparison, note: str | None) -> None:
    from quickswap._words import counted
    from quickswap.cli.output import explain_unknown, print_table

    system = comparison.results[0].system
    light = min(range(len(system.needs)), key=system.needs.__getitem__)
    heavy = max(range(len(system.needs)), key=system.needs.__getitem__)
    columns = ["load", "rate", "policy", "", "weighted mean", "mean"]
    columns += [f"{system.names[light]} (lightest)", f"{system.names[heavy]} (heaviest)"]
    columns += ["Jain", "utilisation", "verdict"]
    rows = []
    for point, results in enumerate(comparison.points):
        best = comparison.best(point)
        rows += [_row(each, mark(each.policy_label, best), light, heavy) for each in results]
        rows.append([""] * len(columns))
    servers = counted(system.servers, "server")
    print(f"response times on {servers}, seconds, ± is the 95 % half-width\n")
    print_table(columns, rows[:-1], text=4)
    print("\nbest: least weighted mean response time; tied: not significantly different")
    explain_unknown(chain(*rows))
    jobs = counted(sum(each.completed for each in comparison.results), "job", ",")
    print(f"{jobs} in {comparison.seconds:.1f} s")
    if note:
        print(note)


def mark(label: str, best: tuple[str, ...]) -> str:
    """Return "best", "tied" or "" for a policy."""
    if label not in best:
        return ""
    return "best" if label == best[0] else "tied"


def _row(each: Result, mark: str, light: int, heavy: int) -> list[str]:
    from quickswap._words import load_words

    system = each.system
    estimates = (
        each.weighted_mean_response_time,
        each.mean_response_time,
        each.classes[light].mean_response_time,
        each.classes[heavy].mean_response_time,
        each.jain_index,
        each.utilisation,
    )
    shown = ["-" if math.isnan(e.value) else str(e) for e in estimates]
    where = [load_words(system.load), f"{system.arrival_rate:.4g}"]
    return [*where, each.policy_label, mark, *shown, each.verdict.status]
