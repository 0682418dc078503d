"""Figures of the same kind that the paper has not."""

from __future__ import annotations

from itertools import permutations

from quickswap.model.files import load
from quickswap.model.system import System
from quickswap.reproduction.experiment import Effort, Experiment, Panel, Series
from quickswap.reproduction.paper import (
    BORG_POLICIES,
    FOUR_CLASSES,
    FOUR_RATES,
    MEAN,
    ONE_OR_ALL,
    WEIGHTED,
    mean_panels,
)

__all__ = ["FIGURES"]

FINE_LOADS = (*(percent / 100 for percent in range(5, 96, 5)), 0.96, 0.97, 0.98, 0.985)

SIZES = Experiment(
    name="sizes",
    title="One-or-all at rate 7: deterministic to heavy-tailed (lognormal) sizes of equal means",
    source="beyond the paper",
    system=load("one-or-all:rate=7"),
    axis="scv",
    values=(0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    series=(
        Series("MSF", "msf"),
        Series("First-Fit", "first-fit"),
        Series("MSFQ(31)", "msfq:threshold=31"),
        Series("Adaptive Quickswap", "adaptive-quickswap"),
    ),
    panels=mean_panels(("light", "light jobs"), ("heavy", "heavy jobs")),
    precision_of="weighted",
    quick=Effort(4_000_000, 0.05),
    full=Effort(50_000_000, 0.05),
)

THRESHOLDS = Experiment(
    name="thresholds",
    title="The best threshold of MSFQ on one-or-all, exact",
    source="beyond the paper",
    system=load("one-or-all"),
    axis="load",
    values=FINE_LOADS,
    series=(Series("MSFQ", "msfq", "best thresholds"),),
    panels=tuple(
        Panel(f"for the {name}", f"{quantity}_for_{metric}", label=label, log=False)
        for quantity, label in (
            ("best_threshold", "best threshold l"),
            ("cost_of_default", "metric at l = 31 / at the best l"),
        )
        for metric, name in (
            ("mean", "mean response time"),
            ("weighted", "weighted mean response time"),
        )
    ),
    quick=Effort(1),
    full=Effort(1),
)

BORG_A = Experiment(
    name="borg-a",
    title="Google Borg 2019, cell A: 4,096 servers, 29 classes",
    source="beyond the paper",
    system=load("borg-a"),
    axis="load",
    values=(0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    series=BORG_POLICIES,
    panels=(
        WEIGHTED,
        MEAN,
        Panel("heaviest class", "mean_response_time", "need 2998", "mean response time [s]"),
        Panel("Jain's index of the classes", "jain_index", label="fairness, at most 1", log=False),
    ),
    precision_of="weighted",
    quick=Effort(10_000_000, 0.1),
    full=Effort(200_000_000, 0.1),
)

ORDERS = Experiment(
    name="orders",
    title="Static Quickswap on four classes in every cyclic order",
    source="beyond the paper",
    system=load("four-class"),
    axis="rate",
    values=(2.0, 3.0, 4.0, 4.5),
    series=tuple(
        Series(
            "15, " + ", ".join(str((1, 3, 5)[place]) for place in rest),
            "static-quickswap:order=" + "+".join(map(str, (3, *rest))),
        )
        for rest in permutations((2, 1, 0))
    ),
    panels=(WEIGHTED, MEAN),
    precision_of="weighted",
    quick=Effort(10_000_000, 0.01),
    full=Effort(200_000_000, 0.005),
)

PERCENTILES_ONE_OR_ALL = Experiment(
    name="percentiles-one-or-all",
    title="99th percentile of the response time on one-or-all",
    source="beyond the paper",
    system=ONE_OR_ALL.system,
    axis="rate",
    values=ONE_OR_ALL.values,
    series=ONE_OR_ALL.series[:5],
    panels=tuple(
        Panel(title, "p99_response_time", name, "P99 of the response time [s]")
        for name, title in (("all", "all jobs"), ("light", "light jobs"), ("heavy", "heavy jobs"))
    ),
    precision_of="classes",
    quick=ONE_OR_ALL.quick,
    full=ONE_OR_ALL.full,
)

PERCENTILES_FOUR = Experiment(
    name="percentiles-four-class",
    title="99th percentile of the response time of four classes",
    source="beyond the paper",
    system=FOUR_CLASSES.system,
    axis="rate",
    values=FOUR_RATES,
    series=FOUR_CLASSES.series[:6],
    panels=tuple(
        Panel(title, "p99_response_time", name, "P99 of the response time [s]")
        for name, title in (("all", "all jobs"), ("need 1", "need 1"), ("need 15", "need 15"))
    ),
    precision_of="weighted",
    quick=FOUR_CLASSES.quick,
    full=FOUR_CLASSES.full,
)

ODD_NEEDS = Experiment(
    name="odd-needs",
    title="Needs that do not divide the servers: 1, 3, 5 and 15 on 16",
    source="beyond the paper",
    system=System(16, FOUR_CLASSES.system.classes),
    axis="rate",
    values=(*FOUR_RATES, 4.9, 5.0, 5.1, 5.2),
    series=FOUR_CLASSES.series[:6],
    panels=(WEIGHTED, MEAN),
    precision_of="weighted",
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
    ODD_NEEDS,
)
