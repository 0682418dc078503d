"""From a log to a model: classes, arrival rates and size distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from quickswap._check import items
from quickswap.errors import shown
from quickswap.logs.errors import LogError
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
from quickswap.logs.joblog import JobLog
from quickswap.model.jobclass import JobClass
from quickswap.model.system import System

__all__ = ["Jobs", "as_groups", "check_log", "fit", "need_factor"]

Size = Literal["best", "exponential", "gamma", "hyperexponential", "lognormal", "empirical"]


def fit(
    log: JobLog,
    classes: str | Sequence[Group] = "load",
    size: Size = "best",
    *,
    at_most: int = 10,
) -> System:
    """Fit a system to a log: the servers, job counts, load and mean sizes are those of the log.

    `quickswap.logs.goodness` tells how well the other assumptions hold.

    Rates: the jobs of a class over the duration of the log, from its first submission to its
    last, and Poisson arrivals. Both edges are jobs, so that the rate is high by one part in the
    number of all jobs; in exchange the load is exactly that of the log.

    Needs: jobs of a class need the same number of servers, so a class of several needs gets one
    of them: the median by load, which half of the load of the class does not exceed. Real jobs
    have it, so that it packs as theirs do, where a mean might fit in no gap. All sizes of the
    class are then multiplied by the one factor, `sum(need * size) / (need of the class *
    sum(size))`, that keeps its load; it is 1 for a class of one need.

    Sizes: distributions fitted by maximum likelihood among those with the mean of the sample,
    which keeps the load. The best has the least AIC; distributions with more than ten times the
    squared coefficient of variation (scv) of the log are passed over, as their tail is longer than
    that of the log. "empirical" is the sample itself, with neighbouring values averaged into at
    most 200;
    the mean stays.

    Args:
        log: the log; its jobs, of which those of size 0 count as 1 s already.
        classes: "load", groups of neighbouring needs with loads as equal as can be; "need", a
            class for each need; or the groups, as in "1,2-4,5-16,17-" or as a list of (low, high).
            Classes are named after their needs, as in "2-4".
        size: "best" of exponential, gamma, hyperexponential (two phases) and
            lognormal, one of these, or "empirical". Equal sizes are "deterministic" always.
        at_most: the most groups of "load".

    Raises:
        LogError: the log has no duration; groups that make no sense, that leave out a job, or
            that hold none; an unknown distribution.
    """
    jobs = Jobs(log, chosen(log, classes, at_most))
    return System(log.servers, [jobs.fitted(index, size) for index in range(len(jobs.groups))])


def chosen(log: JobLog, classes: str | Sequence[Group], at_most: int) -> list[Group]:
    """Return the groups that `classes` asks for.

    Raises:
        LogError: they make no sense.
    """
    check_log(log)
    need = log.jobs["need"].to_numpy()
    if not isinstance(classes, str):
        return as_groups(classes)
    if classes == "need":
        return [*needs_as_groups(need)]
    if classes == "load":
        return [*groups_by_load(need, need * log.jobs["size"].to_numpy(), at_most)]
    if not any(letter.isdigit() for letter in classes):
        raise LogError(
            f"classes must be load, need, or groups as in 1,2-4,5-16,17-, not {shown(classes)}."
        )
    return parse_groups(classes)


def check_log(log: object) -> None:
    """Refuse what is no log."""
    if not isinstance(log, JobLog):
        raise LogError(f"a log is what quickswap.logs.read returns, not {shown(log)}.")


def as_groups(classes: object) -> list[Group]:
    """Return groups given as a list of (low, high).

    Raises:
        LogError: they are none, or make no sense.
    """
    pairs = [items(each) for each in items(classes) or []]
    groups = [pair for pair in pairs if pair is not None and len(pair) == 2]
    if not groups or len(groups) < len(pairs):
        raise LogError(
            f"classes is {shown(classes)}; give load, need, groups as in 1,2-4,5-16,17-, or a list "
            "of (low, high)."
        )
    return parse_groups(",".join(f"{a}-{'' if b is None else b}" for a, b in groups))


class Jobs:
    """The jobs of a log by class.

    Attributes:
        log: the log.
        groups: the needs of each class.
        need, size, submit: of each job, in servers, seconds and seconds.
        index: class of each job, uint32.
    """

    def __init__(self, log: JobLog, groups: Sequence[Group]) -> None:
        if not log.duration > 0:
            raise LogError(
                f"{log.source} has all of its jobs submitted at the same time, which gives no "
                f"arrival rate: give a longer log."
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
                    f"{log.source} has no job with a need in group {group_name(group)}: leave the "
                    f"group out."
                )

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Jobs of each class."""
        return np.bincount(self.index, minlength=len(self.groups))

    @property
    def loads(self) -> Floats:
        """Share of all servers that each class keeps busy."""
        work = np.bincount(self.index, self.need * self.size, len(self.groups))
        return np.asarray(work / (self.log.servers * self.log.duration))

    def fitted(self, index: int, size: str) -> JobClass:
        """Return the class fitted to a group."""
        of = self.index == index
        need, sizes = self.need[of], self.size[of]
        own = _median_by_load(need, sizes)
        distribution = fitted(Sample.of(sizes).scaled(need_factor(need, sizes, own)), size)
        return JobClass(
            own, len(sizes) / self.log.duration, distribution, name=group_name(self.groups[index])
        )


def _median_by_load(need: npt.NDArray[np.int64], size: Floats) -> int:
    """Return the smallest need such that half of the load has at most that need."""
    needs, where = np.unique(need, return_inverse=True)
    load = np.cumsum(np.bincount(where, need * size))
    return int(needs[np.searchsorted(load, load[-1] / 2)])


def need_factor(need: npt.NDArray[np.int64], size: Floats, own: int) -> float:
    """Return by how much longer jobs are if all need `own` servers and the load stays."""
    if need.min() == need.max() == own:
        return 1.0
    return float(need @ size) / (own * float(size.sum()))
