"""Figures of backfilling during the drain, which is not in the paper."""

from __future__ import annotations

from quickswap.models import load
from quickswap.reproduction.experiment import Effort, Experiment, Panel, Series
from quickswap.reproduction.paper import MEAN, WEIGHTED
from quickswap.system import System

__all__ = ["FIGURES"]

LOADS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.97)
RISKS = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.5)
JAIN = Panel("Jain's index of the classes", "jain_index", label="fairness, at most 1", log=False)
POLICIES = (
    Series("First-Fit", "first-fit"),
    Series("Static Quickswap", "static-quickswap"),
    Series("Static, backfilled", "static-quickswap:backfill=0.03"),
    Series("Adaptive Quickswap", "adaptive-quickswap"),
    Series("Adaptive, backfilled", "adaptive-quickswap:backfill=0.03"),
)
FILLING = Series("ServerFilling (preemptive)", "server-filling")


def _against_load(
    name: str, what: str, system: System, heaviest: str, full: Effort, *more: Series
) -> Experiment:
    heavy = Panel("heaviest class", "mean_response_time", heaviest, "mean response time [s]")
    p99 = Panel("all jobs, P99", "p99_response_time", label="P99 of the response time [s]")
    return Experiment(
        name=f"backfill-{name}",
        title=f"Backfilling during the drain on {what}",
        source="beyond the paper",
        system=system,
        axis="load",
        values=LOADS,
        series=(*POLICIES, *more),
        panels=(WEIGHTED, MEAN, heavy, p99, JAIN),
        quick=Effort(5_000_000, full.precision),
        full=full,
        precision_of="weighted",
    )


SYNTHETIC, BORG = Effort(500_000_000, 0.02), Effort(200_000_000, 0.1)

RISK = Experiment(
    name="backfill-risk",
    title="Backfilling during the drain against its risk, Borg's cell B at rate 4",
    source="beyond the paper",
    system=load("borg-b:rate=4"),
    axis="risk",
    values=RISKS,
    series=(
        Series("Static, backfilled", "static-quickswap:backfill={x}"),
        Series("Adaptive, backfilled", "adaptive-quickswap:backfill={x}"),
    ),
    panels=(
        WEIGHTED,
        MEAN,
        Panel("heaviest class", "mean_response_time", "need 2000", "mean response time [s]"),
        JAIN,
    ),
    precision_of="weighted",
    quick=Effort(10_000_000, 0.1),
    full=BORG,
)

SIZES = Experiment(
    name="backfill-sizes",
    title="Backfilling during the drain, four classes at rate 4: deterministic to heavy-tailed "
    "(lognormal) sizes",
    source="beyond the paper",
    system=load("four-class:rate=4"),
    axis="scv",
    values=(0.0, 0.25, 1.0, 4.0, 16.0),
    series=POLICIES,
    panels=(WEIGHTED, MEAN),
    precision_of="weighted",
    quick=Effort(4_000_000, 0.03),
    full=Effort(50_000_000, 0.03),
)

FIGURES = (
    _against_load("one-or-all", "one-or-all", load("one-or-all"), "heavy", SYNTHETIC, FILLING),
    _against_load("four-class", "four classes", load("four-class"), "need 15", SYNTHETIC, FILLING),
    _against_load("borg-a", "Borg's cell A", load("borg-a"), "need 2998", BORG),
    _against_load("borg-b", "Borg's cell B", load("borg-b"), "need 2000", BORG, FILLING),
    RISK,
    SIZES,
)
