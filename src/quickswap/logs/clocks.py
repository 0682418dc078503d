"""Decides which moments are meant by local times in the hour that clocks repeat or skip."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import polars as pl

from quickswap.logs import times

__all__ = ["MOMENTS", "Decided", "decide"]

MOMENTS = ("submit", "eligible", "start", "end")
_SHIFT = 86400.0
"""Seconds from a skipped time to moments before and after it whose offsets from UTC are usual."""
_ROUNDING = 1.0
"""Seconds by which end - start and the elapsed time differ by rounding."""


@dataclass(frozen=True)
class Decided:
    """The moments of a row.

    Attributes:
        moments: those of `MOMENTS`, in seconds, or None.
        ambiguous: what is left of several readings that fit is the first.
        skipped: the moments that clocks skip.
        bad: the moments that are logged and cannot be read.
    """

    moments: tuple[float | None, ...]
    ambiguous: bool
    skipped: frozenset[str]
    bad: frozenset[str]


def decide(rows: pl.DataFrame, zone: str) -> list[Decided]:
    """Return what the moments of each row are: those in the order submit, start, end.

    Where the run time is known, end - start is it, or is longer because of a suspension. A time
    that clocks skip is known only where this says so.

    Args:
        rows: the columns of `MOMENTS` as they are logged, and `size` and `wait` in seconds or null.
        zone: the time zone of local times.
    """
    choices = zip(*(_choices(rows[name], zone) for name in MOMENTS), strict=True)
    return [
        _decided(each, size, wait)
        for each, size, wait in zip(choices, rows["size"], rows["wait"], strict=True)
    ]


_Choice = tuple[list[float | None], bool, bool]
"""The moments that a local time may mean, and whether clocks skip it, or it cannot be read."""


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
    """Return a skipped time by the offset after the change of clocks and by that before it."""
    around = pl.Series([naive + _SHIFT, naive - _SHIFT]) * 1_000_000
    local = around.cast(pl.Int64).cast(pl.Datetime("us")).dt.replace_time_zone(zone)
    offsets = (local.dt.base_utc_offset() + local.dt.dst_offset()).dt.total_seconds()
    return [naive - offset for offset in offsets]


def _decided(choices: tuple[_Choice, ...], size: float | None, wait: float | None) -> Decided:
    skipped = frozenset(name for name, each in zip(MOMENTS, choices, strict=True) if each[1])
    bad = frozenset(name for name, each in zip(MOMENTS, choices, strict=True) if each[2])
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
                for name, moment in zip(MOMENTS, each, strict=True)
            )
            for each in left
        },
        key=lambda each: [moment or 0.0 for moment in each],
    )
    told = {
        (
            submit,
            eligible,
            start if wait is None or size is None else None,
            end if size is None else None,
        )
        for submit, eligible, start, end in left
    }
    return Decided(left[0], len(told) > 1, skipped, bad)


def _ordered(moments: tuple[float | None, ...]) -> bool:
    submit, _, start, end = moments
    there = [each for each in (submit, start, end) if each is not None]
    return there == sorted(there)


def _runs(moments: tuple[float | None, ...], size: float | None, longest: float) -> bool:
    """Whether end - start is the run time, or by at most `longest` seconds longer."""
    _, _, start, end = moments
    if size is None or start is None or end is None:
        return False
    return -_ROUNDING <= end - start - size <= longest
