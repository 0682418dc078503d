"""Any file is read, with every row accounted for, or rejected in one sentence."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_settings import FEW
from logs_helpers import consistent
from quickswap import QuickswapError, logs

NUMBERS = st.one_of(
    st.integers(-2, 70).map(str),
    st.floats(-2, 1e4).map(repr),
    st.sampled_from(["-1", "x", "1e400", "nan", "--3", "1.5", "", "1_0", "\u0663"]),
)


def mostly(*good: str, bad: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Nine good values for a bad one."""
    return st.integers(0, 9).flatmap(lambda n: bad if n == 0 else st.sampled_from(good))


TIMES = ["2024-03-31T02:30:00", "2024-10-27T02:30:00", "Unknown", "None", "", "1709251200", "noon"]
STAMPS = mostly("2024-05-01T10:00:00", "2024-05-01T10:00:01", bad=st.sampled_from(TIMES))
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
STATES = mostly("COMPLETED", "CANCELLED by 7", "RUNNING", bad=st.sampled_from(["PENDING", "", "?"]))
JOBS = mostly("7", "8_3", "9+0", bad=st.sampled_from(["7.batch", "8_[1-3]", "", "x"]))
SPANS = mostly("00:10:00", "1-00:00:00", "05:06", "00:00:00", bad=NUMBERS)
NEEDS = mostly("1", "4", "64", bad=NUMBERS)
SACCT = "JobID|Submit|Start|End|Elapsed|NCPUS|ReqCPUS|State|Timelimit|JobName"

swf_rows = st.lists(NUMBERS, min_size=15, max_size=21).map(" ".join)
sacct_rows = st.tuples(
    *(JOBS, STAMPS, STAMPS, STAMPS, SPANS, NEEDS, NEEDS, STATES, SPANS, WORDS)
).map("|".join)
table_rows = st.lists(NUMBERS, min_size=2, max_size=4).map(",".join)
ends = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])


def check(path: Path, data: bytes, **options: object) -> logs.JobLog | None:
    """Return the log, or None if it is rejected."""
    path.write_bytes(data)
    try:
        log = logs.read(path, **({"servers": 64} | options))  # type: ignore[arg-type] # of any kind
    except QuickswapError as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert said.endswith(".")
        assert "\n" not in said
        return None
    consistent(log)
    assert all(
        1 <= each.lines[0] <= data.count(b"\n") + data.count(b"\r") + 1
        for each in log.report.findings
    )
    return log


def joined(head: str, rows: list[str], end: str) -> bytes:
    return end.join([head, *rows]).encode("utf-8", "replace")


@FEW
@given(rows=st.lists(swf_rows, max_size=12), end=ends)
def test_swf(tmp_path: Path, rows: list[str], end: str) -> None:
    check(tmp_path / "log", joined("; MaxProcs: 64", rows, end))


@FEW
@given(
    rows=st.lists(sacct_rows, max_size=12), end=ends, zone=st.sampled_from(["UTC", "Europe/Berlin"])
)
def test_sacct(tmp_path: Path, rows: list[str], end: str, zone: str) -> None:
    check(tmp_path / "log", joined(SACCT, rows, end), timezone=zone)


@FEW
@given(rows=st.lists(table_rows, max_size=12), end=ends)
def test_tables(tmp_path: Path, rows: list[str], end: str) -> None:
    check(tmp_path / "log", joined("submit,need,size", rows, end))


HEADS = [
    b"",
    b"; MaxProcs: 64\n",
    SACCT.encode() + b"\n",
    b"submit,need,size\n",
    b"PAR1",
    b"\x1f\x8b",
]


@FEW
@given(data=st.binary(max_size=300), head=st.sampled_from(HEADS))
@pytest.mark.parametrize("kind", [None, "swf", "sacct", "csv", "parquet"])
def test_random_bytes(tmp_path: Path, data: bytes, head: bytes, kind: str | None) -> None:
    check(tmp_path / "log", head + data, format=kind)
    check(tmp_path / "log", gzip.compress(head + data), format=kind)


@FEW
@given(
    at=st.integers(0, 2000),
    bytes_=st.binary(min_size=1, max_size=4),
    cut=st.integers(0, 50),
)
def test_damage_costs_few_rows(tmp_path: Path, at: int, bytes_: bytes, cut: int) -> None:
    """A regular log of 40 rows with some bytes overwritten and others gone."""
    rows = [f"{n} {n} 1 10 2 -1 -1 2 99 -1 1 7 3 -1 2 1 -1 -1" for n in range(1, 41)]
    data = joined("; MaxProcs: 64", rows, "\n")
    damaged = data[:at] + bytes_ + data[at + len(bytes_) + cut :]
    log = check(tmp_path / "log", damaged)
    if log is not None and at + cut < len(data):
        assert log.report.rows >= 40 - cut // 30 - 8


def test_a_million_rows(tmp_path: Path) -> None:
    """About a second and 300 bytes a job are the limits; a slow machine gets ten."""
    rng = np.random.default_rng(1)
    count = 1_000_000
    numbers = np.empty((count, 18), np.int64)
    numbers[:] = -1
    numbers[:, 0] = np.arange(count)
    numbers[:, 1] = np.cumsum(rng.integers(0, 60, count))
    numbers[:, 2] = rng.integers(0, 9999, count)
    numbers[:, 3] = rng.integers(1, 99_999, count)
    numbers[:, 4] = numbers[:, 7] = rng.integers(1, 65, count)
    numbers[:, 8] = 100_000
    numbers[:, 10] = 1
    path = tmp_path / "million.swf"
    with path.open("wb") as file:
        file.write(b"; MaxProcs: 64\n")
        pl.DataFrame(numbers).write_csv(file, include_header=False, separator=" ")
    begin = time.perf_counter()
    log = logs.read(path)
    assert time.perf_counter() - begin < 10
    assert len(log) == count
    assert log.jobs.estimated_size() < 300 * count
    assert np.array_equal(log.jobs["size"].to_numpy(), numbers[:, 3])
    assert np.array_equal(log.jobs["need"].to_numpy(), numbers[:, 4])
