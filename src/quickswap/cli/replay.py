"""`quickswap replay LOG`: the jobs of a log under other policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from quickswap._progress import jobs_bar
from quickswap.cli.options import (
    Debug,
    File,
    Numbers,
    Output,
    ReplayOptions,
    Words,
    check_writable,
    given,
)
from quickswap.cli.reading import Reading, read_log
from quickswap.cli.running import until_interrupted

__all__ = ["replay"]

REPORT_LOADS = (1.0, 1.1, 1.2)
"""Default factors of the load for a report."""


def replay(
    log: str,
    /,
    *,
    policies: Words | None = None,
    slurm_conf: File = None,
    load_factors: Numbers | None = None,
    reading: Reading | None = None,
    serving: ReplayOptions | None = None,
    debug: Debug = False,
    report: File = None,
    groups: str | None = None,
    outcomes: File = None,
    csv: Output = None,
    json: Output = None,
    parquet: File = None,
) -> None:
    """Replay the jobs of a log under several policies; print a table, the best marked.

    Parameters
    ----------
    log
        A log: Standard Workload Format, output of Slurm's sacct, or a table in CSV or Parquet;
        plain, gz or zst.
    policies
        Policies, separated by spaces or semicolons, in quotes: "easy adaptive-quickswap". By
        default EASY, Conservative, First-Fit, Static Quickswap and Adaptive Quickswap, and for a
        log of Slurm also Slurm.
    slurm_conf
        A slurm.conf: the policy slurm with its settings, as the first policy.
    load_factors
        Factors of the load, separated by commas, by which interarrival times are divided. By
        default 1; with --report 1,1.1,1.2.
    reading
        How to read the log, and which jobs to keep.
    serving
        How to replay the log.
    report
        Write a report to this file: one HTML page for readers who did not run the replays.
    groups
        With --report, the column of the log that groups the jobs: user, group, queue, partition or
        class. By default group if there are 2 to 30 groups, otherwise user.
    outcomes
        Write the start and end of each job under each policy to this file, in Parquet.
    csv
        Write all quantities to this file, one per row (- for standard output).
    json
        Write all quantities and the report on the log to this file (- for standard output).
    parquet
        Write all quantities to this file.
    """
    from quickswap.cli.output import emit, print_page, writing_files
    from quickswap.display.replays import replay_page
    from quickswap.errors import QuickswapError
    from quickswap.files import write_with
    from quickswap.policies import Slurm
    from quickswap.replays import replay_all
    from quickswap.replays.replaying import default_policies
    from quickswap.report import write_report
    from quickswap.report.groups import check_column, check_filled

    check_writable(report, outcomes, csv, json, parquet, sources=[log, slurm_conf])
    if groups is not None and report is None:
        raise QuickswapError(
            "groups requires a report", argument="groups", given=groups, advice="give {report} too"
        )
    check_column(groups)
    factors = load_factors or (REPORT_LOADS if report is not None else (1.0,))
    read = read_log(log, reading)
    chosen: list[Slurm | str] = list(policies or default_policies(read))
    if slurm_conf is not None:
        chosen = [Slurm.from_conf(slurm_conf), *(each for each in chosen if each != "slurm")]
    check_filled(read.jobs, groups)
    settings = vars(serving or cast("Any", ReplayOptions)()) | {"debug": debug}
    with jobs_bar("replaying") as shown:
        comparison, ended = until_interrupted(
            lambda: replay_all(read, chosen, load_factors=factors, progress=shown, **settings)
        )
    interruption: KeyboardInterrupt | None = ended  # or a plain one, while the report is written
    if not any(each.jobs for each in comparison.results):
        inputs = comparison.results[0].inputs
        raise QuickswapError(
            f"no job is measured: all were submitted in the first {100 * inputs.warmup:g} % or the "
            f"last {100 * inputs.cooldown:g} % of the duration",
            argument="warmup",
            given=inputs.warmup,
            advice="give {warmup:0} {cooldown:0}, or a longer log",
        )
    note = "interrupted: the table has the replays that had ended" if interruption else ""
    with writing_files() as attempt:
        attempt(lambda: emit(csv, lambda: comparison.to_frame().write_csv()))
        attempt(lambda: emit(json, comparison.to_json))
        if parquet is not None:
            attempt(lambda: write_with(parquet, comparison.to_frame().write_parquet))
        if outcomes is not None:
            attempt(lambda: write_with(outcomes, comparison.outcomes().write_parquet))
        if report is not None and interruption is None:
            options = [*given(reading), *given(serving), *(["--debug"] if debug else [])]
            options += [f"--slurm-conf {slurm_conf.name}"] if slurm_conf else []
            command = _command(log, report, groups, policies, load_factors, options)
            try:
                if attempt(
                    lambda: write_report(comparison, report, groups=groups, command=command)
                ):
                    note = f"\nreport: {report}"
            except KeyboardInterrupt as interrupted:
                interruption, note = interrupted, "interrupted"
        if interruption is not None and report is not None:
            note += "; the report was not written"
        if "-" not in {str(csv), str(json)}:
            # after the files, which must be written in any case
            print_page(replay_page(comparison))
            if note:
                print(note)
        if interruption is not None:
            raise interruption


def _command(
    log: str,
    report: Path,
    groups: str | None,
    policies: Words | None,
    load_factors: Numbers | None,
    options: list[str],
) -> str:
    """Return the command that writes a report, as the report shows it."""
    import shlex

    options += [f"--policies {shlex.quote(' '.join(policies))}"] if policies else []
    options += (
        [f"--load-factors {','.join(map('{:g}'.format, load_factors))}"] if load_factors else []
    )
    options += [f"--report {shlex.quote(report.name)}"]
    options += [] if groups is None else [f"--groups {groups}"]
    return " ".join(["quickswap replay", shlex.quote(Path(log).name), *options])
