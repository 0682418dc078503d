"""Local times in the hour that daylight saving repeats or skips, resolved from the run time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import polars as pl

from quickswap.logs import times

__all__ = ["TIME_FIELDS", "ResolvedTimes", "resolve"]

TIME_FIELDS = ("submit", "eligible", "start", "end")
_SHIFT = times.DAY
"""Seconds from a skipped time to times at which the offset before and after the change holds."""
_ROUNDING = 1.0
"""Largest difference of end - start and the elapsed time that is due to rounding, in seconds."""


@dataclass(frozen=True)
class ResolvedTimes:
    """The times of a row.

    Attributes:
        moments: the values of `TIME_FIELDS`, in Unix seconds or None.
        ambiguous: whether several interpretations fit; the earliest is used.
        skipped: names of the times that daylight saving skips.
        bad: names of the times that cannot be parsed.
    """

    moments: tuple[float | None, ...]
    ambiguous: bool
    skipped: frozenset[str]
    bad: frozenset[str]


def resolve(rows: pl.DataFrame, zone: str) -> list[ResolvedTimes]:
    """Return the times of each row, chosen such that submission, start and end are in order.

    If the run time is known, end - start equals it, or is longer because of a suspension. A skipped
    time is known only if the run time determines it.

    Args:
        rows: the columns of `TIME_FIELDS` as logged, and `size` and `wait` in seconds or null.
        zone: the time zone of local times.
    """
    choices = zip(*(_choices(rows[name], zone) for name in TIME_FIELDS), strict=True)
    return [
        _resolved(each, size, wait)
        for each, size, wait in zip(choices, rows["size"], rows["wait"], strict=True)
    ]


_Choice = tuple[list[float | None], bool, bool]
"""The possible values of a local time, whether it is skipped, and whether it is unparsable."""


def _choices(logged: pl.Series, zone: str) -> list[_Choice]:
    frame = logged.to_frame("moment")
    column = pl.col("moment")
    table = frame.select(
        times.seconds(column, zone, "earliest").alias("earliest"),
        times.seconds(column, zone, "latest").alias("latest"),
        times.seconds(column, "UTC").alias("naive"),
    )
    found: list[_Choice] = []
    for (earliest, latest, naive), given in zip(table.rows(), logged.is_not_null(), strict=True):
        if earliest is None and naive is not None:
            found.append((_around(naive, zone), True, False))
        else:
            several = earliest != latest
            found.append(
                ([earliest, latest] if several else [earliest], False, given and earliest is None)
            )
    return found


def _around(naive: float, zone: str) -> list[float | None]:
    """Return a skipped time at the offset after the change of clocks, and at the one before."""
    around = pl.Series([naive + _SHIFT, naive - _SHIFT]) * 1_000_000
    local = around.cast(pl.Int64).cast(pl.Datetime("us")).dt.replace_time_zone(zone)
    offsets = (local.dt.base_utc_offset() + local.dt.dst_offset()).dt.total_seconds()
    return [naive - offset for offset in offsets]


def _resolved(
    choices: tuple[_Choice, ...], size: float | None, wait: float | None
) -> ResolvedTimes:
    skipped = frozenset(name for name, each in zip(TIME_FIELDS, choices, strict=True) if each[1])
    bad = frozenset(name for name, each in zip(TIME_FIELDS, choices, strict=True) if each[2])
    possible = list(product(*(each[0] for each in choices)))
    ordered = [each for each in possible if _ordered(each)] or possible
    exact = [each for each in ordered if _runs(each, size, longest=_ROUNDING)]
    longer = [each for each in ordered if _runs(each, size, longest=float("inf"))]
    left = exact or longer or ordered
    proven = {"start", "end"} if exact else set()
    left = sorted(
        {
            tuple(
                None if name in skipped - proven else moment
                for name, moment in zip(TIME_FIELDS, each, strict=True)
            )
            for each in left
        },
        key=lambda each: [moment or 0.0 for moment in each],
    )
    used = {
        (
            submit,
            eligible,
            start if wait is None or size is None else None,
            end if size is None else None,
        )
        for submit, eligible, start, end in left
    }
    return ResolvedTimes(left[0], len(used) > 1, skipped, bad)


def _ordered(moments: tuple[float | None, ...]) -> bool:
    submit, _, start, end = moments
    there = [each for each in (submit, start, end) if each is not None]
    return there == sorted(there)


def _runs(moments: tuple[float | None, ...], size: float | None, longest: float) -> bool:
    """Whether end - start is the run time plus 0 to `longest` seconds."""
    _, _, start, end = moments
    if size is None or start is None or end is None:
        return False
    return -_ROUNDING <= end - start - size <= longest
