"""Reading in blocks: the same jobs whatever the blocks, and no block as long as the log."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from logs_helpers import consistent, written
from quickswap import logs
from quickswap.logs.formats import source
from quickswap.logs.formats.source import ahead, blocks, threads
from quickswap.logs.formats.table import _even_quotes

SWF = "; MaxProcs: 8\n" + "".join(
    f"{i} {60 * i} 5 {10 + i} 2 -1 -1 2 100 -1 {i % 2} {i % 7} 1 -1 1 1 -1 -1\n" for i in range(300)
)
CSV = "submit,need,size,user\n" + "".join(f"{i},{1 + i % 8},{5 + i},u{i % 9}\n" for i in range(900))
QUOTED = CSV.replace("u3", '"u\n3"').replace("u4", '"u ""4"""')
STRAY = CSV.replace("u5\n", 'u"5\n', 1)
SACCT = "JobID|Submit|Start|ElapsedRaw|NCPUS|State|JobName\n" + "".join(
    f"{i}|2024-03-01T08:{i % 60:02}:00|2024-03-01T12:00:00|{60 + i}|2|COMPLETED|n{i % 5}\n"
    for i in range(300)
).replace("n3\n", "a|b\nc\n")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK", 700)
    monkeypatch.setattr(source, "_CHUNK", 64)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("text", [SWF, CSV, QUOTED, SACCT], ids=["swf", "csv", "quoted", "sacct"])
def test_blocks_change_nothing(
    tmp_path: Path, text: str, end: str, request: pytest.FixtureRequest
) -> None:
    if text is SACCT and end == "\r":
        pytest.skip("in sacct dumps a carriage return is a part of a free text")
    path = written(tmp_path, text.replace("\n", end).encode())
    whole = logs.read(path, servers=8)
    consistent(whole)
    request.getfixturevalue("small")
    parts = logs.read(path, servers=8)
    assert parts.jobs.equals(whole.jobs)
    assert parts.report == whole.report
    assert len(parts) >= 240


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_blocks_are_short_and_end_with_a_line(tmp_path: Path, end: bytes) -> None:
    text = CSV.encode().replace(b"\n", end)
    path = written(tmp_path, text)
    found = [*blocks(path, lone_cr=True)]
    assert b"".join(found) == text
    assert max(map(len, found)) < 900
    for block in found[:-1]:
        assert block.endswith(end)


@pytest.mark.usefixtures("small")
def test_a_stray_quote_holds_back_a_few_blocks_only(tmp_path: Path) -> None:
    path = written(tmp_path, STRAY)
    found = [*_even_quotes(blocks(path))]
    assert b"".join(found).decode() == STRAY
    assert max(map(len, found)) < 4 * 900
    log = logs.read(path, servers=8)
    assert len(log) == 900
    assert 'u"5' in log.jobs["user"].cast(str).to_list()


def test_work_ahead_keeps_the_order_and_tells_errors() -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for i in range(20):
            asked.append(i)
            yield i

    with threads() as pool:
        results = ahead(pool, lambda i: 100 // (15 - i), items())
        assert next(results) == 6
        assert len(asked) <= 4
        with pytest.raises(ZeroDivisionError):
            list(results)


def test_ctrl_c_in_a_closed_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    noise: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", noise.append)

    def struck(*_: object) -> None:
        raise KeyboardInterrupt

    with threads() as pool:
        results = ahead(pool, abs, range(9))
        assert next(results) == 0
        shut = "concurrent.futures.ThreadPoolExecutor.shutdown"
        with monkeypatch.context() as patched:
            patched.setattr(shut, struck)  # were it called while the generator is thrown away
            del results
            gc.collect()
    assert noise == []
