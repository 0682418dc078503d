"""Presets, model files, their schema, and errors with file, line and key."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

import quickswap as qs
from quickswap.errors import ModelError
from quickswap.model import files

PACKAGE = Path(files.__file__).parent
EXAMPLE = Path(__file__).parents[2] / "examples" / "model.toml"
SCHEMA = json.loads((PACKAGE / "model.schema.json").read_text(encoding="utf-8"))
FILES = [*sorted((PACKAGE / "presets").glob("*.toml")), EXAMPLE]


def test_one_or_all() -> None:
    system = qs.load("one-or-all")
    assert system.servers == 32
    assert system.names == ("light", "heavy")
    assert system.arrival_rate == pytest.approx(7.0)
    assert system.job_shares == pytest.approx((0.9, 0.1))
    assert system.one_or_all
    assert {each.size for each in system.classes} == {qs.Exponential(mean=1.0)}


def test_one_or_all_with_options() -> None:
    system = qs.load("one-or-all:k=4,p1=.75,rate=1.5")
    assert system.needs == (1, 4)
    assert system.servers == 4
    assert system.arrival_rate == pytest.approx(1.5)
    assert system.job_shares == pytest.approx((0.75, 0.25))
    assert qs.load("one-or-all:load=.25").load == pytest.approx(0.25)


def test_four_class() -> None:
    system = qs.load("four-class")
    assert (system.servers, system.needs) == (15, (1, 3, 5, 15))
    assert system.job_shares == pytest.approx((0.5, 0.25, 0.2, 0.05))
    assert system.arrival_rate == pytest.approx(4.0)
    assert system.capacity == pytest.approx(5.0)


def test_borg_b_is_the_workload_of_the_paper() -> None:
    system = qs.load("borg-b")
    assert (system.servers, len(system.classes), max(system.needs)) == (2048, 26, 2000)
    assert system.load == pytest.approx(0.8)
    assert system.capacity == pytest.approx(4.960439568, rel=1e-9)
    heavy = [i for i, need in enumerate(system.needs) if need in (200, 256, 2000)]
    assert sum(system.load_shares[i] for i in heavy) == pytest.approx(0.8596, abs=5e-5)
    assert sum(system.job_shares[i] for i in heavy) == pytest.approx(0.00034, abs=5e-6)
    assert system.job_shares[0] == pytest.approx(0.8392993266737124, rel=1e-14)
    assert system.classes[-1].size.mean == 570.2348033171434
    assert qs.load("borg-b:rate=4").arrival_rate == pytest.approx(4.0)


def test_borg_a() -> None:
    system = qs.load("borg-a")
    assert (system.servers, len(system.classes), max(system.needs)) == (4096, 29, 2998)
    assert system.load == pytest.approx(0.8)
    assert system.job_shares[0] == pytest.approx(0.9396353658169432, rel=1e-14)
    assert system.capacity == pytest.approx(708.1605, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "jobs", "days", "load"),
    [("kth-sp2", 28_489, 340, 0.689), ("nasa-ipsc", 18_239, 92, 0.466)],
)
def test_models_of_logs(name: str, jobs: int, days: int, load: float) -> None:
    system = qs.load(name)
    assert system.load == pytest.approx(load, rel=2e-3)
    assert system.arrival_rate * days * 86_400 == pytest.approx(jobs, rel=5e-3)


def test_presets_are_listed_with_a_line_each() -> None:
    listed = qs.presets()
    assert set(listed) == {path.stem for path in (PACKAGE / "presets").glob("*.toml")}
    assert all(line.endswith(".") for line in listed.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_load_and_match_the_schema(path: Path) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(document, SCHEMA)
    system = qs.load(path)
    jsonschema.validate(system.to_dict(), SCHEMA)
    assert qs.System.from_dict(tomllib.loads(system.to_toml())) == system


def test_the_example_has_every_distribution_and_process() -> None:
    system = qs.load(EXAMPLE)
    from quickswap.model.arrivals import PROCESSES
    from quickswap.model.distributions import DISTRIBUTIONS

    assert {each.size.kind for each in system.classes} == set(DISTRIBUTIONS) - {"uniform"}
    assert {each.arrivals.process for each in system.classes} == set(PROCESSES)
    assert "uniform" in EXAMPLE.read_text(encoding="utf-8")


def test_the_schema_is_sound_and_every_key_described() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    described = [SCHEMA["properties"], SCHEMA["$defs"]["class"]["properties"]]
    for part in ("distribution", "process"):
        described += [form["properties"] for form in SCHEMA["$defs"][part]["oneOf"]]
    assert all(schema["description"] for properties in described for schema in properties.values())


def test_the_schema_knows_every_form_of_every_distribution() -> None:
    from quickswap.model.distributions import DISTRIBUTIONS

    forms = SCHEMA["$defs"]["distribution"]["oneOf"]
    in_schema = {
        (f["properties"]["distribution"]["const"], frozenset(f["required"]) - {"distribution"})
        for f in forms
    }
    in_code = {
        (name, frozenset(form))
        for name, distribution in DISTRIBUTIONS.items()
        for form in distribution.forms
    }
    in_code.remove(("empirical", frozenset({"values", "weights"})))  # weights are optional there
    assert in_schema == in_code


@pytest.mark.parametrize(
    "text",
    [
        "servers = 2\nclasses = []",
        "servers = 2.5\n[[classes]]\nneed = 1\nshare = 1\nsize = {distribution = 'exponential', mean = 1}",  # noqa: E501
        "servers = 2\n[[classes]]\nneed = 1\nrate = 1\nsize = {distribution = 'exponential', mean = 1}",  # noqa: E501
        "servers = 2\n[[classes]]\nneed = 1\narrival_rate = 1\nsize = {distribution = 'exponential'}",  # noqa: E501
        "servers = 2\n[[classes]]\nneed = 1\narrival_rate = 1\nsize = {distribution = 'pareto', shape = 1, "  # noqa: E501
        "mean = 1}",
    ],
)
def test_the_schema_refuses_what_the_package_refuses(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), SCHEMA)
    with pytest.raises(ModelError):
        files.read(text, "m.toml")


def test_a_model_without_shares_may_be_scaled_too() -> None:
    text = "servers = 4\nload = 0.5\n[[classes]]\nneed = 2\narrival_rate = 1\n"
    text += "size = { distribution = 'deterministic', value = 3 }\n"
    assert files.read(text, "m.toml").arrival_rate == pytest.approx(4 * 0.5 / (2 * 3))


# Errors

MODEL = """\
servers = 8   # line 1
load = 0.5

[[classes]]
need = 1      # line 5
share = 0.9
size = { distribution = "exponential", mean = 1.0 }

[[classes]]
need = 8      # line 10
share = 0.1
[classes.size]
distribution = "gamma"
mean = 2.0
scv = 3.0     # line 15
"""

IN_FILES = [
    ("need = 8 ", "need = 9 ", "line 10, key classes[1].need: need of class 1 is 9; it must be"),
    ("need = 8 ", "need = 2.5", "line 10, key classes[1].need: need of a job class is "),
    ("need = 8 ", "need = -1 ", "line 10, key classes[1].need: need of a job class is "),
    ("servers = 8", "servers = 0", "line 1, key servers: servers is "),
    ("servers = 8", "server = 8", "line 1, key server: unknown key of a model: 'server' (did you"),
    ("servers = 8", "", "m.toml: a system requires the key servers"),
    (
        "share = 0.9",
        "share = -1",
        "line 6, key classes[0].share: share of a class is -1; it must be",
    ),
    ("share = 0.9", "shar = 0.9", "line 6, key classes[0].shar: unknown key of a class: 'shar'"),
    ("share = 0.9", "", "line 4, key classes[0]: either all classes give their share or none"),
    ("share = 0.9", "share = 1\narrival_rate = 1", "line 7, key classes[0].arrival_rate: a class"),
    (
        "mean = 1.0",
        "mean = 1e-320",
        "line 7, key classes[0].size: the mean size is ",
    ),
    (
        "mean = 1.0",
        "mean = 1e300",
        "is 1e+300; it must be from 1e-100 to 1e+100 seconds; use another unit of time",
    ),
    ("mean = 1.0", "mean = nan", "line 7, key classes[0].size.mean: mean of Exponential"),
    ("mean = 1.0", "men = 1.0", "line 7, key classes[0].size.men: unknown key of the distribution"),
    (
        '"exponential"',
        '"exponental"',
        "line 7, key classes[0].size.distribution: unknown distribution",
    ),
    (
        '"gamma"',
        '"gama"',
        "line 13, key classes[1].size.distribution: unknown distribution: 'gama' (did you mean",
    ),
    (
        "mean = 2.0",
        "men = 2.0",
        "line 14, key classes[1].size.men: unknown key of the distribution gamma",
    ),
    (
        "scv = 3.0 ",
        "scv = -3.0",
        "line 15, key classes[1].size.scv: scv of Gamma is -3.0; it must be",
    ),
    ("mean = 2.0", "", "line 12, key classes[1].size: Gamma takes shape and scale, or"),
    ("load = 0.5", "load = inf", "line 2, key load: load is "),
    ("load = 0.5", "", "m.toml: a model whose classes give shares requires arrival_rate or load"),
    ("load = 0.5", "load = 1\narrival_rate = 1", "line 2, key load: a model takes arrival_rate or"),
    ("load = 0.5", "load = 0.5 0.6", "is not valid TOML: Expected newline"),
    ("need = 1 ", "need = ", "(at line 5"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), IN_FILES)
def test_messages_name_file_line_and_key(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    assert MODEL.count(old) == 1
    path = tmp_path / "m.toml"
    path.write_text(MODEL.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        qs.load(path)
    assert str(caught.value).startswith(str(path))
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")


def test_lines_are_found_in_one_table_a_line() -> None:
    text = "servers = 4\nclasses = [\n  { need = 1, arrival_rate = 1, size = 3 },\n]\n"
    with pytest.raises(
        ModelError,
        match=r"m.toml, line 3, key classes\[0\].size: the distribution is .*; it must be a table",
    ):
        files.read(text, "m.toml")


ELSEWHERE = [
    ("borg-c", "unknown model, .*'borg-c' .did you mean 'borg-b'"),
    ("one-or-all:q=1", "unknown option of preset one-or-all: 'q'; known: k, p1, rate, load"),
    ("one-or-all:k=2.5", "k of preset one-or-all is .*; it must be a whole number"),
    ("one-or-all:k=1", "is 1.0; it must be a whole number of at least 2"),
    ("one-or-all:p1=1", "p1 of preset one-or-all is 1.0; it must be above 0 and below 1"),
    ("four-class:rate=abc", "rate of preset four-class is 'abc'; it must be"),
    ("four-class:load=-1", "load of preset four-class is .*; it must be a positive"),
    ("borg-b:rate=1,load=1", "rate or load, not both"),
    ("nowhere.toml", "nowhere.toml does not exist; give a TOML file or a preset: one-or-all"),
    ("x" * 5000, "unknown model, neither a file nor a preset"),
    ("x" * 5000 + ".toml", "cannot be read: File name too long"),
    ("a\0.toml", "cannot be read: embedded null"),
]


@pytest.mark.parametrize(("model", "sentence"), ELSEWHERE)
def test_models_that_are_not_there(model: str, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        qs.load(model)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(qs.load("four-class").to_toml(), encoding="utf-8-sig")
    assert qs.load(path) == qs.load("four-class")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        qs.load(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b"# \xe9\nservers = 1\n")
    with pytest.raises(ModelError, match="not UTF-8"):
        qs.load(path)
