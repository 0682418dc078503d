"""How Slurm writes durations and resources, as Polars expressions."""

from __future__ import annotations

import polars as pl

__all__ = ["duration", "listed", "number", "tres"]

_DURATION = r"^(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d{1,2})(?:\.\d+)?$"


def duration(text: pl.Expr) -> pl.Expr:
    """Return seconds of `[D-]HH:MM:SS`, of `MM:SS` and of `D-HH:MM`; null for words."""
    days, hours, minutes, last = (
        text.str.extract(_DURATION, group).cast(pl.Float64) for group in (1, 2, 3, 4)
    )
    short = days.is_not_null() & hours.is_null()
    clock = hours.fill_null(0) * 3600 + minutes * 60 + last
    clock = pl.when(short).then(minutes * 3600 + last * 60).otherwise(clock)
    return days.fill_null(0) * 86400 + clock


def number(text: pl.Expr) -> pl.Expr:
    """Return a number, or null."""
    return text.str.strip_chars().cast(pl.Float64, strict=False)


def tres(text: pl.Expr, unit: str) -> pl.Expr:
    """Return how many of a unit a list such as `cpu=4,gres/gpu=2,mem=16G,node=1` holds.

    0 if the list has none of it; null if there is no list. GPUs by type are added up where the
    list has no sum of them.
    """
    name = {"cpu": "cpu", "node": "node", "gpu": "gres/gpu"}[unit]
    total = text.str.extract(rf"(?:^|,){name}=(\d+)").cast(pl.Float64)
    if unit == "gpu":
        typed = text.str.extract_all(r"gres/gpu:[^=,]+=\d+").list.eval(
            pl.element().str.extract(r"=(\d+)$").cast(pl.Float64)
        )
        total = pl.coalesce(total, typed.list.sum())
    return pl.when(text.is_not_null() & (text != "")).then(total.fill_null(0))


def listed(text: pl.Expr) -> pl.Expr:
    """Return a list of resources, or null for what is none."""
    return pl.when(text.str.contains("=", literal=True)).then(text)
