"""`quickswap replay`: the table, the files, what is rejected, and Ctrl-C."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import quickswap as qs
from cli_helpers import run
from quickswap import logs
from quickswap.engine._core import replay as core_replay
from quickswap.replays import replay_all
from quickswap.report import write_report


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Three weeks of jobs on 16 servers, in SWF."""
    draw = np.random.default_rng(3)
    submit = np.sort(draw.integers(0, 21 * 86400, 800))
    need, size = draw.choice([1, 2, 4, 16], 800), draw.integers(0, 8000, 800)
    wait = draw.integers(0, 900, 800)
    rows = [
        f"{i} {at} {w} {r} {n} -1 -1 {n} {2 * r} -1 1 {i % 5} 1 -1 1 1 -1 -1"
        for i, (at, w, r, n) in enumerate(zip(submit, wait, size, need, strict=True))
    ]
    path = tmp_path / "log.swf"
    path.write_text("; MaxProcs: 16\n" + "\n".join(rows) + "\n")
    return str(path)


def test_the_table(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "replay", log)
    assert (code, err) == (0, "")
    for words in (
        "800 of 800 rows kept, on 16 servers",
        "as logged",
        "EASY",
        "Conservative",
        "First-Fit",
        "Static Quickswap",
        "Adaptive Quickswap",
        "95 % half-width over 19 days of the log",
        "best: smallest mean bounded slowdown",
        "6 replays in",
    ):
        assert words in out
    assert len(re.findall(r"^0\.\d+ .*keeps up$", out, re.M)) == 5
    assert max(map(len, err.splitlines()), default=0) == 0


def test_loads_and_policies(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "replay", log, "--policies", "fcfs; msf", "--load-factors", "1,1.5,2"
    )
    assert code == 0
    loads = re.findall(r"^(0\.\d+|1\.\d+) +(?:FCFS|MSF)", out, re.M)
    assert len(loads) == 6
    assert float(loads[4]) == pytest.approx(2 * float(loads[0]), rel=1e-3)
    [line] = re.findall(r"^lower bound: .*$", out, re.M)
    bounds = re.findall(r"([\d.]+) \w+ at load ([\d.]+)", line)
    assert [load for _, load in bounds] == loads[::2]
    assert sorted(bounds, key=lambda each: float(each[0])) == bounds


def test_files(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {kind: tmp_path / f"out.{kind}" for kind in ("csv", "json", "parquet", "jobs")}
    options = ["--csv", "--json", "--parquet", "--outcomes"]
    pairs = zip(options, map(str, names.values()), strict=True)
    code, _, _ = run(
        capsys, "replay", log, "--policies", "easy", *(word for pair in pairs for word in pair)
    )
    assert code == 0
    expected = qs.replay_all(qs.logs.read(log), "easy")
    assert pl.read_parquet(names["parquet"]).equals(expected.to_frame())
    assert len(pl.read_csv(names["csv"])) == len(expected.to_frame())
    assert json.loads(names["json"].read_text()) == json.loads(expected.to_json())
    outcomes = pl.read_parquet(names["jobs"])
    assert len(outcomes) == 2 * 800
    assert outcomes["policy"].unique().sort().to_list() == ["EASY", "as logged"]
    code, out, _ = run(capsys, "replay", log, "--policies", "easy", "--csv", "-")
    assert pl.read_csv(io.StringIO(out))["policy"].unique().sort().to_list() == [
        "EASY",
        "as logged",
    ]


@pytest.mark.filterwarnings("default")
def test_a_slurm_conf(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, report = tmp_path / "slurm.conf", tmp_path / "report.html"
    path.write_text("ClusterName=x\nSchedulerParameters=bf_interval=60,defer\n")
    command = ["replay", log, "--slurm-conf", str(path), "--policies", "slurm easy"]
    code, out, err = run(capsys, *command, "--load-factors", "1", "--report", str(report))
    assert code == 0
    assert re.findall(r"^0\.\d+ +([SE]\S+)", out, re.M) == ["Slurm(bf_interval=60)", "EASY"]
    assert "not modelled: defer" in err
    page = report.read_text()
    assert "baseline: Slurm(bf_interval=60)" in page
    assert "--slurm-conf slurm.conf" in page
    path.write_text("ClusterName=x\nSchedulerParameters=bf_interval=0\n")
    code, _, err = run(capsys, *command)
    assert code == 2
    assert "line 2: bf_interval is 0.0" in err


def test_every_setting_arrives(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = (
        "--policies=adaptive-quickswap --classes=1-2,3- --estimate=2 --warmup=.1 --cooldown=.2 "
        "--slowdown-bound=60 --seed=5 --debug --servers=20 --to=1e6 --json=-"
    )
    code, out, _ = run(capsys, "replay", log, *options.split())
    assert code == 0
    inputs = json.loads(out)["results"][1]["inputs"]
    expected = qs.replay(
        qs.logs.read(log, servers=20, end=1e6),
        "adaptive-quickswap",
        classes="1-2,3-",
        estimate=2.0,
        warmup=0.1,
        cooldown=0.2,
        slowdown_bound=60,
        seed=5,
    )
    assert inputs == {
        name: getattr(expected.inputs, name) for name in expected.inputs.__dataclass_fields__
    }
    means = {
        each["policy_label"]: each["overall"]["waiting_time"]["mean"]
        for each in json.loads(out)["results"]
    }
    wait = expected.mean_waiting_time
    assert means["Adaptive Quickswap"] == [wait.value, wait.half_width]


MISTAKES = [
    (["--policies", "unknown"], "unknown"),
    (["--policies", "msfq"], "MSFQ serves systems of two classes"),
    (["--policies", ""], "--policies is ''"),
    (["--load-factors", ""], "--load-factors is ''"),
    (["--load-factors", "1,1.0000000001"], "1 and 1.0000000001, which differ"),
    (["--report", "-"], "--report"),
    (["--report", "--debug"], "--report"),
    (["--json", "--debug"], "--json"),
    (["--from", "2030-01-01"], "--from"),
    (["--format", "csv"], "give --format swf or omit it."),
    (["--warmup", ".9", "--cooldown", ".09999"], "no job is measured: all were submitted in the"),
    (
        ["--groups", "class", "--report", "r.html"],
        "which is empty in this log; give one that it",
    ),
    (["--load-factors", "1,x"], "--load-factors is '1,x'"),
    (["--load-factors", "0"], "--load-factors is '0'"),
    (["--classes", "1"], "is in none of the groups 1"),
    (["--estimate", "maybe"], "--estimate is 'maybe'"),
    (["--from", "2030-01-01"], "--from"),
    (["--report=-"], "--report is '-'"),
    (["--outcomes", "/nowhere/x"], "/nowhere/x cannot be written"),
    (["--csv", "x", "--json", "x"], "x is given for two outputs"),
    (["--load-factors", "1,,2"], "--load-factors is '1,,2'"),
    (["--load-factors", "1,"], "--load-factors is '1,'"),
    (["--warmup", "2"], "--warmup is 2.0; it must be a share"),
    (["--warmup", ".6", "--cooldown", ".5"], "--warmup is 0.6; it must be below 0.5"),
    (["--seed=-1"], "--seed is -1; it must be a whole number"),
    (["--slowdown-bound", "0"], "--slowdown-bound is 0.0"),
    (["--groups", "color", "--report", "r.html"], "--groups is 'color'; it must be a column"),
    (["--groups", "user"], "--groups requires a report; give --report too."),
    (["--policy", "easy"], "--policy"),
]


@pytest.mark.parametrize(("tokens", "words"), MISTAKES, ids=[" ".join(t) for t, _ in MISTAKES])
def test_mistakes(
    tokens: list[str], words: str, log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "replay", log, *tokens)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_log_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "replay", "nowhere.swf")
    assert code == 2
    assert "nowhere.swf" in err


def test_ctrl_c_shows_the_replays_that_had_ended(
    log: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(1, 100))
    serve: Callable[..., object] = core_replay

    def struck(*arguments: object, **options: object) -> object:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return serve(*arguments, **options)

    monkeypatch.setattr("quickswap.replays.replaying.serve", struck)
    code, out, _ = run(capsys, "replay", log)
    assert code == 130
    assert "EASY" in out
    assert "Conservative" not in out
    assert "interrupted: the table has the replays that had ended" in out


def test_an_output_does_not_take_the_place_of_the_log(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(log).read_bytes()
    linked = tmp_path / "link.json"
    linked.symlink_to(log)
    for command, option in (
        *(("replay", name) for name in ("--json", "--csv", "--parquet", "--outcomes", "--report")),
        *(("fit", name) for name in ("--output", "--csv")),
    ):
        for output in (log, str(linked)):
            code, out, err = run(capsys, command, log, option, output)
            assert (code, out) == (2, "")
            assert f"{output} is an input: " in err
    assert Path(log).read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_that_leaves_costs_no_file(log: str, tmp_path: Path) -> None:
    files = {option: tmp_path / f"out.{option}" for option in ("csv", "outcomes")}
    command = [sys.executable, "-m", "quickswap", "replay", log, "--policies", "easy"]
    command += [word for option, path in files.items() for word in (f"--{option}", str(path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=60) == 0
    assert all(path.exists() for path in files.values())


def test_interrupted_while_the_report_is_written(
    log: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def struck(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("quickswap.report.write_report", struck)
    report = tmp_path / "report.html"
    code, out, _ = run(capsys, "replay", log, "--policies", "easy", "--report", str(report))
    assert code == 130
    assert out.endswith("interrupted; the report was not written\n")
    assert not report.exists()


def test_the_report(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.html"
    code, out, _ = run(
        capsys,
        "replay",
        log,
        "--policies",
        "easy; fcfs",
        "--seed",
        "3",
        "--servers",
        "20",
        "--report",
        str(report),
    )
    assert code == 0
    assert out.endswith(f"report: {report}\n")
    page = report.read_text(encoding="utf-8")
    command = "quickswap replay log.swf --servers 20 --seed 3 --policies 'easy fcfs' --report"
    assert command in unescape(page)
    assert str(tmp_path) not in page
    assert len(re.findall(r"^0\.\d+ +(?:EASY|FCFS)", out, re.M)) == 6  # at three loads


def test_a_log_too_short_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = tmp_path / "one.csv"
    one.write_text("submit,need,size,wait\n5,1,10,7\n")
    report = tmp_path / "r.html"
    for tokens in ((), ("--report", str(report))):
        code, out, err = run(capsys, "replay", str(one), "--servers", "4", *tokens)
        assert (code, out) == (2, "")
        assert err.endswith("give --warmup 0 --cooldown 0, or a longer log.\n")
        assert err.count("\n") == 1
    assert not report.exists()
    whole = ("--warmup", "0", "--cooldown", "0", "--report", str(report))
    code, out, _ = run(capsys, "replay", str(one), "--servers", "4", *whole)
    assert code == 0
    page = report.read_text(encoding="utf-8")
    for text in (out, page):
        assert "nan" not in text.replace("nance", "")
        for words in ("keeps up", "falls behind", "does in 0", "the least"):
            assert words not in re.sub(r"<li>.*?</li>", "", text, flags=re.DOTALL), words


@pytest.mark.parametrize("command", ["replay", "fit"])
def test_standard_input_is_no_log(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, command, "-")
    assert (code, out) == (2, "")
    assert "standard input (-) is not an input: write it to a file first" in err


def test_ctrl_c_before_the_first_replay_ends(
    log: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def struck(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("quickswap.replays.replaying.serve", struck)
    for tokens in (("--policies", "easy"), ()):
        code, _, err = run(capsys, "replay", log, *tokens)
        assert code == 130
        assert err.startswith("quickswap: interrupted: ")


def test_too_few_servers_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    rows = "".join(f"{100 * i},2,500,0\n" for i in range(200))
    path.write_text("submit,need,size,wait\n" + rows)
    code, out, _ = run(capsys, "replay", str(path), "--servers", "4", "--policies", "easy")
    assert code == 0
    assert "More servers than the 4 of the machine were in use" in out
    assert "the number given may be wrong" in out
    assert re.search(r"as logged .*[\d?] *$", out, re.M)  # without a verdict


def test_a_partition_is_not_replayed_on_the_whole_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In no command; with its own servers, in all."""
    path = tmp_path / "log.swf"
    rows = "".join(
        f"{n} {100 * n} 0 500 {need} -1 -1 {need} 900 -1 1 1 1 1 1 {part} -1 -1\n"
        for n in range(200)
        for need, part in ((2, 1), (9, 2))
    )
    path.write_text("; MaxProcs: 64\n" + rows)
    commands = (["replay", str(path), "--policies", "easy"], ["fit", str(path)])
    for command in commands:
        code, _, errors = run(capsys, *command, "--partition", "1")
        assert code != 0
        assert (
            "give --servers (the largest need is 2; up to 10 were in use at the same time)"
            in errors
        )
        assert run(capsys, *command, "--partition", "1", "--servers", "10")[0] == 0


def test_a_report_on_a_part_of_the_jobs_does_not_judge_the_machine(tmp_path: Path) -> None:
    """No job waits on servers that the jobs left out kept busy: that is no finding."""
    path = tmp_path / "log.csv"
    path.write_text(
        "submit,need,size\n" + "".join(f"{99 * n},{n % 3 + 1},90\n" for n in range(20_000))
    )
    for largest_need, shown in ((None, True), (2, False)):
        log = logs.read(path, servers=3, largest_need=largest_need)
        write_report(replay_all(log, ["easy", "first-fit"]), tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert ("the choice hardly matters" in page) == shown
        assert ("left out by need or size" in page) != shown


def test_pools_and_waits_that_servers_do_not_explain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    rows = "".join(f"{100 * n},1,50,3600,{'ab'[n % 2]}\n" for n in range(300))
    path.write_text("submit,need,size,wait,partition\n" + rows)
    pools = ("--pool", "a=8_0", "--pool", "b=90", "--pool-policies", "b=fcfs")
    code, out, _ = run(capsys, "replay", str(path), "--policies", "easy", *pools)
    assert code == 0
    assert re.match(r"Limits, priorities, partitions, dependencies .* cannot say", out)
    assert "What to do: give its pools, and its limits" in out
    assert "pool a, 80 servers:" in out
    assert re.search(r"pool b, 90 servers:\n.*\n.*as logged.*\n.* FCFS ", out)
    assert "During 100" in out
    given = ("--servers", "170", "--preemptible", "b")
    code, out, _ = run(capsys, "replay", str(path), "--policies", "easy", *given)
    assert re.search(r"and others:\n.*\n.* EASY +preemptible .* % *\n.* EASY +others", out)
    code, _, errors = run(capsys, "replay", str(path), "--pool", "c=4")
    assert (code, errors.count("\n")) == (2, 1)
    assert "'c'; known: a, b" in errors
