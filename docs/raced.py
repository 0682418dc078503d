"""Measure the race of optimum.md: `python docs/raced.py`, ten minutes on two cores.

Writes docs/measured/optimum-race.md and optimum-orders.md. All policies of a model serve the same
jobs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from backfilled import ADAPTIVE, FOLDER, OVERRUN, table

import quickswap as qs
from quickswap.simulation.comparison import gap_of


@qs.compiled
class ReopeningDrain:
    """Most servers first, with drains that end early as smaller jobs accumulate.

    Args:
        system: the system that it serves.
        part: the part of its need that may be missing when the servers drain for a job.
        patience: servers that waiting smaller jobs need and that count as one missing server.
        rounds: smaller jobs are first if those waiting need this multiple of all servers, and
            `slope` servers for each waiting job of the larger class.
        slope: see `rounds`.
    """

    remembers_order = False

    def __init__(
        self,
        system: qs.System,
        part: float = 0.7,
        patience: float = 4.0,
        rounds: float = 1e9,
        slope: float = 0.0,
    ) -> None:
        self.order = np.argsort(-np.array(system.needs), kind="stable")  # largest need first
        self.part, self.patience = float(part), float(patience)
        self.rounds, self.slope = float(rounds), float(slope)
        self.name = f"reopening, part {part:g}" + (", smaller first" if rounds < 1e9 else "")

    def start(self, view: qs.View) -> int | None:
        smaller = 0  # servers that the waiting jobs of smaller classes need
        for cls in range(len(self.order)):
            smaller += view.waiting[cls] * view.needs[cls]
        for place in range(len(self.order)):
            cls = self.order[place]
            waiting, need = view.waiting[cls], view.needs[cls]
            smaller -= waiting * need
            if waiting == 0 or smaller >= self.rounds * view.servers + self.slope * waiting:
                continue
            if need <= view.free:
                return int(cls)
            if need - view.free + smaller / self.patience <= self.part * need:
                return None  # drain for this class
        return None


WORKLOADS = {
    "one-or-all, k = 32, rate 4": ("one-or-all:rate=4", 10_000_000),
    "one-or-all, k = 32, rate 6": ("one-or-all:rate=6", 10_000_000),
    "one-or-all, k = 32, rate 7": ("one-or-all:rate=7", 10_000_000),
    "four classes, rate 3": ("four-class:rate=3", 10_000_000),
    "four classes, rate 4": ("four-class:rate=4", 10_000_000),
    "four classes, rate 4.5": ("four-class:rate=4.5", 10_000_000),
    "Borg B, rate 4": ("borg-b:rate=4", 40_000_000),
}
"""Model, and jobs."""


ORDERS = [(15, *each) for each in itertools.permutations((5, 3, 1))]
"""Cycles of Static Quickswap on four classes, by need; the first one is the default."""


def results_of(model: str, policies: Sequence[Any], jobs: int) -> list[qs.Result]:
    """Simulate policies on the same jobs."""
    return [
        qs.simulate(model, each, jobs=jobs, engine="events", threads=1, replications=2)
        for each in policies
    ]


def cells_of(result: qs.Result, first: qs.Result) -> list[str]:
    """Return the means, their differences from another result, and the verdict."""
    cells = [str(result.mean_response_time), str(result.weighted_mean_response_time)]
    gaps = ["", ""]
    if result is not first and result.verdict.status == first.verdict.status == "stable":
        quantities = ("mean_response_time", "weighted_mean_response_time")
        found = [gap_of(result, first, each) for each in quantities]
        gaps = [f"{'+' if gap.value > 0 else ''}{gap}" for gap in found]
    if result.verdict.status == "unstable":
        cells = ["-", "-"]
    return [*cells, *gaps, result.verdict.status]


def workload(name: str) -> list[list[str]]:
    """Simulate all policies on a workload, and return the lines of its table."""
    model, jobs = WORKLOADS[name]
    system = qs.load(model)
    policies = [
        *(ADAPTIVE, OVERRUN, ReopeningDrain(system)),
        ReopeningDrain(system, part=0.5, rounds=4.0, slope=4.0),
    ]
    lines = []
    results = results_of(model, policies, jobs)
    for result in results:
        lines.append([name, result.policy_label, *cells_of(result, results[0])])
        name = ""
    return lines


def orders() -> list[list[str]]:
    """Simulate Static Quickswap with each cycle, and return the lines of the table."""
    model = "four-class:rate=4.5"
    place = qs.load(model).needs.index
    policies = [qs.StaticQuickswap(order=tuple(map(place, cycle))) for cycle in ORDERS]
    results = results_of(model, policies, 10_000_000)
    return [
        ["-".join(map(str, cycle)), *cells_of(result, results[0])]
        for cycle, result in zip(ORDERS, results, strict=True)
    ]


def main() -> None:
    """Write the tables."""
    head = ["mean", "weighted mean", "mean, difference", "weighted mean, difference", "verdict"]
    with ThreadPoolExecutor(2) as threads:
        cycles = threads.submit(orders)
        lines = [line for lines in threads.map(workload, WORKLOADS) for line in lines]
        text = table(["cycle, by need", *head], cycles.result())
    (FOLDER / "optimum-orders.md").write_text(text, encoding="utf-8")
    text = table(["workload", "policy", *head], lines)
    (FOLDER / "optimum-race.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
