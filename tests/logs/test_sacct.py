"""sacct: each quirk that dumps have, with the jobs and the report expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from logs_helpers import column, consistent, counted, quirks, written
from quickswap import logs

FIELDS = "JobID|Submit|Start|End|ElapsedRaw|AllocCPUS|ReqCPUS|State|TimelimitRaw|JobName"
DAY = "2024-03-01T"


def row(
    job: str = "7",
    submit: str = DAY + "00:00:00",
    start: str = DAY + "00:01:00",
    end: str = DAY + "00:11:00",
    elapsed: str = "600",
    cpus: str = "4",
    asked: str = "4",
    state: str = "COMPLETED",
    limit: str = "60",
    name: str = "sim",
) -> str:
    return "|".join([job, submit, start, end, elapsed, cpus, asked, state, limit, name]) + "\n"


def read(folder: Path, rows: str, header: str = FIELDS + "\n", **options: object) -> logs.JobLog:
    settings = {"servers": 64, "timezone": "UTC"} | options
    log = logs.read(written(folder, header + rows), **settings)  # type: ignore[arg-type] # of any kind
    consistent(log)
    return log


def test_a_regular_row(tmp_path: Path) -> None:
    log = read(tmp_path, row() + row("8", submit=DAY + "00:00:30", state="TIMEOUT"))
    first = log.jobs.row(0, named=True)
    assert [first[name] for name in ("submit", "need", "size", "estimate", "wait", "job")] == [
        *(0.0, 4, 600.0, 3600.0, 60.0, "7"),
    ]
    assert column(log, "state") == ["completed", "timeout"]
    assert log.origin == 1_709_251_200
    assert quirks(log) == {}


PENDING = row("9_[1-3,7%5]", start="Unknown", end="Unknown", elapsed="0", cpus="0", state="PENDING")

QUIRKS: dict[str, tuple[str, list[float], dict[str, tuple[int, tuple[int, ...]]]]] = {
    "steps": (
        row() + row("7.batch") + row("7.extern") + row("7.0"),
        [600],
        {"step": (3, (3, 4, 5))},
    ),
    "arrays": (row("7_4") + row("7_5"), [600, 600], {}),
    "pending arrays": (row() + PENDING, [600], {"never_started": (1, (3,))}),
    "heterogeneous jobs": (row("7+0") + row("7+1"), [600, 600], {"heterogeneous": (2, (2, 3))}),
    "requeues": (
        row() + row(submit=DAY + "00:12:00", start=DAY + "00:12:00", end=DAY + "00:22:00"),
        [600, 600],
        {},
    ),
    "two dumps in one": (
        row() + FIELDS + "\n" + row() + row("8"),
        [600, 600],
        {"duplicate": (1, (4,)), "header_words": (1, (3,))},
    ),
    "epoch seconds": (row(submit="1709251200"), [600], {}),
    "times with a blank": (row(submit="2024-03-01 00:00:00"), [600], {}),
    "submit unknown": (row() + row("8", submit="Unknown"), [600], {"unknown_submit": (1, (3,))}),
    "submit empty": (row() + row("8", submit=""), [600], {"unknown_submit": (1, (3,))}),
    "submit unreadable": (row() + row("8", submit="noon"), [600], {"unreadable": (1, (3,))}),
    "start unreadable": (
        row() + row("8", start="early"),
        [600, 600],
        {"bad_value": (1, (3,)), "no_wait": (1, (3,))},
    ),
    "end unreadable": (row() + row("8", end="#"), [600, 600], {"bad_value": (1, (3,))}),
    "elapsed unreadable": (
        row() + row("8", elapsed="long") + row("9", elapsed="long", start=""),
        [600, 600],
        {"unreadable": (1, (4,)), "bad_value": (1, (3,)), "size_from_times": (1, (3,))},
    ),
    "need unreadable": (
        row() + row("8", cpus="q") + row("9", cpus="q", asked="4 nodes"),
        [600, 600],
        {"unreadable": (1, (4,)), "bad_value": (1, (3,)), "need_requested": (1, (3,))},
    ),
    "cancelled and unreadable": (
        row() + row("8", state="CANCELLED", elapsed="0x", start="None", cpus="0"),
        [600],
        {"unreadable": (1, (3,))},
    ),
    "no elapsed time": (row(elapsed=""), [600], {"size_from_times": (1, (2,))}),
    "after a suspension": (row(elapsed="400"), [400], {"suspended": (1, (2,))}),
    "running": (row(state="RUNNING", end="Unknown"), [600], {"running": (1, (2,))}),
    "cancelled while pending": (
        row() + row("8", state="CANCELLED by 1000", elapsed="0", end=DAY + "00:01:00"),
        [600],
        {"never_started": (1, (3,))},
    ),
    "cancelled before there was a start": (
        row() + row("8", state="CANCELLED", elapsed="0", start="None", cpus="0"),
        [600],
        {"never_started": (1, (3,))},
    ),
    "cancelled while running": (row(state="CANCELLED by 1000"), [600], {}),
    "failed at once": (
        row(state="FAILED", elapsed="0", end=DAY + "00:01:00"),
        [1],
        {"zero_size": (1, (2,))},
    ),
    "a time limit without limit": (row(limit="UNLIMITED"), [600], {"no_estimate": (1, (2,))}),
    "the limit of the partition": (row(limit="Partition_Limit"), [600], {"no_estimate": (1, (2,))}),
    "an invalid limit": (row(limit="INVALID"), [600], {"no_estimate": (1, (2,))}),
    "hyper-threads": (row(cpus="8"), [600], {"other_need": (1, (2,))}),
    "bars in the name": (row(name="a|b||c") + row("8"), [600, 600], {"free_text": (1, (2,))}),
    "line ends in the name": (
        row() + row("8", name="a\nb\n\n3 c") + row("9"),
        [600, 600, 600],
        {"split_row": (1, (3,))},
    ),
    "both in the name": (
        row("8", name="a|b\nc") + row("9"),
        [600, 600],
        {"split_row": (1, (2,)), "free_text": (1, (2,))},
    ),
    "carriage returns in the name": (row(name="a\rb"), [600], {}),
    "not UTF-8": (row(name="a\udcffb"), [600], {"encoding": (1, (2,))}),
    "cut off": (row() + "8|2024-03-01T00", [600], {"fields": (1, (3,))}),
    "some lines end in CR LF": (
        row() + row("8")[:-1] + "\r\n",
        [600, 600],
        {"line_end": (1, (3,))},
    ),
}


@pytest.mark.parametrize("quirk", QUIRKS)
def test_quirk(tmp_path: Path, quirk: str) -> None:
    text, sizes, found = QUIRKS[quirk]
    path = written(tmp_path, (FIELDS + "\n" + text).encode("utf-8", "surrogateescape"))
    log = logs.read(path, servers=64, timezone="UTC")
    consistent(log)
    assert column(log, "size") == sizes
    assert quirks(log) == found


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("05:06", 306),
        ("04:05:06", 14_706),
        ("3-04:05:06", 273_906),
        ("125-00:00:00", 10_800_000),
        ("00:01.250", 1.25),
    ],
)
def test_elapsed(tmp_path: Path, text: str, seconds: float) -> None:
    header = FIELDS.replace("ElapsedRaw", "Elapsed").replace("TimelimitRaw", "Timelimit") + "\n"
    log = read(tmp_path, row(elapsed=text, limit=text), header)
    assert column(log, "size") == column(log, "estimate") == [seconds]


def test_columns_in_any_order_and_case(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        "debug|4|600|2024-03-01T00:00:00|7|ann|astro\n",
        "partition|NCPUS|elapsedraw|SUBMIT|JobIDRaw|User|Account\n",
    )
    assert [column(log, name) for name in ("partition", "need", "user", "group")] == [
        *(["debug"], [4], ["ann"], ["astro"]),
    ]


def test_parsable_with_its_last_bar(tmp_path: Path) -> None:
    bar = (FIELDS + "\n" + row() + row("8", name="a|b") + row("9", name="c\nd")).replace(
        "\n", "|\n"
    )
    log = read(tmp_path, bar.replace("c|\n", "c\n"), header="")
    assert column(log, "job") == ["7", "8", "9"]
    assert quirks(log) == {"split_row": (1, (4,)), "free_text": (1, (3,))}


def test_without_a_header(tmp_path: Path) -> None:
    names = FIELDS.replace("|", ",").replace("JobName", "JobName%30")
    log = read(tmp_path, row() + row("8"), header="", sacct_format=names)
    assert column(log, "line") == [1, 2]
    bars = (row() + row("8")).replace("\n", "|\n")
    assert len(read(tmp_path, bars, header="", sacct_format=names)) == 2


def test_free_text_in_the_middle(tmp_path: Path) -> None:
    header = "JobID|JobName|Submit|ElapsedRaw|NCPUS\n"
    end = f"|{DAY}00:00:00|60|2\n"
    log = read(tmp_path, f"1|a|b{end}2|c\nd{end}3|e{end}", header)
    assert column(log, "job") == ["1", "2", "3"]
    assert quirks(log)["free_text"] == (1, (2,))
    assert quirks(log)["split_row"] == (1, (3,))


def test_two_free_texts_side_by_side(tmp_path: Path) -> None:
    """Which of them holds the `|` makes no difference to the fields that are read."""
    header = "JobID|JobName|Comment|Submit|ElapsedRaw|NCPUS\n"
    end = f"|{DAY}00:00:00|60|2\n"
    log = read(tmp_path, f"1|a|b|c{end}2|d|e{end}", header)
    assert column(log, "job") == ["1", "2"]
    assert quirks(log)["free_text"] == (1, (2,))


TRES = "JobID|Submit|Start|ElapsedRaw|NNodes|AllocTRES|NCPUS\n"


@pytest.mark.parametrize(
    ("unit", "needs", "left_out"),
    [("cpu", [4, 8, 2], 0), ("node", [1, 2, 3], 0), ("gpu", [2, 6], 1)],
)
def test_units(tmp_path: Path, unit: str, needs: list[int], left_out: int) -> None:
    begin = f"|{DAY}00:00:00|{DAY}00:00:00|60"
    text = (
        f"1{begin}|1|billing=1,cpu=4,gres/gpu=2,gres/gpu:a100=2,mem=16G,node=1|4\n"
        f"2{begin}|2|cpu=8,gres/gpu:a100=2,gres/gpu:h100=4,node=2|8\n"
        f"3{begin}|3|cpu=2,node=3|2\n"
    )
    log = read(tmp_path, text, TRES, unit=unit)
    assert column(log, "need") == needs
    assert counted(log, "no_estimate") == ({"no_gpu": 1} if left_out else {})


def test_needs_from_the_list_of_resources(tmp_path: Path) -> None:
    header = "JobID|Submit|ElapsedRaw|AllocTRES\n"
    log = read(tmp_path, f"1|{DAY}00:00:00|60|cpu=4,node=2\n", header)
    assert column(log, "need") == [4]


def test_eligible(tmp_path: Path) -> None:
    header = "JobID|Submit|Eligible|Start|ElapsedRaw|NCPUS\n"
    row = f"1|{DAY}00:00:00|{DAY}00:02:00|{DAY}00:03:00|60|4\n"
    log = read(tmp_path, row, header, arrival="submit")
    assert column(log, "eligible") == [120]
    assert counted(log, "no_estimate") == {"held": 1}


def test_local_times(tmp_path: Path) -> None:
    """The clocks of Berlin went forward at 2024-03-31T02:00 and back at 2024-10-27T03:00."""
    times = ["2024-03-30T12:00:00", "2024-03-31T02:30:00", "2024-10-27T02:30:00"]
    header = "JobID|Submit|ElapsedRaw|NCPUS\n"
    text = "".join(f"{job}|{time}|60|4\n" for job, time in enumerate(times))
    log = read(tmp_path, text, header, timezone="Europe/Berlin")
    assert log.origin == 1_711_796_400
    assert column(log, "submit") == [0, 1_729_989_000 - 1_711_796_400]
    assert counted(log, "no_estimate", "no_wait") == {"skipped_time": 1, "ambiguous_time": 1}


def test_without_a_time_zone_times_are_in_utc(tmp_path: Path) -> None:
    assert "as UTC" in read(tmp_path, row(), timezone=None).report.facts[0]


def test_long_dumps_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [text for text, *_ in QUIRKS.values() if "CR LF" not in text and "\udcff" not in text]
    path = written(tmp_path, FIELDS + "\n" + "".join(bodies[:-1]))
    whole = logs.read(path, servers=64)
    for size in (100, 1000):
        monkeypatch.setattr("quickswap.logs.formats.source.BLOCK", size)
        monkeypatch.setattr("quickswap.logs.formats.source._CHUNK", size)
        parts = logs.read(path, servers=64)
        assert parts.jobs.equals(whole.jobs)
        assert parts.report == whole.report


def test_jobs_arrive_when_they_are_eligible(tmp_path: Path) -> None:
    """At the latest at their start, and at their submission where they were eligible before."""
    path = written(
        tmp_path,
        "JobID|Submit|Eligible|Start|ElapsedRaw|NCPUS|State\n"
        "1|2024-03-01T08:00:00|2024-03-01T09:00:00|2024-03-01T09:00:30|60|1|COMPLETED\n"
        "2|2024-03-01T08:10:00|2024-03-01T08:10:00|2024-03-01T08:20:00|60|1|COMPLETED\n"
        "3|2024-03-01T08:20:00|2024-03-01T09:20:00|2024-03-01T08:30:00|60|1|COMPLETED\n"
        "4|2024-03-01T08:30:00|Unknown|2024-03-01T08:30:05|60|1|COMPLETED\n",
    )
    log = logs.read(path, servers=4)
    assert column(log, "job") == ["2", "3", "4", "1"]
    assert column(log, "submit") == [0, 1200, 1200, 3000]
    assert column(log, "wait") == [600, 0, 5, 30]
    assert any("2 jobs became eligible after the submission" in each for each in log.report.facts)
    log = logs.read(path, servers=4, arrival="submit")
    assert column(log, "submit") == [0, 600, 1200, 1800]
    assert column(log, "wait") == [3630, 600, 600, 5]
