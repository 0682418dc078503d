"""`quickswap tune`: the best policy for a model or a log, and its parameters."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Parameter

from quickswap._progress import jobs_bar, work_bar
from quickswap.cli.options import (
    MODEL,
    File,
    Output,
    Scale,
    Whole,
    Words,
    check_writable,
    chosen,
    files_of_stores,
    given,
    options_of,
)
from quickswap.cli.reading import HELP, read_log
from quickswap.cli.running import executor, until_interrupted
from quickswap.engine.settings import ReplayInputs
from quickswap.errors import QuickswapError
from quickswap.logs.formats.source import first_text
from quickswap.logs.options import Options

if TYPE_CHECKING:
    from cyclopts import Token

    from quickswap.logs import JobLog

__all__ = ["tune"]


@Parameter(name="*", group="For a model")
@dataclass(frozen=True)
class How:
    """How to search, and where to run."""

    indifference: float = 0.01
    """Relative difference that does not matter."""
    jobs: Whole = 200_000_000
    """Budget: completions of all simulations together; the race may use fewer."""
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


def _share(_: Any, tokens: Sequence[Token]) -> float:
    """Read a share, written as in 10% or 0.1."""
    text = tokens[0].value
    number, percent, rest = text.partition("%")
    with suppress(ValueError):
        if not rest and 0 <= (share := float(number) / (100 if percent else 1)) <= 1:
            return share
    raise ValueError("give a share from 0 to 1, as in 0.1 or 10%")


FOR_LOGS = "For a log"


@Parameter(name="*", group=FOR_LOGS)
@dataclass(frozen=True)
class ForLogs:
    """How to search with a log."""

    slurm_conf: File = None
    """A slurm.conf: the baseline is the policy slurm with its settings."""
    train: Annotated[float, Parameter(converter=_share)] = 0.6
    """Share of the jobs in the first part of the log, which selects; the rest confirms."""
    no_worse: Annotated[float, Parameter(converter=_share)] = 0.1
    """The largest loss of a group of needs or users, as a share of its mean wait, as in 10%."""
    smallest_gain: Annotated[float, Parameter(converter=_share)] = 0.05
    """The smallest gain worth a change, as a share of the mean under the baseline, as in 5%."""
    report: File = None
    """Write a report on the replays on the rest to this file, one HTML page as of replay."""


if TYPE_CHECKING:
    Reading = Options
    Serving = ReplayInputs
else:
    Reading = Parameter(name="*", group=FOR_LOGS)(options_of(Options, ["servers"], texts=HELP))
    Serving = Parameter(name="*", group=FOR_LOGS)(options_of(ReplayInputs, ["seed"]))


def tune(
    model: Annotated[str, Parameter(help=f"{MODEL} Or a log, as of replay.")],
    /,
    *,
    metric: str | None = None,
    policies: Words | None = None,
    seed: Whole = 1,
    scale: Scale | None = None,
    how: How | None = None,
    logs: ForLogs | None = None,
    reading: Reading | None = None,
    serving: Serving | None = None,
    csv: Output = None,
    json: Output = None,
) -> None:
    """Find the best policy and its parameters; print its margin and the cost of the default.

    Parameters
    ----------
    metric
        The metric to minimise. For a model: weighted (mean response time, the default), mean, p99,
        or max-class, the largest mean response time of a class. For a log the mean of: waiting_time
        (the default), response_time, slowdown or bounded_slowdown.
    policies
        Candidates, separated by spaces or semicolons, in quotes; a parameter may be a
        list, as in "msf; msfq:threshold=[0..31]". By default for a model nonpreemptive policies
        without estimates, and for a log backfilling policies.
    seed
        Equal seeds give equal results, byte by byte.
    csv
        Write the table to this file (- for standard output).
    json
        Write the whole result to this file (- for standard output).
    """
    from quickswap.cli.output import emit, print_page, writing_files
    from quickswap.display.tuning import tuning_page
    from quickswap.tuning import tune as search

    if is_log(model):
        _reject("a log", model, how, scale and replace(scale, servers=None))
        check_writable(csv, json, sources=[model, logs.slurm_conf if logs else None])
        settings = (
            vars(serving or cast("Any", Serving)()) | vars(logs or ForLogs()) | {"seed": seed}
        )
        settings |= {"policies": policies, "metric": metric or "waiting_time"}
        servers = None if scale is None else scale.servers
        _tune_log(read_log(model, reading, servers=servers), settings, csv, json)
        return
    _reject("a model", model, logs, reading, serving)
    how = how or How()
    check_writable(csv, json, sources=[model, *files_of_stores(how.store)])
    system = chosen(model, scale)
    settings = vars(how) | {"metric": metric or "weighted", "seed": seed}
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


def _tune_log(log: JobLog, settings: dict[str, Any], csv: Path | None, json: Path | None) -> None:
    """Tune a log; print the answer, or write it."""
    from quickswap.cli.output import emit, print_page, writing_files
    from quickswap.display.tuned_logs import log_tuning_page
    from quickswap.policies import Slurm
    from quickswap.report import write_report
    from quickswap.tuning import tune_log as search

    conf, report = settings.pop("slurm_conf"), settings.pop("report")
    baseline = None if conf is None else Slurm.from_conf(conf)
    with jobs_bar("tuning") as shown:
        found = search(log, baseline=baseline, progress=shown, **settings)
    with writing_files() as attempt:
        attempt(lambda: emit(csv, lambda: found.to_frame().write_csv()))
        attempt(lambda: emit(json, found.to_json))
        if report is not None:
            attempt(lambda: write_report(found.rest, report))
        if "-" not in {str(csv), str(json)}:
            print_page(log_tuning_page(found))


def is_log(text: str) -> bool:
    """Return whether the text is the name of a file that is not a model file."""
    if text.endswith(".toml") or not Path(text).is_file():
        return False
    try:
        tomllib.loads(first_text(Path(text)))
    except tomllib.TOMLDecodeError:
        return True
    return False


def _reject(kind: str, source: str, *options: object) -> None:
    """Reject options that apply to the other kind of input."""
    if words := list(chain(*map(given, options))):
        name = words[0].partition(" ")[0]
        other = "a log" if kind == "a model" else "a model"
        raise QuickswapError(f"{name} requires {other}, and {source} is {kind}: omit {name}.")
