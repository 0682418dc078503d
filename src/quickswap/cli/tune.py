"""`quickswap tune MODEL`: the policy, and its parameters, that serves a workload best."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cyclopts import Parameter

from quickswap.cli.options import Scale, chosen
from quickswap.cli.points import bar, duration, executor
from quickswap.cli.run import Output, Whole, check_writable, files_of_stores

if TYPE_CHECKING:
    from quickswap.statistics.estimates import Estimate
    from quickswap.tuning import Row, Tuning, TuningProgress

__all__ = ["tune"]

MOST = 40
"""Lines of the table."""
LONG = 60
"""Characters of a label from which on an order of classes is cut short."""


@Parameter(name="*")
@dataclass(frozen=True)
class How:
    """How to search, and where."""

    indifference: float = 0.01
    """Relative difference that does not matter: what is surely within it of the best is tied."""
    jobs: Whole = 200_000_000
    """Budget: completions of all simulations together; fewer are used if the race is decided."""
    seed: Whole = 1
    """Equal seeds give equal results, byte by byte."""
    refine: bool = True
    """Try parameters between those of the best policies and their neighbours."""
    store: Path | None = None
    """Keep simulations in this file, made if it is not there; run it again and it goes on."""
    threads: Whole | None = None
    """Threads to use, one a simulation; all cores by default. Does not change the result."""
    dask: str | None = None
    """Simulate on the workers of this Dask scheduler, as in tcp://host:8786.

    By default on this machine.
    """


def tune(
    model: str,
    /,
    *,
    metric: str = "weighted",
    policies: str | None = None,
    scale: Scale | None = None,
    how: How | None = None,
    csv: Output = None,
    json: Output = None,
) -> None:
    """Find the best policy and its parameters; print by how much, and what the default costs.

    Parameters
    ----------
    model
        A preset (one-or-all, four-class, borg-a, borg-b, kth-sp2, nasa-ipsc), with options as in
        one-or-all:k=8,p1=.5, or a TOML file.
    metric
        What to keep small: weighted or mean response time, p99, or max-class, the largest of the
        mean response times of the classes.
    policies
        Policies to choose from, separated by spaces or semicolons, in quotes; a parameter may be a
        list, as in "msf; msfq:threshold=[0..31]". By default nonpreemptive ones without estimates.
    scale
        Changes to the model.
    how
        How to search, and where.
    csv
        Write the table to this file (- for standard output).
    json
        Write all that was found to this file (- for standard output).
    """
    from quickswap.cli.output import emit, writing_files
    from quickswap.errors import Interrupted
    from quickswap.tuning import tune as search

    how = how or How()
    check_writable(csv, json, sources=[model, *files_of_stores(how.store)])
    system = chosen(model, scale)
    given = None if policies is None else policies.replace(";", " ").split()
    interruption = None
    try:
        with executor(how.dask) as where, bar("tuning", _said) as report:
            found = search(
                system,
                given,
                metric=metric,
                jobs=how.jobs,
                indifference=how.indifference,
                seed=how.seed,
                refine=how.refine,
                executor=where,
                threads=how.threads,
                store=how.store,
                progress=report,
            )
    except Interrupted as interrupted:
        if interrupted.result is None:
            raise
        found, interruption = cast("Tuning", interrupted.result), interrupted
    with writing_files() as attempt:
        attempt(lambda: emit(csv, lambda: found.to_frame().write_csv()))
        attempt(lambda: emit(json, found.to_json))
        if "-" not in {str(csv), str(json)}:
            _print(model, found, interrupted=interruption is not None)
        if interruption is not None:
            raise interruption


def _said(stage: TuningProgress) -> str:
    """Return what is said beside the bar."""
    left = f"round {stage.round}, {stage.left} of {stage.candidates} candidates left"
    return f"{left}, at most {duration(stage.seconds_left)}"


def _print(model: str, found: Tuning, *, interrupted: bool) -> None:
    from quickswap._words import counted, load_words
    from quickswap.cli.output import explain_unknown, print_table
    from quickswap.tuning.metrics import METRICS
    from quickswap.tuning.result import FRESH

    system = found.system
    rate = counted(system.arrival_rate, "arrival", ".6g")
    print(
        f"{model}: {counted(system.servers, 'server')}, {counted(len(system.classes), 'class')}, "
        f"{rate} per second, load {load_words(system.load)}"
    )
    print(f"{METRICS[found.metric]}, seconds, ± is the 95 % half-width\n")
    for line in _headline(found):
        print(line)
    columns = ["policy", "", "value", "above the best", "jobs"]
    alike = Counter(each.alike for each in found.rows if each.alike)
    leading = [each for each in found.rows if not each.alike]
    rows = [_cells(each, alike[each.label]) for each in leading[:MOST]]
    print()
    print_table(columns, rows, text=2)
    if len(leading) > MOST:
        print(f"and {len(leading) - MOST} more, see --csv")
    print(f"\ntied: surely at most {_percent(found.indifference)} above the best")
    if found.not_told:
        print("not told: not sure whether it is; more --jobs would tell")
    if alike:
        print("+ 2 alike: two more decided alike on all jobs and left the race, see --csv")
    if found.checked and not found.exact:
        print("the values in the table are from the race, those above it from fresh jobs")
    explain_unknown(cell for row in rows for cell in row)
    for each in found.rows:
        if each.status == "unstable":
            print(f"{_short(each.label)} is unstable: {each.reason}")
        elif each.status == "not told" and each.reason and not each.alike:
            print(f"{_short(each.label)} has run too short: {each.reason}")
        elif each.reason == FRESH.format(each.status) and not each.alike:
            print(f"{_short(each.label)} is {each.reason}")
    print(_used(found))
    if interrupted:
        print("interrupted: with --store, run it again and it goes on where it was")


def _headline(found: Tuning) -> list[str]:
    """Return what there is to know, in some lines."""
    if found.winner is None:
        return ["undecided: what looks best has run too short to be trusted; allow more --jobs"]
    kind = " (exact)" if found.exact else "" if found.checked else " (on the jobs of the race)"
    lines = [("best", f"{found.winner_label}: {found.value}{kind}"), ("write it as", found.winner)]
    if found.tied:
        lines.append(("tied with it", ", ".join(_few(found.tied))))
    if found.not_told:
        lines.append(("not told", ", ".join(_few(found.not_told))))
    if found.doubt:
        lines.append(("doubt", found.doubt))
    if found.next is not None:
        tied = ", tied by the fresh jobs" if found.next in found.tied else ""
        lines.append(("next", f"{_short(found.next)}: {_signed(found.margin)}{tied}"))
    if (found.default_cost.value, found.default_cost.half_width) == (0, 0):
        lines.append(("simple default", f"{found.default_label}, the best itself"))
    else:
        cost = "unstable, or not measured"
        if not math.isnan(found.default_cost.value):
            share = found.default_excess.over(0.01)
            cost = f"{_signed(found.default_cost)}, or {_signed(share)} %"
        lines.append(("simple default", f"{found.default_label}: {cost}"))
    width = max(len(name) for name, _ in lines)
    return [f"{name:{width}}  {text}" for name, text in lines]


def _few(labels: tuple[str, ...], most: int = 4) -> list[str]:
    if len(labels) <= most + 1:
        return list(map(_short, labels))
    return [*map(_short, labels[:most]), f"and {len(labels) - most} more"]


def _signed(estimate: Estimate) -> str:
    """Return an estimate with its sign, and fewer digits than theory has."""
    if estimate.half_width == 0:
        return f"{estimate.value:+.3g}"
    return f"+{estimate}" if estimate.value > 0 else str(estimate)


def _cells(row: Row, alike: int) -> list[str]:
    value = "-" if math.isnan(row.value.value) else f"{row.value}"
    above = "" if row.status == "best" or math.isnan(row.above.value) else _signed(row.above)
    label = _short(row.label) + (f" + {alike} alike" if alike else "")
    return [label, row.status, value, above, "exact" if row.exact else f"{row.jobs:,}"]


def _short(label: str) -> str:
    """Return a label; of a long order of classes only the ends."""
    if len(label) <= LONG:
        return label
    return re.sub(r"(order \w+\+\w+\+)[^,)]*(\+\w+)(?=[,)])", r"\1...\2", label)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _used(found: Tuning) -> str:
    from quickswap._words import counted

    if not found.simulations:
        return "all values are exact: nothing was simulated"
    old = found.simulations - found.ran
    kept = f", {old:,} of which were in the store" if old > 0 else ""
    return (
        f"{counted(found.jobs, 'job', ',')} of at most {found.budget:,} in "
        f"{counted(found.rounds, 'round')}, {counted(found.simulations, 'simulation', ',')}{kept}"
    )
