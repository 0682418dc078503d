"""How fast the jobs of a log are served again, the measurements and their intervals included."""

import time
from collections.abc import Iterator
from statistics import median, quantiles

import numpy as np
import polars as pl

import quickswap as qs
from measures import Row
from quickswap.logs import JobLog, QualityReport
from quickswap.logs.joblog import COLUMNS

LOAD = 0.85
CASES = (
    (
        1_024,
        512,
        1_000_000,
        {"first-fit": 1.0, "adaptive-quickswap": 1.0, "easy": 1.0, "slurm": 20.0},
    ),
    (93_000, 10_000, 300_000, {"easy": 5.0, "conservative": 10.0}),
)
"""Servers, largest need, jobs; and seconds that a policy may take."""


def log(servers: int, largest: int, jobs: int) -> JobLog:
    """Jobs at that load: most are small, and users ask for one to five times what they run."""
    draw = np.random.default_rng(1)
    need = np.minimum(np.ceil(draw.pareto(0.8, jobs)), largest).astype(int)
    size = draw.lognormal(5.0, 1.5, jobs)
    span = (need * size).sum() / (servers * LOAD)
    known = {
        "submit": np.sort(draw.uniform(0, span, jobs)),
        "need": need,
        "size": size,
        "estimate": size * draw.uniform(1, 5, jobs),
    }
    rest = [pl.lit(None).cast(kind).alias(c) for c, kind in COLUMNS.items() if c not in known]
    table = pl.DataFrame(known).with_columns(rest).select([*COLUMNS])
    return JobLog(table, servers, QualityReport("drawn", jobs, jobs, 0, 0, (), (), {}), "drawn")


def replaying(share: float, repeats: int) -> Iterator[Row]:
    """Seconds of a replay; of each log only a share of the jobs where it should be quick."""
    for servers, largest, jobs, limits in CASES:
        given = log(servers, largest, round(share * jobs))
        for policy, limit in limits.items():
            seconds = [_seconds(given, policy) for _ in range(repeats)]
            quartiles = quantiles(seconds, n=4)[::2] if repeats > 1 else seconds * 2
            what = f"replay of {len(given):,} jobs on {servers:,} servers, {policy}"
            detail = {"load": LOAD, "best": min(seconds)}
            spread = (quartiles[0], quartiles[1])
            yield Row(what, median(seconds), "s", limit, detail, spread)


def _seconds(given: JobLog, policy: str) -> float:
    begun = time.perf_counter()
    qs.replay(given, policy)
    return time.perf_counter() - begun
