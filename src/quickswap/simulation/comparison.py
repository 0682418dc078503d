"""Several policies on the same system, at several rates."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from quickswap._check import checks_keywords, flag, integer, items, positive
from quickswap._progress import jobs_bar, shows
from quickswap._shown import Shown, plotted
from quickswap._words import load_words
from quickswap.engine.custom import CustomPolicy, as_policy, label
from quickswap.engine.settings import (
    Settings,
    SimulationSettings,
    check_progress,
    check_settings,
)
from quickswap.errors import Interrupted, PolicyError, QuickswapError, invalid, unknown
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.model.variability import heavy
from quickswap.policies import Policy
from quickswap.simulation.result import Result, Stop, read_json
from quickswap.simulation.simulate import refuse_unstable, simulate
from quickswap.statistics.control import estimated
from quickswap.statistics.estimates import Estimate, Floats
from quickswap.statistics.paired import (
    best_of,
    outcome_of,
)
from quickswap.statistics.quantities import QUANTITIES, batch_values
from quickswap.statistics.verdict import Status

if TYPE_CHECKING:
    import polars

    from quickswap._shown import Axes

__all__ = [
    "DEFAULT_POLICIES",
    "LOADS",
    "Comparison",
    "compare",
    "difference",
    "gap_of",
    "values_of_batches",
]

DEFAULT_POLICIES = (
    "msf",
    "first-fit",
    "static-quickswap",
    "adaptive-quickswap",
    "adaptive-quickswap:overrun=.9",
)
LOADS = (0.5, 0.6, 0.7, 0.8, 0.9)
COMPARED = tuple(each.name for each in QUANTITIES.values() if each.of_responses)
"""Quantities of which differences are offered."""
FORMAT = 1


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Results of several policies at several points.

    Attributes:
        results: by point, in the order of the points, then by policy in the order given.
    """

    results: tuple[Result, ...]
    seconds: float = field(default=math.nan, compare=False)

    @classmethod
    def of(cls, results: Iterable[Result]) -> Self:
        """Return a comparison of results, with the seconds of all together."""
        listed = tuple(results)
        return cls(listed, sum(each.seconds for each in listed))

    @property
    def policies(self) -> tuple[str, ...]:
        """Labels of the policies, in the order given."""
        return tuple(dict.fromkeys(each.policy_label for each in self.results))

    @property
    def points(self) -> tuple[tuple[Result, ...], ...]:
        """The results at each arrival rate."""
        grouped: dict[float, list[Result]] = {}
        for each in self.results:
            grouped.setdefault(each.system.arrival_rate, []).append(each)
        return tuple(map(tuple, grouped.values()))

    def best(self, point: int, quantity: str = "weighted_mean_response_time") -> tuple[str, ...]:
        """Return the label of the policy with the least value at a point, then those tied with it.

        Two are tied if the interval of their difference holds 0. Results that `difference` cannot
        pair are compared as if they were independent: those read from a file, those of the warm-up
        "mser5", and those of a `precision` that ran for different lengths. Only results with the
        verdict "stable" count, and there is no best where one that is too short has a lower value:
        it may be better.

        Raises:
            QuickswapError: an unknown point or quantity.
        """
        if not isinstance(quantity, str) or quantity not in COMPARED:
            unknown("quantity", quantity, COMPARED, QuickswapError, argument="quantity")
        points, number = self.points, integer(point)
        if number is None or not -len(points) <= number < len(points):
            allowed = f"a whole number from 0 to {len(points) - 1}"
            raise invalid("point", point, allowed, QuickswapError)
        found = {each.policy_label: each for each in points[number]}
        return best_of(
            {name: _value(each, quantity).value for name, each in found.items()},
            {name: each.verdict.status for name, each in found.items()},
            lambda one, other: outcome_of(gap_of(found[one], found[other], quantity)),
        )

    def __repr__(self) -> str:
        loads = ", ".join(load_words(each[0].system.load) for each in self.points)
        return f"<Comparison of {', '.join(self.policies)} at load {loads}>"

    def plot(self, ax: Axes | None = None, *, metric: str = "weighted") -> Axes:
        """Draw a metric of each policy against the load on Matplotlib axes; return them.

        Args:
            ax: by default new axes.
            metric: a short name such as weighted, mean, p99 or jain, or a name of `quantities`.

        Raises:
            QuickswapError: an unknown metric.
        """
        return plotted(self, ax, metric)

    def to_frame(self, *, wide: bool = False) -> polars.DataFrame:
        """Return a polars frame with one row for each result, class and quantity.

        The columns, also those of a `wide` frame, are those of `Result.to_frame`. A parameter that
        a policy does not have is null.
        """
        import polars as pl

        frames = [each.to_frame(wide=wide) for each in self.results]
        return pl.concat(frames, how="diagonal_relaxed")

    def to_json(self) -> str:
        """Return the comparison as JSON."""
        results = [each.to_dict() for each in self.results]
        return json.dumps({"quickswap_comparison": FORMAT, "results": results}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            QuickswapError: the text is not a comparison, or one of another version of the format.
        """
        results = read_json(text, "comparison", FORMAT).get("results")
        if not isinstance(results, list):
            raise QuickswapError("this JSON of a quickswap comparison is damaged: no results.")
        return cls(tuple(map(Result.from_dict, results)))

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file, whole or not at all."""
        from quickswap.files import write_text

        write_text(path, self.to_json() + "\n")


@shows(jobs_bar, "comparing")
def compare(
    system: System | str | Path,
    policies: Iterable[Policy | CustomPolicy | str] | Policy | str = DEFAULT_POLICIES,
    *,
    rates: Sequence[float] | None = None,
    loads: Sequence[float] | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
    **settings: Unpack[SimulationSettings],
) -> Comparison:
    """Simulate several policies on one system, at several rates, with the same seed.

    With `engine="events"` all policies at a point serve the same jobs (common random numbers), and
    all points have the same sizes, so differences have narrow intervals; see `difference`.

    Args:
        system: servers and classes, or the name of a preset or model file.
        policies: policies, spellings, or custom policies.
        rates: total arrival rates, jobs per second.
        loads: loads, instead of rates; if neither is given, the system as it is.
        progress: True for a bar, or a function that is called several times a second, with the
            completions so far and in total.
        settings: all else that `simulate` takes; each result has its `jobs`.

    Raises:
        PolicyError, UnstableError, QuickswapError: as `simulate`; also for rates and loads both,
            and for a policy, a rate or a load given twice.
        Interrupted: Ctrl-C; its `result` is the comparison as far as it had come.
    """
    check_settings(settings, SimulationSettings, "compare", "rates", "loads", "progress")
    system = as_system(system)
    chosen = _chosen(policies, system)
    systems = _systems(system, rates, loads)
    if not flag(settings.get("allow_unstable", False), "allow_unstable", QuickswapError):
        refuse_unstable(systems)  # before anything is simulated
    progress = check_progress(progress)
    results: list[Result] = []
    expected = Settings(jobs=settings.get("jobs"), precision=settings.get("precision")).most_jobs
    whole = expected * len(systems) * len(chosen)
    for each in systems:
        for policy in chosen:
            before = len(results) * expected

            def report(done: int, intended: int, before: int = before) -> None:
                if progress is not None:
                    progress(before + round(expected * done / intended), whole)

            try:
                results.append(simulate(each, policy, progress=report, **settings))
            except KeyboardInterrupt as interrupted:
                cut = getattr(interrupted, "result", None)
                if isinstance(cut, Result):
                    results.append(cut)
                raise Interrupted(Comparison.of(results) if results else None) from None
    return Comparison.of(results)


@checks_keywords
def difference(
    first: Result, second: Result, quantity: str = "mean_response_time", cls: str | None = None
) -> Estimate:
    """Return `first` minus `second` with an interval that allows for common jobs.

    The difference is nan where one of them is unstable, as it has no mean (`verdict.reason` says
    why), and has no interval where sizes are too heavy-tailed for one.

    Under common random numbers (`engine="events"`, same seed) the interval is narrower than those
    of the two results suggest, the more so the more alike the policies are.

    Args:
        first, second: of the same system, seed, engine, jobs, replications, warm-up share and
            confidence, and not read from a file of JSON (their batches are needed, which a `Store`
            keeps).
        quantity: "mean_response_time", "weighted_mean_response_time" or "jain_index".
        cls: name of the class whose mean response time is meant; default: all jobs.

    Raises:
        QuickswapError: the two cannot be paired.
    """
    for argument, each in (("first", first), ("second", second)):
        if not isinstance(each, Result):
            raise invalid(argument, each, "a result", QuickswapError)
    a, b = (values_of_batches(each, quantity, cls) for each in (first, second))
    if Status.UNSTABLE in (first.verdict.status, second.verdict.status):
        return Estimate(math.nan, math.nan)
    if a.shape != b.shape or not _alike(first, second):
        allowed = (
            "they need the same system, seed, engine, jobs, replications, warm-up and confidence, "
            "and both must have run to the end"
        )
        raise QuickswapError(f"these results cannot be paired: {allowed}.", allowed=allowed)
    controls = [first._controls, second._controls]
    (gap,) = estimated(a - b, controls, first._split, first.inputs.confidence)
    return Estimate(gap.value, math.nan) if heavy(first.system) else gap


def values_of_batches(result: Result, quantity: str, cls: str | None = None) -> Floats:
    """Return a quantity in the rows of `Split.whole_and_less`: (rows, 1)."""
    if cls is not None and quantity != "mean_response_time":
        advice = "leave cls out"
        message = f"{quantity} is one number for all classes: {advice}."
        raise QuickswapError(message, argument="cls", given=cls, advice=advice)
    if result._totals is None:
        advice = "rerun it first"
        message = f"a result read from a file cannot be paired: {advice}."
        raise QuickswapError(message, advice=advice)
    names = result.system.names
    if cls is not None and cls not in names:
        unknown("class", cls, names, QuickswapError, argument="cls")
    position = None if cls is None else names.index(cls)
    return batch_values(quantity, result._totals.responses(), result.system, position)


def _alike(first: Result, second: Result) -> bool:
    names = (
        "system",
        "engine",
        "jobs",
        "precision",
        "seed",
        "replications",
        "warmup",
        "confidence",
    )
    same = all(getattr(first.inputs, name) == getattr(second.inputs, name) for name in names)
    as_long = first.completed == second.completed
    if {first.stop, second.stop} <= {Stop.COMPLETED, Stop.PRECISE, Stop.BUDGET}:
        # a replication ends with an instant, in which up to all servers may complete a job
        most = first.inputs.replications * first.system.servers
        as_long = abs(first.completed - second.completed) < most
    return same and as_long and first.inputs.warmup != "mser5"


def _value(result: Result, quantity: str) -> Estimate:
    found = getattr(result, quantity, None)
    if not isinstance(found, Estimate):
        unknown("quantity", quantity, COMPARED, QuickswapError, argument="quantity")
    return found


def gap_of(first: Result, second: Result, quantity: str) -> Estimate:
    """Return `first` minus `second`: paired if they can be, otherwise as if independent."""
    try:
        return difference(first, second, quantity)
    except QuickswapError:
        return _value(first, quantity) - _value(second, quantity)


def _systems(
    system: System, rates: Sequence[float] | None, loads: Sequence[float] | None
) -> list[System]:
    """Return the system at each point, the lowest first."""
    if rates is not None and loads is not None:
        advice = "give rates or loads, not both"
        raise QuickswapError(f"{advice}.", argument="rates", given=rates, advice=advice)
    points, what = (loads, "load") if rates is None else (rates, "arrival rate")
    argument = "loads" if rates is None else "rates"
    if points is None:
        return [system]
    given = items(points)
    if given is None:
        raise invalid(argument, points, "a list of numbers", QuickswapError)
    if not given:
        advice = "give at least one"
        message = f"no rate or load is given to compare at: {advice}."
        raise QuickswapError(message, argument=argument, given=points, advice=advice)
    distinct = sorted(positive(point, what) for point in given)
    for point, following in pairwise(distinct):
        if point == following:
            advice = "give each once"
            message = f"the {what} {point:g} is given twice: {advice}."
            raise QuickswapError(message, argument=argument, given=points, advice=advice)
    scale = system.with_load if rates is None else system.with_rate
    return [scale(point) for point in distinct]


def _chosen(given: object, system: System) -> list[Policy | CustomPolicy]:
    """Return the policies, each of which suits the system, with different names."""
    listed = [given] if isinstance(given, str | Policy) else items(given)
    if listed is None:
        raise invalid("policies", given, "a list of policies", PolicyError)
    if not listed:
        advice = "give at least one"
        message = f"no policy is given to compare: {advice}."
        raise PolicyError(message, argument="policies", given=given, advice=advice)
    chosen = [as_policy(each, system) for each in listed]
    for name, times in Counter(map(label, chosen)).items():
        if times > 1:
            custom = any(not isinstance(each, Policy) and label(each) == name for each in chosen)
            cure = "give custom policies a name each" if custom else "give each once"
            message = f"policy {name} is given twice: {cure}."
            raise PolicyError(message, argument="policies", given=given, advice=cure)
    return chosen
