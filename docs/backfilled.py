"""Measure the tables of backfilling.md: `python docs/backfilled.py [LOGS]`, ten minutes.

Writes docs/measured/backfilling.md, and from the logs in the folder LOGS
docs/measured/backfilling-logs.md. All policies of a model serve the same jobs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import quickswap as qs
from quickswap import logs
from quickswap.model.distributions import Distribution
from quickswap.simulation.comparison import gap_of

FOLDER = Path(__file__).parent / "measured"
ADAPTIVE, OVERRUN, RISK = (
    "adaptive-quickswap",
    "adaptive-quickswap:overrun=0.9",
    "adaptive-quickswap:backfill=0.03",
)
POLICIES = ("first-fit", ADAPTIVE, RISK, OVERRUN, "server-filling")


def lognormal(scv: float) -> Callable[[float], Distribution]:
    """Return sizes of a mean, and of this squared coefficient of variation."""
    return lambda mean: qs.LogNormal(mean=mean, scv=scv)


def empirical(mean: float) -> Distribution:
    """Return sizes of a mean with four values, as of jobs that are short, or reach a limit."""
    values = [factor * mean for factor in (0.25, 0.5, 1, 4)]
    return qs.Empirical(values, [0.2, 0.6, 0.05, 0.15])


WORKLOADS: dict[str, tuple[str, Callable[[float], Distribution] | None, int]] = {
    "one-or-all, rate 6": ("one-or-all:rate=6", None, 10_000_000),
    "the same, deterministic": ("one-or-all:rate=6", qs.Deterministic, 10_000_000),
    "the same, lognormal, scv 4": ("one-or-all:rate=6", lognormal(4), 40_000_000),
    "one-or-all, rate 7": ("one-or-all:rate=7", None, 10_000_000),
    "four classes, rate 3": ("four-class:rate=3", None, 10_000_000),
    "four classes, rate 4": ("four-class:rate=4", None, 10_000_000),
    "four classes, rate 4.75": ("four-class:rate=4.75", None, 10_000_000),
    "the same at rate 4, deterministic": ("four-class:rate=4", qs.Deterministic, 10_000_000),
    "the same at rate 4, four values": ("four-class:rate=4", empirical, 10_000_000),
    "the same at rate 4, lognormal, scv 4": ("four-class:rate=4", lognormal(4), 40_000_000),
    "the same at rate 4, lognormal, scv 16": ("four-class:rate=4", lognormal(16), 80_000_000),
    "a model of KTH's SP2, load 0.69": ("kth-sp2", None, 10_000_000),
    "a model of NASA's iPSC, load 0.47": ("nasa-ipsc", None, 10_000_000),
    "Borg A, load 0.7": ("borg-a:load=0.7", None, 20_000_000),
    "Borg A, load 0.9": ("borg-a:load=0.9", None, 20_000_000),
    "Borg B, load 0.7": ("borg-b:load=0.7", None, 40_000_000),
    "Borg B, rate 4": ("borg-b:rate=4", None, 40_000_000),
    "Borg B, rate 4.5": ("borg-b:rate=4.5", None, 40_000_000),
}
"""Model, sizes by their mean (None: unchanged), jobs."""
XDMOD = (
    "JobID,JobIDRaw,Cluster,Partition,QOS,Account,Group,GID,User,UID,Submit,Eligible,Start,End,"
    "Elapsed,ExitCode,State,NNodes,NCPUS,ReqCPUS,ReqMem,ReqTRES,AllocTRES,Timelimit,NodeList,JobName"
)
LOGS: dict[str, tuple[str, dict[str, Any]]] = {
    "KTH SP2": ("KTH-SP2-1996-2.swf", {}),
    "NASA iPSC": ("NASA-iPSC-1993-3.1-cln.swf.gz", {}),
    "sacct": ("xdmod-pozidriv-sacct.log", {"servers": 1159, "sacct_format": XDMOD}),
}


def system_of(model: str, sizes: Callable[[float], Distribution] | None) -> qs.System:
    """Return a model with sizes of the same means."""
    system = qs.load(model)
    if sizes is None:
        return system
    return qs.System(
        system.servers,
        [
            qs.JobClass(each.need, each.arrival_rate, sizes(each.size.mean), each.name)
            for each in system.classes
        ],
    )


def workload(name: str) -> list[list[str]]:
    """Simulate all policies on a workload, and return the lines of its table."""
    model, sizes, jobs = WORKLOADS[name]
    system = system_of(model, sizes)
    known = [each for each in POLICIES if each != "server-filling" or _nested(system)]
    results = {
        each: qs.simulate(system, each, jobs=jobs, engine="events", threads=1, replications=2)
        for each in known
    }
    plain, lines = results[ADAPTIVE], []
    heavy = max(range(len(system.needs)), key=system.needs.__getitem__)
    for spelling, result in results.items():
        cells = [result.mean_response_time, result.weighted_mean_response_time]
        cells += [result.classes[heavy].mean_response_time, result.overall.response_time.p99]
        gaps = ["", ""]
        if spelling != ADAPTIVE and result.verdict.status == plain.verdict.status == "stable":
            quantities = ("mean_response_time", "weighted_mean_response_time")
            gaps = [_signed(gap_of(result, plain, each)) for each in quantities]
        unstable = result.verdict.status == "unstable"
        values = ["-"] * 4 if unstable else [str(each) for each in cells]
        index = "-" if unstable else str(result.jain_index)
        lines.append([name, result.policy_label, *values, index, *gaps, result.verdict.status])
        name = ""
    return lines


def _nested(system: qs.System) -> bool:
    """Whether ServerFilling keeps servers busy: needs and servers are powers of two."""
    return system.servers & (system.servers - 1) == 0


def _signed(gap: qs.Estimate) -> str:
    return f"{'+' if gap.value > 0 else ''}{gap}"


def replayed(name: str, folder: Path) -> list[list[str]]:
    """Replay a log under all policies, with the estimates of the log."""
    file, settings = LOGS[name]
    log = logs.read(folder / file, **settings)
    policies = ("easy", "conservative", "first-fit", ADAPTIVE, OVERRUN, "static-quickswap")
    results = [qs.replay(log, each) for each in (*policies, "static-quickswap:overrun=0.9")]
    easy, lines = results[0], []
    for result in results:
        wait = result.overall.waiting_time
        gap = "" if result is easy else _signed(_hours(result.difference(easy, "waiting_time")))
        slowdown = result.overall.bounded_slowdown.mean
        label = result.policy_label.replace("overrun 0.9", "backfilled")
        cells = [str(_hours(wait.mean)), str(_hours(wait.p99)), str(slowdown), gap]
        lines.append([name, label, *cells, result.verdict])
        name = ""
    return lines


def _hours(estimate: qs.Estimate) -> qs.Estimate:
    return qs.Estimate(estimate.value / 3600, estimate.half_width / 3600)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main() -> None:
    """Write the tables."""
    FOLDER.mkdir(exist_ok=True)
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        head = ["log", "policy", "mean wait", "P99 wait", "bounded slowdown"]
        text = table(
            [*head, "mean wait, difference from EASY", "verdict"],
            [line for name in LOGS for line in replayed(name, folder)],
        )
        (FOLDER / "backfilling-logs.md").write_text(text, encoding="utf-8")
    head = ["workload", "policy", "mean", "weighted mean", "heaviest class", "P99", "Jain's index"]
    head += ["mean, difference from Adaptive", "weighted mean, difference from Adaptive", "verdict"]
    with ThreadPoolExecutor(2) as threads:
        lines = [line for lines in threads.map(workload, WORKLOADS) for line in lines]
    (FOLDER / "backfilling.md").write_text(table(head, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
