"""The exact mean response times of MSFQ, which the paper leaves open.

The number N of light jobs at the starts of visits is a Markov chain. `transforms` describes one
step of it, `equation` computes its stationary distribution, and `cycle` the means of a cycle given
that distribution. Response times follow by Little's law.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from quickswap._check import whole
from quickswap.errors import ModelError, PolicyError
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import MSFQ
from quickswap.policies.base import choice
from quickswap.theory.conditions import OneOrAll, check_load, exclusive
from quickswap.theory.means import Means
from quickswap.theory.msfq.cycle import Cycle, cycle
from quickswap.theory.msfq.equation import Equation, Unknowns
from quickswap.theory.msfq.heavy import ResponseTimes
from quickswap.theory.msfq.transforms import Always, OnDemand
from quickswap.theory.visits import check_finite

__all__ = ["ExactMSFQ", "MSFQSolver", "PhaseShare", "exact"]

RAREST = 1e-10
"""Least share of a class among the arrivals."""
HIGHEST_LOAD = 0.999999
"""Highest load that is solved; it takes half a minute there."""
MOST_SLOTS = 4096
"""Most light jobs in service at once; the memory grows with the square."""


@dataclass(frozen=True, slots=True)
class PhaseShare:
    """One phase of MSFQ.

    Attributes:
        name: "idle", "1" (heavy jobs), "2" (light jobs, all servers busy), "3" (light jobs) or "4"
            (drain).
        share: of time.
        duration: mean time in a cycle, seconds; 0 in the cycles that skip it.
    """

    name: str
    share: float
    duration: float


@dataclass(frozen=True, kw_only=True)
class ExactMSFQ(Means):
    """The exact solution of MSFQ.

    Attributes:
        threshold: l.
        drain: "on_demand" or "always".
        cycle: mean time from one start of a visit to the light jobs to the next, seconds.
        phases: idle, and the paper's phases 1 to 4.
        lights_at_start: mean number of light jobs at the start of a visit.
    """

    threshold: int
    drain: str
    cycle: float
    phases: tuple[PhaseShare, ...]
    lights_at_start: float
    _parts: tuple[Equation, Unknowns, Cycle] = field(repr=False, compare=False)

    @cached_property
    def heavy_response_time(self) -> ResponseTimes:
        """The whole distribution of the response time of heavy jobs."""
        return ResponseTimes(*self._parts)


def exact(
    system: System | str | Path, threshold: int | None = None, drain: str = "on_demand"
) -> ExactMSFQ:
    """Solve MSFQ exactly, for Poisson arrivals and exponential sizes at any stable load.

    The values are exact up to rounding: the relative error is at most 1e-9 as a rule, 1e-7 at load
    0.9999, 1e-8 at load 0.01 if a heavy job is a million times as long as a light one, and 1e-7 for
    a class with only 1e-9 of the arrivals.

    The solution covers one-or-all systems, and systems of two classes in which c = floor(k / need)
    jobs of the smaller need run at a time and a job of the larger need runs alone. In the latter
    MSFQ is Static Quickswap and, for l = 0 and l = c, MSF and Adaptive Quickswap if c is at least
    2. (With c = 1 each completion frees all servers, and these two always serve the larger class
    first.)

    Args:
        system: two classes, each with at least 1e-10 of the arrivals, at a load up to 0.999999,
            and at most 4096 light jobs in service at once.
        threshold: l, from 0 to c, or to c - 1 if `drain` is "always"; c - 1 by default.
        drain: "on_demand" or "always", as in `MSFQ`.

    Raises:
        ModelError: the system is not covered, or the threshold is so low that visits last longer
            than 1e150 seconds.
        PolicyError: the threshold or the drain is out of range.
        UnstableError: the load is 1 or more.
    """
    solver = MSFQSolver(system, drain)
    return solver.at(solver.default if threshold is None else threshold)


class MSFQSolver:
    """MSFQ on one system, at any threshold; arguments and errors are those of `exact`.

    Attributes:
        default: c - 1, the threshold that the paper recommends.
        highest: the highest threshold, c or c - 1.
        solutions: those computed so far, by threshold.
    """

    def __init__(self, system: System | str | Path, drain: str = "on_demand") -> None:
        system = as_system(system)
        self._model = exclusive(system, "the exact solution of MSFQ")
        choice(drain, "drain of MSFQ", MSFQ.drains)
        check_load(self._model.load, system.arrival_rate, "MSFQ")
        _check_solvable(system, self._model)
        self.system, self.drain = system, drain
        self.solutions: dict[int, ExactMSFQ] = {}
        self.default = self._model.k - 1
        self.highest = self._model.k - (drain == "always")

    def at(self, threshold: int) -> ExactMSFQ:
        """Return the solution at a threshold from 0 to `highest`, computed at the first call."""
        threshold = whole(threshold, "threshold", 0, self.highest, PolicyError)
        if threshold in self.solutions:
            return self.solutions[threshold]
        kind = OnDemand if self.drain == "on_demand" else Always
        model, equation = self._model, Equation(kind(self._model, threshold))
        unknowns = equation.solve()
        with np.errstate(over="ignore", invalid="ignore"):  # check_finite rejects the result
            means = cycle(equation.visits, unknowns)
        check_finite("this threshold", [means.light_area, means.heavy_area, means.length])
        light = means.light_area / (means.length * model.l1)  # Little's law
        # Heavy jobs: as many as in M/M/1, and as at a random instant of a vacation (see `heavy`).
        heavy = 1 / (model.mk - model.lk) + means.heavy_area / (means.vacation * model.lk)
        times = [means.idle, means.heavies, means.full, means.falling, means.drain]
        times = [max(time, 0.0) for time in times]  # rounding may leave them negative
        solution = ExactMSFQ.of(
            self.system,
            model.ordered(light, heavy),
            threshold=threshold,
            drain=self.drain,
            cycle=float(means.length),
            phases=tuple(
                PhaseShare(name, float(time / means.length), float(time))
                for name, time in zip(("idle", "1", "2", "3", "4"), times, strict=True)
            ),
            lights_at_start=unknowns.mean,
            _parts=(equation, unknowns, means),
        )
        return self.solutions.setdefault(threshold, solution)


def _check_solvable(system: System, model: OneOrAll) -> None:
    """Reject a system on which the solution loses its digits, or takes minutes.

    Raises:
        ModelError: a class with a tiny share of the arrivals, a load close to 1, or too many
            servers.
    """
    load = model.load
    if model.k > MOST_SLOTS:
        raise ModelError(
            f"the exact solution of MSFQ supports up to {MOST_SLOTS:,} light jobs in "
            f"service at once, not {model.k:,}: simulate this one.",
            argument="system.servers",
            given=model.k,
            allowed=f"up to {MOST_SLOTS:,} light jobs in service at once",
        )
    rare = min(system.classes, key=lambda each: each.arrival_rate)
    share = rare.arrival_rate / system.arrival_rate
    if share < RAREST:
        raise ModelError(
            f"the exact solution of MSFQ requires that each class has at least {RAREST:g} of the "
            f"arrivals; class {rare.name!r} has {share:.3g}: leave it out.",
            argument="arrival_rate",
            given=rare.arrival_rate,
            allowed=f"at least {RAREST:g} of the arrivals",
        )
    if load > HIGHEST_LOAD:
        raise ModelError(
            f"the exact solution of MSFQ supports loads up to {HIGHEST_LOAD}, not {load:.12g}: use "
            "quickswap.theory.heavy_traffic for the limit at load 1.",
            argument="system.load",
            given=load,
            allowed=f"up to {HIGHEST_LOAD}",
        )
