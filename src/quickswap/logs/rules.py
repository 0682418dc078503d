"""The rules for the rows of a log: what is dropped, repaired or noted, and when.

A rule of kind "dropped" removes a row, "left out" removes it because of an option,
"repaired" changes a value, and "noted" only counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

__all__ = ["MARKS", "NEED", "RULES", "WHEN", "Kind", "Rule", "bit"]

Kind = Literal["dropped", "left out", "repaired", "noted"]


@dataclass(frozen=True)
class Rule:
    """A rule: its name, its kind, the field it concerns, and its text."""

    name: str
    kind: Kind
    field: str
    text: str


_RULES = [
    # Rows that cannot be read
    Rule("fields", "dropped", "number of fields", "too few fields, or too many to assign"),
    Rule("unreadable", "dropped", "submit, need or size", "not a number or a time, or above 1e12"),
    Rule("swallowed", "dropped", "row", "a complete row within a text field of another row"),
    # Rows that are not jobs, or jobs without work
    Rule("step", "dropped", "job", "a job step, not a job"),
    Rule(
        "skipped_time",
        "dropped",
        "time",
        "a local time skipped by daylight saving: wrong time zone",
    ),
    Rule("partial", "dropped", "state", "a part of a job that has its own row"),
    Rule("duplicate", "dropped", "job", "the same run of the same job, with the same times"),
    Rule(
        "never_started",
        "dropped",
        "state",
        "cancelled or pending and never started, or without time and servers",
    ),
    # Jobs that lack what a simulation requires
    Rule("unknown_submit", "dropped", "submit", "without a submission time"),
    Rule("unknown_size", "dropped", "size", "without a run time"),
    Rule("unknown_need", "dropped", "need", "without a server need, allocated or requested"),
    Rule("above_servers", "dropped", "need", "needs more servers than the machine or its pool has"),
    Rule("no_pool", "dropped", "partition", "in no pool: its partition, queue or class is unknown"),
    # Jobs outside the selection of the caller
    Rule("other_partition", "left out", "partition", "in another partition"),
    Rule("outside_window", "left out", "submit", "submitted outside the selected time"),
    Rule("need_cap", "left out", "need", "need outside the selected limits"),
    Rule("size_cap", "left out", "size", "run time outside the selected limits"),
    Rule("no_gpu", "left out", "need", "uses no GPU, and the unit is GPUs"),
    # Values that are repaired
    Rule("line_end", "repaired", "line end", "the line ending differs from the first: accepted"),
    Rule("encoding", "repaired", "text", "not UTF-8: invalid bytes are replaced by U+FFFD"),
    Rule(
        "field_count",
        "repaired",
        "number of fields",
        "17 or more than 18 fields: the first 18 are read",
    ),
    Rule("split_row", "repaired", "free text", "a line break in a text field: lines are joined"),
    Rule("free_text", "repaired", "free text", "a delimiter in a text field: kept as text"),
    Rule(
        "need_requested",
        "repaired",
        "need",
        "without allocated servers: the requested number is used",
    ),
    Rule("need_rounded", "repaired", "need", "not a whole number: rounded up"),
    Rule(
        "zero_size",
        "repaired",
        "size",
        "a run time of 0 s, not cancelled: 1 s is used, as times are rounded",
    ),
    Rule("running", "repaired", "size", "running or suspended: the time so far is used"),
    Rule("size_from_times", "repaired", "size", "without an elapsed time: end - start is used"),
    Rule("negative_wait", "repaired", "wait", "started before its submission: the wait is unknown"),
    Rule(
        "ambiguous_time",
        "repaired",
        "time",
        "a local time repeated by daylight saving: the earlier is used",
    ),
    Rule(
        "gap_time",
        "repaired",
        "time",
        "a local time skipped by daylight saving: derived from the run time, or unknown",
    ),
    Rule("bad_value", "repaired", "value", "not a number or a time, in an optional field: unknown"),
    Rule("unsorted", "repaired", "submit", "submitted before an earlier row: sorted"),
    # Facts that are only counted
    Rule("cut_field", "noted", "row", "a field is truncated at its width, and ends with `+`"),
    Rule("header_words", "noted", "row", "words before the first job: read as a header"),
    Rule("no_estimate", "noted", "estimate", "without an estimate: the run time is used"),
    Rule("overrun", "noted", "size", "ran longer than its estimate"),
    Rule("other_need", "noted", "need", "allocated and requested servers differ"),
    Rule("no_wait", "noted", "wait", "without a wait"),
    Rule("idle_state", "noted", "state", "ran, but its state is that of a waiting job"),
    Rule(
        "suspended",
        "noted",
        "size",
        "end - start differs from the elapsed time: the elapsed time is used",
    ),
    Rule("held", "noted", "submit", "eligible only after its submission: dependent or held"),
    Rule(
        "heterogeneous",
        "noted",
        "job",
        "a component of a heterogeneous job: read as a separate job",
    ),
]

_SUBMIT, _SIZE, _NEED, _WAIT = (pl.col(name) for name in ("submit", "size", "need", "wait"))
_REQUESTED, _ESTIMATE, _STATE = (pl.col(name) for name in ("requested", "estimate", "state"))
_ALLOCATED = (_NEED > 0).fill_null(False)
_IDLE = _STATE.is_in(["pending", "future", "queued", "requeue_fed", "requeue_hold"])
_CANCELLED = _STATE.is_in(["cancelled", "deadline", "boot_fail", "revoked"])
_REQUEUED = (_STATE == "requeued") & ~(_SIZE.is_null() & _WAIT.is_not_null())
_NO_START = _IDLE | _CANCELLED | _REQUEUED | ((_SIZE == 0) & (_NEED == 0))

NEED = pl.when(_ALLOCATED).then(_NEED).otherwise(_REQUESTED)
"""The need of a job: the number of allocated servers, or of requested servers if it is unknown."""

WHEN: dict[str, pl.Expr] = {
    "never_started": ~(_SIZE > 0).fill_null(False) & _NO_START,
    "unknown_submit": _SUBMIT.is_null() | (_SUBMIT < 0),
    "unknown_size": _SIZE.is_null() | (_SIZE < 0),
    "unknown_need": ~((_NEED > 0) | (_REQUESTED > 0)).fill_null(False),
    "need_requested": ~_ALLOCATED,
    "need_rounded": NEED.ceil() != NEED,
    "zero_size": _SIZE == 0,
    "negative_wait": _WAIT < 0,
    "no_estimate": ~(_ESTIMATE > 0).fill_null(False),
    "overrun": (_ESTIMATE > 0) & (_SIZE > _ESTIMATE),
    "other_need": _ALLOCATED & (_REQUESTED > 0) & (_REQUESTED != _NEED),
    "no_wait": _WAIT.is_null(),
    "idle_state": _IDLE,
    "held": pl.col("eligible") > _SUBMIT,
}
"""The conditions of rules on the quantities of a row, before any repair.

A job with a run time has started, whatever its state. The other rules require the text of the row,
or other rows; their conditions are in the modules that apply them.
"""

RULES: dict[str, Rule] = {rule.name: rule for rule in _RULES}
"""All rules by name."""

MARKS = [rule.name for rule in _RULES if rule.kind in ("repaired", "noted")]
"""The rules that mark rows which are kept: bit i of the marks of a row is the i-th rule."""


def bit(name: str) -> int:
    """Return the mark of a rule."""
    return 1 << MARKS.index(name)
