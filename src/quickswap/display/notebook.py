"""Systems and results as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from quickswap._tables import Page, TextTable, is_number
from quickswap.display.replays import replay_page
from quickswap.display.simulations import comparison_page, result_page
from quickswap.display.sweeps import sweep_page
from quickswap.display.systems import system_page
from quickswap.display.tuned_logs import log_tuning_page
from quickswap.display.tuning import tuning_page
from quickswap.model.system import System
from quickswap.replays.result import ReplayComparison, ReplayResult
from quickswap.simulation.comparison import Comparison
from quickswap.simulation.result import Result
from quickswap.sweeps.run import Sweep
from quickswap.tuning.for_logs import LogTuning
from quickswap.tuning.result import Tuning

__all__ = ["html", "page_of"]


def page_of(found: object) -> Page:
    """Return the page of a system or of a result."""
    match found:
        case System():
            return system_page(found)
        case Result():
            return result_page(found)
        case Comparison():
            return comparison_page(found)
        case Sweep():
            return sweep_page(found)
        case Tuning():
            return tuning_page(found)
        case LogTuning():
            return log_tuning_page(found)
        case ReplayResult():
            return replay_page(ReplayComparison((found,), found.seconds))
        case ReplayComparison():
            return replay_page(found)
    raise TypeError(f"{type(found).__name__} has no page")


def html(page: Page) -> str:
    """Return a page as HTML."""
    return "\n".join(_parts(page))


def _parts(page: Page) -> Iterator[str]:
    lines: list[str] = []
    for part in (*page, None):
        if isinstance(part, str):
            lines.append(part)
            continue
        if text := "\n".join(lines).strip("\n"):
            yield f"<pre>{escape(text)}</pre>"
        lines = []
        if part is not None:
            yield from _html_table(part)


def _html_table(table: TextTable) -> Iterator[str]:
    words = [
        position < table.text or not all(is_number(row[position]) for row in table.rows)
        for position in range(len(table.columns))
    ]

    def row(kind: str, cells: Sequence[str]) -> str:
        sides = ("left" if each else "right" for each in words)
        filled = zip(sides, cells, strict=True)
        inside = (
            f'<{kind} style="text-align: {side}">{escape(cell)}</{kind}>' for side, cell in filled
        )
        return f"<tr>{''.join(inside)}</tr>"

    yield "<table>"
    if table.title:
        yield f"<caption>{escape(table.title)}</caption>"
    yield f"<thead>{row('th', table.columns)}</thead>"
    yield f"<tbody>{''.join(row('td', each) for each in table.rows if any(each))}</tbody>"
    yield "</table>"
