"""Replays: the jobs of a log under another policy.

`replay` replays a log under one policy, `replay_all` under several policies and at several loads.
The jobs of the log become arrays for the core in `jobs`; `replaying` runs the core; `schedule`
contains the starts and ends of the jobs and checks them; `measurement` computes the quantities of
the `result`, with confidence intervals from a bootstrap over the weeks of the log; `bound` computes
a mean response time below which no schedule of the jobs comes; `preemption` serves preemptible jobs
on the servers that the others leave free; `logged_waits` compares the logged waits with a replay.
"""

from __future__ import annotations

from quickswap.engine.settings import ReplayInputs
from quickswap.replays.logged_waits import LoggedWaits
from quickswap.replays.preemption import Preemption
from quickswap.replays.replaying import as_logged, replay, replay_all
from quickswap.replays.result import ReplayComparison, ReplayResult
from quickswap.replays.schedule import History, Schedule, StoppedRuns, check_schedule

__all__ = [
    "History",
    "LoggedWaits",
    "Preemption",
    "ReplayComparison",
    "ReplayInputs",
    "ReplayResult",
    "Schedule",
    "StoppedRuns",
    "as_logged",
    "check_schedule",
    "replay",
    "replay_all",
]
