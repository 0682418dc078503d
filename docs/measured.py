"""Measure the numbers of choosing.md: `python docs/measured.py`, some minutes on two cores.

Writes one file per table to docs/measured/. Seeds are fixed, so the same version of quickswap
writes the same files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import quickswap as qs

FOLDER = Path(__file__).parent / "measured"


@dataclass(frozen=True)
class Table:
    """Policies on one model, with the maximum number of jobs of each."""

    model: str
    policies: tuple[str, ...]
    jobs: int


TABLES = {
    "four-class": Table(
        "four-class",
        (
            "fcfs",
            "first-fit",
            "msf",
            "lsf",
            "smash:window=10",
            "static-quickswap",
            "static-quickswap:drain=exclusive",
            "adaptive-quickswap",
            "adaptive-quickswap:overrun=0.9",
            "server-filling",
        ),
        jobs=16_000_000,
    ),
    "one-or-all": Table(
        "one-or-all",
        (
            "fcfs",
            "first-fit",
            "msf",
            "lsf",
            "msfq:threshold=8",
            "msfq",
            "msfq:drain=always",
            "adaptive-quickswap",
            "adaptive-quickswap:overrun=0.9",
            "server-filling",
        ),
        jobs=32_000_000,
    ),
    "borg-b": Table(
        "borg-b:load=0.7",
        (
            "first-fit",
            "msf",
            "static-quickswap",
            "adaptive-quickswap",
            "adaptive-quickswap:overrun=0.9",
        ),
        jobs=100_000_000,
    ),
}


def shown(estimate: qs.Estimate) -> str:
    """Write an estimate and its half-width, the latter with two significant digits."""
    if math.isnan(estimate.value):
        return "-"
    digits = max(0, 1 - math.floor(math.log10(estimate.half_width)))
    return f"{estimate.value:,.{digits}f} ± {estimate.half_width:,.{digits}f}"


def write(name: str, table: Table) -> None:
    """Simulate the policies of a table, and write it as Markdown."""
    system = qs.load(table.model)
    # a run that shows instability ends before this number of jobs
    results = [qs.simulate(system, policy, jobs=table.jobs) for policy in table.policies]
    light = min(range(len(system.needs)), key=system.needs.__getitem__)
    heavy = max(range(len(system.needs)), key=system.needs.__getitem__)
    head = ["policy", "mean", "weighted mean"]
    head += [f"{system.names[light]}, mean", f"{system.names[light]}, P99"]
    head += [f"{system.names[heavy]}, mean", f"{system.names[heavy]}, P99"]
    head += ["Jain's index", "verdict"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for result in results:
        small, large = result.classes[light].response_time, result.classes[heavy].response_time
        estimates = [
            *(result.mean_response_time, result.weighted_mean_response_time),
            *(small.mean, small.p99, large.mean, large.p99, result.jain_index),
        ]
        cells = [result.policy_label, *map(shown, estimates), result.verdict.status]
        lines.append("| " + " | ".join(cells) + " |")
    version = results[0].inputs.version
    note = (
        f"Response times in seconds; ± is the 95 % half-width. Model `{table.model}`: "
        f"{system.servers} servers, {system.arrival_rate:.4g} jobs per second, load "
        f"{system.load:.3g}. Written by `docs/measured.py` with quickswap {version}, seed 1, up to "
        f"{table.jobs:,} jobs per policy."
    )
    FOLDER.mkdir(exist_ok=True)
    text = "\n".join([*lines, "", note]) + "\n"
    (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")


def main() -> None:
    """Write all tables."""
    for name, table in TABLES.items():
        write(name, table)


if __name__ == "__main__":
    main()
