"""How many servers were in use over time, according to the times in a log."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from quickswap.logs.quality import MARK
from quickswap.logs.rules import bit
from quickswap.logs.times import MINUTE

__all__ = ["ServerUse", "in_minutes", "server_use"]

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
        rounding = sum(map(_unit, (submit, wait, size)))
        start = submit + wait
        time = np.concatenate([np.maximum(start + size - rounding, start), start])
        order = np.argsort(time)
        time = time[order]
        used = np.concatenate([-need, need])[order]
        np.cumsum(used, out=used)
        last = np.ones(len(time), bool)  # of the events at the same time
        last[:-1] = time[1:] > time[:-1]
        self._time = time[last]
        self._used = used[last]
        self.peak = int(self._used.max(initial=0))

    def excess(self, servers: int, owner: str) -> str:
        """Return a sentence about the use of more servers than a machine or pool has."""
        return (
            f"More servers than the {servers:,} of the {owner} were in use during "
            f"{100 * self.share_above(servers):.3g} % of the time, up to {self.peak:,}."
        )

    def share_above(self, servers: int) -> float:
        """Return the share of the time with more than `servers` in use, from the first start on."""
        spans = np.diff(self._time)
        above = spans[self._used[:-1] > servers].sum()
        return float(above / max(float(spans.sum()), 1e-300))


def server_use(frame: pl.DataFrame, *excluded: str) -> ServerUse | None:
    """Return the servers in use by rows, without those that `excluded` rules mark.

    It is None if most waits are unknown.
    """
    known = frame.select("submit", "wait", "size", "need", MARK).drop_nulls("wait")
    if known.height < frame.height / 2:
        return None
    known = known.filter((known[MARK] & sum(map(bit, excluded))) == 0)
    return ServerUse(*(known[name].to_numpy() for name in ("submit", "wait", "size", "need")))


def in_minutes(times: Floats) -> bool:
    """Return whether the positive times, of which there are ten or more, are whole minutes."""
    positive = times[times > 0]
    few = positive[:1000]  # in most logs these already show that times are in seconds
    return len(few) >= 10 and not (few % MINUTE).any() and not (positive % MINUTE).any()


def _unit(times: Floats) -> float:
    """Return 60 for whole minutes, 1 for whole seconds, and 0 for fractions of a second."""
    if in_minutes(times):
        return MINUTE
    return 1.0 if np.array_equal(times, np.floor(times)) else 0.0
