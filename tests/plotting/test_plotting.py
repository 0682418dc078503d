"""Lines of a figure are told apart, however many there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

import quickswap as qs
from quickswap.plotting import comparison as compared
from quickswap.plotting import experiment as reproduced
from quickswap.plotting.marks import look_of
from quickswap.reproduction.draining import FIGURES

SERIES = 9


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that were to be saved."""
    figures: list[Figure] = []
    for module in (compared, reproduced):
        monkeypatch.setattr(module, "save", lambda figure, path: figures.append(figure))
    return figures


def looks(axes: Axes) -> list[tuple[object, ...]]:
    """Colour, marker and dashes of each line with intervals."""
    lines = [each.lines[0] for each in axes.containers if isinstance(each, ErrorbarContainer)]
    return [(line.get_color(), line.get_marker(), str(line.get_linestyle())) for line in lines]


def test_policies_that_are_compared(drawn: list[Figure], tmp_path: Path) -> None:
    policies = [f"smash:window={window}" for window in range(1, SERIES + 1)]
    comparison = qs.compare("four-class", policies, loads=[0.3], jobs=2_000)
    compared.plot_comparison(comparison, tmp_path / "figure.svg")
    found = looks(drawn[0].axes[0])
    assert len(found) == len(set(found)) == SERIES


def test_series_of_an_experiment() -> None:
    """One entry of the legend a label: each has a look of its own."""
    for figure in FIGURES:
        styles = {series.label: style for style, series in reproduced._styled(figure)}
        each = [str(look_of(style)) for style in styles.values()]
        assert len(each) == len(set(each))
