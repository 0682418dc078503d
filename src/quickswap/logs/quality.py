"""The quality report of a log: how many rows each rule concerned."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any, cast

import msgspec
import polars as pl

from quickswap._words import counted
from quickswap.errors import LogError
from quickswap.logs.rules import MARKS, RULES, Kind, bit

__all__ = ["DROP", "MARK", "Finding", "QualityReport", "Tally"]

SHOWN = 5
"""Line numbers kept per rule."""

DROP = "_drop"
"""Column with the name of the rule that drops the row, or null."""

MARK = "_marks"
"""Column with the bits of the rules that repair or note a value of the row."""


@dataclass(frozen=True)
class Finding:
    """The number of rows to which a rule applied, and the first of them.

    Attributes:
        rule: the name of the rule.
        kind: "dropped", "left out" (by the selection), "repaired" or "noted".
        count: rows. A row is dropped by one rule; repairs and notes count rows that are kept.
        lines: the first line numbers, from 1; for Parquet files, the first row numbers.
    """

    rule: str
    kind: Kind
    count: int
    lines: tuple[int, ...]

    @property
    def text(self) -> str:
        """The text of the rule."""
        return RULES[self.rule].text

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.lines) else ""
        word = "line" if self.count == 1 else "lines"
        where = f" ({word} {', '.join(map(str, self.lines))}{more})" if self.lines else ""
        return f"{self.count:>9,} {self.kind}: {self.text}{where}"


@dataclass(frozen=True)
class QualityReport:
    """The numbers of rows kept, repaired and dropped; `str` gives it as text.

    Attributes:
        source: the file.
        rows: rows read; `rows == kept + dropped`.
        kept: rows that are jobs of the log.
        repaired: rows kept with at least one repaired value.
        dropped: rows not kept, including those outside the selection.
        findings: the rules that applied, in the order of `RULES`.
        facts: sentences about the log as a whole.
        states: rows read by the state of the job; "unknown" for rows without one.
    """

    source: str
    rows: int
    kept: int
    repaired: int
    dropped: int
    findings: tuple[Finding, ...]
    facts: tuple[str, ...]
    states: dict[str, int]

    def __getitem__(self, rule: str) -> int:
        """Number of rows to which a rule applied."""
        if rule not in RULES:
            raise KeyError(rule)
        return next((each.count for each in self.findings if each.rule == rule), 0)

    def __str__(self) -> str:
        rows, kept = counted(self.rows, "row", ","), counted(self.kept, "job", ",")
        repaired, dropped = f"{self.repaired:,} of them repaired", counted(self.dropped, "row", ",")
        head = f"{self.source}: {rows}, {kept} kept ({repaired}), {dropped} dropped"
        states = ", ".join(f"{name} {count:,}" for name, count in self.states.items())
        return "\n".join(
            [
                head,
                *map(str, self.findings),
                *([f"States: {states}."] if states else []),
                *self.facts,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain numbers, texts, lists and dicts."""
        return cast("dict[str, Any]", msgspec.to_builtins(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> QualityReport:
        """Return the report from the result of `to_dict`."""
        return msgspec.convert(data, cls)


@dataclass
class Tally:
    """The counts of a quality report while a log is read."""

    source: str
    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    lines: dict[str, list[int]] = field(default_factory=dict)
    examples: dict[str, tuple[int, str]] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)

    def add(self, rule: str, count: int, lines: list[int]) -> None:
        """Count `count` more rows under a rule; `lines` holds at least the first of their lines."""
        if count:
            self.counts[rule] += count
            self.lines[rule] = sorted([*self.lines.get(rule, []), *lines])[:SHOWN]

    def example(self, rule: str, line: int, text: str) -> None:
        """Keep the text of a line if it is the first line to which a rule applies."""
        if rule not in self.examples or line < self.examples[rule][0]:
            self.examples[rule] = line, text

    def count_dropped(self, frame: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
        """Return the rows that no rule drops; count the others.

        `reason`: the name of the rule that drops a row, or null.
        """
        reasons = frame.select(reason.alias(DROP), "line")
        dropped = reasons.drop_nulls(DROP)
        if dropped.is_empty():
            return frame
        found = dropped.group_by(DROP).agg(
            pl.len().alias("count"), pl.col("line").sort().head(SHOWN).alias("lines")
        )
        for rule, count, lines in found.rows():
            self.add(rule, count, lines)
        return frame.filter(reasons[DROP].is_null())

    def report(self, kept: pl.DataFrame) -> QualityReport:
        """Return the report, given the rows that are kept."""
        marks, lines = kept.get_column(MARK), kept.get_column("line")
        present = reduce(or_, marks.unique().to_list(), 0)
        for name in MARKS:
            if present & bit(name):
                marked = lines.filter((marks & bit(name)) != 0)
                self.add(name, len(marked), marked.bottom_k(SHOWN).to_list())
        repairs = sum(bit(name) for name in MARKS if RULES[name].kind == "repaired")
        left = self.rows - kept.height
        return QualityReport(
            source=self.source,
            rows=self.rows,
            kept=kept.height,
            repaired=int(((marks & repairs) != 0).sum()),
            dropped=left,
            findings=self.findings(),
            facts=tuple(self.facts),
            states=dict(sorted(self.states.items(), key=lambda each: (-each[1], each[0]))),
        )

    def findings(self) -> tuple[Finding, ...]:
        """Return the counts so far, in the order of the rules."""
        return tuple(
            Finding(rule.name, rule.kind, self.counts[rule.name], tuple(self.lines[rule.name]))
            for rule in RULES.values()
            if self.counts[rule.name]
        )

    def reasons(self) -> str:
        """Return the reasons for which rows were dropped, the most frequent first."""
        found = [each for each in self.findings() if each.kind in ("dropped", "left out")]
        found.sort(key=lambda each: -each.count)
        return "; ".join(
            f"{each.count:,} {each.text} (first: line {each.lines[0]}{self.quoted(each)})"
            for each in found
        )

    def quoted(self, found: Finding) -> str:
        """Return a comma and the text of the first line of a finding, if that was kept."""
        line, text = self.examples.get(found.rule, (0, ""))
        return f", {text}" if found.lines and line == found.lines[0] else ""


def check_strictly(report: QualityReport, tally: Tally) -> None:
    """Reject a log with a dropped or repaired row.

    Raises:
        LogError: the first such row.
    """
    found = [each for each in report.findings if each.kind in ("dropped", "repaired")]
    if not found:
        return
    first = min(found, key=lambda each: each.lines[0])
    raise LogError(
        f"{report.source}, line {first.lines[0]}, {RULES[first.rule].field}: {first.text}"
        f"{tally.quoted(first)}; the row would be {first.kind}",
        argument="strict",
        given=True,
        advice="correct the file, or omit {strict}",
    )
