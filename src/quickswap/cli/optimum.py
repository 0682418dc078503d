"""The command `optimum`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from quickswap._progress import jobs_bar
from quickswap.cli.options import File, Model, Scale, Whole, check_writable, chosen

if TYPE_CHECKING:
    from quickswap.model.system import System
    from quickswap.theory import Optimum
    from quickswap.theory.means import Means

__all__ = ["optimum"]

OTHERS = ("msf", "static-quickswap", "adaptive-quickswap")
"""Policies compared with the best one."""
MOST_STATES = 200_000
"""States of their chains; about 10 seconds."""
ROWS, COLUMNS = 12, 20
"""Most numbers of waiting jobs in the picture of the decisions."""


def optimum(
    model: Model,
    /,
    *,
    cost: str = "mean",
    tolerance: float = 1e-4,
    max_states: Whole = 1_000_000,
    scale: Scale | None = None,
    plot: File = None,
    json: bool = False,
) -> None:
    """Compute the best nonpreemptive policy of a small model, and how far others are from it.

    It requires Poisson arrivals and exponential sizes. The policy does not use sizes, and may leave
    servers idle.

    Parameters
    ----------
    cost
        The mean response time that is minimised: mean, or weighted for the weighted mean.
    tolerance
        Largest relative difference between its value and the lower bound.
    max_states
        Give up beyond that many states.
    plot
        Draw the decisions for a one-or-all system into this file (svg, pdf or png).
    json
        Print JSON instead of tables.
    """
    from quickswap.cli.output import check_drawable, print_json, writing_files
    from quickswap.errors import QuickswapError, unknown
    from quickswap.plotting import plot_decisions
    from quickswap.theory import optimum as best
    from quickswap.theory.conditions import is_exclusive

    if cost not in ("mean", "weighted"):
        unknown("cost", cost, ("mean", "weighted"), QuickswapError, argument="cost")
    check_writable(plot, sources=[model])
    system = chosen(model, scale)
    if plot is not None:
        check_drawable(plot, system, model)
    with jobs_bar("solving"):
        found = best(system, cost, tolerance=tolerance, max_states=max_states)
        rows = list(_rows(system, found, cost))
    thresholds = found.thresholds.tolist() if is_exclusive(system) else None
    with writing_files() as attempt:
        if plot is not None:
            attempt(lambda: plot_decisions(found, plot))
        if json:
            print_json(
                {
                    "cost": cost,
                    "value": found.value,
                    "error": found.error,
                    "bound": found.bound,
                    "states": found.states,
                    "truncation": found.truncation,
                    "policies": rows,
                    "thresholds": thresholds,
                }
            )
        else:
            _print(model, system, found, cost, rows)


def _rows(system: System, found: Optimum, cost: str) -> Iterator[dict[str, Any]]:
    """Return the best policy, and the exact means of others where they can be computed."""
    from quickswap.errors import QuickswapError
    from quickswap.policies import parse
    from quickswap.theory import best_threshold, chain
    from quickswap.theory.conditions import is_exclusive

    def row(policy: str, means: Means) -> dict[str, Any]:
        value = means.mean_response_time if cost == "mean" else means.weighted_mean_response_time
        return {
            "policy": policy,
            "mean": means.mean_response_time,
            "weighted": means.weighted_mean_response_time,
            "classes": [each.mean_response_time for each in means.classes],
            "above": value / found.value - 1,
        }

    yield row("optimum", found)
    if is_exclusive(system):
        best = best_threshold(system, cost)
        yield row(f"MSFQ({best.threshold}), the best threshold", best.solution)
    for spelling in OTHERS:
        try:
            solved = chain.exact(system, spelling, tolerance=1e-6, max_states=MOST_STATES)
        except QuickswapError:  # too large, or unstable
            continue
        yield row(parse(spelling).label, solved)


def _print(
    model: str, system: System, found: Optimum, cost: str, rows: list[dict[str, Any]]
) -> None:
    from quickswap.cli.output import print_table
    from quickswap.display.systems import heading
    from quickswap.theory.conditions import is_exclusive

    print(heading(model, system))
    print("\nMean response times in seconds; exact up to rounding and truncation of the chains")
    names = system.names if len(system.names) <= 4 else ()  # more make the table too wide
    print_table(
        ["policy", "mean", "weighted", *names, f"above the optimum ({cost})"],
        [
            [
                each["policy"],
                f"{each['mean']:.6g}",
                f"{each['weighted']:.6g}",
                *(f"{time:.6g}" for time in each["classes"][: len(names)]),
                f"{100 * each['above']:.3g}%" if number else "",
            ]
            for number, each in enumerate(rows)
        ],
    )
    what = "mean" if cost == "mean" else "weighted mean"
    print(
        f"\nNo nonpreemptive policy that does not use sizes has a {what} response time below "
        f"{found.bound:.6g} seconds (exact).\nThat of the optimum is estimated to be known up to "
        f"{found.error:.1g} seconds ({found.states} states)."
    )
    if is_exclusive(system):
        _print_decisions(system, found)


def _print_decisions(system: System, found: Optimum) -> None:
    from quickswap.cli.output import print_table
    from quickswap.theory.conditions import exclusive

    place = exclusive(system, "optimum").light
    light, heavy = system.names[place], system.names[1 - place]
    table = found.thresholds[: COLUMNS + 1, : ROWS + 1]
    print(
        f"\nDecisions: a free server is given to a waiting {light} job only if more {light} jobs "
        f"than this are in service;\notherwise the servers drain for a {heavy} job, which starts "
        "once all are free. -: always"
    )
    rows = [
        [str(waiting), *("-" if least < 0 else str(least) for least in table[1:, waiting])]
        for waiting in reversed(range(1, table.shape[1]))
    ]
    print_table([f"{heavy} \\ {light}", *map(str, range(1, len(table)))], rows)
