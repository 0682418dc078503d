"""Files that figures are drawn from, mistakes, and the command `plot`."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import quickswap as qs
from cli_helpers import run
from plot_helpers import (
    labels,
)
from quickswap.plotting import Chart, chart_of, plot_store
from verification.known import FOUR, one_or_all


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

    def test_a_damaged_store_is_refused_and_left(
        self, curves: tuple[Path, qs.Grid], tmp_path: Path
    ) -> None:
        torn = tmp_path / "torn.db"
        data = bytearray(curves[0].read_bytes())
        third = len(data) // 3  # records have no fixed place
        data[third : 2 * third] = bytes(third)
        torn.write_bytes(data)
        with pytest.raises(qs.QuickswapError, match=r"torn\.db is damaged"):
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
            ({"metrics": "p9x"}, r"unknown metric: 'p9x' \(did you mean 'p9\d*'\?\); known: weigh"),
            ({"metrics": "p98"}, 'no point has a value of p98; give percentiles="98"'),
            ({"metrics": "p99_wating_time"}, "did you mean 'p99_waiting_time'"),
            ({"metrics": "jain", "per_class": True}, "metric jain applies to all jobs"),
            ({"metrics": "mean_duration_of_phase_1"}, "no point has a value of mean_duration"),
            ({"metrics": []}, "one or several"),
            ({"policies": "msff"}, "unknown policy: 'msff'.*did you mean 'msf'"),
            ({"policies": "fcfs"}, "no points of policy fcfs: give some of msf, first-fit"),
            ({"x": "lod"}, "unknown x: 'lod'.*did you mean 'load'"),
            (
                {"x": "window"},
                "unknown x: 'window'; known: load, rate, jobs, replications, warmup",
            ),
            ({"x": "precision"}, "no point has a number for precision"),
            (
                {"x": "jobs"},
                "jobs is 40000 at all points that have a value: draw against",
            ),
            ({"model": "borg-b"}, "no points of the model borg-b.*it contains 'four-class'"),
            ({"model": "four-clas"}, "unknown model in the store.*did you mean 'four-class'"),
            ({"loads": [0.5]}, "no points of four-class at load 0.5: give some of 0.4, 0.6"),
            ({"loads": [1.3]}, "there is nothing to draw: no point is stable"),
            (
                {"paths": "a.gif"},
                r"the extension of a.gif is '.gif'; it must be one of .svg, .pdf, .png",
            ),
            ({"paths": "no/a.svg"}, "a.svg cannot be written"),
        ],
    )
    def test_one_sentence(
        self, curves: tuple[Path, qs.Grid], arguments: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(qs.QuickswapError, match=sentence):
            plot_store(curves[0], **arguments)

    def test_files_that_are_no_stores(self, tmp_path: Path) -> None:
        with pytest.raises(qs.QuickswapError, match="does not exist"):
            plot_store(tmp_path / "none.db")
        (tmp_path / "text.db").write_text("text\n" * 100, encoding="utf-8")
        with pytest.raises(qs.QuickswapError, match="is not a store of results"):
            plot_store(tmp_path / "text.db")
        (tmp_path / "empty.db").touch()
        with pytest.raises(qs.QuickswapError, match=r"empty\.db is empty"):
            plot_store(tmp_path / "empty.db")
        assert (tmp_path / "empty.db").read_bytes() == b""
        qs.Store(tmp_path / "new.db").close()
        with pytest.raises(qs.QuickswapError, match=r"new\.db is empty"):
            plot_store(tmp_path / "new.db")
        with pytest.raises(qs.QuickswapError, match="a Store, its file, or several"):
            plot_store([])

    def test_a_store_of_another_format(self, curves: tuple[Path, qs.Grid], tmp_path: Path) -> None:
        data = bytearray(curves[0].read_bytes())
        data[60:64] = (7).to_bytes(4, "big")
        (tmp_path / "old.db").write_bytes(data)
        with pytest.raises(qs.QuickswapError, match="is a store of format 7, and this version"):
            plot_store(tmp_path / "old.db")

    def test_an_axis_on_which_nothing_varies(self, thresholds: Path) -> None:
        sentence = "backfill is 0 at all points that have a value: draw against threshold"
        with pytest.raises(qs.QuickswapError, match=sentence):
            plot_store(thresholds, x="backfill")
        with pytest.raises(qs.QuickswapError, match="that have a value: leave the axis out"):
            plot_store(thresholds, policies=["msf"], x="jobs")

    def test_runs_too_short_for_a_value(self, tmp_path: Path) -> None:
        grid = qs.Grid("borg-b", ["msf", "first-fit"], loads=[0.3, 0.4], jobs=40)
        qs.sweep(grid, tmp_path / "s.db")
        with pytest.raises(
            qs.QuickswapError,
            match="a value of weighted; 4 of 4 marks too short; simulate more jobs",
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
        with pytest.raises(
            qs.QuickswapError, match="16 lines against load cannot be distinguished"
        ):
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
        assert "left out: 8 points of a policy that was not requested" in out
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
            (["--output", "a.gif"], "the extension of a.gif"),
            (["--output", "no/a.svg"], "there is no folder no"),
            (["-o", "-"], "the extension of - is ''"),
            (["--policies", ""], "--policies is ''"),
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

    @pytest.mark.filterwarnings("default")
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
            "quickswap: warning: the font of figures lacks 日, 本: "
            "each of them is drawn as a box.\n"
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
        assert "is an input" in err
        assert curves[0].read_bytes() == before
