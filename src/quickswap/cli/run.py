"""What `simulate` and `compare` share: settings, progress, files to write."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from quickswap.errors import QuickswapError

__all__ = [
    "Output",
    "SaidError",
    "Settings",
    "Whole",
    "as_options",
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
        raise ValueError(f"{text!r} is no whole number: give one as in 100 or 1e6")
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
    """Simulate until the relative half-width is at most this and the run no longer too short.

    By default until all --jobs have completed.
    """
    precision_of: str = "mean"
    """The half-width of what: mean, weighted (that as well) or classes (those and every class)."""
    seed: Whole = 1
    """Equal seeds give equal results, byte by byte."""
    engine: str = "auto"
    """auto, jumps (exponential sizes, Poisson arrivals: fastest) or events (anything)."""
    replications: Whole = 4
    """Independent runs that each simulation consists of."""
    threads: Whole | None = None
    """Threads to use; all cores by default. Does not change the result."""
    warmup: str = "0.1"
    """Share of each replication that is cut off, or mser5."""
    slowdown_bound: float = 10.0
    """Sizes below this count as this in the bounded slowdown, seconds."""
    max_in_system: Whole = 1_000_000
    """A replication with more jobs in the system is ended."""
    allow_unstable: Annotated[bool, Parameter(negative=())] = False
    """Simulate even where no policy can be stable, and to the end."""
    debug: Annotated[bool, Parameter(negative=())] = False
    """Check every event: servers, conservation of jobs, order in class, Little's law."""


def keywords(settings: Settings | None) -> dict[str, Any]:
    """Return the settings as arguments of `quickswap.simulate`."""
    settings = settings or Settings()
    return {**vars(settings), "warmup": share_or_name(settings.warmup)}


def share_or_name(text: str) -> float | str:
    """Return a number if the text is one."""
    try:
        return float(text)
    except ValueError:
        return text


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar on standard error while the block runs, if that is a terminal."""
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


class SaidError(QuickswapError):
    """A mistake whose sentence calls all as the user does: nothing in it is to be renamed."""


def as_options(text: str, given: Iterable[str] | None = None) -> str:
    """Return a sentence with the settings called what the command line calls them.

    `given` are the settings that options gave; None is all of them.
    """
    text = re.sub(r"\bload_factors?\b", "--load-factors", text)
    known = [field.name for field in fields(Settings) if "_" in field.name]
    names = "|".join(known if given is None else set(known) & set(given)) or r"\b\B"
    return re.sub(rf"\b({names})(=True)?\b", lambda m: "--" + m[1].replace("_", "-"), text)


def check_writable(*paths: Path | None, sources: Iterable[str | Path | None]) -> None:
    """Refuse files that cannot be written, before any long work is done.

    `sources` is what the command reads, and its store: files, which need not exist yet, or as text
    files and names of presets.
    """
    from quickswap.files import check_file, same_file

    read = [each for each in sources if isinstance(each, Path) or (each and os.path.exists(each))]
    taken: list[Path] = []
    for path in filter(None, paths):
        stream = str(path) == "-"
        if not stream and any(same_file(path, each) for each in read):
            raise QuickswapError(f"{path} is what is read: give an output a file of its own.")
        if any(path == each or (not stream and same_file(path, each)) for each in taken):
            raise QuickswapError(f"two outputs are to go to {path}: give each a file of its own.")
        taken.append(path)
        if not stream:
            check_file(path)


def files_of_stores(*stores: Path | None) -> list[Path]:
    """Return the files of stores: each has a journal beside it while it is written."""
    return [file for each in stores if each for file in (each, Path(f"{each}-journal"))]
