"""`quickswap fit`: the tables, the model file, and its messages."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import quickswap as qs
from cli_helpers import run
from quickswap import logs


@pytest.fixture
def log(tmp_path: Path) -> str:
    rng = np.random.default_rng(1)
    n = 2000
    path = tmp_path / "log.csv"
    pl.DataFrame(
        {
            "submit": np.cumsum(rng.exponential(300, n)).round(),
            "need": rng.choice([1, 2, 3, 8], n),
            "size": rng.exponential(500, n).round(),
        }
    ).write_csv(path)
    return str(path)


def test_it_prints_what_was_read_and_how_good_the_model_is(
    capsys: pytest.CaptureFixture[str], log: str
) -> None:
    code, out, err = run(capsys, "fit", log, "--servers", "16", "--classes", "1,2-3,8")
    assert (code, err) == (0, "")
    assert out.startswith(f"{log}: 2,000 rows, 2,000 jobs kept")
    rows = [line.split()[0] for line in out.splitlines() if line[:3] in ("1  ", "2-3", "8  ")]
    assert rows == 3 * ["1", "2-3", "8"]
    assert "variance of the jobs per hour" in out


@pytest.mark.parametrize("size", ["best", "empirical", "lognormal"])
def test_the_model_file_is_the_fitted_system(
    capsys: pytest.CaptureFixture[str], log: str, tmp_path: Path, size: str
) -> None:
    model = tmp_path / "model.toml"
    code, out, _ = run(
        capsys,
        *("fit", log, "--servers", "16", "--size", size, "--at-most", "3", "-o", str(model)),
    )
    assert code == 0
    assert out.splitlines()[-1] == f"The model is in {model}."
    system = logs.fit(logs.read(log, servers=16), size=size, at_most=3)  # type: ignore[arg-type] # a distribution
    assert qs.load(model) == system
    head = model.read_text().splitlines()[:3]
    assert head[0].startswith(f"# A model of {log}, by quickswap fit ")
    assert head[1].startswith("# 2,000 jobs, submitted within ")
    assert head[2] == f"# Options: --classes load --size {size} --at-most 3 --servers 16"
    code, out, _ = run(capsys, "show", str(model))
    assert code == 0
    assert f"load      {system.load:.6g}" in out


def test_standard_output_takes_the_model_or_the_comparison(
    capsys: pytest.CaptureFixture[str], log: str
) -> None:
    _, out, _ = run(capsys, "fit", log, "--servers", "16", "-o", "-")
    assert qs.System.from_dict(tomllib.loads(out)).servers == 16
    _, out, _ = run(capsys, "fit", log, "--servers", "16", "--csv", "-")
    assert pl.read_csv(out.encode())["class"].cast(pl.String).to_list() == ["1", "2", "3", "8"]


def test_a_strange_name_of_a_log_leaves_a_model_that_can_be_read(
    capsys: pytest.CaptureFixture[str], log: str, tmp_path: Path
) -> None:
    strange = tmp_path / "a\nservers = 3\x01é.csv"
    Path(log).rename(strange)
    code, out, _ = run(capsys, "fit", str(strange), "--servers", "16", "-o", "-")
    assert code == 0
    assert tomllib.loads(out)["servers"] == 16
    assert "a?servers = 3?é.csv" in out


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "give --servers (the largest need is 8"),
        (
            ["--servers", "16", "--size", "pareto"],
            "unknown distribution to fit: 'pareto'; known: best,",
        ),
        (["--servers", "16", "--classes", "2-"], "by --smallest-need or --largest-need."),
        (["--servers", "16", "--classes", "1,x"], "'x' in the groups '1,x'"),
        (["--servers", "16", "--at-most", "0"], "--at-most is 0; it must be a whole number"),
        (["--servers", "16", "-o", "no/such/model.toml"], "there is no folder no/such"),
        (["--servers", "4"], ""),
    ],
)
def test_a_mistake_is_one_sentence(
    capsys: pytest.CaptureFixture[str], log: str, tokens: list[str], message: str
) -> None:
    code, out, err = run(capsys, "fit", log, *tokens)
    if not message:  # needs above the servers are dropped, and reported
        assert code == 0
        assert "dropped: needs more servers" in out
        return
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("quickswap: error: ")
    assert err.count("\n") == 1


def test_a_log_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "fit", "nowhere.swf", "-o", "model.toml")
    assert code == 2
    assert "nowhere.swf cannot be read (No such file or directory)" in err
    assert not Path("model.toml").exists()
