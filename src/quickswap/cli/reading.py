"""What the commands that take a LOG share: how to read it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from quickswap.cli.run import Whole

if TYPE_CHECKING:
    from quickswap.logs import JobLog

__all__ = ["Reading", "as_log_options", "given", "read_log"]


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """How to read the log, and which of its jobs."""

    format: str | None = None
    """swf, sacct, csv or parquet; without it the content decides."""
    servers: Whole | None = None
    """Servers of the machine; by default as many as the log says."""
    unit: str = "cpu"
    """What a server is: cpu, node or gpu."""
    partition: str | None = None
    """The partition to read, or several with commas between them; all by default."""
    timezone: str | None = None
    """Of the times in the log, and of --from and --to, as in Europe/Berlin; by default UTC, and for
    --from and --to of SWF the zone in its header."""
    start: Annotated[str | None, Parameter(name="--from")] = None
    """The earliest submission: a date, as in 2024-03-01, or seconds after the first job.

    By default there is no limit.
    """
    end: Annotated[str | None, Parameter(name="--to")] = None
    """The first moment that is too late for a submission, likewise; by default there is none."""
    scale_load: float = 1.0
    """Factor of the load: interarrival times are that many times shorter."""
    smallest_need: Whole | None = None
    """Jobs that need fewer servers are left out; by default none, as with the next three."""
    largest_need: Whole | None = None
    """Largest need, in servers; by default any."""
    smallest_size: float | None = None
    """Smallest size, in seconds; by default any."""
    largest_size: float | None = None
    """Largest size, in seconds; by default any."""
    sacct_format: str | None = None
    """Of sacct, the fields: what was given to sacct --format. By default its header."""
    delimiter: str | None = None
    """Of sacct, what separates the fields: what was given to --delimiter. By default its header."""
    columns: str | None = None
    """Of tables, their names of the columns, as in need=cpus,size=runtime.

    By default the names that the documentation lists.
    """
    time_unit: str | None = None
    """Of tables, the unit of times that are plain numbers: s, ms, us or ns; by default s."""
    strict: Annotated[bool, Parameter(negative=())] = False
    """Refuse a log with a row that would be dropped or repaired."""


def read_log(path: str, reading: Reading | None = None) -> JobLog:
    """Read the log as the options say.

    Raises:
        LogError: what `quickswap.logs.read` refuses, with options called as on the command line.
    """
    from quickswap.logs import LogError, read

    try:
        log = read(path, **_keywords(reading or Reading()))
    except LogError as error:
        raise LogError(as_log_options(str(error))) from None
    facts = tuple(map(as_log_options, log.report.facts))
    return replace(log, report=replace(log.report, facts=facts))


def given(options: object | None) -> list[str]:
    """Return the options that are not as by default, as they are written: `--unit node`.

    `options` is a `Reading`, or another dataclass of options with defaults, or None.
    """
    import shlex

    if options is None:
        return []
    defaults, found = vars(type(options)()), []
    for name, value in vars(options).items():
        if value != defaults[name]:
            option = _option(name)
            found.append(option if value is True else f"{option} {shlex.quote(str(value))}")
    return found


_NAMES = {"start": "from", "end": "to"}
"""Options that have another name than the argument of `read`."""


def as_log_options(text: str) -> str:
    """Return what the readers say with their arguments called as on the command line."""
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
    """Return a number if the text is one, else the date as it is."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _columns(text: str | None) -> dict[str, str] | None:
    """Return the names of columns that the text gives."""
    from quickswap.logs import LogError

    found: dict[str, str] = {}
    words = _listed("--columns", text)
    for word in words or []:
        name, equals, own = (each.strip() for each in word.partition("="))
        if not (name and equals and own):
            raise LogError(
                f"--columns is {text!r}; give the column meant and the table's name of it, as in "
                "need=cpus,size=runtime."
            )
        if name in found:
            raise LogError(f"--columns gives {name} twice: {text!r}.")
        found[name] = own
    return None if words is None else found


def _listed(option: str, text: str | None) -> list[str] | None:
    """Return what stands between commas, none of it empty."""
    from quickswap.logs import LogError

    if text is None:
        return None
    words = text.split(",")
    if not all(map(str.strip, words)):
        raise LogError(f"{option} is {text!r}, with nothing before, between or after commas.")
    return words
