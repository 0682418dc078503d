"""Figures of stores: what is drawn is what the store holds, and the command `plot`."""

from __future__ import annotations

import math
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import quickswap as qs
from cli_helpers import run
from quickswap.experiments.chart import Chart, chart_of
from quickswap.experiments.metrics import METRICS, QUANTITIES, metric_of, value_of
from quickswap.plotting import plot_store
from verification.known import FOUR, one_or_all

LOADS = (0.4, 0.6, 0.8)
POLICIES = ["first-fit", "msf"]
THRESHOLDS = "static-quickswap:threshold=[0,2,4]"


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, qs.Grid]:
    """Two policies at three loads and one that nobody carries, with two seeds."""
    path = tmp_path_factory.mktemp("store") / "curves.db"
    grid = qs.Grid("four-class", POLICIES, loads=[*LOADS, 1.3], seeds=[1, 2], jobs=20_000)
    qs.sweep(grid, path)
    return path, grid


@pytest.fixture(scope="module")
def thresholds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy with a parameter, and one without, at one load."""
    path = tmp_path_factory.mktemp("store") / "thresholds.db"
    qs.sweep(qs.Grid("four-class", ["msf", THRESHOLDS], loads=0.5, jobs=20_000), path)
    return path


def bars(axes: Axes) -> dict[str, tuple[list[float], list[float], list[float], list[float]]]:
    """Return x, y, lower and upper ends of the intervals of each line that is drawn."""
    found = {}
    for each in axes.containers:
        assert isinstance(each, ErrorbarContainer)
        data, _, (ends,) = each.lines
        assert isinstance(data, Line2D)
        low, high = [], []
        for segment in ends.get_segments():
            low.append(float(segment[0][1]) if len(segment) else math.nan)
            high.append(float(segment[-1][1]) if len(segment) else math.nan)
        found[str(each.get_label())] = (xs(data), ys(data), low, high)
    return found


def xs(line: Line2D) -> list[float]:
    return [float(each) for each in np.asarray(line.get_xdata(), float)]


def ys(line: Line2D) -> list[float]:
    return [float(each) for each in np.asarray(line.get_ydata(), float)]


def crosses(axes: Axes) -> list[list[float]]:
    """Return where unstable points are marked, policy by policy."""
    return [xs(each) for each in axes.lines if each.get_marker() == "x"]


def labels(figure: Figure) -> list[str]:
    return [each.get_text() for each in figure.legends[0].get_texts()]


class TestDrawn:
    @pytest.mark.parametrize("metric", ["weighted", "mean", "jain"])
    def test_values_and_intervals_are_those_of_the_sweep(
        self, curves: tuple[Path, qs.Grid], metric: str
    ) -> None:
        path, grid = curves
        (axes,) = plot_store(path, metrics=metric).axes
        places = qs.sweep(grid, path).places
        drawn = bars(axes)
        assert list(drawn) == ["MSF", "First-Fit"]
        for policy, (x, y, low, high) in drawn.items():
            assert x[:3] == pytest.approx(LOADS)
            assert math.isnan(y[3])
            for place, value, least, most in zip(places[:3], y, low, high, strict=False):
                expected = place.estimate(policy, METRICS[metric])
                assert value == expected.value
                assert (least, most) == pytest.approx((expected.low, expected.high))

    def test_a_single_seed_is_its_result(self, thresholds: Path) -> None:
        (axes,) = plot_store(thresholds, metrics="p99").axes
        with qs.Store(thresholds) as store:
            for each in store:
                p99 = each.overall.response_time.p99
                if each.policy_label.startswith("Static"):
                    level = int(each.inputs.policy.partition("=")[2])
                    x, y, low, high = bars(axes)["Static Quickswap"]
                    place = x.index(level)
                    assert y[place] == p99.value
                    assert (low[place], high[place]) == pytest.approx((p99.low, p99.high))
                else:
                    (line,) = [one for one in axes.lines if one.get_label() == "MSF"]
                    assert set(ys(line)) == {p99.value}
                    (band,) = axes.patches
                    box = band.get_extents().transformed(axes.transData.inverted())
                    assert (box.y0, box.y1) == pytest.approx((p99.low, p99.high))

    def test_unstable_points_are_crosses_and_the_capacity_a_line(
        self, curves: tuple[Path, qs.Grid]
    ) -> None:
        figure = plot_store(curves[0], metrics="mean")
        (axes,) = figure.axes
        assert crosses(axes) == [[1.3], [1.3]]
        (limit,) = [each for each in axes.lines if each.get_linestyle() == ":"]
        assert xs(limit) == [1.0, 1.0]
        assert "cross: unstable" in figure.get_supxlabel()
        against_rate = plot_store(curves[0], metrics="mean", x="rate")
        (limit,) = [each for each in against_rate.axes[0].lines if each.get_linestyle() == ":"]
        assert xs(limit)[0] == pytest.approx(FOUR.capacity)

    def test_an_unstable_run_is_a_cross_without_a_value(self, tmp_path: Path) -> None:
        system = one_or_all(8, 3.0, 0.5)
        qs.sweep(qs.Grid(system, ["fcfs", "msfq:threshold=7"], jobs=400_000), tmp_path / "s.db")
        (axes,) = plot_store(tmp_path / "s.db", metrics="mean").axes
        drawn = bars(axes)
        assert math.isnan(drawn["FCFS"][1][0])
        assert math.isfinite(drawn["MSFQ(7)"][1][0])
        assert crosses(axes) == [[pytest.approx(system.load)]]

    def test_runs_that_are_too_short_are_hollow(self, tmp_path: Path) -> None:
        qs.sweep(qs.Grid(FOUR, "msf", loads=[0.5, 0.9], jobs=300), tmp_path / "s.db")
        figure = plot_store(tmp_path / "s.db", metrics="mean")
        with qs.Store(tmp_path / "s.db") as store:
            short = [each for each in store if each.verdict.status == "too short"]
        assert short
        (hollow,) = [
            each
            for each in figure.axes[0].lines
            if each.get_markerfacecolor() == "white" and xs(each)
        ]
        assert sorted(xs(hollow)) == [
            pytest.approx(load) for load in sorted(each.system.load for each in short)
        ]
        assert "hollow" in figure.get_supxlabel()

    def test_per_class(self, curves: tuple[Path, qs.Grid]) -> None:
        figure = plot_store(curves[0], per_class=True, metrics=["mean", "wait"])
        titles = [axes.get_title() for axes in figure.axes]
        assert titles == list(FOUR.names) * 2
        places = qs.sweep(curves[1], curves[0]).places
        for number, axes in enumerate(figure.axes):
            what = ("mean_response_time", "mean_waiting_time")[number // 4]
            expected = places[1].estimate("MSF", what, number % 4)
            assert bars(axes)["MSF"][1][1] == expected.value

    def test_of_many_classes_the_lightest_and_the_heaviest(self, tmp_path: Path) -> None:
        unit = qs.Exponential(mean=1.0)
        rates = {1: 1.0, 2: 0.3, 3: 0.2, 4: 0.2, 5: 0.1, 6: 0.1, 8: 1e-6}
        system = qs.System(8, [qs.JobClass(need, rate, unit) for need, rate in rates.items()])
        qs.sweep(qs.Grid(system, "msf", loads=[0.3, 0.4], jobs=4000), tmp_path / "s.db")
        figure = plot_store(tmp_path / "s.db", per_class=True)
        titles = [axes.get_title() for axes in figure.axes]
        assert titles == ["need 1, the lightest", "need 8, the heaviest"]
        assert [each.get_text() for each in figure.axes[0].texts] == []
        assert [each.get_text() for each in figure.axes[1].texts] == ["no job of it has completed"]
        assert not bars(figure.axes[1])

    def test_linear_and_logarithmic(self, curves: tuple[Path, qs.Grid]) -> None:
        logs = plot_store(curves[0], metrics=["mean", "jain"])
        assert [axes.get_yscale() for axes in logs.axes] == ["log", "linear"]
        assert logs.axes[1].get_ylim() == (0.0, 1.05)
        assert plot_store(curves[0], metrics="mean", linear=True).axes[0].get_yscale() == "linear"


class TestAxis:
    def test_several_loads_are_the_axis(self, curves: tuple[Path, qs.Grid]) -> None:
        assert plot_store(curves[0]).axes[0].get_xlabel() == "load"

    def test_at_one_load_the_parameter_that_varies(self, thresholds: Path) -> None:
        chart = chart_of(thresholds)
        assert chart.axis.name == "threshold"
        assert [line.label for line in chart.lines] == ["MSF", "Static Quickswap"]
        assert chart.lines[0].level
        assert [mark.x for mark in chart.lines[1].marks] == [0, 2, 4]
        assert chart.limit is None

    def test_a_parameter_at_several_loads_has_a_line_for_each(self, tmp_path: Path) -> None:
        grid = qs.Grid(FOUR, ["msf", THRESHOLDS], loads=[0.4, 0.6], jobs=2000)
        qs.sweep(grid, tmp_path / "s.db")
        chart = chart_of(tmp_path / "s.db", x="threshold")
        assert [line.label for line in chart.lines] == [
            "MSF, load 0.4",
            "MSF, load 0.6",
            "Static Quickswap, load 0.4",
            "Static Quickswap, load 0.6",
        ]
        one = chart_of(tmp_path / "s.db", x="threshold", loads=[0.6])
        assert [line.label for line in one.lines] == ["MSF", "Static Quickswap"]
        assert one.lines[1].marks == chart.lines[3].marks
        assert one.left_out == {"at a load not asked for": 4}
        assert chart_of(tmp_path / "s.db").axis.name == "load"

    def test_defaults_are_worked_out_or_level(self, tmp_path: Path) -> None:
        system = one_or_all(8, 1.0, 0.1)
        policies = ["msfq", "msfq:threshold=[1,4]", "smash:window=[2,64]", "smash:window=inf"]
        qs.sweep(qs.Grid(system, policies, jobs=2000), tmp_path / "s.db")
        (line,) = chart_of(tmp_path / "s.db", x="threshold", policies=["msfq"]).lines
        assert (line.label, [mark.x for mark in line.marks]) == ("MSFQ", [1, 4, 7])
        smash = chart_of(tmp_path / "s.db", x="window", policies=["smash"])
        assert {line.label: line.level for line in smash.lines} == {
            "Smash": False,
            "Smash(inf)": True,
        }
        assert smash.axis.log

    def test_a_name_alone_is_the_plain_policy_or_all_of_it(self, tmp_path: Path) -> None:
        policies = ["adaptive-quickswap", "adaptive-quickswap:backfill=[.01,.1]", THRESHOLDS]
        qs.sweep(qs.Grid(FOUR, policies, loads=[0.4, 0.5], jobs=400), tmp_path / "s.db")
        plain = chart_of(tmp_path / "s.db", policies="adaptive-quickswap")
        assert [line.label for line in plain.lines] == ["Adaptive Quickswap"]
        every = chart_of(tmp_path / "s.db", policies="static-quickswap")
        assert [line.label for line in every.lines] == [
            f"Static Quickswap ({threshold})" for threshold in (0, 2, 4)
        ]
        risks = chart_of(tmp_path / "s.db", policies="Adaptive_Quickswap", x="backfill")
        assert [mark.x for mark in risks.lines[0].marks] == [0, 0.01, 0.1]

    def test_one_policy_spelled_twice_is_one_mark(self, tmp_path: Path) -> None:
        system = one_or_all(8, 1.0, 0.1)
        qs.sweep(qs.Grid(system, ["msfq", "msfq:threshold=[3,7]"], jobs=2000), tmp_path / "s.db")
        chart = chart_of(tmp_path / "s.db")
        (line,) = chart.lines
        assert [(mark.x, mark.seeds) for mark in line.marks] == [(3, 1), (7, 1)]
        assert sum(chart.left_out.values()) == 1

    def test_a_setting(self, tmp_path: Path) -> None:
        qs.sweep(qs.Grid(FOUR, "msf", loads=0.5, jobs=[2000, 4000, 200_000]), tmp_path / "s.db")
        chart = chart_of(tmp_path / "s.db", x="jobs")
        assert [mark.x for mark in chart.lines[0].marks] == [2000, 4000, 200_000]
        assert chart.axis.log

    def test_the_longest_of_several_runs_is_drawn(self, tmp_path: Path) -> None:
        path = tmp_path / "s.db"
        qs.sweep(qs.Grid(FOUR, "msf", loads=[0.4, 0.5], jobs=[2000, 8000]), path)
        qs.sweep(qs.Grid(FOUR, "msf", loads=[0.4, 0.5], jobs=8000), tmp_path / "long.db")
        chart = chart_of(path)
        assert chart.lines == chart_of(tmp_path / "long.db").lines
        assert chart.left_out == {"of shorter runs at a place that is drawn": 2}

    def test_policies_in_the_order_asked_for(self, curves: tuple[Path, qs.Grid]) -> None:
        assert labels(plot_store(curves[0])) == ["MSF", "First-Fit"]
        assert labels(plot_store(curves[0], policies="first-fit")) == ["First-Fit"]
        assert labels(plot_store(curves[0], policies=["first-fit", "msf"])) == ["First-Fit", "MSF"]


class TestMetrics:
    def test_short_names_are_quantities(self) -> None:
        assert set(METRICS.values()) <= set(QUANTITIES)
        result = qs.simulate(one_or_all(4, 1.0, 0.1), "msfq", jobs=2000)
        for who, what, estimate in result.quantities():
            cls = None if who == "all" else result.system.names.index(who)
            assert metric_of(what).quantity == what
            assert value_of(result, what, cls) == estimate

    def test_units_are_told(self) -> None:
        assert metric_of("p99").label == "P99 of the response time [s]"
        assert metric_of("wait").label == "mean waiting time [s]"
        assert metric_of("slowdown").label == "mean slowdown"
        assert metric_of("std").label == "standard deviation of the response time [s]"
        assert metric_of("mean_duration_of_phase_2").label == "mean duration of phase 2 [s]"


class TestFiles:
    def test_same_store_same_bytes_and_it_is_left_as_it_was(
        self, curves: tuple[Path, qs.Grid], tmp_path: Path
    ) -> None:
        path = curves[0]
        before, stamp = path.read_bytes(), path.stat().st_mtime_ns
        around = sorted(path.parent.iterdir())
        for name in ("a.svg", "b.svg", "c.pdf", "d.png"):
            plot_store(path, tmp_path / name)
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
        assert (tmp_path / "c.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")
        assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, stamp)
        assert sorted(path.parent.iterdir()) == around

    def test_a_store_that_cannot_be_written_is_read(
        self, curves: tuple[Path, qs.Grid], tmp_path: Path
    ) -> None:
        copy = tmp_path / "copy.db"
        shutil.copy(curves[0], copy)
        copy.chmod(0o400)
        assert labels(plot_store(copy)) == ["MSF", "First-Fit"]
        point = qs.Point.of(FOUR, "msf", jobs=400)
        result = point.run()
        store = qs.Store(copy, read_only=True)
        with store, pytest.raises(qs.QuickswapError, match="read-only"):
            store.put(point, result)

    def test_several_stores_are_the_merged_store(
        self, curves: tuple[Path, qs.Grid], tmp_path: Path
    ) -> None:
        parts = [tmp_path / f"part-{number}.db" for number in (1, 2)]
        for number, part in enumerate(parts, start=1):
            qs.sweep(curves[1], part, shard=f"{number}/2")
        with qs.Store(tmp_path / "all.db") as merged:
            merged.merge(*parts)
        files = [tmp_path / f"{name}.svg" for name in ("parts", "merged", "whole", "swapped")]
        plot_store(parts, files[0])
        plot_store(tmp_path / "all.db", files[1])
        plot_store(curves[0], files[2])
        with qs.Store(parts[1]) as second:
            plot_store([second, parts[0]], files[3])
            assert len(second) > 0  # it is still open
        assert len({each.read_bytes() for each in files}) == 1

    def test_damage_is_told_and_not_mended(
        self, curves: tuple[Path, qs.Grid], tmp_path: Path
    ) -> None:
        torn = tmp_path / "torn.db"
        data = bytearray(curves[0].read_bytes())
        third = len(data) // 3  # records have no fixed place
        data[third : 2 * third] = bytes(third)
        torn.write_bytes(data)
        with pytest.raises(qs.QuickswapError, match=r"torn\.db is damaged, and here it is only"):
            plot_store(torn)
        assert torn.read_bytes() == data
        assert [each.name for each in tmp_path.iterdir()] == ["torn.db"]

    def test_a_write_that_was_cut_short_is_told_and_left(
        self, curves: tuple[Path, qs.Grid], tmp_path: Path
    ) -> None:
        shutil.copy(curves[0], tmp_path / "a.db")
        writer = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
        writer.execute("PRAGMA cache_size = 2")  # so that the file is written before the commit
        writer.execute("BEGIN IMMEDIATE")
        columns = "key, inputs, result, totals, failure, seconds, crc FROM points WHERE id = 1"
        for row in range(100, 200):
            writer.execute(f"INSERT INTO points SELECT {row}, {columns}")
        for name in ("a.db", "a.db-journal"):
            shutil.copy(tmp_path / name, tmp_path / name.replace("a", "b", 1))
        writer.execute("ROLLBACK")
        writer.close()
        before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
        with pytest.raises(qs.QuickswapError, match=r"b\.db was left in the middle of a write"):
            plot_store(tmp_path / "b.db")
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
        qs.Store(tmp_path / "b.db").close()
        assert labels(plot_store(tmp_path / "b.db")) == ["MSF", "First-Fit"]


class TestMistakes:
    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ({"metrics": "p98"}, r"unknown metric: 'p98' \(did you mean 'p9\d*'\?\); known: weigh"),
            ({"metrics": "p99_wating_time"}, "did you mean 'p99_waiting_time'"),
            ({"metrics": "jain", "per_class": True}, "metric jain is of all jobs together"),
            ({"metrics": "mean_duration_of_phase_1"}, "no point has a value of mean_duration"),
            ({"metrics": []}, "give one or several"),
            ({"policies": "msff"}, "unknown policy: 'msff'.*did you mean 'msf'"),
            ({"policies": "fcfs"}, "no points of policy fcfs: there are those of msf, first-fit"),
            ({"x": "lod"}, "unknown axis: 'lod'.*did you mean 'load'"),
            (
                {"x": "window"},
                "unknown axis: 'window'; known: load, rate, jobs, replications, warmup",
            ),
            ({"x": "precision"}, "no point has a number for precision"),
            (
                {"x": "jobs"},
                "no axis to draw: jobs is 20000 at all points that have one; draw against",
            ),
            ({"model": "borg-b"}, "no points of the model borg-b.*those of 'four-class'"),
            ({"model": "four-clas"}, "unknown model in the store.*did you mean 'four-class'"),
            ({"loads": [0.5]}, "no points of four-class at load 0.5: there are those at 0.4, 0.6"),
            ({"loads": [1.3]}, "there is nothing to draw: no point is stable"),
            ({"paths": "a.gif"}, r"the ending of a.gif is '.gif'; it must be .svg, .pdf, .png"),
            ({"paths": "no/a.svg"}, "a.svg cannot be written"),
        ],
    )
    def test_one_sentence(
        self, curves: tuple[Path, qs.Grid], arguments: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(qs.QuickswapError, match=sentence):
            plot_store(curves[0], **arguments)

    def test_files_that_are_no_stores(self, tmp_path: Path) -> None:
        with pytest.raises(qs.QuickswapError, match="there is no file"):
            plot_store(tmp_path / "none.db")
        (tmp_path / "text.db").write_text("text\n" * 100, encoding="utf-8")
        with pytest.raises(qs.QuickswapError, match="is no store of results"):
            plot_store(tmp_path / "text.db")
        (tmp_path / "empty.db").touch()
        with pytest.raises(qs.QuickswapError, match=r"empty\.db is empty"):
            plot_store(tmp_path / "empty.db")
        assert (tmp_path / "empty.db").read_bytes() == b""
        qs.Store(tmp_path / "new.db").close()
        with pytest.raises(qs.QuickswapError, match=r"new\.db is empty"):
            plot_store(tmp_path / "new.db")
        with pytest.raises(qs.QuickswapError, match="give a Store, its file, or several"):
            plot_store([])

    def test_a_store_of_another_format(self, curves: tuple[Path, qs.Grid], tmp_path: Path) -> None:
        data = bytearray(curves[0].read_bytes())
        data[60:64] = (7).to_bytes(4, "big")
        (tmp_path / "old.db").write_bytes(data)
        with pytest.raises(qs.QuickswapError, match="is a store of format 7, and this version"):
            plot_store(tmp_path / "old.db")

    def test_an_axis_on_which_nothing_varies(self, thresholds: Path) -> None:
        sentence = "backfill is 0 at all points that have one; draw against threshold"
        with pytest.raises(qs.QuickswapError, match=sentence):
            plot_store(thresholds, x="backfill")
        with pytest.raises(qs.QuickswapError, match="that have one; leave the axis out"):
            plot_store(thresholds, policies=["msf"], x="jobs")

    def test_runs_too_short_for_a_value(self, tmp_path: Path) -> None:
        grid = qs.Grid("borg-b", ["msf", "first-fit"], loads=[0.3, 0.4], jobs=40)
        qs.sweep(grid, tmp_path / "s.db")
        with pytest.raises(
            qs.QuickswapError,
            match="a value of weighted; of 4 places 4 ran too short: simulate more jobs at each",
        ):
            plot_store(tmp_path / "s.db")

    def test_two_models(self, tmp_path: Path) -> None:
        path, other = tmp_path / "s.db", one_or_all(4, 1.0, 0.2)
        qs.sweep(qs.Grid(["four-class", other], "msf", loads=[0.3, 0.5], jobs=2000), path)
        with pytest.raises(qs.QuickswapError) as caught:
            plot_store(path)
        (sentence,) = str(caught.value).splitlines()
        assert f"'{chart_of(path, model=other).model}' (load 0.3 to 0.5)" in sentence
        assert "'four-class' (load 0.3 to 0.5)" in sentence
        assert sentence.endswith(", by that name, its preset or its file.")
        by_name: list[Chart] = [chart_of(path, model=name) for name in ("four-class", other)]
        assert [chart.model for chart in by_name] == [
            "four-class",
            chart_of(path, model=other).model,
        ]
        assert by_name[0].left_out == {"of another model": 2}

    def test_models_without_a_name_are_told_apart(self, tmp_path: Path) -> None:
        def system(mean: float, share: float) -> qs.System:
            size = qs.Exponential(mean=mean)
            return qs.System(
                12, [qs.JobClass(need, rate, size) for need, rate in ((5, 0.1), (1, share))]
            )

        (tmp_path / "m.toml").write_text(system(1.0, 2.0).to_toml(), encoding="utf-8")
        models = [system(1.0, 1.0), tmp_path / "m.toml", system(3.0, 1.0)]
        grid = qs.Grid(models, "msf", loads=[0.4, 0.5], jobs=400)
        qs.sweep(grid, tmp_path / "s.db")
        names = [
            "12 servers, needs 1, 5, mean sizes 1, 1 s, shares 90.9 %, 9.09 %",
            "12 servers, needs 1, 5, mean sizes 1, 1 s, shares 95.2 %, 4.76 %",
            "12 servers, needs 1, 5, mean sizes 3, 3 s",
        ]
        with pytest.raises(qs.QuickswapError) as caught:
            chart_of(tmp_path / "s.db")
        for name in names:
            assert f"'{name}' (load 0.4 to 0.5)" in str(caught.value)
            assert chart_of(tmp_path / "s.db", model=name).model == name
        assert chart_of(tmp_path / "s.db", model=tmp_path / "m.toml").model == names[1]

    def test_too_many_lines(self, tmp_path: Path) -> None:
        grid = qs.Grid(FOUR, "smash:window=[1..16]", loads=[0.3, 0.4], jobs=400)
        qs.sweep(grid, tmp_path / "s.db")
        with pytest.raises(qs.QuickswapError, match="16 lines against load cannot be told apart"):
            chart_of(tmp_path / "s.db")
        assert len(chart_of(tmp_path / "s.db", x="window").lines) == 2


class TestCommand:
    def test_it_tells_what_it_drew(
        self,
        curves: tuple[Path, qs.Grid],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.chdir(tmp_path)
        code, out, err = run(capsys, "plot", str(curves[0]), "--policies", "msf")
        assert (code, err) == (0, "")
        assert (
            "weighted mean response time, mean response time of four-class against the load" in out
        )
        assert "left out: 8 points of a policy not asked for" in out
        assert out.endswith("wrote curves.svg\n")
        assert [each.name for each in tmp_path.iterdir()] == ["curves.svg"]

    def test_it_writes_what_the_function_writes(
        self, curves: tuple[Path, qs.Grid], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        files = [str(tmp_path / "a.svg"), str(tmp_path / "a.png")]
        files = [word for file in files for word in ("--output", file)]
        options = ["--metric", "p50,jain", "--x", "rate", "--title", "Four classes", "--linear"]
        code, _, _ = run(capsys, "plot", *files, str(curves[0]), *options)
        assert code == 0
        plot_store(
            curves[0],
            tmp_path / "b.svg",
            metrics=["p50", "jain"],
            x="rate",
            title="Four classes",
            linear=True,
        )
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
        assert (tmp_path / "a.png").stat().st_size > 1000

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (["--metric", "man"], "did you mean 'mean'"),
            (["--output", "a.gif"], "the ending of a.gif"),
            (["--output", "no/a.svg"], "there is no folder no"),
            (["-o", "-"], "the ending of - is none"),
            (["--policies", ""], "give one or several, or leave it out"),
            (["--loads", "x"], "--loads is 'x'"),
        ],
    )
    def test_mistakes_end_with_a_sentence(
        self,
        curves: tuple[Path, qs.Grid],
        options: list[str],
        sentence: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.chdir(tmp_path)
        code, out, err = run(capsys, "plot", str(curves[0]), *options)
        assert (code, out) == (2, "")
        assert sentence in err
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
    def test_letters_that_the_font_lacks(
        self,
        curves: tuple[Path, qs.Grid],
        ending: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        file = tmp_path / f"a.{ending}"
        words = ["--output", str(file), "--title", "Four 日本 日 Größe"]
        code, _, err = run(capsys, "plot", str(curves[0]), *words)
        assert code == 0
        assert err == (
            "quickswap: the font of figures lacks 日, 本: a box stands for each of them.\n"
        )
        assert file.stat().st_size > 1000

    def test_a_title_is_text(
        self, curves: tuple[Path, qs.Grid], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["--output", str(tmp_path / "a.svg"), "--title", r"$\nothing$, 5 $"]
        code, _, err = run(capsys, "plot", str(curves[0]), *words)
        assert (code, err) == (0, "")

    def test_a_store_is_no_output(
        self, curves: tuple[Path, qs.Grid], capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = curves[0].read_bytes()
        code, _, err = run(capsys, "plot", str(curves[0]), "--output", str(curves[0]))
        assert code == 2
        assert "is what is read" in err
        assert curves[0].read_bytes() == before
