"""Colours, fonts and file formats that all figures share."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap.errors import QuickswapError

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
"""Matplotlib's warning about a letter that the font lacks."""
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
    """Return colour, marker and dash of a line; beyond the colours they are combined anew."""
    again = number // len(COLOURS)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[(number + again) % len(MARKERS)],
        "linestyle": DASHES[(number + 2 * again) % len(DASHES)],
    }


def check_format(path: str | Path) -> None:
    """Refuse a file whose ending is not a format of figures.

    Raises:
        QuickswapError: with the endings that are.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        given = repr(ending) if ending else "none"
        raise QuickswapError(f"the ending of {path} is {given}; it must be {', '.join(FORMATS)}.")


@contextmanager
def own_settings(changes: Mapping[str, Any]) -> Iterator[None]:
    """Draw with the settings of this package alone while the block runs.

    A matplotlibrc, the styles of a notebook and MPLBACKEND have no effect.

    Args:
        changes: settings beside `STYLE`.

    Raises:
        QuickswapError: the plotting library fails.
    """
    # a notebook sets MPLBACKEND for every command it starts, even where that backend is missing
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
    """Write a figure in the format of the file's ending; no date, so that files can be compared."""
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    figure.savefig(path, dpi=200, metadata=dates.get(path.suffix.lower()))


@contextmanager
def report_missing_letters() -> Iterator[None]:
    """Warn in one sentence of letters that the font lacks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing: dict[str, None] = {}
    for each in caught:
        if found := MISSING.match(str(each.message)):
            missing[chr(int(found[1]))] = None
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if missing:
        letters = ", ".join(missing)
        warnings.warn(
            f"the font of figures lacks {letters}: a box stands for each of them.", stacklevel=2
        )
