"""How much work waited, and for how long on end: whether a policy kept up with a log."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickswap._values import Value
from quickswap.replays.schedule import Schedule

__all__ = ["Backlog", "much_work", "verdict_of"]

DAY = 86400.0
SHARE = 1 / 30
"""Of the log's duration: that much work of the whole machine is much where it is below a day."""
LONGEST_SHARE, LONGEST = 0.25, 60 * DAY
"""Of the log's duration, and seconds: a stretch beyond either is long."""
LEFT = 0.05
"""Share of all work that still waits at the last submission beyond which a policy falls behind."""


@dataclass(frozen=True)
class Backlog(Value):
    """The work that waits, until the last submission.

    Attributes:
        peak: most work that waited at a time: seconds that the whole machine would need for it.
        longest: seconds of the longest stretch in which there was never less of it than a day's
            work of the whole machine (or a thirtieth of the log's duration, if that is less).
        left: share of all work that still waited at the last submission.
    """

    peak: float
    longest: float
    left: float

    @classmethod
    def of(cls, schedule: Schedule) -> Backlog:
        """Return the backlog of a schedule; `peak` and `longest` are nan for a preemptive one."""
        work = schedule.need * schedule.size
        last = float(schedule.arrival[-1])
        late = schedule.start > last
        left = float(work[late].sum() / work.sum()) if work.any() else 0.0
        if schedule.preemptive:
            return cls(math.nan, math.nan, left)
        time = np.concatenate([schedule.arrival, schedule.start])
        change = np.concatenate([work, -work]) / schedule.servers
        order = np.argsort(time, kind="stable")
        time, waits = time[order], np.cumsum(change[order])
        holds = np.append(time[1:] > time[:-1], True) & (time <= last)  # the last of an instant
        time, waits = time[holds], waits[holds]
        span = last - float(schedule.arrival[0])
        above = waits >= max(much_work(span), 1e-9)
        return cls(max(0.0, float(waits.max())), _longest(time, above), left)

    def is_long(self, span: float) -> bool:
        """Whether the stretch is long for a log of that duration, seconds."""
        return self.longest > min(LONGEST_SHARE * span, LONGEST)


def much_work(span: float) -> float:
    """Return how much waiting work is much for a log of a duration: seconds of the machine."""
    return min(DAY, SHARE * span)


def verdict_of(backlog: Backlog, load: float, span: float) -> str:
    """Return "falls behind", "persistent backlog" or "keeps up": see `ReplayResult.verdict`."""
    if backlog.left > LEFT or load >= 1:
        return "falls behind"
    return "persistent backlog" if backlog.is_long(span) else "keeps up"


def _longest(time: NDArray[np.float64], above: NDArray[np.bool_]) -> float:
    """Return the longest time on end during which something held; above[i] from time[i] on."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], above, [False]]).astype(np.int8)))
    begins, ends = edges[::2], np.minimum(edges[1::2], len(time) - 1)
    return float((time[ends] - time[begins]).max()) if len(begins) else 0.0
