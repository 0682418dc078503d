"""The waiting work over time, and whether a policy keeps up with a log."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from quickswap._values import Value
from quickswap.logs.times import DAY
from quickswap.replays.schedule import Schedule

__all__ = ["SEVERITY", "Backlog", "ReplayVerdict", "large_backlog", "verdict_of"]

SHARE = 1 / 30
"""Share of the duration of the log that replaces a day in short logs; see `large_backlog`."""
LONGEST_SHARE, LONGEST = 0.25, 60 * DAY
"""Share of the duration of the log, and seconds, above which a backlog is persistent."""
LEFT = 0.05
"""Share of all work waiting at the last submission above which a policy falls behind."""


class ReplayVerdict(StrEnum):
    """Whether a policy keeps up with the work submitted in a log."""

    KEEPS_UP = "keeps up"
    FALLS_BEHIND = "falls behind"
    PERSISTENT = "persistent backlog"
    UNKNOWN = "unknown"

    @property
    def explanation(self) -> str:
        """What it means for the waits."""
        return _EXPLANATIONS[self]

    @property
    def lagging(self) -> bool:
        """Whether the policy does not keep up."""
        return self in (ReplayVerdict.PERSISTENT, ReplayVerdict.FALLS_BEHIND)


_EXPLANATIONS = {
    ReplayVerdict.KEEPS_UP: "no backlog is large for long",
    ReplayVerdict.PERSISTENT: "at least the work of the whole machine in a day (in a thirtieth of "
    "a log of less than 30 days) waited for more than a quarter of the log, or two months, without "
    "a break",
    ReplayVerdict.FALLS_BEHIND: "the queue grows, so waits depend on the length of the log",
    ReplayVerdict.UNKNOWN: "no job was measured, or all jobs were submitted at the same time",
}


SEVERITY = [
    ReplayVerdict.UNKNOWN,
    ReplayVerdict.KEEPS_UP,
    ReplayVerdict.PERSISTENT,
    ReplayVerdict.FALLS_BEHIND,
]
"""The verdicts, the worst last."""


@dataclass(frozen=True)
class Backlog(Value):
    """The waiting work until the last submission.

    Attributes:
        peak: maximum of the waiting work, in seconds that the whole machine needs to serve it.
        longest: duration of the longest period in which the waiting work is never below
            `large_backlog`, in seconds.
        left: share of all work that waits at the last submission.
    """

    peak: float
    longest: float
    left: float

    @classmethod
    def of(cls, schedule: Schedule) -> Backlog:
        """Return the backlog of a schedule; `peak` and `longest` are nan if it is preemptive."""
        job, begin, end, size = schedule.waits
        work, whole = schedule.need[job] * size, float((schedule.need * schedule.size).sum())
        last = float(schedule.arrival[-1])
        late = (begin <= last) & (end > last)
        left = float(work[late].sum()) / whole if whole else 0.0
        if schedule.preemptive:
            return cls(math.nan, math.nan, left)
        time = np.concatenate([begin, end])
        change = np.concatenate([work, -work]) / schedule.servers
        order = np.argsort(time, kind="stable")
        time, waits = time[order], np.cumsum(change[order])
        holds = np.append(time[1:] > time[:-1], True) & (
            time <= last
        )  # the last event of each time
        time, waits = time[holds], waits[holds]
        span = last - float(schedule.arrival[0])
        above = waits >= max(large_backlog(span), 1e-9)
        return cls(max(0.0, float(waits.max())), _longest(time, above), left)

    def is_long(self, span: float) -> bool:
        """Whether the longest period is long for a log of this duration, in seconds."""
        return self.longest > min(LONGEST_SHARE * span, LONGEST)


def large_backlog(span: float) -> float:
    """Return the waiting work that is large for a log of some duration, in seconds of the machine.

    It is the work of a day, or of a thirtieth of the duration if that is shorter.
    """
    return min(DAY, SHARE * span)


def verdict_of(backlog: Backlog, load: float, span: float) -> ReplayVerdict:
    """Return whether a policy keeps up; see `ReplayResult.verdict`."""
    if backlog.peak == 0:  # no job waits, however short the log is
        return ReplayVerdict.KEEPS_UP
    if backlog.left > LEFT or load >= 1:
        return ReplayVerdict.FALLS_BEHIND
    return ReplayVerdict.PERSISTENT if backlog.is_long(span) else ReplayVerdict.KEEPS_UP


def _longest(time: NDArray[np.float64], above: NDArray[np.bool_]) -> float:
    """Return the longest period in which `above` holds; above[i] is for time[i] to time[i + 1]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], above, [False]]).astype(np.int8)))
    begins, ends = edges[::2], np.minimum(edges[1::2], len(time) - 1)
    return float((time[ends] - time[begins]).max()) if len(begins) else 0.0
