"""Reading in general: compression, selections, strictness, the report, and mistakes."""

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


def test_compression_is_detected_from_the_content(tmp_path: Path, small: Path) -> None:
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
        with pytest.raises(logs.LogError, match="is truncated"):
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


def test_strict_accepts_jobs_outside_the_selection(small: Path) -> None:
    assert len(logs.read(small, strict=True, partition="1", servers=4, largest_need=2)) == 2


def test_strict_names_file_line_and_field(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT + row(5, 95, size=-1) + row(6, 92, size=0))
    with pytest.raises(logs.LogError) as caught:
        logs.read(path, strict=True)
    for part in (f"{path}, line 8, size:", "would be dropped", "omit strict="):
        assert part in str(caught.value)
    with pytest.raises(logs.LogError, match=r"line 8, size: .* would be repaired"):
        logs.read(written(tmp_path, TEXT + row(6, 92, size=0)), strict=True)


def test_the_report_as_text_and_as_a_dict(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT + "".join(row(n, n, size=-1) for n in range(100, 107)))
    report = logs.read(path).report
    head, finding, states, *facts = str(report).splitlines()
    assert head == f"{path}: 11 rows, 4 jobs kept (0 of them repaired), 7 rows dropped"
    assert finding.endswith("(lines 8, 9, 10, 11, 12, ...)")
    assert states == "States: completed 11."
    assert tuple(facts) == report.facts
    assert "15.9 % of the time, up to 12" in facts[1]
    assert report["unknown_size"] == 7
    assert report["step"] == 0
    with pytest.raises(KeyError):
        report["steps"]
    assert logs.QualityReport.from_dict(report.to_dict()) == report


FIELDS = "JobID|Submit|ElapsedRaw|NCPUS\n"
JOB = "7|2024-03-01T00:00:00|60|2\n"

FILES: list[tuple[str | bytes | None, dict[str, Any], str]] = [
    (None, {}, "small.log cannot be read"),
    ("", {}, "small.log is empty"),
    (" \n\n", {}, "small.log is empty"),
    (gzip.compress(b"", mtime=0), {}, "small.log is empty"),
    (bytes(range(256)), {}, "small.log is binary"),
    (b"\x1f\x8b" + bytes(50), {}, "small.log is damaged"),
    (b"\x28\xb5\x2f\xfd" + bytes(range(50)), {}, "small.log is damaged"),
    ("Dear all,\nthe log is\n".encode("utf-16"), {}, "UTF-16"),
    ("Dear all\n", {}, "line 1 is not in a known format ('Dear all')"),
    ("11/09/2017 00:00:20;Q;5.server;queue=batch\n", {}, "an accounting log of PBS"),
    ("0,4,60\n7,2,30\n", {}, "line 1 does not contain names of columns, but '0', '4', '60'"),
    (HEAD, {}, "no rows"),
    (FIELDS, {"servers": 8}, "small.log has a header, but no jobs"),
    ("submit,need,size\n", {"servers": 8}, "small.log has a header, but no jobs"),
    ("JobID|Submit|End\n" + JOB, {}, "the need in cpus"),
    (FIELDS + JOB, {"unit": "gpu"}, "the need in gpus"),
    (HEAD + row(1, 0, size=-1), {}, "1 without a run time"),
    (HEAD + row(1, 0, 9), {}, "1 needs more servers"),
    ('submit,need,size\n1,2,"3\n' + "x" * 140_000, {}, "line 2: a quote is not closed"),
    (TEXT, {"start": 1000}, "submitted from 1000"),
    (TEXT, {"end": "1999-01-01"}, "submitted before 1999-01-01"),
]


@pytest.mark.parametrize(("text", "options", "words"), FILES)
def test_mistakes_in_files(
    tmp_path: Path, text: str | bytes | None, options: dict[str, Any], words: str
) -> None:
    path = tmp_path / "small.log" if text is None else written(tmp_path, text)
    with pytest.raises(qs.QuickswapError) as caught:
        logs.read(path, **options)
    message = str(caught.value)
    assert words in message
    assert message.endswith(".")
    assert "\n" not in message


TABLE = "submit,need,size\n1,2,3\n"
SACCT = {"sacct_format": "JobID,Submit,Start,ElapsedRaw,NCPUS"}
OPTIONS: list[tuple[str, dict[str, Any], str, object]] = [
    (TEXT, {"format": "slurm"}, "format", "slurm"),
    (TEXT, {"format": "sacct"}, "format", "sacct"),
    (TEXT, {"format": "csv"}, "format", "csv"),
    (TEXT, {"format": "parquet"}, "format", "parquet"),
    (TEXT, {"format": 5}, "format", 5),
    (FIELDS + JOB, {"format": "swf"}, "format", "swf"),
    (JOB, {}, "sacct_format", None),
    (JOB, SACCT, "sacct_format", SACCT["sacct_format"]),
    (row(1, 0), {}, "servers", None),
    (FIELDS + JOB, {}, "servers", None),
    (TEXT, {"timezone": "Mars/Base"}, "timezone", "Mars/Base"),
    (TEXT, {"timezone": "../etc"}, "timezone", "../etc"),
    (TEXT, {"timezone": 5}, "timezone", 5),
    (TEXT, {"unit": "core"}, "unit", "core"),
    (TEXT, {"unit": 5}, "unit", 5),
    (TEXT, {"unit": "gpu"}, "unit", "gpu"),
    (TEXT, {"columns": {"size": "run"}}, "columns", {"size": "run"}),
    (TEXT, {"sacct_format": "JobID"}, "sacct_format", "JobID"),
    (TEXT, {"sacct_format": 5}, "sacct_format", 5),
    (TEXT, {"servers": 0}, "servers", 0),
    (TEXT, {"scale_load": 0}, "scale_load", 0),
    (TEXT, {"scale_load": 1e200}, "scale_load", 1e200),
    (TEXT, {"largest_need": 1.5}, "largest_need", 1.5),
    (TEXT, {"smallest_size": -1}, "smallest_size", -1),
    (TEXT, {"partition": "gpu"}, "partition", "gpu"),
    (TEXT, {"partition": 5}, "partition", 5),
    (TABLE, {"servers": 4, "partition": "x"}, "partition", "x"),
    (TEXT, {"start": "soon"}, "start", "soon"),
    (TEXT, {"start": True}, "start", True),
    (TEXT, {"start": []}, "start", []),
    (TEXT, {"start": float("inf")}, "start", float("inf")),
    ("; MaxProcs: 8\n" + row(1, 0), {"end": "1999-01-01"}, "end", "1999-01-01"),
    (TEXT, {"strict": 5}, "strict", 5),
    ("submit,need\n1,2\n", {}, "columns", None),
    (TABLE, {"columns": {"length": "size"}}, "columns", "length"),
    (TABLE, {"columns": {"size": "x"}}, "columns", "x"),
    *(
        (TABLE, {"columns": each}, "columns", each)
        for each in (5, "size=runtime", ["size"], {"size": 5}, {5: "size"})
    ),
]


@pytest.mark.parametrize(("text", "options", "argument", "given"), OPTIONS)
def test_mistakes_in_options(
    tmp_path: Path, text: str, options: dict[str, Any], argument: str, given: object
) -> None:
    with pytest.raises(logs.LogError) as caught:
        logs.read(written(tmp_path, text), **options)
    error = caught.value
    assert (error.argument, error.given) == (argument, given)
    assert error.allowed or error.advice
    message, called = str(error), error.calling("--{}".format)
    assert message.endswith(".")
    assert "\n" not in message
    assert f"{argument}=" not in called
    assert f"--{argument}" in called or argument not in message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(logs.LogError, match="no such file"):
        logs.JobLog.read_parquet(tmp_path / "missing")


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_pipes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "-"):
        with pytest.raises(logs.LogError, match="write it to a file"):
            logs.read(path)


def test_more_servers_in_use_than_there_are(tmp_path: Path) -> None:
    text = "submit,need,size,wait\n" + "0,2,100,0\n" * 5
    [fact] = logs.read(written(tmp_path, text), servers=4).report.facts
    assert all(part in fact for part in ("than the 4 ", "100 % of the time", "up to 10"))
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
def test_repaired_and_rounded_rows_do_not_exceed_the_servers(
    tmp_path: Path, rows: str, why: str
) -> None:
    lines = (f"{line} -1 -1 80 -1 -1 1 1 1 1 1 1 -1 -1\n" for line in rows.splitlines())
    log = logs.read(written(tmp_path, "; MaxProcs: 100\n" + "".join(lines)))
    assert not any("were in use" in fact for fact in log.report.facts), why


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
    with pytest.raises(logs.LogError, match=r"of partition 2 .*has 100.* up to 2 "):
        logs.read(path, partition="2")
    assert logs.read(path, partition="2", servers=3).servers == 3
    large = logs.read(path, partition="2", servers=100).report.facts
    assert any("2 of the 100 servers" in fact for fact in large)


def test_a_partition_of_a_parquet_file_of_a_log(tmp_path: Path) -> None:
    logs.read(written(tmp_path, "; MaxProcs: 100\n" + PARTS)).write_parquet(tmp_path / "log")
    with pytest.raises(logs.LogError, match="of partition 2"):
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


def test_work_left_out_by_need_or_size_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, "submit,need,size\n0,1,10\n1,3,10\n2,1,60\n")
    facts = logs.read(path, servers=4, largest_need=2, largest_size=50).report.facts
    assert any(fact.startswith("90 % of the work is left out") for fact in facts)


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(logs.LogError, match=r"cannot be read \(Is a directory\)"):
        logs.read(tmp_path)


def test_an_error_names_the_first_line(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + row(1, 0, 9) + row(2, 0, 9) + row(3, 0, size=-1))
    with pytest.raises(
        logs.LogError, match=r"2 needs more servers .*\(first: line 4\); 1 without a run time"
    ):
        logs.read(path)


def test_every_rule_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| (.+) \|$", guide, re.M)
    text = {rule.name: rule.text.replace("|", "\\|") for rule in logs.RULES.values()}
    assert rows == [(r.name, r.kind, r.field, text[r.name]) for r in logs.RULES.values()]


def test_columns_have_their_types(small: Path) -> None:
    schema = logs.read(small).jobs.schema
    assert schema["submit"] == schema["size"] == pl.Float64
    assert schema["need"] == schema["line"] == pl.Int64
    assert schema["user"] == pl.Categorical
    assert quirks(logs.read(small)) == {}


@pytest.mark.parametrize("path", [5, "a\0b"])
def test_invalid_paths(path: Any) -> None:
    with pytest.raises(qs.QuickswapError):
        logs.read(path)


def test_arguments_of_fit_and_goodness_have_the_right_type(small: Path) -> None:
    log = logs.read(small)
    system = logs.fit(log)
    fit: Any = logs.fit
    goodness: Any = logs.goodness
    calls: list[tuple[Any, str]] = [
        (lambda: fit("log"), "log is 'log'"),
        (lambda: fit(log, 5), "classes is 5"),
        (lambda: fit(log, [1, 2]), "classes is [1, 2]"),
        (lambda: goodness(None, system), "log is None"),
        (lambda: goodness(log, None), "system is None"),
        (lambda: goodness(log, system, 5), "classes is 5"),
    ]
    for call, words in calls:
        with pytest.raises(logs.LogError, match=re.escape(words)):
            call()


def test_a_log_that_begins_with_few_jobs(tmp_path: Path) -> None:
    """A dump of a week contains a job that ran then, but was submitted a month before."""
    usual = [f"{i * 600},1,60" for i in range(1000)]
    early = ["0,1,2600000", *(f"{2_592_000 + i * 600},1,60" for i in range(999))]
    begins = "The first 1 % of the jobs"
    for rows, noted in ((usual, False), (early, True), (early[:100], False)):
        path = written(tmp_path, "submit,need,size\n" + "\n".join(rows))
        facts = logs.read(path, servers=8).report.facts
        assert any(each.startswith(begins) for each in facts) == noted
    path = written(tmp_path, "submit,need,size\n" + "\n".join(early))
    fact = logs.read(path, servers=8).report.facts[-1]
    start = re.findall(r"a start at (\S+) leaves", fact)[0]
    assert logs.read(path, servers=8, start=float(start)).jobs["size"].max() == 60
