"""Fits a system to a log: classes, arrival rates and size distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from quickswap._check import checks_keywords, items
from quickswap.errors import LogError, invalid
from quickswap.logs.fits.distributions import fitted
from quickswap.logs.fits.sample import Floats, Sample
from quickswap.logs.grouping import (
    Group,
    group_name,
    group_of,
    groups_by_load,
    needs_as_groups,
    parse_groups,
)
from quickswap.logs.joblog import JobLog, check_log
from quickswap.model.jobclass import JobClass
from quickswap.model.system import System

__all__ = ["Jobs", "as_groups", "fit", "need_factor"]

Size = Literal["best", "exponential", "gamma", "hyperexponential", "lognormal", "empirical"]


@checks_keywords
def fit(
    log: JobLog,
    classes: str | Sequence[Group] = "load",
    size: Size = "best",
    *,
    at_most: int = 10,
) -> System:
    """Fit a system with the servers, job counts, load and mean sizes of a log.

    `quickswap.logs.goodness` compares the system with the log in all other respects.

    Rates: arrivals are Poisson. The rate of a class is its number of jobs over the duration of the
    log, from its first submission to its last, so the load is that of the log. The rate is
    high by one part in the number of jobs, as both ends of the interval are submissions.

    Needs: a class has one need. For a class with several needs in the log, it is the median by
    load, which half of the load of the class does not exceed: real jobs have this need, whereas a
    mean might fit into no gap. Sizes of the class are multiplied by `sum(need * size) / (need of
    the class * sum(size))`, which keeps the load; this factor is 1 for a class with one need.

    Sizes: distributions are fitted by maximum likelihood with the mean of the sample. "best" is the
    one with the smallest AIC, without those that have more than ten times the squared coefficient
    of variation (scv) of the log, as their tails are too long. "empirical" is the sample itself,
    with neighbouring values averaged to at most 200 values.

    Args:
        log: the log.
        classes: "load" for groups of neighbouring needs with nearly equal loads, "need" for a class
            per need, or groups, as in "1,2-4,5-16,17-" or as a list of (low, high). Names of
            classes are their needs, as in "2-4".
        size: "best", "exponential", "gamma", "hyperexponential" (two phases), "lognormal" or
            "empirical". Classes with equal sizes are always deterministic.
        at_most: largest number of groups for "load".

    Raises:
        LogError: the log has no duration, groups are invalid or empty or leave out a job, or the
            distribution is unknown.
    """
    check_log(log)
    jobs = Jobs(log, _groups(log, classes, at_most))
    return System(log.servers, [jobs.fitted(index, size) for index in range(len(jobs.groups))])


def _groups(log: JobLog, classes: str | Sequence[Group], at_most: int) -> list[Group]:
    """Return the groups for the argument `classes` of `fit`.

    Raises:
        LogError: it is invalid.
    """
    need = log.jobs["need"].to_numpy()
    if isinstance(classes, str):
        if classes == "need":
            return [*needs_as_groups(need)]
        if classes == "load":
            return [*groups_by_load(need, need * log.jobs["size"].to_numpy(), at_most)]
        if any(letter.isdigit() for letter in classes):
            return parse_groups(classes)
    return as_groups(classes)


def as_groups(classes: object) -> list[Group]:
    """Return groups, given as a list of (low, high).

    Raises:
        LogError: they are invalid.
    """
    pairs = [items(each) for each in items(classes) or []]
    groups = [pair for pair in pairs if pair is not None and len(pair) == 2]
    if not groups or len(groups) < len(pairs):
        raise invalid(
            "classes",
            classes,
            "load, need, groups as in 1,2-4,5-16,17-, or a list of (low, high)",
            LogError,
        )
    return parse_groups(",".join(f"{a}-{'' if b is None else b}" for a, b in groups))


class Jobs:
    """The jobs of a log by class.

    Attributes:
        log: the log.
        groups: the needs of each class.
        need, size, submit: need in servers, size and submission in seconds, of each job.
        index: class of each job, uint32.
    """

    def __init__(self, log: JobLog, groups: Sequence[Group]) -> None:
        if not log.duration > 0:
            raise LogError(
                f"{log.source} has no duration, as all jobs were submitted at the same time",
                advice="give a longer log",
            )
        self.log = log
        self.groups = list(groups)
        self.need = log.jobs["need"].to_numpy()
        self.size = log.jobs["size"].to_numpy()
        self.submit = log.jobs["submit"].to_numpy()
        self.index = group_of(self.need, self.groups)
        for group, jobs in zip(self.groups, self.counts, strict=True):
            if jobs == 0:
                raise LogError(
                    f"{log.source} contains no job in the group {group_name(group)}",
                    argument="classes",
                    given=group,
                    advice="omit it",
                )

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of jobs of each class."""
        return np.bincount(self.index, minlength=len(self.groups))

    @property
    def loads(self) -> Floats:
        """Offered load of each class."""
        work = np.bincount(self.index, self.need * self.size, len(self.groups))
        return np.asarray(work / (self.log.servers * self.log.duration))

    def fitted(self, index: int, size: str) -> JobClass:
        """Return the class fitted to a group."""
        of = self.index == index
        need, sizes = self.need[of], self.size[of]
        needs, where = np.unique(need, return_inverse=True)
        load = np.cumsum(np.bincount(where, need * sizes))
        own = int(needs[np.searchsorted(load, load[-1] / 2)])  # the median by load
        distribution = fitted(Sample.of(sizes).scaled(need_factor(need, sizes, own)), size)
        return JobClass(
            own, len(sizes) / self.log.duration, distribution, name=group_name(self.groups[index])
        )


def need_factor(need: npt.NDArray[np.int64], size: Floats, own: int) -> float:
    """Return the factor of the sizes that keeps the load if all jobs need `own` servers."""
    if need.min() == need.max() == own:
        return 1.0
    return float(need @ size) / (own * float(size.sum()))
