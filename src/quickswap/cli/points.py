"""What `sweep`, `reproduce` and `tune` share: where points run, and how far they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from quickswap.experiments.outcomes import Advance

__all__ = ["bar", "duration", "executor", "points_done"]


@contextmanager
def executor(address: str | None) -> Iterator[Executor | None]:
    """Connect to a Dask scheduler while the block runs, if there is an address."""
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
            "--dask needs the package distributed: install quickswap[distributed]."
        ) from None
    connect: Callable[..., Any] = distributed.Client  # it has no types
    try:
        client = connect(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise QuickswapError(f"no Dask scheduler answers at {address}: {error}.") from None
    with client:
        yield client.get_executor()


def points_done(advance: Advance) -> str:
    """Return how far a sweep is."""
    from quickswap._words import counted

    left = duration(advance.seconds_left)
    return f"{advance.done:,} of {counted(advance.points, 'point', ',')}, {left}"


@contextmanager
def bar(
    what: str, words: Callable[[Any], str] = points_done
) -> Iterator[Callable[[Any], None] | None]:
    """Show how far it is on standard error, if that is a terminal.

    Args:
        what: is being done.
        words: from what is reported, which has a share, to what is said beside the bar.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    said = TextColumn("{task.fields[said]}")
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), said)
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=1.0, said="")

        def report(advance: Any) -> None:
            shown.update(task, completed=advance.share, said=words(advance))

        yield report


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if not seconds >= 0:
        return "time left unknown yet"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02} min left"
    return f"{minutes} min {rest:02} s left" if minutes else f"{rest} s left"
