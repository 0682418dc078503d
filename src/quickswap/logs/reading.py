"""Reads a log: one verb for all formats."""

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
from quickswap.logs.formats.sniff import FORMATS, Format, sniff
from quickswap.logs.joblog import JobLog
from quickswap.logs.options import Instant, Options, TimeUnit, Unit, check_zone
from quickswap.logs.parsed import Parsed
from quickswap.logs.quality import Tally, refuse_first
from quickswap.logs.settle import finished, settle

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
    """Read the jobs of a log, and count what becomes of each of its rows.

    Args:
        path: the file, also compressed by gzip or zstd.
        format: "swf", "sacct", "csv" or "parquet"; without it the content decides.
        servers: servers of the machine, where the log does not say, or to overrule it.
        unit: what a server is: "cpu", "node" or "gpu". GPUs are known from sacct only; of a log
            in SWF it chooses between MaxProcs and MaxNodes.
        partition: the partition to read, or several; without it all are one machine.
        timezone: of the times in the log and of `start` and `end`, such as "Europe/Berlin";
            without it UTC, and for `start` and `end` the zone that the log names.
        columns: of tables, the table's names of the columns: `{"size": "runtime", ...}`.
        time_unit: of tables, the unit of times that are plain numbers: "s", "ms", "us" or "ns";
            without it seconds, unless that is implausible.
        sacct_format: of sacct without a header, the fields: what was given to `--format`.
        delimiter: of sacct without a header, what separates the fields: what was given to
            `--delimiter`, if not `|`.
        start: the earliest submission, a date or seconds after the log's first job.
        end: the first moment that is too late for a submission, likewise.
        scale_load: factor of the load, by interarrival times that many times shorter.
        smallest_need: jobs that need fewer servers are left out; the next ones likewise.
        largest_need: the largest need, in servers.
        smallest_size: the smallest size, in seconds.
        largest_size: the largest size, in seconds.
        strict: refuse a log with a row that would be dropped or repaired.

    Raises:
        LogError: the file cannot be read, has no jobs (left), or does not say what it must; an
            option that makes no sense. `strict`: the first row that is not in order.
    """
    try:
        refuse = flag(strict, "strict")
    except QuickswapError as error:
        raise LogError(str(error)) from None
    if format is not None and format not in FORMATS:
        unknown("format", format, FORMATS, LogError)
    wanted = (partition,) if isinstance(partition, str) else items(partition)
    if partition is not None and wanted is None:
        raise LogError(f"partition is {shown(partition)}; give a name, or a list of names.")
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
        raise LogError(f"sacct_format is {shown(sacct_format)}; give the fields as a text.")
    if delimiter is not None and not (isinstance(delimiter, str) and delimiter):
        raise LogError(f"delimiter is {shown(delimiter)}; give the characters between fields.")
    path = checked_path(path)
    _refuse_pipes(path)
    tally = Tally(str(path))
    kind = format or sniff(path)
    if format is None and kind == "sacct" and columns is not None:
        kind = "csv"  # a table may have sacct's names of columns
    elif format is None and kind == "csv" and (delimiter or "," in (sacct_format or "")):
        kind = "sacct"
    try:
        parsed = _parsed(path, kind, options, columns, (sacct_format, delimiter), tally)
        frame, machine = settle(parsed, options, kind == "swf", tally)
    except LogError as error:
        if format is not None:
            _refuse_format(path, format, error)
        raise
    report = tally.report(frame)
    if refuse:
        refuse_first(report, tally)
    first = float(frame["submit"][0])
    return JobLog(
        jobs=finished(frame, scale_load),
        servers=machine,
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
            f"columns is {shown(columns)}; give the table's names of the columns, as in "
            f'{{"size": "runtime"}}.'
        )
    return pairs


def _refuse_pipes(path: Path) -> None:
    """Refuse what can be read only once: a pipe, a terminal, or `-` for standard input."""
    odd = path.is_fifo() or path.is_socket() or path.is_char_device()
    if odd or (str(path) == "-" and not path.exists()):
        what = "standard input" if str(path) in ("-", "/dev/stdin") else f"{path}, which is a pipe"
        raise LogError(
            f"a log is not read from {what}, as it is read more than once: write it to a file "
            f"first, and give that."
        )


def _refuse_format(path: Path, given: Format, error: LogError) -> None:
    """Say that the format is wrong, where the content looks like another."""
    try:
        found = sniff(path)
    except LogError:
        return
    if found != given:
        raise LogError(
            f'{path} cannot be read as {given}, and looks like {found}: give format="{found}", or '
            f"leave it out."
        ) from error


def _parsed(
    path: Path,
    kind: Format,
    options: Options,
    columns: Mapping[str, str] | None,
    layout: tuple[str | None, str | None],
    tally: Tally,
) -> Parsed:
    """Let the reader of the format read, having refused options of other formats.

    `layout`: the fields of sacct, and the delimiter.
    """
    if columns is not None and kind not in ("csv", "parquet"):
        raise LogError(f"columns is for tables, but {path} is {kind}.")
    if options.time_unit is not None and kind not in ("csv", "parquet"):
        raise LogError(f"time_unit is for tables, but {path} is {kind}.")
    for name, value in zip(("sacct_format", "delimiter"), layout, strict=True):
        if value is not None and kind != "sacct":
            raise LogError(f"{name} is for sacct, but {path} is {kind}.")
    if options.unit == "gpu" and kind == "swf":
        raise LogError(f'{path} is SWF, which tells no GPUs: give unit="cpu" or "node".')
    if kind == "swf":
        parsed = swf.parse(path, options.unit, tally)
        return _with_a_known_zone(parsed)
    if kind == "sacct":
        return sacct.parse(path, options.unit, options.timezone, *layout, tally)
    if kind == "csv":
        return table.parse_csv(path, columns, options.timezone, options.time_unit, tally)
    return table.parse_parquet(path, columns, options.timezone, options.time_unit, tally)


def _with_a_known_zone(parsed: Parsed) -> Parsed:
    """Forget a time zone of the log that the database does not have."""
    try:
        if parsed.zone is not None:
            check_zone(parsed.zone)
    except LogError:
        parsed.zone = None
    return parsed
