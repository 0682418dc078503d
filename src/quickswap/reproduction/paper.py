"""The figures of the paper, each as an `Experiment`.

The paper's text gives the systems; of the axes it gives the ends only where the text names them, so
that the values between are ours.
"""

from __future__ import annotations

from quickswap.model.files import load
from quickswap.reproduction.experiment import Effort, Experiment, Panel, Series

__all__ = [
    "BORG_POLICIES",
    "BORG_RATES",
    "FIGURES",
    "FOUR_RATES",
    "ONE_OR_ALL_RATES",
    "mean_panels",
]

ONE_OR_ALL_RATES = (1.0, 2.0, 3.0, 4.0, 5.0, 5.5, 6.0, 6.5, 7.0, 7.25, 7.5, 7.7)
FOUR_RATES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.25, 4.5, 4.75)
BORG_RATES = (2.0, 2.5, 3.0, 3.5, 4.0, 4.25, 4.5, 4.75)
FINE_RATES = tuple(sorted({*ONE_OR_ALL_RATES, *(rate / 5 for rate in range(3, 39))}))
"""Where curves are computed."""

MEAN = Panel("all jobs", "mean_response_time", label="mean response time [s]")
WEIGHTED = Panel("weighted", "weighted_mean_response_time", label="weighted mean response time [s]")

BORG_POLICIES = (
    Series("MSF", "msf"),
    Series("First-Fit", "first-fit"),
    Series("Static Quickswap", "static-quickswap"),
    Series("Adaptive Quickswap", "adaptive-quickswap"),
)
BORG_QUICK, BORG_FULL = Effort(20_000_000, 0.1), Effort(200_000_000, 0.1)


def mean_panels(*classes: tuple[str, str]) -> tuple[Panel, ...]:
    """Return panels of all jobs, weighted, and of some classes, given by name and title."""
    singles = (
        Panel(title, "mean_response_time", name, "mean response time [s]")
        for name, title in classes
    )
    return (MEAN, WEIGHTED, *singles)


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
    settings=(("replications", 1), ("trajectory", 4_000), ("warmup", 0.0)),
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
        Series("exact", "msfq:threshold={x}", "exact", tuple(map(float, range(32)))),
        Series("exact", "msfq:threshold={x},drain=always", "exact", tuple(map(float, range(32)))),
        Series(
            "analysis as printed",
            "msfq:threshold={x},drain=always",
            "printed",
            tuple(map(float, range(32))),
        ),
        Series(
            "analysis, corrected",
            "msfq:threshold={x},drain=always",
            "corrected",
            tuple(map(float, range(32))),
        ),
    ),
    panels=(MEAN, WEIGHTED),
    precision_of="weighted",
    quick=Effort(20_000_000, 0.02),
    full=Effort(500_000_000, 0.02),
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
    panels=mean_panels(("light", "light jobs"), ("heavy", "heavy jobs")),
    precision_of="classes",
    quick=Effort(20_000_000, 0.02),
    full=Effort(500_000_000, 0.02),
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
    panels=tuple(
        Panel(f"phase {phase}: {what}", f"mean_duration_of_phase_{phase}", label="duration [s]")
        for phase, what in (
            (1, "heavy jobs"),
            (2, "light jobs, all servers busy"),
            (3, "light jobs, more than l"),
            (4, "the drain"),
        )
    ),
    precision_of="classes",
    quick=Effort(20_000_000, 0.02),
    full=Effort(500_000_000, 0.02),
)

FOUR_CLASSES = Experiment(
    name="fig5",
    title="Four classes on 15 servers: needs 1, 3, 5 and 15",
    source="Figure 5",
    system=load("four-class"),
    axis="rate",
    values=FOUR_RATES,
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
    panels=(WEIGHTED, MEAN),
    precision_of="weighted",
    quick=Effort(20_000_000, 0.02),
    full=Effort(500_000_000, 0.02),
)

BORG = Experiment(
    name="fig6",
    title="Google Borg 2019, cell B: 2,048 servers, 26 classes",
    source="Figure 6",
    system=load("borg-b"),
    axis="rate",
    values=BORG_RATES,
    series=BORG_POLICIES,
    panels=(WEIGHTED,),
    precision_of="weighted",
    quick=BORG_QUICK,
    full=BORG_FULL,
)

BORG_FAIRNESS = Experiment(
    name="fig7",
    title="Google Borg 2019, cell B: who waits",
    source="Appendix, Figure 7",
    system=load("borg-b"),
    axis="rate",
    values=BORG_RATES,
    series=BORG_POLICIES,
    panels=(
        MEAN,
        Panel("lightest class", "mean_response_time", "need 1", "mean response time [s]"),
        Panel("heaviest class", "mean_response_time", "need 2000", "mean response time [s]"),
        Panel("Jain's index of the classes", "jain_index", label="fairness, at most 1", log=False),
    ),
    precision_of="weighted",
    quick=BORG_QUICK,
    full=BORG_FULL,
)

BORG_PREEMPTIVE = Experiment(
    name="fig8",
    title="Google Borg 2019, cell B: with the preemptive ServerFilling",
    source="Appendix, Figure 8",
    system=load("borg-b"),
    axis="rate",
    values=BORG_RATES,
    series=(*BORG_POLICIES, Series("ServerFilling (preemptive)", "server-filling")),
    panels=(MEAN, WEIGHTED),
    precision_of="weighted",
    quick=BORG_QUICK,
    full=BORG_FULL,
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
