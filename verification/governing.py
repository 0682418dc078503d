"""`quickswap govern` beside a real Slurm: agreement with replays, faults, and load.

`python -m verification.governing --kills 50` prints the table of `docs/measured/govern.md`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from quickswap.governing.audit import recovered
from quickswap.governing.controller import Job, JobState, Snapshot
from quickswap.governing.decision import Planner, steering_policy
from verification.agreement import Check
from verification.slurm import SCHEDULER, Case, Outcome, cluster, drawn, obstacle, outcome

__all__ = ["govern"]

SETTINGS = {"SchedulerParameters": SCHEDULER, "PriorityType": "priority/multifactor"}
POLICIES = ("adaptive-quickswap:overrun=0.9", "easy:age=120,order=shortest")
PARTITION = "all"
LARGE = 8
"""Smallest need of a large job."""
ORDER, SLOWER = 0.1, 0.3
"""Largest share of the pairs in another order, and largest relative difference of the mean wait."""


class Governed:
    """`quickswap govern` as a process, with a log."""

    def __init__(self, environment: dict[str, str], log: Path, *options: str) -> None:
        self.log = log
        command = (sys.executable, "-m", "quickswap", "govern", PARTITION, "--live")
        self.process = subprocess.Popen(
            [*command, "--log", str(log), "--interval", "1", "--writes", "600", *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def stop(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Stop it by a signal; return the exit code and the output."""
        self.process.send_signal(by)
        text = self.process.communicate()[0]
        return self.process.returncode, text


@contextmanager
def governed(environment: dict[str, str], policy: str) -> Iterator[None]:
    """Run a governor meanwhile; all its factors must be undone."""
    with TemporaryDirectory() as folder:
        process = Governed(environment, Path(folder) / "log", "--policy", policy)
        yield
        code, text = process.stop()
        if code or recovered(process.log).open:
            raise RuntimeError(f"the governor failed: {text[-2000:]}")


def outcomes(cases: list[Case]) -> list[tuple[str, Outcome]]:
    """Serve the jobs of each case without a governor, and with one under each policy."""

    def run(case: Case, policy: str) -> tuple[str, Outcome]:
        if policy == "slurm":
            return policy, outcome(case, POLICIES)
        return policy, outcome(case, POLICIES, lambda environment: governed(environment, policy))

    runs = [(case, policy) for case in cases for policy in ("slurm", *POLICIES)]
    with ThreadPoolExecutor(3) as pool:  # they sleep most of the time
        return list(pool.map(lambda each: run(*each), runs))


def waits(found: Outcome, policy: str | None) -> tuple[float, float]:
    """Return the mean wait of all jobs and of large ones, real or under a policy, seconds."""
    starts = found.real if policy is None else found.replayed[policy]
    wait = starts - found.log.jobs["submit"].to_numpy()
    large = found.log.jobs["need"].to_numpy() >= LARGE
    return float(wait.mean()), float(wait[large].mean())


def agreement() -> Iterator[Check]:
    """Order, starts and waits under a governor, against replays under its policy."""
    cases = [drawn(f"jobs {seed}", seed, **SETTINGS) for seed in SEEDS]
    print(
        "| policy | mean wait: real | replay | large jobs: real | replay | pairs in the same order "
        "| other policies at most |\n|---|---|---|---|---|---|---|"
    )
    found = outcomes(cases)
    for policy, each in found:
        (real, large), (ours, ours_large) = waits(each, None), waits(each, policy)
        others = max(each.same_order(name) for name in each.replayed if name != policy)
        print(
            f"| {policy} | {real:.1f} s | {ours:.1f} s | {large:.1f} s | {ours_large:.1f} s | "
            f"{each.same_order(policy):.3f} | {others:.3f} |",
            flush=True,
        )
    for policy in POLICIES:
        mine = [each for name, each in found if name == policy]
        order = float(np.mean([each.same_order(policy) for each in mine]))
        yield Check(f"govern, {policy}: order of starts", order, 1.0, ORDER)
        real, ours = (
            float(np.mean([waits(each, which)[0] for each in mine])) for which in (None, policy)
        )
        yield Check(f"govern, {policy}: mean wait", real, ours, SLOWER * ours)


SEEDS = (21, 22)
