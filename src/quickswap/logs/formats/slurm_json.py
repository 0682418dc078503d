"""Parses the output of `sacct --json`, an object with a list of jobs, one job at a time."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from quickswap.errors import LogError
from quickswap.logs.formats.source import chunks
from quickswap.logs.job_rows import text_rows

__all__ = ["frames", "number_of", "state_name"]

_ROWS = 20_000
"""Jobs per block."""
_BLANK = re.compile(r"\s*")
_DECODER = json.JSONDecoder()
_ADVICE = 'give the output of "sacct --json", or a table in CSV or Parquet'


class _Text:
    """The text of a file that was read and not yet parsed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._chunks = chunks(path)
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._ended = False

    def _more(self) -> bool:
        """Read more text; return False at the end of the file."""
        if self._ended:
            return False
        chunk = next(self._chunks, None)
        self._ended = chunk is None
        added = self._decoder.decode(chunk or b"", final=self._ended)
        self._text, self._at = self._text[self._at :] + added, 0
        return True

    def peek(self) -> str:
        """Return the next character that is not a blank; empty at the end of the file."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def skip(self, wanted: str) -> bool:
        """Skip a character if it is the next one; return whether it is."""
        if self.peek() != wanted:
            return False
        self._at += 1
        return True

    def value(self) -> Any:
        """Return the next value.

        Raises:
            LogError: the JSON is invalid, or ends within the value.
        """
        self.peek()
        while True:
            value, end = None, -1
            with suppress(ValueError, RecursionError):
                value, end = _DECODER.raw_decode(self._text, self._at)
            # a value at the end of the text, such as a number, may continue
            if 0 <= end < len(self._text) or not self._more():
                break
        if end < 0:
            raise LogError(
                f"{self._path} is not valid JSON at {self._text[self._at : self._at + 40]!r}, so "
                "it is damaged or truncated",
                advice="write it again",
            )
        self._at = end
        return value


def frames(path: Path) -> Iterator[pl.DataFrame]:
    """Yield the fields of the jobs as texts; the line is the number of the job in the file.

    Raises:
        LogError: the file is not valid JSON, or contains no list of jobs.
    """
    names = [*_row({})]
    rows: list[list[str | None]] = []
    lines: list[int] = []
    bad: list[tuple[int, str]] = []
    for number, job in enumerate(_jobs(path), 1):
        if isinstance(job, dict):
            rows.append([*_row(job).values()])
            lines.append(number)
        else:
            bad.append((number, "fields"))
        if len(rows) == _ROWS:
            yield from text_rows(names, rows, lines, [0] * len(rows), bad)
            rows, lines, bad = [], [], []
    yield from text_rows(names, rows, lines, [0] * len(rows), bad)


def _jobs(path: Path) -> Iterator[Any]:
    """Yield the values of the list "jobs" of the object."""
    text = _Text(path)
    if not text.skip("{"):
        raise LogError(f"{path} is JSON, but not an object with a list of jobs", advice=_ADVICE)
    while text.peek() == '"':
        key = text.value()
        text.skip(":")
        if key == "jobs" and text.skip("["):
            while text.peek() not in ("]", ""):
                yield text.value()
                if not text.skip(","):
                    break
            if not text.skip("]"):
                text.value()  # raises an error: the list is truncated
            return
        text.value()
        text.skip(",")
    raise LogError(f'{path} is JSON without the list "jobs"', advice=_ADVICE)


def _row(job: dict[str, Any]) -> dict[str, str | None]:
    """Return the fields of a job; None is missing."""
    time, required, tres = (_object(job.get(name)) for name in ("time", "required", "tres"))
    association, het = _object(job.get("association")), _object(job.get("het"))
    number = number_of(job.get("job_id"))
    leader = number_of(het.get("job_id"))
    offset = number_of(het.get("job_offset"))
    if leader not in (None, "0") and offset is not None:
        number = f"{leader}+{offset}"
    moments = {
        name: None if (moment := number_of(time.get(key))) == "0" else moment
        for name, key in (
            ("submit", "submission"),
            ("eligible", "eligible"),
            ("start", "start"),
            ("end", "end"),
        )
    }
    return {
        "jobid": number,
        **moments,
        "elapsedraw": number_of(time.get("elapsed")),
        "reqcpus": number_of(required.get("CPUs")),
        "allocnodes": number_of(job.get("allocation_nodes")),
        "alloctres": _listed(tres.get("allocated")),
        "reqtres": _listed(tres.get("requested")),
        "state": state_name(job.get("state")),
        "timelimitraw": number_of(time.get("limit")),
        "user": _text(job.get("user")) or _text(association.get("user")),
        "group": _text(job.get("account")) or _text(association.get("account")),
        "partition": _text(job.get("partition")),
        "queue": _text(job.get("qos")),
    }


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value or None if isinstance(value, str) else None


def number_of(value: object) -> str | None:
    """Return a number from the forms of all Slurm versions: plain, text, or an object."""
    if isinstance(value, dict):
        known = value.get("set", True) and not value.get("infinite", False)
        return number_of(value.get("number")) if known else None
    if isinstance(value, bool) or value is None or value == "":
        return None
    return str(value)


def _listed(value: object) -> str | None:
    """Return a list of resources as `cpu=4,gres/gpu=2`."""
    if isinstance(value, str):
        return value or None
    if not isinstance(value, list):
        return None
    found = []
    for each in map(_object, value):
        name = "/".join(part for key in ("type", "name") if (part := _text(each.get(key))))
        found.append(f"{name}={number_of(each.get('count'))}")
    return ",".join(found) or None


def state_name(value: object) -> str | None:
    """Return the state, or the first of several, such as COMPLETED and a flag."""
    if isinstance(value, dict):
        value = value.get("current")
    if isinstance(value, list):
        value = value[0] if value else None
    return _text(value)
