"""Measure the tables and the figure of patience.md: `python docs/patience.py LOGS`, a minute.

Replays the logs in the folder LOGS, and writes docs/measured/patience*.md and
docs/_static/patience.svg.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from backfilled import LOGS, table
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pictures import STYLE

import quickswap as qs
from quickswap import logs
from quickswap.statistics.estimates import Estimate

FOLDER = Path(__file__).parent
HOUR = 3600.0
POLICIES = {
    "easy": "EASY",
    "easy:order=shortest": "shortest first",
    "easy:order=area": "smallest area first",
    "easy:patience=1,order=shortest": "patience 1, shortest",
    "easy:patience=3,order=shortest": "patience 3, shortest",
    "easy:patience=10,order=shortest": "patience 10, shortest",
    "easy:patience=3": "patience 3, oldest",
    "easy:age=43200": "age 12 h, oldest",
    "easy:order=expansion,reservation=first": "expansion factor",
    "easy:order=wfp3,reservation=first": "WFP3",
    "conservative": "Conservative",
    "first-fit": "First-Fit",
}
CASES = {
    "KTH SP2, as logged": ("KTH SP2", "logged", 1.0),
    "KTH SP2, exact": ("KTH SP2", "exact", 1.0),
    "KTH SP2, predicted": ("KTH SP2", "predicted", 1.0),
    "NASA iPSC at load 0.75, exact": ("NASA iPSC", "exact", 1.6),
    "sacct, as logged": ("sacct", "logged", 1.0),
}
"""Log, estimates, factor of the load."""
GROUPS: dict[str, dict[str, float]] = {
    "need": {
        "need 1": 1,
        "2 to 4": 2,
        "5 to 8": 5,
        "9 to 16": 9,
        "17 to 32": 17,
        "33 and more": 33,
    },
    "size": {
        "run time below 10 min": 0,
        "10 min to 1 h": 600,
        "1 to 4 h": HOUR,
        "4 to 12 h": 4 * HOUR,
        "12 h and more": 12 * HOUR,
    },
}
"""Names and lower ends of the groups of jobs, by column of the log."""
PAYING = (
    *("easy:order=shortest", "easy:patience=3,order=shortest", "easy:patience=10,order=shortest"),
    *("easy:age=43200", "easy:order=wfp3,reservation=first"),
)
FACTORS = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
LOADED = (*PAYING, "easy:patience=3")


Replays = dict[str, qs.ReplayResult]
Floats = NDArray[np.float64]


def replays(folder: Path, case: str, policies: Any = POLICIES) -> Replays:
    """Replay a log under some policies."""
    name, estimate, factor = CASES[case]
    file, settings = LOGS[name]
    log = logs.read(folder / file, **settings)
    replay = partial(qs.replay, log, estimate=estimate, load_factor=factor)
    return {each: replay(each) for each in policies}


def hours(estimate: Estimate) -> Estimate:
    """Return an estimate in hours."""
    return estimate / HOUR


def waits(result: qs.ReplayResult) -> tuple[Floats, Floats, Floats]:
    """Return wait in hours, need, and size in hours of the jobs measured."""
    inside, jobs = result.measured, result.schedule
    return jobs.wait[inside] / HOUR, jobs.need[inside].astype(float), jobs.size[inside] / HOUR


def weighted(result: qs.ReplayResult) -> float:
    """Return the mean wait weighted by work, hours."""
    wait, need, size = waits(result)
    return float(np.average(wait, weights=need * size))


def largest(result: qs.ReplayResult) -> float:
    """Return the mean wait of the jobs whose need is at least the 95th percentile, hours."""
    wait, need, _ = waits(result)
    return float(wait[need >= np.quantile(need, 0.95)].mean())


def overview(case: str, results: Replays) -> Iterator[list[str]]:
    """Return the lines of a log and a kind of estimates."""
    easy = results["easy"]
    for spelling, result in results.items():
        gap = "" if result is easy else signed(hours(result.difference(easy)))
        cells = [
            str(hours(result.mean_waiting_time)),
            gap,
            str(result.overall.bounded_slowdown.mean),
        ]
        cells += [f"{result.longest_wait / HOUR:.0f}", f"{weighted(result):.2f}"]
        yield [case, POLICIES[spelling], *cells, f"{largest(result):.1f}"]
        case = ""


def signed(gap: Estimate) -> str:
    """Return a difference with its sign."""
    return f"{'+' if gap.value > 0 else ''}{gap}"


def payers(results: Replays) -> Iterator[list[str]]:
    """Return the changes of the mean wait by need and by run time."""
    easy = results["easy"]
    for column, groups in GROUPS.items():
        owner = np.searchsorted([*groups.values()], easy.log.jobs[column].to_numpy(), "right") - 1
        tables = {name: each.tabulated(owner, len(groups)) for name, each in results.items()}
        for group, name in enumerate(groups):
            mine = owner == group
            mean = easy.schedule.wait[easy.measured & mine].mean() / HOUR
            gaps = [
                tables[name].difference(tables["easy"], "waiting_time", group) for name in PAYING
            ]
            yield [name, f"{mine.mean():.0%}", f"{mean:.2f}", *(signed(hours(gap)) for gap in gaps)]


def due(result: qs.ReplayResult) -> float:
    """Return the share of the work in jobs that were due when they started."""
    policy = result.policy
    assert isinstance(policy, qs.EASY)
    wait, need, size = waits(result)
    estimate = result.log.jobs["estimate"].to_numpy()[result.schedule.rows][result.measured]
    limit = (
        policy.patience * np.maximum(estimate, policy.least) if policy.age is None else policy.age
    )
    return float(np.average(HOUR * wait >= limit, weights=need * size))


def loaded(folder: Path) -> Iterator[list[str]]:
    """Return the lines of the log of KTH at higher loads."""
    file, settings = LOGS["KTH SP2"]
    log = logs.read(folder / file, **settings)
    for factor in FACTORS:
        easy, *rest = (qs.replay(log, each, load_factor=factor) for each in ("easy", *LOADED))
        gaps = [
            signed(hours(each.difference(easy)))
            + (f" ({due(each):.0%})" if "patience" in name or "age" in name else "")
            for name, each in zip(LOADED, rest, strict=True)
        ]
        yield [f"{easy.load:.2f}", easy.verdict, str(hours(easy.mean_waiting_time)), *gaps]


def figure(results: Replays) -> None:
    """Draw the mean wait against the longest wait and the mean wait of the largest jobs."""
    with matplotlib.rc_context(STYLE):
        picture = Figure(figsize=(6.8, 3.6), facecolor="white")
        numbers = {
            name: number
            for number, name in enumerate(
                sorted(results, key=lambda each: results[each].mean_waiting_time.value), 1
            )
        }
        panels = picture.subplots(1, 2)
        for axes, label, value in (
            (panels[0], "longest wait [h]", lambda each: each.longest_wait / HOUR),
            (panels[1], "mean wait of the largest 5 % [h]", largest),
        ):
            points = {
                name: (each.mean_waiting_time.value / HOUR, value(each))
                for name, each in results.items()
            }
            front = {
                (x, y)
                for x, y in points.values()
                if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
            }
            for name, point in points.items():
                axes.plot(*point, "o", color="#0072B2" if point in front else "#B0B0B0", ms=5)
                offset = 0, 4 if numbers[name] % 2 else -11  # numbers of neighbours do not overlap
                axes.annotate(
                    str(numbers[name]), point, offset, textcoords="offset points", fontsize=7
                )
            axes.step(*zip(*sorted(front), strict=True), where="post", color="#0072B2", lw=0.8)
            axes.set_xlabel("mean wait [h]")
            axes.set_ylabel(label)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("{x:g}")
        lines = [f"{number}  {POLICIES[name]}" for name, number in numbers.items()]
        for column in range(3):
            words = "\n".join(lines[column * len(lines) // 3 : (column + 1) * len(lines) // 3])
            picture.text(0.08 + 0.33 * column, 0.0, words, fontsize=7)
        picture.set_layout_engine("constrained", rect=(0, 0.2, 1, 0.8))
        picture.savefig(
            FOLDER / "_static" / "patience.svg",
            metadata={"Date": None, "Creator": "docs/patience.py"},
        )


def main() -> None:
    """Write the tables and the figure."""
    folder = Path(sys.argv[1])
    known = {case: replays(folder, case) for case in CASES}
    head = ["log, estimates", "policy", "mean wait", "difference from EASY", "bounded slowdown"]
    head += ["longest", "weighted", "largest 5 %"]
    lines = [line for case, results in known.items() for line in overview(case, results)]
    write("patience", table(head, lines))
    first = known[next(iter(CASES))]
    head = ["jobs", "share", "EASY", *(POLICIES[each] for each in PAYING)]
    write("patience-groups", table(head, payers(first)))
    head = ["load", "EASY", "mean wait", *(POLICIES[each] for each in LOADED)]
    write("patience-loads", table(head, loaded(folder)))
    figure(first)


def write(name: str, text: str) -> None:
    """Write a table."""
    (FOLDER / "measured" / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
