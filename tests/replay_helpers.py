"""Logs for the tests of replays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quickswap import logs

DAY = 86400.0


def log_of(folder: Path, rows: list[dict[str, Any]], servers: int) -> logs.JobLog:
    path = folder / "log.parquet"
    pl.DataFrame(rows).write_parquet(path)
    return logs.read(path, servers=servers, time_unit="s")


def jobs(*rows: tuple[float, int, float]) -> list[dict[str, Any]]:
    return [dict(zip(("submit", "need", "size"), row, strict=True)) for row in rows]


def random_log(folder: Path, count: int = 2000, seed: int = 1, days: float = 70) -> logs.JobLog:
    """Ten weeks of jobs that need 1 to 8 of 16 servers, at an offered load of 0.8."""
    draw = np.random.default_rng(seed)
    need = draw.choice([1, 2, 3, 4, 8], count, p=[0.4, 0.2, 0.1, 0.2, 0.1])
    size = draw.lognormal(0, 1.2, count)
    size *= 0.8 * 16 * days * DAY / (need * size).sum()
    submit = np.sort(draw.uniform(0, days * DAY, count))
    frame = pl.DataFrame(
        {
            "submit": submit,
            "need": need,
            "size": size,
            "estimate": size * draw.uniform(1, 4, count),
            "wait": draw.exponential(1000, count),
            "user": draw.choice(["ann", "bob", "cy"], count),
        }
    )
    path = folder / "random.parquet"
    frame.write_parquet(path)
    return logs.read(path, servers=16)
