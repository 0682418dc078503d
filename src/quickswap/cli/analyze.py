"""`quickswap analyze MODEL`: the results of theory for a model, on one page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from quickswap._progress import jobs_bar
from quickswap.cli.options import File, Model, Scale, Whole, check_writable, chosen, option

if TYPE_CHECKING:
    from quickswap.model.system import System
    from quickswap.theory.means import Means
    from quickswap.theory.threshold import Thresholds

T = TypeVar("T")

__all__ = ["analyze"]

METRICS = ("mean", "weighted")
DRAINS = ("on_demand", "always")
MOST_SLOTS = 256
"""Slots up to which thresholds are compared, which takes some seconds."""
MOST_PHASES = 128
"""Servers up to which FCFS and ServerFilling are solved, which takes a second."""
PERCENTILES = (50, 90, 99, 99.9)


def analyze(
    model: Model,
    /,
    *,
    threshold: Whole | None = None,
    scale: Scale | None = None,
    plot: File = None,
    json: bool = False,
) -> None:
    """Compute without simulation: stability, mean response times, thresholds.

    Most results require Poisson arrivals and exponential sizes.

    Parameters
    ----------
    threshold
        The threshold l of MSFQ; by default k - 1. On other systems, the threshold of Static
        Quickswap, in servers.
    plot
        Draw the mean response time of a one-or-all system against the threshold into this file
        (svg, pdf or png).
    json
        Print JSON instead of tables.
    """
    from quickswap._words import counted, load_words
    from quickswap.cli.output import check_drawable, print_json, writing_files
    from quickswap.errors import ModelError
    from quickswap.plotting import plot_thresholds

    check_writable(plot, sources=[model])
    system = chosen(model, scale)
    if plot is not None:
        check_drawable(plot, system, model)
        if system.load >= 1 or system.servers // min(system.needs) > MOST_SLOTS:
            raise ModelError(
                f"--plot requires a load below 1 and at most {MOST_SLOTS} servers; the load is "
                f"{load_words(system.load)} on {counted(system.servers, 'server')}."
            )
    with jobs_bar("solving"):
        data = analyzed(system, threshold)
    if plot is not None and not data.get("curves"):
        raise ModelError(f"--plot has no curve to draw: {data['results'][0]['reason']}")
    with writing_files() as attempt:
        if plot is not None:
            attempt(lambda: plot_thresholds(data["curves"], plot))
        if json:
            print_json(data)
        else:
            _print(model, system, data)


def analyzed(system: System, threshold: int | None = None) -> dict[str, Any]:
    """Return what `analyze` prints.

    Keys: `system`, `load`, `policies` (stability), `results` (mean response times, seconds; the
    error of an approximation is that of its mean, relative to the exact one), `lower_bound` on the
    weighted mean response time (seconds; null if the system is unstable), and for one-or-all
    systems `heavy` (percentiles), `best` (thresholds) and `curves` (means against the threshold).
    """
    from quickswap.cli.show import described
    from quickswap.theory import fcfs, lower_bound, server_filling, static_quickswap
    from quickswap.theory.conditions import is_exclusive
    from quickswap.theory.threshold import Thresholds

    shown = described(system)
    data: dict[str, Any] = {
        "system": shown["system"],
        "arrival_rate": system.arrival_rate,
        "load": system.load,
        "capacity": system.capacity,
        "policies": shown["policies"],
        "results": [],
        "lower_bound": None,
    }
    if system.load >= 1:
        return data
    data["lower_bound"] = lower_bound(system)
    if is_exclusive(system):
        scans, reason = _or_reason(lambda: [Thresholds(system, drain) for drain in DRAINS])
        if scans is None:
            data["results"].append({"policy": "MSFQ", "method": "exact", "reason": reason})
        else:
            level = scans[0].default if threshold is None else threshold
            data["results"] += _msfq(system, scans, level)
            data |= _thresholds(scans, level)
    else:
        solve = partial(static_quickswap.approximate, system, threshold=threshold)
        data["results"].append(_row("Static Quickswap (exclusive)", "approximation", solve))
    if system.one_or_all:
        small = system.servers <= MOST_PHASES
        exact = _row("FCFS", "exact", partial(fcfs.exact, system)) if small else {}
        near = _row("FCFS", "heavy traffic", partial(fcfs.approximate, system), exact.get("mean"))
        data["results"] += [exact, near] if "mean" in exact else [exact or near]
        if small:
            filling = partial(server_filling.exact, system)
            data["results"].append(_row("ServerFilling", "exact", filling))
    elif fcfs.plain_queue(system) is not None:
        data["results"].append(_row("FCFS", "exact", partial(fcfs.exact, system)))
    return data


def _msfq(system: System, scans: Sequence[Thresholds], level: int) -> Iterator[dict[str, Any]]:
    """Solve MSFQ with both drains, its approximations, and its limits l = 0 and l = c."""
    from quickswap.theory import msfq

    demand, always = scans
    yield _row(f"MSFQ({level})", "exact", partial(demand.at, level))
    if level <= always.highest:
        label = f"MSFQ({level}, always)"
        yield _row(label, "exact", partial(always.at, level))
        found, _ = _or_reason(partial(always.at, level))
        reference = found.mean_response_time if found is not None else None
        for form in msfq.FORMS if system.one_or_all else ():
            solve = partial(msfq.approximate, system, level, form)
            yield _row(label, f"approximation as {form}", solve, reference)
    if demand.highest > 1:  # with one slot they are priority rules, see `threshold_of`
        yield _row("MSF", "exact", partial(demand.at, 0))
        yield _row("Adaptive Quickswap", "exact", partial(demand.at, demand.highest))


def _or_reason(solve: Callable[[], T]) -> tuple[T | None, str]:
    """Return a solution, or None and the reason."""
    from quickswap.errors import ModelError, UnstableError

    try:
        return solve(), ""
    except (ModelError, UnstableError) as error:
        return None, error.calling(option)


def _row(
    policy: str, method: str, solve: Callable[[], Means], exact: float | None = None
) -> dict[str, Any]:
    found, reason = _or_reason(solve)
    row: dict[str, Any] = {"policy": policy, "method": method, "reason": reason}
    if found is not None:
        row["classes"] = [each.mean_response_time for each in found.classes]
        row["mean"] = found.mean_response_time
        row["weighted"] = found.weighted_mean_response_time
        if exact is not None:
            row["error"] = found.mean_response_time / exact - 1
    return row


def _thresholds(scans: Sequence[Thresholds], level: int) -> dict[str, Any]:
    """Compute percentiles of the heavy class, the best thresholds, and the curves of the plot."""
    data: dict[str, Any] = {"heavy": {}, "best": [], "curves": []}
    solution, _ = _or_reason(partial(scans[0].at, level))
    if solution is not None:
        times = solution.heavy_response_time
        data["heavy"] = {f"p{percent:g}": times.percentile(percent) for percent in PERCENTILES}
    if scans[0].highest > MOST_SLOTS:
        return data
    for scan in scans:
        for metric in METRICS:
            best = scan.best(metric)
            data["best"].append(
                {
                    "drain": scan.drain,
                    "metric": metric,
                    "threshold": best.threshold,
                    "value": best.value,
                    "default": best.default,
                    "loss": best.loss,
                }
            )
            if metric == "mean":
                data["curves"].append(
                    {"drain": scan.drain, "thresholds": best.thresholds, "mean": best.values}
                )
    return data


def _print(model: str, system: System, data: dict[str, Any]) -> None:
    from quickswap.cli.output import print_table
    from quickswap.display.systems import heading
    from quickswap.theory.conditions import markovian

    print(f"{heading(model, system)}, capacity {data['capacity']:.6g}\n")
    print("Stability, arrivals per second")
    rows = [
        [
            each["policy"],
            "unknown" if each["stable_below"] is None else f"{each['stable_below']:.6g}",
            each["verdict"],
            each["source"],
        ]
        for each in data["policies"]
    ]
    print_table(["policy", "stable below", f"at {data['arrival_rate']:.6g}", "source"], rows)
    solved = [each for each in data["results"] if "mean" in each]
    if solved:
        _print_means(system, solved, data["lower_bound"])
    if data["lower_bound"] is not None:
        kind = "policy" if markovian(system) else "nonpreemptive policy"
        print(
            f"\nNo {kind} that does not use sizes has a weighted mean response time below "
            f"{data['lower_bound']:.6g} seconds (exact)."
        )
    if data["load"] >= 1:
        print("\nAt a load of 1 or above no policy has a mean response time.")
    for reason in dict.fromkeys(each["reason"] for each in data["results"] if each["reason"]):
        print(f"\n{reason[0].upper()}{reason[1:]}")
    if any("error" not in each for each in solved if each["method"] != "exact"):
        print(
            "\nWithout an exact value the error of an approximation is unknown: simulate instead."
        )
    if "best" in data:
        _print_thresholds(data)


def _print_means(system: System, solved: list[dict[str, Any]], bound: float) -> None:
    from quickswap.cli.output import print_table

    most = 4  # more classes than that make the table too wide
    names = system.names if len(system.names) <= most else ()
    print("\nMean response times in seconds; exact values are exact up to rounding")
    columns = ["policy", "method", "mean", "weighted", "waste", *names, "error of the mean"]
    rows = [
        [
            each["policy"],
            each["method"],
            f"{each['mean']:.6g}",
            f"{each['weighted']:.6g}",
            f"{each['weighted'] - bound:.6g}",
            *(f"{time:.6g}" for time in each["classes"][: len(names)]),
            f"{100 * each['error']:+.3g}%" if "error" in each else "",
        ]
        for each in solved
    ]
    print_table(columns, rows, text=2)


def _print_thresholds(data: dict[str, Any]) -> None:
    from quickswap.cli.output import print_table

    times = ", ".join(f"{name.upper()} {time:.6g}" for name, time in data["heavy"].items())
    if times:
        print(f"\nResponse time of the larger class under {data['results'][0]['policy']}: {times}")
        print("(seconds; the numerical error of the shares of jobs is about 1e-8)")
    if not data["best"]:
        print(f"\nThresholds are compared for at most {MOST_SLOTS} servers.")
        return
    print("\nBest thresholds, exact")
    columns = ["drain", "metric", "best l", "value", "at l = k-1", "loss at l = k-1"]
    rows = [
        [
            each["drain"],
            each["metric"],
            str(each["threshold"]),
            f"{each['value']:.6g}",
            f"{each['default']:.6g}",
            f"{100 * each['loss']:.3g}%",
        ]
        for each in data["best"]
    ]
    print_table(columns, rows, text=2)
