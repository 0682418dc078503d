"""How many servers were in use over time, according to the times in a log."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quickswap.logs.times import MINUTE

__all__ = ["ServerUse"]

Floats = npt.NDArray[np.float64]


class ServerUse:
    """The servers in use over time.

    Logged times are rounded, so a job may seem to run after the next job on its servers has
    started. Each job is therefore assumed to end earlier, by the sum of the units to which its
    times are rounded: jobs that overlap even then were served at the same time.

    Attributes:
        peak: the largest number of servers in use at the same time.
    """

    def __init__(
        self, submit: Floats, wait: Floats, size: Floats, need: npt.NDArray[np.int64]
    ) -> None:
        """Arrays have one entry per job; times in seconds."""
        start = submit + wait
        rounding = sum(map(_unit, (submit, wait, size)))
        ends = np.maximum(start + size - rounding, start)
        moments = np.concatenate([ends, start])
        order = np.argsort(moments, kind="stable")  # at equal times, ends come first
        self._used = np.concatenate([-need, need])[order].cumsum()
        self._spans = np.diff(moments[order])
        self.peak = int(self._used.max(initial=0))

    def share_above(self, servers: int) -> float:
        """Return the share of the time with more than `servers` in use, from the first start on."""
        above = self._spans[self._used[:-1] > servers].sum()
        return float(above / max(float(self._spans.sum()), 1e-300))


def _unit(times: Floats) -> float:
    """Return 60 for whole minutes, 1 for whole seconds, and 0 for fractions of a second."""
    positive = times[times > 0]
    few = positive[:1000]  # in most logs these already show that times are in seconds
    if len(few) >= 10 and not (few % MINUTE).any() and not (positive % MINUTE).any():
        return MINUTE
    return 1.0 if np.array_equal(times, np.floor(times)) else 0.0
