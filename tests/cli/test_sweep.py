"""The command `sweep`."""

from __future__ import annotations

import io
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import quickswap as qs
from cli_helpers import run, struck
from conftest import GRID
from quickswap._progress import duration
from verification.known import FOUR


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
        for cell, line in zip(found.cells, lines, strict=True):
            assert str(cell.estimate("First-Fit", "weighted_mean_response_time")) in line
            assert str(cell.difference("First-Fit", "MSF")) in line
            assert line.endswith(cell.outcome("First-Fit", "MSF").value)

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
        words += [
            "--allow-unstable",
            "--plain-estimates",
            "--models",
            "borg-b; one-or-all:k=4",
            "--policies",
            "fcfs",
        ]
        words += ["--rates", ".01", "--seeds", "5,6", "--engine", "auto", "--threads", "1"]
        code, out, err = run(capsys, "sweep", str(grid), "--store", store, *words)
        assert (code, err) == (0, "")
        assert "borg-b" in out
        points = list(qs.Store(store).points())
        assert len(points) == 4
        expected = {key.replace("-", "_"): value for key, value in options.items()}
        flagged = expected | {"allow_unstable": True, "plain_estimates": True}
        for point in points:
            assert point.settings.items() >= flagged.items()
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
        assert ", wide" not in out

    def test_files(self, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        parquet = tmp_path / "all.parquet"
        code, out, _ = run(capsys, "sweep", str(grid), "--csv=-", "--parquet", str(parquet))
        assert code == 0
        frame = pl.read_csv(io.StringIO(out), infer_schema_length=None)
        assert frame.shape == pl.read_parquet(parquet).shape
        assert frame["key"].n_unique() == 8
        known = qs.Store().to_frame().columns  # the parameters of policies follow
        assert frame.columns[: len(known)] == known

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
        assert (code, out) == (0, f"8 rows are new in {whole}, which contains 8 results\n")
        code, out, _ = run(capsys, "sweep", str(grid), "--store", whole)
        assert "0 of 8 points run now" in out

    def test_many_points_have_a_line_for_each_cell(
        self, grid: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("quickswap.display.sweeps.MOST", 3)
        options = ("--loads", ".4,.6,1.2", "--against", "static-quickswap:threshold=2")
        code, out, _ = run(capsys, "sweep", str(grid), *options)
        assert code == 0
        rows = [line for line in out.splitlines() if line.startswith(("0.4", "0.6", "1.2"))]
        assert len(rows) == 3
        assert rows[0].endswith("significantly better")
        assert rows[2].split()[2] == "-"
        assert "4 points without a result: at load 1.2 the arrival rate is 6 jobs" in out
        assert "give --allow-unstable." in out

    @pytest.mark.parametrize(
        ("words", "part"),
        [
            ((), "no grid is given"),
            (("--merge", "a.db"), "--merge requires --store"),
            (("GRID", "--shard", "4/3"), "third of ten"),
            (("GRID", "--against", "fcfs"), "must be a policy of the grid"),
            (("GRID", "--loads", "x"), "separated by commas"),
            (("GRID", "--seeds", "1.5"), "whole numbers"),
            (("GRID", "--seeds", ","), "--seeds is ','; give whole numbers"),
            (("GRID", "--loads", ".5", "--rates", "1"), "are both given"),
            (("GRID", "--budget", "100"), "precision"),
            (("GRID", "--parquet=-"), "--parquet is '-'"),
            (("GRID", "--store", "GRID"), "not a store of results"),
            (("nowhere.toml",), "cannot be read"),
            (("GRID", "--policies", "mfs"), "did you mean"),
            (("GRID", "--jobs", "0"), "jobs is 0"),
            (("GRID", "--precision", "0"), "precision is 0.0"),
            (("GRID", "--precision-of", ""), "unknown --precision-of: ''"),
            (("GRID", "--replications", "0"), "replications is 0"),
            (("GRID", "--max-in-system", "0"), "--max-in-system is 0"),
            (("GRID", "--slowdown-bound", "0"), "--slowdown-bound is 0.0"),
            (("GRID", "--warmup", ""), "warmup is ''"),
            (("GRID", "--engine", ""), "unknown --engine: ''"),
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
            (("--merge", "a.db", "--store", "b.db", "--loads", ".5"), "--loads requires a grid"),
            (("--merge", "a.db", "--store", "b.db", "--threads", "0"), "--threads requires a grid"),
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
        assert f"{Path(output)} is an input" in err
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
        assert "is a model file, not a grid" in err
        assert 'models = ["mine.toml"]' in err

    @pytest.mark.parametrize(
        ("line", "part"),
        [
            ("slowdown-bound = 2", "known: models, "),
            ("slowdown_bound = 0", "slowdown_bound is 0"),
            ("max_in_system = []", "max_in_system is an empty list"),
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
        (math.nan, "time left unknown"),
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
    grid.write_text(GRID + "seeds = [1, 2]\n[[grid]]\n[[grid]]\nload = 0.5\njobs = 1000000000\n")
    store = tmp_path / "s.db"
    shown, out = struck(["sweep", str(grid), "--store", str(store)], b"of 24 points", pause=1.0)
    assert b"left" in shown
    assert b"repeat the command to continue" in out
    assert qs.Store(store).path == store
