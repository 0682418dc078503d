"""Commands where the environment is not as usual: encodings, closed or full output, settings."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import quickswap as qs
from cli_helpers import run
from quickswap.cli.app import COMMANDS
from quickswap.errors import QuickswapError
from quickswap.plotting import plot_store

MODEL = """
servers = 4
load = 0.5

[[classes]]
name = "größer → a_$x^{$"
need = 1
share = 0.5
size = { distribution = "exponential", mean = 1.0 }

[[classes]]
name = '_b\\frac{ [bold] :star: <i> & $5 $6'
need = 4
share = 0.5
size = { distribution = "exponential", mean = 1.0 }
"""
QUICK = ("compare", "model.toml", "--loads", ".5", "--jobs", "2000", "--policies", "msf fcfs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.toml").write_text(MODEL, encoding="utf-8")
    return tmp_path


def called(
    folder: Path, *tokens: str, after: str = "", **environment: str
) -> tuple[int, bytes, bytes]:
    """Run a command in a shell, with redirections after it; return its code and outputs."""
    words = [sys.executable, "-m", "quickswap", *tokens]
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {after}', "sh", *words],
        capture_output=True,
        cwd=folder,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    assert b"Exception ignored" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


class TestEncodings:
    @pytest.mark.parametrize(
        ("environment", "encoding", "sign"),
        [
            ({"PYTHONIOENCODING": "ascii"}, "ascii", "+-"),
            ({"PYTHONIOENCODING": "cp1252"}, "cp1252", "±"),
            ({"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, "ascii", "+-"),
        ],
        ids=["ascii", "cp1252", "C"],
    )
    def test_letters_that_the_encoding_lacks_are_replaced(
        self, folder: Path, environment: dict[str, str], encoding: str, sign: str
    ) -> None:
        code, out, err = called(folder, *QUICK, "--csv", "all.csv", **environment)
        assert (code, err) == (0, b"")
        lines = out.decode(encoding).splitlines()
        header = next(line for line in lines if line.startswith("load"))
        row = next(line for line in lines if line.startswith("0.5"))
        assert sign in row
        # the columns stay aligned, whatever stands for a letter
        assert row[header.index("weighted mean")].isdigit()
        assert row[header.index("utilisation")].isdigit()
        assert row[header.index("verdict")].isalpha()
        assert "größer" in (folder / "all.csv").read_text(encoding="utf-8")

    def test_errors_and_data_under_ascii(self, folder: Path) -> None:
        code, _, err = called(folder, "show", "größe.toml", PYTHONIOENCODING="ascii")
        assert code == 2
        assert err.isascii()
        tokens = ("show", "model.toml", "--json")
        code, out, _ = called(folder, *tokens, PYTHONIOENCODING="ascii")
        assert code == 0
        assert called(folder, *QUICK, "--plot", "all.svg", PYTHONIOENCODING="ascii")[0] == 0
        assert json.loads(out.decode("utf-8"))["classes"][0]["name"] == "größer → a_$x^{$"

    def test_a_name_that_is_no_text(self, folder: Path) -> None:
        (folder / os.fsdecode(b"\xff.toml")).write_text(MODEL, encoding="utf-8")
        code, out, _ = called(folder, "show", os.fsdecode(b"\xff.toml"))
        assert code == 0
        assert b"4 servers" in out


class TestClosedAndFullOutput:
    TOKENS = (("--help",), ("show", "one-or-all"))

    @pytest.mark.parametrize("tokens", TOKENS, ids=" ".join)
    @pytest.mark.parametrize("after", [">&-", "> /dev/full"])
    def test_output_that_cannot_be_written_is_an_error(
        self, folder: Path, tokens: tuple[str, ...], after: str
    ) -> None:
        if "full" in after and not Path("/dev/full").exists():
            pytest.skip("this system has no /dev/full")
        code, _, err = called(folder, *tokens, after=after)
        assert code == 2
        assert err.startswith(b"quickswap: error: standard output cannot be written")
        assert err.count(b"\n") == 1

    def test_files_are_written_where_output_is_closed(self, folder: Path) -> None:
        code, _, _ = called(folder, *QUICK, "--csv", "all.csv", "--plot", "a.png", after=">&-")
        assert code == 2
        assert sorted(os.listdir(folder)) == ["a.png", "all.csv", "model.toml"]

    def test_a_mistake_where_everything_is_closed(self, folder: Path) -> None:
        assert called(folder, "show", "none", after=">&- 2>&- <&-")[0] == 2
        assert called(folder, "show", "none", after="2> /dev/full")[0] == 2
        assert called(folder, *QUICK, after="2>&-")[0] == 0

    @pytest.mark.parametrize("tokens", [("compare", "--help"), QUICK], ids=["help", "table"])
    def test_a_reader_that_leaves_is_no_error(self, folder: Path, tokens: tuple[str, ...]) -> None:
        code, _, err = called(folder, *tokens, after="| head -n 1")
        assert (code, err) == (0, b"")


INLINE = "module://matplotlib_inline.backend_inline"
"""The backend of notebooks."""


class TestFigures:
    def test_the_settings_of_a_user_and_of_a_notebook_change_nothing(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings = folder / "matplotlibrc"
        settings.write_text("text.usetex: True\nfont.size: 30\naxes.facecolor: red\n", "utf-8")
        monkeypatch.chdir(folder)
        assert run(capsys, *QUICK, "--plot", "plain.svg")[0] == 0
        for name, environment in (
            ("set.svg", {"MATPLOTLIBRC": str(settings), "MPLBACKEND": INLINE}),
            ("unknown.svg", {"MPLBACKEND": "nonsense"}),
        ):
            assert called(folder, *QUICK, "--plot", name, **environment)[0] == 0
        plain = (folder / "plain.svg").read_bytes()
        for name in ("set.svg", "unknown.svg"):
            assert (folder / name).read_bytes() == plain

    @pytest.mark.parametrize(
        "tokens",
        [
            ("compare", "four-class", "--loads", ".5", "--jobs", "2000", "--plot"),
            ("analyze", "one-or-all:k=4", "--plot"),
        ],
        ids=["compare", "analyze"],
    )
    def test_a_figure_that_fails_costs_no_numbers(
        self,
        tokens: tuple[str, ...],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("no font\nat all")

        monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
        code, out, err = run(capsys, *tokens, str(tmp_path / "a.svg"))
        assert code == 2
        assert "MSF" in out
        assert err == "quickswap: error: the figure cannot be drawn (no font at all).\n"
        assert os.listdir(tmp_path) == []

    def test_every_file_that_can_be_written_is(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise QuickswapError("the disk is full.")

        monkeypatch.setattr("quickswap.simulation.comparison.Comparison.to_json", fail)
        tokens = ("compare", "four-class", "--loads", ".5", "--jobs", "2000")
        files = ("--json", str(tmp_path / "a.json"), "--parquet", str(tmp_path / "a.parquet"))
        code, out, err = run(capsys, *tokens, *files)
        assert (code, err) == (2, "quickswap: error: the disk is full.\n")
        assert "MSF" in out
        assert os.listdir(tmp_path) == ["a.parquet"]

    def test_names_are_text(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        system = qs.load(str(folder / "model.toml"))
        qs.sweep(qs.Grid(system, ["msf"], loads=[0.4, 0.6], jobs=2000), folder / "s.db")
        title = r"a $\frac{ _ $ title"
        figure = plot_store(folder / "s.db", folder / "s.svg", per_class=True, title=title)
        assert [axes.get_title() for axes in figure.axes] == list(system.names)
        assert figure.legends[0].get_title().get_text() == title
        texts = [*(axes.title for axes in figure.axes), figure.legends[0].get_title()]
        assert not any(text.get_parse_math() for text in texts)
        code, out, _ = run(capsys, "show", str(folder / "model.toml"))
        assert code == 0
        assert system.names[1] in out


class TestHelp:
    @pytest.mark.parametrize("command", [None, *COMMANDS], ids=lambda each: each and each.__name__)
    @pytest.mark.parametrize("width", [40, 80, 120, 200])
    def test_lines_are_wrapped_once(
        self,
        command: object,
        width: int,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("COLUMNS", str(width))
        words = [] if command is None else [command.__name__]  # type: ignore[attr-defined]
        code, out, _ = run(capsys, *words, "--help")
        assert code == 0
        lines = out.splitlines()
        assert max(map(len, lines)) <= min(width, 100)
        assert not any(line != line.rstrip() for line in lines)
        # a line ends early only if its next word has no room, or nothing of it follows
        column = 0
        for line, following in pairwise(lines):
            indent = len(following) - len(following.lstrip())
            column = max(column, indent) if following else 0  # of each group of options
            if indent == column > 2 and line[column - 2 : column].isspace():
                word = re.split(r"(?<!default:) (?!%)", following.strip())[0]
                assert len(line) + 1 + len(word) > min(width, 100)

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda each: each.__name__)
    def test_every_option_says_its_default(
        self,
        command: object,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("COLUMNS", "200")
        _, out, _ = run(capsys, command.__name__, "--help")  # type: ignore[attr-defined]
        for part in out.split("\n\n"):
            for entry in re.split(r"\n(?=  -)", part)[1:]:
                words = " ".join(entry.split())
                if not re.match(r"-[\w, -]*? (STR|INT|FLOAT) ", words):
                    continue  # a flag is off, and a file is not written, unless it is given
                said = re.search(r"default|instead of|without it", f"{part.split(':')[0]} {words}")
                assert said, words
