"""`quickswap optimum`: what it prints, what it writes, and its messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import quickswap as qs
from cli_helpers import run
from quickswap import theory

SMALL = ("optimum", "one-or-all:k=2", "--load", "0.4", "--tolerance", "0.01")


def test_the_table_the_bound_and_the_decisions(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, *SMALL, "--plot", str(tmp_path / "a.svg"))
    assert (code, err) == (0, "")
    found = theory.optimum("one-or-all:k=2,load=0.4", tolerance=0.01)
    lines = out.splitlines()
    (row,) = [line.split() for line in lines if line.startswith("optimum")]
    assert row[1] == f"{found.value:.6g}"
    assert f"below {found.bound:.6g} seconds" in out
    (row,) = [line.split() for line in lines if line.startswith("3 ")]
    assert row[1:5] == [f"{each}".replace("-1", "-") for each in found.thresholds[1:5, 3]]
    assert (tmp_path / "a.svg").stat().st_size > 0


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *SMALL, "--cost", "weighted", "--json")
    data = json.loads(out)
    assert code == 0
    rows = {each["policy"]: each for each in data["policies"]}
    assert rows["optimum"]["weighted"] == pytest.approx(data["value"])
    assert data["bound"] <= data["value"] + data["error"]
    assert all(each["above"] > -0.01 for each in rows.values())
    system = qs.load("one-or-all:k=2,load=0.4")
    msf = theory.msfq.exact(system, 0).weighted_mean_response_time
    assert rows["MSF"]["weighted"] == pytest.approx(msf)
    assert rows["MSF"]["above"] == pytest.approx(msf / data["value"] - 1, abs=1e-5)


def test_mistakes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words, message in (
        (("four-class", "--plot", str(tmp_path / "a.svg")), "--plot requires a one-or-all system"),
        (("one-or-all:k=2", "--cost", "median"), "unknown --cost"),
        (("borg-b:load=0.7",), "--max-states"),
        (("kth-sp2",), "exponential"),
    ):
        code, out, err = run(capsys, "optimum", *words)
        assert (code, out) == (2, "")
        assert message in err
