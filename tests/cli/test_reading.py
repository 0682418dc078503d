"""Options of the commands that take a log: how they reach the reader, and how it calls them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cyclopts import App

from cli_helpers import run
from quickswap import logs
from quickswap.cli.options import given, option
from quickswap.cli.reading import Reading, read_log
from quickswap.logs.options import ReadOptions


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
    ("tokens", "argument", "words"),
    [
        ([], "columns", "give its name in the file by --columns submit=...."),
        (["--columns", "submit=at,need=cpus,size=runtime"], "servers", "give --servers (the"),
        (["--unit", "core"], "unit", "unknown --unit: 'core'"),
        (["--sacct-format", "JobID"], "sacct_format", "omit --sacct-format."),
        (
            ["--smallest-need", "0"],
            "smallest_need",
            "--smallest-need is 0; it must be a whole number",
        ),
        (["--servers", "0"], "servers", "--servers is 0; it must be a whole number"),
        (["--partition", "a,,b"], "partition", "--partition is 'a,,b'"),
        (["--columns", "need=cpus,,size=x"], "columns", "--columns is 'need=cpus,,size=x'"),
        (["--columns", "need"], "columns", "--columns is 'need'"),
        (["--columns", "need=a,need=b"], "columns", "--columns is 'need=a,need=b'"),
        (["--from", "inf", "--columns", "submit=at,need=cpus,size=runtime"], "start", "--from is"),
        (
            ["--to", "soon", "--columns", "submit=at,need=cpus,size=runtime"],
            "end",
            "--to is 'soon'",
        ),
        (["--format", "sacct"], "format", "give --format csv or omit it."),
    ],
)
def test_a_mistake_carries_its_argument_and_is_printed_with_the_option(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    tokens: list[str],
    argument: str,
    words: str,
) -> None:
    path = table(tmp_path)
    with pytest.raises(logs.LogError) as caught:
        read_log(path, parsed(*tokens))
    assert caught.value.argument == argument
    code, out, err = run(capsys, "fit", path, *tokens)
    assert (code, out) == (2, "")
    assert words in err
    assert caught.value.calling(option) in err


def test_the_options_of_a_log_are_the_arguments_of_read() -> None:
    def command(reading: Reading | None = None) -> None:
        pass

    app = App()
    app.default(command)
    names = {each.name for each in app.assemble_argument_collection()} - {"*"}
    assert names == {option(each) for each in ("format", *ReadOptions.__annotations__)}
