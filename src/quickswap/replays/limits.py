"""Limits on the jobs of a user or of a queue.

A job of a user with as many jobs waiting or in service as the limit is held back, and arrives at
the policy when one of them completes. So a limit on running jobs is kept, and the policy chooses
among the oldest jobs that it permits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quickswap.engine.settings import OBSERVED, ReplayInputs
from quickswap.errors import QuickswapError, unknown
from quickswap.replays.schedule import Ints

__all__ = ["Gate", "observed"]

FREE = 2**32 - 1
"""Limit of jobs without one."""


@dataclass(frozen=True)
class Gate:
    """Groups of each job, (jobs, columns), and the largest number of jobs of each group."""

    groups: NDArray[np.uint32]
    limits: list[int]

    @classmethod
    def of(cls, jobs: pl.DataFrame, inputs: ReplayInputs) -> Gate | None:
        """Return the gate of some rows of a log; None without limits.

        Raises:
            QuickswapError: the log lacks the users, queues or waits that a limit requires, or a
                queue is unknown.
        """
        limits, columns = [FREE], []
        for column, given in (("user", inputs.user_limit), ("queue", inputs.queue_limit)):
            if given is None:
                continue
            names, owner = _owners(jobs, column)
            columns.append(np.where(owner < 0, 0, owner + len(limits)))
            if given == OBSERVED:
                most = observed(jobs, column)
                if column == "user":
                    most = dict.fromkeys(names, max(most.values()))
            elif column == "user":
                most = dict.fromkeys(names, int(given))
            else:
                pairs = (word.rpartition("=") for word in str(given).split())
                most = {name: int(number) for name, _, number in pairs}
                for name in most:
                    if name not in names:
                        unknown("queue", name, names, QuickswapError, argument="queue_limit")
            limits += [most.get(name, FREE) for name in names]
        if not columns:
            return None
        return cls(np.stack(columns, axis=1).astype(np.uint32), limits)


def observed(jobs: pl.DataFrame, column: str) -> dict[str, int]:
    """Return the largest number of jobs of each user or queue that ran at the same time.

    A limit of the real scheduler, if there was one, is not below it.
    """
    names, owner = _owners(jobs, column)
    known = jobs["wait"].is_not_null().to_numpy() & (owner >= 0)
    if not known.any():
        raise QuickswapError(
            f"the log does not contain the waits that {OBSERVED} limits require",
            argument=f"{column}_limit",
            given=OBSERVED,
            advice=f"give {{{column}_limit}} as a number",
        )
    start = (jobs["submit"] + jobs["wait"]).to_numpy()[known]
    size, owner = jobs["size"].to_numpy()[known], np.tile(owner[known], 2)
    time, change = np.concatenate([start + size, start]), np.repeat([-1, 1], len(start))
    order = np.lexsort((change, time, owner))  # at equal times, ends come first
    running = np.cumsum(change[order])  # 0 after the last end of each owner
    most = np.zeros(len(names), dtype=np.int64)
    np.maximum.at(most, owner[order], running)
    return {name: int(each) for name, each in zip(names, most, strict=True) if each}


def _owners(jobs: pl.DataFrame, column: str) -> tuple[list[str], Ints]:
    """Return the names in a column, and the position of that of each job; -1 without one."""
    texts = jobs[column].cast(pl.String)
    names: list[str] = texts.drop_nulls().unique().sort().to_list()
    if not names:
        raise QuickswapError(
            f"the log does not contain the {column} of its jobs",
            argument=f"{column}_limit",
            advice=f"omit {{{column}_limit}}",
        )
    position = {name: i for i, name in enumerate(names)}
    return names, texts.replace_strict(position, default=-1, return_dtype=pl.Int64).to_numpy()
