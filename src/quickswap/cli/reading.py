"""Options of the commands that take a LOG, and the reading of the log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from quickswap._words import count_of
from quickswap.cli.options import options_of
from quickswap.errors import LogError, invalid
from quickswap.logs.options import Options

if TYPE_CHECKING:
    from quickswap.logs import JobLog

__all__ = ["HELP", "Reading", "read_log"]


HELP = {
    "format": "swf, sacct, csv or parquet; by default detected from the content.",
    "servers": "Number of servers of the machine; by default the number in the log.",
    "pool": "The servers of a pool, as in gpu=64, or day+night=512 for partitions that share "
    "servers; can be repeated. By default the sizes in the log, or the largest number in use.",
    "pools": "What the pools are: partition, queue or class; by default the first with the names "
    "of --pool.",
    "partitions": "File with the sizes of partitions, the output of Slurm's scontrol show "
    "partition or of sinfo; by default the sizes in the log.",
    "arrival": "When jobs arrive: eligible (to start, after dependencies and holds; otherwise at "
    "their submission), or submit.",
    "unit": "The unit of servers: cpu, node or gpu.",
    "partition": "The partition to read, or several separated by commas; by default all.",
    "timezone": "Time zone of the log and of --from and --to, as in Europe/Berlin. By default "
    "UTC; for --from and --to of an SWF log, the zone in its header.",
    "start": "The earliest submission: a date, as in 2024-03-01, or seconds after the first job. "
    "By default there is no limit.",
    "end": "The end of the submissions (exclusive), as --from. By default there is no limit.",
    "scale_load": "Factor of the load, by which interarrival times are divided.",
    "smallest_need": "Smallest need, in servers; by default any.",
    "largest_need": "Largest need, in servers; by default any.",
    "smallest_size": "Smallest size, in seconds; by default any.",
    "largest_size": "Largest size, in seconds; by default any.",
    "sacct_format": "Fields of sacct, as given to sacct --format; by default the fields of the "
    "header.",
    "delimiter": "Delimiter of the fields of sacct, as given to sacct --delimiter; by default "
    "detected.",
    "columns": "Names of the columns in a table, as in need=cpus,size=runtime. By default the "
    "names that the documentation lists.",
    "time_unit": "Unit of numeric times in a table: s, ms, us or ns; by default s.",
    "strict": "Reject a log with a row that would be dropped or repaired.",
}
"""The help of each option."""

if TYPE_CHECKING:
    Reading = Options
else:
    Reading = Parameter(name="*")(options_of(Options, texts=HELP))


def read_log(path: str, reading: Reading | None = None, **others: Any) -> JobLog:
    """Read the log with these options, and `others` of the same kind.

    Raises:
        LogError: as `quickswap.logs.read`.
    """
    from quickswap.logs import read

    options: dict[str, Any] = vars(reading or Reading())
    parsed = {
        "pool": _sizes(options["pool"]),
        "partition": _listed("partition", options["partition"]),
        "start": _instant(options["start"]),
        "end": _instant(options["end"]),
        "columns": _columns(options["columns"]),
    }
    return read(path, **(options | parsed | others))


def _instant(text: str | None) -> float | str | None:
    """Return the text as a number if it is one, otherwise unchanged."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _sizes(texts: Sequence[str] | None) -> dict[str, int] | None:
    """Return the servers of each pool."""
    words = ",".join(texts or ()).split(",")
    pairs = [word.rpartition("=")[::2] for word in words]
    if not texts:
        return None
    sizes = {name.strip(): size for name, text in pairs if (size := count_of(text)) is not None}
    if "" in sizes or len(sizes) < len(pairs):
        raise invalid("pool", ",".join(texts), "NAME=SERVERS for each pool once", LogError)
    return sizes


def _columns(text: str | None) -> dict[str, str] | None:
    """Return the columns of the table by their names in quickswap."""
    pairs = [word.partition("=") for word in _listed("columns", text) or []]
    found = {name.strip(): own.strip() for name, _, own in pairs}
    if not all(map(str.strip, chain(*pairs))) or len(found) < len(pairs):
        raise invalid(
            "columns",
            text,
            "NAME=NAME_IN_TABLE for each column once, as in need=cpus,size=runtime",
            LogError,
        )
    return found or None


def _listed(argument: str, text: str | None) -> list[str] | None:
    """Return the items of a list separated by commas, none of them empty."""
    words = None if text is None else text.split(",")
    if words is not None and not all(map(str.strip, words)):
        allowed = "a list separated by commas, without empty items"
        raise invalid(argument, text, allowed, LogError)
    return words
