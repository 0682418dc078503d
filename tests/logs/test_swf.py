"""SWF: each quirk that logs have in the wild, with the jobs and the report expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from logs_helpers import column, consistent, counted, quirks, written
from quickswap import logs

HEADER = "; Version: 2.2\n; MaxProcs: 64\n; UnixStartTime: 1000000\n"


def row(
    job: int | str = 1,
    submit: object = 0,
    wait: object = 5,
    run: object = 100,
    procs: object = 4,
    asked: object = 4,
    limit: object = 200,
    status: object = 1,
) -> str:
    head = f"{job} {submit} {wait} {run} {procs} -1 -1 {asked} {limit}"
    return f"{head} -1 {status} 7 3 -1 2 1 -1 -1\n"


def read(folder: Path, text: str, header: str = HEADER, **options: object) -> logs.JobLog:
    log = logs.read(written(folder, header + text), **options)  # type: ignore[arg-type] # of any kind
    consistent(log)
    return log


def test_a_regular_row(tmp_path: Path) -> None:
    log = read(tmp_path, row(job=9, submit=50, asked=8) + row(job=12, submit=80, run=250))
    first = log.jobs.row(0, named=True)
    assert first == {
        "submit": 0.0,
        "need": 4,
        "size": 100.0,
        "estimate": 200.0,
        "wait": 5.0,
        "eligible": None,
        "class": None,
        "user": "7",
        "group": "3",
        "queue": "2",
        "partition": "1",
        "pool": None,
        "state": "completed",
        "job": "9",
        "line": 4,
    }
    assert (log.servers, log.origin, log.duration) == (64, 1_000_050.0, 30.0)
    assert log.load == pytest.approx(4 * 350 / (64 * 30))
    assert log.needs == {4: 2}
    assert log.header["Version"] == "2.2"
    assert quirks(log) == {"other_need": (1, (4,)), "overrun": (1, (5,))}
    assert log.report.states == {"completed": 2}


def test_blocks_of_plain_numbers_are_read_as_others(tmp_path: Path) -> None:
    """The core reads the first log; a comment after the last job leaves the second to Polars."""
    texts = (
        row(submit="0.25", wait="-1", run="12.75", limit="999999999999"),
        row(job=2, submit=3, wait=-1, run=0, procs=-1, status=0),
        row(job="003", submit="07", wait="-3", run=8, asked=-1, limit=-1, status=-1),
        row(job=4, submit=5, run="5.50", status=5)
        .replace(" 7 3 ", "  -1\t3.0 ")
        .replace(" ", "  "),
        row(job=5, submit=5, run=-1).replace(" -1 -1 4", " 3:20 many 4"),
        row(job=6, submit=9, status="2.0").replace("\n", " \n"),
        row(job=-1, submit=4),
    )
    plain, commented = (read(tmp_path, "".join(texts) + end) for end in ("", "; end\n"))
    assert plain.jobs.equals(commented.jobs)
    assert plain.report == commented.report
    assert column(plain, "job") == ["1", "2", None, "4", "3", "6"]
    assert column(plain, "user") == ["7", "7", "7", None, "7", "7"]
    assert column(plain, "size") == [12.75, 1, 100, 5.5, 8, 100]
    assert plain.report["unknown_size"] == plain.report["negative_wait"] == 1


@pytest.mark.parametrize("user", ["7", "007", "+7", "7.0", "7e0", "70E-1"])
@pytest.mark.parametrize("word", ["", "ok", ";", "\xff"])
def test_whole_numbers_as_labels_have_one_form(tmp_path: Path, user: str, word: str) -> None:
    """A word in a field that is not read sends its row to another reader."""
    first, second = row(job="001"), row(job="2.0", submit=5).replace(" 7 3 ", f" {user} 3 ")
    log = read(
        tmp_path, first + second.replace(" -1 -1 4", f" {word} -1 4") if word else first + second
    )
    kept = 1 if word == ";" else 2  # the rest of the line is a comment
    assert column(log, "job") == ["1", "2"][:kept]
    assert column(log, "user") == ["7", "7"][:kept]
    assert log.report["fields"] == 2 - kept


ROW = row()
SHORT = "1 0 5 100 4 -1 -1 4 200 -1 1 7 3 -1 2 1 -1\n"

QUIRKS: dict[str, tuple[str, list[float], dict[str, tuple[int, tuple[int, ...]]]]] = {
    "17 fields": (SHORT, [100], {"field_count": (1, (4,))}),
    "20 and 21 fields": (
        ROW[:-1] + " 3 4\n" + row(2, 9, run=3)[:-1] + " 3 4 5\n",
        [100, 3],
        {"field_count": (2, (4, 5))},
    ),
    "cut off": (ROW + "2 9 5 100 4", [100], {"fields": (1, (5,))}),
    "tabs": (ROW.replace(" ", "\t"), [100], {}),
    "tabs and blanks around": ("\t " + ROW[:-1].replace(" ", "  \t") + " \t\n", [100], {}),
    "blank lines": ("\n  \n" + ROW + "\n", [100], {}),
    "a header row of words": (
        "Job Submit Wait Run Procs\n" + ROW,
        [100],
        {"header_words": (1, (4,))},
    ),
    "a continued header without semicolon": (
        "   in the machine room\n" + ROW,
        [100],
        {"header_words": (1, (4,))},
    ),
    "words among the rows": (
        ROW + "the machine was down\n" + row(2, 9, run=3),
        [100, 3],
        {"fields": (1, (5,))},
    ),
    "a comment after the fields": (ROW[:-1] + " ; odd\n", [100], {}),
    "a comment among the rows": (ROW + "; down\n" + row(2, 9, run=3), [100, 3], {}),
    "a word in a field": (
        ROW + row(2, 9, run="long"),
        [100],
        {"unreadable": (1, (5,))},
    ),
    "a word in a field that is not read": (
        ROW[:-1].replace("4 -1 -1 4", "4 x -1 4") + "\n",
        [100],
        {},
    ),
    "two numbers in one": (ROW + row(2, 9, run="1-2"), [100], {"unreadable": (1, (5,))}),
    "nan and infinity": (
        ROW + row(2, 9, run="nan") + row(3, 9, run="inf"),
        [100],
        {"unreadable": (1, (6,)), "unknown_size": (1, (5,))},
    ),
    "beyond all times": (ROW + row(2, "1e300"), [100], {"unreadable": (1, (5,))}),
    "run 0": (ROW + row(2, 9, run=0), [100, 1], {"zero_size": (1, (5,))}),
    "run 0, cancelled": (
        ROW + row(2, 9, run=0, status=5),
        [100],
        {"never_started": (1, (5,))},
    ),
    "run -1": (ROW + row(2, 9, run=-1), [100], {"unknown_size": (1, (5,))}),
    "run -1, cancelled": (
        ROW + row(2, 9, run=-1, status=5),
        [100],
        {"never_started": (1, (5,))},
    ),
    "cancelled while it ran": (row(run=7, status=5), [7], {}),
    "submit -1": (ROW + row(2, -1), [100], {"unknown_submit": (1, (5,))}),
    "run above the requested time": (row(run=201), [201], {"overrun": (1, (4,))}),
    "allocated is not requested": (row(asked=5), [100], {"other_need": (1, (4,))}),
    "allocated unknown": (row(procs=-1), [100], {"need_requested": (1, (4,))}),
    "no need at all": (
        ROW + row(2, 9, procs=-1, asked=-1) + row(3, 9, procs=0, asked=0),
        [100],
        {"unknown_need": (2, (5, 6))},
    ),
    "half a processor": (row(procs=3.5, asked=-1), [100], {"need_rounded": (1, (4,))}),
    "need above the machine": (
        ROW + row(2, 9, procs=65, asked=-1),
        [100],
        {"above_servers": (1, (5,))},
    ),
    "no estimate": (row(limit=-1), [100], {"no_estimate": (1, (4,))}),
    "no wait": (row(wait=-1), [100], {"no_wait": (1, (4,))}),
    "wait below 0": (row(wait=-7), [100], {"negative_wait": (1, (4,))}),
    "unsorted": (
        row(1, 50, run=1) + row(2, 90, run=2) + row(3, 70, run=3) + row(4, 80, run=4),
        [1, 3, 4, 2],
        {"unsorted": (2, (6, 7))},
    ),
    "a burst in one second": (
        "".join(row(9 - n, 50, run=n) for n in (3, 1, 2)),
        [3, 1, 2],
        {},
    ),
    "float submit times": (row(1, 0.25, run=1) + row(2, "7.5e0", run=2.5), [1, 2.5], {}),
    "parts of a job": (
        row(1, run=50) + row(1, run=20, status=2) + row(1, 20, run=30, status=3),
        [50],
        {"partial": (2, (5, 6))},
    ),
    "parts without the whole": (
        row(1, run=20, status=2) + row(1, 20, run=30, status=4),
        [20, 30],
        {},
    ),
    "a row twice": (ROW + row(2, 9, run=3) + row(2, 9, run=3), [100, 3], {"duplicate": (1, (6,))}),
    "an id twice": (row(1, 0, run=1) + row(1, 9, run=2), [1, 2], {}),
    "some lines end in CR LF": (
        ROW[:-1] + "\r\n" + row(2, 9, run=3),
        [100, 3],
        {"line_end": (1, (4,))},
    ),
    "CR on its own": (
        ROW[:-1] + "\r" + row(2, 9, run=3),
        [100, 3],
        {"line_end": (1, (4,))},
    ),
}


@pytest.mark.parametrize("quirk", QUIRKS)
def test_quirk(tmp_path: Path, quirk: str) -> None:
    text, sizes, found = QUIRKS[quirk]
    log = read(tmp_path, text)
    assert column(log, "size") == sizes
    assert quirks(log) == found


def test_a_file_with_cr_lf_everywhere_is_in_order(tmp_path: Path) -> None:
    log = read(tmp_path, (HEADER + ROW).replace("\n", "\r\n"), header="", strict=True)
    assert quirks(log) == {}


@pytest.mark.parametrize("ids", [(0, 1), (1435, 1436)])
def test_ids_may_begin_anywhere(tmp_path: Path, ids: tuple[int, int]) -> None:
    log = read(tmp_path, row(ids[0]) + row(ids[1], 9))
    assert column(log, "job") == [str(each) for each in ids]


def test_repaired_values(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        row(1, procs=-1, asked=3)
        + row(2, 9, procs=2.5, asked=-1, limit=-1)
        + row(3, 10, wait=-4)
        + row(4, 11, wait=-1),
    )
    assert column(log, "need") == [3, 3, 4, 4]
    assert column(log, "estimate") == [200, 100, 200, 200]
    assert column(log, "wait") == [5, 5, None, None]
    assert log.report.repaired == 3


HEADERS: dict[str, tuple[str, int | None, float | None, list[str]]] = {
    "MaxNodes without MaxProcs": ("; MaxNodes: 32\n; UnixStartTime: 7\n", 32, 7.0, []),
    "indented, without blanks": ("   ;MaxProcs:32\n\t; UnixStartTime:7\n", 32, 7.0, []),
    "ASCII art": (
        ";--+--;\n; |\\  /|  :\n;;; **\n; MaxProcs: 32 (8x4)\n",
        32,
        None,
        ["UnixStartTime"],
    ),
    "UnixStartTime 0": ("; MaxProcs: 32\n; UnixStartTime: 0\n", 32, None, ["UnixStartTime"]),
    "UnixStartTime UNKNOWN": (
        "; MaxProcs: 32\n; UnixStartTime: UNKNOWN\n",
        32,
        None,
        ["UnixStartTime"],
    ),
    "MaxJobs stale": (
        "; MaxJobs: 77\n; MaxProcs: 32\n; UnixStartTime: 7\n",
        32,
        7.0,
        ["77 jobs; the log has 1 row"],
    ),
    "needs may be nodes": (
        "; MaxNodes: 8\n; MaxProcs: 32\n; UnixStartTime: 7\n",
        32,
        7.0,
        ["give the unit node"],
    ),
}


@pytest.mark.parametrize("quirk", HEADERS)
def test_header(tmp_path: Path, quirk: str) -> None:
    header, servers, origin, facts = HEADERS[quirk]
    log = read(tmp_path, ROW, header)
    assert (log.servers, log.origin) == (servers, origin)
    assert len(log.report.facts) == len(facts)
    assert all(part in fact for part, fact in zip(facts, log.report.facts, strict=True))


def test_continued_header_lines(tmp_path: Path) -> None:
    header = "; Information: http://a/\n;              http://b/\n; Note: one\n; Note: two\n"
    log = read(tmp_path, ROW, HEADER + header)
    assert log.header["Information"] == "http://a/\nhttp://b/"
    assert log.header["Note"] == "one\ntwo"


def test_without_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, ROW, "", servers=10).servers == 10


def test_nodes(tmp_path: Path) -> None:
    header = "; MaxNodes: 8\n; MaxProcs: 32\n"
    assert read(tmp_path, ROW, header, unit="node").servers == 8


def test_epoch_submit_times(tmp_path: Path) -> None:
    log = read(tmp_path, row(1, 1_500_000_000) + row(2, 1_500_000_009))
    assert column(log, "submit") == [0, 9]
    assert log.origin == 1_500_000_000.0


def test_waits_in_minutes(tmp_path: Path) -> None:
    text = "".join(row(n, n, wait=60 * n) for n in range(1, 12))
    log = read(tmp_path, text)
    assert len(log.report.facts) == 1
    assert read(tmp_path, text + row(20, 30, wait=61)).report.facts == ()


def test_long_logs_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few bytes give what one block gives, quirks and line numbers included."""
    text = "".join(each[0] for each in QUIRKS.values() if "CR" not in each[0])
    path = written(tmp_path, HEADER + text)
    whole = logs.read(path)
    for size in (64, 150, 1000):
        monkeypatch.setattr("quickswap.logs.formats.source.BLOCK", size)
        monkeypatch.setattr("quickswap.logs.formats.source._CHUNK", size)
        parts = logs.read(path)
        assert parts.jobs.equals(whole.jobs)
        assert parts.report == whole.report
    assert sum(counted(whole).values()) > 20
