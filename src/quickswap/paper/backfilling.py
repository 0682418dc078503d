"""Figures of backfilling during the drain, which is not in the paper."""

from __future__ import annotations

from quickswap.model.files import load
from quickswap.paper.experiment import AxisName, Effort, Experiment, Series
from quickswap.paper.figures import JAIN_PANEL, MEAN_PANEL, WEIGHTED_PANEL, mean_of_class
from quickswap.plotting.chart import Panel

__all__ = ["FIGURES"]

STATIC, ADAPTIVE = "static-quickswap", "adaptive-quickswap"
POLICIES = (
    Series("First-Fit", "first-fit"),
    Series("Static Quickswap", STATIC),
    Series("Static, overrun 0.9", f"{STATIC}:overrun=0.9"),
    Series("Adaptive Quickswap", ADAPTIVE),
    Series("Adaptive, overrun 0.9", f"{ADAPTIVE}:overrun=0.9"),
    Series("Adaptive, risk 0.03", f"{ADAPTIVE}:backfill=0.03"),
)
FILLING = (Series("ServerFilling (preemptive)", "server-filling"),)
ESTIMATING = (Series("EASY, exact estimates", "easy"), Series("Conservative", "conservative"))
SYNTHETIC, LOGS = Effort(500_000_000, 0.02), Effort(50_000_000, 0.02)
BORG_QUICK, BORG_FULL = Effort(10_000_000, 0.1), Effort(200_000_000, 0.1)

AGAINST_LOAD = tuple(
    Experiment(
        name=f"backfill-{model}",
        title=f"Backfilling during the drain on {what}",
        system=load(model),
        axis="load",
        values=(0.5, 0.7, 0.8, 0.9, 0.95, 0.97),
        series=(*POLICIES, *more),
        panels=(
            WEIGHTED_PANEL,
            MEAN_PANEL,
            mean_of_class(heaviest, "heaviest class"),
            Panel("all jobs, P99", "p99_response_time"),
            JAIN_PANEL,
        ),
        quick=Effort(400_000 if full is LOGS else 5_000_000, full.precision),
        full=full,
    )
    for model, what, heaviest, full, more in (
        ("one-or-all", "one-or-all", "heavy", SYNTHETIC, FILLING),
        ("four-class", "four classes", "need 15", SYNTHETIC, FILLING),
        ("borg-a", "Borg's cell A", "need 2998", BORG_FULL, ()),
        ("borg-b", "Borg's cell B", "need 2000", BORG_FULL, FILLING),
        ("kth-sp2", "a model of KTH's SP2", "71-100", LOGS, ESTIMATING),
        ("nasa-ipsc", "a model of NASA's iPSC", "128", LOGS, ESTIMATING),
    )
)

CELLS = (
    ("borg-a", "Borg's cell A at load 0.7", load("borg-a:load=.7"), "need 2998"),
    ("borg-b", "Borg's cell B at rate 4", load("borg-b:rate=4"), "need 2000"),
)

LIMITS: tuple[tuple[AxisName, str, tuple[float, ...]], ...] = (
    ("risk", "backfill", (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.5)),
    ("overrun", "overrun", (0.03, 0.1, 0.3, 0.6, 0.9, 0.97)),
)

AGAINST_RISK, AGAINST_OVERRUN = (
    tuple(
        Experiment(
            name=f"backfill-{axis}-{cell}",
            title=f"Backfilling during the drain against its {axis}, {what}",
            system=system,
            axis=axis,
            values=values,
            series=(
                Series("Static, backfilled", f"{STATIC}:{parameter}={{x}}"),
                Series("Adaptive, backfilled", f"{ADAPTIVE}:{parameter}={{x}}"),
                Series("Static Quickswap", STATIC),
                Series("Adaptive Quickswap", ADAPTIVE),
            ),
            panels=(
                WEIGHTED_PANEL,
                MEAN_PANEL,
                mean_of_class(heaviest, "heaviest class"),
                JAIN_PANEL,
            ),
            quick=BORG_QUICK,
            full=BORG_FULL,
        )
        for cell, what, system, heaviest in CELLS
    )
    for axis, parameter, values in LIMITS
)

MISJUDGED = tuple(
    Experiment(
        name=f"misjudged-{cell}",
        title=f"Mean sizes misjudged by a factor, each class up or down at random, {what}",
        system=system,
        axis="factor",
        values=(1, 2, 4),
        series=(
            Series("Adaptive Quickswap", ADAPTIVE),
            *(
                Series(f"Adaptive, {label}", f"{ADAPTIVE}:{limit},believed={{draw {draw}}}")
                for label, limit in (("overrun 0.9", "overrun=0.9"), ("risk 0.03", "backfill=0.03"))
                for draw in (1, 2, 3, 4)
            ),
        ),
        panels=(WEIGHTED_PANEL, MEAN_PANEL, mean_of_class(heaviest, "heaviest class"), JAIN_PANEL),
        quick=BORG_QUICK,
        full=BORG_FULL,
    )
    for cell, what, system, heaviest in CELLS
)

SIZES = Experiment(
    name="backfill-sizes",
    title="Backfilling during the drain, four classes at rate 4: deterministic to heavy-tailed "
    "(lognormal) sizes",
    system=load("four-class:rate=4"),
    axis="scv",
    values=(0.0, 0.25, 1.0, 4.0, 16.0),
    series=POLICIES,
    panels=(WEIGHTED_PANEL, MEAN_PANEL),
    quick=Effort(4_000_000, 0.03),
    full=Effort(50_000_000, 0.03),
)

FIGURES = (*AGAINST_LOAD, *AGAINST_RISK, *AGAINST_OVERRUN, *MISJUDGED, SIZES)
