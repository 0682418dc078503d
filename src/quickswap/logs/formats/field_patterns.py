"""Assigns the parts of a sacct row to its fields if a text field contains the delimiter."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

__all__ = ["FREE", "FieldPatterns"]

FREE = frozenset(
    (
        *("jobname", "comment", "admincomment", "systemcomment", "workdir", "submitline"),
        *("extra", "container", "stdin", "stdout", "stderr", "constraints", "reason"),
    )
)
"""Text fields, in which users may write anything."""

_MISSING = r"||unknown|none|n/a|nan|null|\(null\)|none assigned|invalid"
_TIME = r"\d{4}-\d\d-\d\d.*|\d{9,11}" + _MISSING
_DURATION = r"[\d:.-]*\d[\d:.-]*|unlimited|partition_limit" + _MISSING
_NUMBER = r"-?\d+(?:\.\d+)?[kmgtp]?" + _MISSING
_STATE = r"[a-z_]+(?: by .*)?\+?" + _MISSING
_LISTED = r"[^\s=]+=\S*" + _MISSING
_PATTERNS = {
    r"\d[\w.+%,:\[\]-]*": "jobid jobidraw",
    _TIME: "submit eligible start end",
    _DURATION: "elapsed suspended totalcpu usercpu systemcpu cputime timelimit reserved planned",
    _NUMBER: "elapsedraw cputimeraw timelimitraw alloccpus ncpus reqcpus allocnodes nnodes "
    "reqnodes ntasks uid gid associd dbindex priority qosraw restarts plannedcpuraw",
    _STATE: "state",
    r"\d+:\d+" + _MISSING: "exitcode derivedexitcode",
    _LISTED: "alloctres reqtres",
}
_PATTERN = {
    name: re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern, names in _PATTERNS.items()
    for name in names.split()
}
_FEWEST = 3
"""Fields that must match their patterns at the beginning of a row."""
_LISTS = ("alloctres", "reqtres")


class FieldPatterns:
    """The patterns of the fields of a row.

    A text field consists of one or more parts. Any other field consists of one part, which must
    match the pattern of the field: a time, a duration, a number, a state or a list of resources.
    With commas as delimiters, a list of resources may also consist of several parts.
    """

    def __init__(self, names: Sequence[str], used: Sequence[str], commas: bool) -> None:
        """`used`: fields whose assignment must be unique."""
        first = [re.sub(r"_\d+$", "", name) for name in names]  # of repeated names
        self._patterns = [_PATTERN.get(name) for name in first]
        self._many = [name in FREE or (commas and name in _LISTS) for name in first]
        self._free = [name in FREE for name in first]
        self._used = [index for index, name in enumerate(names) if name in used]
        self.flexible = any(self._many)
        self._after = self._free.index(True) + 1 if any(self._free) else len(self._free)

    def begins(self, parts: list[str]) -> bool:
        """Return whether a line begins a row, from the fields before the first text field.

        Some of these must match their patterns; empty fields match any pattern and do not count.
        """
        reached = {0: 0}  # most matching fields by the number of parts assigned
        for index, free in enumerate(self._free):
            if free and any(each >= _FEWEST for at, each in reached.items() if at < len(parts)):
                return True
            following: dict[int, int] = {}
            for at, each in reached.items():
                for end in range(at, len(parts) if self._many[index] else min(at + 1, len(parts))):
                    if self._takes(index, at - index, end - index, parts):
                        more = self._patterns[index] is not None and parts[at].strip() != ""
                        following[end + 1] = max(following.get(end + 1, 0), each + more)
            reached = following
        return any(each >= _FEWEST for each in reached.values())

    def matches(self, parts: list[str]) -> bool:
        """Return whether all fields match their patterns, given one part per field."""
        return all(self._takes(index, 0, 0, parts) for index in range(len(self._many)))

    def likely(self, names: Sequence[str]) -> pl.Expr | None:
        """Return whether the columns after the first text field match; None without such columns.

        A row that is split within a text with delimiters may have the right number of them.
        """
        checks = [
            pl.col(name)
            .fill_null("")
            .str.strip_chars()
            .str.contains(f"(?is)^(?:{pattern.pattern})$")
            for name, pattern in zip(names, self._patterns, strict=True)
            if pattern is not None
        ][sum(pattern is not None for pattern in self._patterns[: self._after]) :]
        return pl.all_horizontal(checks) if checks else None

    def fields(self, parts: list[str], delimiter: str) -> tuple[list[str], bool] | None:
        """Return the fields, and whether a text contains the delimiter; None if ambiguous."""
        shifts = self._shifts(parts)
        if shifts is None:
            return None
        result, free, at = [], False, 0
        for index in range(len(self._many)):
            following = next(s for s in shifts[index + 1] if self._takes(index, at, s, parts))
            result.append(delimiter.join(parts[index + at : index + following + 1]))
            free |= self._free[index] and following > at
            at = following
        return result, free

    def _shifts(self, parts: list[str]) -> list[list[int]] | None:
        """Return the possible shifts of each field, in parts; None if they are ambiguous."""
        n, extra = len(self._many), len(parts) - len(self._many)
        forward = [{0}]
        for index in range(n):
            forward.append(
                {
                    after
                    for before in forward[index]
                    for after in range(before, extra + 1 if self._many[index] else before + 1)
                    if self._takes(index, before, after, parts)
                }
            )
        reached = {extra} & forward[n]
        shifts = [sorted(reached)]
        for index in reversed(range(n)):
            reached = {
                before
                for before in forward[index]
                if any(self._takes(index, before, after, parts) for after in reached)
            }
            shifts.append(sorted(reached))
        shifts.reverse()
        if not all(len(shifts[index]) == 1 == len(shifts[index + 1]) for index in self._used):
            return None
        return shifts if all(shifts) else None

    def _takes(self, index: int, before: int, after: int, parts: list[str]) -> bool:
        """Return whether a field can consist of the parts between two shifts, both included."""
        if after < before or (after > before and not self._many[index]):
            return False
        pattern = self._patterns[index]
        return pattern is None or all(
            pattern.fullmatch(part.strip()) for part in parts[index + before : index + after + 1]
        )
