"""A sample of job sizes, stored as its distinct values, to which distributions are fitted.

Sizes in logs are whole seconds, so a million jobs have at most some ten thousand distinct sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Sample"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct values in seconds, ascending and positive, and the number of times each occurs.

    Both are float64 arrays of equal length, at least 1; counts may be fractions.
    """

    values: Floats
    counts: Floats

    @classmethod
    def of(cls, sizes: npt.ArrayLike) -> Sample:
        """Return the sample of some sizes, in seconds; there must be at least one."""
        values, counts = np.unique(np.asarray(sizes, float), return_counts=True)
        return cls(values, counts.astype(float))

    @property
    def jobs(self) -> float:
        """Number of values, including repeated ones."""
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean in seconds."""
        return float(self.values @ self.counts) / self.jobs

    @property
    def scv(self) -> float:
        """Squared coefficient of variation of the empirical distribution."""
        centred = self.values - self.mean
        return float(np.square(centred) @ self.counts) / self.jobs / self.mean**2

    @property
    def cumulative(self) -> Floats:
        """Share of jobs of at most each of the values."""
        return np.asarray(np.cumsum(self.counts) / self.jobs)

    def quantile(self, share: float) -> float:
        """Return the smallest value that at least this share of the jobs does not exceed."""
        at = int(np.searchsorted(self.cumulative, share * (1 - 1e-12)))
        return float(self.values[min(at, len(self.values) - 1)])

    def scaled(self, factor: float) -> Sample:
        """Return the sample with all values multiplied by `factor`."""
        return Sample(self.values * factor, self.counts)

    def thinned(self, most: int) -> Sample:
        """Return a sample of at most `most` values with the same number of jobs and the same mean.

        Neighbouring values are replaced by their mean. A value represents at most 2 / `most` of
        the jobs and of the total size, so the few long jobs, which are most of the load,
        remain distinct; only the variance decreases slightly.
        """
        if len(self.values) <= most:
            return self
        work = self.values * self.counts
        before_jobs = np.cumsum(self.counts) - self.counts / 2
        before_work = np.cumsum(work) - work / 2
        place = (before_jobs / self.jobs + before_work / work.sum()) / 2
        _, part = np.unique((place * most).astype(np.int64), return_inverse=True)
        counts = np.bincount(part, self.counts).astype(float)
        return Sample(np.bincount(part, work) / counts, counts)
