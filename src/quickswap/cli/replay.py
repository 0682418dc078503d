"""`quickswap replay LOG`: what other policies would have done for the jobs of a log."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from quickswap.cli.compare import mark, numbers
from quickswap.cli.reading import Reading, given, read_log
from quickswap.cli.run import Output, Whole, check_writable, progress

if TYPE_CHECKING:
    from quickswap.replays import ReplayComparison, ReplayResult
    from quickswap.report.text import Unit

__all__ = ["replay"]

REPORT_LOADS = (1.0, 1.1, 1.2)
"""Factors of the load by default where a report is written."""


@Parameter(name="*")
@dataclass(frozen=True)
class Serving:
    """How to replay it."""

    estimate: str = "logged"
    """What EASY, Conservative and backfilling believe of sizes: logged, exact, or a factor."""
    classes: str = "need"
    """need: each need is a class; load: groups of about equal load; or as in 1,2-4,5-16,17-."""
    warmup: float = 0.05
    """Share of the log's duration at its beginning whose jobs are not measured."""
    cooldown: float = 0.05
    """Share of the log's duration at its end whose jobs are not measured."""
    slowdown_bound: float = 10.0
    """Sizes below this count as this in the bounded slowdown, seconds."""
    seed: Whole = 1
    """Of the draws that give the intervals."""
    debug: Annotated[bool, Parameter(negative=())] = False
    """Check every event."""


def replay(
    log: str,
    /,
    *,
    policies: str | None = None,
    load_factors: str | None = None,
    reading: Reading | None = None,
    serving: Serving | None = None,
    report: Output = None,
    groups: str | None = None,
    outcomes: Output = None,
    csv: Output = None,
    json: Output = None,
    parquet: Output = None,
) -> None:
    """Serve the jobs of a log again under several policies; print a table, the best marked.

    Parameters
    ----------
    log
        A log in the Standard Workload Format, of Slurm's sacct, or a table in CSV or Parquet;
        plain, gz or zst.
    policies
        Policies, separated by spaces or semicolons, in quotes: "easy adaptive-quickswap". By
        default EASY, Conservative, First-Fit, Static Quickswap and Adaptive Quickswap.
    load_factors
        Factors of the load to replay at, separated by commas: interarrival times are that many
        times shorter. By default 1; with --report 1,1.1,1.2.
    reading
        How to read the log, and which of its jobs.
    serving
        How to replay it.
    report
        Write a report to this file: one HTML page for readers who did not run the replays.
    groups
        With --report, the column of the log that groups the users: user, group, queue, partition
        or class. By default group where there are 2 to 30 of them, else user.
    outcomes
        Write what became of each job under each policy to this file, in Parquet.
    csv
        Write all quantities to this file, one a line (- for standard output).
    json
        Write all quantities and how the log was read to this file (- for standard output).
    parquet
        Write all quantities to this file.
    """
    from quickswap.cli.output import emit, numbers_kept
    from quickswap.errors import Interrupted, QuickswapError
    from quickswap.files import write_with
    from quickswap.replays import replay_all
    from quickswap.replays.replaying import DEFAULT_POLICIES
    from quickswap.report import write_report
    from quickswap.report.groups import check_column, check_filled

    check_writable(report, outcomes, csv, json, parquet, sources=[log])
    for option, path in (("report", report), ("outcomes", outcomes), ("parquet", parquet)):
        if str(path) == "-":
            raise QuickswapError(f"--{option} is -, which is standard output: give a file.")
        if str(path).startswith("--"):
            raise QuickswapError(f"--{option} lacks its file: {path} stands in its place.")
    if groups is not None and report is None:
        raise QuickswapError("--groups is for the report: give --report too.")
    with _as_options():
        check_column(groups)
    factors = _factors(load_factors, REPORT_LOADS if report is not None else (1.0,))
    names = policies.replace(";", " ").split() if policies is not None else DEFAULT_POLICIES
    if not names:
        raise QuickswapError(
            f'--policies is {policies!r}; give at least one policy, as in "easy first-fit".'
        )
    read = read_log(log, reading)
    with _as_options():
        check_filled(read.jobs, groups)
    interruption: KeyboardInterrupt | None = None
    try:
        with progress("replaying") as shown, _as_options():
            comparison = replay_all(
                read, names, load_factors=factors, progress=shown, **_keywords(serving)
            )
    except Interrupted as interrupted:
        if interrupted.result is None:
            raise
        comparison, interruption = _partly(interrupted.result), interrupted
    if not any(each.jobs for each in comparison.results):
        raise QuickswapError(_nothing(comparison))
    note = "interrupted: the replays that had ended are shown" if interruption else ""
    with numbers_kept() as attempt:
        attempt(lambda: emit(csv, lambda: comparison.to_frame().write_csv()))
        attempt(lambda: emit(json, comparison.to_json))
        if parquet is not None:
            attempt(lambda: write_with(parquet, comparison.to_frame().write_parquet))
        if outcomes is not None:
            attempt(lambda: write_with(outcomes, comparison.outcomes().write_parquet))
        if report is not None and interruption is None:
            command = _command(log, report, groups, policies, load_factors, reading, serving)
            try:
                if attempt(
                    lambda: write_report(comparison, report, groups=groups, command=command)
                ):
                    note = f"\nreport: {report}"
            except KeyboardInterrupt as struck:
                interruption, note = struck, "interrupted"
        if interruption is not None and report is not None:
            note += "; the report is not written"
        if "-" not in {str(csv), str(json)}:
            _print(comparison, note)  # behind the files, which a reader that leaves must not cost
        if interruption is not None:
            raise interruption


def _command(
    log: str,
    report: Path,
    groups: str | None,
    policies: str | None,
    load_factors: str | None,
    reading: Reading | None,
    serving: Serving | None,
) -> str:
    """Return the command with which a report is made, as the report shows it."""
    import shlex

    options = [*given(reading), *given(serving)]
    options += [] if policies is None else [f"--policies {shlex.quote(policies)}"]
    options += [] if load_factors is None else [f"--load-factors {shlex.quote(load_factors)}"]
    options += [f"--report {shlex.quote(report.name)}"]
    options += [] if groups is None else [f"--groups {groups}"]
    return " ".join(["quickswap replay", shlex.quote(Path(log).name), *options])


@contextmanager
def _as_options() -> Iterator[None]:
    """Let a mistake be told with the settings called as on the command line."""
    from quickswap.errors import QuickswapError

    names = "|".join(["groups", "servers", *vars(Serving())])
    try:
        yield
    except QuickswapError as error:
        text = re.sub(rf"^({names})\b(?= (is|and|must)\b)", _option, str(error))
        raise type(error)(re.sub(rf"(?<=^--warmup and )({names})\b", _option, text)) from None


def _option(found: re.Match[str]) -> str:
    return "--" + found[1].replace("_", "-")


def _partly(result: object) -> ReplayComparison:
    from quickswap.replays import ReplayComparison

    assert isinstance(result, ReplayComparison)
    return result


def _keywords(serving: Serving | None) -> dict[str, Any]:
    """Return the options as arguments of `quickswap.replay`."""
    settings = vars(serving or Serving())
    try:
        return settings | {"estimate": float(settings["estimate"])}
    except ValueError:
        return settings


def _nothing(comparison: ReplayComparison) -> str:
    """Return why no job was measured, and what to do."""
    first = comparison.results[0]
    head, tail = (f"{100 * each:g} %" for each in (first.inputs.warmup, first.inputs.cooldown))
    return (
        f"no job is measured: all were submitted in the first {head} or the last {tail} of the "
        "log's time; give --warmup 0 --cooldown 0, or a longer log."
    )


def _factors(text: str | None, default: tuple[float, ...]) -> tuple[float, ...]:
    return default if text is None else numbers("--load-factors", text, "1,1.1,1.2")


def _print(comparison: ReplayComparison, note: str) -> None:
    from quickswap._words import counted
    from quickswap.cli.output import print_table
    from quickswap.report.text import common_unit

    first = comparison.results[0]
    quality = first.log.report
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
        print(f"  left out: {counted(too_large, 'job', ',')} that need more than {servers}")
    pieces, piece = first.resampled
    unit = common_unit(comparison)
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
    print(f"\n{_window(first)}")
    print("best: least mean bounded slowdown; tied: not told apart from it")
    if any("± ?" in cell for cell in chain(*rows)):
        print("± ?: the log is too short, or the jobs too few, to tell how wide the interval is")
    if any(row[-1] == "falls behind" for row in rows):
        print("falls behind: the queue grows, so that waits tell the length of the log")
    if any(row[-1] == "persistent backlog" for row in rows):
        print(
            "persistent backlog: for more than a quarter of the log, or two months, without a "
            "break, at least a day's work of the whole machine waited"
        )
    print(f"{counted(len(comparison.results), 'replay')} in {comparison.seconds:.1f} s")
    if note:
        print(note)


def _window(first: ReplayResult) -> str:
    """Return why the servers in use are not the load."""
    head, tail = first.inputs.warmup, first.inputs.cooldown
    if head == tail == 0:
        return "utilisation: from the first submission to the last; what ends later is in the load"
    return (
        f"utilisation: without the first {100 * head:g} % and last {100 * tail:g} % of the time, "
        "which the load includes"
    )


def _row(each: ReplayResult, best: tuple[str, ...], unit: Unit) -> list[str]:
    from quickswap._words import load_words
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
    verdict = "" if label == AS_LOGGED else each.verdict  # it is no schedule of this machine
    return [load, label, mark(label, best), *cells, *map(str, rest), verdict]
