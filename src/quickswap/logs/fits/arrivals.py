"""Comparison of the arrivals of a log with a Poisson process of constant rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap.engine._core import student_t
from quickswap.logs.fits.sample import Floats
from quickswap.logs.joblog import JobLog
from quickswap.logs.times import HOUR
from quickswap.statistics.estimates import Estimate, jackknife

__all__ = ["STRETCHES", "WEEKDAYS", "Hours", "RateProfile", "dispersion", "jackknifed"]

LEVEL = 0.975
"""Level of the quantile that, times the standard error, is the half-width of a 95 % interval."""
STRETCHES = 16
"""Parts of the log, of equal duration, for the jackknife."""
LEAST, MOST = 24, 24 * 366 * 100
"""Smallest and largest number of hours that are analysed; no log is a hundred years long."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Hours:
    """The complete clock hours of a log, without the partial hours at its ends.

    Attributes:
        count: number of hours.
        hour: hour of the day of each, 0 to 23, int.
        weekday: weekday of each, 0 for Monday to 6, int.
        day: number of the date of each, int.
        known: whether the log contains dates; otherwise hours and days are counted from the first
            submission.
    """

    def __init__(self, log: JobLog) -> None:
        self.known = log.origin is not None
        self._origin = log.origin or 0.0
        self._first = math.ceil(self._origin / HOUR)
        last = math.floor((self._origin + log.duration) / HOUR)
        hours = last - self._first
        self.count = hours if 0 <= hours <= MOST else 0
        clock = pl.Series(np.arange(self._first, self._first + self.count) * int(HOUR))
        zone = log.zone if log.zone is not None and self.known else "UTC"
        local = pl.from_epoch(clock).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        self.hour = local.dt.hour().to_numpy().astype(int)
        self.weekday = local.dt.weekday().to_numpy().astype(int) - 1
        self.day = local.dt.date().cast(pl.Int32).to_numpy().astype(int)

    def counts(self, submit: Floats) -> npt.NDArray[np.int64]:
        """Return the number of submissions in each hour, given seconds since the first one."""
        place = np.floor((self._origin + submit) / HOUR).astype(np.int64) - self._first
        inside = (place >= 0) & (place < self.count)
        return np.bincount(place[inside], minlength=self.count)


def jackknifed(
    part: npt.NDArray[np.int64],
    jobs: int,
    quantities: Callable[[npt.NDArray[np.bool_], float], list[float] | None],
) -> list[Estimate]:
    """Return quantities of a log, with intervals from the jackknife over 16 equal parts of it.

    Bursts and busy weeks increase the half-widths. They are nan below two jobs per part, or if the
    quantities of the log without one of the parts are undefined.

    Args:
        part: the part of each observation.
        jobs: number of jobs.
        quantities: returns the quantities of the chosen observations in a share of the duration;
            None if they are undefined.
    """
    whole = quantities(np.ones(len(part), bool), 1.0) or []
    rest = [quantities(part != each, 1 - 1 / STRETCHES) for each in range(STRETCHES)]
    if jobs < 2 * STRETCHES or None in rest:
        return [Estimate(value, math.nan) for value in whole]
    return jackknife(np.array([whole, *rest]), [STRETCHES])


def dispersion(counts: npt.NDArray[np.int64]) -> Estimate:
    """Return the variance of counts per hour over their mean, 1 for Poisson arrivals.

    Value and half-width are nan for logs shorter than a day.
    """
    n = len(counts)
    if n < LEAST or not counts.any():
        return Estimate(math.nan, math.nan)

    def ratio(chosen: npt.NDArray[np.bool_], _: float) -> list[float] | None:
        left = counts[chosen]
        return [float(left.var(ddof=1) / left.mean())] if left.any() else None

    return jackknifed(np.arange(n) * STRETCHES // n, int(counts.sum()), ratio)[0]


@dataclass(frozen=True)
class RateProfile:
    """The arrival rate by hour of the day or by weekday, relative to the mean rate.

    Attributes:
        labels: the hours of the day or the weekdays, in order.
        rates: the rate at each of them over the mean rate; nan if the log contains no such hour.
            The intervals reflect the differences between days.
    """

    labels: tuple[str, ...]
    rates: tuple[Estimate, ...]

    @property
    def busiest(self) -> tuple[str, Estimate]:
        """The label with the highest rate, and this rate."""
        return max(self._known(), key=lambda each: each[1].value)

    @property
    def quietest(self) -> tuple[str, Estimate]:
        """The label with the lowest rate, and this rate."""
        return min(self._known(), key=lambda each: each[1].value)

    def _known(self) -> list[tuple[str, Estimate]]:
        pairs = zip(self.labels, self.rates, strict=True)
        return [pair for pair in pairs if not math.isnan(pair[1].value)]

    @classmethod
    def of(
        cls,
        counts: npt.NDArray[np.int64],
        hours: Hours,
        part: npt.NDArray[np.int_],
        labels: tuple[str, ...],
    ) -> RateProfile | None:
        """Return the rates from counts per hour; None for logs shorter than a day."""
        if len(counts) < LEAST or not counts.any():
            return None
        relative = counts / counts.mean()
        found = [_mean(relative[part == i], hours.day[part == i]) for i in range(len(labels))]
        return cls(labels, tuple(found))


def _mean(values: Floats, day: npt.NDArray[np.int_]) -> Estimate:
    """Return the mean of some values; those of the same day are one observation."""
    if not len(values):
        return Estimate(math.nan, math.nan)
    days, at = np.unique(day, return_inverse=True)
    n, mean = len(days), float(values.mean())
    if n < 2:
        return Estimate(mean, math.nan)
    off = np.bincount(at, values - mean)  # per day; partial days have less weight
    error = math.sqrt(float(np.square(off).sum()) * n / (n - 1)) / len(values)
    return Estimate(mean, student_t(n - 1, LEVEL) * error)
