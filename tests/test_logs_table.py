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
        "unreadable": 2,
        "unknown_submit": 1,
        "unknown_need": 1,
        "unknown_size": 1,
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


def test_parquet_that_is_not_ours(tmp_path: Path) -> None:
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
    with pytest.raises(logs.LogError, match=r"line 1 has 2 columns 'need' \(2, 4\): give each a"):
        logs.read(path, servers=4)
    other = written(tmp_path, "submit,need,size,x,x\n0,1,5,2,3\n1,1,5,2,3\n", "log.csv")
    assert len(logs.read(other, servers=4)) == 2  # of no meaning here
