"""`quickswap analyze`: what it prints, what it writes, and its messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import quickswap as qs
from cli_helpers import run
from quickswap import theory


def test_one_page_about_a_one_or_all_system(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "analyze", "one-or-all:k=4", "--rate", "2.5", "--threshold", "0")
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert out.count("4.04297") >= 3  # MSFQ(0) with both drains, and MSF
    assert "approximation as printed" in out
    assert "FCFS" in out
    assert "Best thresholds, exact" in out
    assert f"{theory.lower_bound(qs.load('one-or-all:k=4,rate=2.5')):.6g} seconds (exact)" in out


def test_json_has_the_values_of_the_theory(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "analyze", "one-or-all:k=4", "--load", ".6", "--json")
    data = json.loads(out)
    assert code == 0
    system = qs.load("one-or-all:k=4").with_load(0.6)
    found = {(each["policy"], each["method"]): each for each in data["results"]}
    exact = theory.msfq.exact(system, 3)
    assert found["MSFQ(3)", "exact"]["mean"] == exact.mean_response_time
    always = theory.msfq.exact(system, 3, "always")
    form = theory.msfq.approximate(system, 3, "printed").mean_response_time
    printed = found["MSFQ(3, always)", "approximation as printed"]
    assert printed["error"] == pytest.approx(form / always.mean_response_time - 1)
    served = theory.fcfs.exact(system).mean_response_time
    assert found["FCFS", "exact"]["mean"] == served
    near = theory.fcfs.approximate(system).mean_response_time
    assert found["FCFS", "heavy traffic"]["error"] == pytest.approx(near / served - 1)
    assert data["lower_bound"] == theory.lower_bound(system)
    assert data["heavy"]["p99"] == exact.heavy_response_time.percentile(99)
    best = theory.best_threshold(system, "weighted", "always")
    row = next(x for x in data["best"] if (x["drain"], x["metric"]) == ("always", "weighted"))
    assert (row["threshold"], row["value"]) == (best.threshold, best.value)


def test_other_systems_get_what_applies(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "analyze", "four-class")
    assert code == 0
    assert "12.5163" in out
    assert "MSFQ" not in out.replace("of MSFQ", "")
    code, out, _ = run(capsys, "analyze", "borg-b")
    assert code == 0
    assert "it holds from an arrival rate of 4.4845 on" in out


def test_a_plain_queue_has_its_exact_value(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "one.toml").write_text(
        "servers = 9\n[[classes]]\nneed = 2\narrival_rate = 3\n"
        'size = {distribution = "exponential", mean = 1}\n'
    )
    code, out, _ = run(capsys, "analyze", str(tmp_path / "one.toml"), "--json")
    assert code == 0
    found = {each["policy"]: each for each in json.loads(out)["results"]}["FCFS"]
    assert found["mean"] == theory.classical.mmk(4, 3.0, 1.0).mean_response_time


def test_what_cannot_be_solved_leaves_the_page_and_says_why(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    classes = [
        qs.JobClass(1, 1.0, qs.Deterministic(1.0)),
        qs.JobClass(4, 0.3, qs.Exponential(mean=1.0)),
    ]
    path = tmp_path / "fixed.toml"
    path.write_text(qs.System(4, classes).to_toml(), encoding="utf-8")
    code, out, err = run(capsys, "analyze", str(path))
    assert (code, err) == (0, "")
    assert "class 'need 1' has Deterministic(value=1.0)" in out
    code, out, err = run(capsys, "analyze", str(path), "--plot", str(tmp_path / "a.svg"))
    assert (code, out) == (2, "")
    assert "--plot has no curve to draw" in err
    code, out, _ = run(capsys, "analyze", "one-or-all:k=4", "--load", ".9999999")
    assert code == 0
    assert "loads up to 0.999999" in out
    code, out, err = run(capsys, "analyze", "one-or-all:k=1000000")
    assert (code, err) == (0, "")
    assert "up to 4,096 light jobs" in out


def test_an_unstable_load_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "analyze", "one-or-all:k=4", "--load", "1.2")
    assert code == 0
    assert out.count("no policy has a mean response time") == 1
    assert "Best thresholds" not in out


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_plot_is_written_whole(
    ending: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / f"curve.{ending}"
    code, _, err = run(capsys, "analyze", "one-or-all:k=4", "--plot", str(path))
    assert (code, err) == (0, "")
    assert path.stat().st_size > 1000
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["one-or-all:k=4", "--threshold", "5"], "is 5; it must be a whole number from 0 to 4"),
        (["four-class", "--threshold", "16"], "is 16; it must be a whole number from 0 to 15"),
        (["four-class", "--plot", "a.svg"], "requires a one-or-all system"),
        (["one-or-all", "--plot", "a.svg", "--load", "1"], "requires a load below 1"),
        (["one-or-all:k=257", "--plot", "a.svg"], "at most 256 servers"),
        (["one-or-all", "--plot", "a.gif"], "must be one of .svg, .pdf, .png"),
        (["one-or-all", "--plot", "nowhere/a.svg"], "nowhere"),
        (["one-or-al"], "did you mean 'one-or-all'"),
    ],
)
def test_mistakes(
    tokens: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "analyze", *tokens)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert message in err
    assert list(tmp_path.iterdir()) == []
