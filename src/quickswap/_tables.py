"""Tables as text, and pages of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Page", "TextTable", "is_number"]


@dataclass(frozen=True)
class TextTable:
    """A table as text.

    Attributes:
        columns: names of the columns.
        rows: one cell for each column.
        text: leading columns that align left.
        title: above the table.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: int = 1
    title: str = ""


Page = Sequence[str | TextTable]
"""Lines and tables; an empty line separates."""


def is_number(text: str) -> bool:
    """Whether a cell is a number, perhaps in percent, or empty."""
    try:
        float(text.rstrip("%"))
    except ValueError:
        return not text
    return True
