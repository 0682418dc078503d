"""The simulator of the paper's authors, github.com/NeDS-Lab/mjqm-simulator, timed from outside."""

import subprocess
import tempfile
import time
from pathlib import Path

from quickswap import System

POLICIES = {
    "msf": '"most server first"',
    "msfq": '{ name = "quick swap", threshold = 31 }',
    "adaptive-quickswap": '"adaptive msf"',
}
"""Our names and its own."""
RUNS = 4
"""It ends with an error if they are too few for its intervals."""
SHORT, LONG = 20_000, 300_000
"""Events of a run; what the program does besides simulating takes equally long in both."""


def nanoseconds(program: Path, system: System, policy: str) -> float:
    """Time of an event in nanoseconds."""
    short, long = (_seconds(program, system, policy, events) for events in (SHORT, LONG))
    return (long - short) / (RUNS * (LONG - SHORT)) * 1e9


def _seconds(program: Path, system: System, policy: str, events: int) -> float:
    lines = [
        'identifier = "timed"',
        f"events = {events}",
        f"repetitions = {RUNS}",
        f"cores = {system.servers}",
        f"policy = {POLICIES[policy]}",
        'arrival.distribution = "exponential"',
        'service.distribution = "exponential"',
    ]
    for each in system.classes:
        lines += [
            "[[class]]",
            f"cores = {each.need}",
            f"arrival.rate = {each.arrival_rate!r}",
            f"service.mean = {each.size.mean!r}",
        ]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("Inputs", "Results"):
            Path(folder, name).mkdir()
        Path(folder, "Inputs", "timed.toml").write_text("\n".join(lines))
        begin = time.perf_counter()
        subprocess.run([program, "timed"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin
