"""Colours, fonts and file formats of all figures."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap.errors import QuickswapError, invalid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "STYLE",
    "check_format",
    "look_of",
    "own_settings",
    "report_missing_letters",
    "save",
]

MISSING = re.compile(r"Glyph (\d+) .*missing from")
"""The warning of Matplotlib about a letter that is missing from the font."""
FORMATS = (".svg", ".pdf", ".png")
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "quickswap",
    "text.parse_math": False,  # the name of a class or policy may contain a $
}
# Okabe and Ito's colours, for colour-blind readers; markers and dashes distinguish lines in grey
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def look_of(number: int) -> dict[str, Any]:
    """Return colour, marker and dash of a line; beyond the colours in new combinations."""
    again = number // len(COLOURS)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[(number + again) % len(MARKERS)],
        "linestyle": DASHES[(number + 2 * again) % len(DASHES)],
    }


def check_format(path: str | Path) -> None:
    """Reject a file whose ending is not a format of figures.

    Raises:
        QuickswapError: lists the endings that are.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        what = f"the extension of {path}"
        raise invalid(what, ending, f"one of {', '.join(FORMATS)}", QuickswapError)


@contextmanager
def own_settings(changes: Mapping[str, Any]) -> Iterator[None]:
    """Draw with the settings of this package while the block runs.

    They override a matplotlibrc, the styles of a notebook and MPLBACKEND.

    Args:
        changes: settings besides `STYLE`.

    Raises:
        QuickswapError: the plotting library fails.
    """
    # a notebook sets MPLBACKEND for every command it starts, even if that backend is missing
    backend = os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib
    finally:
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
    if backend is not None:
        with suppress(ValueError):
            matplotlib.rcParams["backend"] = backend
    defaults = {key: value for key, value in matplotlib.rcParamsDefault.items() if key != "backend"}
    try:
        with matplotlib.rc_context(defaults | STYLE | dict(changes)):
            yield
    except (OSError, QuickswapError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise QuickswapError(f"the figure cannot be drawn ({reason}).") from error


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the extension, without a date: equal figures, equal files."""
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    figure.savefig(path, dpi=200, metadata=dates.get(path.suffix.lower()))


@contextmanager
def report_missing_letters() -> Iterator[None]:
    """Warn once about letters that are missing from the font."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing: dict[str, None] = {}
    for each in caught:
        if match := MISSING.match(str(each.message)):
            missing[chr(int(match[1]))] = None
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if missing:
        letters = ", ".join(missing)
        warnings.warn(
            f"the font of figures lacks {letters}: each of them is drawn as a box.", stacklevel=2
        )
