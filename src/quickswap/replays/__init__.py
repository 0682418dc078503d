"""What another policy would have done: the jobs of a log, served again.

`replay` serves a log under one policy, `replay_all` under several and at several loads. A job flows
from the table of the log through a `task` (arrays for the core) and `running` into a `schedule`
(who was served when, and the proof that it could be), from there through `measuring` with the
intervals of `bootstrap` into a `result`.
"""

from __future__ import annotations

from quickswap.replays.result import ReplayComparison, ReplayInputs, ReplayResult
from quickswap.replays.running import as_logged, replay, replay_all
from quickswap.replays.schedule import History, Schedule, check_schedule

__all__ = [
    "History",
    "ReplayComparison",
    "ReplayInputs",
    "ReplayResult",
    "Schedule",
    "as_logged",
    "check_schedule",
    "replay",
    "replay_all",
]
