"""Executor and progress bar of `sweep`, `reproduce` and `tune`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from quickswap.sweeps.run import SweepProgress

__all__ = ["bar", "duration", "executor", "points_done"]


@contextmanager
def executor(address: str | None) -> Iterator[Executor | None]:
    """Connect to a Dask scheduler while the block runs, if an address is given."""
    if address is None:
        yield None
        return
    from quickswap.errors import QuickswapError

    if not address.strip():
        raise QuickswapError("--dask is empty: give the address of a scheduler, host and port.")
    try:
        import distributed
    except ImportError:
        raise QuickswapError(
            "--dask requires the package distributed: install quickswap[distributed]."
        ) from None
    connect: Callable[..., Any] = distributed.Client  # it has no types
    try:
        client = connect(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise QuickswapError(f"--dask is {address}, where no scheduler answers: {error}.") from None
    with client:
        yield client.get_executor()


def points_done(progress: SweepProgress) -> str:
    """Return the progress of a sweep in words."""
    from quickswap._words import counted

    left = duration(progress.seconds_left)
    return f"{progress.done:,} of {counted(progress.points, 'point', ',')}, {left}"


@contextmanager
def bar(
    what: str, words: Callable[[Any], str] = points_done
) -> Iterator[Callable[[Any], None] | None]:
    """Show a progress bar on standard error, if it is a terminal.

    Args:
        what: title of the bar.
        words: returns the text beside the bar for a `SweepProgress` or `TuningProgress`.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    text = TextColumn("{task.fields[words]}")
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), text)
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=1.0, words="")

        def report(progress: Any) -> None:
            shown.update(task, completed=progress.share, words=words(progress))

        yield report


def duration(seconds: float) -> str:
    """Return the time left in words."""
    if not seconds >= 0:
        return "time left unknown"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02} min left"
    return f"{minutes} min {rest:02} s left" if minutes else f"{rest} s left"
