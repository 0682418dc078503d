"""Figures of stores: what is drawn is what the store holds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import quickswap as qs
from plot_helpers import (
    LOADS,
    THRESHOLDS,
    bars,
    crosses,
    labels,
    xs,
    ys,
)
from quickswap.plotting import chart_of, plot_store
from quickswap.statistics.quantities import QUANTITIES, SHORT_NAMES, quantity_of, value_of
from verification.known import FOUR, one_or_all


class TestDrawn:
    @pytest.mark.parametrize("metric", ["weighted", "mean", "jain"])
    def test_values_and_intervals_are_those_of_the_sweep(
        self, curves: tuple[Path, qs.Grid], metric: str
    ) -> None:
        path, grid = curves
        (axes,) = plot_store(path, metrics=metric).axes
        places = qs.sweep(grid, path).cells
        drawn = bars(axes)
        assert list(drawn) == ["MSF", "First-Fit"]
        for policy, (x, y, low, high) in drawn.items():
            assert x[:3] == pytest.approx(LOADS)
            assert math.isnan(y[3])
            for place, value, least, most in zip(places[:3], y, low, high, strict=False):
                expected = place.estimate(policy, SHORT_NAMES[metric])
                assert value == expected.value
                assert (least, most) == pytest.approx((expected.low, expected.high))

    def test_a_single_seed_is_its_result(self, thresholds: Path) -> None:
        (axes,) = plot_store(thresholds, metrics="p99").axes
        with qs.Store(thresholds) as store:
            for each in store:
                p99 = each.overall.response_time.p99
                if each.policy_label.startswith("Static"):
                    level = int(each.inputs.spelling.partition("=")[2])
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
        places = qs.sweep(curves[1], curves[0]).cells
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
        assert [each.get_text() for each in figure.axes[1].texts] == ["no estimates"]
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
        assert chart.axis.label == "threshold l"
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
        assert one.left_out == {"at a load that was not requested": 4}
        assert chart_of(tmp_path / "s.db").axis.label == "load"

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
        assert smash.axis.scale == "log"

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
        assert chart.axis.scale == "log"

    def test_the_longest_of_several_runs_is_drawn(self, tmp_path: Path) -> None:
        path = tmp_path / "s.db"
        qs.sweep(qs.Grid(FOUR, "msf", loads=[0.4, 0.5], jobs=[2000, 8000]), path)
        qs.sweep(qs.Grid(FOUR, "msf", loads=[0.4, 0.5], jobs=8000), tmp_path / "long.db")
        chart = chart_of(path)
        assert chart.lines == chart_of(tmp_path / "long.db").lines
        assert chart.left_out == {"of shorter runs at a value that is drawn": 2}

    def test_policies_in_the_order_asked_for(self, curves: tuple[Path, qs.Grid]) -> None:
        assert labels(plot_store(curves[0])) == ["MSF", "First-Fit"]
        assert labels(plot_store(curves[0], policies="first-fit")) == ["First-Fit"]
        assert labels(plot_store(curves[0], policies=["first-fit", "msf"])) == ["First-Fit", "MSF"]


class TestMetrics:
    def test_short_names_are_quantities(self) -> None:
        assert set(SHORT_NAMES.values()) <= set(QUANTITIES)
        result = qs.simulate(one_or_all(4, 1.0, 0.1), "msfq", jobs=2000)
        for who, what, estimate in result.quantities():
            cls = None if who == "all" else result.system.names.index(who)
            assert quantity_of(what).name == what
            assert value_of(result, what, cls) == estimate

    def test_units_are_told(self) -> None:
        assert quantity_of("p99").label == "P99 of the response time [s]"
        assert quantity_of("wait").label == "mean waiting time [s]"
        assert quantity_of("slowdown").label == "mean slowdown"
        assert quantity_of("std").label == "standard deviation of the response time [s]"
        assert quantity_of("mean_duration_of_phase_2").label == "mean duration of phase 2 [s]"
