"""The code in the documentation runs, and no name, policy, key or option is missing.

Python blocks of a page run in order. In shell blocks, lines that call quickswap run with few jobs,
and only their exit code is checked. A Python or TOML block whose first line is a comment with a
file name becomes that file. `<!-- skip: next "reason" -->` skips a block.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import unittest
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.myst import CodeBlockParser, SkipParser

import quickswap as qs
from quickswap import logs
from quickswap.cli import main
from quickswap.logs.options import FORMATS
from quickswap.model.distributions import DISTRIBUTIONS
from quickswap.model.files import CLASS_KEYS, OPTIONS, TOP_KEYS, read
from quickswap.policies import POLICIES
from quickswap.statistics.quantities import SHORT_NAMES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md"]
JOBS = "8000"
"""Jobs of a command, instead of its own number: enough for a test."""
BUDGET = "1000000"
"""The same for all simulations of `tune` together."""


def shell(example: Example) -> None:
    """Run the lines of a shell block that call quickswap."""
    for line in str(example.parsed).replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] != ["quickswap"]:
            assert not words, f"not a quickswap command, so skip the block with a reason: {line}"
            continue
        tokens = words[1:]
        commands = ("simulate", "compare", "sweep", "tune")
        runs = "--help" not in tokens and tokens[:2] != ["sweep", "--merge"]  # merges only
        if tokens and tokens[0] in commands and runs:
            if "--jobs" in tokens:
                at = tokens.index("--jobs")
                del tokens[at : at + 2]
            tokens += ["--jobs", BUDGET if tokens[0] == "tune" else JOBS]
        with pytest.raises(SystemExit) as stop:
            main(tokens)
        assert stop.value.code == 0, line


def python(example: Example) -> None:
    """Run a Python block, from the file that its first line names if it names one."""
    text = str(example.parsed)
    first = re.match(r"# (\S+\.py)$", text.splitlines()[0])
    if first:
        Path(first[1]).write_text(text, encoding="utf-8")
        exec(compile(text, Path(first[1]).resolve(), "exec"), example.namespace)
    else:
        PythonEvaluator()(example)


def model(example: Example) -> None:
    """Write a model file or a grid, and read it."""
    text = str(example.parsed)
    first = re.match(r"# (\S+\.toml)$", text.splitlines()[0])
    if first:
        Path(first[1]).write_text(text, encoding="utf-8")
        if re.search("^polic(y|ies) =", text, re.M):
            assert qs.Grid.load(first[1])
        else:
            read(text, first[1])


PARSERS: list[Callable[[Document], Iterable[Region]]] = [
    SkipParser(),
    CodeBlockParser(language="python", evaluator=python),
    *(CodeBlockParser(language=each, evaluator=shell) for each in ("bash", "console", "sh")),
    CodeBlockParser(language="toml", evaluator=model),
]


@pytest.mark.filterwarnings("ignore::quickswap.InfiniteVarianceWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("QUICKSWAP_CACHE", str(tmp_path / "cache"))
    sybil = Sybil(PARSERS, path=str(page.parent), patterns=[page.name])
    document: Document = sybil.parse(page)
    for example in document.examples():
        try:
            example.evaluate()
        except unittest.SkipTest:  # the page says why
            continue
        except Exception as error:
            error.add_note(f"in {page.name}, the block at line {example.line}")
            raise


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda p: p.name)
def test_notebook_runs(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code cells run in order, and what the last line of each returns can be shown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = json.loads(file.read_text(encoding="utf-8"))
    namespace: dict[str, object] = {}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []
        body = ast.parse("".join(cell["source"]), f"{file.name}, cell {number}").body
        last = body.pop()
        exec(compile(ast.Module(body, []), file.name, "exec"), namespace)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), file.name, "exec"), namespace)
        else:
            shown = eval(compile(ast.Expression(last.value), file.name, "eval"), namespace)
            assert getattr(shown, "_repr_html_", shown.__repr__)()


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def missing(page: str, words: list[str]) -> list[str]:
    """Return the words that a page does not show as code."""
    shown = text(page)
    return [word for word in words if not re.search(rf"`[^`\n]*{re.escape(word)}\b", shown)]


def test_every_public_name_is_in_the_reference() -> None:
    documented = re.findall(r"auto\w+:: quickswap\.(\w+)$", text("reference.md"), re.M)
    assert sorted(documented) == sorted(qs.__all__)


def test_every_policy_and_parameter_is_explained() -> None:
    assert missing("policies.md", [kind.name for kind in POLICIES]) == []
    parameters = {field.name for kind in POLICIES for field in fields(kind)}  # type: ignore[arg-type]  # all are dataclasses
    assert missing("policies.md", sorted(parameters)) == []


def test_every_format_of_a_log_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    for words in (text("logs.md"), logs.read.__doc__ or "", capsys.readouterr().out):
        assert [name for name in FORMATS if name not in words.lower()] == []


def test_every_key_of_a_model_is_explained() -> None:
    distributions = [
        key
        for distribution in DISTRIBUTIONS.values()
        for form in distribution.forms
        for key in form
    ]
    options = [key for known in OPTIONS.values() for key in known]
    keys = [*TOP_KEYS, *CLASS_KEYS, *DISTRIBUTIONS, *distributions, *OPTIONS, *options]
    assert missing("model-file.md", keys) == []


@pytest.mark.parametrize(
    "command",
    ["simulate", "compare", "sweep", "plot", "tune", "show", "analyze", "optimum", "fit", "replay"],
)
def test_every_option_is_explained(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    options = sorted(set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)) - {"--help"})
    assert len(options) >= 4
    assert missing("cli.md", options) == []


def test_every_reason_to_stop_and_statistic_is_explained() -> None:
    names = {*(field.name for field in fields(qs.Result)), *qs.ClassResult.__struct_fields__}
    quantities = [name for name in names - {"name", "need", "seconds"} if not name.startswith("_")]
    assert missing("statistics.md", [stop.name for stop in qs.Stop]) == []
    assert missing("statistics.md", sorted(quantities)) == []
    assert missing("sweeps.md", sorted(SHORT_NAMES)) == []


def test_every_picture_is_shown() -> None:
    drawn = sorted(path.name for path in (DOCS / "_static" / "policies").glob("*.svg"))
    shown = re.findall(r"_static/policies/([\w-]+\.svg)", text("policies.md"))
    assert sorted(set(shown)) == drawn
