"""Systems with odd corners: needs that do not divide k, shared needs, many classes, all
distributions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

import quickswap as qs
from quickswap.logs import QualityReport
from quickswap.logs.joblog import COLUMNS

__all__ = [
    "COUNT_POLICIES",
    "bursty",
    "drawn_log",
    "every_distribution",
    "huge",
    "many",
    "mixed",
    "random_system",
    "single",
]

UNIT = qs.Exponential(mean=1.0)

COUNT_POLICIES: tuple[qs.Policy, ...] = (
    qs.FCFS(),
    qs.FirstFit(),
    qs.MSF(),
    qs.LSF(),
    qs.StaticQuickswap(drain="overlap"),
    qs.StaticQuickswap(drain="exclusive"),
    qs.AdaptiveQuickswap(),
)
"""Policies for any system that both loops run."""


def mixed(servers: int, rows: Sequence[tuple[int, float, float]], load: float) -> qs.System:
    """Return a system of exponential sizes; a row is need, share of the arrivals, mean size."""
    classes = [qs.JobClass(need, share, qs.Exponential(mean=mean)) for need, share, mean in rows]
    return qs.System(servers, classes).with_load(load)


def uneven(load: float) -> qs.System:
    """Needs that do not divide k, and leave servers idle whatever runs."""
    return mixed(7, [(2, 0.6, 1.0), (3, 0.3, 2.0), (5, 0.1, 0.5)], load)


def shared(load: float) -> qs.System:
    """Classes that share a need, with different sizes."""
    return mixed(6, [(1, 0.4, 0.5), (2, 0.3, 2.0), (2, 0.2, 0.25), (6, 0.1, 1.0)], load)


def single(load: float) -> qs.System:
    """One server."""
    return mixed(1, [(1, 0.5, 0.5), (1, 0.5, 1.5)], load)


def drawn_log(system: qs.System, seed: int, weeks: float, mean_size: float) -> qs.logs.JobLog:
    """A log of a system of exponential sizes, with a unit of time of this many seconds."""
    draw = np.random.default_rng(seed)
    duration = weeks * 7 * 86400
    count = draw.poisson(system.arrival_rate * duration / mean_size)
    cls = draw.choice(len(system.needs), count, p=system.job_shares)
    means = np.array([each.size.mean for each in system.classes])
    size = draw.exponential(mean_size * means[cls])
    drawn = {
        "submit": np.sort(draw.uniform(0, duration, count)),
        "need": np.array(system.needs)[cls],
        "size": size,
        "estimate": size,
    }
    rest = [pl.lit(None).cast(kind).alias(c) for c, kind in COLUMNS.items() if c not in drawn]
    report = QualityReport("drawn", count, count, 0, 0, (), (), {})
    jobs = pl.DataFrame(drawn).with_columns(rest).select([*COLUMNS])
    return qs.logs.JobLog(jobs, system.servers, report, "drawn")


def many(classes: int, servers: int, load: float) -> qs.System:
    """Many classes of all needs, so the loop over jumps draws from a tree."""
    rows = [(1 + i * 7 % servers, 1.0 + i % 3, 1.0 + i % 5) for i in range(classes)]
    return mixed(servers, rows, load)


def huge(load: float) -> qs.System:
    """2^20 servers; jobs that need few, many and all of them."""
    return mixed(2**20, [(2**14, 0.8, 1.0), (300_000, 0.15, 1.0), (2**20, 0.05, 1.0)], load)


def bursty(load: float) -> qs.System:
    """Renewal arrivals, some at the same instant, and a Markov-modulated Poisson process."""
    pairs = qs.Renewal(qs.Empirical([0.0, 2.0]))
    calm = qs.MarkovModulatedPoisson([0.2, 3.0], [[0.0, 0.1], [0.5, 0.0]])
    classes = [
        qs.JobClass(1, size=UNIT, arrivals=pairs),
        qs.JobClass(2, size=UNIT, arrivals=calm),
        qs.JobClass(4, size=UNIT, arrivals=qs.Renewal(qs.Gamma(mean=10.0, scv=4.0))),
    ]
    return qs.System(5, classes).with_load(load)


def every_distribution(load: float) -> qs.System:
    """A class for each size distribution, of mean size about 1."""
    distributions = [
        UNIT,
        qs.Deterministic(1.0),
        qs.Uniform(0.5, 1.5),
        qs.Erlang(3, mean=1.0),
        qs.Gamma(mean=1.0, scv=0.5),
        qs.Hyperexponential(mean=1.0, scv=4.0),
        qs.LogNormal(mean=1.0, scv=2.0),
        qs.Weibull(shape=0.7, mean=1.0),
        qs.Pareto(shape=3.5, mean=1.0),
        qs.BoundedPareto(shape=1.2, low=0.2, high=20.0),
        qs.Empirical([0.0, 0.5, 2.0], [0.2, 0.4, 0.4]),
        qs.PhaseType(rates=[2.0, 1.0], continuation=[0.5]),
        qs.Mixture([0.5, 0.5], [qs.Uniform(0.2, 0.8), qs.Erlang(2, mean=1.5)]),
        qs.Tabulated([-20.0, -3.0, 0.0, 3.0, 20.0], [0.01, 0.4, 0.8, 2.0, 20.0]),
    ]
    classes = [
        qs.JobClass(1 + i % 4, 1.0, distribution) for i, distribution in enumerate(distributions)
    ]
    return qs.System(8, classes).with_load(load)


def random_system(seed: int) -> qs.System:
    """Two to five classes on up to 20 servers, at a load from .3 to .7."""
    from random import Random

    draw = Random(seed)
    servers = draw.randint(2, 20)
    rows = [
        (draw.randint(1, servers), draw.uniform(0.1, 1.0), draw.uniform(0.2, 3.0))
        for _ in range(draw.randint(2, 5))
    ]
    return mixed(servers, rows, draw.uniform(0.3, 0.7))
