"""Tables and JSON on standard output: colours on a terminal, plain text in a pipe or a file."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

__all__ = ["emit", "print_json", "print_table"]

PIPE_WIDTH = 1000
"""Columns of a table that does not go to a terminal: enough that nothing wraps."""


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], text: int = 1) -> None:
    """Print a table; the first `text` columns and the last one, if not a number, align left."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    rows = list(rows)
    for position, column in enumerate(columns):
        words = position < text or not all(_numeric(row[position]) for row in rows)
        table.add_column(column, justify="left" if words else "right")
    for row in rows:
        table.add_row(*row)
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else PIPE_WIDTH, highlight=False, markup=False)
    with console.capture() as capture:
        console.print(table)
    lines = (line.rstrip() if not terminal else line for line in capture.get().splitlines())
    print("\n".join(lines))


def print_json(data: object) -> None:
    """Print JSON; numbers that JSON has no word for, infinite or not a number, become null."""
    print(json.dumps(_finite(data), indent=2, allow_nan=False, ensure_ascii=False))


def _finite(data: object) -> object:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return data


def _numeric(text: str) -> bool:
    try:
        float(text.rstrip("%"))
    except ValueError:
        return not text
    return True


def emit(path: Path | None, text: Callable[[], str]) -> None:
    """Write text to a file, whole or not at all, or to standard output if the path is "-"."""
    if path is None:
        return
    if str(path) == "-":
        print(text().rstrip("\n"))
        return
    from quickswap.files import write_text

    write_text(path, text().rstrip("\n") + "\n")
