"""`quickswap tune MODEL`: the best policy for a workload, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from quickswap._progress import work_bar
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
from quickswap.cli.running import executor, until_interrupted

if TYPE_CHECKING:
    pass

__all__ = ["tune"]


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
    from quickswap.cli.output import emit, print_page, writing_files
    from quickswap.display.tuning import tuning_page
    from quickswap.tuning import tune as search

    how = how or How()
    check_writable(csv, json, sources=[model, *files_of_stores(how.store)])
    system = chosen(model, scale)
    settings = vars(how) | {"metric": metric}
    with executor(settings.pop("dask")) as where, work_bar("tuning") as report:
        found, interruption = until_interrupted(
            lambda: search(system, policies, executor=where, progress=report, **settings)
        )
    with writing_files(interruption) as attempt:
        attempt(lambda: emit(csv, lambda: found.to_frame().write_csv()))
        attempt(lambda: emit(json, found.to_json))
        if "-" not in {str(csv), str(json)}:
            print_page(tuning_page(found, model))
            if interruption is not None:
                print("interrupted: with --store, repeat the command to continue")
