"""Writes small logs, and returns parts of logs for comparisons."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from quickswap import logs

FOLDER = Path(os.environ.get("QUICKSWAP_LOGS", Path(__file__).parents[2] / "shared" / "data"))
KTH = "KTH-SP2-1996-2.swf"
NASA = "NASA-iPSC-1993-3.1-cln.swf.gz"
XDMOD = "xdmod-pozidriv-sacct.log"

XDMOD_FORMAT = (
    "JobID,JobIDRaw,Cluster,Partition,QOS,Account,Group,GID,User,UID,Submit,Eligible,Start,End,"
    "Elapsed,ExitCode,State,NNodes,NCPUS,ReqCPUS,ReqMem,ReqTRES,AllocTRES,Timelimit,NodeList,JobName"
)
"""What the 26 fields are: the order in which Open XDMoD asks sacct for them."""


def real(name: str) -> Path:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{path} is not there: set QUICKSWAP_LOGS to the folder of the real logs")
    return path


def written(folder: Path, text: str | bytes, name: str = "small.log") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def quirks(log: logs.JobLog) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Return counts and lines of the report by rule."""
    return {each.rule: (each.count, each.lines) for each in log.report.findings}


def counted(log: logs.JobLog, *but: str) -> dict[str, int]:
    """Return the counts of the report by rule, except for some rules."""
    return {each.rule: each.count for each in log.report.findings if each.rule not in but}


def column(log: logs.JobLog, name: str) -> list[Any]:
    values: list[Any] = log.jobs.get_column(name).to_list()
    return values


def consistent(log: logs.JobLog) -> None:
    """Every row is kept, or dropped by one rule, and the jobs are valid."""
    report = log.report
    gone = sum(each.count for each in report.findings if each.kind in ("dropped", "left out"))
    assert report.rows == report.kept + report.dropped
    assert report.dropped == gone
    assert report.kept == len(log) > 0
    assert report.rows == sum(report.states.values())
    jobs = log.jobs
    assert jobs["submit"][0] == 0
    assert jobs["submit"].is_sorted()
    assert jobs["need"].is_between(1, log.servers).all()
    for name in ("size", "estimate"):
        assert (jobs[name] > 0).all()
        assert jobs[name].is_finite().all()
    assert not any(jobs[name].has_nulls() for name in ("submit", "need", "size", "estimate"))
