"""Progress bars of long work, in terminals and notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["duration", "jobs_bar", "shows", "work_bar"]

Arguments = ParamSpec("Arguments")
Found = TypeVar("Found")
Bar = AbstractContextManager[Callable[..., None] | None]


def shows(
    bar: Callable[[str], Bar], what: str
) -> Callable[[Callable[Arguments, Found]], Callable[Arguments, Found]]:
    """Decorate a function so that `progress=True` shows a bar while it runs."""

    def decorate(function: Callable[Arguments, Found]) -> Callable[Arguments, Found]:
        @wraps(function)
        def shown(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Found:
            if kwargs.get("progress") is not True:
                return function(*args, **kwargs)
            with bar(what) as report:
                kwargs["progress"] = report
                return function(*args, **kwargs)

        return shown

    return decorate


@contextmanager
def jobs_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar with the time left, for jobs done of a total."""
    with _bar(what, total=None) as update:
        yield update and (lambda done, total: update(completed=done, total=total))


@contextmanager
def work_bar(what: str) -> Iterator[Callable[[Any], None] | None]:
    """Show a progress bar for a `SweepProgress` or `TuningProgress`, with its text."""
    with _bar(what, total=1.0) as update:
        yield update and (lambda each: update(completed=each.share, words=str(each)))


@contextmanager
def _bar(what: str, total: float | None) -> Iterator[Callable[..., None] | None]:
    """Show a bar on standard error, if that is a terminal, or in a notebook.

    Without a total it has the time left.
    """
    if not sys.stderr.isatty() and "ipykernel" not in sys.modules:
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
