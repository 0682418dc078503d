"""`tune`: the best policy for a workload."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from quickswap._check import between, checks_keywords, flag, whole
from quickswap._progress import duration, shows, work_bar
from quickswap._words import counted, load_words
from quickswap.engine.custom import CustomPolicy
from quickswap.engine.settings import MOST_JOBS, check_progress
from quickswap.errors import Interrupted, QuickswapError, UnstableError, unknown
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.sweeps.point import Point
from quickswap.sweeps.run import Outcomes, SweepProgress, check_where, run_points
from quickswap.sweeps.store import Store
from quickswap.tuning.candidates import (
    check_suits,
    chosen,
    default_policies,
    simple_default,
)
from quickswap.tuning.checking import tuning_of
from quickswap.tuning.metrics import METRICS, Exact
from quickswap.tuning.race import Race
from quickswap.tuning.result import Tuning

__all__ = ["TuningProgress", "tune"]

BUDGET = 200_000_000
"""Jobs of all simulations together, by default."""
EACH = 20_000
"""Least jobs of a budget for each candidate."""
CHECK = 10
"""The budget over the jobs of each of the three simulations after the race."""


@dataclass(frozen=True, slots=True)
class TuningProgress:
    """The progress of tuning.

    Attributes:
        round: number of the round, from 1; 0 after the race, when the winner is checked.
        left: candidates that are still in the race.
        candidates: all of them.
        share: share of the budget that is used; the race may end before it is spent.
        seconds_left: present estimate of the time left at most; nan while it is unknown.
    """

    round: int
    left: int
    candidates: int
    share: float
    seconds_left: float

    def __str__(self) -> str:
        left = f"round {self.round}, {self.left} of {self.candidates} candidates left"
        return f"{left}, at most {duration(self.seconds_left)}"


@checks_keywords
@shows(work_bar, "tuning")
def tune(
    system: System | str | Path,
    policies: Iterable[Policy | CustomPolicy | type[CustomPolicy] | str]
    | Policy
    | str
    | None = None,
    *,
    metric: str = "weighted",
    jobs: int = BUDGET,
    indifference: float = 0.01,
    seed: int = 1,
    refine: bool = True,
    executor: Executor | None = None,
    threads: int | None = None,
    store: Store | str | Path | None = None,
    progress: Callable[[TuningProgress], object] | bool | None = None,
) -> Tuning:
    """Find the policy, and its parameters, that serves a workload best.

    A candidate has an exact value where theory has one. The others race: each round simulates all
    candidates that are left on the same jobs, twice as many as in the round before, and eliminates
    those that are significantly worse than the leader. The race ends when one candidate is left,
    when all others are significantly within `indifference` of it, or when the budget is spent. The
    confidence is 95 % for all comparisons of the race together. Parameters midway between the best
    and their neighbours are added at most three times.

    The least of several estimates has a selection bias: it is a little too low. Therefore the
    winner, the simple default and the next best candidate are simulated once more on fresh jobs,
    which give the value, the margin and the cost of the default.

    Args:
        system: servers and classes, or the name of a preset or model file.
        policies: candidates, as policies and spellings in which a parameter may be a list, as in
            "msfq:threshold=[0..31]", custom policies, and classes of custom policies with
            `parameters`. By default nonpreemptive policies without estimates.
        metric: "weighted" or "mean" response time, "p99" (of the response time of all jobs), or
            "max-class", the largest of the mean response times of the classes.
        jobs: budget, the completions of all simulations together; at least 20,000 a candidate.
        indifference: relative difference that does not matter, above 0 and below 1.
        seed: of the race; the fresh jobs have the next seed. For "p99" each simulation consists of
            eight runs with successive seeds, which are compared in pairs.
        refine: whether parameters between those given are added.
        executor, threads: where simulations run, as in `sweep`. The result is the same.
        store: a `Store` or its file; simulations in it are not run again, so tuning can be
            continued. None for a store in memory.
        progress: True for a bar, or a function that is called several times a second with a
            `TuningProgress`.

    Raises:
        PolicyError: a policy does not suit the system.
        UnstableError: no policy, or no candidate, is stable at this rate.
        QuickswapError: an argument is not valid, the file is not a store, or the disk is full.
        Interrupted: Ctrl-C; its `result` is the `Tuning` so far, or None.
    """
    system = as_system(system)
    if not isinstance(metric, str) or metric not in METRICS:
        unknown("metric", metric, METRICS, QuickswapError, argument="metric")
    indifference = between(indifference, "indifference", 0, 1, QuickswapError)
    seed = whole(seed, "seed", 0, 2**63, QuickswapError)
    budget = whole(jobs, "jobs", 1, MOST_JOBS, QuickswapError)
    refine = flag(refine, "refine", QuickswapError)
    progress = check_progress(progress)
    given = None if policies is None else chosen(policies)
    if given is not None:
        check_suits(given, system)
    if system.arrival_rate >= system.capacity:
        raise UnstableError(
            f"at {counted(system.arrival_rate, 'job', '.6g')} per second "
            f"(load {load_words(system.load)}) no policy is stable: give a rate below the "
            f"capacity of {system.capacity:.6g}."
        )
    exact = Exact(system, metric)
    candidates = default_policies(system, exact.thresholds) if given is None else given
    race = Race(
        system,
        metric,
        candidates,
        budget=budget - 3 * (budget // CHECK),
        indifference=indifference,
        seed=seed,
        refine=refine,
        exact=exact,
    )
    _check_start(race, budget)
    threads = check_where(executor, threads)
    opened = store if isinstance(store, Store) else Store(store)
    start = time.monotonic()

    def report(points: Sequence[Point] = (), done: SweepProgress | None = None) -> None:
        """Report the progress of a round, or that a round begins."""
        if progress is None:
            return
        used = race.used + (done.share * sum(each.inputs.jobs for each in points) if done else 0.0)
        share = min(1.0, used / budget)
        elapsed = time.monotonic() - start
        turn = 1 if race.turn is None else race.turn + 2
        seconds = elapsed * (1 - share) / share if share > 0.001 else math.nan
        progress(TuningProgress(turn, len(race.left), len(race.entries), share, seconds))

    def run(points: Sequence[Point]) -> Outcomes:
        shown = None if progress is None else partial(report, points)
        return run_points(points, opened, executor=executor, threads=threads, progress=shown)

    default = simple_default(system)
    try:
        race.run(run, report)
        return tuning_of(race, default, budget, run, budget // CHECK)
    except KeyboardInterrupt:
        known = race.turn is not None or any(each.exact is not None for each in race.left)
        raise Interrupted(tuning_of(race, default, budget) if known else None) from None
    finally:
        if opened is not store:
            opened.close()


def _check_start(race: Race, budget: int) -> None:
    """Reject a race without stable candidates, or with too many for the budget."""
    if not race.left:
        (first, *_) = race.entries.values()
        raise UnstableError(
            f"none of the {counted(len(race.entries), 'candidate')} is stable at this rate; "
            f"{first.candidate.label}: {first.reason}"
        )
    simulated = sum(each.exact is None for each in race.left)
    least = EACH * simulated
    if budget < least:
        raise QuickswapError(
            f"jobs is {budget:,}, the budget of all simulations together, and "
            f"{counted(simulated, 'candidate')} require {EACH:,} each: give "
            f"{least:,} or more, or fewer policies.",
            argument="jobs",
            given=budget,
            allowed=f"at least {least}",
        )
