"""The command line: what `show` prints, its messages, and that it starts at once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import quickswap as qs
from cli_helpers import run


def test_show_prints_classes_totals_and_limits(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "show", "borg-b")
    assert (code, err) == (0, "")
    lines = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert lines["need 2000"][2] == "2000"
    assert lines["need 2000"][-2:] == ["0.01294%", "35.74%"]
    assert lines["all"][-2:] == ["100%", "100%"]
    assert lines["load"][1] == "0.8"
    assert lines["capacity"][1] == "4.96044"
    assert lines["Static Quickswap"][2:5] == ["4.88609", "4.96044", "stable"]
    assert lines["First-Fit"][1:4] == ["unknown", "4.96044", "unknown"]
    assert "MSFQ" not in out


def test_what_is_not_proven_is_told_apart_from_what_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Unstable from the capacity on, and unknown below: at a load above 1 only the former."""
    for load, reason in (
        (".8", "at the capacity or above; below it nothing is proven for this one."),
        ("1.2", "no policy is stable at the capacity or above."),
    ):
        _, out, _ = run(capsys, "show", "four-class", "--load", load)
        (row,) = (line for line in out.splitlines() if line.startswith("First-Fit"))
        assert row.endswith(reason)
        _, out, _ = run(capsys, "show", "four-class", "--load", load, "--json")
        (data,) = (r for r in json.loads(out)["policies"] if r["policy"] == "First-Fit")
        assert data["reason"].endswith(reason)


def test_on_request_what_is_not_proven_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show", "one-or-all:k=2,load=0.4", "--simulate", "--json")
    policies = {each["policy"]: each for each in json.loads(out)["policies"]}
    simulated = {name: each["simulated"] for name, each in policies.items()}
    unknown = {name for name, each in policies.items() if each["verdict"] == "unknown"}
    assert unknown == {"LSF", "First-Fit"}
    assert simulated == {name: "stable" if name in unknown else None for name in policies}


def test_arrivals_and_estimates_are_shown_if_some_class_has_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    size, other = qs.Exponential(mean=1.0), qs.Renewal(qs.Deterministic(4.0))
    classes = [
        qs.JobClass(1, 0.5, size, estimate=qs.Uniform(1, 5)),
        qs.JobClass(2, size=size, arrivals=other),
    ]
    (tmp_path / "m.toml").write_text(qs.System(2, classes).to_toml(), encoding="utf-8")
    _, out, _ = run(capsys, "show", str(tmp_path / "m.toml"))
    first, second = (line.split("  ") for line in out.splitlines() if line.startswith("need"))
    assert [cell.strip() for cell in first if cell][-2:] == ["poisson", "uniform, mean 3"]
    assert [cell.strip() for cell in second if cell][-2:] == ["renewal", "exact"]
    _, out, _ = run(capsys, "show", str(tmp_path / "m.toml"), "--json")
    shown = [(each["arrivals"], each["estimate"]) for each in json.loads(out)["classes"]]
    assert shown == [("poisson", "uniform"), ("renewal", None)]
    assert "poisson" not in run(capsys, "show", "four-class")[1]


def test_one_of_a_kind_is_no_plural(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    one = qs.System(1, [qs.JobClass(1, 0.5, qs.Exponential(mean=1.0))])
    path.write_text(one.to_toml(), encoding="utf-8")
    _, out, _ = run(capsys, "show", str(path))
    assert out.splitlines()[0].endswith("m.toml: 1 server, 1 class")
    _, out, _ = run(capsys, "simulate", str(path), "--jobs", "1", "--replications", "1")
    assert " on 1 server, 0.5 jobs per second" in out
    assert "\n1 job in " in out
    _, out, _ = run(capsys, "compare", str(path), "--jobs", "400", "--policies", "msf")
    assert out.startswith("response times on 1 server, ")
    _, _, err = run(capsys, "simulate", str(path), "--rate", "1")
    assert "the arrival rate is 1 job per second, and no policy is stable at 1 or above" in err


class TestNarrowTerminal:
    def printed(self, tokens: list[str], capsys: pytest.CaptureFixture[str], terminal: bool) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys.stdout, "isatty", lambda: terminal)
            patch.setenv("COLUMNS", "80")
            return re.sub(r"\x1b\[[\d;]*m", "", run(capsys, *tokens)[1])

    @pytest.mark.parametrize(
        "tokens",
        [
            ["show", "borg-b"],
            ["show", "one-or-all"],
            ["simulate", "four-class", "--jobs", "4000"],
            ["compare", "four-class", "--jobs", "4000", "--loads", ".5,.9"],
        ],
        ids=lambda tokens: tokens[0],
    )
    def test_tables_are_whole(self, tokens: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        narrow, wide = (self.printed(tokens, capsys, terminal) for terminal in (True, False))
        tables = [line for line in narrow.splitlines() if not re.match(r"\(|all the jobs", line)]
        assert max(map(len, tables)) <= 80
        assert "\N{HORIZONTAL ELLIPSIS}" not in narrow
        lost = Counter(words(wide)) - Counter(words(narrow))
        assert not lost

    def test_the_first_columns_are_repeated(self, capsys: pytest.CaptureFixture[str]) -> None:
        tokens = ["compare", "four-class", "--jobs", "400", "--load", ".5"]
        out = self.printed(tokens, capsys, terminal=True)
        rows = [line for line in out.splitlines() if " Adaptive Quickswap " in line]
        assert len(rows) > 1
        assert {line[: len("0.5   2.5   Adaptive Quickswap")] for line in rows} == {
            "0.5   2.5   Adaptive Quickswap"
        }


def words(text: str) -> list[str]:
    """The words of a table, without the times that differ from run to run."""
    return re.sub(r"jobs? in .*", "", text).split()


def test_output_in_a_pipe_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show", "one-or-all")
    assert "\x1b" not in out
    assert "MSFQ(k-1)" in out
    assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.filterwarnings("always::quickswap.InfiniteVarianceWarning")
def test_show_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    with pytest.warns(qs.InfiniteVarianceWarning):
        wild = qs.JobClass(3, 0.1, qs.Pareto(shape=2.0, scale=1.0), "a")
    system = qs.System(4, [wild])
    path.write_text(system.to_toml(), encoding="utf-8")
    code, out, err = run(capsys, "show", str(path), "--rate", ".25", "--json")
    assert code == 0
    assert err.startswith("quickswap: warning: the size Pareto(shape=2.0, scale=1.0) has infinite")
    assert err.count("\n") == 1
    data = json.loads(out)
    assert qs.System.from_dict(data["system"]) == system.with_rate(0.25)
    assert data["classes"][0]["scv"] is None
    assert data["capacity"] == pytest.approx(0.5)
    assert {row["verdict"] for row in data["policies"]} == {"stable"}


def test_show_changes_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show", "four-class", "--load", ".5", "--json")
    assert json.loads(out)["arrival_rate"] == pytest.approx(2.5)
    _, out, _ = run(capsys, "show", "four-class", "--servers", "30", "--json")
    assert json.loads(out)["load"] == pytest.approx(0.4)


MISTAKES = [
    (["shw"], 'Unknown command "shw". Did you mean "show"?'),
    (["show"], "MODEL requires an argument"),
    (["show", "borg-b", "extra"], "unexpected 'extra'"),
    (["show", "borg-b", "--lod", "1"], "Unknown option: --lod. Did you mean --load?"),
    (["show", "borg-b", "--load", "x"], "--load is 'x'; it must be a number"),
    (["show", "borg-b", "--load", "-1"], "load is -1.0; it must be a positive finite number"),
    (["show", "borg-b", "--rate", "nan"], "--rate is nan; it must be a positive finite number"),
    (["show", "borg-b", "--rate", "1", "--load", "1"], "--rate and --load are both given"),
    (["show", "borg-b", "--servers", "1000"], "need 2000: give 2000 or more"),
    (["show", "borg-c"], "did you mean 'borg-b'?"),
    (["show", "one-or-all:k=0"], "k of preset one-or-all is 0.0; it must be a whole number"),
    (["show", "nowhere.toml"], "nowhere.toml does not exist"),
]


@pytest.mark.parametrize(("tokens", "sentence"), MISTAKES)
def test_mistakes_are_told_in_one_sentence(
    tokens: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *tokens)
    assert code == 2
    assert out == ""
    assert sentence in err
    assert err.startswith("quickswap: error: ")
    assert err.count("\n") == 1


def python(code: str) -> str:
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_as_a_program_it_leaves_no_traceback() -> None:
    command = [sys.executable, "-m", "quickswap", "show", "borg-c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    heavy = "print([m for m in ('numpy', 'scipy', 'polars', 'matplotlib') if m in sys.modules])"
    model = "import sys, quickswap as qs; qs.load('four-class').capacity; qs.FCFS();"
    assert python(f"{model} {heavy}") == "[]"
    app = "import sys; from quickswap.cli.app import build; build();"
    assert python(f"{app} {heavy}") == "[]"


def test_every_public_name_can_be_imported() -> None:
    assert set(qs.__all__) <= set(dir(qs))
    for name in qs.__all__:
        assert getattr(qs, name) is not None
