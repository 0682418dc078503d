"""Logs, comparisons and pages that the tests of the report share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from logs_helpers import written
from quickswap import logs, write_report
from quickswap.replays import ReplayComparison, replay_all
from quickswap.report.data import ReportData

DAY = 86400.0
WEEK = 7 * DAY
SECTIONS = ("summary", "causes", "policies", "gains", "waits", "queue", "jobs", "schedule", "log",
            "limits", "computed")  # fmt: skip
Row = tuple[float, int, float, str, str, float]
"""Submission, need, size, user, group, wait as logged."""


def rows(jobs: int, span: float, servers: int = 8, load: float = 0.8, users: int = 5) -> list[Row]:
    random = np.random.default_rng(3)
    submit = np.sort(np.rint(random.uniform(0, span, jobs)))
    need = random.integers(1, servers + 1, jobs)
    size = np.rint(random.exponential(1.0, jobs) * load * servers * span / need.sum()) + 1
    owner = random.integers(0, users, jobs)
    return [
        (float(a), int(n), float(s), f"u{o}", f"g{o % 3}", float(a % 50))
        for a, n, s, o in zip(submit, need, size, owner, strict=True)
    ]


def log_of(folder: Path, jobs: Iterable[Row], servers: int = 8, without: str = "") -> logs.JobLog:
    """Read a log of some jobs; `without` names columns to omit."""
    names = ["submit", "need", "size", "user", "group", "wait"]
    kept = [i for i, name in enumerate(names) if name not in without.split()]
    lines = [",".join(str(row[i]) for i in kept) for row in jobs]
    text = "\n".join([",".join(names[i] for i in kept), *lines]) + "\n"
    return logs.read(written(folder, text, "jobs.csv"), servers=servers)


def busy(weeks: int = 12, load: float = 0.9, seed: int = 5, bursts: int = 0) -> pl.DataFrame:
    """Return jobs of a machine of 8 servers; with `bursts` all on this many days."""
    draw = np.random.default_rng(seed)
    jobs, span = 1500, weeks * WEEK
    need = draw.choice([1, 2, 8], jobs, p=[0.7, 0.2, 0.1])
    size = draw.exponential(1.0, jobs)
    size = np.rint(size * load * 8 * span / (need * size).sum()) + 1
    submit = draw.uniform(0, span, jobs)
    if bursts:
        submit = np.floor(submit / span * bursts) * span / bursts + draw.uniform(0, DAY / 4, jobs)
    return pl.DataFrame(
        {
            "submit": np.rint(np.sort(submit)),
            "need": need,
            "size": size,
            "user": draw.choice(["ann", "bob", "cy"], jobs, p=[0.7, 0.25, 0.05]),
        }
    )


def starved() -> pl.DataFrame:
    """Return jobs of which the few that need the whole machine starve where others may pass."""
    draw = np.random.default_rng(3)
    need = draw.choice([1, 2, 8], 1500, p=[0.6, 0.38, 0.02])
    size = draw.exponential(1.0, 1500)
    size = np.rint(size * 0.7 * 8 * 140 * DAY / (need * size).sum()) + 1
    return busy(weeks=20, seed=3).with_columns(need=need, size=size)


def replayed(
    folder: Path, jobs: pl.DataFrame, *policies: str, servers: int | None = 8, head: str = ""
) -> ReportData:
    """Return replays of jobs, read as a table, or as SWF if there are lines of its header."""
    if head:
        path = folder / "log.swf"
        columns = jobs.select("submit", "size", "need").rows()
        lines = (f"{i} {a:.0f} -1 {s:.0f} {n} -1 -1 {n} -1 -1 1 {i % 3} 1 1 1 1 -1 -1\n"
                 for i, (a, s, n) in enumerate(columns, 1))  # fmt: skip
        path.write_text(head + "".join(lines))
    else:
        path = folder / "log.parquet"
        jobs.write_parquet(path)
    return ReportData.of(replay_all(logs.read(path, servers=servers), policies), None, None)


class Page(HTMLParser):
    """A page taken apart, well formed, complete, and without any request to the network.

    Attributes:
        text: of each section, by its anchor, without scripts and styles; "" is the head.
        tables: by caption, the rows of cells.
        data: of the schedule, for the script.
        tags: all elements with their attributes.
    """

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {"": ""}
        self.tables: dict[str, list[list[str]]] = {}
        self.data: dict[str, Any] = {}
        self._open: list[str] = []
        self._section = self._caption = ""
        self.feed(source)
        self.close()
        assert self._open == []
        ids = [str(each["id"]) for _, each in self.tags if "id" in each]
        assert len(ids) == len(set(ids))
        links = {str(value) for _, each in self.tags for key, value in each.items()
                 if key in ("href", "src", "data", "action")}  # fmt: skip
        assert {f"#{section}" for section in SECTIONS} <= links <= {f"#{each}" for each in ids}
        assert not re.search(r"https?:|@import|url\((?!#)", source)
        assert source.startswith('<!DOCTYPE html>\n<html lang="en">')
        assert tuple(filter(None, self.text)) == SECTIONS
        assert [name for name, _ in self.tags].count("h1") == 1
        assert not re.search(r"\bnan\b|\bNone\b(?!\))|\bUndefined\b|&amp;\w+;", " ".join(self))

    def __iter__(self) -> Any:
        return iter(self.text.values())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert not any(key.startswith("on") for key, _ in attrs)
        if tag == "section":
            self._section = str(dict(attrs)["id"])
            self.text[self._section] = ""
        if tag == "caption":
            self._caption = ""
        if tag == "tr":
            self.tables[self._caption].append([])
        if tag in ("th", "td"):
            self.tables[self._caption][-1].append("")
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag == "caption":
            self.tables[self._caption] = []

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("script", "style"):
            if self._open[-1] == "script" and data.startswith("{"):
                self.data = json.loads(data)
            return
        data = data.replace("\N{NO-BREAK SPACE}", " ")
        self.text[self._section] += data
        if "caption" in self._open:
            self._caption += data
        elif {"th", "td"} & set(self._open):
            self.tables[self._caption][-1][-1] += data


def page_of(comparison: ReplayComparison, folder: Path, **options: str) -> Page:
    path = folder / "report.html"
    write_report(comparison, path, **options)
    return Page(path.read_text(encoding="utf-8"))
