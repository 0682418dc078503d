"""Options of the commands that take a log: how they reach the reader, and its words for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cyclopts import App

from quickswap import logs
from quickswap.cli.reading import Reading, as_log_options, given, read_log


def parsed(*tokens: str) -> Reading:
    """Return the options of a command with these words."""
    found: list[Reading] = []

    def command(reading: Reading | None = None) -> None:
        found.append(reading or Reading())

    app = App()
    app.default(command)
    with pytest.raises(SystemExit) as stop:
        app(tokens)
    assert stop.value.code == 0
    return found[0]


def table(folder: Path) -> str:
    path = folder / "log.csv"
    rows = ["at,cpus,runtime,partition"]
    rows += [f"{60 * i},{1 + i % 4},{10 + i},{'ab'[i % 2]}" for i in range(20)]
    path.write_text("\n".join(rows))
    return str(path)


def test_every_option_reaches_the_reader(tmp_path: Path) -> None:
    options = parsed(
        *("--format", "csv", "--servers", "8", "--partition", "a,b", "--timezone", "UTC"),
        *("--columns", "submit=at,need=cpus,size=runtime", "--from", "120", "--to", "900"),
        *("--scale-load", "2", "--smallest-need", "2", "--largest-need", "3"),
        *("--smallest-size", "13", "--largest-size", "1e3", "--unit", "cpu", "--strict"),
        *("--time-unit", "s"),
    )
    path = table(tmp_path)
    log = read_log(path, options)
    expected = logs.read(
        path,
        servers=8,
        partition=["a", "b"],
        columns={"submit": "at", "need": "cpus", "size": "runtime"},
        start=120,
        end=900.0,
        scale_load=2,
        smallest_need=2,
        largest_need=3,
        smallest_size=13,
        largest_size=1000,
        time_unit="s",
    )
    assert log.jobs.equals(expected.jobs)
    assert 0 < len(log) < 12
    assert "--from 120" in given(options)
    assert "--strict" in given(options)
    assert given(None) == []


def test_dates_are_dates(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("submit,need,size\n2024-03-01T00:00:00,1,5\n2024-03-02T00:00:00,1,5\n")
    assert len(read_log(str(path), parsed("--servers", "4", "--from", "2024-03-02"))) == 1


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], r"--columns submit=\.\.\.\."),
        (["--columns", "submit=at,need=cpus,size=runtime"], r"give --servers \(the largest"),
        (["--unit", "core"], "unknown unit: 'core'"),
        (["--sacct-format", "JobID"], "^--sacct-format is for sacct"),
        (["--smallest-need", "0"], "^--smallest-need must be a whole number"),
        (["--servers", "0"], "^--servers must be a whole number"),
        (["--partition", "a,,b"], "^--partition is 'a,,b'; give a list"),
        (["--columns", "need=cpus,,size=x"], "^--columns is 'need=cpus,,size=x'; give a list"),
        (["--columns", "need"], "^--columns is 'need'; give each column as"),
        (["--columns", "need=a,need=b"], "^--columns gives need twice"),
        (["--from", "inf", "--columns", "submit=at,need=cpus,size=runtime"], "^--from must be a"),
        (["--from", "soon", "--columns", "submit=at,need=cpus,size=runtime"], "^--from is 'soon'"),
    ],
)
def test_a_mistake_is_told_in_the_words_of_the_command_line(
    tmp_path: Path, tokens: list[str], message: str
) -> None:
    with pytest.raises(logs.LogError, match=message):
        read_log(table(tmp_path), parsed(*tokens))


def test_facts_and_rules_are_told_so_too() -> None:
    assert as_log_options('may be nodes; read with unit="node" then.') == (
        'may be nodes; read with --unit "node" then.'
    )
    assert as_log_options("submitted before `start`, or at `end` or later") == (
        "submitted before --from, or at --to or later"
    )
    assert as_log_options("give partition= to read one") == "give --partition to read one"
