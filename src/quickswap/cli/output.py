"""Tables and JSON on standard output: colours on a terminal, plain text in a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from quickswap._tables import Page, is_number
from quickswap.cli.streams import as_written
from quickswap.errors import ModelError, QuickswapError

if TYPE_CHECKING:
    from quickswap.model.system import System

__all__ = [
    "check_drawable",
    "emit",
    "print_json",
    "print_page",
    "print_table",
    "say",
    "writing_files",
]

PIPE_WIDTH = 1000
"""Columns of a table that does not go to a terminal: wide enough that nothing wraps."""
GAP = 2
"""Blanks between columns."""
PROSE = 36
"""Characters from which cells are sentences, which may be wrapped to this width."""

Rows = Sequence[Sequence[str]]


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], text: int = 1) -> None:
    """Print a table; the first `text` columns and the last one, if not a number, align left.

    On a narrow terminal headers and sentences wrap. If that is not enough, the columns are split
    into several tables, each of which begins with the first `text` columns.
    """
    columns = [as_written(name) for name in columns]
    table = [[as_written(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console

        room = Console().width
        for number, (part, widths) in enumerate(_parts(columns, table, text, room)):
            if number:
                print()
            _print(columns, table, text, part, widths)
    else:
        _print(columns, table, text, range(len(columns)), None)


def print_page(page: Page) -> None:
    """Print the lines and tables of a page."""
    for part in page:
        if isinstance(part, str):
            print(part)
            continue
        if part.title:
            print(part.title)
        print_table(part.columns, part.rows, part.text)


def say(kind: str, text: str) -> None:
    """Print a sentence on standard error."""
    print(f"quickswap: {kind}: {text}", file=sys.stderr, flush=True)


def _print(
    columns: Sequence[str],
    rows: Rows,
    text: int,
    part: Sequence[int],
    widths: Sequence[int] | None,
) -> None:
    """Print some of the columns, in natural width unless widths are given."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for index, position in enumerate(part):
        words = position < text or not all(is_number(row[position]) for row in rows)
        table.add_column(
            columns[position],
            justify="left" if words else "right",
            width=None if widths is None else widths[index],
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(row[position] for position in part))
    room = PIPE_WIDTH if widths is None else sum(widths) + GAP * len(widths)
    console = Console(width=room, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        console.print(table)
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def _parts(
    columns: Sequence[str], rows: Rows, text: int, room: int
) -> list[tuple[list[int], list[int]]]:
    """Return the columns and widths of each table, so each table fits the terminal."""
    from rich.cells import cell_len

    cells = [max([cell_len(row[i]) for row in rows], default=0) for i in range(len(columns))]
    natural = [max(cell_len(name), cell) for name, cell in zip(columns, cells, strict=True)]
    least = [
        max([min(cell, PROSE), *map(cell_len, name.split())])
        for name, cell in zip(columns, cells, strict=True)
    ]
    keys = list(range(text))
    parts, part = [], list(keys)
    for position in range(text, len(columns)):
        if len(part) > text and _total([least[i] for i in (*part, position)]) > room:
            parts.append(part)
            part = list(keys)
        part.append(position)
    parts.append(part)
    return [(part, _widths(part, natural, least, room)) for part in parts]


def _widths(
    part: Sequence[int], natural: Sequence[int], least: Sequence[int], room: int
) -> list[int]:
    """Return the widths of columns: the least width, plus spare room from the last column on."""
    widths = [least[i] for i in part]
    for index in reversed(range(len(part))):
        left = room - _total(widths)
        widths[index] += max(0, min(left, natural[part[index]] - widths[index]))
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def print_json(data: object) -> None:
    """Print JSON; non-finite numbers become null."""
    from msgspec import json

    _print_file(json.format(json.encode(data), indent=2).decode() + "\n")


def _print_file(text: str) -> None:
    """Print text for programs: in UTF-8, as in files, whatever the locale."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    buffer.write(text.encode("utf-8", "backslashreplace"))


@contextmanager
def writing_files(
    interruption: KeyboardInterrupt | None = None,
) -> Iterator[Callable[[Callable[[], object]], bool]]:
    """Write several files, so after a failure the others and the table are still written.

    The function yielded writes one file and returns whether that succeeded. The first failure is
    raised at the end of the block, after the others have been printed; after Ctrl-C all are
    printed, and the interruption is raised.

    Raises:
        QuickswapError: the first failure.
    """
    failures: list[QuickswapError] = []

    def attempt(write: Callable[[], object]) -> bool:
        try:
            write()
        except QuickswapError as error:
            failures.append(error)
            return False
        return True

    try:
        yield attempt
        if interruption is not None:
            raise interruption
    except KeyboardInterrupt:
        for failure in failures:
            say("error", str(failure))
        raise
    for failure in failures[1:]:
        say("error", str(failure))
    if failures:
        raise failures[0]


def emit(path: Path | None, text: Callable[[], str]) -> None:
    """Write text to a file, whole or not at all, or to standard output if the path is "-"."""
    if path is None:
        return
    if str(path) == "-":
        _print_file(text().rstrip("\n") + "\n")
        return
    from quickswap.files import write_text

    write_text(path, text().rstrip("\n") + "\n")


def check_drawable(path: Path, system: System, model: str) -> None:
    """Reject the format of a figure, or a system that is not one-or-all."""
    from quickswap.plotting import check_format
    from quickswap.theory.conditions import is_exclusive

    check_format(path)
    if not is_exclusive(system):
        raise ModelError(
            f"--plot requires a one-or-all system, and {model} is not one: leave --plot out."
        )
