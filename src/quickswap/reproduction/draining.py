"""Figures of backfilling during the drain, which is not in the paper."""

from __future__ import annotations

from quickswap.model.files import load
from quickswap.model.system import System
from quickswap.reproduction.experiment import Effort, Experiment, Panel, Series
from quickswap.reproduction.paper import MEAN, WEIGHTED

__all__ = ["FIGURES"]

LOADS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.97)
RISKS = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.5)
OVERRUNS = (0.03, 0.1, 0.3, 0.6, 0.9, 0.97)
FACTORS = (1, 2, 4)
DRAWS = (1, 2, 3, 4)
JAIN = Panel("Jain's index of the classes", "jain_index", label="fairness, at most 1", log=False)
STATIC, ADAPTIVE = "static-quickswap", "adaptive-quickswap"
POLICIES = (
    Series("First-Fit", "first-fit"),
    Series("Static Quickswap", STATIC),
    Series("Static, overrun .9", f"{STATIC}:overrun=0.9"),
    Series("Adaptive Quickswap", ADAPTIVE),
    Series("Adaptive, overrun .9", f"{ADAPTIVE}:overrun=0.9"),
    Series("Adaptive, risk .03", f"{ADAPTIVE}:backfill=0.03"),
)
FILLING = Series("ServerFilling (preemptive)", "server-filling")
ESTIMATING = (Series("EASY, exact estimates", "easy"), Series("Conservative", "conservative"))
P99 = Panel("all jobs, P99", "p99_response_time", label="P99 of the response time [s]")


def _heavy(cls: str) -> Panel:
    return Panel("heaviest class", "mean_response_time", cls, "mean response time [s]")


def _against_load(
    name: str,
    what: str,
    system: System,
    heaviest: str,
    full: Effort,
    *more: Series,
    quick: int = 5_000_000,
) -> Experiment:
    return Experiment(
        name=f"backfill-{name}",
        title=f"Backfilling during the drain on {what}",
        source="beyond the paper",
        system=system,
        axis="load",
        values=LOADS,
        series=(*POLICIES, *more),
        panels=(WEIGHTED, MEAN, _heavy(heaviest), P99, JAIN),
        quick=Effort(quick, full.precision),
        full=full,
        precision_of="weighted",
    )


SYNTHETIC, BORG = Effort(500_000_000, 0.02), Effort(200_000_000, 0.1)
LOGS = Effort(50_000_000, 0.02)
QUICK = Effort(10_000_000, 0.1)
CELLS = {
    "borg-a": ("Borg's cell A at load .7", load("borg-a:load=.7"), "need 2998"),
    "borg-b": ("Borg's cell B at rate 4", load("borg-b:rate=4"), "need 2000"),
}


def _against_limit(cell: str, axis: str, parameter: str, values: tuple[float, ...]) -> Experiment:
    """How far backfilling goes."""
    what, system, heaviest = CELLS[cell]
    return Experiment(
        name=f"backfill-{axis}-{cell}",
        title=f"Backfilling during the drain against its {axis}, {what}",
        source="beyond the paper",
        system=system,
        axis=axis,
        values=values,
        series=(
            Series("Static, backfilled", f"{STATIC}:{parameter}={{x}}"),
            Series("Adaptive, backfilled", f"{ADAPTIVE}:{parameter}={{x}}"),
            Series("Static Quickswap", STATIC),
            Series("Adaptive Quickswap", ADAPTIVE),
        ),
        panels=(WEIGHTED, MEAN, _heavy(heaviest), JAIN),
        precision_of="weighted",
        quick=QUICK,
        full=BORG,
    )


def _misjudged(cell: str) -> Experiment:
    """The mean size of each class wrong at random; each draw is a line."""
    what, system, heaviest = CELLS[cell]
    limits = {"overrun .9": "overrun=0.9", "risk .03": "backfill=0.03"}
    return Experiment(
        name=f"misjudged-{cell}",
        title=f"Mean sizes misjudged by a factor, each class up or down at random, {what}",
        source="beyond the paper",
        system=system,
        axis="factor",
        values=FACTORS,
        series=(
            Series("Adaptive Quickswap", ADAPTIVE),
            *(
                Series(f"Adaptive, {label}", f"{ADAPTIVE}:{limit},believed={{draw {draw}}}")
                for label, limit in limits.items()
                for draw in DRAWS
            ),
        ),
        panels=(WEIGHTED, MEAN, _heavy(heaviest), JAIN),
        precision_of="weighted",
        quick=QUICK,
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
    *(
        _against_load(name, what, load(name), heaviest, LOGS, *ESTIMATING, quick=400_000)
        for name, what, heaviest in (
            ("kth-sp2", "a model of KTH's SP2", "71-100"),
            ("nasa-ipsc", "a model of NASA's iPSC", "128"),
        )
    ),
    *(_against_limit(cell, "risk", "backfill", RISKS) for cell in CELLS),
    *(_against_limit(cell, "overrun", "overrun", OVERRUNS) for cell in CELLS),
    *(_misjudged(cell) for cell in CELLS),
    SIZES,
)
