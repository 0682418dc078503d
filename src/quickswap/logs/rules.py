"""What may happen to a row of a log, and what is decided then: one table.

A rule of kind "dropped" keeps the row out of the log, "left out" does so because the caller asked
for it, "repaired" changes a value, and "noted" only counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MARKS", "RULES", "Kind", "Rule", "bit"]

Kind = Literal["dropped", "left out", "repaired", "noted"]


@dataclass(frozen=True)
class Rule:
    """One decision: its name, what becomes of the row, the field it is about, and why."""

    name: str
    kind: Kind
    field: str
    text: str


_TABLE = [
    # A row that cannot be read
    Rule("fields", "dropped", "number of fields", "too few fields, or too many to assign"),
    Rule("unreadable", "dropped", "submit, need or size", "not a number or a time, or beyond 1e12"),
    Rule(
        "swallowed", "dropped", "row", "has all fields of a row, but stands in the text of another"
    ),
    # A row that is no job, or no load
    Rule("step", "dropped", "job", "a step of a job, not a job"),
    Rule("skipped_time", "dropped", "time", "an hour that clocks skip: not in this time zone"),
    Rule("partial", "dropped", "state", "a part of a job that has a row of its own"),
    Rule("duplicate", "dropped", "job", "the same run of the same job, with the same times"),
    Rule("never_started", "dropped", "state", "cancelled or still pending, never ran: no load"),
    # A job that lacks what a simulation needs
    Rule("unknown_submit", "dropped", "submit", "no submit time"),
    Rule("unknown_size", "dropped", "size", "no run time"),
    Rule("unknown_need", "dropped", "need", "no server need, neither allocated nor requested"),
    Rule("above_servers", "dropped", "need", "needs more servers than there are"),
    # A job that the caller did not ask for
    Rule("other_partition", "left out", "partition", "in another partition"),
    Rule("outside_window", "left out", "submit", "submitted outside the time asked for"),
    Rule("need_cap", "left out", "need", "needs fewer or more than asked for"),
    Rule("size_cap", "left out", "size", "shorter or longer than asked for"),
    Rule("no_gpu", "left out", "need", "holds no GPU, where the unit is GPUs"),
    # A value that is put right
    Rule("line_end", "repaired", "line end", "the line ends otherwise than the first: read alike"),
    Rule("encoding", "repaired", "text", "not UTF-8: what cannot be read is replaced by U+FFFD"),
    Rule(
        "field_count", "repaired", "number of fields", "17, 19 or more fields: the first 18 count"
    ),
    Rule("split_row", "repaired", "free text", "a line end in a free text: the lines are joined"),
    Rule("free_text", "repaired", "free text", "a `|` in a free text: taken as a part of it"),
    Rule("need_requested", "repaired", "need", "allocated servers unknown: the requested ones"),
    Rule("need_rounded", "repaired", "need", "not a whole number: rounded up"),
    Rule(
        "zero_size", "repaired", "size", "ran for 0 s, not cancelled: 1 s, since times are rounded"
    ),
    Rule("running", "repaired", "size", "still running or suspended: its time so far is its size"),
    Rule("size_from_times", "repaired", "size", "no elapsed time: end - start"),
    Rule("negative_wait", "repaired", "wait", "starts before its submission: the wait is unknown"),
    Rule("ambiguous_time", "repaired", "time", "in the hour that clocks repeat: the first one"),
    Rule(
        "gap_time", "repaired", "time", "in an hour that clocks skip: from the run time, or unknown"
    ),
    Rule(
        "bad_value", "repaired", "value", "not a number or a time, in a field not needed: unknown"
    ),
    Rule("unsorted", "repaired", "submit", "submitted before a row above it: sorted"),
    # What is worth knowing
    Rule("cut_field", "noted", "row", "a field is cut off at its width, with a `+` at its end"),
    Rule("header_words", "noted", "row", "words before the first job: taken for a header"),
    Rule("no_estimate", "noted", "estimate", "no estimate: the size stands for it"),
    Rule("overrun", "noted", "size", "ran longer than its estimate"),
    Rule("other_need", "noted", "need", "allocated servers differ from the requested ones"),
    Rule("no_wait", "noted", "wait", "the wait is not logged"),
    Rule("idle_state", "noted", "state", "has run, although its state is that of a job that waits"),
    Rule("suspended", "noted", "size", "end - start is not the elapsed time: the latter counts"),
    Rule("held", "noted", "submit", "eligible only after its submission: dependent, or held"),
    Rule("heterogeneous", "noted", "job", "a part of a heterogeneous job: a job of its own here"),
]

RULES: dict[str, Rule] = {rule.name: rule for rule in _TABLE}
"""Every rule, by name, in the order of the table."""

MARKS = [rule.name for rule in _TABLE if rule.kind in ("repaired", "noted")]
"""The rules that mark a row which stays: bit i of a row's marks is that of the i-th."""


def bit(name: str) -> int:
    """Return the mark of a rule."""
    return 1 << MARKS.index(name)
