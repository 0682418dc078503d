"""Options of the commands that take a LOG, and the reading of the log."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from quickswap.cli.options import Whole

if TYPE_CHECKING:
    from quickswap.logs import JobLog

__all__ = ["Reading", "as_log_options", "given", "read_log"]


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """How to read the log, and which jobs to keep."""

    format: str | None = None
    """swf, sacct, csv or parquet; by default detected from the content."""
    servers: Whole | None = None
    """Servers of the machine; by default the number in the log."""
    unit: str = "cpu"
    """The unit of servers: cpu, node or gpu."""
    partition: str | None = None
    """The partition to read, or several separated by commas; by default all."""
    timezone: str | None = None
    """Time zone of the log and of --from and --to, as in Europe/Berlin.

    By default UTC, and for --from and --to of SWF the zone in its header.
    """
    start: Annotated[str | None, Parameter(name="--from")] = None
    """The earliest submission: a date, as in 2024-03-01, or seconds after the first job.

    By default there is no limit.
    """
    end: Annotated[str | None, Parameter(name="--to")] = None
    """The first instant after the last submission, likewise; by default there is no limit."""
    scale_load: float = 1.0
    """Factor of the load: interarrival times are that many times shorter."""
    smallest_need: Whole | None = None
    """Smallest need, in servers; by default any."""
    largest_need: Whole | None = None
    """Largest need, in servers; by default any."""
    smallest_size: float | None = None
    """Smallest size, in seconds; by default any."""
    largest_size: float | None = None
    """Largest size, in seconds; by default any."""
    sacct_format: str | None = None
    """Fields of sacct, as given to sacct --format; by default those of its header."""
    delimiter: str | None = None
    """Separator of the fields of sacct, as given to sacct --delimiter; by default detected."""
    columns: str | None = None
    """Names of the columns of a table, as in need=cpus,size=runtime.

    By default the names that the documentation lists.
    """
    time_unit: str | None = None
    """Unit of numeric times in a table: s, ms, us or ns; by default s."""
    strict: bool = False
    """Refuse a log with a row that would be dropped or repaired."""


def read_log(path: str, reading: Reading | None = None) -> JobLog:
    """Read the log as the options say.

    Raises:
        LogError: as `quickswap.logs.read`, with arguments called as options.
    """
    from quickswap.logs import LogError, read

    try:
        log = read(path, **_keywords(reading or Reading()))
    except LogError as error:
        raise LogError(as_log_options(str(error))) from None
    facts = tuple(map(as_log_options, log.report.facts))
    return replace(log, report=replace(log.report, facts=facts))


def given(options: object | None) -> list[str]:
    """Return the options that differ from their defaults, as written: `--unit node`.

    `options` is a `Reading`, or another dataclass of options with defaults, or None.
    """
    import shlex

    if options is None:
        return []
    defaults, words = vars(type(options)()), []
    for name, value in vars(options).items():
        if value != defaults[name]:
            option = _option(name)
            words.append(option if value is True else f"{option} {shlex.quote(str(value))}")
    return words


_NAMES = {"start": "from", "end": "to"}
"""Options whose name differs from the argument of `read`."""


def as_log_options(text: str) -> str:
    """Return a message of the readers with their arguments called as options."""
    names = vars(Reading())
    any_, compound = "|".join(names), "|".join(name for name in names if "_" in name)
    text = re.sub(r'\bcolumns=\{"(\w+)": ([^}]*)\}', r"--columns \1=\2", text)
    text = re.sub(rf'(?<!-)\b({any_})=(?=")', lambda found: f"{_option(found[1])} ", text)
    text = re.sub(r"\bwithout strict\b", "without --strict", text)
    for pattern in (
        rf"(?<!-)\b({any_})=",
        rf"`({any_})`",
        rf"\b({compound})\b",
        rf"^({any_})\b(?= is | has | must )",
    ):
        text = re.sub(pattern, lambda found: _option(found[1]), text)
    return text


def _option(name: str) -> str:
    return "--" + _NAMES.get(name, name.replace("_", "-"))


def _keywords(reading: Reading) -> dict[str, Any]:
    """Return the options as arguments of `quickswap.logs.read`."""
    return {
        **vars(reading),
        "partition": _listed("--partition", reading.partition),
        "start": _instant(reading.start),
        "end": _instant(reading.end),
        "columns": _columns(reading.columns),
    }


def _instant(text: str | None) -> float | str | None:
    """Return the text as a number if it is one, else unchanged."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _columns(text: str | None) -> dict[str, str] | None:
    """Return the columns of the table by their names in quickswap."""
    from quickswap.logs import LogError

    found: dict[str, str] = {}
    words = _listed("--columns", text)
    for word in words or []:
        name, equals, own = (each.strip() for each in word.partition("="))
        if not (name and equals and own):
            raise LogError(
                f"--columns is {text!r}; give each column as NAME=NAME_IN_TABLE, as in "
                "need=cpus,size=runtime."
            )
        if name in found:
            raise LogError(f"--columns gives {name} twice: {text!r}.")
        found[name] = own
    return None if words is None else found


def _listed(option: str, text: str | None) -> list[str] | None:
    """Return the items of a list separated by commas, none of them empty."""
    from quickswap.logs import LogError

    if text is None:
        return None
    words = text.split(",")
    if not all(map(str.strip, words)):
        raise LogError(
            f"{option} is {text!r}; give a list separated by commas, without empty items."
        )
    return words
