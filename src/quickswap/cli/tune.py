"""`quickswap tune MODEL`: the best policy for a workload, and its parameters."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from quickswap.cli.options import (
    Model,
    Output,
    Scale,
    Whole,
    Words,
    check_writable,
    chosen,
    files_of_stores,
)
from quickswap.cli.running import bar, duration, executor, until_interrupted

if TYPE_CHECKING:
    from quickswap.statistics.estimates import Estimate
    from quickswap.tuning import Tuning, TuningProgress, TuningRow

__all__ = ["tune"]

MOST = 40
"""Maximum number of rows of the table."""
LONG = 60
"""Length, in characters, from which the order of classes in a label is abbreviated."""


@Parameter(name="*")
@dataclass(frozen=True)
class How:
    """How to search, and where to run."""

    indifference: float = 0.01
    """Relative difference that does not matter."""
    jobs: Whole = 200_000_000
    """Budget: completions of all simulations together; the race may use fewer."""
    seed: Whole = 1
    """Equal seeds give equal results, byte by byte."""
    refine: Annotated[bool, Parameter(negative="--no-refine")] = True
    """Add parameters between those of the best policies and their neighbours."""
    store: Path | None = None
    """Keep results in this file, created if it does not exist; repeat the command to continue."""
    threads: Whole | None = None
    """Threads to use, one for each simulation; by default all cores. Does not change the result."""
    dask: str | None = None
    """Simulate on the workers of this Dask scheduler, as in tcp://host:8786.

    By default on this machine.
    """


def tune(
    model: Model,
    /,
    *,
    metric: str = "weighted",
    policies: Words | None = None,
    scale: Scale | None = None,
    how: How | None = None,
    csv: Output = None,
    json: Output = None,
) -> None:
    """Find the best policy and its parameters; print its margin and the cost of the default.

    Parameters
    ----------
    metric
        The metric to minimise: weighted (mean response time), mean, p99, or max-class, the largest
        mean response time of a class.
    policies
        Candidates, separated by spaces or semicolons, in quotes; a parameter may be a
        list, as in "msf; msfq:threshold=[0..31]". By default nonpreemptive policies without
        estimates.
    csv
        Write the table to this file (- for standard output).
    json
        Write the whole result to this file (- for standard output).
    """
    from quickswap.cli.output import emit, writing_files
    from quickswap.tuning import tune as search

    how = how or How()
    check_writable(csv, json, sources=[model, *files_of_stores(how.store)])
    system = chosen(model, scale)
    settings = vars(how) | {"metric": metric}
    with executor(settings.pop("dask")) as where, bar("tuning", _progress_words) as report:
        found, interruption = until_interrupted(
            lambda: search(system, policies, executor=where, progress=report, **settings)
        )
    with writing_files(interruption) as attempt:
        attempt(lambda: emit(csv, lambda: found.to_frame().write_csv()))
        attempt(lambda: emit(json, found.to_json))
        if "-" not in {str(csv), str(json)}:
            _print(model, found)
            if interruption is not None:
                print("interrupted: with --store, repeat the command to continue")


def _progress_words(progress: TuningProgress) -> str:
    """Return the text next to the progress bar."""
    left = f"round {progress.round}, {progress.left} of {progress.candidates} candidates left"
    return f"{left}, at most {duration(progress.seconds_left)}"


def _print(model: str, found: Tuning) -> None:
    from quickswap._words import counted
    from quickswap.cli.output import explain_unknown, heading, print_table
    from quickswap.tuning.metrics import METRICS
    from quickswap.tuning.result import Standing

    print(heading(model, found.system))
    print(f"{METRICS[found.metric]}, seconds, ± is the 95 % half-width\n")
    for line in _headline(found):
        print(line)
    columns = ["policy", "compared with the best", "value", "above the best", "jobs"]
    alike = Counter(each.alike for each in found.rows if each.alike)
    leading = [each for each in found.rows if not each.alike]
    rows = [_cells(each, alike[each.label]) for each in leading[:MOST]]
    print()
    print_table(columns, rows, text=2)
    if len(leading) > MOST:
        print(f"and {len(leading) - MOST} more: see --csv")
    share = f"{100 * found.indifference:g} %"
    print(f"\nnot significantly different: significantly less than {share} above the best")
    if found.inconclusive:
        print("inconclusive: the jobs do not suffice to decide this; allow more --jobs")
    if alike:
        print("+ 2 alike: two more candidates took the same decisions on all jobs, see --csv")
    if found.checked and not found.exact:
        print("the values in the table are from the race, those above it from fresh jobs")
    explain_unknown(cell for row in rows for cell in row)
    for each in found.rows:
        label = _short(each.label)
        if each.standing is Standing.UNSTABLE:
            print(f"{label} is unstable: {each.reason}")
        elif each.standing is Standing.INCONCLUSIVE and each.reason and not each.alike:
            print(f"the runs of {label} are too short: {each.reason}")
        elif each.fresh and not each.alike:
            print(f"{label} is {each.standing} on the fresh jobs; the race was inconclusive")
    if not found.simulations:
        print("all values are exact; no simulation was needed")
        return
    old = found.simulations - found.ran
    kept = f", {old:,} of which were in the store" if old > 0 else ""
    print(
        f"{counted(found.jobs, 'job', ',')} of at most {found.budget:,} in "
        f"{counted(found.rounds, 'round')}, {counted(found.simulations, 'simulation', ',')}{kept}"
    )


def _headline(found: Tuning) -> list[str]:
    """Return the lines above the table."""
    from quickswap.theory import lower_bound

    if found.winner is None:
        return ["undecided: the runs of the apparent best are too short; allow more --jobs"]
    kind = " (exact)" if found.exact else "" if found.checked else " (on the jobs of the race)"
    lines = [("best", f"{found.winner_label}: {found.value}{kind}"), ("write it as", found.winner)]
    if found.metric == "weighted":
        bound = lower_bound(found.system, found.winner)
        lines.append(("waste", f"{found.value - bound} above the lower bound {bound:.6g}"))
    if found.alike:
        lines.append(("no different", ", ".join(_few(found.alike))))
    if found.inconclusive:
        lines.append(("inconclusive", ", ".join(_few(found.inconclusive))))
    if found.doubt:
        lines.append(("doubt", found.doubt))
    if found.next is not None:
        alike = ", not significantly different" if found.next in found.alike else ""
        lines.append(("next", f"{_short(found.next)}: {_signed(found.margin)}{alike}"))
    if (found.default_cost.value, found.default_cost.half_width) == (0, 0):
        lines.append(("simple default", f"{found.default_label}, which is the best"))
    else:
        cost = "unstable, or not measured"
        if not math.isnan(found.default_cost.value):
            share = 100 * found.default_excess
            cost = f"{_signed(found.default_cost)}, or {_signed(share)} %"
        lines.append(("simple default", f"{found.default_label}: {cost}"))
    width = max(len(name) for name, _ in lines)
    return [f"{name:{width}}  {text}" for name, text in lines]


def _few(labels: tuple[str, ...], most: int = 4) -> list[str]:
    if len(labels) <= most + 1:
        return list(map(_short, labels))
    return [*map(_short, labels[:most]), f"and {len(labels) - most} more"]


def _signed(estimate: Estimate) -> str:
    """Return an estimate with its sign; an exact one with three digits."""
    if estimate.half_width == 0:
        return f"{estimate.value:+.3g}"
    return f"+{estimate}" if estimate.value > 0 else str(estimate)


def _cells(row: TuningRow, alike: int) -> list[str]:
    from quickswap.tuning.result import Standing

    value = "-" if math.isnan(row.value.value) else f"{row.value}"
    best = row.standing is Standing.BEST
    above = "" if best or math.isnan(row.above.value) else _signed(row.above)
    label = _short(row.label) + (f" + {alike} alike" if alike else "")
    return [label, row.standing, value, above, "exact" if row.exact else f"{row.jobs:,}"]


def _short(label: str) -> str:
    """Return a label, with a long order of classes shortened to its ends."""
    if len(label) <= LONG:
        return label
    return re.sub(r"(order \w+\+\w+\+)[^,)]*(\+\w+)(?=[,)])", r"\1...\2", label)
