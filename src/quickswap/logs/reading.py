"""Reads a log in any of the formats, which is detected from the content unless it is given."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Unpack

from quickswap.engine.settings import check_settings
from quickswap.errors import LogError
from quickswap.files import checked_path
from quickswap.logs.formats import sacct, swf, table
from quickswap.logs.formats.sacct import is_sacct
from quickswap.logs.formats.source import first_text
from quickswap.logs.formats.table import find_delimiter
from quickswap.logs.job_rows import Parsed
from quickswap.logs.joblog import JobLog
from quickswap.logs.options import FORMATS, Format, Options, ReadOptions
from quickswap.logs.quality import Tally, check_strictly
from quickswap.logs.selection import job_table, select

__all__ = ["LogError", "detect_format", "read"]

PARSERS = {
    "swf": swf.parse,
    "sacct": sacct.parse,
    "csv": table.parse_csv,
    "parquet": table.parse_parquet,
}


def read(
    path: str | Path,
    format: Format | None = None,  # noqa: A002 - the word users know
    **settings: Unpack[ReadOptions],
) -> JobLog:
    """Read the jobs of a log, with a report on every row.

    Args:
        path: the file, optionally compressed by gzip or zstd.
        format: "swf", "sacct", "csv" or "parquet"; by default it is detected.
        settings: as follows; by default all jobs are read.

            - `servers`: servers of the machine; by default the number in the log.
            - `pools`: the column whose values are pools with servers of their own: "partition",
              "queue" or "class". By default the first with the names in `pool`; without pools, the
              partitions of an SWF whose header contains the size of each, or one machine.
            - `pool`: the servers of pools, as in `{"gpu": 64, "day+night": 512}`, where day and
              night share servers. Without a size, a pool has the largest number of servers that
              its jobs used at the same time.
            - `partitions`: a file with the output of Slurm's `scontrol show partition` or `sinfo`,
              which contains the sizes of the partitions.
            - `arrival`: when jobs arrive: "eligible", when they could first start (after
              dependencies, holds and begin times) where the log contains it, or "submit". The wait
              begins at the arrival.
            - `unit`: what a server is: "cpu", "node" or "gpu". GPUs require a log of sacct. In SWF
              the unit selects MaxProcs or MaxNodes.
            - `partition`: one partition or several; by default all are read as one machine.
            - `timezone`: time zone of the times in the log and of `start` and `end`, such as
              "Europe/Berlin"; by default UTC, and for `start` and `end` the zone of the log.
            - `columns`: for tables, the names of the columns in the file: `{"size": "runtime",
              ...}`.
            - `time_unit`: for tables, the unit of plain numbers: "s", "ms", "us" or "ns"; by
              default seconds, and an error if these are implausible.
            - `sacct_format`: for sacct without a header, the fields, as in its option `--format`.
            - `delimiter`: for sacct without a header, the delimiter, as in its option
              `--delimiter`.
            - `start`: select jobs submitted from this time on: a date, or seconds after the first
              submission.
            - `end`: select jobs submitted before this time.
            - `scale_load`: factor of the load; interarrival times are divided by it.
            - `smallest_need`: select jobs that need at least this number of servers.
            - `largest_need`: select jobs that need at most this number of servers.
            - `smallest_size`: select jobs with at least this size, in seconds.
            - `largest_size`: select jobs with at most this size, in seconds.
            - `strict`: reject a log with a dropped or repaired row.

    Raises:
        LogError: the file cannot be read or contains no selected jobs, required information is
            missing, or an option is invalid.
    """
    check_settings(settings, ReadOptions, "read")
    options = Options(format=format, **settings)
    path = checked_path(path)
    once = path.is_fifo() or path.is_socket() or path.is_char_device()
    if once or (str(path) == "-" and not path.exists()):
        name = "standard input" if str(path) in ("-", "/dev/stdin") else f"{path} (a pipe)"
        raise LogError(
            f"a log cannot be read from {name}, as it is read more than once",
            advice="write it to a file first",
        )
    tally = Tally(str(path))
    kind = format or detect_format(path)
    if format is None and kind == "sacct" and options.columns is not None:
        kind = "csv"  # a table with the column names of sacct
    elif (
        format is None
        and kind == "csv"
        and (options.delimiter or "," in (options.sacct_format or ""))
    ):
        kind = "sacct"
    try:
        parsed = _parsed(path, kind, options, tally)
        frame, total, pools = select(parsed, options, kind == "swf", tally)
    except LogError as error:
        if format is not None:
            _check_format(path, format, error)
        raise
    report = tally.report(frame)
    if options.strict:
        check_strictly(report, tally)
    first = float(frame["submit"][0])
    return JobLog(
        jobs=job_table(frame, options.scale_load),
        servers=total,
        report=report,
        source=str(path),
        origin=None if parsed.clock is None else parsed.clock + first,
        zone=options.timezone or parsed.zone,
        header=parsed.header,
        load_factor=options.scale_load,
        pools=pools,
        format=kind,
    )


def _check_format(path: Path, given: Format, error: LogError) -> None:
    """Raise an error about the format if another one is detected."""
    try:
        found = detect_format(path)
    except LogError:
        return
    if found != given:
        raise LogError(
            f"{path} looks like {found}, but the format given is {given}",
            argument="format",
            given=given,
            allowed=found,
            advice=f"give {{format:{found}}} or omit it",
        ) from error


def _parsed(path: Path, kind: Format, options: Options, tally: Tally) -> Parsed:
    """Parse the file with the reader of its format; reject options of other formats."""
    for name in dict.fromkeys(chain(*FORMATS.values())):
        value = getattr(options, name)
        if value is not None and name not in FORMATS[kind]:
            kinds = " or ".join(each for each, own in FORMATS.items() if name in own)
            raise LogError(
                f"{name} is for {kinds}, but {path} is {kind}",
                argument=name,
                given=value,
                advice=f"omit {{{name}}}",
            )
    return PARSERS[kind](path, options, tally)


_LINES = 200
_PBS = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Z];")
"""The start of a record in the accounting log of PBS or Torque."""


def detect_format(path: Path) -> Format:
    """Return the format of a log.

    Raises:
        LogError: the format is unknown, or the file is binary, empty, or cannot be read.
    """
    start = first_text(path)
    if start.startswith("PAR1"):
        return "parquet"
    if "\0" in start:
        raise LogError(
            f"{path} is binary",
            advice="give a log in SWF, of sacct, or a table in CSV or Parquet, also compressed by "
            "gzip or zstd",
        )
    lines = [line for line in start.splitlines() if line.strip()][:_LINES]
    first = lines[0]
    if first.lstrip().startswith(";") or any(_is_swf(line) for line in lines):
        return "swf"
    if is_sacct("\n".join(lines[:2])) or first.count("|") >= 3:
        return "sacct"
    if _PBS.match(first):
        raise LogError(
            f"{path} is an accounting log of PBS, which is not supported",
            advice="export its records of type E as a table, with qtime as submit, etime as "
            "eligible, start, end, the number of slots as need, and Resource_List.walltime as "
            "estimate",
        )
    if find_delimiter(first):
        return "csv"
    raise LogError(
        f"{path}, line 1 is not in a known format ({first.strip()[:40]!r})",
        advice="give a log in SWF (18 fields), of sacct (`|` between fields), or a table with "
        "named columns",
    )


def _is_swf(line: str) -> bool:
    """Whether a line contains the numbers of a job in SWF."""
    words = line.split()[:17]
    try:
        return len([float(word) for word in words]) == 17
    except ValueError:
        return False
