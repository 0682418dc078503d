"""The commands `simulate` and `compare`: what they print, what they write, how Ctrl-C ends them."""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import quickswap as qs
from cli_helpers import run
from quickswap.simulation import simulate

SMALL = ("--jobs", "4000", "--seed", "3")


def good(capsys: pytest.CaptureFixture[str], *tokens: str) -> str:
    """Run a command that succeeds and says nothing on standard error; return what it prints."""
    code, out, err = run(capsys, *tokens)
    assert (code, err) == (0, "")
    return out


class TestSimulate:
    def test_it_prints_what_simulate_finds(self, capsys: pytest.CaptureFixture[str]) -> None:
        out = good(capsys, "simulate", "four-class", "--policy", "msf", *SMALL)
        result = qs.simulate(qs.load("four-class"), "msf", jobs=4000, seed=3)
        first, reason, *_ = out.splitlines()
        assert first == f"MSF on 15 servers, 4 jobs per second, load 0.8: {result.verdict.status}"
        assert reason == f"({result.verdict.reason})"
        rows = {line.split("  ")[0]: line for line in out.splitlines()}
        assert str(result.classes[3].mean_response_time) in rows["need 15"]
        assert str(result.overall.response_time.p99) in rows["all"]
        assert rows["utilisation"].endswith(str(result.utilisation))
        assert rows["waste: weighted mean minus the bound"].endswith(str(result.waste))
        assert f"{result.lower_bound:.6g} (exact)" in rows["lower bound of the weighted mean"]
        assert out.count("control variates: ") == bool(result.gains)
        assert f"{result.completed:,} jobs in " in out
        assert result.stop.explanation in out

    def test_every_setting_is_passed_on(self, capsys: pytest.CaptureFixture[str]) -> None:
        settings = (
            *("--jobs", "900", "--precision", ".5", "--seed", "7", "--engine", "events"),
            *("--replications", "3", "--threads", "1", "--warmup", "mser5", "--debug"),
            *("--slowdown-bound", "2", "--max-in-system", "5000", "--allow-unstable"),
            "--plain-estimates",
        )
        out = good(capsys, "simulate", "four-class", "--load", ".5", *settings, "--json=-")
        inputs = json.loads(out)["inputs"]
        expected = {
            "jobs": 900,
            "precision": 0.5,
            "seed": 7,
            "engine": "events",
            "replications": 3,
            "warmup": "mser5",
            "slowdown_bound": 2.0,
            "plain_estimates": True,
            "max_in_system": 5000,
            "allow_unstable": True,
            "policy": "adaptive-quickswap",
        }
        assert {key: inputs[key] for key in expected} == expected
        assert qs.System.from_dict(inputs["system"]).load == pytest.approx(0.5)

    def test_json_on_standard_output_is_all_there_is(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = good(capsys, "simulate", "four-class", *SMALL, "--json", "-")
        assert qs.Result.from_json(out).completed == 4000

    def test_the_files_it_writes(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        names = [str(tmp_path / name) for name in ("r.json", "r.csv", "t.csv")]
        files = ("--json", names[0], "--csv", names[1], "--trajectory", names[2])
        good(capsys, "simulate", "four-class", *SMALL, *files)
        result = qs.Result.from_json(Path(names[0]).read_text(encoding="utf-8"))
        frame = pl.read_csv(names[1])
        assert frame.shape == result.to_frame().shape
        assert frame["value"][0] == result.weighted_mean_response_time.value
        path = pl.read_csv(names[2])
        assert path.columns == ["time", "need 1", "need 3", "need 5", "need 15"]
        assert path.row(0) == (0.0, 0, 0, 0, 0)
        assert result.trajectory is not None
        assert path.height == len(result.trajectory.counts)
        assert sorted(os.listdir(tmp_path)) == ["r.csv", "r.json", "t.csv"]

    def test_phases_of_msfq_are_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        out = good(capsys, "simulate", "one-or-all", "--policy", "msfq:drain=always", *SMALL)
        assert [line.split()[1] for line in out.splitlines() if line.startswith("phase ")][-4:] == [
            *("1", "2", "3", "4")
        ]

    def test_a_system_at_its_limit_is_simulated_if_allowed(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        many = ("--jobs", "100000", "--allow-unstable")
        out = good(capsys, "simulate", "four-class", "--load", "1.5", *many)
        assert "load 1.5: unstable" in out
        row = next(line for line in out.splitlines() if line.startswith("all"))
        assert re.fullmatch(r"all\s+[\d,]+(\s+-)+", row)


class TestCompare:
    TWO = ("compare", "four-class", "--policies", "msf; smash:window=3", *SMALL)

    def test_it_prints_a_table(self, capsys: pytest.CaptureFixture[str]) -> None:
        out = good(capsys, *self.TWO, "--loads", ".3,.6")
        lines = [re.split(r"\s{2,}", line) for line in out.splitlines()]
        assert lines[2][:4] == ["load", "rate", "policy", "weighted mean"]
        rows = [line for line in lines if line[0] in ("0.3", "0.6")]
        assert [row[:3] for row in rows] == [
            ["0.3", "1.5", "MSF"],
            ["0.3", "1.5", "Smash(3)"],
            ["0.6", "3", "MSF"],
            ["0.6", "3", "Smash(3)"],
        ]
        assert out.count(" best ") == 2
        assert "16,000 jobs in" in out

    def test_piped_output_is_plain(self, capsys: pytest.CaptureFixture[str]) -> None:
        out = good(capsys, *self.TWO, "--load", ".5")
        assert "\x1b" not in out
        assert all(line == line.rstrip() for line in out.splitlines())
        assert max(map(len, out.splitlines())) > 80  # nothing wraps

    def test_the_files_it_writes(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        paths = {ending: tmp_path / f"c.{ending}" for ending in ("json", "csv", "parquet", "svg")}
        files = [f"--{key}={paths[key]}" for key in ("json", "csv", "parquet")]
        good(capsys, *self.TWO, "--rates", "1,2", *files, f"--plot={paths['svg']}")
        comparison = qs.Comparison.from_json(paths["json"].read_text(encoding="utf-8"))
        assert len(comparison.results) == 4
        frame = comparison.to_frame()
        assert pl.read_csv(paths["csv"]).shape == frame.shape
        assert pl.read_parquet(paths["parquet"]).equals(frame)
        drawing = paths["svg"].read_text(encoding="utf-8")
        assert drawing.startswith("<?xml")
        assert "Smash(3)" in drawing or len(drawing) > 10_000  # text is drawn as paths
        assert sorted(os.listdir(tmp_path)) == sorted(f"c.{ending}" for ending in paths)

    @pytest.mark.parametrize("ending", ["svg", "pdf"])
    def test_equal_results_give_equal_figures(
        self, ending: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
        for path in paths:
            good(capsys, *self.TWO, "--load", ".5", "--plot", str(path))
        assert paths[0].read_bytes() == paths[1].read_bytes()

    def test_csv_on_standard_output_is_all_there_is(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = good(capsys, *self.TWO, "--load", ".5", "--csv", "-")
        frame = pl.read_csv(io.StringIO(out))
        assert frame["policy"].unique().sort().to_list() == ["MSF", "Smash(3)"]

    @pytest.mark.parametrize("tokens", [("simulate",), ("compare", "--load", ".8")])
    def test_intervals_of_unknown_width_are_explained(
        self, tokens: tuple[str, ...], capsys: pytest.CaptureFixture[str]
    ) -> None:
        command, *rest = tokens
        short = good(capsys, command, "four-class", *rest, "--jobs", "8")
        assert sum(line.startswith("± ?:") for line in short.splitlines()) == 1
        assert short.count("± ?") > 1
        calm = ("--jobs", "1000000", "--policies" if command == "compare" else "--policy", "msf")
        assert "± ?" not in good(capsys, command, "four-class:load=.5", *rest, *calm)

    def test_settings_have_the_names_of_the_command_line(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = good(capsys, "simulate", "four-class", "--jobs", "1e9", "--max-in-system", "10")
        assert "than allowed: raise the limit" in out
        assert "max_in_system" not in out

    def test_the_unstable_are_marked_and_drawn_without(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        path = tmp_path / "c.svg"
        policies = ("--policies", "fcfs msf", "--rate", "4", "--jobs", "40000")
        out = good(capsys, "compare", "four-class", *policies, "--plot", str(path))
        row = next(line for line in out.splitlines() if "FCFS" in line)
        assert row.endswith("unstable")
        assert path.stat().st_size > 0


def program(*tokens: str, **settings: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "quickswap", *tokens]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **settings)


def until(terminal: int, pattern: str) -> str:
    """Read what a program writes to a terminal until it holds a pattern, or for a minute."""
    seen, end = "", time.monotonic() + 60
    while not re.search(pattern, seen) and time.monotonic() < end:
        if select.select([terminal], [], [], 1.0)[0]:
            seen += os.read(terminal, 4096).decode(errors="replace")
    assert re.search(pattern, seen), seen
    return seen


class TestProgram:
    def test_no_colour_in_a_pipe_even_if_a_terminal_is_claimed(self) -> None:
        environment = os.environ | {"NO_COLOR": "1", "TERM": "xterm-256color"}
        with program("compare", "four-class", "--load", ".5", *SMALL, env=environment) as process:
            out, err = process.communicate(timeout=60)
        assert process.returncode == 0
        assert err == ""
        assert "\x1b" not in out

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is full")
    @pytest.mark.parametrize("output", ["--json=-", "--seed=1"], ids=["json", "table"])
    def test_a_full_disk_behind_standard_output_is_told(self, output: str) -> None:
        command = [sys.executable, "-m", "quickswap", "simulate", "four-class", "--jobs", "1000"]
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [*command, output], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 2
        assert done.stderr.startswith("quickswap: error: standard output cannot be written: ")
        assert done.stderr.count("\n") == 1

    def test_a_reader_that_leaves_is_no_mistake(self) -> None:
        with program("simulate", "four-class", "--jobs", "1000", "--json=-") as process:
            assert process.stdout is not None
            process.stdout.close()
            process.wait(timeout=60)
        assert process.returncode == 0

    @pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
    @pytest.mark.parametrize(("name", "jobs"), [("simulate", "4e8"), ("compare", "2e7")])
    def test_ctrl_c_ends_it_at_once_and_shows_what_was_measured(self, name: str, jobs: str) -> None:
        """The signal is sent once the progress shows that a hundredth of the jobs are done."""
        watched, standard_error = os.openpty()
        command = [sys.executable, "-m", "quickswap", name, "four-class", "--jobs", jobs]
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=standard_error, text=True, env=environment
        ) as process:
            os.close(standard_error)
            shown = until(watched, r"\b[1-9]\d?%")
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        os.close(watched)
        assert "100%" not in shown
        assert process.returncode == 130
        assert "interrupted" in out
        done = re.search(r"([\d,]+) jobs in", out)
        assert done is not None
        assert 10_000 < int(done[1].replace(",", "")) < float(jobs)


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_ctrl_c_before_anything_was_measured(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> qs.Result:
        raise qs.Interrupted(None)

    monkeypatch.setattr(simulate._Session, "run", interrupted)
    code, out, err = run(capsys, command, "four-class")
    assert out == ""
    assert "Traceback" not in err
    assert code == 130


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("place", ["cyclopts", "quickswap.cli.app"])
def test_ctrl_c_while_modules_are_imported(place: str) -> None:
    """The finder raises in code that was compiled from text, which Python ends by the signal."""
    program = f"""
import sys
class Struck:
    def find_spec(self, name, *_):
        if name == {place!r}:
            exec("raise KeyboardInterrupt")
sys.meta_path.insert(0, Struck())
from quickswap.cli import main
main(["show", "four-class"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "quickswap: interrupted: there are no results\n"


@pytest.mark.parametrize("nth", [1, 3], ids=["first check", "third check"])
def test_ctrl_c_between_two_rounds_loses_nothing(nth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    checks, evidence = count(1), simulate._Session.evidence

    def struck(*arguments: Any) -> Any:
        if next(checks) == nth:
            raise KeyboardInterrupt
        return evidence(*arguments)

    monkeypatch.setattr(simulate._Session, "evidence", struck)
    with pytest.raises(qs.Interrupted) as caught:
        qs.simulate("four-class", "msf", jobs=800_000)
    assert isinstance(caught.value.result, qs.Result)
    assert caught.value.result.stop is qs.Stop.INTERRUPTED
    assert caught.value.result.completed == [100_000, 200_000, 400_000][nth - 1]


def test_ctrl_c_in_the_second_simulation_keeps_the_first() -> None:
    def struck(done: int, intended: int) -> None:
        if done > intended / 2:
            raise KeyboardInterrupt

    with pytest.raises(qs.Interrupted) as caught:
        qs.compare("four-class", ["msf", "lsf"], jobs=2000, progress=struck)
    assert isinstance(caught.value.result, qs.Comparison)
    assert caught.value.result.policies[0] == "MSF"


def test_compare_keeps_the_load_in_the_name_of_the_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = good(capsys, "compare", "one-or-all:k=4,load=.5", "--jobs", "2000", "--csv", "-")
    assert pl.read_csv(io.StringIO(out))["load"].unique().to_list() == [0.5]


@pytest.mark.parametrize(
    ("option", "values"),
    [("--loads", ("0.3", "0.6")), ("--rates", ("1", "2")), ("--policies", ("msf", "fcfs"))],
)
def test_a_list_is_one_value(
    option: str, values: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A repeated option would leave open whether the values are joined or replaced."""
    words = [word for value in values for word in (option, value)]
    code, out, err = run(capsys, "compare", "four-class", "--jobs", "400", *words)
    assert (code, out) == (2, "")
    assert option in err
