"""Sweeps: what they find at each cell, also if they are interrupted."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import quickswap as qs
from cli_helpers import run
from quickswap.statistics.paired import Outcome
from quickswap.sweeps import Cell, Sweep, run_points
from verification.known import FOUR, one_or_all

POLICIES = ("msf", "first-fit", "static-quickswap:threshold=[0,2]")


class TestPlaces:
    def test_one_seed_is_what_compare_finds(self) -> None:
        found = qs.sweep(qs.Grid(FOUR, POLICIES, loads=[0.4, 0.6], jobs=4000))
        spread = [
            "msf",
            "first-fit",
            "static-quickswap:threshold=0",
            "static-quickswap:threshold=2",
        ]
        compared = qs.compare(FOUR, spread, loads=[0.4, 0.6], jobs=4000, engine="events")
        assert list(found.outcomes) == list(compared.results)
        for number, cell in enumerate(found.cells):
            assert cell.policies == compared.policies
            for quantity in ("weighted_mean_response_time", "mean_response_time"):
                assert cell.best(quantity) == compared.best(number, quantity)
            first, second = compared.points[number][:2]
            gap = qs.difference(first, second, "weighted_mean_response_time")
            assert cell.difference("MSF", "First-Fit") == gap
            assert cell.estimate("MSF", "jain_index") == first.jain_index
            expected = first.classes[2].mean_response_time
            assert cell.estimate("MSF", "mean_response_time", 2) == expected

    def test_seeds_are_put_together(self) -> None:
        grid = qs.Grid(FOUR, ["msf", "fcfs"], loads=0.6, seeds=[1, 2, 3, 4], jobs=60_000)
        (cell,) = qs.sweep(grid).cells
        assert len(cell.results["MSF"]) == 4
        one = [each.mean_response_time for each in cell.results["MSF"]]
        together = cell.estimate("MSF", "mean_response_time")
        assert together.value == pytest.approx(sum(each.value for each in one) / 4)
        widths = [each.half_width for each in one]
        assert together.half_width == pytest.approx(math.hypot(*widths) / 4)
        assert cell.outcome("MSF", "FCFS") is Outcome.BETTER
        assert cell.outcome("FCFS", "MSF") is Outcome.WORSE
        assert cell.best() == ("MSF",)

    def test_the_same_policy_is_not_different(self) -> None:
        system = one_or_all(4, 1.0, 0.1)
        (cell,) = qs.sweep(qs.Grid(system, ["msf", "msfq:threshold=0"], jobs=4000)).cells
        assert cell.outcome("MSF", "MSFQ(0)") is Outcome.ALIKE
        assert cell.best() == ("MSF", "MSFQ(0)")

    def test_policies_with_one_label_are_labelled_by_their_spellings(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(qs.Smash, "label", "Smash")
        windows = ["smash:window=2", "smash:window=3"]
        (cell,) = qs.sweep(qs.Grid(FOUR, ["msf", *windows], loads=0.4, jobs=400)).cells
        assert cell.policies == ("MSF", *windows)

    def test_stable_is_better_than_unstable(self) -> None:
        grid = qs.Grid(one_or_all(8, 3.0, 0.5), ["fcfs", "msfq:threshold=7"], jobs=400_000)
        (cell,) = qs.sweep(grid).cells
        assert (cell.verdict("FCFS"), cell.verdict("MSFQ(7)")) == ("unstable", "stable")
        assert cell.outcome("MSFQ(7)", "FCFS") is Outcome.BETTER
        assert cell.outcome("FCFS", "MSFQ(7)") is Outcome.WORSE
        assert cell.best() == ("MSFQ(7)",)

    def test_where_nothing_is_stable(self) -> None:
        (cell,) = qs.sweep(qs.Grid(FOUR, ["msf", "fcfs"], loads=1.3, jobs=4000)).cells
        assert cell.best() == cell.policies == ()
        assert set(cell.failures) == {"MSF", "FCFS"}
        assert cell.verdict("MSF") == "unstable"

    def test_settings_with_several_values_make_cells(self) -> None:
        grid = qs.Grid(FOUR, "msf", loads=0.4, jobs=[2000, 4000], warmup=[0.1, "mser5"])
        cells = qs.sweep(grid).cells
        assert [each.settings for each in cells] == [
            {"jobs": jobs, "warmup": warmup} for jobs in (2000, 4000) for warmup in (0.1, "mser5")
        ]

    def test_runs_of_different_lengths_count_as_independent(self) -> None:
        grid = qs.Grid(FOUR, ["msf", "fcfs"], loads=0.5, precision=0.02, jobs=10**6)
        (cell,) = qs.sweep(grid).cells
        (one,), (other,) = cell.results["MSF"], cell.results["FCFS"]
        assert one.completed != other.completed
        gap = cell.difference("MSF", "FCFS", "mean_response_time")
        widths = one.mean_response_time.half_width, other.mean_response_time.half_width
        assert gap.half_width == pytest.approx(math.hypot(*widths))

    def test_mistakes(self) -> None:
        (cell,) = qs.sweep(qs.Grid(FOUR, "msf", loads=0.4, jobs=400)).cells
        assert isinstance(cell, Cell)
        with pytest.raises(qs.QuickswapError, match="unknown policy"):
            cell.difference("MSF", "FCFS")
        with pytest.raises(qs.QuickswapError, match="unknown quantity"):
            cell.difference("MSF", "MSF", "p99")


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def three_seeds(store: Path) -> qs.Grid:
    """Return a grid of which a store holds all at load 0.4, and of load 0.6 MSF with two seeds,
    First-Fit with two others, and nothing of LSF.
    """
    policies = ["msf", "first-fit", "lsf"]
    qs.sweep(qs.Grid(FOUR, policies, loads=0.4, seeds=[1, 2, 3], jobs=8000), store)
    qs.sweep(qs.Grid(FOUR, "msf", loads=0.6, seeds=[2, 3], jobs=8000), store)
    qs.sweep(qs.Grid(FOUR, "first-fit", loads=0.6, seeds=[1, 3], jobs=8000), store)
    return qs.Grid(FOUR, policies, loads=[0.4, 0.6], seeds=[1, 2, 3], jobs=8000)


class TestInterrupted:
    def test_what_has_run_is_kept_apart_from_what_has_not(self, tmp_path: Path) -> None:
        grid = three_seeds(tmp_path / "s.db")
        with pytest.raises(qs.Interrupted) as caught:
            qs.sweep(grid, tmp_path / "s.db", progress=interrupt)
        found = caught.value.result
        assert isinstance(found, Sweep)
        whole, cell = found.cells
        assert (whole.not_run, whole.failures) == ({}, {})
        assert whole.best()
        assert cell.not_run == {"MSF": 1, "First-Fit": 1, "LSF": 3}
        assert list(cell.failures) == ["LSF"]
        assert cell.verdict("LSF") == "not run"
        assert [each.inputs.seed for each in cell.results["MSF"]] == [2, 3]
        assert cell.best() == ()
        assert cell.outcome("MSF", "LSF") is Outcome.INCONCLUSIVE
        shared = cell.results["MSF"][1], cell.results["First-Fit"][1]
        gap = qs.difference(*shared, "weighted_mean_response_time")
        assert cell.difference("MSF", "First-Fit") == gap

    def test_the_best_of_those_that_have_run(self, tmp_path: Path) -> None:
        three_seeds(tmp_path / "s.db")
        grid = qs.Grid(FOUR, ["msf", "first-fit"], loads=0.6, seeds=[1, 2, 3], jobs=8000)
        with pytest.raises(qs.Interrupted) as caught:
            qs.sweep(grid, tmp_path / "s.db", progress=interrupt)
        found = caught.value.result
        assert isinstance(found, Sweep)
        assert found.cells[0].best()[0] in ("MSF", "First-Fit")

    @pytest.mark.parametrize("most", [200, 3])
    def test_what_is_printed(
        self,
        most: int,
        grid: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        @contextmanager
        def struck(_: str) -> Iterator[Any]:
            yield interrupt

        three_seeds(tmp_path / "s.db")
        monkeypatch.setattr("quickswap.cli.sweep.work_bar", struck)
        monkeypatch.setattr("quickswap.display.sweeps.MOST", most)
        words = ["--policies", "msf first-fit lsf", "--seeds", "1,2,3", "--jobs", "8000"]
        words += ["--store", str(tmp_path / "s.db"), "--against", "msf"]
        code, out, _ = run(capsys, "sweep", str(grid), *words)
        assert code == 130
        assert "failed" not in out
        assert "not run: 5 points" in out
        first, *rest = re.findall(r"^0\.[46] .*", out, re.M)
        if most == 3:
            assert "- (1 not run)" in rest[0]
            return
        assert first.split()[2] == "MSF"
        assert sum(" best " in line for line in (first, *rest)) == 1
        lines = {line.split()[2]: line for line in rest if line.startswith("0.6")}
        assert lines["MSF"].rstrip().endswith(", 2 of 3 seeds")
        assert "not run" in lines["LSF"]


def test_shards_merge_to_the_whole(tmp_path: Path) -> None:
    grid = qs.Grid(FOUR, POLICIES, loads=[0.4, 0.6], jobs=400, seeds=[1, 2])
    whole, merged = qs.Store(), qs.Store(tmp_path / "all.db")
    qs.sweep(grid, whole)
    for i in (1, 2, 3):
        found = qs.sweep(grid, tmp_path / f"{i}.db", shard=f"{i}/3")
        assert 5 <= len(found.grid_points) <= 6
    assert merged.merge(*(tmp_path / f"{i}.db" for i in (1, 2, 3))) == 16
    assert qs.sweep(grid, merged).outcomes.ran == 0
    assert {each.key for each in merged._records()} == {each.key for each in whole._records()}
    assert qs.sweep(grid, merged).cells == qs.sweep(grid, whole).cells


def test_a_full_disk_ends_a_sweep_and_loses_nothing(tmp_path: Path) -> None:
    points = qs.Grid(FOUR, "msf", loads=0.4, jobs=400, seeds=range(30)).points()
    with qs.Store(tmp_path / "s.db") as store:
        store._database.connection.execute("PRAGMA max_page_count = 10")
        with pytest.raises(qs.QuickswapError, match="the disk is full"):
            run_points(points, store)
        kept = len(store)
    assert 0 < kept < 30
    with qs.Store(tmp_path / "s.db") as store:
        assert run_points(points, store).ran == 30 - kept
