"""The figures of the paper, each as an `Experiment`.

The systems are those of the paper's text. The text gives only some ends of the axes; the values are
our choice.
"""

from __future__ import annotations

from msgspec.structs import replace

from quickswap.model.files import load
from quickswap.paper.experiment import Effort, Experiment, Series
from quickswap.plotting.chart import Panel

__all__ = [
    "BORG_POLICIES",
    "FIGURES",
    "FOUR_CLASSES",
    "JAIN_PANEL",
    "MEAN_PANEL",
    "ONE_OR_ALL",
    "TRAJECTORIES",
    "WEIGHTED_PANEL",
    "mean_of_class",
]

MEAN_PANEL = Panel("all jobs", "mean_response_time")
WEIGHTED_PANEL = Panel("weighted", "weighted_mean_response_time")
JAIN_PANEL = Panel("Jain's index of the classes", "jain_index", label="fairness, at most 1")


def mean_of_class(cls: str, title: str) -> Panel:
    """Return the panel of a class's mean response time."""
    return Panel(title, "mean_response_time", cls)


ONE_OR_ALL_RATES = (1.0, 2.0, 3.0, 4.0, 5.0, 5.5, 6.0, 6.5, 7.0, 7.25, 7.5, 7.7)
FINE_RATES = tuple(sorted({*ONE_OR_ALL_RATES, *(rate / 5 for rate in range(3, 39))}))
"""Rates at which curves are computed."""
THRESHOLDS = tuple(map(float, range(32)))
QUICK = Effort(20_000_000, 0.02)
FULL = Effort(500_000_000, 0.02, most=50_000_000_000)

ROOM = {"max_in_system": 100_000_000}
"""Close to the capacity more than a million jobs are in the system under nMSR."""

TRAJECTORIES = Experiment(
    name="fig1",
    title="Number of jobs in the system under MSF and MSFQ",
    source="Figure 1",
    system=load("one-or-all:rate=7.5"),
    axis="rate",
    values=(7.5,),
    series=(Series("MSF", "msf"), Series("MSFQ(31)", "msfq:threshold=31")),
    panels=(
        Panel("light jobs", "trajectory", "light", "number in system", log=False),
        Panel("heavy jobs", "trajectory", "heavy", "number in system", log=False),
    ),
    quick=Effort(75_000),
    full=Effort(75_000),
    settings={"replications": 1, "trajectory": 4_000, "warmup": 0.0},
)

THRESHOLD = Experiment(
    name="fig2",
    title="Mean response time of MSFQ against its threshold, at rate 7.5",
    source="Figure 2",
    system=load("one-or-all:rate=7.5"),
    axis="threshold",
    values=(0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 31.0),
    series=(
        Series("MSFQ", "msfq:threshold={x}"),
        Series("MSFQ, always draining", "msfq:threshold={x},drain=always"),
        Series("exact", "msfq:threshold={x}", "exact", THRESHOLDS),
        Series("exact", "msfq:threshold={x},drain=always", "exact", THRESHOLDS),
        Series("analysis as printed", "msfq:threshold={x},drain=always", "printed", THRESHOLDS),
        Series("analysis, corrected", "msfq:threshold={x},drain=always", "corrected", THRESHOLDS),
    ),
    panels=(MEAN_PANEL, WEIGHTED_PANEL),
    quick=QUICK,
    full=FULL,
)

ONE_OR_ALL = Experiment(
    name="fig3",
    title="Mean response time on one-or-all: 32 servers, nine jobs in ten need one of them",
    source="Figure 3",
    system=load("one-or-all"),
    axis="rate",
    values=ONE_OR_ALL_RATES,
    series=(
        Series("MSF", "msf"),
        Series("First-Fit", "first-fit"),
        Series("nMSR", "nmsr"),
        Series("MSFQ(31)", "msfq:threshold=31"),
        Series("MSFQ(31), always draining", "msfq:threshold=31,drain=always"),
        Series("exact", "msf", "exact", FINE_RATES),
        Series("exact", "msfq:threshold=31", "exact", FINE_RATES),
        Series("exact", "msfq:threshold=31,drain=always", "exact", FINE_RATES),
        Series("analysis as printed", "msfq:threshold=31,drain=always", "printed", FINE_RATES),
        Series("analysis, corrected", "msfq:threshold=31,drain=always", "corrected", FINE_RATES),
    ),
    panels=(
        MEAN_PANEL,
        WEIGHTED_PANEL,
        mean_of_class("light", "light jobs"),
        mean_of_class("heavy", "heavy jobs"),
    ),
    precision_of="classes",
    quick=QUICK,
    full=FULL,
    settings=ROOM,
)

PHASES = Experiment(
    name="fig4",
    title="Durations of the phases of MSF and MSFQ on one-or-all",
    source="Figure 4",
    system=load("one-or-all"),
    axis="rate",
    values=ONE_OR_ALL_RATES,
    series=(
        Series("MSF", "msfq:threshold=0"),
        Series("MSFQ(31)", "msfq:threshold=31"),
        Series("MSFQ(31), always draining", "msfq:threshold=31,drain=always"),
    ),
    panels=(
        Panel("phase 1: heavy jobs", "mean_duration_of_phase_1"),
        Panel("phase 2: light jobs, all servers busy", "mean_duration_of_phase_2"),
        Panel("phase 3: light jobs, more than l", "mean_duration_of_phase_3"),
        Panel("phase 4: the drain", "mean_duration_of_phase_4"),
    ),
    precision_of="classes",
    quick=QUICK,
    full=FULL,
    settings=ROOM,
)

FOUR_CLASSES = Experiment(
    name="fig5",
    title="Four classes on 15 servers: needs 1, 3, 5 and 15",
    source="Figure 5",
    system=load("four-class"),
    axis="rate",
    values=(0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.25, 4.5, 4.75),
    series=(
        Series("MSF", "msf"),
        Series("First-Fit", "first-fit"),
        Series("nMSR", "nmsr"),
        Series("Static Quickswap", "static-quickswap"),
        Series("Static Quickswap, exclusive", "static-quickswap:drain=exclusive"),
        Series("Adaptive Quickswap", "adaptive-quickswap"),
        Series(
            "approximation of Static, exclusive",
            "static-quickswap:drain=exclusive",
            "approximation",
            tuple(rate / 20 for rate in range(10, 99)),
        ),
    ),
    panels=(WEIGHTED_PANEL, MEAN_PANEL),
    quick=QUICK,
    full=FULL,
)

BORG_POLICIES = (
    Series("MSF", "msf"),
    Series("First-Fit", "first-fit"),
    Series("Static Quickswap", "static-quickswap"),
    Series("Adaptive Quickswap", "adaptive-quickswap"),
)

BORG = Experiment(
    name="fig6",
    title="Google Borg 2019, cell B: 2,048 servers, 26 classes",
    source="Figure 6",
    system=load("borg-b"),
    axis="rate",
    values=(2.0, 2.5, 3.0, 3.5, 4.0, 4.25, 4.5, 4.75),
    series=BORG_POLICIES,
    panels=(WEIGHTED_PANEL,),
    quick=Effort(20_000_000, 0.1),
    # most runs reach the precision far earlier; those of MSF and First-Fit near the capacity do not
    full=Effort(30_000_000_000, 0.1, most=200_000_000_000),
    settings={"max_in_system": 1_000_000_000},
)

BORG_FAIRNESS = replace(
    BORG,
    name="fig7",
    title="Google Borg 2019, cell B: who waits",
    source="Appendix, Figure 7",
    panels=(
        MEAN_PANEL,
        mean_of_class("need 1", "lightest class"),
        mean_of_class("need 2000", "heaviest class"),
        JAIN_PANEL,
    ),
)

BORG_PREEMPTIVE = replace(
    BORG,
    name="fig8",
    title="Google Borg 2019, cell B: with the preemptive ServerFilling",
    source="Appendix, Figure 8",
    series=(*BORG_POLICIES, Series("ServerFilling (preemptive)", "server-filling")),
    panels=(MEAN_PANEL, WEIGHTED_PANEL),
)

FIGURES = (
    TRAJECTORIES,
    THRESHOLD,
    ONE_OR_ALL,
    PHASES,
    FOUR_CLASSES,
    BORG,
    BORG_FAIRNESS,
    BORG_PREEMPTIVE,
)
"""In the paper's order."""
