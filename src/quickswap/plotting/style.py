"""What all figures share: settings, colours that tell lines apart for everyone, files."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
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
    "letters_told",
    "own_settings",
    "save",
]

MISSING = re.compile(r"Glyph (\d+) .*missing from")
"""What matplotlib warns of for each letter."""
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
}
# Okabe and Ito's colours, for colour-blind readers; markers and dashes tell lines apart in grey
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def check_format(path: str | Path) -> None:
    """Refuse a file whose ending is no format of figures.

    Raises:
        QuickswapError: with the endings that are.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        given = repr(ending) if ending else "none"
        raise QuickswapError(f"the ending of {path} is {given}; it must be {', '.join(FORMATS)}.")


@contextmanager
def own_settings(changes: Mapping[str, Any] = MappingProxyType({})) -> Iterator[None]:
    """Draw with the settings of this package alone while the block runs.

    A matplotlibrc, the styles of a notebook and MPLBACKEND change nothing. Text is text: a `$` in
    the name of a class or policy does not begin a formula.

    Args:
        changes: settings beside `STYLE`.

    Raises:
        QuickswapError: the plotting library fails.
    """
    try:
        matplotlib = _import_matplotlib()
        plain = {
            key: value for key, value in matplotlib.rcParamsDefault.items() if key != "backend"
        }
        with matplotlib.rc_context(plain | STYLE | {"text.parse_math": False} | dict(changes)):
            yield
    except (OSError, QuickswapError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise QuickswapError(f"the figure cannot be drawn ({reason}).") from error


def _import_matplotlib() -> Any:
    """Import matplotlib also where MPLBACKEND names a backend that is not installed here.

    A notebook sets it for every command that it starts, whose environment may be another one.
    """
    named = os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib
    finally:
        if named is not None:
            os.environ["MPLBACKEND"] = named
    if named is not None:
        with suppress(ValueError):
            matplotlib.rcParams["backend"] = named
    return matplotlib


def save(figure: Figure, path: Path) -> None:
    """Write a figure; its format is what the file's ending says."""
    figure.savefig(path, dpi=200, metadata=_no_date(path))


@contextmanager
def letters_told(tell: Callable[[str], object]) -> Iterator[None]:
    """Tell in one sentence which letters the font lacks; boxes are drawn in their place."""
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
        tell(f"the font of figures lacks {', '.join(missing)}: a box stands for each of them.")


def _no_date(path: Path) -> dict[str, Any] | None:
    """Leave the date out, so that equal results give equal files."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
