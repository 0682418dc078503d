"""Sweeps: what they find at each place, and the command `sweep`."""

from __future__ import annotations

import io
import math
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import quickswap as qs
from cli_helpers import run
from quickswap.cli.points import duration
from quickswap.experiments import Place, Sweep, run_points
from verification.known import FOUR, one_or_all

POLICIES = ("msf", "first-fit", "static-quickswap:threshold=[0,2]")
GRID = """
model = "four-class"
policies = ["msf", "first-fit", "static-quickswap:threshold=[0,2]"]
loads = [0.4, 0.6]
jobs = 4000
"""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    (tmp_path / "g.toml").write_text(GRID, encoding="utf-8")
    return tmp_path / "g.toml"


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
        for number, place in enumerate(found.places):
            assert place.policies == compared.policies
            for quantity in ("weighted_mean_response_time", "mean_response_time"):
                assert place.best(quantity) == compared.best(number, quantity)
            first, second = compared.points[number][:2]
            gap = qs.difference(first, second, "weighted_mean_response_time")
            assert place.difference("MSF", "First-Fit") == gap
            assert place.estimate("MSF", "jain_index") == first.jain_index
            expected = first.classes[2].mean_response_time
            assert place.estimate("MSF", "mean_response_time", 2) == expected

    def test_seeds_are_put_together(self) -> None:
        grid = qs.Grid(FOUR, ["msf", "fcfs"], loads=0.6, seeds=[1, 2, 3, 4], jobs=20_000)
        (place,) = qs.sweep(grid).places
        assert len(place.results["MSF"]) == 4
        one = [each.mean_response_time for each in place.results["MSF"]]
        together = place.estimate("MSF", "mean_response_time")
        assert together.value == pytest.approx(sum(each.value for each in one) / 4)
        widths = [each.half_width for each in one]
        assert together.half_width == pytest.approx(math.hypot(*widths) / 4)
        assert place.better("MSF", "FCFS") == "yes"
        assert place.better("FCFS", "MSF") == "no"
        assert place.best() == ("MSF",)

    def test_the_same_policy_is_tied(self) -> None:
        system = one_or_all(4, 1.0, 0.1)
        (place,) = qs.sweep(qs.Grid(system, ["msf", "msfq:threshold=0"], jobs=4000)).places
        assert place.better("MSF", "MSFQ(0)") == "undecided"
        assert place.best() == ("MSF", "MSFQ(0)")

    def test_policies_with_one_label_are_told_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(qs.Smash, "label", "Smash")
        windows = ["smash:window=2", "smash:window=3"]
        (place,) = qs.sweep(qs.Grid(FOUR, ["msf", *windows], loads=0.4, jobs=400)).places
        assert place.policies == ("MSF", *windows)

    def test_stable_is_better_than_unstable(self) -> None:
        grid = qs.Grid(one_or_all(8, 3.0, 0.5), ["fcfs", "msfq:threshold=7"], jobs=400_000)
        (place,) = qs.sweep(grid).places
        assert (place.verdict("FCFS"), place.verdict("MSFQ(7)")) == ("unstable", "stable")
        assert place.better("MSFQ(7)", "FCFS") == "yes"
        assert place.better("FCFS", "MSFQ(7)") == "no"
        assert place.best() == ("MSFQ(7)",)

    def test_where_nothing_is_stable(self) -> None:
        (place,) = qs.sweep(qs.Grid(FOUR, ["msf", "fcfs"], loads=1.3, jobs=4000)).places
        assert place.best() == place.policies == ()
        assert set(place.failures) == {"MSF", "FCFS"}
        assert place.verdict("MSF") == "unstable"

    def test_settings_with_several_values_are_places(self) -> None:
        grid = qs.Grid(FOUR, "msf", loads=0.4, jobs=[2000, 4000], warmup=[0.1, "mser5"])
        places = qs.sweep(grid).places
        assert [each.settings for each in places] == [
            {"jobs": jobs, "warmup": warmup} for jobs in (2000, 4000) for warmup in (0.1, "mser5")
        ]

    def test_runs_of_different_lengths_count_as_independent(self) -> None:
        grid = qs.Grid(FOUR, ["msf", "fcfs"], loads=0.5, precision=0.02, jobs=10**6)
        (place,) = qs.sweep(grid).places
        (one,), (other,) = place.results["MSF"], place.results["FCFS"]
        assert one.completed != other.completed
        gap = place.difference("MSF", "FCFS", "mean_response_time")
        widths = one.mean_response_time.half_width, other.mean_response_time.half_width
        assert gap.half_width == pytest.approx(math.hypot(*widths))

    def test_mistakes(self) -> None:
        (place,) = qs.sweep(qs.Grid(FOUR, "msf", loads=0.4, jobs=400)).places
        assert isinstance(place, Place)
        with pytest.raises(qs.QuickswapError, match="unknown policy at this place"):
            place.difference("MSF", "FCFS")
        with pytest.raises(qs.QuickswapError, match="unknown quantity"):
            place.difference("MSF", "MSF", "p99")


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def three_seeds(store: Path) -> qs.Grid:
    """Return a grid of which a store holds all at load 0.4, and of load 0.6 MSF with two seeds,
    First-Fit with two others, and nothing of LSF.
    """
    policies, settings = ["msf", "first-fit", "lsf"], {"jobs": 4000}
    qs.sweep(qs.Grid(FOUR, policies, loads=0.4, seeds=[1, 2, 3], **settings), store)
    qs.sweep(qs.Grid(FOUR, "msf", loads=0.6, seeds=[2, 3], **settings), store)
    qs.sweep(qs.Grid(FOUR, "first-fit", loads=0.6, seeds=[1, 3], **settings), store)
    return qs.Grid(FOUR, policies, loads=[0.4, 0.6], seeds=[1, 2, 3], **settings)


class TestInterrupted:
    def test_what_has_run_is_kept_apart_from_what_has_not(self, tmp_path: Path) -> None:
        grid = three_seeds(tmp_path / "s.db")
        with pytest.raises(qs.Interrupted) as caught:
            qs.sweep(grid, tmp_path / "s.db", progress=interrupt)
        found = caught.value.result
        assert isinstance(found, Sweep)
        whole, place = found.places
        assert (whole.not_run, whole.failures) == ({}, {})
        assert whole.best()
        assert place.not_run == {"MSF": 1, "First-Fit": 1, "LSF": 3}
        assert list(place.failures) == ["LSF"]
        assert place.verdict("LSF") == "not run"
        assert [each.inputs.seed for each in place.results["MSF"]] == [2, 3]
        assert place.best() == ()
        assert place.better("MSF", "LSF") == "undecided"
        shared = place.results["MSF"][1], place.results["First-Fit"][1]
        gap = qs.difference(*shared, "weighted_mean_response_time")
        assert place.difference("MSF", "First-Fit") == gap

    def test_the_best_of_those_that_have_run(self, tmp_path: Path) -> None:
        three_seeds(tmp_path / "s.db")
        grid = qs.Grid(FOUR, ["msf", "first-fit"], loads=0.6, seeds=[1, 2, 3], jobs=4000)
        with pytest.raises(qs.Interrupted) as caught:
            qs.sweep(grid, tmp_path / "s.db", progress=interrupt)
        found = caught.value.result
        assert isinstance(found, Sweep)
        assert found.places[0].best()[0] in ("MSF", "First-Fit")

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
        monkeypatch.setattr("quickswap.cli.sweep.bar", struck)
        monkeypatch.setattr("quickswap.cli.sweep_tables.MOST", most)
        words = ["--policies", "msf first-fit lsf", "--seeds", "1,2,3"]
        words += ["--store", str(tmp_path / "s.db"), "--against", "msf"]
        code, out, _ = run(capsys, "sweep", str(grid), *words)
        assert code == 130
        assert "failed" not in out
        assert "not run: 5 points; where a policy has not run none is best" in out
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
        assert 5 <= len(found.spots) <= 6
    assert merged.merge(*(tmp_path / f"{i}.db" for i in (1, 2, 3))) == 16
    assert qs.sweep(grid, merged).outcomes.ran == 0
    assert {each.key for each in merged._records()} == {each.key for each in whole._records()}
    assert qs.sweep(grid, merged).places == qs.sweep(grid, whole).places


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


class TestCommand:
    def test_it_runs_what_is_missing(
        self, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = str(tmp_path / "s.db")
        code, out, err = run(capsys, "sweep", str(grid), "--store", store, "--loads", ".4")
        assert (code, err) == (0, "")
        assert "4 of 4 points run now" in out
        code, out, _ = run(capsys, "sweep", str(grid), "--store", store, "--against", "msf")
        assert code == 0
        assert "4 of 8 points run now" in out
        found = qs.sweep(grid, store)
        assert found.outcomes.ran == 0
        lines = [line for line in out.splitlines() if " First-Fit " in line]
        for place, line in zip(found.places, lines, strict=True):
            assert str(place.estimate("First-Fit", "weighted_mean_response_time")) in line
            assert str(place.difference("First-Fit", "MSF")) in line
            assert line.endswith(place.better("First-Fit", "MSF"))

    def test_every_override_is_passed_on(
        self, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = str(tmp_path / "s.db")
        options: dict[str, Any] = {
            "jobs": 900,
            "precision": 0.5,
            "precision-of": "classes",
            "replications": 3,
            "warmup": "mser5",
            "slowdown-bound": 2.0,
            "max-in-system": 5000,
        }
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        words += ["--allow-unstable", "--models", "borg-b; one-or-all:k=4", "--policies", "fcfs"]
        words += ["--rates", ".01", "--seeds", "5,6", "--engine", "auto", "--threads", "1"]
        code, out, err = run(capsys, "sweep", str(grid), "--store", store, *words)
        assert (code, err) == (0, "")
        assert "borg-b" in out
        points = list(qs.Store(store).points())
        assert len(points) == 4
        expected = {key.replace("-", "_"): value for key, value in options.items()}
        for point in points:
            assert point.settings.items() >= (expected | {"allow_unstable": True}).items()
            assert point.policy == qs.FCFS()
            assert point.system.arrival_rate == pytest.approx(0.01)
        assert {point.inputs.engine for point in points} == {"jumps"}
        assert {point.inputs.seed for point in points} == {5, 6}

    def test_points_that_are_not_as_precise_as_asked_are_told(
        self, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = str(tmp_path / "s.db")
        grid.write_text(GRID.replace("jobs = 4000", ""), encoding="utf-8")
        words = ["--precision", ".05", "--loads", ".3,.9", "--budget", "1e6"]
        code, out, err = run(capsys, "sweep", str(grid), "--store", store, *words)
        assert (code, err) == (0, "")
        stops = [each.stop for each in qs.Store(store)]
        wide = stops.count(qs.Stop.BUDGET)
        assert 0 < wide < 8
        assert f"wide: {wide} points of 8 used all jobs allowed before" in out
        assert out.count("stable, wide") == wide
        assert re.search(r"^load +rate +jobs at most +policy", out, re.M)
        code, out, _ = run(capsys, "sweep", str(grid), "--jobs", "4000")
        assert code == 0
        assert "wide" not in out

    def test_files(self, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        parquet = tmp_path / "all.parquet"
        code, out, _ = run(capsys, "sweep", str(grid), "--csv=-", "--parquet", str(parquet))
        assert code == 0
        frame = pl.read_csv(io.StringIO(out), infer_schema_length=None)
        assert frame.shape == pl.read_parquet(parquet).shape
        assert frame["key"].n_unique() == 8
        assert frame.columns == qs.Store().to_frame().columns

    def test_shards_and_merge(
        self, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        parts = [str(tmp_path / f"{i}.db") for i in (1, 2)]
        for i, part in enumerate(parts, start=1):
            code, out, _ = run(capsys, "sweep", str(grid), "--store", part, "--shard", f"{i}/2")
            assert code == 0
            assert "4 of 4 points" in out
        whole = str(tmp_path / "all.db")
        code, out, _ = run(capsys, "sweep", "--merge", *parts, "--store", whole)
        assert (code, out) == (0, f"8 rows are new in {whole}, which holds 8 results\n")
        code, out, _ = run(capsys, "sweep", str(grid), "--store", whole)
        assert "0 of 8 points run now" in out

    def test_many_points_have_a_line_for_each_place(
        self, grid: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("quickswap.cli.sweep_tables.MOST", 3)
        options = ("--loads", ".4,.6,1.2", "--against", "static-quickswap:threshold=2")
        code, out, _ = run(capsys, "sweep", str(grid), *options)
        assert code == 0
        rows = [line for line in out.splitlines() if line.startswith(("0.4", "0.6", "1.2"))]
        assert len(rows) == 3
        assert "yes" in rows[0]
        assert "undecided" in rows[2]
        assert "4 points without a result: the arrival rate is 6 jobs per second" in out
        assert "--allow-unstable" in out

    @pytest.mark.parametrize(
        ("words", "part"),
        [
            ((), "give a grid"),
            (("--merge", "a.db"), "give its file"),
            (("GRID", "--shard", "4/3"), "third of ten"),
            (("GRID", "--against", "fcfs"), "not in the grid"),
            (("GRID", "--loads", "x"), "numbers separated by commas"),
            (("GRID", "--seeds", "1.5"), "whole numbers"),
            (("GRID", "--seeds", ","), "--seeds is ','; give whole numbers"),
            (("GRID", "--loads", ".5", "--rates", "1"), "not both"),
            (("GRID", "--budget", "100"), "precision"),
            (("GRID", "--parquet=-"), "not text"),
            (("GRID", "--store", "GRID"), "no store of results"),
            (("nowhere.toml",), "cannot be read"),
            (("GRID", "--policies", "mfs"), "did you mean"),
            (("GRID", "--jobs", "0"), "jobs is 0"),
            (("GRID", "--precision", "0"), "precision is 0.0"),
            (("GRID", "--precision-of", ""), "unknown --precision-of: ''"),
            (("GRID", "--replications", "0"), "replications is 0"),
            (("GRID", "--max-in-system", "0"), "--max-in-system is 0"),
            (("GRID", "--slowdown-bound", "0"), "--slowdown-bound is 0.0"),
            (("GRID", "--warmup", ""), "warmup is ''"),
            (("GRID", "--engine", ""), "unknown engine: ''"),
            (("GRID", "--policies", ""), "--policies is ''; give at least one"),
            (("GRID", "--models", " ; "), "--models is ' ; '; give at least one"),
            (("GRID", "--loads", ""), "--loads is ''; give numbers"),
            (("GRID", "--rates", ""), "--rates is ''; give numbers"),
            (("GRID", "--seeds", ""), "--seeds is ''; give whole numbers"),
            (("GRID", "--threads", "0"), "threads is 0"),
            (("GRID", "--budget", "0"), "budget is 0"),
            (("GRID", "--shard", ""), "third of ten"),
            (("GRID", "--against", ""), "''"),
            (("GRID", "--dask", ""), "--dask is empty"),
            (("--merge", "a.db", "--store", "b.db", "--loads", ".5"), "--loads is for a grid"),
            (("--merge", "a.db", "--store", "b.db", "--threads", "0"), "--threads is for a grid"),
        ],
    )
    def test_mistakes(
        self,
        grid: Path,
        words: tuple[str, ...],
        part: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        code, out, err = run(
            capsys, "sweep", *(str(grid) if word == "GRID" else word for word in words)
        )
        assert (code, out) == (2, "")
        assert part in err
        assert err.count("\n") == 1

    @pytest.mark.parametrize(
        "words",
        [
            ("--merge", "nosuch.db"),
            ("nosuch.toml",),
            ("g.toml", "--policies", "mfs"),
            ("g.toml", "--threads", "0"),
            ("g.toml", "--dask", ""),
            ("g.toml", "--merge", "nosuch.db"),
        ],
    )
    def test_a_mistake_leaves_no_store(
        self,
        grid: Path,
        words: tuple[str, ...],
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(grid.parent)
        code, _, err = run(capsys, "sweep", *words, "--store", "new.db")
        assert (code, err.count("\n")) == (2, 1)
        assert os.listdir() == ["g.toml"]

    @pytest.mark.skipif(os.name == "nt", reason="links need rights there")
    @pytest.mark.parametrize("option", ["--csv", "--parquet"])
    @pytest.mark.parametrize(
        ("words", "output"),
        [
            (("g.toml", "--store", "s.db"), "./s.db"),
            (("g.toml", "--store", "s.db"), "soft.db"),
            (("g.toml", "--store", "s.db"), "hard.db"),
            (("g.toml", "--store", "s.db"), "s.db-journal"),
            (("g.toml", "--store", "new.db"), "new.db"),
            (("--merge", "s.db", "r.db", "--store", "new.db"), "r.db"),
            (("g.toml", "--merge", "s.db", "--store", "new.db"), "s.db"),
            (("g.toml",), "g.toml"),
            (("g.toml", "--models", "mine.toml"), "mine.toml"),
            (("named.toml",), "mine.toml"),
            (("grids.toml",), "mine.toml"),
        ],
    )
    def test_no_output_takes_the_place_of_what_is_read(
        self,
        grid: Path,
        words: tuple[str, ...],
        output: str,
        option: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(grid.parent)
        Path("mine.toml").write_text(FOUR.to_toml(), encoding="utf-8")
        named = GRID.replace('"four-class"', '"mine.toml"')
        Path("named.toml").write_text(named, encoding="utf-8")
        of_several = named.replace("model =", "[[grid]]\nmodels =")
        Path("grids.toml").write_text(of_several, encoding="utf-8")
        for store in ("s.db", "r.db"):
            qs.Store(store).close()
        Path("soft.db").symlink_to("s.db")
        Path("hard.db").hardlink_to("s.db")
        before = {path.name: path.read_bytes() for path in Path().iterdir()}
        code, out, err = run(capsys, "sweep", *words, option, output)
        assert (code, out) == (2, "")
        told = f"{Path(output)} is what is read: give an output a file of its own."
        assert err == f"quickswap: error: {told}\n"
        assert {path.name: path.read_bytes() for path in Path().iterdir()} == before

    def test_without_a_grid_the_files_hold_what_the_store_holds(
        self, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        part, whole = str(tmp_path / "part.db"), str(tmp_path / "all.db")
        run(capsys, "sweep", str(grid), "--loads", ".4", "--store", part)
        code, out, _ = run(capsys, "sweep", "--merge", part, "--store", whole, "--csv=-")
        assert code == 0
        frame = pl.read_csv(io.StringIO(out), infer_schema_length=None)
        assert frame["key"].n_unique() == 4
        assert frame.shape == qs.Store(whole).to_frame().shape

    def test_a_model_file_is_no_grid(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        model = tmp_path / "mine.toml"
        model.write_text(FOUR.to_toml(), encoding="utf-8")
        code, _, err = run(capsys, "sweep", str(model))
        assert code == 2
        assert "looks like a model file, and a grid is to be given: a grid names it, as in" in err
        assert 'models = ["mine.toml"]' in err

    @pytest.mark.parametrize(
        ("line", "part"),
        [
            ("slowdown-bound = 2", "known: models, "),
            ("slowdown_bound = 0", "slowdown_bound is 0"),
            ("max_in_system = []", "max_in_system of a grid is an empty list"),
        ],
    )
    def test_keys_of_a_grid_are_not_called_options(
        self, grid: Path, line: str, part: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        grid.write_text(GRID + line, encoding="utf-8")
        code, _, err = run(capsys, "sweep", str(grid), "--max-in-system", "1000")
        assert code == (0 if "max" in line else 2)
        if code:
            assert part in err
            assert "--slowdown" not in err
        code, _, err = run(capsys, "sweep", str(grid))
        assert code == 2
        assert part in err
        assert "--" not in err

    def test_without_dask(
        self, grid: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "distributed", None)
        code, _, err = run(capsys, "sweep", str(grid), "--dask", "tcp://127.0.0.1:9")
        assert code == 2
        assert "install quickswap[distributed]" in err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (math.nan, "time left unknown yet"),
        (0.4, "0 s left"),
        (59.7, "1 min 00 s left"),
        (61, "1 min 01 s left"),
        (7380, "2 h 03 min left"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_ctrl_c_on_a_terminal(grid: Path, tmp_path: Path) -> None:
    """The bar is shown; what is done is printed and kept; running points are given up at once."""
    import pty

    grid.write_text(GRID + "seeds = [1, 2]\n[[grid]]\n[[grid]]\nload = 0.5\njobs = 1000000000\n")
    leader, follower = pty.openpty()
    store = tmp_path / "s.db"
    words = [sys.executable, "-m", "quickswap", "sweep", str(grid), "--store", str(store)]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=follower, start_new_session=True
    )
    os.close(follower)
    shown = b""
    deadline = time.monotonic() + 120
    try:
        while b"of 24 points" not in shown and time.monotonic() < deadline:
            if select.select([leader], [], [], 1)[0]:
                shown += os.read(leader, 65536)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(leader)
    assert process.returncode == 130
    assert time.monotonic() - begun < 30
    assert b"left" in shown
    assert b"run it again and it goes on where it was" in out
    assert qs.Store(store).path == store
