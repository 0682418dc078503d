"""`quickswap reproduce FIGURES`: the paper's figures and the verdicts on its claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from quickswap._progress import work_bar
from quickswap.cli.options import Whole
from quickswap.cli.running import executor

if TYPE_CHECKING:
    from quickswap.paper.run import Reproduction

__all__ = ["reproduce"]


def reproduce(
    *figures: str,
    output: Annotated[Path, Parameter(alias="-o")] = Path("reproduction"),
    quick: bool = False,
    precision: float | None = None,
    jobs: Whole | None = None,
    threads: Whole | None = None,
    dask: str | None = None,
    list_: Annotated[bool, Parameter(name="--list")] = False,
) -> None:
    """Reproduce the figures of the paper; write data, figures and verdicts on its claims.

    Parameters
    ----------
    figures
        fig1 to fig8 of the paper, further figures (--list prints all names), all, or JSON files of
        an earlier run.
    output
        The output folder. Repeat an interrupted command to continue it.
    quick
        Simulate for minutes on two cores, with wide intervals, instead of hours. Without it, points
        run again with more jobs if they are too short, or miss their precision and may change a
        verdict.
    precision
        Relative half-width to reach; by default 0.02, for Borg 0.1.
    jobs
        Maximum number of completions of each point; by default, it depends on the figure. With
        it no point runs again.
    threads
        Threads to use, one for each point; by default all cores. Does not change the results.
    dask
        Run the points on the workers of this Dask scheduler, as in tcp://host:8786. By
        default on this machine.
    list_
        List the figures and exit.
    """
    from quickswap.errors import QuickswapError
    from quickswap.paper.run import EXPERIMENTS
    from quickswap.paper.run import reproduce as run

    if list_:
        width = max(map(len, EXPERIMENTS))
        for name, each in EXPERIMENTS.items():
            print(f"{name:{width}}  {each.title} ({each.source})")
        return
    if not figures:
        raise QuickswapError(
            "no figures are given: name them, as in quickswap reproduce fig3; --list names all."
        )
    try:
        with executor(dask) as chosen, work_bar("reproducing") as report:
            found = run(
                figures,
                output,
                quick=quick,
                precision=precision,
                jobs=jobs,
                executor=chosen,
                threads=threads,
                progress=report,
            )
    except KeyboardInterrupt as interrupted:
        if (output / "results.db").exists():
            interrupted.add_note(
                f"the results so far are in {output}; repeat the command to continue"
            )
        raise
    _print(found)
    if found.not_drawn:
        raise QuickswapError("; ".join(f"{n}: {reason}" for n, reason in found.not_drawn.items()))


def _print(found: Reproduction) -> None:
    from quickswap._words import counted
    from quickswap.cli.output import print_table
    from quickswap.paper.run import EXPERIMENTS

    rows, left, notes = [], [], []
    for name, figure in found.figures.items():
        record = figure.experiment
        if record != EXPERIMENTS.get(name, record):
            notes.append(f"{name}: differs from our figure of this name, so no claim is judged")
        drawn = {(row.series, row.policy, row.method) for row in figure}
        notes += [
            f"{name}: {each.label} has no values, as the method ({each.method}) does not apply"
            for each in record.series
            if not any(
                (each.label, record.policy_at(each, x), each.method) in drawn
                for x in each.values or record.values
            )
        ]
        known = {(row.cls, row.quantity) for row in figure}
        notes += [
            f"{name}: no point has a value of {each.quantity} for {each.cls} jobs"
            for each in record.panels
            if record.estimates and (each.cls, each.quantity) not in known
        ]
        simulated = {
            (row.series, row.policy, row.x): row for row in figure if row.method == "simulated"
        }.values()
        judged = simulated if figure.experiment.estimates else ()
        short: dict[str, list[str]] = {}
        for row in judged:
            if row.verdict == "too short":
                short.setdefault(row.series, []).append(f"{row.x:g}")
        axis = figure.experiment.axis
        left += [f"{name}: {each} at {axis} {', '.join(xs)}" for each, xs in short.items()]
        counts = [
            len(simulated),
            sum(row.verdict == "unstable" for row in judged),
            sum(row.verdict == "too short" for row in judged),
            sum(row.verdict == "stable" and not row.reached for row in judged),
        ]
        rows.append(
            [name, *(str(count) if count else "-" for count in counts), figure.experiment.title]
        )
    columns = ["figure", "points", "unstable", "too short", "budget ended", "title"]
    print_table(columns, rows, text=1)
    if found.findings:
        print()
        verdicts = [[each.verdict, each.claim, each.where] for each in found.findings]
        print_table(["verdict", "claim", "where"], verdicts, text=3)
    if notes:
        print("", *notes, sep="\n")
    if left:
        print("\ntoo short to judge (repeat the command with a higher --jobs):")
        print(*(f"  {each}" for each in left), sep="\n")
    if hanging := [each for each in found.findings if each.open]:
        print("\nverdicts that more jobs (--jobs) or a smaller --precision may change:")
        for each in hanging:
            places: dict[str, list[str]] = {}
            for name, series, x in each.open:
                axis = found.figures[name].experiment.axis
                places.setdefault(f"{name}: {series} at {axis}", []).append(f"{x:g}")
            print(f"  {each.claim}")
            print(*(f"    {place} {', '.join(xs)}" for place, xs in places.items()), sep="\n")
    what = "data, figures and claims" if found.findings else "data and figures"
    print(f"\n{counted(found.ran, 'point', ',')} simulated now; {what} are in {found.folder}")
