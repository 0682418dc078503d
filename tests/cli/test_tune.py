"""`quickswap tune`: what it prints and writes, what it rejects, and how Ctrl-C ends it."""

from __future__ import annotations

import io
import json
import math
import os
import re
from pathlib import Path

import polars as pl
import pytest

import quickswap as qs
from cli_helpers import run, struck
from quickswap import tuning
from quickswap._words import load_words
from quickswap.display.tuning import _short
from quickswap.tuning import TuningProgress

FEW = ("--policies", "msf adaptive-quickswap; static-quickswap:threshold=[0,15]", "--jobs", "4e5")


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "tune", "four-class:rate=3.5", *FEW)
    assert (code, err) == (0, "")
    found = qs.tune("four-class:rate=3.5", FEW[1].replace(";", "").split(), jobs=400_000)
    lines = out.splitlines()
    assert (
        lines[0] == "four-class:rate=3.5: 15 servers, 4 classes, 3.5 arrivals per second, load 0.7"
    )
    assert lines[1].startswith("weighted mean response time, seconds")
    assert re.search(rf"^best +{re.escape(str(found.winner_label))}: {found.value}$", out, re.M)
    assert re.search(rf"^write it as +{found.winner}$", out, re.M)
    bound = qs.theory.lower_bound("four-class:rate=3.5")
    assert re.search(rf"^waste +\S.* above the lower bound {bound:.6g}$", out, re.M)
    assert re.search(r"^next +", out, re.M)
    assert re.search(r"^simple default +Adaptive Quickswap", out, re.M)
    for each in found.rows:
        assert re.search(rf"^{re.escape(each.label)} .*{each.standing}", out, re.M)
    assert "the values in the table are from the race, those above it from fresh jobs" in out
    used = f"{found.jobs:,} jobs of at most 400,000 in {found.rounds} round"
    assert used in out
    assert f"{found.simulations} simulations" in lines[-1]


def test_exact_values(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("one-or-all:k=8,rate=3.5", "--policies", "msfq:threshold=[0..8]", "--metric", "mean")
    code, out, _ = run(capsys, "tune", *words)
    assert code == 0
    assert re.search(r"^best +MSFQ\(2\): 4\.39139 \(exact\)$", out, re.M)
    assert re.search(
        r"^simple default +MSFQ\(7\): \+0\.379, or \+8\.64 %$", out, re.M
    ) or re.search(r"^simple default +MSFQ\(k-1\): \+0\.379, or \+8\.64 %$", out, re.M)
    assert "±" not in out.split("policy")[1]
    assert out.rstrip().endswith("all values are exact; no simulation was needed")


def test_the_default_is_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--policies", "adaptive-quickswap msf", "--jobs", "4e5")
    _, out, _ = run(capsys, "tune", "four-class:rate=3.5", *words)
    assert re.search(r"^simple default +Adaptive Quickswap, which is the best$", out, re.M)


def test_unstable_candidates_and_equal_decisions(capsys: pytest.CaptureFixture[str]) -> None:
    alike = "adaptive-quickswap adaptive-quickswap:backfill=[1e-9,1e-8]"
    words = ("--policies", f"fcfs {alike}", "--jobs", "1e6", "--no-refine")
    _, out, _ = run(capsys, "tune", "four-class:rate=4", *words)
    assert re.search(r"^FCFS +unstable +- +0$", out, re.M)
    assert "FCFS is unstable: the throughput of the saturated system" in out
    assert re.search(r"^Adaptive Quickswap \+ 2 alike +best", out, re.M)
    assert "took the same decisions" in out


def test_runs_that_are_too_short(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--policies", "msf adaptive-quickswap", "--jobs", "5e4")
    code, out, _ = run(capsys, "tune", "borg-b", *words)
    assert code == 0
    assert "undecided: " in out
    assert re.search("the runs of MSF are too short", out, re.M)


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv, file, store = (str(tmp_path / name) for name in ("t.csv", "t.json", "t.db"))
    model = "four-class:rate=3.5"
    code, _, _ = run(capsys, "tune", model, *FEW, "--csv", csv, "--json", file, "--store", store)
    assert code == 0
    frame = pl.read_csv(csv)
    data = json.loads(Path(file).read_text())
    assert frame["spelling"][0] == data["winner"]
    code, out, _ = run(capsys, "tune", model, *FEW, "--csv", "-", "--store", store)
    assert pl.read_csv(io.StringIO(out)).equals(frame)
    code, out, _ = run(capsys, "tune", model, *FEW, "--json", "-", "--threads", "1")
    assert json.loads(out) == data
    _, out, _ = run(capsys, "tune", model, *FEW, "--store", store)
    number = data["simulations"]
    assert f"{number} simulations, {number} of which were in the store" in out


@pytest.mark.parametrize(
    ("load", "text"),
    [
        (0.8, "0.8"),
        (0.896875, "0.8969"),
        (0.99999, "0.99999"),
        (1.0000004, "1.0000004"),
        (1 - 1e-15, "1"),
        (1.3, "1.3"),
        (math.nan, "nan"),
    ],
)
def test_a_load_below_one_does_not_look_like_one(load: float, text: str) -> None:
    assert load_words(load) == text


def test_a_load_close_to_one(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--load", ".99999", "--policies", "msfq:threshold=3")
    _, out, _ = run(capsys, "tune", "one-or-all:k=4", *words)
    assert out.splitlines()[0].endswith(" per second, load 0.99999")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("four-class", "--metric", "p95"), "unknown --metric: 'p95'"),
        (("four-class", "--rate", "3", "--load", ".5"), "--rate and --load are both given"),
        (("four-class", "--load", "1.1"), "no policy is stable"),
        (("four-class", "--policies", "msfq"), "cannot be a candidate"),
        (("four-class", "--policies", "fcfs"), "none of the 1 candidate is stable"),
        (("four-class", "--policies", ""), "--policies is ''"),
        (("four-class", "--jobs", "1e4"), "or more, or fewer policies"),
        (("four-class", "--indifference", "2"), "--indifference is 2"),
        (("four-class", "--store", "/nowhere/t.db"), "/nowhere"),
        (("four-class", "--csv", "/nowhere/t.csv"), "/nowhere"),
        (("nothing",), "unknown model"),
    ],
)
def test_mistakes(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "tune", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("option", ["--csv", "--json"])
@pytest.mark.parametrize("output", ["m.toml", "./t.db", "new.db"])
def test_no_output_takes_the_place_of_what_is_read(
    option: str,
    output: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(qs.load("four-class").to_toml(), encoding="utf-8")
    qs.Store("t.db").close()
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    store = output if output.endswith(".db") else "t.db"
    code, out, err = run(capsys, "tune", "m.toml", "--store", store, option, output)
    assert (code, out) == (2, "")
    assert f"{Path(output)} is an input: " in err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [("--metric", "p95"), ("--jobs", "0"), ("--policies", ""), ("--threads", "0"), ("--load", "2")],
)
def test_a_mistake_leaves_no_store(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "t.db"
    code, _, err = run(capsys, "tune", "four-class", *words, "--store", str(store))
    assert (code, err.count("\n")) == (2, 1)
    assert not store.exists()


def test_ctrl_c_before_a_round_is_complete(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def struck(*_: object, **__: object) -> qs.Tuning:
        raise qs.Interrupted(None)

    monkeypatch.setattr(tuning, "tune", struck)
    code, out, err = run(capsys, "tune", "four-class")
    assert (code, out) == (130, "")
    assert "Traceback" not in err


def test_words() -> None:
    stage = TuningProgress(3, 2, 31, 0.25, 90.0)
    assert str(stage) == "round 3, 2 of 31 candidates left, at most 1 min 30 s left"
    long = "Static Quickswap (512, order " + "+".join(map(str, range(26))) + ", backfill 0.03)"
    assert _short(long) == "Static Quickswap (512, order 0+1+...+25, backfill 0.03)"
    assert _short("Static Quickswap (order 0+1+2+3)") == "Static Quickswap (order 0+1+2+3)"


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_ctrl_c_on_a_terminal(tmp_path: Path) -> None:
    """The bar is shown; what is known is printed at once; the store keeps what has ended."""
    store = tmp_path / "t.db"
    words = ["tune", "four-class:rate=4.9", "--jobs", "1e11", "--indifference", "1e-6"]
    words += ["--policies", "adaptive-quickswap static-quickswap", "--store", str(store)]
    shown, out = struck(words, b"round 3")
    assert b"of 2 candidates left" in shown
    assert b"interrupted: with --store, repeat the command to continue" in out
    assert len(qs.Store(store)) >= 4
