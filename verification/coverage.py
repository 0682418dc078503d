"""Coverage of the intervals over a grid of systems, loads, lengths and engines.

`python -m verification.coverage run` adds runs to the cells of the grid until each has enough; it
may be stopped and started again. `python -m verification.coverage table` writes what they have
found as a page. Where the verdict is "stable", nine of ten intervals that are printed must hold the
value; elsewhere it must be "too short".
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

import quickswap as qs
from quickswap.statistics.estimates import QUANTILES
from quickswap.theory import msfq

LOADS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
LENGTHS = (10_000, 100_000, 1_000_000, 10_000_000)
RUNS = 300
FIRST = 60
"""Runs of each cell before any has more."""
SETTLED = 20
"""Runs after which a cell is left alone if all of them are too short."""
LEAST = 0.9
"""Coverage that intervals must have, less two standard errors of its measurement."""
ENOUGH = 0.1
"""Share of the runs of a cell that must be stable for their coverage to be judged."""
UNIT = qs.Exponential(mean=1.0)
PERCENTILES = tuple(zip(("p50", "p90", "p99", "p999"), QUANTILES, strict=True))


@dataclass(frozen=True)
class Case:
    """A system at any load, under a policy; the engines it runs on."""

    title: str
    system: Callable[[float], qs.System]
    policy: str
    engines: tuple[str, ...] = ("jumps", "events")


def _single(size: qs.Distribution) -> Callable[[float], qs.System]:
    return lambda load: qs.System(1, [qs.JobClass(1, load / size.mean, size)])


CASES = {
    "mm1": Case("M/M/1", _single(UNIT), "fcfs"),
    "mm32": Case("M/M/32", lambda load: qs.System(32, [qs.JobClass(1, 32 * load, UNIT)]), "fcfs"),
    "msf": Case("one-or-all, MSF", lambda load: qs.load("one-or-all").with_load(load), "msf"),
    "msfq": Case(
        "one-or-all, MSFQ(31)", lambda load: qs.load("one-or-all").with_load(load), "msfq"
    ),
    "four": Case(
        "four-class, Adaptive Quickswap",
        lambda load: qs.load("four-class").with_load(load),
        "adaptive-quickswap",
    ),
    "limit": Case(  # of stability, which no theorem knows, 5 % below the capacity
        "5 servers, Balanced Splitting, load relative to its limit",
        lambda load: qs.System(
            5, [qs.JobClass(1, 2.03 * load, UNIT), qs.JobClass(2, 1.352 * load, UNIT)]
        ),
        "balanced-splitting",
        ("events",),
    ),
    "mg1": Case(
        "M/G/1, lognormal of scv 16",
        _single(qs.LogNormal(mean=1.0, scv=16.0)),
        "fcfs",
        ("events",),
    ),
}


@dataclass(frozen=True)
class Cell:
    """A case at a load, of a length, on an engine."""

    case: str
    load: float
    jobs: int
    engine: str

    def file(self, folder: Path) -> Path:
        """Where its runs are, one per line."""
        return folder / f"{self.case}-{self.load}-{self.jobs}-{self.engine}.jsonl"

    def runs(self, folder: Path) -> list[dict[str, Any]]:
        """The runs so far."""
        file = self.file(folder)
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def cells(most: int) -> Iterator[Cell]:
    """Yield the cells of the grid up to a length, the shortest first."""
    for jobs, load, (name, case) in product(LENGTHS, LOADS, CASES.items()):
        if jobs <= most:
            yield from (Cell(name, load, jobs, engine) for engine in case.engines)


def add_runs(cell: Cell, folder: Path, number: int) -> str:
    """Simulate until a cell has this many runs, with the seeds 0, 1, ...; return its name."""
    done = cell.runs(folder)
    with cell.file(folder).open("a") as file:
        for seed in range(len(done), number):
            if len(done) >= SETTLED and all(each["status"] == "too short" for each in done):
                break
            done.append(_run(cell, seed))
            file.write(json.dumps(done[-1]) + "\n")
            file.flush()
    return cell.file(folder).name


def _run(cell: Cell, seed: int) -> dict[str, Any]:
    case = CASES[cell.case]
    result = qs.simulate(
        case.system(cell.load),
        case.policy,
        jobs=cell.jobs,
        engine=cell.engine,
        seed=seed,
        threads=1,
    )
    response = result.overall.response_time
    found = {
        "mean": response.mean,
        "weighted": result.weighted_mean_response_time,
        "jain": result.jain_index,
        "std": response.std,
        **{name: getattr(response, name) for name, _ in PERCENTILES},
        **{f"class {i}": each.mean_response_time for i, each in enumerate(result.classes)},
    }
    pairs = {name: [each.value, each.half_width] for name, each in found.items()}
    return {"status": result.verdict.status, "reason": result.verdict.reason, "found": pairs}


@cache
def exact(name: str, load: float) -> dict[str, float]:
    """Return the values that theory gives."""
    system = CASES[name].system(load)
    if name == "mm1":
        tails = {what: -math.log(1 - level) / (1 - load) for what, level in PERCENTILES}
        return _means([1 / (1 - load)], system) | {"std": 1 / (1 - load)} | tails
    if name == "mm32":
        return _many_servers(system, load)
    if name == "mg1":
        size = system.classes[0].size
        return _means([size.mean + load * size.second_moment / size.mean / 2 / (1 - load)], system)
    if name in ("msf", "msfq"):
        solved = msfq.exact(system, 0 if name == "msf" else 31)
        return _means([each.mean_response_time for each in solved.classes], system)
    return {}


def _means(times: Sequence[float], system: qs.System) -> dict[str, float]:
    """Return what follows from the mean response times of the classes."""
    values = np.array(times)
    return {
        "mean": float(values @ np.array(system.job_shares)),
        "weighted": float(values @ np.array(system.load_shares)),
        "jain": float(values.sum() ** 2 / (len(values) * np.square(values).sum())),
        **{f"class {i}": float(value) for i, value in enumerate(values)},
    }


def _many_servers(system: qs.System, load: float) -> dict[str, float]:
    """M/M/k with sizes of mean 1: a job waits with the probability of Erlang's C formula."""
    k, blocked = system.servers, 1.0
    for n in range(1, k + 1):
        blocked = k * load * blocked / (n + k * load * blocked)
    waits, rate = blocked / (1 - load * (1 - blocked)), k * (1 - load)

    def above(time: float) -> float:
        both = (rate * math.exp(-time) - math.exp(-rate * time)) / (rate - 1)
        return (1 - waits) * math.exp(-time) + waits * both

    tails = {
        name: brentq(lambda time, level=level: above(time) - 1 + level, 0, 1e6)
        for name, level in PERCENTILES
    }
    std = math.sqrt(1 + waits * (2 - waits) / rate**2)
    return _means([1 + waits / rate], system) | {"std": std} | tails


def targets(cell: Cell, folder: Path) -> dict[str, float]:
    """Return exact values, or where there are none the means over the longest runs."""
    found = exact(cell.case, cell.load)
    if found:
        return found
    for jobs in reversed(LENGTHS):
        longest = [
            each
            for engine in CASES[cell.case].engines
            for each in Cell(cell.case, cell.load, jobs, engine).runs(folder)
        ]
        if len(longest) >= SETTLED:
            names = [name for name in longest[0]["found"] if name in ("mean", "weighted", "jain")]
            names += [name for name in longest[0]["found"] if name.startswith("class")]
            return {
                name: float(np.mean([each["found"][name][0] for each in longest])) for name in names
            }
    return {}


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of the stable runs of a cell hold the value, by quantity.

    Attributes:
        statuses: runs by verdict.
        hits: per quantity, intervals that hold the value, and intervals that are printed.
    """

    cell: Cell
    statuses: Counter[str]
    hits: dict[str, tuple[int, int]]

    @classmethod
    def of(cls, cell: Cell, folder: Path) -> Coverage:
        """Count."""
        runs = cell.runs(folder)
        stable = [each["found"] for each in runs if each["status"] == "stable"]
        hits = {}
        for name, target in targets(cell, folder).items():
            pairs = [each[name] for each in stable if not math.isnan(each[name][1])]
            # what follows from an exact value exactly may be off by rounding
            held = sum(abs(v - target) <= half + 1e-9 * abs(target) for v, half in pairs)
            hits[name] = held, len(pairs)
        return cls(cell, Counter(each["status"] for each in runs), hits)

    def worst(self, names: Sequence[str]) -> tuple[int, int]:
        """Return the counts of the quantity that is covered least, of those with some."""
        seen = [self.hits[name] for name in names if self.hits.get(name, (0, 0))[1]]
        return min(seen, key=lambda pair: pair[0] / pair[1], default=(0, 0))

    @property
    def means(self) -> tuple[int, int]:
        """Of mean, weighted mean and the means of the classes the one covered least."""
        return self.worst(
            ["mean", "weighted", *(name for name in self.hits if name.startswith("class"))]
        )

    @property
    def judged(self) -> bool:
        """Whether enough runs are stable for their coverage to count."""
        return self.statuses["stable"] >= max(SETTLED, ENOUGH * self.statuses.total())


def passes(hits: tuple[int, int]) -> bool:
    """Whether a coverage is at least what it must be, as far as this many runs show."""
    held, seen = hits
    return seen < SETTLED or held / seen >= LEAST - 2 * math.sqrt(LEAST * (1 - LEAST) / seen)


COLUMNS = ("load", "jobs", "engine", "runs", "stable", "means", "std", "p50", "p90", "p99", "p99.9")
NAMES = ("std", "p50", "p90", "p99", "p999")


def table(folder: Path) -> str:
    """Return the page: a table for each case."""
    lines = [
        "<!-- written by `python -m verification.coverage table` -->",
        "",
        "Coverage in % of the 95 % intervals that are printed, among the runs with the verdict",
        "*stable*. *means* is the least of the mean, the weighted mean and the means of classes.",
        "An empty cell means that no interval was printed, or that no exact value is known.",
    ]
    for name, case in CASES.items():
        several = len(case.system(0.5).classes) > 1
        columns = (*COLUMNS[:6], "Jain") if several else COLUMNS
        lines += ["", f"**{case.title}**", "", _row(columns), _row(["---:"] * len(columns))]
        for cell in cells(LENGTHS[-1]):
            if cell.case != name or not cell.runs(folder):
                continue
            found = Coverage.of(cell, folder)
            runs = found.statuses.total()
            share = 100 * found.statuses["stable"] / runs
            rest = [("jain",)] if several else [(each,) for each in NAMES]
            values = [found.means, *(found.worst(each) for each in rest)]
            shown = [_percent(each) if found.judged else "" for each in values]
            place = [f"{cell.load:g}", f"{cell.jobs:,}", cell.engine, f"{runs}", f"{share:.0f} %"]
            lines.append(_row([*place, *shown]))
    return "\n".join(lines) + "\n"


def _percent(hits: tuple[int, int]) -> str:
    return f"{100 * hits[0] / hits[1]:.0f}" if hits[1] >= SETTLED else ""


def _row(cells_of_row: Sequence[str]) -> str:
    return "| " + " | ".join(cells_of_row) + " |"


def failures(folder: Path) -> list[str]:
    """Return the cells whose intervals hold the value too rarely."""
    failed = []
    for cell in cells(LENGTHS[-1]):
        found = Coverage.of(cell, folder)
        if not found.judged:
            continue
        for name, hits in {"means": found.means, **found.hits}.items():
            if not passes(hits):
                failed.append(f"{cell}: {name} {hits[0]} of {hits[1]}")
    return failed


def main() -> int:
    """Run cells, or write the table; exit code 1 if a cell fails."""
    parser = argparse.ArgumentParser(prog="python -m verification.coverage", description=__doc__)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--folder", type=Path, default=Path("target/coverage"), help="of the runs")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each cell")
    parser.add_argument("--most", type=int, default=LENGTHS[-1], help="jobs of the longest cells")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--page", type=Path, default=Path("docs/measured/coverage.md"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.what == "run":
        with ProcessPoolExecutor(given.processes) as pool:
            for number in sorted({min(FIRST, given.runs), given.runs}):
                todo = list(cells(given.most))
                for done in pool.map(
                    add_runs, todo, [given.folder] * len(todo), [number] * len(todo)
                ):
                    print(done, flush=True)
    else:
        given.page.write_text(table(given.folder), encoding="utf-8")
    failed = failures(given.folder)
    print(*failed, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
