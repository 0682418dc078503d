"""Measure the tables of preemptive policies: `python docs/preemptive.py`, 30 minutes.

Writes docs/measured/gittins.md and interruptions.md. All policies of a model serve the same jobs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from backfilled import ADAPTIVE, FOLDER, OVERRUN, table

import quickswap as qs
from quickswap.simulation.comparison import gap_of

FILLING = "server-filling"
QUANTITIES = ("mean_response_time", "weighted_mean_response_time")
HEAD = ["workload", "policy", "mean", "weighted mean"]


def hyperexponential(model: str, scv: float) -> qs.System:
    """Return a model with hyperexponential sizes."""
    system = qs.load(model)
    sizes = [qs.Hyperexponential(mean=each.size.mean, scv=scv) for each in system.classes]
    rows = zip(system.classes, sizes, strict=True)
    return qs.System(system.servers, [qs.JobClass(c.need, c.arrival_rate, s) for c, s in rows])


Workload = tuple[str, qs.System, int, tuple[str, ...]]
"""Name, system, jobs, and policies; differences are to the first of these."""

ORDERS = (FILLING, f"{FILLING}:order=gittins", f"{FILLING}:order=srpt")
GITTINS: tuple[Workload, ...] = (
    ("one-or-all, rate 6", qs.load("one-or-all:rate=6"), 10_000_000, ORDERS),
    ("four classes, rate 4", qs.load("four-class:rate=4"), 10_000_000, ORDERS),
    (
        "the same, hyperexponential, scv 4",
        hyperexponential("four-class:rate=4", 4.0),
        20_000_000,
        ORDERS,
    ),
)
INTERRUPTIONS: tuple[Workload, ...] = (
    (
        "four classes, rate 4",
        qs.load("four-class:rate=4"),
        10_000_000,
        (
            *(ADAPTIVE, OVERRUN, FILLING),
            *(f"{FILLING}:overhead={seconds}" for seconds in (0.1, 0.2, 0.3, 0.4, 0.5)),
            f"{FILLING}:overhead=0.4,minimum=1",
            f"{FILLING}:restart=true",
        ),
    ),
    (
        "Borg B, rate 4",
        qs.load("borg-b:rate=4"),
        40_000_000,
        (
            *(ADAPTIVE, OVERRUN, FILLING),
            *(f"{FILLING}:overhead={seconds}" for seconds in (10, 30, 60, 100, 150)),
            f"{FILLING}:overhead=100,minimum=600",
            f"{FILLING}:restart=true",
        ),
    ),
)


def lines_of(workload: Workload) -> list[list[str]]:
    """Simulate all policies on a workload, and return the lines of its table."""
    name, system, jobs, policies = workload
    results = [
        qs.simulate(
            system,
            each,
            jobs=jobs,
            engine="events",
            threads=1,
            replications=2,
            allow_unstable=True,
        )
        for each in policies
    ]
    plain, lines = results[0], []
    for result in results:
        stable = result.verdict.status == "stable"
        cells = [str(getattr(result, each)) if stable else "-" for each in QUANTITIES]
        for each in QUANTITIES:
            gap = gap_of(result, plain, each) if stable and result is not plain else None
            cells.append("" if gap is None else f"{'+' if gap.value > 0 else ''}{gap}")
        used = f"{result.utilisation.value:.3f}"
        lines.append([name, result.policy_label, *cells, used, result.verdict.status])
        name = ""
    return lines


def write(file: str, workloads: tuple[Workload, ...], first: str) -> None:
    """Write a table; `first` is the name of the first policy of each workload."""
    gaps = [f"mean, difference from {first}", f"weighted mean, difference from {first}"]
    with ThreadPoolExecutor(2) as threads:
        lines = [line for lines in threads.map(lines_of, workloads) for line in lines]
    text = table([*HEAD, *gaps, "servers in use", "verdict"], lines)
    (FOLDER / file).write_text(text, encoding="utf-8")


def main() -> None:
    """Write the tables."""
    write("gittins.md", GITTINS, "order of arrival")
    write("interruptions.md", INTERRUPTIONS, "Adaptive")


if __name__ == "__main__":
    main()
