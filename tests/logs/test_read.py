"""Reading in general: compression, selections, strictness, the report, and what is refused."""

from __future__ import annotations

import gzip
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

import quickswap as qs
from logs_helpers import column, consistent, counted, quirks, written
from quickswap import logs

HEAD = "; MaxProcs: 8\n; UnixStartTime: 946684800\n; TimeZoneString: Europe/Berlin\n"


def row(job: int, submit: float, need: int = 2, size: float = 10, partition: int = 1) -> str:
    return f"{job} {submit} 1 {size} {need} -1 -1 {need} 99 -1 1 7 3 -1 2 {partition} -1 -1\n"


TEXT = HEAD + row(1, 10) + row(2, 20, 1, 5) + row(3, 50, 8, 70, 2) + row(4, 90, 4, 20)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return written(tmp_path, TEXT)


def test_compressed_logs_are_known_by_their_content(tmp_path: Path, small: Path) -> None:
    plain = logs.read(small)
    halves = TEXT[:90].encode(), TEXT[90:].encode()
    packed = {
        "gz": gzip.compress(TEXT.encode()),
        "two gz": b"".join(map(gzip.compress, halves)) + b"\0" * 20,
        "zst": zstandard.compress(TEXT.encode()),
        "two zst": b"".join(map(zstandard.compress, halves)),
    }
    for name, data in packed.items():
        log = logs.read(written(tmp_path, data, name))
        assert log.jobs.equals(plain.jobs)
        assert log.report.findings == plain.report.findings
        with pytest.raises(logs.LogError, match="is cut off: the compressed file ends after"):
            logs.read(written(tmp_path, data.rstrip(b"\0")[:-5], "cut"))


SELECTIONS: list[tuple[dict[str, Any], list[str], str | None]] = [
    ({}, ["1", "2", "3", "4"], None),
    ({"partition": "2", "servers": 8}, ["3"], "other_partition"),
    ({"partition": [1, "2"]}, ["1", "2", "3", "4"], None),
    ({"start": 10.0}, ["2", "3", "4"], "outside_window"),
    ({"end": 40}, ["1", "2"], "outside_window"),
    ({"start": 10, "end": 41}, ["2", "3"], "outside_window"),
    ({"start": "2000-01-01T01:00:20"}, ["2", "3", "4"], "outside_window"),
    ({"start": "2000-01-01T00:00:20", "timezone": "UTC"}, ["2", "3", "4"], "outside_window"),
    ({"start": "2000-01-01T00:00:20Z"}, ["2", "3", "4"], "outside_window"),
    ({"end": datetime(2000, 1, 1, 0, 0, 50, tzinfo=UTC)}, ["1", "2"], "outside_window"),
    ({"end": "2000-01-02"}, ["1", "2", "3", "4"], None),
    ({"smallest_need": 2}, ["1", "3", "4"], "need_cap"),
    ({"largest_need": 4}, ["1", "2", "4"], "need_cap"),
    ({"smallest_size": 10}, ["1", "3", "4"], "size_cap"),
    ({"largest_size": 20}, ["1", "2", "4"], "size_cap"),
    ({"servers": 4}, ["1", "2", "4"], "above_servers"),
]


@pytest.mark.parametrize(
    ("options", "jobs", "rule"), SELECTIONS, ids=[str(r[0]) for r in SELECTIONS]
)
def test_selections(
    small: Path, options: dict[str, Any], jobs: list[str], rule: str | None
) -> None:
    log = logs.read(small, **options)
    consistent(log)
    assert column(log, "job") == jobs
    assert counted(log) == ({} if rule is None else {rule: 4 - len(jobs)})
    assert log.origin == 946_684_800 + {"1": 10, "2": 20, "3": 50}[jobs[0]]


def test_scaled_load(small: Path) -> None:
    plain, scaled = logs.read(small), logs.read(small, scale_load=1.25)
    assert scaled.load == pytest.approx(1.25 * plain.load)
    assert column(scaled, "submit") == [each / 1.25 for each in column(plain, "submit")]
    assert column(scaled, "size") == column(plain, "size")
    assert scaled.origin == plain.origin


def test_what_the_caller_leaves_out_is_not_refused_by_strict(small: Path) -> None:
    assert len(logs.read(small, strict=True, partition="1", servers=4, largest_need=2)) == 2


def test_strict_names_file_line_and_field(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT + row(5, 95, size=-1) + row(6, 92, size=0))
    with pytest.raises(logs.LogError) as caught:
        logs.read(path, strict=True)
    assert str(caught.value) == (
        f"{path}, line 8, size: no run time, so that the row would be dropped; correct the file, "
        f"or read it without strict."
    )
    with pytest.raises(logs.LogError, match=r"line 8, size: ran for 0 s.* would be repaired"):
        logs.read(written(tmp_path, TEXT + row(6, 92, size=0)), strict=True)


def test_the_report_as_text_and_as_a_dict(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT + "".join(row(n, n, size=-1) for n in range(100, 107)))
    report = logs.read(path).report
    assert str(report).splitlines() == [
        f"{path}: 11 rows, 4 jobs kept (0 of them repaired), 7 rows dropped",
        "        7 dropped: no run time (lines 8, 9, 10, 11, 12, ...)",
        "States: completed 11.",
        "2 partitions are read as one machine (1, 2); give partition= to read one.",
        "More than the 8 servers of the machine were in use at once during 15.9 % of the time, "
        "up to 12.",
    ]
    assert report["unknown_size"] == 7
    assert report["step"] == 0
    with pytest.raises(KeyError):
        report["steps"]
    assert logs.QualityReport.from_dict(report.to_dict()) == report


FIELDS = "JobID|Submit|ElapsedRaw|NCPUS\n"
JOB = "7|2024-03-01T00:00:00|60|2\n"

REFUSED: list[tuple[str | bytes | None, dict[str, Any], str]] = [
    # The file
    (None, {}, "small.log cannot be read (No such file or directory): give the file"),
    ("", {}, "small.log is empty"),
    (" \n\n", {}, "small.log is empty"),
    (gzip.compress(b"", mtime=0), {}, "small.log is empty"),
    (bytes(range(256)), {}, "small.log is binary"),
    (b"\x1f\x8b" + bytes(50), {}, "small.log is damaged"),
    (b"\x28\xb5\x2f\xfd" + bytes(range(50)), {}, "small.log is damaged"),
    ("Dear all,\nthe log is\n".encode("utf-16"), {}, "small.log, line 1 is UTF-16 text"),
    ("Dear all\n", {}, "small.log, line 1 is no known format ('Dear all')"),
    # The format
    (TEXT, {"format": "slurm"}, "unknown format: 'slurm'"),
    (
        TEXT,
        {"format": "sacct"},
        "small.log cannot be read as sacct, and looks like swf: give format",
    ),
    (TEXT, {"format": "csv"}, "small.log cannot be read as csv, and looks like swf: give"),
    (TEXT, {"format": "parquet"}, "small.log cannot be read as parquet, and looks like swf"),
    (
        FIELDS + JOB,
        {"format": "swf"},
        "small.log cannot be read as swf, and looks like sacct: give format",
    ),
    # What a log must say
    (HEAD, {}, "small.log has no jobs: it has no rows"),
    (FIELDS, {"servers": 8}, "small.log has a header, but no jobs"),
    ("submit,need,size\n", {"servers": 8}, "small.log has a header, but no jobs"),
    (
        "submit,need\n1,2\n",
        {},
        "small.log, line 1 has no column 'size', nor 'start' and 'end': it has",
    ),
    (
        "JobID|Submit|End\n" + JOB,
        {},
        "small.log, line 1: no field for the need in cpus; add one of",
    ),
    (FIELDS + JOB, {"unit": "gpu"}, "small.log, line 1: no field for the need in gpus"),
    (JOB, {}, "small.log, line 1 has 4 fields and no header: give the sacct_format"),
    (
        JOB,
        {"sacct_format": "JobID,Submit,Start,ElapsedRaw,NCPUS"},
        "small.log, line 1 has 4 fields, but sacct_format names 5",
    ),
    (row(1, 0), {}, "small.log does not say how many servers there are: give servers="),
    (TEXT[len(HEAD) :], {}, "small.log does not say how many servers there are"),
    (
        FIELDS + JOB,
        {},
        "small.log does not say how many servers there are: give servers= (the largest",
    ),
    (
        HEAD + row(1, 0, size=-1),
        {},
        "small.log has no jobs: none of its rows is left: 1 no run time",
    ),
    (HEAD + row(1, 0, 9), {}, "small.log has no jobs: none of its rows is left: 1 needs more"),
    (
        'submit,need,size\n1,2,"3\n' + "x" * 140_000,
        {},
        "small.log, line 2: a quote is never closed",
    ),
    # The options
    (TEXT, {"timezone": "Mars/Base"}, "unknown time zone: 'Mars/Base'"),
    (TEXT, {"timezone": "../etc"}, "unknown time zone: '../etc'"),
    (TEXT, {"unit": "core"}, "unknown unit: 'core'"),
    (TEXT, {"unit": "gpu"}, "small.log is SWF, which tells no GPUs"),
    (TEXT, {"columns": {"size": "run"}}, "columns is for tables, but"),
    (TEXT, {"sacct_format": "JobID"}, "sacct_format is for sacct, but"),
    (TEXT, {"servers": 0}, "servers must be a whole number of at least 1, not 0"),
    (TEXT, {"scale_load": 0}, "scale_load must be a positive finite number, not 0"),
    (TEXT, {"largest_need": 1.5}, "largest_need must be a whole number"),
    (TEXT, {"smallest_size": -1}, "smallest_size must be a positive finite number"),
    (TEXT, {"partition": "gpu"}, "small.log: unknown partition: 'gpu'; known: 1, 2."),
    (
        TEXT,
        {"start": 1000},
        "small.log has no job submitted from 1000: its jobs are",
    ),
    (
        TEXT,
        {"end": "1999-01-01"},
        "small.log has no job submitted before 1999-01-01: its jobs are",
    ),
    (TEXT, {"start": "soon"}, "start is 'soon': give a date such as 2016-12-24"),
    (TEXT, {"start": True}, "start must be a date or a finite number of seconds"),
    (TEXT, {"start": float("inf")}, "start must be a date or a finite number"),
    (TEXT, {"end": float("nan")}, "end must be a date or a finite number"),
    (TEXT, {"strict": 5}, "strict is 5; it must be True or False."),
    (
        "; MaxProcs: 8\n" + row(1, 0),
        {"end": "1999-01-01"},
        "end is a date, but the log does not say",
    ),
    ("submit,need,size\n1,2,3\n", {"columns": {"length": "size"}}, "columns has 'length'"),
    (
        "submit,need,size\n1,2,3\n",
        {"columns": {"size": "x"}},
        "small.log, line 1 has no column 'x'",
    ),
]


@pytest.mark.parametrize(("text", "options", "sentence"), REFUSED)
def test_refused(
    tmp_path: Path, text: str | bytes | None, options: dict[str, Any], sentence: str
) -> None:
    path = tmp_path / "small.log" if text is None else written(tmp_path, text)
    with pytest.raises(qs.QuickswapError) as caught:
        logs.read(path, **options)
    said = str(caught.value).replace(f"{tmp_path}/", "")
    assert said.startswith(sentence)
    assert said.endswith(".")
    assert "\n" not in said


@pytest.mark.parametrize("columns", [5, "size=runtime", ["size"], {"size": 5}, {5: "size"}])
def test_columns_that_are_none(tmp_path: Path, columns: Any) -> None:
    with pytest.raises(logs.LogError, match=r"^columns is .*; give the table's names"):
        logs.read(written(tmp_path, "submit;need;size\n1;2;3\n"), servers=4, columns=columns)


def test_other_arguments_of_a_wrong_kind(tmp_path: Path) -> None:
    wrong: dict[str, Any] = {"sacct_format": 5, "timezone": 5, "format": 5, "unit": 5, "start": []}
    for name, value in wrong.items():
        with pytest.raises(logs.LogError):
            logs.read(written(tmp_path, TEXT), **{name: value})
    with pytest.raises(logs.LogError, match="leave out partition="):
        logs.read(written(tmp_path, "submit,need,size\n1,2,3\n"), servers=4, partition="x")
    with pytest.raises(logs.LogError, match="no such file"):
        logs.JobLog.read_parquet(tmp_path / "missing")


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_pipes_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "-"):
        with pytest.raises(logs.LogError, match=r"^a log is not read from .*write it to a file"):
            logs.read(path)


def test_more_servers_in_use_than_there_are(tmp_path: Path) -> None:
    text = "submit,need,size,wait\n" + "0,2,100,0\n" * 5
    [fact] = logs.read(written(tmp_path, text), servers=4).report.facts
    assert all(part in fact for part in ("than the 4 servers", "100 % of the time", "up to 10"))
    assert logs.read(written(tmp_path, text), servers=10).report.facts == ()


def test_the_share_of_the_time_with_more_servers_in_use(tmp_path: Path) -> None:
    """Three of four jobs overlap for a tenth of the time, less the rounding of the times."""
    text = "submit,need,size,wait\n0,3,1100,0\n1000,3,1000,0\n1990,1,10,0\n"
    [fact] = logs.read(written(tmp_path, text), servers=5).report.facts
    assert "4.86 % of the time, up to 6" in fact  # 97 s of 1997 s: each of three times is rounded


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("1 0 0 3600 60\n2 10 3590 0 80\n3 20 3580 3600 80\n", "a size of 0 s, made 1 s"),
        ("1 0 0 3600 60\n2 10 3589 3600 80\n", "times to the second"),
        (
            "".join(f"{n} {60 * n} 0 60 1\n" for n in range(1, 20))
            + "50 6000 60 3600 60\n51 9000 540 3600 80\n",
            "times to the minute",
        ),
        ("1 0 0 3600 60\n2 10 0 3600 -1\n", "a need that was only requested"),
    ],
)
def test_repairs_and_rounding_are_no_evidence(tmp_path: Path, rows: str, why: str) -> None:
    lines = (f"{line} -1 -1 80 -1 -1 1 1 1 1 1 1 -1 -1\n" for line in rows.splitlines())
    log = logs.read(written(tmp_path, "; MaxProcs: 100\n" + "".join(lines)))
    assert not any("in use at once" in fact for fact in log.report.facts), why


PARTS = "".join(
    [
        *(row(job, 100 * job, 2, 90, partition=2) for job in (1, 2, 3)),
        row(4, 50, 60, partition=1),
    ]
)


def test_a_partition_does_not_have_the_servers_of_the_whole_machine(tmp_path: Path) -> None:
    path = written(tmp_path, "; MaxProcs: 100\n" + PARTS)
    assert logs.read(path).servers == 100
    assert logs.read(path, partition=["1", "2"]).servers == 100
    with pytest.raises(logs.LogError, match=r"partition 2 has .100 of the whole.*up to 2 were in"):
        logs.read(path, partition="2")
    assert logs.read(path, partition="2", servers=3).servers == 3
    large = logs.read(path, partition="2", servers=100).report.facts
    assert any("At most 2 of the 100 servers" in fact for fact in large)


def test_a_partition_of_a_parquet_file_of_a_log(tmp_path: Path) -> None:
    logs.read(written(tmp_path, "; MaxProcs: 100\n" + PARTS)).write_parquet(tmp_path / "log")
    with pytest.raises(logs.LogError, match="partition 2 has"):
        logs.read(tmp_path / "log", partition="2")


@pytest.mark.parametrize(
    ("header", "options", "servers"),
    [
        ("; Partition: 1 front, 60 processors\n; Partition: 2 batch, 1,152 CPUs\n", {}, 1152),
        ("; Partitions: 1: 60 cores\n;    2: 40 cores, fast\n", {}, 40),
        ("; Partition: 2 batch, 8 nodes with 4 processors\n", {"unit": "node"}, 8),
        ("; Partition: 2 batch, 8 nodes with 4 processors each\n", {}, None),
        ("; Partition: 2 batch, 8 cpus or 16 cpus\n", {}, None),
        ("; Partition: 1 front, 60 processors\n", {}, None),
        ("; MaxPartitions: 2\n", {}, None),
    ],
)
def test_the_header_gives_the_size_of_a_partition(
    tmp_path: Path, header: str, options: dict[str, Any], servers: int | None
) -> None:
    path = written(tmp_path, f"; MaxProcs: 100\n{header}" + PARTS)
    if servers is None:
        with pytest.raises(logs.LogError, match="give servers="):
            logs.read(path, partition="2", **options)
    else:
        log = logs.read(path, partition="2", **options)
        assert log.servers == servers
        assert any(f"2: {servers:,}" in fact for fact in log.report.facts)


def test_work_left_out_by_need_or_size_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "submit,need,size\n0,1,10\n1,3,10\n2,1,60\n")
    facts = logs.read(path, servers=4, largest_need=2, largest_size=50).report.facts
    assert any(fact.startswith("90 % of the work is left out") for fact in facts)


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(logs.LogError, match=r"cannot be read \(Is a directory\)"):
        logs.read(tmp_path)


def test_an_error_names_the_first_line(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + row(1, 0, 9) + row(2, 0, 9) + row(3, 0, size=-1))
    with pytest.raises(
        logs.LogError, match=re.escape("2 needs more servers than there are (first: line 4); 1 no")
    ):
        logs.read(path)


def test_every_rule_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| (.+) \|$", guide, re.M)
    text = {rule.name: rule.text.replace("|", "\\|") for rule in logs.RULES.values()}
    assert told == [(r.name, r.kind, r.field, text[r.name]) for r in logs.RULES.values()]


def test_columns_have_their_types(small: Path) -> None:
    schema = logs.read(small).jobs.schema
    assert schema["submit"] == schema["size"] == pl.Float64
    assert schema["need"] == schema["line"] == pl.Int64
    assert schema["user"] == pl.Categorical
    assert quirks(logs.read(small)) == {}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"path": 5}, "the name of a file must be text or a Path, not 5"),
        ({"path": "a\0b"}, "it contains a zero byte"),
        ({"partition": 5}, "partition is 5; give a name, or a list of names"),
        ({"scale_load": 1e200}, "scale_load must be from 0.001 to 1000"),
    ],
)
def test_values_of_a_wrong_kind(small: Path, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(qs.QuickswapError, match=re.escape(words)):
        logs.read(**({"path": small} | wrong))


def test_what_is_no_log_and_no_system_is_neither_fitted_nor_compared(small: Path) -> None:
    log = logs.read(small)
    system = logs.fit(log)
    fit: Any = logs.fit
    goodness: Any = logs.goodness
    calls: list[tuple[Any, str]] = [
        (lambda: fit("log"), "a log is what quickswap.logs.read returns, not 'log'"),
        (lambda: fit(log, 5), "classes is 5; give load, need, groups"),
        (lambda: fit(log, [1, 2]), "classes is [1, 2]; give load, need, groups"),
        (lambda: goodness(None, system), "a log is what quickswap.logs.read returns"),
        (lambda: goodness(log, None), "a log is compared with a System, not None"),
        (lambda: goodness(log, system, 5), "classes is 5; give load, need, groups"),
    ]
    for call, words in calls:
        with pytest.raises(logs.LogError, match=re.escape(words)):
            call()
