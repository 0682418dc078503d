"""How far the arrivals of a log are from a Poisson process with a constant rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap.estimates import Estimate
from quickswap.logs.joblog import JobLog
from quickswap.logs.sample import Floats

__all__ = ["Hours", "Swing", "dispersion"]

HOUR = 3600.0
NORMAL = 1.96
"""Half-width of a 95 % interval in standard errors."""
LEAST, MOST = 24, 24 * 366 * 100
"""Hours below and beyond which nothing is said: no log goes on for a hundred years."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Hours:
    """The whole clock hours of a log, without the partial ones at its ends.

    Attributes:
        count: how many there are.
        hour: of each, the hour of the day, 0 to 23, int.
        weekday: of each, 0 for Monday to 6, int.
        known: whether the log says when it began; otherwise hours and days are counted from the
            first job.
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

    def counts(self, submit: Floats) -> npt.NDArray[np.int64]:
        """Return how many of these submissions, in seconds of the log, are in each hour."""
        place = np.floor((self._origin + submit) / HOUR).astype(np.int64) - self._first
        inside = (place >= 0) & (place < self.count)
        return np.bincount(place[inside], minlength=self.count)


def dispersion(counts: npt.NDArray[np.int64]) -> Estimate:
    """Return the variance of counts per hour over their mean, 1 for Poisson arrivals.

    The half-width is that of Poisson arrivals, 1.96 sqrt(2 / (n - 1)) times the value (Cox and
    Lewis, The Statistical Analysis of Series of Events, 1966): with Poisson arrivals the interval
    holds 1. Below a day it is unknown.
    """
    n = len(counts)
    if n < LEAST or not counts.any():
        return Estimate(math.nan, math.nan)
    value = float(counts.var(ddof=1) / counts.mean())
    return Estimate(value, NORMAL * math.sqrt(2 / (n - 1)) * value)


@dataclass(frozen=True)
class Swing:
    """How the rate of arrivals goes up and down with the clock, relative to its mean.

    Attributes:
        labels: the hours of the day or the weekdays, in order.
        rates: arrivals per hour at each of them over arrivals per hour at all times; nan where the
            log has no such hour. The intervals are from how much those hours differ.
    """

    labels: tuple[str, ...]
    rates: tuple[Estimate, ...]

    @property
    def busiest(self) -> tuple[str, Estimate]:
        """When most jobs arrive, and how many times the mean."""
        return max(self._known(), key=lambda each: each[1].value)

    @property
    def quietest(self) -> tuple[str, Estimate]:
        """When the fewest jobs arrive, and how many times the mean."""
        return min(self._known(), key=lambda each: each[1].value)

    def _known(self) -> list[tuple[str, Estimate]]:
        pairs = zip(self.labels, self.rates, strict=True)
        return [pair for pair in pairs if not math.isnan(pair[1].value)]

    @classmethod
    def of(
        cls, counts: npt.NDArray[np.int64], part: npt.NDArray[np.int_], labels: tuple[str, ...]
    ) -> Swing | None:
        """Return the swing of counts per hour over the parts of the clock; None below a day."""
        if len(counts) < LEAST or not counts.any():
            return None
        relative = counts / counts.mean()
        return cls(labels, tuple(_mean(relative[part == i]) for i in range(len(labels))))


def _mean(values: Floats) -> Estimate:
    """Return the mean of values of different days, as if independent."""
    n = len(values)
    error = NORMAL * float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return Estimate(float(values.mean()) if n else math.nan, error)
