"""Counts what becomes of the rows of a log, and tells it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

import polars as pl

from quickswap._words import counted
from quickswap.logs.errors import LogError
from quickswap.logs.rules import MARKS, RULES, Kind, bit

__all__ = ["DROP", "MARK", "Finding", "QualityReport", "Tally"]

SHOWN = 5
"""Line numbers kept a rule."""

DROP = "_drop"
"""Column: the name of the rule that drops the row, or null."""

MARK = "_marks"
"""Column: the bits of the rules that repair or note something in the row."""


@dataclass(frozen=True)
class Finding:
    """How often a rule applied, and on which lines first.

    Attributes:
        rule: the name of the rule.
        kind: "dropped", "left out" (asked for), "repaired" or "noted".
        count: rows. A row is dropped by one rule; repairs and notes are counted on rows kept.
        lines: the first line numbers, from 1; rows of a Parquet file are counted from 1.
    """

    rule: str
    kind: Kind
    count: int
    lines: tuple[int, ...]

    @property
    def text(self) -> str:
        """What the rule says."""
        return RULES[self.rule].text

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.lines) else ""
        word = "line" if self.count == 1 else "lines"
        where = f" ({word} {', '.join(map(str, self.lines))}{more})" if self.lines else ""
        return f"{self.count:>9,} {self.kind}: {self.text}{where}"


@dataclass(frozen=True)
class QualityReport:
    """What became of the rows of a log; printed as text.

    Attributes:
        source: the file.
        rows: rows read; `rows == kept + dropped`.
        kept: rows that are jobs of the log.
        repaired: rows kept of which at least one value was put right.
        dropped: rows not kept, those that the caller left out included.
        findings: the rules that applied, in the order of their table.
        facts: sentences about the log as a whole.
        states: rows read by the state of the job; "unknown" where there is none.
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
        """How many rows a rule applied to."""
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
        """Return everything as plain numbers, texts, lists and dicts."""
        return {
            "source": self.source,
            "rows": self.rows,
            "kept": self.kept,
            "repaired": self.repaired,
            "dropped": self.dropped,
            "findings": [
                {"rule": each.rule, "kind": each.kind, "count": each.count, "lines": [*each.lines]}
                for each in self.findings
            ],
            "facts": list(self.facts),
            "states": dict(self.states),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> QualityReport:
        """Return the report that `to_dict` told."""
        findings = tuple(
            Finding(each["rule"], each["kind"], each["count"], tuple(each["lines"]))
            for each in data["findings"]
        )
        rest = {key: data[key] for key in ("source", "rows", "kept", "repaired", "dropped")}
        return cls(
            **rest, findings=findings, facts=tuple(data["facts"]), states=dict(data["states"])
        )


@dataclass
class Tally:
    """Counts while a log is read."""

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
        """Keep what stands on a line if it is the first one that a rule is about."""
        if rule not in self.examples or line < self.examples[rule][0]:
            self.examples[rule] = line, text

    def sift(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that no rule drops, with the others counted."""
        dropped = frame.filter(pl.col(DROP).is_not_null())
        if dropped.is_empty():
            return frame
        found = dropped.group_by(DROP).agg(
            pl.len().alias("count"), pl.col("line").sort().head(SHOWN).alias("lines")
        )
        for rule, count, lines in found.rows():
            self.add(rule, count, lines)
        return frame.filter(pl.col(DROP).is_null())

    def report(self, kept: pl.DataFrame) -> QualityReport:
        """Return the report, given the rows that are left."""
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
        """Return what was counted so far, in the order of the rules."""
        return tuple(
            Finding(rule.name, rule.kind, self.counts[rule.name], tuple(self.lines[rule.name]))
            for rule in RULES.values()
            if self.counts[rule.name]
        )

    def reasons(self) -> str:
        """Return why rows were dropped, the most frequent reason first, for an error."""
        found = [each for each in self.findings() if each.kind in ("dropped", "left out")]
        found.sort(key=lambda each: -each.count)
        return "; ".join(
            f"{each.count:,} {each.text} (first: line {each.lines[0]}{self.quoted(each)})"
            for each in found
        )

    def about(self, *names: str) -> bool:
        """Whether the first text that cannot be read is of a field of one of these names."""
        return self.examples.get("unreadable", (0, ""))[1].startswith(names)

    def quoted(self, found: Finding) -> str:
        """Return what stands on the first line of a finding, if that was kept, after a comma."""
        line, text = self.examples.get(found.rule, (0, ""))
        return f", {text}" if found.lines and line == found.lines[0] else ""


def refuse_first(report: QualityReport, tally: Tally) -> None:
    """Raise the first drop or repair of a log that is read strictly."""
    found = [each for each in report.findings if each.kind in ("dropped", "repaired")]
    if not found:
        return
    first = min(found, key=lambda each: each.lines[0])
    verb = "would be dropped" if first.kind == "dropped" else "would be repaired"
    raise LogError(
        f"{report.source}, line {first.lines[0]}, {RULES[first.rule].field}: {first.text}"
        f"{tally.quoted(first)}, so that "
        f"the row {verb}; correct the file, or read it without strict."
    )
