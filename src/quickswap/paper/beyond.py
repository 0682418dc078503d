"""Further figures, which are not in the paper."""

from __future__ import annotations

from itertools import permutations

from msgspec.structs import replace

from quickswap.model.files import load
from quickswap.model.system import System
from quickswap.paper.experiment import BEYOND, Effort, Experiment, Series
from quickswap.paper.figures import (
    BORG_POLICIES,
    FOUR_CLASSES,
    JAIN_PANEL,
    MEAN_PANEL,
    ONE_OR_ALL,
    WEIGHTED_PANEL,
    mean_of_class,
)
from quickswap.plotting.chart import Panel

__all__ = ["FIGURES"]

SIZES = Experiment(
    name="sizes",
    title="One-or-all at rate 7: deterministic to heavy-tailed (lognormal) sizes, equal means",
    system=load("one-or-all:rate=7"),
    axis="scv",
    values=(0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    series=(
        Series("MSF", "msf"),
        Series("First-Fit", "first-fit"),
        Series("MSFQ(31)", "msfq:threshold=31"),
        Series("Adaptive Quickswap", "adaptive-quickswap"),
    ),
    panels=ONE_OR_ALL.panels,
    quick=Effort(4_000_000, 0.05),
    full=Effort(50_000_000, 0.05),
)

BEST, COST = "best threshold l", "metric at l = 31 / at the best l"
THRESHOLDS = Experiment(
    name="thresholds",
    title="The best threshold of MSFQ on one-or-all, exact",
    system=load("one-or-all"),
    axis="load",
    values=(*(percent / 100 for percent in range(5, 96, 5)), 0.96, 0.97, 0.98, 0.985),
    series=(Series("MSFQ", "msfq", "best thresholds"),),
    panels=(
        Panel("for the mean response time", "best_threshold_for_mean", label=BEST, log=False),
        Panel(
            "for the weighted mean response time",
            "best_threshold_for_weighted",
            label=BEST,
            log=False,
        ),
        Panel("for the mean response time", "cost_of_default_for_mean", label=COST, log=False),
        Panel(
            "for the weighted mean response time",
            "cost_of_default_for_weighted",
            label=COST,
            log=False,
        ),
    ),
    quick=Effort(1),
    full=Effort(1),
)

BORG_A = Experiment(
    name="borg-a",
    title="Google Borg 2019, cell A: 4,096 servers, 29 classes",
    system=load("borg-a"),
    axis="load",
    values=(0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    series=BORG_POLICIES,
    panels=(WEIGHTED_PANEL, MEAN_PANEL, mean_of_class("need 2998", "heaviest class"), JAIN_PANEL),
    quick=Effort(10_000_000, 0.1),
    full=Effort(200_000_000, 0.1),
)

ORDERS = Experiment(
    name="orders",
    title="Static Quickswap on four classes in every cyclic order",
    system=load("four-class"),
    axis="rate",
    values=(2.0, 3.0, 4.0, 4.5),
    series=tuple(
        Series(
            "15, " + ", ".join(str((1, 3, 5)[position]) for position in rest),
            "static-quickswap:order=" + "+".join(map(str, (3, *rest))),
        )
        for rest in permutations((2, 1, 0))
    ),
    panels=(WEIGHTED_PANEL, MEAN_PANEL),
    quick=Effort(10_000_000, 0.01),
    full=Effort(200_000_000, 0.005),
)

PERCENTILES_ONE_OR_ALL = replace(
    ONE_OR_ALL,
    name="percentiles-one-or-all",
    title="99th percentile of the response time on one-or-all",
    source=BEYOND,
    series=ONE_OR_ALL.series[:5],
    panels=(
        Panel("all jobs", "p99_response_time"),
        Panel("light jobs", "p99_response_time", "light"),
        Panel("heavy jobs", "p99_response_time", "heavy"),
    ),
)

PERCENTILES_FOUR = replace(
    FOUR_CLASSES,
    name="percentiles-four-class",
    title="99th percentile of the response time of four classes",
    source=BEYOND,
    series=FOUR_CLASSES.series[:6],
    panels=(
        Panel("all jobs", "p99_response_time"),
        Panel("need 1", "p99_response_time", "need 1"),
        Panel("need 15", "p99_response_time", "need 15"),
    ),
)

WASTE = replace(
    FOUR_CLASSES,
    name="waste",
    title="What idle servers cost the weighted mean response time of four classes",
    source=BEYOND,
    axis="load",
    values=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95),
    series=(*FOUR_CLASSES.series[:6], Series("ServerFilling (preemptive)", "server-filling")),
    panels=(
        Panel("above the lower bound", "waste"),
        Panel("while a job that fits is held back", "waste_held_back", label="waste [s]"),
        Panel("while no waiting job fits", "waste_none_fits", label="waste [s]"),
        Panel("while no job waits", "waste_no_job_waits", label="waste [s]"),
    ),
)

ODD_NEEDS = replace(
    FOUR_CLASSES,
    name="odd-needs",
    title="Needs that do not divide the servers: 1, 3, 5 and 15 on 16",
    source=BEYOND,
    system=System(16, FOUR_CLASSES.system.classes),
    values=(*FOUR_CLASSES.values, 4.9, 5.0, 5.1, 5.2),
    series=FOUR_CLASSES.series[:6],
    quick=Effort(10_000_000, 0.03),
    full=Effort(200_000_000, 0.03),
)

FIGURES = (
    SIZES,
    THRESHOLDS,
    BORG_A,
    ORDERS,
    PERCENTILES_ONE_OR_ALL,
    PERCENTILES_FOUR,
    WASTE,
    ODD_NEEDS,
)
