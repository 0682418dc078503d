"""`quickswap fit LOG`: a model of a log, and its goodness of fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from quickswap._words import counted
from quickswap.cli.options import Output, Whole, check_writable, given
from quickswap.cli.reading import Reading, read_log

if TYPE_CHECKING:
    from quickswap.logs import JobLog
    from quickswap.logs.fits.goodness import Goodness
    from quickswap.model.system import System

__all__ = ["fit"]


def fit(
    log: str,
    /,
    *,
    output: Annotated[Output, Parameter(name=("--output", "-o"))] = None,
    classes: str = "load",
    at_most: Whole = 10,
    size: str = "best",
    csv: Output = None,
    reading: Reading | None = None,
) -> None:
    """Fit a model to the log of a cluster, and print how well it describes the log.

    Parameters
    ----------
    log
        A log: Standard Workload Format, output of Slurm's sacct, or a table in CSV or Parquet;
        plain, gz or zst.
    output
        Write the model to this TOML file, for the commands that take a MODEL (- for standard
        output, instead of the tables).
    classes
        load (groups of needs with about equal loads), need (a class for each need), or groups, as
        in 1,2-4,5-16,17-.
    at_most
        Maximum number of groups with --classes load.
    size
        best (by AIC), exponential, gamma, hyperexponential, lognormal or empirical.
    csv
        Write the comparison of model and log to this file, one class per row (- for standard
        output).
    reading
        How to read the log, and which jobs to keep.
    """
    from quickswap.cli.output import emit, writing_files
    from quickswap.logs.fits.fitting import fit as fitted
    from quickswap.logs.fits.goodness import goodness

    check_writable(output, csv, sources=[log])
    jobs = read_log(log, reading)
    system = fitted(jobs, classes, size, at_most=at_most)  # type: ignore[arg-type]  # checked
    found = goodness(jobs, system)
    options = [f"--classes {classes}", f"--size {size}"]
    options += [f"--at-most {at_most}"] if classes == "load" else []
    with writing_files() as attempt:
        attempt(lambda: emit(output, lambda: model_file(jobs, system, [*options, *given(reading)])))
        attempt(lambda: emit(csv, lambda: found.to_frame().write_csv()))
        if "-" not in map(str, (output, csv)):
            _print(jobs, found)  # after the files, which must be written even if the pipe is closed
    if output is not None and "-" not in map(str, (output, csv)):
        print(f"\nThe model is in {output}.")


def model_file(log: JobLog, system: System, options: list[str]) -> str:
    """Return a model file with comments on the log, the date and the options."""
    from datetime import UTC, datetime
    from importlib.metadata import version

    today = datetime.now(UTC).strftime("%Y-%m-%d")
    lines = [
        f"A model of {log.source}, by quickswap fit {version('quickswap')} on {today}.",
        f"{counted(len(log), 'job', ',')}, submitted {_span(log)}; load {log.load:.6g}.",
        f"Options: {' '.join(options)}",
        "Each class is named after the needs of its jobs; sizes are in seconds.",
    ]
    return "".join(f"# {_printable(line)}\n" for line in lines) + "\n" + system.to_toml()


def _span(log: JobLog) -> str:
    from datetime import UTC, datetime

    if log.origin is None:
        return f"within {counted(log.duration / 86400, 'day', ',.4g')}"
    ends = (
        datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")
        for moment in (log.origin, log.origin + log.duration)
    )
    return f"from {' to '.join(ends)} UTC"


def _printable(line: str) -> str:
    """Return a line without characters that TOML does not allow in comments."""
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def _print(log: JobLog, found: Goodness) -> None:
    from quickswap.cli.output import print_table
    from quickswap.logs.fits.goodness import sentences, tables

    print(log.report)
    for table in tables(found):
        print(f"\n{table.title}")
        print_table(table.columns, table.rows)
    print()
    for sentence in sentences(found):
        print(sentence)
