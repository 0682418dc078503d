"""How well a system describes the log that it is for: class by class, and the arrivals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from quickswap._words import counted
from quickswap.errors import shown
from quickswap.logs.errors import LogError
from quickswap.logs.fits.arrivals import STRETCHES, WEEKDAYS, Hours, Swing, dispersion
from quickswap.logs.fits.distributions import Candidate, candidates, ks_distance, quantile
from quickswap.logs.fits.fitting import Jobs, as_groups, check_log, need_factor
from quickswap.logs.fits.sample import Floats, Sample
from quickswap.logs.grouping import Group, parse_groups
from quickswap.logs.joblog import JobLog
from quickswap.model.distributions import Distribution
from quickswap.model.system import System
from quickswap.statistics.estimates import Estimate, jackknife

__all__ = ["ClassGoodness", "Goodness", "Table", "goodness", "sentences", "tables", "text"]

SHARES = (0.5, 0.9, 0.99)
"""The percentiles reported."""
KOLMOGOROV = 1.358
"""sqrt(n) times the KS distance that a sample of the distribution itself exceeds in 5 % of all
cases.
"""


@dataclass(frozen=True)
class Against:
    """A quantity in the log, with its 95 % interval, and in the model, where it is exact."""

    log: Estimate
    model: float


@dataclass(frozen=True)
class ClassGoodness:
    """A class of a system beside the jobs of the log that it stands for.

    Sizes of the log are multiplied by `size_factor` before they are compared.

    Attributes:
        name: of the class.
        group: the needs of its jobs in the log.
        need: servers that a job of the class needs in the system.
        size_factor: by how much longer jobs are for this one need at the same load; 1 for a
            class of one need.
        jobs, job_share, load_share: how many jobs it has in the log, and what shares of all.
        rate: jobs per second.
        dispersion: of the log, variance over mean of the jobs per hour; 1 if Poisson.
        mean: of the size, seconds.
        scv: squared coefficient of variation of the size.
        p50, p90, p99: percentiles of the size, seconds.
        distribution: of the size in the system.
        ks: Kolmogorov-Smirnov distance of that distribution from the sizes, and `ks_chance` what
            only 5 % of samples of the distribution would exceed by chance; both nan for a class of
            one job.
        candidates: the distributions that `fit` chooses from, the best first; none if all sizes
            are equal.
    """

    name: str
    group: Group
    need: int
    size_factor: float
    jobs: int
    job_share: float
    load_share: float
    rate: Against
    dispersion: Estimate
    mean: Against
    scv: Against
    p50: Against
    p90: Against
    p99: Against
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
        for name in ("rate", "mean", "scv", "p50", "p90", "p99"):
            each: Against = getattr(self, name)
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
    """A system beside the log that it is for; printed as text.

    Attributes:
        source: the file of the log.
        jobs: jobs of the log, and `duration` its seconds from the first submission to the last.
        load: of the log, and of the system.
        classes: class by class.
        dispersion: variance over mean of the jobs per hour, all classes; 1 if Poisson.
        hours, weekdays: how the rate goes up and down; None below a day, and two
            weeks of log.
        clock: whether the log says when it began, so that hours are those of a clock.
    """

    source: str
    jobs: int
    duration: float
    load: Against
    classes: tuple[ClassGoodness, ...]
    dispersion: Estimate
    hours: Swing | None = field(repr=False)
    weekdays: Swing | None = field(repr=False)
    clock: bool = True

    def to_frame(self) -> pl.DataFrame:
        """Return a row a class; `_log` are values of the log, `_half_width` 95 % intervals."""
        return pl.DataFrame([each.row() for each in self.classes], infer_schema_length=None)

    def __str__(self) -> str:
        return text(self)


def goodness(log: JobLog, system: System, classes: Sequence[Group] | None = None) -> Goodness:
    """Compare a system with a log: rates, sizes, and what Poisson arrivals leave out.

    Intervals of values of the log are from 16 stretches of equal duration, by the jackknife, so
    that bursts and busy weeks widen them; they are unknown for classes of few jobs. A test of
    goodness with a verdict is left out on purpose: with thousands of jobs no simple distribution
    passes, and what matters is how far off it is.

    Args:
        log: the log.
        system: what `fit` has made of it, also after changes, or read from a file.
        classes: the needs of each class, as (low, high), in the order of the classes; without it
            their names tell, as in "2-4".

    Raises:
        LogError: the classes do not tell which jobs they stand for, or leave out a job; a
            distribution that `fit` knows nothing of.
    """
    check_log(log)
    if not isinstance(system, System):
        raise LogError(f"a log is compared with a System, not {shown(system)}.")
    jobs = Jobs(log, _groups(system, classes))
    hours = Hours(log)
    counts = hours.counts(jobs.submit)
    names = tuple(f"{hour:02}:00" for hour in range(24))
    days = WEEKDAYS if hours.known else tuple(f"day {1 + i} of 7" for i in range(7))
    return Goodness(
        source=log.source,
        jobs=len(log),
        duration=log.duration,
        load=Against(_load(jobs), system.load),
        classes=tuple(_class(jobs, index, system, hours) for index in range(len(jobs.groups))),
        dispersion=dispersion(counts),
        hours=Swing.of(counts, hours, hours.hour, names),
        weekdays=Swing.of(counts, hours, hours.weekday, days) if hours.count >= 14 * 24 else None,
        clock=hours.known,
    )


def _groups(system: System, classes: Sequence[Group] | None) -> list[Group]:
    if classes is None:
        try:
            return parse_groups(",".join(system.names))
        except LogError as error:
            raise LogError(
                f"the classes are called {shown(', '.join(system.names))}, which does not tell "
                f"their needs in the log: give classes, as in [(1, 1), (2, 4), (5, None)]."
            ) from error
    groups = as_groups(classes)
    if len(groups) != len(system.classes):
        raise LogError(
            f"classes must give the needs of each of the {len(system.classes)} classes of the "
            f"system, not of {len(groups)}."
        )
    return groups


def _class(jobs: Jobs, index: int, system: System, hours: Hours) -> ClassGoodness:
    """Compare one class."""
    of = jobs.index == index
    each = system.classes[index]
    factor = need_factor(jobs.need[of], jobs.size[of], each.need)
    sample = Sample.of(jobs.size[of]).scaled(factor)
    distribution = each.size
    log = _estimates(jobs.submit[of], jobs.size[of] * factor, jobs.log.duration)
    model = [
        each.arrival_rate,
        distribution.mean,
        distribution.scv,
        *(quantile(distribution, share) for share in SHARES),
    ]
    rate, mean, scv, p50, p90, p99 = map(Against, log, model)
    return ClassGoodness(
        name=str(each.name),
        group=jobs.groups[index],
        need=each.need,
        size_factor=factor,
        jobs=int(of.sum()),
        job_share=float(of.mean()),
        load_share=float(jobs.loads[index] / jobs.loads.sum()),
        rate=rate,
        dispersion=dispersion(hours.counts(jobs.submit[of])),
        mean=mean,
        scv=scv,
        p50=p50,
        p90=p90,
        p99=p99,
        distribution=distribution,
        ks=ks_distance(distribution, sample) if sample.jobs > 1 else math.nan,
        ks_chance=min(1.0, KOLMOGOROV / math.sqrt(sample.jobs)) if sample.jobs > 1 else math.nan,
        candidates=tuple(candidates(sample)),
    )


def _estimates(submit: Floats, size: Floats, duration: float) -> list[Estimate]:
    """Return rate, mean, scv and percentiles of a class of the log."""
    part = _stretch(submit, duration)
    values = [_quantities(size, duration)]
    if len(size) < 2 * STRETCHES:
        return [Estimate(value, math.nan) for value in values[0]]
    rest = duration * (STRETCHES - 1) / STRETCHES
    for each in range(STRETCHES):
        left = size[part != each]
        if not len(left):
            return [Estimate(value, math.nan) for value in values[0]]
        values.append(_quantities(left, rest))
    return jackknife(np.array(values), [STRETCHES])


def _quantities(size: Floats, duration: float) -> list[float]:
    mean = float(size.mean())
    percentiles = np.quantile(size, SHARES, method="inverted_cdf")
    return [len(size) / duration, mean, float(size.var()) / mean**2, *map(float, percentiles)]


def _stretch(submit: Floats, duration: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the stretch of the log in which each job was submitted."""
    return np.minimum(submit / duration * STRETCHES, STRETCHES - 1).astype(np.int64)


def _load(jobs: Jobs) -> Estimate:
    """Return the load of the log."""
    work = np.bincount(_stretch(jobs.submit, jobs.log.duration), jobs.need * jobs.size, STRETCHES)
    loads = work * STRETCHES / (jobs.log.servers * jobs.log.duration)
    less = (loads.sum() - loads) / (STRETCHES - 1)
    if len(jobs.size) < 2 * STRETCHES:
        return Estimate(float(loads.mean()), math.nan)
    return jackknife(np.concatenate([[loads.mean()], less])[:, None], [STRETCHES])[0]


HOUR = 3600
BEND = 1.25
"""Size factors beyond, and below its inverse, are told."""

THICK = 2
"""Factor between the scv of a distribution and that of the log from which it is told."""


@dataclass(frozen=True)
class Table:
    """A title, the columns, and rows of text; the first column is words."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def tables(found: Goodness) -> list[Table]:
    """Return classes and rates, sizes, and the candidates for their distributions."""
    classes = Table(
        "Classes; ± is the half-width of the 95 % interval",
        [
            *("class", "need", "size factor", "jobs", "of jobs", "of load"),
            *("jobs per hour", "model", "dispersion"),
        ],
        [_class_row(each) for each in found.classes],
    )
    sizes = Table(
        "Sizes in seconds, of the log and of the model",
        [
            *("class", "distribution", "mean", "model", "scv", "model"),
            *(name for p in ("P50", "P90", "P99") for name in (p, "model")),
            *("KS distance", "by chance"),
        ],
        [_size_row(each) for each in found.classes],
    )
    names = sorted({each.distribution.kind for one in found.classes for each in one.candidates})
    distributions = Table(
        "AIC of each distribution, as what it has more than the best, and its KS distance",
        ["class", *(column for name in names for column in (name, "KS"))],
        [_distribution_row(each, names) for each in found.classes],
    )
    return [classes, sizes, distributions] if names else [classes, sizes]


def _class_row(each: ClassGoodness) -> list[str]:
    rate = each.rate
    return [
        each.name,
        str(each.need),
        f"{each.size_factor:.4g}",
        f"{each.jobs:,}",
        f"{100 * each.job_share:.4g}%",
        f"{100 * each.load_share:.4g}%",
        str(Estimate(HOUR * rate.log.value, HOUR * rate.log.half_width)),
        f"{HOUR * rate.model:.4g}",
        str(each.dispersion),
    ]


def _size_row(each: ClassGoodness) -> list[str]:
    pairs: list[Against] = [each.mean, each.scv, each.p50, each.p90, each.p99]
    values = [text for pair in pairs for text in (str(pair.log), f"{pair.model:,.4g}")]
    return [
        each.name,
        each.distribution.kind,
        *values,
        _distance(each.ks),
        _distance(each.ks_chance),
    ]


def _distance(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _distribution_row(each: ClassGoodness, names: list[str]) -> list[str]:
    found = {candidate.distribution.kind: candidate for candidate in each.candidates}
    cells = []
    for name in names:
        known = found.get(name)
        least = each.candidates[0].aic if each.candidates else 0.0
        cells += ["-", "-"] if known is None else [f"{known.aic - least:,.0f}", f"{known.ks:.3f}"]
    return [each.name, *cells]


def sentences(found: Goodness) -> Iterator[str]:
    """Yield what the tables do not show."""
    yield f"Load {found.load.log} in the log, {found.load.model:.6g} in the model."
    yield from _arrivals(found)
    yield from _warnings(found)


def _arrivals(found: Goodness) -> Iterator[str]:
    if found.hours is None:
        yield "The log is shorter than a day: too short to tell whether arrivals are Poisson."
        return
    yield (
        f"Jobs per hour have a variance of {found.dispersion} times their mean; Poisson arrivals, "
        f"as in the model, have 1."
    )
    clock = "" if found.clock else " after the first job, as the log does not say when it began"
    for swing, what in ((found.hours, "hour of the day"), (found.weekdays, "day of the week")):
        if swing is not None:
            (most, high), (least, low) = swing.busiest, swing.quietest
            yield (
                f"By {what}{clock}: from {low} times the mean rate ({least}) to {high} times "
                f"({most}); the model has 1 throughout."
            )


def _warnings(found: Goodness) -> Iterator[str]:
    yield from _rejected(found)
    thick = [each.name for each in found.classes if _off(each) > THICK]
    if thick:
        yield (
            f"Class {', '.join(thick)}: the fitted scv is off by more than a factor of "
            f"{THICK:g}, which moves response times; take size empirical, or another distribution."
        )
    bent = [each.name for each in found.classes if not 1 / BEND <= each.size_factor <= BEND]
    if bent:
        yield (
            f"Class {', '.join(bent)}: needs differ so much that sizes had to be stretched or "
            f"shortened by more than a quarter to keep the load; take smaller groups."
        )


def _rejected(found: Goodness) -> Iterator[str]:
    """Yield which distributions the sizes do not follow."""
    told = [each for each in found.classes if not math.isnan(each.ks)]
    wrong = [each for each in told if each.ks > each.ks_chance]
    if not wrong:
        return
    every = (
        "In every class"
        if len(wrong) == len(told) > 1
        else "Class " + ", ".join(each.name for each in wrong)
    )
    near, far = min(each.ks for each in wrong), max(each.ks for each in wrong)
    reach = f"{far:.2f}" if f"{near:.2f}" == f"{far:.2f}" else f"{near:.2f} to {far:.2f}"
    yield (
        f"{every}: the sizes do not follow the model; the KS distance, {reach}, is more "
        "than chance explains. The fit is rough: take size empirical, or replay the log."
    )


def _off(each: ClassGoodness) -> float:
    """Return the factor by which the scv of the model is too large or too small."""
    log, model = each.scv.log.value, each.scv.model
    return max(model / log, log / model) if log > 0 and model > 0 else 1.0


def text(found: Goodness) -> str:
    """Return the whole as plain text."""
    days = counted(found.duration / 86400, "day", ",.4g")
    head = f"{found.source}: {counted(found.jobs, 'job', ',')} in {days}"
    parts = [f"{each.title}\n{_aligned([each.columns, *each.rows])}" for each in tables(found)]
    return "\n\n".join([head, *parts, "\n".join(sentences(found))])


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
