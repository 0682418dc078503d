"""Measure the table of interruptions in policies.md: `python docs/interruptions.py`, 20 minutes.

Writes docs/measured/interruptions.md. All policies of a model serve the same jobs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from backfilled import ADAPTIVE, FOLDER, OVERRUN, table

import quickswap as qs
from quickswap.simulation.comparison import gap_of

FILLING = "server-filling"
WORKLOADS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "four classes, rate 4": (
        "four-class:rate=4",
        10_000_000,
        (
            *(f"{FILLING}:overhead={seconds}" for seconds in (0.1, 0.2, 0.3, 0.4, 0.5)),
            f"{FILLING}:overhead=0.4,minimum=1",
            f"{FILLING}:restart=true",
        ),
    ),
    "Borg B, rate 4": (
        "borg-b:rate=4",
        40_000_000,
        (
            *(f"{FILLING}:overhead={seconds}" for seconds in (10, 30, 60, 100, 150)),
            f"{FILLING}:overhead=100,minimum=600",
            f"{FILLING}:restart=true",
        ),
    ),
}
"""Model, jobs, and policies."""
QUANTITIES = ("mean_response_time", "weighted_mean_response_time")


def workload(name: str) -> list[list[str]]:
    """Simulate all policies on a workload, and return the lines of its table."""
    model, jobs, policies = WORKLOADS[name]
    results = [
        qs.simulate(
            model, each, jobs=jobs, engine="events", threads=1, replications=2, allow_unstable=True
        )
        for each in (ADAPTIVE, OVERRUN, FILLING, *policies)
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


def main() -> None:
    """Write the table."""
    head = ["workload", "policy", "mean", "weighted mean", "mean, difference from Adaptive"]
    head += ["weighted mean, difference from Adaptive", "servers in use", "verdict"]
    with ThreadPoolExecutor(2) as threads:
        lines = [line for lines in threads.map(workload, WORKLOADS) for line in lines]
    (FOLDER / "interruptions.md").write_text(table(head, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
