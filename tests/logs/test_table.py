"""Tables: CSV and Parquet, other names, and logs written and read again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from logs_helpers import column, consistent, counted, quirks, written
from quickswap import logs

CSV = "submit,need,size,estimate,class,user,wait\n5,2,10,20,a,ann,1\n8,4,3.5,,b,bob,\n"


def read(folder: Path, text: str | bytes, **options: object) -> logs.JobLog:
    log = logs.read(written(folder, text), **({"servers": 8} | options))  # type: ignore[arg-type] # of any kind
    consistent(log)
    return log


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_csv(tmp_path: Path, mark: str) -> None:
    log = read(tmp_path, CSV.replace(",", mark))
    assert log.jobs.select("submit", "need", "size", "estimate", "wait", "line").rows() == [
        (0.0, 2, 10.0, 20.0, 1.0, 2),
        (3.0, 4, 3.5, 3.5, None, 3),
    ]
    assert [column(log, name) for name in ("class", "user")] == [["a", "b"], ["ann", "bob"]]
    assert log.origin is None
    assert quirks(log) == {"no_estimate": (1, (3,)), "no_wait": (1, (3,))}


def test_other_names(tmp_path: Path) -> None:
    text = "time,cpus,runtime\n1,2,3\n"
    log = read(tmp_path, text, columns={"submit": "time", "need": "cpus", "size": "runtime"})
    assert log.jobs.select("need", "size").rows() == [(2, 3.0)]


def test_rows_that_are_not_in_order(tmp_path: Path) -> None:
    text = "submit,need,size\n1,2,3\n1,2\n1,2,3,4\n\n,2,3\n1,two,3\n1,,3\n1,2,-3\n1,9,3\n0,2,nan\n"
    log = read(tmp_path, text)
    assert counted(log, "no_estimate", "no_wait") == {
        "fields": 2,
        "unreadable": 1,
        "unknown_submit": 1,
        "unknown_need": 1,
        "unknown_size": 2,
        "above_servers": 1,
    }


def test_quotes(tmp_path: Path) -> None:
    text = 'submit,need,"size",user\n1,2,3,"a, b"\n2,2,4,"c\nd"\n3,2,5,"e ""f"""\n4,2\n'
    log = read(tmp_path, text)
    assert column(log, "user") == ["a, b", "c\nd", 'e "f"']
    assert column(log, "line") == [2, 3, 5]
    assert quirks(log)["fields"] == (1, (6,))


def test_times_of_day(tmp_path: Path) -> None:
    text = "submit,need,size\n2024-07-01T12:00:00,1,5\n2024-07-01 12:00:09,1,5\n"
    log = read(tmp_path, text, timezone="Europe/Berlin")
    assert column(log, "submit") == [0, 9]
    assert log.origin == datetime(2024, 7, 1, 10, tzinfo=UTC).timestamp()
    assert read(tmp_path, "submit,need,size\n1719828000,1,5\n").origin == 1_719_828_000


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("submit", "timezone", "reported"),
    [
        ("2024-07-01 12:00:00", None, True),
        ("2024-07-01T12:00:00.5", None, True),
        (datetime(2024, 7, 1, 12), None, True),  # a time without a zone
        ("2024-07-01 12:00:00", "Europe/Berlin", False),
        ("2024-07-01T12:00:00Z", None, False),
        ("2024-07-01T12:00:00+0200", None, False),
        (1719828000, None, False),
    ],
)
def test_the_zone_that_is_assumed_is_reported(
    tmp_path: Path, suffix: str, submit: object, timezone: str | None, reported: bool
) -> None:
    frame = pl.DataFrame({"submit": [submit], "need": [1], "size": [5]})
    path = tmp_path / f"log.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    facts = logs.read(path, servers=4, timezone=timezone).report.facts
    assert any("read as UTC" in fact for fact in facts) == reported
    assert not (reported and any("Unix times" in fact for fact in facts))


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table"
    moments = [datetime(2024, 7, 1, 12), datetime(2024, 7, 1, 11)]
    pl.DataFrame({"submit": moments, "cpus": [2, 70], "size": [1.5, 2.0]}).write_parquet(path)
    log = logs.read(path, servers=64, columns={"need": "cpus"})
    consistent(log)
    assert log.jobs.select("need", "size", "line").rows() == [(2, 1.5, 1)]
    assert log.origin == datetime(2024, 7, 1, 12, tzinfo=UTC).timestamp()
    assert quirks(log)["above_servers"] == (1, (2,))


def test_a_log_written_and_read_again(tmp_path: Path) -> None:
    header = "; MaxProcs: 8\n; UnixStartTime: 1000000\n; TimeZoneString: Europe/Berlin\n"
    rows = (
        "1 5 1 10 2 -1 -1 2 20 -1 1 7 3 -1 2 1 -1 -1\n2 8 1 0 2 -1 -1 2 20 -1 1 7 3 -1 2 1 -1 -1\n"
    )
    log = logs.read(written(tmp_path, header + rows))
    log.write_parquet(tmp_path / "log.parquet")
    again = logs.JobLog.read_parquet(tmp_path / "log.parquet")
    assert again.jobs.equals(log.jobs)
    for name in ("servers", "report", "source", "origin", "zone", "header"):
        assert getattr(again, name) == getattr(log, name)
    other = logs.read(tmp_path / "log.parquet", start=1)
    consistent(other)
    assert (other.servers, other.origin, len(other)) == (8, 1_000_008, 1)
    assert other.report["outside_window"] == 1


def test_other_parquet_files(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"submit": [1]}).write_parquet(path)
    with pytest.raises(logs.LogError, match=r"was not written by JobLog\.write_parquet"):
        logs.JobLog.read_parquet(path)
    path.write_bytes(path.read_bytes()[:40])
    for reads in (logs.JobLog.read_parquet, logs.read):
        with pytest.raises(logs.LogError, match="cannot be read as Parquet"):
            reads(path)


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    path = written(tmp_path, "submit,need,size,need\n0,1,5,2\n1,1,5,2\n", "log.csv")
    with pytest.raises(logs.LogError, match=r"2 columns 'need' \(2, 4\)"):
        logs.read(path, servers=4)
    other = written(tmp_path, "submit,need,size,x,x\n0,1,5,2,3\n1,1,5,2,3\n", "log.csv")
    assert len(logs.read(other, servers=4)) == 2  # columns that are not read


TIMES = {
    "2024-03-01": 0,
    "2024-03-01T00:00": 0,
    "2024-03-01 00:00:01": 1,
    "2024-03-01T00:00:02.000000": 2,
    "2024-03-01T00:00:02.5": 2.5,
    "2024-03-01T00:00:03Z": 3600 + 3,
    "2024-03-01T02:00:04+02:00": 3600 + 4,
    "2024-02-29T21:30:05-0130": 5,
    "2024-03-01T01:00:06.25+01": 3600 + 6.25,
    "1709251207": 3600 + 7,
}
"""What stands for a time in a table, and seconds after midnight of Berlin."""


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_all_forms_of_times(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"submit": list(TIMES)}).with_columns(need=1, size=5)
    path = tmp_path / f"log.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    log = logs.read(path, servers=4, timezone="Europe/Berlin")
    assert log.origin == datetime(2024, 2, 29, 23, tzinfo=UTC).timestamp()
    first = 2 if suffix == "csv" else 1
    found = dict(zip(column(log, "line"), column(log, "submit"), strict=True))
    assert found == dict(enumerate(TIMES.values(), first))


def test_csv_written_by_polars(tmp_path: Path) -> None:
    times = [
        datetime(2024, 3, 1, 8, tzinfo=UTC),
        datetime(2024, 3, 1, 9, 0, 0, 500_000, tzinfo=UTC),
    ]
    for frame in (
        pl.DataFrame({"submit": times}),
        pl.DataFrame({"submit": [each.replace(tzinfo=None) for each in times]}),
    ):
        frame.with_columns(need=1, size=5).write_csv(tmp_path / "log.csv")
        log = logs.read(tmp_path / "log.csv", servers=4)
        assert column(log, "submit") == [0, 3600.5]


def test_an_hour_that_daylight_saving_skips(tmp_path: Path) -> None:
    times = ["2024-03-31T01:30", "2024-03-31T02:30", "2024-10-27T02:30"]
    text = "submit,need,size\n" + "".join(f"{each},1,5\n" for each in times)
    log = read(tmp_path, text, timezone="Europe/Berlin")
    assert counted(log, "no_estimate", "no_wait") == {"skipped_time": 1, "ambiguous_time": 1}
    path = tmp_path / "log.parquet"
    moments = [datetime.fromisoformat(each) for each in times[:2]]
    pl.DataFrame({"submit": moments}).with_columns(need=1, size=5).write_parquet(path)
    log = logs.read(path, servers=4, timezone="Europe/Berlin")
    assert counted(log, "no_estimate", "no_wait") == {"skipped_time": 1}
    for start in ("2024-03-31T02:30", moments[1]):
        with pytest.raises(logs.LogError, match="Europe/Berlin"):
            logs.read(path, servers=4, timezone="Europe/Berlin", start=start)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            "1 March,1,5\n2 March,1,5\n",
            r"\(first: line 2, submit '1 March'\)\. Accepted forms",
        ),
        ("0,1,5h\n", r"\(first: line 2, size '5h'\)\.$"),
        ("0,1,1e13\n", r"\(first: line 2, size '1"),
    ],
)
def test_an_error_quotes_the_first_bad_value(tmp_path: Path, rows: str, words: str) -> None:
    path = written(tmp_path, "submit,need,size\n" + rows)
    with pytest.raises(logs.LogError, match=words):
        logs.read(path, servers=4)
    with pytest.raises(logs.LogError, match=r"line 2, .*not a number.*1e12, \w+ '"):
        logs.read(written(tmp_path, f"submit,need,size\n{rows}0,1,5\n"), servers=4, strict=True)
