"""Measure the table of Balanced Splitting: `python docs/split.py`, ten minutes on two cores.

Writes docs/measured/splitting.md. All policies of a workload serve the same jobs.
"""

from __future__ import annotations

from backfilled import ADAPTIVE
from preemptive import Workload, write

import quickswap as qs

SPLIT = "balanced-splitting"
POLICIES = (ADAPTIVE, "first-fit", "fcfs", SPLIT)


def nested(load: float, ratio: float) -> qs.System:
    """Return 128 servers and four classes with the same load, of needs 1, 2, 4 and 8.

    The mean size of a class is `ratio` times that of the class before.
    """
    needs = (1, 2, 4, 8)
    sizes = [qs.Exponential(mean=ratio**place) for place in range(len(needs))]
    rows = zip(needs, sizes, strict=True)
    classes = [qs.JobClass(need, 1 / (need * size.mean), size) for need, size in rows]
    return qs.System(128, classes).with_load(load)


WORKLOADS: tuple[Workload, ...] = (
    ("one-or-all, rate 2.5", qs.load("one-or-all:rate=2.5"), 10_000_000, POLICIES),
    ("four classes, rate 2", qs.load("four-class:rate=2"), 10_000_000, POLICIES),
    ("Borg B, rate 2.5", qs.load("borg-b:rate=2.5"), 40_000_000, POLICIES),
    *(
        (
            f"needs 1 to 8 of 128, load {load}, mean sizes {words}",
            nested(load, ratio),
            jobs,
            (*POLICIES, f"{SPLIT}:reserved=1"),
        )
        for load, ratio, words, jobs in (
            (0.8, 1.0, "1 s", 10_000_000),
            (0.8, 10.0, "1 to 1,000 s", 80_000_000),
            (0.9, 10.0, "1 to 1,000 s", 80_000_000),
        )
    ),
)


def main() -> None:
    """Write the table."""
    write("splitting.md", WORKLOADS, "Adaptive")


if __name__ == "__main__":
    main()
