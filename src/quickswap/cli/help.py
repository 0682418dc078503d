"""The layout of `--help`: names on the left, their meaning beside them."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

__all__ = ["Layout"]

WIDEST = 100
"""Characters of a line at most: longer lines are hard to read."""
NAMES = 24
"""Characters of the column of names at most; a third of a narrow terminal."""
INDENT = 2


class Layout:
    """Prints help as plain text; implements the help formatter of cyclopts."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print a group of commands or options."""
        if not panel.entries:
            return
        width = min(console.width, WIDEST)
        entries = [(_name(panel, each), _meaning(each)) for each in panel.entries]
        names = max(len(name) for name, _ in entries) + 2 * INDENT
        column = min(names, NAMES, width // 3)
        title = _wrapped(f"{_text(panel.title)}:", width) if panel.title else []
        lines = [line for entry in entries for line in _entry(*entry, column, width)]
        _print(console, "\n".join([*title, *lines, ""]))

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """Print the usage of a command."""
        if usage:
            text = _text(usage)
            self._paragraph(console, text if text.startswith("Usage:") else f"Usage: {text}")

    def render_description(
        self, console: Console, options: ConsoleOptions, description: Any
    ) -> None:
        """Print the description of a command."""
        if description:
            self._paragraph(console, _text(description))

    def _paragraph(self, console: Console, text: str) -> None:
        _print(console, "\n".join(_wrapped(text, min(console.width, WIDEST))) + "\n")


def _name(panel: HelpPanel, entry: HelpEntry) -> str:
    labels = entry.display_labels_with_metavar if panel.format == "parameter" else entry.names
    shorts = () if panel.format == "parameter" else entry.shorts
    return ", ".join([*labels, *shorts])


def _meaning(entry: HelpEntry) -> str:
    """Return the meaning and the default of an option; flags are off by default."""
    words = [_text(entry.description)]
    if entry.default not in (None, "False"):
        value = "on" if entry.default == "True" else entry.default
        words.append(f"[default:\N{NO-BREAK SPACE}{value}]")
    if entry.required:
        words.append("[required]")
    return " ".join(words)


def _entry(name: str, meaning: str, column: int, width: int) -> Iterator[str]:
    """Yield the lines of an entry; a name too long for its column has its own line."""
    lines = _wrapped(meaning, width - column)
    start = " " * INDENT + name
    if len(start) + INDENT <= column and lines:
        yield f"{start:{column}}{lines.pop(0)}"
    else:
        yield start
    yield from (" " * column + line for line in lines)


def _wrapped(text: str, width: int) -> list[str]:
    """Return lines; options and ranges are not broken at their hyphens."""
    text = text.replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(text, max(width, 10), break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _text(content: Any) -> str:
    """Return content on one line, without the line ends of docstrings."""
    from rich.console import Console

    wide = Console(file=io.StringIO(), width=10_000, color_system=None, markup=False, emoji=False)
    with wide.capture() as capture:
        wide.print(content or "")
    return " ".join(capture.get().split())


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)
