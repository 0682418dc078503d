"""The running of a command: progress bars, executors, and partial results after Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from quickswap.errors import Interrupted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from quickswap.sweeps.run import SweepProgress

__all__ = ["bar", "duration", "executor", "points_done", "progress", "until_interrupted"]

Found = TypeVar("Found")


def until_interrupted(work: Callable[[], Found]) -> tuple[Found, Interrupted[Any] | None]:
    """Return the result of work, partial after Ctrl-C, and the interruption to raise later.

    Raises:
        Interrupted: Ctrl-C before there was any result.
    """
    try:
        return work(), None
    except Interrupted as interrupted:
        if interrupted.result is None:
            raise
        return cast("Found", interrupted.result), interrupted


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
    connect: Callable[..., Any] = distributed.Client  # the library has no types
    try:
        client = connect(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise QuickswapError(
            f"--dask is {address}, but no scheduler responds there: {error}."
        ) from None
    with client:
        yield client.get_executor()


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar with the time left, for jobs done of a total."""
    with _bar(what, total=None) as update:
        yield update and (lambda done, total: update(completed=done, total=total))


def points_done(progress: SweepProgress) -> str:
    """Return the text of the progress of a sweep."""
    from quickswap._words import counted

    left = duration(progress.seconds_left)
    return f"{progress.done:,} of {counted(progress.points, 'point', ',')}, {left}"


@contextmanager
def bar(
    what: str, words: Callable[[Any], str] = points_done
) -> Iterator[Callable[[Any], None] | None]:
    """Show a progress bar for a `SweepProgress` or `TuningProgress`.

    Args:
        what: title of the bar.
        words: returns the text next to the bar.
    """
    with _bar(what, total=1.0) as update:
        yield update and (lambda each: update(completed=each.share, words=words(each)))


@contextmanager
def _bar(what: str, total: float | None) -> Iterator[Callable[..., None] | None]:
    """Show a bar on standard error, if that is a terminal; without a total, with the time left."""
    if not sys.stderr.isatty():
        yield None
        return
    from functools import partial

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    last = TimeRemainingColumn() if total is None else TextColumn("{task.fields[words]}")
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), last)
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        yield partial(shown.update, shown.add_task(what, total=total, words=""))


def duration(seconds: float) -> str:
    """Return the text of the time left."""
    if not seconds >= 0:
        return "time left unknown"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02} min left"
    return f"{minutes} min {rest:02} s left" if minutes else f"{rest} s left"
