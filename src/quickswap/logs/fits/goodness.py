"""Comparison of a system with the log to which it was fitted: classes, sizes and arrivals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap._check import checks_keywords
from quickswap._tables import TextTable
from quickswap._words import counted
from quickswap.errors import LogError, invalid, shown
from quickswap.logs.fits.arrivals import (
    STRETCHES,
    WEEKDAYS,
    Hours,
    RateProfile,
    dispersion,
    jackknifed,
)
from quickswap.logs.fits.distributions import Candidate, candidates, ks_distance
from quickswap.logs.fits.fitting import Jobs, as_groups, need_factor
from quickswap.logs.fits.sample import Floats, Sample
from quickswap.logs.grouping import Group, parse_groups
from quickswap.logs.joblog import JobLog, check_log
from quickswap.logs.times import DAY, HOUR
from quickswap.model.distributions import Distribution
from quickswap.model.system import System
from quickswap.statistics.estimates import Estimate

__all__ = ["ClassGoodness", "Goodness", "goodness", "sentences", "tables", "text"]

SHARES, TAILS = (0.5, 0.9, 0.99), (0.5, 0.1, 0.01)
"""Levels of the percentiles, and probabilities above them."""
COMPARED = ("rate", "mean", "scv", "p50", "p90", "p99")
"""Quantities of a class that the log and the model both have."""
KOLMOGOROV = 1.358
"""95th percentile of sqrt(n) times the KS distance of n samples from their own distribution."""
FACTOR = 1.25
"""Size factors above this, or below its inverse, are reported."""
SCV_RATIO = 2
"""Ratio of the scv of a distribution to that of the log above which it is reported."""


@dataclass(frozen=True)
class LogAndModel:
    """A quantity of the log, with its 95 % interval, and its exact value in the model."""

    log: Estimate
    model: float


@dataclass(frozen=True)
class ClassGoodness:
    """Comparison of a class of the system with its jobs in the log.

    Sizes of the log are multiplied by `size_factor` before the comparison.

    Attributes:
        name: name of the class.
        group: needs of its jobs in the log.
        need: need of its jobs in the system.
        size_factor: factor of the sizes that keeps the load with this one need; 1 for a class with
            one need.
        jobs, job_share, load_share: its number of jobs in the log, and its shares of all jobs and
            of the load.
        rate: jobs per second.
        dispersion: variance over mean of the jobs per hour in the log; 1 for Poisson arrivals.
        mean: mean size, seconds.
        scv: squared coefficient of variation of the size.
        p50, p90, p99: percentiles of the size, seconds.
        distribution: distribution of the size in the system.
        ks, ks_chance: Kolmogorov-Smirnov distance of this distribution from the sizes, and the
            distance that 5 % of samples of the distribution exceed; nan for a class of one job.
        candidates: the fitted distributions, the best first; none if all sizes are equal.
    """

    name: str
    group: Group
    need: int
    size_factor: float
    jobs: int
    job_share: float
    load_share: float
    rate: LogAndModel
    dispersion: Estimate
    mean: LogAndModel
    scv: LogAndModel
    p50: LogAndModel
    p90: LogAndModel
    p99: LogAndModel
    distribution: Distribution
    ks: float
    ks_chance: float
    candidates: tuple[Candidate, ...] = field(repr=False)

    def row(self) -> dict[str, object]:
        """Return the class as a row of `Goodness.to_frame`."""
        row: dict[str, object] = {
            "class": self.name,
            "need": self.need,
            "size_factor": self.size_factor,
            "jobs": self.jobs,
            "job_share": self.job_share,
            "load_share": self.load_share,
            "dispersion": self.dispersion.value,
            "dispersion_half_width": self.dispersion.half_width,
        }
        for name in COMPARED:
            each: LogAndModel = getattr(self, name)
            row |= {
                f"{name}_log": each.log.value,
                f"{name}_log_half_width": each.log.half_width,
                f"{name}_model": each.model,
            }
        row |= {"distribution": self.distribution.kind, "ks": self.ks, "ks_chance": self.ks_chance}
        for found in sorted(self.candidates, key=lambda each: each.distribution.kind):
            row[f"log_likelihood_{found.distribution.kind}"] = found.log_likelihood
            row[f"aic_{found.distribution.kind}"] = found.aic
            row[f"ks_{found.distribution.kind}"] = found.ks
        return row


@dataclass(frozen=True)
class Goodness:
    """Comparison of a system with a log; `str` gives it as text.

    Attributes:
        source: the file of the log.
        jobs: number of jobs of the log.
        duration: seconds from the first submission to the last.
        load: load of the log and of the system.
        classes: comparison of each class.
        dispersion: variance over mean of the jobs per hour, all classes; 1 for Poisson arrivals.
        hours: arrival rate by hour of the day; None for logs shorter than a day.
        weekdays: arrival rate by weekday; None for logs shorter than two weeks.
        clock: whether the log contains dates, so hours are those of the clock.
    """

    source: str
    jobs: int
    duration: float
    load: LogAndModel
    classes: tuple[ClassGoodness, ...]
    dispersion: Estimate
    hours: RateProfile | None = field(repr=False)
    weekdays: RateProfile | None = field(repr=False)
    clock: bool = True

    def to_frame(self) -> pl.DataFrame:
        """Return one row per class; `_log` is for values of the log, `_model` for the model."""
        return pl.DataFrame([each.row() for each in self.classes], infer_schema_length=None)

    def __str__(self) -> str:
        return text(self)


@checks_keywords
def goodness(log: JobLog, system: System, classes: Sequence[Group] | None = None) -> Goodness:
    """Compare a system with a log: rates, sizes, and the variation of the arrivals.

    Intervals of the values of the log are from the jackknife over 16 parts of equal duration, so
    bursts and busy weeks increase them; they are nan for classes with few jobs. There is no
    test with a verdict: with thousands of jobs every simple distribution is rejected, and the size
    of the difference matters.

    Args:
        log: the log.
        system: the result of `fit`, which may have been changed, or a system from a file.
        classes: the needs of each class, as (low, high), in the order of the classes; by default
            they are taken from the names of the classes, as in "2-4".

    Raises:
        LogError: the needs of the classes are unknown or leave out a job, or a distribution cannot
            be compared with a log.
    """
    check_log(log)
    if not isinstance(system, System):
        raise invalid("system", system, "a System", LogError)
    jobs = Jobs(log, _groups(system, classes))
    hours = Hours(log)
    counts = hours.counts(jobs.submit)
    names = tuple(f"{hour:02}:00" for hour in range(24))
    days = WEEKDAYS if hours.known else tuple(f"day {1 + i} of 7" for i in range(7))
    return Goodness(
        source=log.source,
        jobs=len(log),
        duration=log.duration,
        load=LogAndModel(_load(jobs), system.load),
        classes=tuple(_class(jobs, index, system, hours) for index in range(len(jobs.groups))),
        dispersion=dispersion(counts),
        hours=RateProfile.of(counts, hours, hours.hour, names),
        weekdays=RateProfile.of(counts, hours, hours.weekday, days)
        if hours.count >= 14 * 24
        else None,
        clock=hours.known,
    )


def _groups(system: System, classes: Sequence[Group] | None) -> list[Group]:
    if classes is None:
        try:
            return parse_groups(",".join(system.names))
        except LogError as error:
            raise LogError(
                f"the names of the classes, {shown(', '.join(system.names))}, are not needs as in "
                "2-4",
                argument="classes",
                advice="give {classes}, as in [(1, 1), (2, 4), (5, None)]",
            ) from error
    groups = as_groups(classes)
    if len(groups) != len(system.classes):
        raise LogError(
            f"classes contains {len(groups)} groups; it must contain one for each of the "
            f"{len(system.classes)} classes of the system.",
            argument="classes",
            given=classes,
            allowed=f"{len(system.classes)} groups",
        )
    return groups


def _load(jobs: Jobs) -> Estimate:
    """Return the load of the log."""
    work, capacity = jobs.need * jobs.size, jobs.log.servers * jobs.log.duration
    return jackknifed(
        _part(jobs, jobs.submit),
        len(work),
        lambda chosen, share: [float(work[chosen].sum()) / (share * capacity)],
    )[0]


def _part(jobs: Jobs, submit: Floats) -> npt.NDArray[np.int64]:
    """Return the part of the log in which jobs were submitted."""
    return np.minimum(submit / jobs.log.duration * STRETCHES, STRETCHES - 1).astype(np.int64)


def _class(jobs: Jobs, index: int, system: System, hours: Hours) -> ClassGoodness:
    """Compare one class."""
    of = jobs.index == index
    each, submit = system.classes[index], jobs.submit[of]
    factor = need_factor(jobs.need[of], jobs.size[of], each.need)
    sizes, distribution = jobs.size[of] * factor, each.size
    sample = Sample.of(jobs.size[of]).scaled(factor)

    def quantities(chosen: npt.NDArray[np.bool_], share: float) -> list[float] | None:
        left = sizes[chosen]
        if not len(left):
            return None
        rate, mean = len(left) / (share * jobs.log.duration), float(left.mean())
        percentiles = np.quantile(left, SHARES, method="inverted_cdf")
        return [rate, mean, float(left.var()) / mean**2, *map(float, percentiles)]

    model = [
        each.arrival_rate,
        distribution.mean,
        distribution.scv,
        *map(distribution.isf, TAILS),
    ]
    log = jackknifed(_part(jobs, submit), len(sizes), quantities)
    pairs = map(LogAndModel, log, model)
    return ClassGoodness(
        name=str(each.name),
        group=jobs.groups[index],
        need=each.need,
        size_factor=factor,
        jobs=int(of.sum()),
        job_share=float(of.mean()),
        load_share=float(jobs.loads[index] / jobs.loads.sum()),
        dispersion=dispersion(hours.counts(submit)),
        **dict(zip(COMPARED, pairs, strict=True)),
        distribution=distribution,
        ks=ks_distance(distribution, sample) if sample.jobs > 1 else math.nan,
        ks_chance=min(1.0, KOLMOGOROV / math.sqrt(sample.jobs)) if sample.jobs > 1 else math.nan,
        candidates=tuple(candidates(sample)),
    )


def tables(found: Goodness) -> list[TextTable]:
    """Return the tables of the classes, of their sizes, and of the fitted distributions."""

    def table(title: str, *columns: tuple[str, Callable[[ClassGoodness], str]]) -> TextTable:
        columns = (("class", lambda each: each.name), *columns)
        rows = [[cell(each) for _, cell in columns] for each in found.classes]
        return TextTable([name for name, _ in columns], rows, title=title)

    def both(name: str, quantity: str) -> list[tuple[str, Callable[[ClassGoodness], str]]]:
        return [
            (name, lambda each: str(getattr(each, quantity).log)),
            ("model", lambda each: f"{getattr(each, quantity).model:,.4g}"),
        ]

    def distance(value: float) -> str:
        return "-" if math.isnan(value) else f"{value:.3f}"

    def fit(each: ClassGoodness, kind: str, cell: Callable[[Candidate], str]) -> str:
        return next((cell(one) for one in each.candidates if one.distribution.kind == kind), "-")

    def columns_of(kind: str) -> list[tuple[str, Callable[[ClassGoodness], str]]]:
        return [
            (
                kind,
                lambda each: fit(each, kind, lambda c: f"{c.aic - each.candidates[0].aic:,.0f}"),
            ),
            ("KS", lambda each: fit(each, kind, lambda c: f"{c.ks:.3f}")),
        ]

    kinds = sorted({each.distribution.kind for one in found.classes for each in one.candidates})
    result = [
        table(
            "Classes; ± is the half-width of the 95 % interval",
            ("need", lambda each: str(each.need)),
            ("size factor", lambda each: f"{each.size_factor:.4g}"),
            ("jobs", lambda each: f"{each.jobs:,}"),
            ("of jobs", lambda each: f"{100 * each.job_share:.4g}%"),
            ("of load", lambda each: f"{100 * each.load_share:.4g}%"),
            ("jobs per hour", lambda each: str(each.rate.log * HOUR)),
            ("model", lambda each: f"{HOUR * each.rate.model:.4g}"),
            ("dispersion", lambda each: str(each.dispersion)),
        ),
        table(
            "Sizes in seconds, of the log and of the model",
            ("distribution", lambda each: each.distribution.kind),
            *both("mean", "mean"),
            *both("scv", "scv"),
            *both("P50", "p50"),
            *both("P90", "p90"),
            *both("P99", "p99"),
            ("KS distance", lambda each: distance(each.ks)),
            ("by chance", lambda each: distance(each.ks_chance)),
        ),
        table(
            "Difference of the AIC from the best distribution, and KS distance",
            *chain.from_iterable(map(columns_of, kinds)),
        ),
    ]
    return result if kinds else result[:2]


def sentences(found: Goodness) -> Iterator[str]:
    """Yield the results that the tables do not contain, and warnings."""
    yield f"The load is {found.load.log} in the log and {found.load.model:.6g} in the model."
    yield from _arrivals(found)
    yield from _warnings(found)


def _arrivals(found: Goodness) -> Iterator[str]:
    if found.hours is None:
        yield "The log is shorter than a day, too short to compare arrivals with a Poisson process."
        return
    yield (
        f"The variance of the jobs per hour is {found.dispersion} times their mean; for the "
        "Poisson arrivals of the model it is equal to the mean."
    )
    clock = "" if found.clock else " since the first job, as the log contains no dates"
    for profile, part in ((found.hours, "hour of the day"), (found.weekdays, "day of the week")):
        if profile is not None:
            (most, high), (least, low) = profile.busiest, profile.quietest
            yield (
                f"By {part}{clock}, the arrival rate varies from {low} ({least}) to {high} "
                f"({most}) times its mean; it is constant in the model."
            )


def _warnings(found: Goodness) -> Iterator[str]:
    rejected = [each for each in found.classes if each.ks > each.ks_chance]  # never where it is nan
    if rejected:
        near, far = (f"{end(each.ks for each in rejected):.2f}" for end in (min, max))
        reach = far if near == far else f"{near} to {far}"
        yield (
            f"Class {_names(rejected)}: the sizes do not follow the distribution of the model; the "
            f"KS distance, {reach}, is significant. Use size empirical, or replay the log."
        )
    wrong = [each for each in found.classes if _differ(each.scv, SCV_RATIO)]
    if wrong:
        yield (
            f"Class {_names(wrong)}: the scv of the model differs from that of the log by more "
            f"than a factor of {SCV_RATIO}, which affects response times; use size empirical, or "
            "another distribution."
        )
    mixed = [each for each in found.classes if not 1 / FACTOR <= each.size_factor <= FACTOR]
    if mixed:
        yield (
            f"Class {_names(mixed)}: the needs differ so much that sizes were changed by more "
            "than a quarter to keep the load; use smaller groups."
        )


def _names(classes: Sequence[ClassGoodness]) -> str:
    return ", ".join(each.name for each in classes)


def _differ(pair: LogAndModel, ratio: float) -> bool:
    """Whether two positive values differ by more than a factor."""
    log, model = pair.log.value, pair.model
    return log > 0 and model > 0 and max(model / log, log / model) > ratio


def text(found: Goodness) -> str:
    """Return tables and sentences as plain text."""
    days = counted(found.duration / DAY, "day", ",.4g")
    head = f"{found.source}: {counted(found.jobs, 'job', ',')} in {days}"
    parts = [f"{each.title}\n{_aligned([each.columns, *each.rows])}" for each in tables(found)]
    return "\n\n".join([head, *parts, "\n".join(sentences(found))])


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
