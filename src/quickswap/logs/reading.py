"""Reads a log in any of the formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quickswap._check import items
from quickswap.engine.settings import flag
from quickswap.errors import QuickswapError, shown, unknown
from quickswap.files import checked_path
from quickswap.logs.errors import LogError
from quickswap.logs.formats import sacct, swf, table
from quickswap.logs.formats.detection import FORMATS, Format, detect_format
from quickswap.logs.job_rows import Parsed
from quickswap.logs.joblog import JobLog
from quickswap.logs.options import Instant, Options, TimeUnit, Unit, check_zone
from quickswap.logs.quality import Tally, check_strictly
from quickswap.logs.selection import job_table, select

__all__ = ["read"]


def read(
    path: str | Path,
    format: Format | None = None,  # noqa: A002 - the word users know
    *,
    servers: int | None = None,
    unit: Unit = "cpu",
    partition: str | Sequence[str] | None = None,
    timezone: str | None = None,
    columns: Mapping[str, str] | None = None,
    time_unit: TimeUnit | None = None,
    sacct_format: str | None = None,
    delimiter: str | None = None,
    start: Instant | None = None,
    end: Instant | None = None,
    scale_load: float = 1.0,
    smallest_need: int | None = None,
    largest_need: int | None = None,
    smallest_size: float | None = None,
    largest_size: float | None = None,
    strict: bool = False,
) -> JobLog:
    """Read the jobs of a log, with a report on every row.

    Args:
        path: the file, optionally compressed by gzip or zstd.
        format: "swf", "sacct", "csv" or "parquet"; by default it is detected.
        servers: servers of the machine; by default the number in the log.
        unit: what a server is: "cpu", "node" or "gpu". GPUs require a log of sacct. In SWF the
            unit selects MaxProcs or MaxNodes.
        partition: one partition or several; by default all are read as one machine.
        timezone: time zone of the times in the log and of `start` and `end`, such as
            "Europe/Berlin"; by default UTC, and for `start` and `end` the zone of the log.
        columns: for tables, the names of the columns in the file: `{"size": "runtime", ...}`.
        time_unit: for tables, the unit of plain numbers: "s", "ms", "us" or "ns"; by default
            seconds, and an error if these are implausible.
        sacct_format: for sacct without a header, the fields, as in its option `--format`.
        delimiter: for sacct without a header, the delimiter, as in its option `--delimiter`.
        start: select jobs submitted from this time on: a date, or seconds after the first
            submission.
        end: select jobs submitted before this time.
        scale_load: factor of the load; interarrival times are divided by it.
        smallest_need: select jobs that need at least this number of servers.
        largest_need: select jobs that need at most this number of servers.
        smallest_size: select jobs with at least this size, in seconds.
        largest_size: select jobs with at most this size, in seconds.
        strict: refuse a log with a dropped or repaired row.

    Raises:
        LogError: the file cannot be read or contains no selected jobs, required information is
            missing, or an option is invalid.
    """
    try:
        strict = flag(strict, "strict")
    except QuickswapError as error:
        raise LogError(str(error)) from None
    if format is not None and format not in FORMATS:
        unknown("format", format, FORMATS, LogError)
    wanted = (partition,) if isinstance(partition, str) else items(partition)
    if partition is not None and wanted is None:
        raise LogError(f"partition is {shown(partition)}; it must be a name or a list of names.")
    options = Options(
        servers=servers,
        unit=unit,
        partition=None if wanted is None else tuple(map(str, wanted)),
        timezone=timezone,
        time_unit=time_unit,
        start=start,
        end=end,
        scale_load=scale_load,
        need=(smallest_need, largest_need),
        size=(smallest_size, largest_size),
    )
    columns = _columns(columns)
    if not isinstance(sacct_format, str | None):
        raise LogError(f"sacct_format is {shown(sacct_format)}; it must be a text of field names.")
    if delimiter is not None and not (isinstance(delimiter, str) and delimiter):
        raise LogError(f"delimiter is {shown(delimiter)}; it must be the text between fields.")
    path = checked_path(path)
    _check_seekable(path)
    tally = Tally(str(path))
    kind = format or detect_format(path)
    if format is None and kind == "sacct" and columns is not None:
        kind = "csv"  # a table with the column names of sacct
    elif format is None and kind == "csv" and (delimiter or "," in (sacct_format or "")):
        kind = "sacct"
    try:
        parsed = _parsed(path, kind, options, columns, (sacct_format, delimiter), tally)
        frame, total = select(parsed, options, kind == "swf", tally)
    except LogError as error:
        if format is not None:
            _check_format(path, format, error)
        raise
    report = tally.report(frame)
    if strict:
        check_strictly(report, tally)
    first = float(frame["submit"][0])
    return JobLog(
        jobs=job_table(frame, scale_load),
        servers=total,
        report=report,
        source=str(path),
        origin=None if parsed.clock is None else parsed.clock + first,
        zone=options.timezone or parsed.zone,
        header=parsed.header,
        load_factor=scale_load,
    )


def _columns(columns: object) -> dict[str, str] | None:
    if columns is None:
        return None
    pairs: dict[Any, Any] = dict(columns) if isinstance(columns, Mapping) else {None: None}
    if not all(isinstance(word, str) for pair in pairs.items() for word in pair):
        raise LogError(
            f"columns is {shown(columns)}; it must contain the names of columns in the file, as "
            'in {"size": "runtime"}.'
        )
    return pairs


def _check_seekable(path: Path) -> None:
    """Refuse files that can be read only once: a pipe, a terminal, or `-` for standard input."""
    once = path.is_fifo() or path.is_socket() or path.is_char_device()
    if once or (str(path) == "-" and not path.exists()):
        name = "standard input" if str(path) in ("-", "/dev/stdin") else f"{path} (a pipe)"
        raise LogError(
            f"a log cannot be read from {name}, as it is read more than once; write it to a file "
            "first."
        )


def _check_format(path: Path, given: Format, error: LogError) -> None:
    """Raise an error about the format if another one is detected."""
    try:
        found = detect_format(path)
    except LogError:
        return
    if found != given:
        raise LogError(
            f'format is {given!r}, but {path} looks like {found}; give format="{found}" or omit it.'
        ) from error


def _parsed(
    path: Path,
    kind: Format,
    options: Options,
    columns: Mapping[str, str] | None,
    layout: tuple[str | None, str | None],
    tally: Tally,
) -> Parsed:
    """Parse the file with the reader of its format; refuse options of other formats.

    `layout` is the format and the delimiter of sacct.
    """
    for name, value, kinds in (
        ("columns", columns, ("csv", "parquet")),
        ("time_unit", options.time_unit, ("csv", "parquet")),
        ("sacct_format", layout[0], ("sacct",)),
        ("delimiter", layout[1], ("sacct",)),
    ):
        if value is not None and kind not in kinds:
            raise LogError(f"{name} is for {' or '.join(kinds)}, but {path} is {kind}; omit it.")
    if options.unit == "gpu" and kind == "swf":
        raise LogError(f'{path} is in SWF, which does not contain GPUs; give unit="cpu" or "node".')
    if kind == "swf":
        parsed = swf.parse(path, options.unit, tally)
        try:
            if parsed.zone is not None:
                check_zone(parsed.zone)
        except LogError:  # the header may contain anything
            parsed.zone = None
        return parsed
    if kind == "sacct":
        return sacct.parse(path, options.unit, options.timezone, *layout, tally)
    if kind == "csv":
        return table.parse_csv(path, columns, options.timezone, options.time_unit, tally)
    return table.parse_parquet(path, columns, options.timezone, options.time_unit, tally)
