"""The forms of sacct's output: whole dumps, delimiters, fields of fixed width, and JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from logs_helpers import column, consistent, counted, quirks, written
from quickswap import logs

DAY = "2024-03-01T"

WHOLE = {
    "Account": "physics",
    "AdminComment": "",
    "AllocCPUS": "4",
    "AllocNodes": "1",
    "AllocTRES": "billing=4,cpu=4,mem=8G,node=1",
    "AssocID": "17",
    "AveCPU": "",
    "Cluster": "c",
    "Comment": "",
    "CPUTime": "04:00:00",
    "CPUTimeRAW": "14400",
    "DerivedExitCode": "0:0",
    "Elapsed": "01:00:00",
    "ElapsedRaw": "3600",
    "Eligible": DAY + "08:00:00",
    "End": DAY + "09:00:10",
    "ExitCode": "0:0",
    "Extra": "",
    "GID": "100",
    "Group": "users",
    "JobID": "1",
    "JobIDRaw": "1",
    "JobName": "mesh",
    "NCPUS": "4",
    "NNodes": "1",
    "NodeList": "n1",
    "Partition": "batch",
    "Priority": "4294901",
    "QOS": "normal",
    "ReqCPUS": "4",
    "ReqTRES": "billing=4,cpu=4,mem=8G,node=1",
    "Start": DAY + "08:00:10",
    "State": "COMPLETED",
    "Submit": DAY + "08:00:00",
    "SubmitLine": "sbatch job.sh",
    "Suspended": "00:00:00",
    "SystemCPU": "00:01.500",
    "SystemComment": "",
    "Timelimit": "02:00:00",
    "TimelimitRaw": "120",
    "UID": "1000",
    "User": "ada",
    "WorkDir": "/home/ada",
}
"""A record of a dump of all fields: they come in the order of the alphabet."""
TEXTS = ("AdminComment", "Comment", "Extra", "JobName", "SubmitLine", "SystemComment", "WorkDir")


def dump(rows: list[dict[str, str]], delimiter: str = "|", end: str = "") -> str:
    lines = [WHOLE, *(WHOLE | row for row in rows)]
    text = delimiter.join(WHOLE) + end + "\n"
    return text + "".join(delimiter.join(line.values()) + end + "\n" for line in lines[1:])


def same(log: logs.JobLog, jobs: list[str]) -> None:
    """All jobs are there, and all that is read of them is right."""
    consistent(log)
    assert column(log, "job") == jobs
    for name, value in (
        *(("need", 4), ("size", 3600), ("estimate", 7200), ("wait", 10), ("user", "ada")),
        *(("group", "physics"), ("queue", "normal"), ("partition", "batch")),
        ("state", "completed"),
    ):
        assert column(log, name) == [value] * len(jobs)


@pytest.mark.parametrize("field", TEXTS)
@pytest.mark.parametrize("text", ["a|b", "|", "||", "awk '{print $1|\"sort\"}' | x", "1|x|3:00"])
@pytest.mark.parametrize("end", ["", "|"])
def test_whole_dumps(tmp_path: Path, field: str, text: str, end: str) -> None:
    rows = [{"JobID": "1", field: text}, {"JobID": "2"}]
    log = logs.read(written(tmp_path, dump(rows, end=end)), servers=8)
    same(log, ["1", "2"])
    assert quirks(log)["free_text"] == (1, (2,))


@pytest.mark.parametrize("end", ["", "|"])
def test_texts_with_many_bars_and_line_ends(tmp_path: Path, end: str) -> None:
    """Each record is read right, or reported."""
    draw = random.Random(3)
    pieces = ["a", "b c", "|", " | ", "x|y", "\n", "2", "cpu=4"]
    rows = []
    for job in range(1, 301):
        texts = {name: "".join(draw.choices(pieces, k=draw.randrange(4))) for name in TEXTS[1:]}
        rows.append({"JobID": str(job), **texts})
    log = logs.read(written(tmp_path, dump(rows, end=end)), servers=8)
    same(log, column(log, "job"))
    lost = {row["JobID"] for row in rows} - set(column(log, "job"))
    assert len(log) + len(lost) == 300
    assert len(lost) <= min(9, log.report.dropped)
    with pytest.raises(logs.LogError, match="would be repaired"):
        logs.read(written(tmp_path, dump(rows, end=end)), servers=8, strict=True)


def test_a_record_that_cannot_be_assigned_is_dropped_alone(tmp_path: Path) -> None:
    """A `|` in the name of a user shifts an unknown number of the fields after it."""
    header = "JobID|User|JobName|Submit|ElapsedRaw|NCPUS|State\n"
    end = f"|{DAY}00:00:00|60|2|COMPLETED\n"
    text = header + f"1|ada|a{end}2|a|da|b{end}3|ada|c{end}4|ada|d|e{end}5|ada|x{end}"
    log = logs.read(written(tmp_path, text), servers=8)
    assert column(log, "job")[0] == "1"
    assert set(column(log, "job")) >= {"1", "3", "4", "5"}
    header = "JobID|Priority|Account|Submit|ElapsedRaw|NCPUS|State\n"
    text = header + f"1|5|ph{end}2|5|ph|ys{end}3|5|ph{end}"
    log = logs.read(written(tmp_path, text), servers=8)
    assert column(log, "job") == ["1", "3"]
    assert quirks(log)["fields"] == (1, (3,))


def test_an_ambiguous_number_is_not_guessed(tmp_path: Path) -> None:
    """A number in the text beside a number that is read: either could be meant."""
    header = "JobID|Submit|ElapsedRaw|JobName|NCPUS|Comment|State\n"
    text = header + f"1|{DAY}00:00:00|60|a|2|4|b|COMPLETED\n2|{DAY}00:00:00|60|a|2|b|COMPLETED\n"
    log = logs.read(written(tmp_path, text), servers=8)
    assert column(log, "job") == ["2"]
    assert quirks(log)["fields"] == (1, (2,))


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "^", "||", "~#~", "\x1f", "¦"])
@pytest.mark.parametrize("headed", [True, False])
def test_delimiters(tmp_path: Path, delimiter: str, headed: bool) -> None:
    rows = [{"JobID": "1"}, {"JobID": "2", "SubmitLine": f"a{delimiter}b"}]
    text = dump(rows, delimiter)
    options: dict[str, Any] = {}
    if not headed:
        text = text.partition("\n")[2]
        options = {"sacct_format": ",".join(WHOLE), "delimiter": delimiter}
    log = logs.read(written(tmp_path, text), servers=8, **options)
    same(log, ["1", "2"])
    assert counted(log)["free_text"] == 1


def test_commas_in_lists_of_resources_and_of_nodes(tmp_path: Path) -> None:
    rows = [
        {"JobID": "1_[1-3,7]", "NodeList": "n[1,3-4]"},
        {"JobID": "2", "AllocTRES": "", "ReqTRES": "cpu=4"},
    ]
    log = logs.read(written(tmp_path, dump(rows, ",")), servers=8, strict=True)
    same(log, ["1_[1-3,7]", "2"])


def test_quotes_of_a_spreadsheet(tmp_path: Path) -> None:
    names = ["JobID", "Submit", "ElapsedRaw", "AllocTRES", "State"]
    for header in (",".join(names), ",".join(f'"{name}"' for name in names)):
        text = header + f'\n"1",{DAY}08:00:00,60,"cpu=4,node=1",COMPLETED\n'
        log = logs.read(written(tmp_path, text), servers=8)
        assert column(log, "need") == [4]
        assert log.report.rows == 1


def test_a_table_with_names_of_sacct_stays_a_table(tmp_path: Path) -> None:
    text = "jobid,submit,start,end,need\n1,0,10,70,4\n"
    assert column(logs.read(written(tmp_path, text), servers=8), "size") == [60]
    text = "JobID,Submit,Elapsed,NCPUS\n1,0,70,4\n"
    names = {"submit": "Submit", "size": "Elapsed", "need": "NCPUS"}
    assert column(logs.read(written(tmp_path, text), servers=8, columns=names), "size") == [70]


def test_invalid_delimiters(tmp_path: Path) -> None:
    path = written(tmp_path, "submit,need,size\n0,1,1\n")
    with pytest.raises(logs.LogError, match=r"^delimiter is ''"):
        logs.read(path, servers=8, delimiter="")
    with pytest.raises(logs.LogError, match="delimiter is for"):
        logs.read(path, "csv", servers=8, delimiter=",")


def fixed(rows: Sequence[tuple[str, ...]], names: tuple[str, ...], widths: tuple[int, ...]) -> str:
    """Print a table as sacct does: the first field to the left, the others to the right."""

    def line(values: tuple[str, ...]) -> str:
        cells = []
        for index, (value, width) in enumerate(zip(values, widths, strict=True)):
            data = value.encode()
            text = data[: width - 1] + b"+" if len(data) > width else data
            cells.append(text.ljust(width) if index == 0 else text.rjust(width))
        return b" ".join(cells).decode("utf-8", "replace") + " "

    dashes = tuple("-" * width for width in widths)
    return "\n".join(map(line, [names, dashes, *rows])) + "\n"


NAMES = ("JobID", "JobName", "Submit", "ElapsedRaw", "AllocCPUS", "State", "Partition")
WIDTHS = (12, 10, 19, 10, 10, 10, 10)


def test_fixed_width(tmp_path: Path) -> None:
    rows = [
        ("1", "a|b c", DAY + "08:00:00", "3600", "4", "COMPLETED", "batch"),
        ("1.batch", "batch", DAY + "08:00:00", "3600", "4", "COMPLETED", ""),
        ("2", "a long name", DAY + "08:00:00", "0", "4", "CANCELLED by 1000", "batch"),
        ("3_7", "", DAY + "08:00:00", "60", "2", "OUT_OF_MEMORY", "a_long_partition"),
        ("4", "näme", DAY + "08:00:00", "60", "2", "COMPLETED", "batch"),
    ]
    log = logs.read(written(tmp_path, fixed(rows, NAMES, WIDTHS)), servers=8)
    consistent(log)
    assert column(log, "job") == ["1", "3_7", "4"]
    assert column(log, "size") == [3600, 60, 60]
    assert column(log, "partition") == ["batch", "a_long_pa+", "batch"]
    assert counted(log, "no_estimate", "no_wait") == {
        "step": 1,
        "never_started": 1,
        "cut_field": 1,
    }
    text = fixed(rows, NAMES, WIDTHS)
    for other in (text.replace(" \n", "\n"), text.replace("\n", "\r\n"), text + text):
        assert len(logs.read(written(tmp_path, other), servers=8)) >= 3


def test_a_number_that_is_cut_off_is_unreadable(tmp_path: Path) -> None:
    rows = [
        ("1", "a", DAY + "08:00:00", "12345678901", "4", "COMPLETED", "batch"),
        ("2", "a", DAY + "08:00:00", "60", "4", "COMPLETED", "batch"),
        ("1234567_100000", "a", DAY + "08:00:00", "60", "4", "COMPLETED", "batch"),
    ]
    log = logs.read(written(tmp_path, fixed(rows, NAMES, WIDTHS)), servers=8)
    assert column(log, "job") == ["2"]
    assert quirks(log)["unreadable"] == (2, (3, 5))
    names, widths = (*NAMES[:4], "AllocTRES", "State"), (*WIDTHS[:5], 10)
    row = ("1", "a", DAY + "08:00:00", "60", "billing=4,cpu=16", "COMPLETED")
    with pytest.raises(logs.LogError, match="not a number or a time"):
        logs.read(written(tmp_path, fixed([row], names, widths)), servers=8)


def test_rows_of_another_width(tmp_path: Path) -> None:
    text = fixed([("1", "a", DAY + "08:00:00", "60", "4", "COMPLETED", "batch")], NAMES, WIDTHS)
    log = logs.read(written(tmp_path, text + "2 something else that is longer\n"), servers=8)
    assert column(log, "job") == ["1"]
    assert counted(log)["fields"] == 1


def number(value: int | None, form: str) -> object:
    if form == "plain":
        return value or 0
    return {"set": value is not None, "infinite": False, "number": value or 0}


def job(number_of: int, form: str = "plain", **changes: object) -> dict[str, object]:
    """Return a job as Slurm's versions print it."""
    state: object = "COMPLETED" if form == "plain" else ["COMPLETED"]
    tres = [
        {"type": "cpu", "name": "", "id": 1, "count": 4},
        {"type": "mem", "name": "", "id": 2, "count": 8000},
        {"type": "node", "name": "", "id": 4, "count": 2},
        {"type": "gres", "name": "gpu", "id": 1001, "count": 3},
    ]
    return {
        "account": "physics",
        "job_id": number_of,
        "het": {"job_id": 0, "job_offset": number(None, form)},
        "association": {"account": "physics", "cluster": "c", "partition": None, "user": "ada"},
        "allocation_nodes": 2,
        "partition": "batch",
        "qos": "normal",
        "required": {"CPUs": 4, "memory": 8000},
        "state": {"current": state, "reason": "None"},
        "steps": [{"step": {"id": f"{number_of}.batch"}}],
        "time": {
            "elapsed": 3600,
            "eligible": 1_709_280_000,
            "end": 1_709_283_610,
            "start": 1_709_280_010,
            "submission": 1_709_280_000,
            "suspended": 0,
            "limit": 120 if form == "plain" else number(120, form),
        },
        "tres": {"allocated": tres, "requested": tres},
        "user": "ada",
    } | changes


def whole(jobs: Sequence[object], indent: int | None = None, **more: object) -> str:
    return json.dumps(
        {"meta": {"plugin": {"type": "x"}}, **more, "jobs": jobs, "errors": []}, indent=indent
    )


@pytest.mark.parametrize("form", ["plain", "set"])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("named", [None, "sacct"])
def test_json(tmp_path: Path, form: str, indent: int | None, named: Any) -> None:
    path = written(tmp_path, whole([job(1, form), job(2, form, user="")], indent))
    log = logs.read(path, named, servers=8, strict=True)
    same(log, ["1", "2"])
    assert column(log, "line") == [1, 2]
    assert log.origin == 1_709_280_000
    for unit, need in (("node", 2), ("gpu", 3)):
        units: Any = unit
        assert column(logs.read(path, servers=8, unit=units), "need") == [need] * 2


def test_json_of_jobs_that_lack_something(tmp_path: Path) -> None:
    pending = {"submission": 1_709_280_000, "start": 0, "end": 0, "elapsed": 0}
    rows: list[object] = [
        job(1),
        job(2, time=pending, state={"current": ["PENDING"]}, tres={}),
        job(3, tres={"allocated": []}),
        job(4, tres={}, required={}),
        job(5, time={"elapsed": 60}),
        job(6, time={"submission": 1_709_280_000}),
        "what",
        job(8, state="FAILED"),
        job(9, time={"submission": {"set": True, "number": 1_709_280_000}, "elapsed": "60"}),
        {},
    ]
    log = logs.read(written(tmp_path, whole(rows)), servers=8)
    consistent(log)
    assert column(log, "job") == ["1", "3", "8", "9"]
    assert counted(log, "no_wait", "no_estimate") == {
        "fields": 1,
        "never_started": 2,
        "unknown_need": 1,
        "unknown_submit": 2,
        "need_requested": 1,
    }


def test_a_long_json_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More jobs than a block, texts that are cut anywhere, and a byte order mark."""
    monkeypatch.setattr("quickswap.logs.formats.slurm_json._ROWS", 600)
    monkeypatch.setattr("quickswap.logs.formats.source._CHUNK", 997)  # bytes, less than a job
    path = tmp_path / "long"
    jobs = [job(n, submit_line=f'é{"|" * (n % 50)}"]}}') for n in range(1, 1_301)]
    path.write_bytes(b"\xef\xbb\xbf" + whole(jobs).replace("\\u00e9", "é").encode())
    log = logs.read(path, servers=8)
    assert log.report.rows == len(log) == 1_300
    assert column(log, "line") == list(range(1, 1_301))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"meta": {}}', 'without the list "jobs"'),
        ("{}", 'without the list "jobs"'),
        ('{"jobs": 3}', 'without the list "jobs"'),
        ('[{"submit": 1}]', "not an object"),
        ('{"jobs": []}', "contains no jobs"),
        (whole([job(1)])[:200], "damaged or truncated"),
        (whole([job(1)])[: whole([job(1)]).index("errors") - 4], "damaged or truncated"),
        ('{"jobs": [{"job_id": 1} x', "damaged or truncated"),
    ],
)
def test_other_json(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(logs.LogError, match=message):
        logs.read(written(tmp_path, text), servers=8)
