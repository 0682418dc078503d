"""The same jobs in every format: what their fields say decides, however it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_settings import FEW
from logs_helpers import column, consistent, counted, quirks, written
from quickswap import logs
from quickswap.logs import values

EPOCH = 1_700_000_000
BERLIN = ZoneInfo("Europe/Berlin")
SILENT = sorted(values.NOT_LOGGED - {""})


def sacct(folder: Path, header: str, rows: str, **options: Any) -> logs.JobLog:
    log = logs.read(written(folder, f"{header}\n{rows}"), **({"servers": 1 << 17} | options))
    consistent(log)
    return log


def table(folder: Path, header: str, rows: str, **options: Any) -> logs.JobLog:
    return sacct(folder, header, rows, format="csv", **options)


def parquet(folder: Path, header: str, rows: str, **options: Any) -> logs.JobLog:
    """The same text as a Parquet file whose local times and numbers have their own types."""
    names = header.split(",")
    frame = pl.DataFrame(
        [line.split(",") for line in rows.splitlines()], names, orient="row"
    ).with_columns(pl.all().replace("", None))
    for name in names:
        moment = frame[name].str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False)
        number = frame[name].cast(pl.Float64, strict=False)
        best = moment if moment.null_count() <= number.null_count() else number
        if best.null_count() == frame[name].null_count():
            frame = frame.with_columns(best.alias(name))
    path = folder / "small.parquet"
    frame.write_parquet(path)
    log = logs.read(path, **({"servers": 1 << 17} | options))
    consistent(log)
    return log


BARS = "JobID|Submit|Start|End|ElapsedRaw|AllocCPUS|State"
COMMAS = "job,submit,start,end,size,need,state"
DAY = "2024-03-01T"


def bars(folder: Path, header: str, rows: str, **options: Any) -> logs.JobLog:
    names = {"job": "JobID", "size": "ElapsedRaw", "need": "AllocCPUS"}
    words = "|".join(names.get(word, word) for word in header.split(","))
    return sacct(folder, words, rows.replace(",", "|"), **options)


Read = Callable[..., logs.JobLog]
ALL = pytest.mark.parametrize("read", [bars, table, parquet])


@ALL
@pytest.mark.parametrize(
    "state",
    ["REQUEUED", "PENDING", "REQUEUE_HOLD", "FUTURE", "CANCELLED", "REVOKED", "COMPLETED", "?"],
)
def test_jobs_with_a_run_time_are_kept_in_any_state(tmp_path: Path, read: Read, state: str) -> None:
    ran = f"1,{DAY}08:00:00,{DAY}08:00:00,{DAY}09:00:00,{{}},4,{state}\n"
    log = read(tmp_path, COMMAS, ran.format(3600) + ran.format("").replace("1,", "2,", 1))
    assert column(log, "size") == [3600, 3600]
    assert log.report["never_started"] == 0


@ALL
@pytest.mark.parametrize("state", ["REQUEUED", "PENDING", "CANCELLED by 7", "CANCELLED+"])
def test_jobs_that_never_ran_are_dropped(tmp_path: Path, read: Read, state: str) -> None:
    ran = f"1,{DAY}08:00:00,{DAY}08:00:00,{DAY}09:00:00,3600,4,COMPLETED\n"
    log = read(tmp_path, COMMAS, ran + f"2,{DAY}08:00:00,,,0,0,{state}\n")
    assert counted(log, "no_estimate") == {"never_started": 1}


def test_a_job_with_a_start_but_no_run_time(tmp_path: Path) -> None:
    ran = f"1,{DAY}08:00:00,{DAY}08:00:00,{DAY}09:00:00,3600,4,COMPLETED\n"
    log = bars(tmp_path, COMMAS, ran + f"2,{DAY}08:00:00,{DAY}08:00:00,,,4,REQUEUED\n")
    assert counted(log, "no_estimate") == {"unknown_size": 1}


def test_a_job_that_has_an_end_is_not_running(tmp_path: Path) -> None:
    row = f"{{}},{DAY}08:00:00,{DAY}08:00:00,{{}},3600,4,RUNNING\n"
    log = bars(tmp_path, COMMAS, row.format(1, "Unknown") + row.format(2, DAY + "09:00:00"))
    assert quirks(log)["running"] == (1, (2,))


@ALL
def test_two_runs_of_a_job_are_two_jobs(tmp_path: Path, read: Read) -> None:
    first = f"1,{DAY}08:00:00,{DAY}08:00:00,{DAY}08:01:00,60,4,FAILED\n"
    second = f"1,{DAY}08:00:00,{DAY}08:15:00,{DAY}08:16:00,60,4,FAILED\n"
    log = read(tmp_path, COMMAS, first + second + first)
    assert column(log, "wait") == [0, 900]
    assert log.report["duplicate"] == 1
    # Without a start, the ends distinguish them.
    log = table(tmp_path, "job,submit,end,size,need", "1,0,60,60,4\n1,0,960,60,4\n1,0,60,60,4\n")
    assert (len(log), log.report["duplicate"]) == (2, 1)


def test_an_unpaired_quote(tmp_path: Path) -> None:
    path = written(tmp_path, 'submit,need,size,user\n0,1,10,"z\n1,1,10,w\n')
    for strict in (False, True):
        with pytest.raises(logs.LogError, match="line 2: a quote is not closed"):
            logs.read(path, servers=4, strict=strict)


ROWS = [f"{n},1,10,u\n" for n in range(9)]


@FEW
@given(opened=st.integers(0, 8), closed=st.integers(0, 8))
def test_no_row_vanishes_between_two_quotes(tmp_path: Path, opened: int, closed: int) -> None:
    rows = ROWS.copy()
    for at in (opened, closed):
        rows[at] = rows[at].replace(",u", ',"u')
    path = written(tmp_path, "submit,need,size,user\n" + "".join(rows))
    if opened == closed:
        with pytest.raises(logs.LogError, match=f"line {2 + opened}: a quote is not closed"):
            logs.read(path, servers=4)
        return
    first = min(opened, closed)
    log = logs.read(path, servers=4)
    assert len(log) + log.report["swallowed"] + log.report["fields"] == 9
    assert log.report["swallowed"] == abs(opened - closed)
    with pytest.raises(logs.LogError, match=f"line {first + 3}, .*a complete row"):
        logs.read(path, servers=4, strict=True)


@FEW
@given(pads=st.lists(st.integers(0, 8), min_size=1, max_size=9), mark=st.sampled_from(["", "c"]))
def test_no_row_vanishes_for_its_job_number(tmp_path: Path, pads: list[int], mark: str) -> None:
    """Numbers may be padded; a row whose number begins with a letter is reported."""
    rows = [
        f"{' ' * pad}{mark if pad > 4 else ''}{n + 1}|{DAY}08:00:00|60|4|x\n"
        for n, pad in enumerate([0, *pads])
    ]
    log = sacct(tmp_path, "JobID|Submit|ElapsedRaw|NCPUS|JobName", "".join(rows))
    assert len(log) + log.report["swallowed"] == log.report.rows == len(rows)
    assert log.report["swallowed"] == (sum(pad > 4 for pad in pads) if mark else 0)


def test_two_rows_in_a_line_are_not_one(tmp_path: Path) -> None:
    row = "1 0 0 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1"
    path = written(tmp_path, f"; MaxProcs: 4\n{row}\n{row} {row}\n")
    assert counted(logs.read(path)) == {"fields": 1}


@dataclass(frozen=True)
class Job:
    submit: int
    wait: int | None
    size: int
    need: int
    estimate: int | None
    user: str | None
    partition: str | None


job_fields = st.builds(
    Job,
    st.integers(0, 100),
    st.none() | st.integers(0, 100),
    st.integers(1, 9999),
    st.integers(1, 70) | st.sampled_from([1024, 4096, 1536]),
    st.none() | st.integers(1, 9999),
    st.none() | st.sampled_from(["ada", "7", "\u00e9va"]),
    st.none() | st.sampled_from(["gpu", "2"]),
)


@FEW
@given(data=st.data(), jobs=st.lists(job_fields, min_size=1, max_size=16))
def test_the_same_jobs_in_all_formats(tmp_path: Path, data: st.DataObject, jobs: list[Job]) -> None:
    """Spellings of numbers and of what is not logged do not matter, and nothing is repaired."""
    silent = st.sampled_from(SILENT).flatmap(
        lambda word: st.sampled_from([word, word.upper(), word.title()])
    )

    def text(value: object) -> str:
        return data.draw(silent) if value is None else str(value)

    def number(value: int | None) -> str:
        forms = ["{}", "{}.0", "{}e0", "+{}", "0{}"]
        return text(value) if value is None else data.draw(st.sampled_from(forms)).format(value)

    def servers(value: int) -> str:
        short = value % 512 == 0 and data.draw(st.booleans())
        return f"{value / 1024:g}K" if short else number(value)

    def span(value: int | None) -> str:
        if value is None or data.draw(st.booleans()):
            return number(value)
        return f"{value // 3600:02}:{value // 60 % 60:02}:{value % 60:02}"

    def moment(value: int | None) -> str:
        if value is None:
            return text(None)
        stamp = datetime.fromtimestamp(EPOCH + value, UTC)
        form = st.sampled_from(["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"])
        return stamp.strftime(data.draw(form))

    def start(job: Job) -> int | None:
        return None if job.wait is None else job.submit + job.wait

    swf = "; MaxProcs: 8192\n" + "".join(
        " ".join(
            [
                *(str(n), number(job.submit), span(job.wait), span(job.size), servers(job.need)),
                *("-1", "nan", text(None), span(job.estimate), "-1", "1"),
                *(text(job.user), "-1", "-1", "-1", text(job.partition), "-1", "-1"),
            ]
        )
        + "\n"
        for n, job in enumerate(jobs)
    )
    csv = "job,submit,wait,size,need,estimate,user,partition\n" + "".join(
        ",".join(
            [
                *(str(n), moment(job.submit), span(job.wait), span(job.size), servers(job.need)),
                *(span(job.estimate), text(job.user), text(job.partition)),
            ]
        )
        + "\n"
        for n, job in enumerate(jobs)
    )
    dump = "JobID|Submit|Start|Elapsed|NCPUS|Timelimit|User|Partition\n" + "".join(
        "|".join(
            [
                *(str(n), moment(job.submit), moment(start(job)), span(job.size)),
                *(servers(job.need), span(job.estimate), text(job.user), text(job.partition)),
            ]
        )
        + "\n"
        for n, job in enumerate(jobs)
    )
    own = tmp_path / "own.parquet"
    pl.DataFrame([{"job": str(n), **vars(job)} for n, job in enumerate(jobs)]).write_parquet(own)
    read = [
        logs.read(written(tmp_path, swf, "a.swf"), format="swf"),
        logs.read(written(tmp_path, csv, "a.csv"), servers=8192),
        logs.read(written(tmp_path, dump, "a.txt"), servers=8192, timezone="UTC"),
        logs.read(own, servers=8192),
    ]
    labels = ("class", "user", "group", "queue", "partition")
    first, *others = (
        log.jobs.drop("line", "eligible", "state").with_columns(pl.col(labels).cast(pl.String))
        for log in read
    )
    assert all(each.equals(first) for each in others)
    assert len(first) == len(jobs)
    for log in read:
        consistent(log)
        assert {each.rule for each in log.report.findings if each.kind == "repaired"} <= {
            "unsorted"
        }


@ALL
@pytest.mark.parametrize("word", ["x", "12c", "4 nodes", "\u0661", "1_0", "0x10", "1e999", "1 2"])
def test_a_bad_value_costs_a_job_only_if_it_is_needed(
    tmp_path: Path, read: Read, word: str
) -> None:
    good = ["1", f"{DAY}08:00:00", f"{DAY}08:10:00", "3600", "4", f"{DAY}08:00:00"]
    rows = [",".join([*good[:at], word, *good[at + 1 :]]) + "\n" for at in (1, 2, 3, 4, 5)]
    log = read(tmp_path, "job,submit,start,size,need,eligible", "".join(rows))
    assert (log.report["bad_value"], log.report["unreadable"]) == (2, 3)
    assert column(log, "wait") == [None, 600]
    assert column(log, "eligible") == [0, None]


def test_numbers_with_thousands_separators_are_not_read(tmp_path: Path) -> None:
    log = table(tmp_path, "submit;need;size;estimate", "0;1;10;1,5\n1;1,152;10;20\n")
    assert counted(log, "no_wait") == {"unreadable": 1, "bad_value": 1, "no_estimate": 1}


def test_numbers_of_a_list_of_resources_are_whole(tmp_path: Path) -> None:
    header = "JobID|Submit|ElapsedRaw|AllocTRES|NNodes"
    rows = "".join(
        f"{n}|{DAY}08:00:00|60|{tres}|{nodes}\n"
        for n, (tres, nodes) in enumerate(
            [("cpu=2K,node=16", "16"), ("cpu=65536,node=4096", "4K"), ("cpu=12c,node=1.5K", "x")]
        )
    )
    assert column(sacct(tmp_path, header, rows), "need") == [2048, 65536]
    log = sacct(tmp_path, header, rows, unit="node")
    assert column(log, "need") == [16, 4096, 1536]
    assert quirks(log)["bad_value"] == (1, (4,))
    typed = f"1|{DAY}08:00:00|60|gres/gpu:a=1K,gres/gpu:b=2|1\n2|{DAY}08:00:00|60|gres/gpu=2x|1\n"
    log = sacct(tmp_path, header, typed, unit="gpu")
    assert (column(log, "need"), log.report["unreadable"]) == ([1026], 1)


@pytest.mark.parametrize(
    ("value", "servers"),
    [("64", 64), ("64 (2 x 32)", 64), ("4K", 4096), ("64 processors", 64), ("1,152", None)],
)
def test_numbers_of_a_header_are_whole(tmp_path: Path, value: str, servers: int | None) -> None:
    row = "1 0 0 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"
    path = written(tmp_path, f"; MaxProcs: {value}\n{row}")
    if servers is None:
        with pytest.raises(logs.LogError, match="number of servers"):
            logs.read(path)
        assert any("1,152" in fact for fact in logs.read(path, servers=4).report.facts)
    else:
        assert logs.read(path).servers == servers


def test_words_in_swf_are_kept_or_reported(tmp_path: Path) -> None:
    rows = (
        "1 0 0 10 1 -1 -1 1 10 -1 1 ada physics 1 short 1.0 -1 -1\n"
        "x2 5 0 10 1 -1 -1 1 10 -1 COMPLETED 1 1 1 1 1 -1 node01\n"
        "3 6 w 10 1 -1 -1 1 e -1 1 1.5 9007199254740993 1 1 1 -1 -1\n"
    )
    log = logs.read(written(tmp_path, "; MaxProcs: 4\n" + rows))
    consistent(log)
    assert column(log, "user") == ["ada", "1", "1.5"]
    assert column(log, "group") == ["physics", "1", "9007199254740993"]
    assert column(log, "partition") == ["1", "1", "1"]
    assert column(log, "job") == ["1", "x2", "3"]
    assert column(log, "state") == ["completed"] * 3
    assert quirks(log)["bad_value"] == (1, (4,))


def test_words_in_swf_cost_little_time(tmp_path: Path) -> None:
    """Rows with words are read together: the words cost a few times what numbers cost."""
    from time import process_time

    took = []
    for user in ("7", "ada"):
        rows = "".join(
            f"{n} {n} 0 10 1 -1 -1 1 10 -1 1 {user} 1 1 1 1 -1 -1\n" for n in range(20_000)
        )
        path = written(tmp_path, "; MaxProcs: 4\n" + rows)
        begin = process_time()
        assert len(logs.read(path)) == 20_000
        took.append(process_time() - begin)
    assert took[1] < 20 * took[0] + 1


LOCAL = "job,submit,start,end,size,need"


def local(moment: int) -> str:
    return datetime.fromtimestamp(moment, BERLIN).strftime("%Y-%m-%dT%H:%M:%S")


@ALL
def test_repeated_hours_by_order_and_run_time(tmp_path: Path, read: Read) -> None:
    night = "2024-10-27T"
    rows = (
        f"1,{night}01:00:00,{night}02:50:00,{night}02:10:00,,4\n"
        f"2,{night}01:00:00,{night}01:30:00,{night}02:30:00,,4\n"
        f"3,{night}01:00:00,{night}02:20:00,{night}03:20:00,3600,4\n"
        f"4,{night}02:30:00,{night}02:40:00,{night}03:40:00,7200,4\n"
    )
    log = read(tmp_path, LOCAL, rows, timezone="Europe/Berlin")
    assert column(log, "size") == [1200, 3600, 3600, 7200]
    assert column(log, "wait") == [6600, 1800, 8400, 600]
    assert quirks(log)["ambiguous_time"][0] == 1
    assert log.report["suspended"] == 0


@ALL
def test_skipped_hours_by_the_run_time(tmp_path: Path, read: Read) -> None:
    """02:30 does not exist: it is 03:30 of summer, or 01:30 of winter, as the run time says."""
    night = "2024-03-31T"
    rows = (
        f"1,{night}01:00:00,{night}02:30:00,{night}04:00:00,1800,4\n"
        f"2,{night}01:00:00,{night}02:30:00,{night}06:00:00,60,4\n"
        f"3,{night}01:00:00,{night}01:10:00,{night}02:30:00,,4\n"
        f"4,{night}02:30:00,{night}03:10:00,{night}03:30:00,1200,4\n"
    )
    log = read(tmp_path, LOCAL, rows, timezone="Europe/Berlin")
    assert column(log, "job") in (["1", "2"], ["1.0", "2.0"])
    assert column(log, "wait") == [5400, None]
    assert (log.report["gap_time"], log.report["skipped_time"]) == (2, 2)


@FEW
@given(
    change=st.sampled_from(
        [datetime(2024, 10, 27, 1, tzinfo=UTC), datetime(2024, 3, 31, 1, tzinfo=UTC)]
    ),
    moments=st.lists(st.tuples(*[st.integers(0, 7200)] * 3), min_size=1, max_size=12),
    sized=st.booleans(),
)
@ALL
def test_unambiguous_times_are_correct(
    tmp_path: Path,
    read: Read,
    change: datetime,
    moments: list[tuple[int, int, int]],
    sized: bool,
) -> None:
    """Jobs in the hours around a change of clocks, written in local time and read again."""
    begin = int((change - timedelta(hours=2)).timestamp())
    jobs, rows = {}, ""
    for n, (submit, wait, size) in enumerate(moments):
        at = begin + submit
        jobs[n] = (at, wait, size + 1)
        known = size + 1 if sized else ""
        rows += f"{n},{local(at)},{local(at + wait)},{local(at + wait + size + 1)},{known},4\n"
    log = read(tmp_path, LOCAL, rows, timezone="Europe/Berlin")
    assert len(log) == len(jobs)
    assert log.origin is not None
    found = {
        int(float(job)): (log.origin + submit, wait, size)
        for job, submit, wait, size in log.jobs.select("job", "submit", "wait", "size").rows()
    }
    wrong = [n for n, right in jobs.items() if found[n] != right]
    assert len(wrong) <= log.report["ambiguous_time"]
