"""The quantities of a run, each defined once: name, unit, formula, and kind of interval.

Results, frames, figures, comparisons and tuning take them from `QUANTITIES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from quickswap.engine.settings import PERCENTILES
from quickswap.errors import NoClassError, QuickswapError, invalid, unknown
from quickswap.model.system import System
from quickswap.statistics.estimates import Estimate, Floats

if TYPE_CHECKING:
    import polars

__all__ = [
    *("OF_LOGS", "OVERALL", "PHASES", "QUANTITIES", "RATES", "SHORT_NAMES", "SUMMARIES", "Areas"),
    *(
        "ClassResult",
        "ModelQuantities",
        "PhaseResult",
        "Quantities",
        "Quantity",
        "Responses",
        "Summary",
    ),
    *("batch_values", "quantity_of", "value_of", "widened"),
]

Cell = bool | float | str
SUMMARIES = ("response_time", "waiting_time", "slowdown", "bounded_slowdown")
"""Quantities of a job; each class has a `Summary` of each."""
PHASES = ("idle", "1", "2", "3", "4")
"""Phases of MSFQ: empty; heavy jobs; light jobs, all servers taken; light jobs; the drain."""
_PHASE = "mean_duration_of_phase_"
_PERCENTILE = re.compile(rf"p(\d+\.?\d*)(?:_({'|'.join(SUMMARIES)}))?")


@dataclass(frozen=True)
class Responses:
    """Response times by class, in rows: those of all batches, then with one left out; or of draws.

    Attributes:
        table: completions and summed response times: (rows, classes, 2).
        weights: shares of the classes in the load: (classes) or (rows, classes).
        present: whether a class has jobs: (rows or 1, classes).
    """

    table: Floats
    weights: Floats
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, table: Floats, system: System) -> Self:
        """Return the response times of a simulation from its sums."""
        return cls(table, np.array(system.load_shares), table[:1, :, 0] > 0)

    @cached_property
    def means(self) -> Floats:
        """Mean response times: (rows, classes)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Floats = self.table[..., 1] / self.table[..., 0]
        return means


@dataclass(frozen=True)
class Areas:
    """Servers summed over time, in server-seconds, in the same rows.

    Attributes:
        busy: servers in use: (rows).
        wasted: servers idle while jobs wait: (rows).
        capacity: all servers: (rows).
        waste: what idle servers cost the weighted mean response time, in seconds, while no job
            waits, while none that waits fits, and while one that fits is held back: (rows, 3). In a
            simulation only.
    """

    busy: Floats
    wasted: Floats
    capacity: Floats
    waste: Floats | None = None


def _mean(responses: Responses) -> Floats:
    jobs, total = responses.table.sum(axis=1).T
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = total / jobs
    return means


def _weighted_mean(responses: Responses) -> Floats:
    """Classes weighted by their share of the load."""
    weights = responses.weights
    weighted: Floats = np.where(weights > 0, weights * responses.means, 0.0).sum(axis=1)
    return weighted


def _jain(responses: Responses) -> Floats:
    """Jain's index of the mean response times, over the classes present."""
    means = np.where(responses.present, responses.means, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = responses.present.sum(axis=1) * np.square(means).sum(axis=1)
        index: Floats = means.sum(axis=1) ** 2 / squares
    return index


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that results have.

    Attributes:
        name: as `Result.quantities` has it.
        label: in figures, with the unit.
        short: on the command line, if it has a short name.
        by_class: whether each class has it.
        share: whether it is a number from 0 to 1.
        of_responses: how it follows from response times by class; differences of it are offered.
        of_areas: how it follows from servers summed over time.
        near_one: whether it comes close to 1, so its interval is that of log(1 - value).
        column: of which it is the time average: a sum by class that the core counts.
        reciprocal: whether it grows like 1 / (1 - load), so its interval is that of 1 / value.
        controlled: whether control variates are used where they are known.
    """

    name: str
    label: str
    short: str | None = None
    by_class: bool = False
    share: bool = False
    of_responses: Callable[[Responses], Floats] | None = None
    of_areas: Callable[[Areas], Floats] | None = None
    near_one: bool = False
    column: str = ""
    reciprocal: bool = True
    controlled: bool = True

    def values(self, responses: Responses, areas: Areas) -> Floats:
        """Return a quantity of the whole system in each row."""
        if self.of_responses is not None:
            return self.of_responses(responses)
        assert self.of_areas is not None
        return self.of_areas(areas)


class Summary(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Mean, standard deviation and percentiles of a quantity of a job.

    `percentiles` contains those requested besides P50, P90, P99 and P99.9, as in
    `percentiles[97.5]`.
    """

    mean: Estimate
    std: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate
    p999: Estimate
    percentiles: dict[float, Estimate] = {}

    def statistics(self) -> Iterator[tuple[str, Estimate]]:
        """Yield name and estimate of each statistic: mean, std, p50, ..., p97.5."""
        for name in STATISTICS:
            yield name, getattr(self, name)
        for level, estimate in self.percentiles.items():
            yield f"p{level:.10g}", estimate

    def percentile(self, level: float) -> Estimate:
        """Return the percentile at a level between 0 and 100.

        Raises:
            QuickswapError: it is not estimated.
        """
        found = self._by_level()
        if level not in found:
            raise invalid(
                "percentile",
                level,
                ", ".join(f"{each:.10g}" for each in found),
                QuickswapError,
                advice=f"for others give {{percentiles:}}({level},) to the simulation or replay",
            )
        return found[level]

    def cdf(self) -> polars.DataFrame:
        """Return the distribution function at the percentiles estimated, as a polars frame.

        Columns: value, probability (that the quantity is at most this value), half_width (of the
        value). `percentiles=range(1, 100)` in the simulation or replay makes it fine.
        """
        import polars as pl

        rows = [(e.value, level / 100, e.half_width) for level, e in self._by_level().items()]
        schema = dict.fromkeys(("value", "probability", "half_width"), pl.Float64)
        return pl.DataFrame(rows, schema, orient="row")

    def _by_level(self) -> dict[float, Estimate]:
        """Return the percentiles by level, in ascending order."""
        usual = zip(PERCENTILES, (self.p50, self.p90, self.p99, self.p999), strict=True)
        return dict(sorted({**dict(usual), **self.percentiles}.items()))


STATISTICS = Summary.__struct_fields__[:-1]
"""Statistics of every summary."""


class ClassResult(Struct, frozen=True, forbid_unknown_fields=True):
    """The estimates for one class, or for all jobs together.

    Times are in seconds. Under a preemptive policy the waiting time is all time not in service.

    Attributes:
        name: name of the class; "all" for all jobs.
        need: servers; 0 for all jobs.
        jobs: completions that the estimates use.
        response_time: from arrival to completion.
        waiting_time: response time less size.
        slowdown: response time over size; its mean is infinite where sizes come too close to zero.
        bounded_slowdown: max(1, response time / max(size, bound)).
        number_in_system: time average.
        number_waiting: time average.
        throughput: completions per second.
    """

    name: str
    need: int
    jobs: int
    response_time: Summary
    waiting_time: Summary
    slowdown: Summary
    bounded_slowdown: Summary
    number_in_system: Estimate
    number_waiting: Estimate
    throughput: Estimate

    @property
    def mean_response_time(self) -> Estimate:
        """Mean of the response time, seconds."""
        return self.response_time.mean

    @property
    def mean_waiting_time(self) -> Estimate:
        """Mean of the waiting time, seconds."""
        return self.waiting_time.mean


class PhaseResult(Struct, frozen=True, forbid_unknown_fields=True):
    """Durations of one phase of MSFQ, in seconds; `count` of them were seen."""

    name: str
    count: int
    mean: Estimate
    std: Estimate


def _waste(reason: int, words: str) -> dict[str, Any]:
    """Return the metadata of a part of the waste."""

    def values(areas: Areas) -> Floats:
        assert areas.waste is not None
        return areas.waste[:, reason]

    return {"label": f"waste {words} [s]", "of_areas": values, "reciprocal": False}


@dataclass(frozen=True)
class Quantities:
    """Estimates of a simulation or a replay, with intervals.

    The metadata of a field define a quantity of the whole system: see `Quantity`.

    Attributes:
        policy_label: the policy as tables show it.
        classes: one by one.
        overall: all jobs together.
        weighted_mean_response_time: classes weighted by their share of the load (the paper, section
            "Weighted mean response time"), seconds.
        jain_index: Jain's fairness index of the mean response times of the classes present.
        utilisation: share of the servers in use.
        wasted_capacity: share of the servers idle while jobs wait.
    """

    policy_label: str
    classes: tuple[ClassResult, ...]
    overall: ClassResult
    weighted_mean_response_time: Estimate = field(
        metadata={
            "label": "weighted mean response time [s]",
            "short": "weighted",
            "of_responses": _weighted_mean,
        }
    )
    jain_index: Estimate = field(
        metadata={
            "label": "Jain's fairness index",
            "short": "jain",
            "share": True,
            "of_responses": _jain,
            "near_one": True,
        }
    )
    utilisation: Estimate = field(
        metadata={
            "label": "utilisation",
            "short": "utilisation",
            "share": True,
            "of_areas": lambda areas: areas.busy / areas.capacity,
            "reciprocal": False,
            "controlled": False,  # it would be the load, exactly, and a check of it no check
        }
    )
    wasted_capacity: Estimate = field(
        metadata={
            "label": "wasted capacity",
            "short": "wasted",
            "share": True,
            "of_areas": lambda areas: areas.wasted / areas.capacity,
            "reciprocal": False,
        }
    )

    @property
    def mean_response_time(self) -> Estimate:
        """Mean response time of all jobs, seconds."""
        return self.overall.response_time.mean

    @property
    def mean_waiting_time(self) -> Estimate:
        """Mean waiting time of all jobs, seconds."""
        return self.overall.waiting_time.mean

    @property
    def response_time(self) -> Summary:
        """Response time of all jobs, seconds."""
        return self.overall.response_time

    def __getitem__(self, cls: str) -> ClassResult:
        """Return the estimates for a class, or for all jobs together ("all").

        Raises:
            QuickswapError: an unknown name.
        """
        found = {each.name: each for each in (*self.classes, self.overall)}
        if not isinstance(cls, str) or cls not in found:
            unknown("class", cls, found, NoClassError, argument="cls")
        return found[cls]

    def quantities(self) -> Iterator[tuple[str, str, Estimate]]:
        """Yield class (or "all"), quantity and estimate, in the order of the tables."""
        for name in OVERALL:
            if hasattr(self, name):
                yield "all", name, getattr(self, name)
        for each in (self.overall, *self.classes):
            for metric in SUMMARIES:
                summary = getattr(each, metric)
                for statistic, estimate in summary.statistics():
                    yield each.name, f"{statistic}_{metric}", estimate
            for name in RATES:
                yield each.name, name, getattr(each, name)

    def _framed(
        self,
        front: Mapping[str, Cell | None],
        verdict: str,
        back: Mapping[str, Cell],
        wide: bool,
    ) -> polars.DataFrame:
        """Return one row for each class and quantity, or if wide for each class.

        Args:
            front: columns of its own.
            verdict: the last column of those that all frames have.
            back: columns after it.
            wide: whether each quantity is a column.
        """
        import polars as pl

        rows = [(who, what, each.value, each.half_width) for who, what, each in self.quantities()]
        frame = pl.DataFrame(rows, ["class", "quantity", "value", "half_width"], orient="row")
        before = {"policy": self.policy_label, **front}
        after = {"verdict": str(verdict), **back}
        found = frame.select(*_constants(before), pl.all(), *_constants(after))
        return widened(found) if wide else found


def _constants(values: Mapping[str, Cell | None]) -> list[polars.Expr]:
    import polars as pl

    return [
        pl.lit(value, pl.Int64 if type(value) is int else None).alias(name)
        for name, value in values.items()
    ]


def widened(frame: polars.DataFrame) -> polars.DataFrame:
    """Return a frame with a row for each result and class, and two columns for each quantity.

    The column `p99_response_time` is followed by `p99_response_time_half_width`. A quantity that a
    class does not have is null.
    """
    pair = ("value", "half_width")
    keys = [name for name in frame.columns if name not in ("quantity", *pair)]
    names = frame["quantity"].unique(maintain_order=True).to_list()
    wide = frame.pivot("quantity", index=keys, values=pair, maintain_order=True)
    wide = wide.rename(
        {f"value_{name}": name for name in names}
        | {f"half_width_{name}": f"{name}_half_width" for name in names}
    )
    pairs = ((name, f"{name}_half_width") for name in names)
    return wide.select(*keys, *chain.from_iterable(pairs))


@dataclass(frozen=True)
class ModelQuantities(Quantities):
    """Estimates of a simulation of a model.

    Attributes:
        waste_no_job_waits: what servers that are idle while no job waits cost the weighted mean
            response time, seconds.
        waste_none_fits: the same while jobs wait, and none of them fits.
        waste_held_back: the same while a job waits that would fit, but is not started.
    """

    waste_no_job_waits: Estimate = field(metadata=_waste(0, "while no job waits"))
    waste_none_fits: Estimate = field(metadata=_waste(1, "while no waiting job fits"))
    waste_held_back: Estimate = field(metadata=_waste(2, "while a job that fits is held back"))


def _label(form: str, what: str) -> str:
    """Return the label of a statistic of a quantity of a job, with its unit."""
    return form.format(what.replace("_", " ")) + ("" if what.endswith("slowdown") else " [s]")


def _summaries() -> Iterator[Quantity]:
    """Yield mean, standard deviation and percentiles of the quantities of a job."""
    statistics = {
        "mean": "mean {}",
        "std": "standard deviation of the {}",
        "p50": "P50 of the {}",
        "p90": "P90 of the {}",
        "p99": "P99 of the {}",
        "p999": "P99.9 of the {}",
    }
    short = {("response_time", statistic): statistic for statistic in statistics} | {
        ("waiting_time", "mean"): "wait",
        ("slowdown", "mean"): "slowdown",
        ("bounded_slowdown", "mean"): "bounded-slowdown",
    }
    for what in SUMMARIES:
        for statistic, form in statistics.items():
            yield Quantity(
                f"{statistic}_{what}",
                _label(form, what),
                short.get((what, statistic)),
                by_class=True,
                of_responses=_mean if (statistic, what) == ("mean", "response_time") else None,
            )


OVERALL = {
    each.name: Quantity(each.name, **each.metadata)
    for each in fields(ModelQuantities)
    if each.metadata
}
"""Quantities of the whole system: one number for all classes."""
OF_LOGS = {each.name: OVERALL[each.name] for each in fields(Quantities) if each.metadata}
"""Those of `OVERALL` that a replay has too."""
RATES = {
    each.name: each
    for each in (
        Quantity(
            "number_in_system",
            "mean number in system",
            "in-system",
            by_class=True,
            column="area_in_system",
        ),
        Quantity(
            "number_waiting",
            "mean number waiting",
            "waiting",
            by_class=True,
            column="area_waiting",
        ),
        Quantity(
            "throughput",
            "throughput [jobs per second]",
            "throughput",
            by_class=True,
            column="completions",
            reciprocal=False,
            controlled=False,
        ),
    )
}
"""Time averages, each a field of `ClassResult`."""
QUANTITIES = {
    each.name: each
    for each in (
        *OVERALL.values(),
        Quantity("waste", "waste [s]", "waste"),
        *_summaries(),
        *RATES.values(),
        *(Quantity(f"{_PHASE}{name}", f"mean duration of phase {name} [s]") for name in PHASES),
    )
}
"""All quantities by name."""
SHORT_NAMES = {each.short: each.name for each in QUANTITIES.values() if each.short}


def quantity_of(given: object) -> Quantity:
    """Return a quantity by its name or its short name, also any percentile, as in "p97.5".

    Raises:
        QuickswapError: an unknown name.
    """
    name = given.strip() if isinstance(given, str) else ""
    found = QUANTITIES.get(SHORT_NAMES.get(name, name)) or _percentile(name)
    if found is None:
        known = QUANTITIES if "_" in name else SHORT_NAMES
        unknown("metric", given, known, QuickswapError, argument="metric")
    return found


def _percentile(name: str) -> Quantity | None:
    """Return the percentile of a name such as "p95" (of the response time) or "p95_slowdown"."""
    match = _PERCENTILE.fullmatch(name)
    if match is None or not 0 < float(match[1]) < 100:
        return None
    level, what = f"{float(match[1]):.10g}", match[2] or "response_time"
    usual = dict(zip(PERCENTILES, STATISTICS[2:], strict=True)).get(float(level))
    if usual:
        return QUANTITIES[f"{usual}_{what}"]
    label = _label(f"P{level} of the {{}}", what)
    short = None if match[2] else f"p{level}"
    return Quantity(f"p{level}_{what}", label, short, by_class=True)


def advice_without(quantity: Quantity) -> str:
    """Return what to do if no result has a quantity: percentiles are estimated on request."""
    if quantity.name in QUANTITIES:
        return "give another metric, such as wait"
    return f"give {{percentiles:{quantity.name.partition('_')[0][1:]}}} to the runs"


def batch_values(quantity: str, table: Floats, system: System, cls: int | None = None) -> Floats:
    """Return a quantity from completions and summed response times, of which differences follow.

    Args:
        quantity: its name.
        table: sums of all batches, then with one left out: (1 + batches, classes, 2).
        system: that was simulated.
        cls: position of the class whose mean response time is meant; default: all jobs.

    Returns:
        (1 + batches, 1).

    Raises:
        QuickswapError: no difference of this quantity is offered.
    """
    found = QUANTITIES.get(quantity) if isinstance(quantity, str) else None
    values = found.of_responses if found is not None else None
    if values is None:
        known = [each.name for each in QUANTITIES.values() if each.of_responses]
        unknown("quantity", quantity, known, QuickswapError, argument="quantity")
    responses = Responses.of(table if cls is None else table[:, [cls]], system)
    return values(responses)[:, None]


def value_of(result: Quantities, quantity: str, cls: int | None) -> Estimate | None:
    """Return a quantity of all jobs or of the class at a position; None if the result has none."""
    if quantity.startswith(_PHASE):
        phases: tuple[PhaseResult, ...] = getattr(result, "phases", ())
        name = quantity.removeprefix(_PHASE)
        return next((each.mean for each in phases if each.name == name), None)
    if quantity in OVERALL or quantity == "waste":
        found: Estimate | None = getattr(result, quantity, None)
        return found
    holder = result.overall if cls is None else result.classes[cls]
    if quantity in RATES:
        rate: Estimate = getattr(holder, quantity)
        return rate
    statistic, _, what = quantity.partition("_")
    return dict(getattr(holder, what).statistics()).get(statistic)
