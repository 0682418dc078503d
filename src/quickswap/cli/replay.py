"""`quickswap replay LOG`: the jobs of a log under other policies."""

from __future__ import annotations

import math
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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
from quickswap.cli.running import progress, until_interrupted

if TYPE_CHECKING:
    from quickswap.replays import ReplayComparison, ReplayResult
    from quickswap.report.text import Unit

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
    from quickswap.cli.output import emit, writing_files
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
    with progress("replaying") as shown:
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
            _print(comparison, note)  # after the files, which must be written in any case
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


def _print(comparison: ReplayComparison, note: str) -> None:
    from quickswap._words import counted
    from quickswap.cli.output import print_table
    from quickswap.replays.backlog import ReplayVerdict
    from quickswap.replays.logged_waits import LoggedWaits
    from quickswap.report.causes import idle_sentence, unexplained_sentence
    from quickswap.report.text import common_unit

    first, waits = comparison.results[0], LoggedWaits.of(comparison)
    quality, unit = first.log.report, common_unit(comparison)
    if waits is not None and waits.unexplained:
        print(f"{unexplained_sentence(waits, unit)}\n")
    servers = counted(first.schedule.servers, "server", ",")
    print(
        f"{quality.kept:,} of {counted(quality.rows, 'row', ',')} kept, on {servers}; "
        f"{counted(first.jobs, 'job', ',')} measured"
    )
    for finding in quality.findings:
        print(f"  {finding.kind}: {finding.count:,} {finding.text}")
    for fact in quality.facts:
        print(f"  {fact}")
    too_large = max(each.too_large for each in comparison.results)
    if too_large:
        print(f"  dropped: {counted(too_large, 'job', ',')} that need more than {servers}")
    ended = max(each.ended_at_limit for each in comparison.results)
    if ended:
        print(
            f"  {counted(ended, 'job', ',')} ended at their time limit, and ran longer in the log"
        )
    if first.inputs.estimate == "predicted":
        predicted = [each.predicted for each in comparison.results if each.policy is not None]
        jobs = counted(len(first.schedule.rows), "job", ",")
        print(f"  estimates: {min(predicted):,} of {jobs} predicted, the others as logged")
    pieces, piece = first.resampled
    width = f"± is the 95 % half-width over {counted(pieces, piece)} of the log"
    print(
        f"times in {unit.word}; {width if pieces > 1 else 'the log is too short for intervals'}\n"
    )
    columns = [
        "load",
        "policy",
        "",
        "mean wait",
        "P90 wait",
        "P99 wait",
        "longest",
        "mean response",
    ]
    columns += ["weighted mean", "bounded slowdown", "utilisation", "verdict"]
    rows = []
    for point, results in enumerate(comparison.points):
        best = comparison.best(point)
        rows += [_row(each, best, unit) for each in results]
        rows.append([""] * len(columns))
    print_table(columns, rows[:-1], text=3)
    for pool in first.pools:
        print(f"\npool {pool}, {counted(first.log.pools[pool], 'server', ',')}:")
        parts = [each.pools[pool] for each in comparison.results if pool in each.pools]
        print_table(columns, [_row(each, (), unit) for each in parts], text=3)
    print(f"\n{_window(first)}" if waits is None else f"\n{idle_sentence(waits)}\n{_window(first)}")
    print("best: smallest mean bounded slowdown; tied: not significantly different")
    print(f"lower bound: {_lower_bound(comparison, unit)}")
    if any("± ?" in cell for cell in chain(*rows)):
        print("± ?: the log is too short, or the jobs too few, to estimate the half-width")
    shown = {row[-1] for row in rows}
    for verdict in ReplayVerdict:
        if verdict.lagging and verdict in shown:
            print(f"{verdict}: {verdict.explanation}")
    print(f"{counted(len(comparison.results), 'replay')} in {comparison.seconds:.1f} s")
    if note:
        print(note)


def _window(first: ReplayResult) -> str:
    """Return the explanation of the difference between utilisation and load."""
    head, tail = first.inputs.warmup, first.inputs.cooldown
    if head == tail == 0:
        return "utilisation: from the first submission to the last; the load includes later work"
    return (
        f"utilisation: without the first {100 * head:g} % and last {100 * tail:g} % of the time, "
        "which the load includes"
    )


def _lower_bound(comparison: ReplayComparison, unit: Unit) -> str:
    """Return the lower bound at each load as a sentence."""
    from quickswap._words import load_words

    bounds = []
    for *_, last in comparison.points:  # the logged waits, which are first, may be of fewer jobs
        several = len(comparison.points) > 1 and not math.isnan(last.load)
        load = f" at load {load_words(last.load)}" if several else ""
        bounds.append(f"{unit.plain(last.lower_bound, down=True)} {unit.word}{load}")
    return "no scheduler could bring the mean response time of these jobs below " + ", ".join(
        bounds
    )


def _row(each: ReplayResult, best: tuple[str, ...], unit: Unit) -> list[str]:
    from quickswap._words import load_words
    from quickswap.cli.output import mark
    from quickswap.replays.result import AS_LOGGED

    overall = each.overall
    waiting = overall.waiting_time
    cells = [str(unit.convert(time)) for time in (waiting.mean, waiting.p90, waiting.p99)]
    cells.append(unit.plain(each.longest_wait))
    means = (overall.response_time.mean, each.weighted_mean_response_time)
    cells += [str(unit.convert(time)) for time in means]
    rest = (overall.bounded_slowdown.mean, each.utilisation)
    label = each.policy_label
    load = "-" if math.isnan(each.load) else load_words(each.load)
    verdict = "" if label == AS_LOGGED else each.verdict  # not a schedule of this machine
    return [load, label, mark(label, best), *cells, *map(str, rest), verdict]
