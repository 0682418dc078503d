"""Bad input to a simulation: rejected before it runs, in one sentence, with exit code 2."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quickswap as qs
from quickswap.cli import main
from verification.known import FOUR

JOBS = "20000"
"""What is not rejected runs, quickly, and prints something."""

SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"jobs": 0}, "jobs is 0; it must be a whole number from 1 to"),
    ({"jobs": -5}, "jobs is -5"),
    ({"jobs": 2.5}, "jobs is 2.5"),
    ({"jobs": math.nan}, "jobs is nan"),
    ({"jobs": math.inf}, "jobs is inf"),
    ({"jobs": "many"}, "jobs is 'many'"),
    ({"jobs": True}, "jobs is True"),
    ({"precision": 0.0}, "precision is 0.0; it must be above 0 and below 1"),
    ({"precision": 1.0}, "precision is 1.0"),
    ({"precision": math.nan}, "precision is nan"),
    ({"precision": "fine"}, "precision is 'fine'; it must be a number"),
    ({"seed": -1}, "seed is -1; it must be a whole number from 0 to 18446744073709551615"),
    ({"seed": 2**64}, "seed is 18446744073709551616"),
    ({"seed": 0.5}, "seed is 0.5"),
    ({"replications": 0}, "replications is 0; it must be a whole number from 1"),
    ({"replications": 10**6}, "replications is 1000000"),
    ({"threads": 0}, "threads is 0"),
    ({"warmup": 1.0}, 'warmup is 1.0; it must be "mser5" or a share from 0 to below 1'),
    ({"warmup": -0.1}, "warmup is -0.1"),
    ({"warmup": math.nan}, "warmup is nan"),
    ({"warmup": "mser"}, "warmup is 'mser'"),
    ({"slowdown_bound": 0.0}, "slowdown_bound is 0.0"),
    ({"slowdown_bound": math.inf}, "slowdown_bound is inf"),
    ({"trajectory": -1}, "trajectory is -1"),
    ({"max_in_system": 0}, "max_in_system is 0"),
    ({"engine": "jump"}, "unknown engine: 'jump' (did you mean 'jumps'?)"),
    ({"engine": 3}, "unknown engine: 3"),
    ({"engine": np.array([1, 2])}, "unknown engine: array([1, 2])"),
    ({"jobs": [1]}, "jobs is [1]; it must be a whole number"),
    ({"warmup": np.array([0.1, 0.2])}, "warmup is array([0.1, 0.2])"),
    ({"slowdown_bound": 10**400}, "slowdown_bound is 1000"),
    ({"slowdown_bound": None}, "slowdown_bound is None"),
    ({"allow_unstable": "no"}, "allow_unstable is 'no'; it must be True or False"),
    ({"allow_unstable": 1}, "allow_unstable is 1; it must be True or False"),
    ({"debug": None}, "debug is None; it must be True or False"),
    ({"progress": "yes"}, "progress is 'yes'; it must be True for a bar"),
]


@pytest.mark.parametrize(("setting", "sentence"), SETTINGS, ids=[str(row[0]) for row in SETTINGS])
def test_settings(setting: dict[str, Any], sentence: str) -> None:
    with pytest.raises(qs.QuickswapError) as caught:
        qs.simulate(FOUR, "msf", **({"jobs": int(JOBS)} | setting))
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(("setting", "sentence"), SETTINGS, ids=[str(row[0]) for row in SETTINGS])
def test_settings_of_a_comparison(setting: dict[str, Any], sentence: str) -> None:
    with pytest.raises(qs.QuickswapError) as caught:
        qs.compare(FOUR, ["msf"], **({"jobs": int(JOBS)} | setting))
    assert str(caught.value).startswith(sentence)


ODD: tuple[Any, ...] = (
    *(None, True, math.nan, math.inf, -1, 2.5, 10**400, 10**5000, 1j, b"msf", object()),
    *([], [1], {}, np.array([1, 2]), np.float64(0.5), np.bool_(True), int),
)
"""What is neither a text nor a model, a policy or a result."""
RESULT = qs.simulate(FOUR, "msf", jobs=400)
SYSTEM, POLICY = "is not a system: pass a System", "is not a policy"
FUNCTIONS: list[tuple[str, Callable[[Any], Any], str]] = [
    ("load", qs.load, "the model is .*; it must be the name of a preset or of a file"),
    (
        "parse",
        qs.parse,
        "the spelling of a policy is .*; it must be text such as 'msfq:threshold=31'",
    ),
    ("spell", qs.spell, POLICY),
    ("simulate", lambda x: qs.simulate(x, "msf"), SYSTEM),
    ("compare", lambda x: qs.compare(x, ["msf"]), SYSTEM),
    ("Scheduler", lambda x: qs.Scheduler(x, "msf"), SYSTEM),
    ("policy", lambda x: qs.simulate(FOUR, x), POLICY),
    ("policies", lambda x: qs.compare(FOUR, [x]), POLICY),
    ("custom policy", lambda x: qs.Scheduler(FOUR, x), POLICY),
    ("resolve", lambda x: qs.MSF().resolve(x), "a policy serves a System, not "),
    ("stability", lambda x: qs.stability(x, qs.MSF()), SYSTEM),
    ("difference", lambda x: qs.difference(x, RESULT), "first is .*; it must be a result"),
    ("second", lambda x: qs.difference(RESULT, x), "second is .*; it must be a result"),
    ("quantity", lambda x: qs.difference(RESULT, RESULT, x), "unknown quantity: "),
    ("best", lambda x: qs.Comparison((RESULT,)).best(0, x), "unknown quantity: "),
    ("point", lambda x: qs.Comparison(()).best(x), "point is .*; it must be a whole number"),
    ("save", RESULT.save, "the name of a file is .*; it must be text or a Path"),
    ("comparison", qs.Comparison(()).save, "the name of a file is"),
    ("json", qs.Result.from_json, "not a quickswap"),
    ("drain", lambda x: qs.MSFQ(drain=x), "unknown drain of MSFQ"),
]


@pytest.mark.parametrize(("name", "call", "sentence"), FUNCTIONS, ids=[row[0] for row in FUNCTIONS])
def test_what_is_of_another_type(
    name: str, call: Callable[[Any], Any], sentence: str, tmp_path: Path
) -> None:
    for given in ODD:
        with pytest.raises(qs.QuickswapError, match=sentence) as caught:
            call(given)
        assert str(caught.value).endswith("."), given
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300


def test_a_model_may_be_a_path(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(FOUR.to_toml(), encoding="utf-8")
    assert qs.simulate(path, "msf", jobs=400) == RESULT
    assert qs.compare(path, "msf", jobs=400).results == (RESULT,)
    assert qs.Scheduler(path, "msf").system == FOUR


def test_numbers_of_other_types_are_taken() -> None:
    half: Any = np.float32(0.5)
    odd: Any = {"jobs": 1e3, "seed": np.int64(4), "replications": 2.0, "warmup": half}
    odd |= {"allow_unstable": np.bool_(False), "slowdown_bound": np.int8(3)}
    result = qs.simulate(FOUR, "msf", **odd)
    assert (result.inputs.jobs, result.inputs.seed, result.inputs.replications) == (1000, 4, 2)
    assert (result.inputs.warmup, result.inputs.slowdown_bound) == (0.5, 3.0)
    assert result == qs.Result.from_json(result.to_json())


@pytest.mark.parametrize(
    ("policy", "obstacle"),
    [("smash:window=3", "Smash uses individual jobs"), ("server-filling", "is preemptive")],
)
def test_jumps_where_they_do_not_apply(policy: str, obstacle: str) -> None:
    with pytest.raises(qs.QuickswapError, match=f"does not apply: .*{obstacle}"):
        qs.simulate(FOUR, policy, engine="jumps")


@pytest.mark.parametrize(
    ("job_class", "obstacle"),
    [
        (qs.JobClass(1, 1.0, qs.Deterministic(1.0), "a"), "the sizes of a are not exponential"),
        (
            qs.JobClass(
                1, size=qs.Exponential(mean=1.0), arrivals=qs.Renewal(qs.Erlang(2, 1.0)), name="b"
            ),
            "the arrivals of b are not Poisson",
        ),
    ],
)
def test_jumps_need_a_markov_chain(job_class: qs.JobClass, obstacle: str) -> None:
    system = qs.System(4, [job_class])
    with pytest.raises(qs.QuickswapError, match=obstacle):
        qs.simulate(system, "msf", engine="jumps", jobs=100)
    assert qs.simulate(system, "msf", jobs=100).inputs.engine == "events"


SIMULATE = ["simulate", "four-class", "--jobs", JOBS]
COMPARE = ["compare", "four-class", "--jobs", JOBS]
MISTAKES: list[tuple[list[str], str]] = [
    ([*SIMULATE, "--policy", "mfs"], "unknown policy: 'mfs' (did you mean 'msf'?)"),
    (
        [*SIMULATE, "--policy", "smash"],
        "policy smash requires window; give window, as in smash:window=8",
    ),
    ([*SIMULATE, "--policy", "msfq"], "MSFQ serves systems of two classes"),
    ([*SIMULATE, "--policy", "msf:window=3"], "policy msf has no parameters"),
    (
        ["simulate", "one-or-all", "--policy", "msfq:threshold=33"],
        "threshold of MSFQ with drain 'on_demand' is 33; it must be a whole number from 0 to 32",
    ),
    (
        ["simulate", "one-or-all", "--policy", "msfq:threshold=32,drain=always"],
        "is 32; it must be a whole number from 0 to 31",
    ),
    ([*SIMULATE, "--engine", "event"], "unknown --engine: 'event' (did you mean 'events'?)"),
    ([*SIMULATE, "--policy", "smash:window=3", "--engine", "jumps"], "does not apply"),
    (["simulate", "four-clas"], "(did you mean 'four-class'?)"),
    ([*SIMULATE, "--load", "1"], "no policy is stable at 5 or above; lower the rate"),
    ([*SIMULATE, "--load", "1"], "or give --allow-unstable."),
    ([*COMPARE, "--load", "1"], "or give --allow-unstable."),
    ([*SIMULATE, "--load", "x"], "--load is 'x'; it must be a number."),
    ([*SIMULATE, "--rate", "0"], "--rate is 0.0; it must be a positive finite number"),
    ([*SIMULATE, "--max-in-system", "1"], "give a larger --max-in-system."),
    ([*COMPARE, "--parquet", "-"], "--parquet is '-'; give a file"),
    ([*COMPARE, "--plot", "-"], "--plot is '-'; give a file"),
    ([*SIMULATE, "--policy", "smash:window=1e30"], "it must be a whole number from 1"),
    (
        [*SIMULATE, "--policy", "nmsr:cycle=1e-300"],
        "cycle of NMSR is 1e-300; it must be at least 1e-06 s",
    ),
    ([*SIMULATE, "--policy", "randomized-timers:rate=1e300"], "it must be at most 1e+06 ticks"),
    ([*SIMULATE, "--max-in-system", "0"], "--max-in-system is 0; it must be"),
    ([*COMPARE, "--loads", ".5,.7,.50"], "the load 0.5 is given twice: give each once."),
    ([*COMPARE, "--rates", "1,2,1"], "the arrival rate 1 is given twice: give each once."),
    ([*COMPARE, "--policies", "msf fcfs MSF"], "policy MSF is given twice: give each once."),
    (["simulate", "one-or-all", "--servers", "8"], "give one-or-all:k=8 instead"),
    (["simulate", "one-or-all", "--servers", "1"], "give one-or-all:k=2 instead"),
    (["show", "one-or-all:p1=.5", "--servers", "8"], "give one-or-all:k=8 instead"),
    (["compare", "four-class", "--servers", "8"], "need 15: give 15 or more."),
    (["show", "four-class", "--servers", "0"], "servers is 0; it must be a whole number from 1 to"),
    ([*COMPARE, "--loads", ".5,1.2"], "at load 1.2 the arrival rate is 6 jobs per second"),
    ([*COMPARE, "--loads", ".5,x"], "--loads is '.5,x'; give numbers above 0"),
    ([*COMPARE, "--rates", "1;2"], "--rates is '1;2'; give numbers above 0"),
    ([*COMPARE, "--loads", ""], "--loads is ''; give numbers"),
    ([*COMPARE, "--loads", "nan"], "--loads is 'nan'; give numbers above 0"),
    ([*COMPARE, "--loads", ".5", "--rates", "1"], "give one of --loads, --rates, --load"),
    ([*COMPARE, "--loads", ".5", "--load", ".5"], "give one of --loads, --rates, --load"),
    ([*COMPARE, "--policies="], "give at least one name"),
    (["compare", "four-class", "--jobs", "0"], "jobs is 0; it must be a whole number from 1"),
    (["compare", "four-class", "--precision", "0"], "precision is 0.0; it must be above 0"),
    ([*COMPARE, "--policies", "msf msfq"], "MSFQ serves"),
    (["simulate", "four-class", "--jobs", "0"], "jobs is 0; it must be a whole number from 1"),
    (["simulate", "four-class", "--jobs", "1.5"], "1.5"),
    (["simulate", "four-class", "--jobs", "many"], "--jobs is 'many'; it must be a whole number"),
    (["simulate", "four-class", "--jobs", "inf"], "--jobs is 'inf'; it must be a whole number"),
    ([*SIMULATE, "--seed", "1.5"], "1.5"),
    ([*SIMULATE, "--warmup", "1.5"], 'warmup is 1.5; it must be "mser5" or a share'),
    ([*SIMULATE, "--warmup", "mser"], "warmup is 'mser'"),
    ([*SIMULATE, "--replications", "0"], "replications is 0"),
    ([*SIMULATE, "--seed", "-1"], "seed is -1; it must be a whole number from 0"),
    ([*SIMULATE, "--threads", "0"], "threads is 0"),
    ([*SIMULATE, "--precision", "1"], "precision is 1.0; it must be above 0 and below 1"),
    ([*SIMULATE, "--colour"], "--colour"),
    ([*SIMULATE, "--json", "no/such/folder/r.json"], "there is no folder no/such/folder"),
    ([*COMPARE, "--csv", "no/c.csv"], "no/c.csv cannot be written: there is no folder no"),
    ([*COMPARE, "--parquet", "."], ". is a folder: give a file"),
    ([*COMPARE, "--plot", "c.gif"], "the extension of c.gif is '.gif'; it must be one of .svg"),
    ([*COMPARE, "--plot", "c"], "the extension of c is ''"),
    ([*SIMULATE, "--json", "r", "--csv", "./r"], "r is given for two outputs"),
    ([*SIMULATE, "--csv=-", "--json=-"], "- is given for two outputs"),
    ([*SIMULATE, "--trajectory", "x" * 300], "cannot be written (File name too long)"),
    (["simulate", "four-class", "--debug", "--jobs"], "--jobs requires an argument"),
]


@pytest.mark.parametrize(("tokens", "sentence"), MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES])
def test_on_the_command_line(
    tokens: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(tokens)
    out, err = capsys.readouterr()
    assert caught.value.code == 2
    assert out == ""
    assert err.startswith("quickswap: error: ")
    assert sentence in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "tokens",
    [
        ("simulate", "--csv"),
        ("compare", "--plot"),
        ("analyze", "--plot"),
    ],
)
def test_no_output_takes_the_place_of_a_model(
    tokens: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the file is called, and by whichever of its names."""
    monkeypatch.chdir(tmp_path)
    model, text = Path("model.svg"), FOUR.to_toml()
    model.write_text(text, encoding="utf-8")
    Path("other.svg").hardlink_to(model)
    for output in ("./model.svg", "other.svg"):
        with pytest.raises(SystemExit) as caught:
            main([tokens[0], "model.svg", tokens[1], output])
        assert caught.value.code == 2
        assert f"{Path(output)} is an input" in capsys.readouterr().err
        assert model.read_text(encoding="utf-8") == text


def test_an_output_that_cannot_be_a_file_is_refused_before_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet is binary: it does not go to the terminal, and no file named - is left."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(["compare", "four-class", "--load", ".5", "--jobs", "400", "--parquet=-"])
    assert caught.value.code == 2
    assert list(tmp_path.iterdir()) == []
    assert "parquet" in capsys.readouterr().err


OUTPUTS = [
    ("simulate", "--json"),
    ("simulate", "--csv"),
    ("simulate", "--trajectory"),
    ("compare", "--json"),
    ("compare", "--csv"),
    ("compare", "--parquet"),
    ("compare", "--plot"),
]


@pytest.mark.parametrize(("command", "option"), OUTPUTS, ids=lambda word: word)
class TestOutputsAreProbed:
    """A simulation that is begun would not end: `--jobs` is beyond reach."""

    def rejected(
        self, command: str, option: str, path: Path, capsys: pytest.CaptureFixture[str]
    ) -> str:
        with pytest.raises(SystemExit) as caught:
            main([command, "four-class", "--jobs", "1e15", f"{option}={path}"])
        out, err = capsys.readouterr()
        assert (caught.value.code, out, err.count("\n")) == (2, "", 1)
        return err

    @pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="a folder that rejects even root")
    def test_a_place_where_nothing_can_be_made(
        self, command: str, option: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        err = self.rejected(command, option, Path("/proc/x.svg"), capsys)
        assert "/proc/x.svg cannot be written (" in err

    def test_a_folder_that_is_not_ones_own(
        self, command: str, option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        folder = tmp_path / "theirs"
        folder.mkdir(mode=0o500)
        if os.access(folder, os.W_OK):
            pytest.skip("the superuser may write everywhere")
        err = self.rejected(command, option, folder / "x.svg", capsys)
        assert "x.svg cannot be written (Permission denied)" in err

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is full")
    def test_a_full_device(
        self, command: str, option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        path = tmp_path / "full.svg"
        path.symlink_to("/dev/full")
        err = self.rejected(command, option, path, capsys)
        assert "full.svg cannot be written (No space left on device)" in err
        assert list(tmp_path.iterdir()) == [path]

    def test_a_folder(
        self, command: str, option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        path = tmp_path / "x.svg"
        path.mkdir()
        assert "x.svg is a folder: give a file." in self.rejected(command, option, path, capsys)


def test_an_old_file_survives_a_run_that_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["simulate", "four-class", "--policy", "msfq", "--json", str(path)])
    assert "MSFQ serves" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
