"""Settings of a simulation, progress and output files, for several commands."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from quickswap.errors import QuickswapError

__all__ = [
    "Output",
    "Settings",
    "Whole",
    "check_writable",
    "files_of_stores",
    "keywords",
    "progress",
    "share_or_name",
]


def whole(_: Any, tokens: Sequence[Any]) -> int:
    """Read a whole number, written as in 1000000, 1_000_000 or 1e6."""
    text = tokens[0].value
    with suppress(ValueError):
        return int(text)  # exactly, however large
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ValueError(f"{text!r} is not a whole number: write it as in 100 or 1e6")
    return int(number)


Whole = Annotated[int, Parameter(converter=whole)]
Output = Annotated[Path | None, Parameter(allow_leading_hyphen=True)]
"""A file to write, or - for standard output."""


@Parameter(name="*")
@dataclass(frozen=True)
class Settings:
    """How to simulate."""

    jobs: Whole | None = None
    """Completions of each simulation, over all its replications; with --precision, the most.

    By default 1,000,000, of compare 15,000,000, and with --precision 100,000,000.
    """
    precision: float | None = None
    """Simulate until the relative half-width is at most this and the run is long enough.

    By default until all --jobs have completed.
    """
    precision_of: str = "mean"
    """The half-widths that count: mean, weighted (both means) or classes (all means)."""
    seed: Whole = 1
    """Equal seeds give equal results, byte by byte."""
    engine: str = "auto"
    """auto, jumps (exponential sizes, Poisson arrivals: fastest) or events (anything)."""
    replications: Whole = 4
    """Independent runs of each simulation."""
    threads: Whole | None = None
    """Threads to use; all cores by default. Does not change the result."""
    warmup: str = "0.1"
    """Share of each replication that is discarded at its start, or mser5."""
    slowdown_bound: float = 10.0
    """Least size in the bounded slowdown, in seconds; smaller sizes are raised to it."""
    max_in_system: Whole = 1_000_000
    """A replication with more jobs in the system terminates."""
    allow_unstable: Annotated[bool, Parameter(negative=())] = False
    """Simulate to the end even where no policy is stable."""
    debug: Annotated[bool, Parameter(negative=())] = False
    """Check every event: servers, conservation of jobs, order in class, Little's law."""


def keywords(settings: Settings | None) -> dict[str, Any]:
    """Return the settings as arguments of `quickswap.simulate`."""
    settings = settings or Settings()
    return {**vars(settings), "warmup": share_or_name(settings.warmup)}


def share_or_name(text: str) -> float | str:
    """Return the text as a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar on standard error while the block runs, if it is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def check_writable(*paths: Path | None, sources: Iterable[str | Path | None]) -> None:
    """Refuse files that cannot be written, before any long work.

    `sources` are the inputs and the store of the command: paths, which need not exist yet, or
    text, which may be the name of a preset.
    """
    from quickswap.files import check_file, same_file

    read = [each for each in sources if isinstance(each, Path) or (each and os.path.exists(each))]
    taken: list[Path] = []
    for path in filter(None, paths):
        stream = str(path) == "-"
        if not stream and any(same_file(path, each) for each in read):
            raise QuickswapError(f"{path} is an input: give the output another file.")
        if any(path == each or (not stream and same_file(path, each)) for each in taken):
            raise QuickswapError(f"{path} is given for two outputs: give each its own file.")
        taken.append(path)
        if not stream:
            check_file(path)


def files_of_stores(*stores: Path | None) -> list[Path]:
    """Return the files of stores: each one and its journal, which exists during a write."""
    return [file for each in stores if each for file in (each, Path(f"{each}-journal"))]
