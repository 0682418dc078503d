"""The drawer: lines can be distinguished, and every value has a scale it fits on."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

import quickswap as qs
from plot_helpers import crosses, labels, xs, ys
from quickswap.plotting import Axis, Chart, Line, Mark, Panel, draw, plot_comparison, results
from quickswap.plotting.style import look_of

PANELS = (Panel("left", "mean_response_time"), Panel("right", "jain_index"))


def chart(*lines: Line, axis: Axis | None = None, limit: float | None = None) -> Chart:
    return Chart(axis or Axis("load"), PANELS, lines, limit)


def line(label: str, *values: float, verdict: str = "stable") -> Line:
    """Return a line with the values at 1, 2, 3 and so on."""
    return Line(
        label,
        tuple(
            Mark(float(x), (qs.Estimate(y, 0.1 * y), qs.Estimate(0.5, 0.0)), verdict)
            for x, y in enumerate(values, start=1)
        ),
    )


def looks(axes: Axes) -> list[tuple[object, ...]]:
    """Colour, marker and dashes of each line with intervals."""
    lines = [each.lines[0] for each in axes.containers if isinstance(each, ErrorbarContainer)]
    return [(line.get_color(), line.get_marker(), str(line.get_linestyle())) for line in lines]


def test_each_line_has_a_look_of_its_own() -> None:
    figure = draw(chart(*(line(str(number), 1.0, 2.0) for number in range(14))))
    for axes in figure.axes:
        found = looks(axes)
        assert len(set(found)) == len(found) == 14


def test_lines_of_one_label_share_look_and_entry() -> None:
    curve = Line("exact", line("", 1.0, 2.0).marks, look="exact")
    figure = draw(chart(line("MSF", 1.0, 2.0), curve, curve, line("FCFS", 2.0, 3.0)))
    assert labels(figure) == ["MSF", "exact", "FCFS"]
    assert [colour for colour, *_ in looks(figure.axes[0])] == [
        look_of(number)["color"] for number in (0, 1)
    ]


def test_panels_have_their_scales() -> None:
    left, right = draw(chart(line("MSF", 1.0, 200.0))).axes
    assert (left.get_yscale(), right.get_yscale()) == ("log", "linear")
    assert right.get_ylim() == (0.0, 1.05)
    assert left.get_ylabel() == "mean response time [s]"


@pytest.mark.parametrize("values", [(0.0, 0.0), (0.0, math.nan), (math.nan, math.nan)])
def test_a_panel_without_a_positive_value_is_drawn(
    values: tuple[float, ...], tmp_path: Path
) -> None:
    """A logarithmic axis cannot show 0, and a class without completions has no other value."""
    draw(chart(line("MSF", *values)), [tmp_path / "a.png", tmp_path / "a.svg"])
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_the_axis_of_wide_values_is_logarithmic_and_shows_0() -> None:
    assert Axis.of("risk", [0.01, 1.0], log=True) == Axis("risk", "log", (0.01, 1.0))
    assert Axis.of("risk", [0.0, 1.0], log=True).scale == "symlog"
    assert Axis.of("load", [0.5]).ticks == (0.5,)
    assert Axis.of("load", [0.5, 0.6]) == Axis("load")
    axis = Axis.of("risk", [1.0, 2.0, 4.0], log=True)
    axes = draw(chart(line("MSF", 1.0, 2.0), axis=axis)).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "4"]
    close = Axis.of("overrun", [0.03, 0.3, 0.9, 0.97], log=True)
    axes = draw(chart(line("MSF", 1.0, 2.0), axis=close)).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.03", "0.3", "0.9"]


def test_the_limit_is_shown_where_points_come_near() -> None:
    near, far = (draw(chart(line("MSF", 1.0, 2.0), limit=limit)) for limit in (2.5, 5.0))
    dotted = [
        [each for each in figure.axes[0].lines if xs(each) == [2.5, 2.5]] for figure in (near,)
    ]
    assert dotted[0]
    assert "capacity" in near.get_supxlabel()
    assert far.get_supxlabel() == ""


def test_a_curve_may_emphasise_one_mark() -> None:
    curve = Line("drain", line("", 3.0, 1.0, 2.0).marks, look="curve", best=1)
    (found,) = (each for each in draw(chart(curve)).axes[0].lines if each.get_label() == "drain")
    assert found.get_markevery() == [1]
    assert ys(found) == [3.0, 1.0, 2.0]


def test_policies_that_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Chart] = []
    monkeypatch.setattr(results, "draw", lambda chart, paths: drawn.append(chart))
    comparison = qs.compare("four-class", ["msf", "nmsr"], loads=[0.3, 0.6], jobs=2_000)
    plot_comparison(comparison, tmp_path / "figure.svg")
    (found,) = drawn
    assert [each.label for each in found.lines] == ["MSF", "nMSR"]
    for each in found.lines:
        for mark, load in zip(each.marks, (0.3, 0.6), strict=True):
            (result,) = (
                one
                for one in comparison.results
                if one.policy_label == each.label and abs(one.system.load - load) < 1e-9
            )
            assert mark.x == result.system.load
            assert mark.verdict == result.verdict.status
            assert mark.estimates == (
                result.weighted_mean_response_time,
                result.mean_response_time,
            )


def test_unstable_points_are_crosses_one_policy_below_the_other() -> None:
    unstable = [line(name, math.nan, math.nan, verdict="unstable") for name in ("A", "B")]
    axes = draw(chart(line("MSF", 1.0, 2.0), *unstable)).axes[0]
    assert crosses(axes) == [[1.0, 2.0], [1.0, 2.0]]
    heights = {ys(each)[0] for each in axes.lines if each.get_marker() == "x"}
    assert len(heights) == 2


def test_text_is_drawn_as_it_is(tmp_path: Path) -> None:
    """A name is no formula, and a leading underscore hides nothing."""
    names = [r"$\nothing$", "_hidden", "5 $"]
    figure = draw(chart(*(line(name, 1.0, 1e9) for name in names)), [tmp_path / "a.svg"])
    assert labels(figure) == names
    ticks = [each.get_text() for each in figure.axes[0].get_yticklabels()]
    assert "10⁸" in ticks
    assert not any("$" in each for each in ticks)


def test_the_environment_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw(chart(line("MSF", 1.0, 2.0)), [tmp_path / "plain.svg"])
    monkeypatch.setenv("MPLBACKEND", "module://there.is.none")
    with matplotlib.rc_context({"text.usetex": True, "font.size": 30, "axes.grid": False}):
        draw(chart(line("MSF", 1.0, 2.0)), [tmp_path / "other.svg"])
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()


def test_a_failure_of_the_library_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("no font")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(qs.QuickswapError, match="no font"):
        draw(chart(line("MSF", 1.0, 2.0)), [tmp_path / "a.svg"])
    assert not list(tmp_path.iterdir())
