"""Draw the pictures of policies.md: one small trace of jobs, served by every policy in turn.

Run it as `python docs/pictures.py`; it writes docs/_static/policies/*.svg. Each schedule comes from
the core, so a picture shows the actual decisions of the policy.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

import quickswap as qs
from quickswap.engine._core import replay

FOLDER = Path(__file__).parent / "_static" / "policies"
UNIT = 1.0
"""Seconds: all times of the trace that a preemptive policy serves are whole multiples of it."""
END = 19.0
"""Right end of the time axes, seconds."""
# Light, middle and dark so that they differ in grey; colour-blind safe, of Okabe and Ito.
FILL = {1: "#F0E442", 2: "#56B4E9", 4: "#0072B2"}
INK = {1: "black", 2: "black", 4: "white"}
STYLE: Any = {
    "font.size": 8,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "svg.fonttype": "none",
    "svg.hashsalt": "quickswap",
    "hatch.linewidth": 0.6,
    "hatch.color": "#9A9A9A",
    "figure.constrained_layout.use": True,
}


@dataclass(frozen=True)
class Trace:
    """Jobs by number: arrival in seconds, need in servers, size in seconds."""

    servers: int
    arrivals: tuple[float, ...]
    needs: tuple[int, ...]
    sizes: tuple[float, ...]
    means: tuple[float, ...] = (1.0, 1.0, 1.0)

    @property
    def system(self) -> qs.System:
        """A system whose classes are the needs of the trace; its rates are not used.

        Its sizes are exponential with the `means`, by ascending need; a policy uses these
        distributions.
        """
        rows = zip(sorted(set(self.needs)), self.means, strict=False)
        classes = [qs.JobClass(need, 0.5, qs.Exponential(mean=mean)) for need, mean in rows]
        return qs.System(self.servers, classes)


SEVERAL = Trace(
    servers=4,
    arrivals=(0, 0, 1, 1, 3, 5, 6, 7, 8, 8, 9, 10),
    needs=(2, 4, 2, 2, 1, 1, 4, 2, 1, 1, 1, 4),
    sizes=(1, 4, 2, 4, 1, 1, 2, 2, 4, 1, 4, 1),
)
ONE_OR_ALL = Trace(
    servers=4,
    arrivals=(0, 0.5, 1, 2, 2.5, 3.5, 5.25, 6, 7.5, 9.5, 11.25, 13),
    needs=(1, 1, 1, 4, 1, 1, 1, 1, 1, 1, 1, 4),
    sizes=(3, 4, 3, 2, 3, 3, 4, 2, 3, 2, 2, 2),
)
BACKFILLED = Trace(
    servers=4,
    arrivals=(0, 0, 1, 1, 2, 3, 5, 6),
    needs=(2, 1, 2, 4, 1, 1, 2, 1),
    sizes=(4, 4, 4, 2, 7, 2, 2, 4),
)
DRAINED = Trace(
    servers=4,
    arrivals=(0, 0, 1, 2, 3.5, 3.5, 4.5, 5.5, 7),
    needs=(2, 2, 4, 1, 1, 1, 2, 1, 1),
    sizes=(6, 3, 2, 0.75, 1, 0.75, 2, 0.5, 1),
    means=(0.75, 5.0, 2.0),
)
SPLIT = Trace(
    servers=5,
    arrivals=(0, 0, 0, 2, 2, 6, 6, 6, 10, 12, 13),
    needs=(1, 1, 2, 2, 1, 2, 1, 2, 1, 2, 1),
    sizes=(8, 3, 5, 2, 2, 4, 3, 2, 4, 3, 2),
)
PICTURES = {
    "fcfs": (SEVERAL, "fcfs"),
    "first-fit": (SEVERAL, "first-fit"),
    "msf": (SEVERAL, "msf"),
    "lsf": (SEVERAL, "lsf"),
    "smash": (SEVERAL, "smash:window=3"),
    "easy": (BACKFILLED, "easy"),
    "easy-patience": (BACKFILLED, "easy:age=6"),
    "conservative": (BACKFILLED, "conservative"),
    "slurm": (BACKFILLED, "slurm:bf_interval=4,bf_resolution=1"),
    "static-quickswap": (SEVERAL, "static-quickswap"),
    "static-quickswap-exclusive": (SEVERAL, "static-quickswap:drain=exclusive"),
    "adaptive-quickswap": (SEVERAL, "adaptive-quickswap"),
    "adaptive-quickswap-drain": (DRAINED, "adaptive-quickswap"),
    "adaptive-quickswap-backfill": (DRAINED, "adaptive-quickswap:overrun=0.9"),
    "nmsr": (SEVERAL, "nmsr:cycle=10"),
    "nmsr-backfill": (SEVERAL, "nmsr:cycle=10,backfill=true"),
    "randomized-timers": (BACKFILLED, "randomized-timers:rate=1.5"),
    "balanced-splitting": (SPLIT, "balanced-splitting"),
    "server-filling": (SEVERAL, "server-filling"),
    "divisor-filling": (SEVERAL, "divisor-filling"),
    "max-weight": (SEVERAL, "max-weight"),
    "one-or-all-msf": (ONE_OR_ALL, "msf"),
    "msfq": (ONE_OR_ALL, "msfq:threshold=2"),
    "msfq-always": (ONE_OR_ALL, "msfq:threshold=2,drain=always"),
}

Intervals = list[list[tuple[float, float]]]


def schedule(trace: Trace, policy: qs.Policy) -> Intervals:
    """Return the intervals in which each job is in service, seconds."""
    if not policy.preemptive:
        starts, ends = served(trace, policy, trace.sizes)
        return [[(start, end)] for start, end in zip(starts, ends, strict=True)]
    # The core returns ends only. A policy that ignores sizes treats a job independently of its size
    # until the job ends, so a shortened copy ends when that part of the job has been served.
    intervals: Intervals = []
    for job, size in enumerate(trace.sizes):
        pieces: list[tuple[float, float]] = []
        for done in np.arange(UNIT, size + UNIT / 2, UNIT):
            sizes = [*trace.sizes[:job], float(done), *trace.sizes[job + 1 :]]
            end = float(served(trace, policy, sizes)[1][job])
            if pieces and pieces[-1][1] == end - UNIT:
                pieces[-1] = (pieces[-1][0], end)
            else:
                pieces.append((end - UNIT, end))
        intervals.append(pieces)
    return intervals


def served(trace: Trace, policy: qs.Policy, sizes: Any) -> tuple[Any, Any]:
    """Return start and end of each job in the core, seconds."""
    system = trace.system
    spec = json.dumps({"system": system.to_dict(), "policy": policy.resolve(system)})
    classes = [system.needs.index(need) for need in trace.needs]
    starts, ends, *_ = replay(
        spec,
        np.array(trace.arrivals, dtype=float),
        np.array(classes, dtype=np.uint32),
        np.array(sizes, dtype=float),
    )
    return starts, ends


def lanes(trace: Trace, intervals: Intervals) -> list[tuple[int, int, float, float, int]]:
    """Assign one or several runs of adjacent servers to each piece of service.

    Returns job, lowest server, start, end and number of servers of each rectangle.
    """
    pieces = sorted(
        (start, -trace.needs[job], job, end)
        for job, parts in enumerate(intervals)
        for start, end in parts
    )
    busy_until = [0.0] * trace.servers
    found = []
    for start, _, job, end in pieces:
        free = [server for server in range(trace.servers) if busy_until[server] <= start]
        need = trace.needs[job]
        runs = [free[i : i + need] for i in range(len(free) - need + 1)]
        neighbours = [run for run in runs if run[-1] - run[0] == need - 1]
        taken = neighbours[0] if neighbours else free[:need]
        for server in taken:
            busy_until[server] = end
        cuts = [i for i in range(1, need) if taken[i] != taken[i - 1] + 1]
        for low, high in zip([0, *cuts], [*cuts, need], strict=True):
            found.append((job, taken[low], start, end, high - low))
    return found


def idle(trace: Trace, intervals: Intervals) -> list[tuple[float, float]]:
    """Return the intervals in which servers are idle while a job waits."""
    changes = {time for parts in intervals for piece in parts for time in piece}
    instants = sorted({*changes, *map(float, trace.arrivals)})
    found = []
    for begin, end in pairwise(instants):
        running = [any(a <= begin < b for a, b in parts) for parts in intervals]
        waits = any(
            trace.arrivals[job] <= begin < parts[-1][1] and not running[job]
            for job, parts in enumerate(intervals)
        )
        used = sum(need for need, runs in zip(trace.needs, running, strict=True) if runs)
        if waits and used < trace.servers:
            found.append((begin, end))
    return found


def draw(axes: Axes, trace: Trace, policy: qs.Policy) -> None:
    """Draw the jobs in service on each server, with a marker for each arrival below."""
    intervals = schedule(trace, policy)
    rectangles = lanes(trace, intervals)
    for begin, end in idle(trace, intervals):
        used = {
            server
            for _, low, start, stop, width in rectangles
            if start <= begin < stop
            for server in range(low, low + width)
        }
        for server in set(range(trace.servers)) - used:
            cell = Rectangle((begin, server), end - begin, 1, fill=False, hatch="////", linewidth=0)
            axes.add_patch(cell)
    for job, low, start, end, width in rectangles:
        need = trace.needs[job]
        box = Rectangle((start, low), end - start, width, edgecolor="black", linewidth=0.7)
        box.set_facecolor(FILL[need])
        axes.add_patch(box)
        middle = (start + end) / 2, low + width / 2
        axes.text(*middle, str(job + 1), color=INK[need], ha="center", va="center")
    together: dict[float, list[int]] = {}
    for job, arrival in enumerate(trace.arrivals):
        together.setdefault(arrival, []).append(job)
    for arrival, jobs in together.items():
        for place, job in enumerate(jobs):
            need = trace.needs[job]
            spot = arrival + 0.5 * place, -0.75
            box_style = {"boxstyle": "round,pad=0.12", "fc": FILL[need], "lw": 0.5}
            axes.text(
                *spot, str(job + 1), color=INK[need], ha="center", va="center", fontsize=6,
                bbox=box_style,
            )  # fmt: skip
    axes.axhline(0, color="black", linewidth=0.7)
    axes.set_xlim(-0.4, END)
    axes.set_ylim(-1.3, trace.servers)
    axes.set_xticks(range(0, int(END) + 1, 2))
    axes.set_yticks([-0.75, *(server + 0.5 for server in range(trace.servers))])
    axes.set_yticklabels(["arrivals", *(f"server {i + 1}" for i in range(trace.servers))])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("time [s]")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def key(trace: Trace) -> list[Patch]:
    """Return the legend."""
    needs = sorted(set(trace.needs))
    patches = [
        Patch(facecolor=FILL[n], edgecolor="black", linewidth=0.7, label=f"need {n}") for n in needs
    ]
    return [*patches, Patch(fill=False, hatch="////", linewidth=0, label="idle while jobs wait")]


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (trace, spelling) in PICTURES.items():
        policy = qs.parse(spelling)
        with matplotlib.rc_context(STYLE):
            figure = Figure(figsize=(6.4, 1.95), facecolor="white")
            axes = figure.subplots()
            draw(axes, trace, policy)
            figure.legend(handles=key(trace), loc="outside upper right", ncols=4, frameon=False)
            figure.suptitle(policy.label, x=0.02, ha="left", fontsize=9)
            figure.savefig(
                FOLDER / f"{name}.svg", metadata={"Date": None, "Creator": "docs/pictures.py"}
            )


if __name__ == "__main__":
    main()
