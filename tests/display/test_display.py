"""What notebooks and the console show of systems and results."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from xml.etree import ElementTree

import pytest

import quickswap as qs
from cli_helpers import run
from quickswap._tables import Page, TextTable
from quickswap.display.notebook import html
from quickswap.display.replays import replay_page
from quickswap.display.simulations import comparison_page, result_page
from replay_helpers import random_log

JOBS = 2000


@cache
def shown(kind: str) -> Any:
    system = qs.load("four-class")
    if kind == "System":
        return system
    if kind == "Result":
        return qs.simulate(system, "msf", jobs=JOBS)
    if kind == "Comparison":
        return qs.compare(system, ["msf", "fcfs"], loads=[0.3, 0.5], jobs=JOBS)
    if kind == "Sweep":
        return qs.sweep(qs.Grid(system, ["msf", "fcfs"], loads=[0.3, 0.5], jobs=JOBS))
    if kind == "Tuning":
        return qs.tune(system.with_load(0.3), ["msf", "fcfs"], jobs=100_000)
    log = random_log(Path(mkdtemp()), count=300)
    comparison = qs.replay_all(log, ["easy", "first-fit"])
    return comparison if kind == "ReplayComparison" else comparison.results[1]


KINDS = ("System", "Result", "Comparison", "Sweep", "Tuning", "ReplayComparison", "ReplayResult")


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_tables(kind: str) -> None:
    found = shown(kind)
    tree = ElementTree.fromstring(f"<div>{found._repr_html_()}</div>")
    table = tree.find("table")
    assert table is not None
    rows = [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
    assert len({len(row) for row in rows}) == 1
    names = qs.load("four-class").names if kind in ("System", "Result") else ()
    cells = [cell for row in rows for cell in row]
    assert all(name in cells for name in names)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_console_shows_one_line(kind: str) -> None:
    text = repr(shown(kind))
    assert re.fullmatch(rf"<{kind} .+>", text)
    assert len(text) < 200


def test_a_notebook_shows_the_numbers_of_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("four-class", "--policies", "msf fcfs", "--loads", "0.3,0.5", "--jobs", str(JOBS))
    _, out, _ = run(capsys, "compare", *words)
    page = shown("Comparison")._repr_html_()
    numbers = re.findall(r"[\d.]+ ± \S+?(?=\s|<)", out)
    assert numbers
    assert re.findall(r"[\d.]+ ± \S+?(?=\s|<)", page) == numbers


def test_html_escapes_text() -> None:
    table = TextTable(["a<b", "n"], [["<i>", "1"]], title="x & y")
    page = html(["a & b", "", table])
    assert "<i>" not in page
    assert page.startswith("<pre>a &amp; b</pre>")
    assert '<td style="text-align: right">1</td>' in page


def test_a_result_of_a_file_is_shown() -> None:
    page = qs.Result.from_json(shown("Result").to_json())._repr_html_()
    assert "nan" not in page


VERBS: dict[str, Any] = {
    "simulate": lambda: qs.simulate("four-class", "msf", jobs=JOBS, progress=True),
    "compare": lambda: qs.compare("four-class", ["msf"], jobs=JOBS, progress=True),
    "sweep": lambda: qs.sweep(qs.Grid("four-class", "msf", jobs=JOBS), progress=True),
    "tune": lambda: qs.tune("four-class:rate=2", ["msf"], jobs=100_000, progress=True),
    "replay": lambda: qs.replay(shown("ReplayResult").log, "msf", progress=True),
    "replay_all": lambda: qs.replay_all(shown("ReplayResult").log, "msf", progress=True),
}


@pytest.mark.parametrize("verb", VERBS)
def test_progress_true_shows_a_bar(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown("ReplayResult")
    updates: list[dict[str, Any]] = []

    @contextmanager
    def bar(what: str, total: float | None) -> Iterator[Any]:
        yield lambda **values: updates.append(values)

    VERBS[verb]()  # standard error is no terminal here
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("quickswap._progress._bar", bar)
    VERBS[verb]()
    assert updates
    assert all(each["completed"] >= 0 for each in updates)


def test_a_terminal_shows_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    VERBS["simulate"]()
    assert "simulating" in terminal.getvalue()


def table_of(page: Page) -> TextTable:
    return next(each for each in page if isinstance(each, TextTable))


def test_percentiles_of_choice_are_columns() -> None:
    """Also those that every result has, if the table does not contain them anyway."""
    log = random_log(Path(mkdtemp()), count=300)
    table = table_of(replay_page(qs.replay_all(log, "easy", percentiles=(50, 90, 95))))
    levels = [each.removesuffix(" wait") for each in table.columns if each.endswith(" wait")]
    assert levels == ["mean", "P90", "P99", "P50", "P95"]
    found = qs.compare("four-class", ["msf"], loads=[0.3], jobs=JOBS, percentiles=(50, 95))
    table = table_of(comparison_page(found))
    assert [each for each in table.columns if each.startswith("P")] == ["P50", "P95"]
    assert str(found.results[0].response_time.p50) in table.rows[0]


def test_policies_with_a_weaker_bound_are_named() -> None:
    """Their waste is larger even if they are not worse."""
    costs = "server-filling:overhead=0.1"
    found = qs.compare("four-class", ["msf", costs], loads=[0.8], jobs=JOBS)
    free, costly = found.results
    assert costly.lower_bound < free.lower_bound
    [meaning] = [each for each in comparison_page(found) if str(each).startswith("waste")]
    assert costly.policy_label in str(meaning)
    assert free.policy_label not in str(meaning)
    for each in (free, costly):
        [line] = [line for line in result_page(each) if str(line).startswith("lower bound")]
        assert ("mean size" in str(line)) == (each is costly)
