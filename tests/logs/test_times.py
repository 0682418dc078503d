"""Tables whose times are not seconds, or are given by start and end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from logs_helpers import column, counted, written
from quickswap import logs

EPOCH = 1_700_000_000
"""Unix time in seconds."""


def csv_of(rows: list[tuple[object, ...]], names: str = "submit,need,size") -> str:
    return "\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.mark.parametrize(("unit", "per"), [("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
@pytest.mark.parametrize("first", [EPOCH, 0])
@pytest.mark.parametrize("parquet", [False, True])
def test_times_that_cannot_be_seconds(
    tmp_path: Path, unit: Any, per: int, first: int, parquet: bool
) -> None:
    """An error asks for the unit; with it the log is that of the same times in seconds."""
    paths = []
    for factor in (1, per):
        text = csv_of([((first + 600 * n) * factor, 2, (900 + n) * factor) for n in range(50)])
        path = tmp_path / f"log{factor}"
        if parquet:
            pl.read_csv(text.encode()).write_parquet(path)
        else:
            path.write_text(text)
        paths.append(path)
    seconds = logs.read(paths[0], servers=8)
    with pytest.raises(logs.LogError, match="time_unit=") as caught:
        logs.read(paths[1], servers=8)
    if unit != "ns" or first:  # numbers of that size may be microseconds too
        assert f'time_unit="{unit}"' in str(caught.value)
    log = logs.read(paths[1], servers=8, time_unit=unit)
    assert log.origin == seconds.origin
    for name in ("submit", "size", "estimate"):
        assert column(log, name) == pytest.approx(column(seconds, name))
    assert column(logs.read(paths[0], servers=8, time_unit="s"), "size") == column(seconds, "size")


def test_dates_with_sizes_in_milliseconds(tmp_path: Path) -> None:
    """Only plain numbers require a unit."""
    path = written(tmp_path, csv_of([("2024-03-01T08:00:00", 1, 7_200_000)] * 3))
    with pytest.raises(logs.LogError, match=r"83 days.*time_unit=.ms"):
        logs.read(path, servers=8)
    assert column(logs.read(path, servers=8, time_unit="ms"), "size") == [7200] * 3
    path = written(tmp_path, csv_of([("2024-03-01T08:00:00", 1, "83-08:00:00")] * 3))
    assert column(logs.read(path, servers=8), "size") == [7_200_000] * 3


def test_a_long_log_of_short_jobs_in_milliseconds(tmp_path: Path) -> None:
    path = written(tmp_path, csv_of([(10**8 * n + 7, 1, 20_000 + n) for n in range(20)]))
    with pytest.raises(logs.LogError, match=r"60 years.*time_unit=.ms"):
        logs.read(path, servers=8)


def test_multiples_of_a_thousand_are_reported(tmp_path: Path) -> None:
    path = written(tmp_path, csv_of([(60_000 * n, 1, 5000) for n in range(30)]))
    assert any("give the time unit ms" in fact for fact in logs.read(path, servers=8).report.facts)
    assert logs.read(path, servers=8, time_unit="s").report.facts == ()


def test_a_time_far_off_does_not_change_the_unit(tmp_path: Path) -> None:
    path = written(tmp_path, csv_of([*((60 * n, 1, 50) for n in range(30)), (10**13, 1, 50)]))
    assert counted(logs.read(path, servers=8))["unreadable"] == 1


def test_only_tables_have_a_time_unit(tmp_path: Path) -> None:
    path = written(tmp_path, "; MaxProcs: 4\n1 0 0 9 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.raises(logs.LogError, match="time_unit is for"):
        logs.read(path, time_unit="ms")
    with pytest.raises(logs.LogError, match="time_unit: 'm'"):
        logs.read(path, time_unit="m")  # type: ignore[arg-type]  # wrong on purpose


def test_stored_logs_are_in_seconds(tmp_path: Path) -> None:
    path = written(tmp_path, csv_of([(60 * n, 1, 5_000_000) for n in range(30)]))
    log = logs.read(path, servers=8, time_unit="s")
    log.write_parquet(tmp_path / "ours")
    assert column(logs.read(tmp_path / "ours"), "size") == column(log, "size")


STARTS = {
    "seconds": ("0,10,70", "5,70,130"),
    "dates": (
        "2024-03-01T08:00:00,2024-03-01 08:00:10,2024-03-01T08:01:10Z",
        "2024-03-01T08:00:05,2024-03-01 08:01:10,2024-03-01T08:02:10Z",
    ),
}


@pytest.mark.parametrize("rows", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("strict", [False, True])
def test_start_and_end_in_place_of_a_size(
    tmp_path: Path, rows: tuple[str, str], strict: bool
) -> None:
    text = "submit,start,end,need\n" + "".join(f"{row},2\n" for row in rows)
    log = logs.read(written(tmp_path, text), servers=4, strict=strict)
    assert column(log, "submit") == [0, 5]
    assert column(log, "size") == [60, 60]
    assert column(log, "wait") == [10, 65]


def test_start_and_end_as_datetimes_of_parquet(tmp_path: Path) -> None:
    at = [datetime(2024, 3, 1, 8, tzinfo=UTC) + timedelta(seconds=n) for n in (0, 5)]
    pl.DataFrame(
        {
            "submit": at,
            "start": [moment + timedelta(seconds=9) for moment in at],
            "end": [moment + timedelta(seconds=69) for moment in at],
            "need": [1, 2],
        }
    ).write_parquet(tmp_path / "log")
    log = logs.read(tmp_path / "log", servers=4)
    assert column(log, "size") == [60, 60]
    assert column(log, "wait") == [9, 9]


def test_a_row_without_a_size_is_repaired(tmp_path: Path) -> None:
    text = csv_of([(0, 1, 60, 5, 65), (1, 1, "", 5, 45), (2, 1, "", 5, "")])
    path = written(tmp_path, text.replace("submit,need,size", "submit,need,size,start,end"))
    log = logs.read(path, servers=4)
    assert column(log, "size") == [60, 40]
    assert column(log, "wait") == [5, 4]
    assert counted(log, "no_estimate") == {"unknown_size": 1, "size_from_times": 1}
    with pytest.raises(logs.LogError, match="line 3, size: "):
        logs.read(path, servers=4, strict=True)


def test_a_start_that_is_not_needed_drops_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "submit,need,size,start,end\n0,1,60,soon,later\n")
    log = logs.read(path, servers=4)
    assert column(log, "size") == [60]
    path = written(tmp_path, "submit,need,start,end\n0,1,5,65\n0,1,soon,65\n")
    assert counted(logs.read(path, servers=4), "no_estimate") == {"unreadable": 1}


def test_wait_and_end(tmp_path: Path) -> None:
    log = logs.read(written(tmp_path, "submit,need,wait,end\n7,1,5,65\n"), servers=4)
    assert column(log, "size") == [53]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("01:02:03", 3723),
        ("1:02:03.5", 3723.5),
        ("100:00:00", 360_000),
        ("2-01:00:00", 176_400),
        ('"1 day, 0:00:10"', 86_410),
        ("0 days 00:10:00", 600),
        ("90", 90),
    ],
)
def test_durations(tmp_path: Path, text: str, seconds: float) -> None:
    path = written(tmp_path, f"submit,need,size,wait,estimate\n0,1,{text},{text},{text}\n")
    log = logs.read(path, servers=4)
    assert [column(log, name) for name in ("size", "wait", "estimate")] == [[seconds]] * 3


@pytest.mark.parametrize("text", ["01:30", "1:2:3:4", "1h"])
def test_ambiguous_durations_are_unreadable(tmp_path: Path, text: str) -> None:
    """Hours and minutes, or minutes and seconds: a table does not say which."""
    path = written(tmp_path, f"submit,need,size\n0,1,{text}\n0,1,5\n")
    assert counted(logs.read(path, servers=4))["unreadable"] == 1
