"""What made jobs wait: the logged waits by pool, queue and user, against the replay."""

from __future__ import annotations

import math

from quickswap.replays.limits import observed
from quickswap.replays.logged_waits import LoggedWaits, WaitGroup
from quickswap.replays.owners import HEAVIEST, largest_groups
from quickswap.report.data import ReportData
from quickswap.report.text import HARD_SPACE, Unit, share

__all__ = ["REMEDY", "idle_sentence", "most_at_once", "unexplained_sentence", "wait_groups"]

REMEDY = (
    "What to do: give its pools, and its limits on users and queues; if its scheduler does not "
    "backfill, compare with FCFS."
)
"""What to do with a log whose waits a replay does not explain."""

BY = ("pool", "partition", "queue", "user")
"""Columns of a log by which the waits are shown."""


def unexplained_sentence(waits: LoggedWaits, unit: Unit) -> str:
    """Return the sentence with which results begin that the logged waits contradict."""
    found, policy = waits.all, waits.replay.policy_label
    replayed, logged = (unit.plain(each.value) for each in (found.replayed, found.logged))
    return (
        "Limits, priorities, partitions, dependencies or delays of the scheduler, or a policy "
        f"other than {policy}, decided how long the jobs of this log waited, so this log cannot "
        f"say what a policy would do for the users: the replay under {policy} explains "
        f"{_percent(waits.explained)} of the logged mean wait ({replayed} of {logged} {unit.word})."
    )


def idle_sentence(waits: LoggedWaits) -> str:
    """Return the share of the waiting time with enough free servers as a sentence."""
    if math.isnan(waits.all.idle.value):
        return "No job of the log waited."
    sentence = (
        f"During {100 * waits.all.idle} % of the logged waiting time, enough servers for the "
        "job that waited were free"
    )
    if math.isnan(waits.idle_in_replay):  # preemptive, or no job waits
        return f"{sentence}."
    replayed = _percent(waits.idle_in_replay)
    return f"{sentence} ({replayed} in the replay under {waits.replay.policy_label})."


def _percent(part: float) -> str:
    return share(part).replace(HARD_SPACE, " ")


def most_at_once(data: ReportData) -> dict[str, list[tuple[str, int]]]:
    """Return the largest number of jobs at once by user and queue, the largest first."""
    jobs, found = data.log.jobs, {}
    for column in ("user", "queue") if data.main.waits is not None else ():
        if jobs[column].count():
            most = observed(jobs, column)
            found[column] = sorted(most.items(), key=lambda each: (-each[1], each[0]))
    return found


def wait_groups(data: ReportData) -> dict[str, list[tuple[str, WaitGroup]]]:
    """Return the names and waits of the groups with the most work by column of the log."""
    waits, tables = data.main.waits, {}
    if waits is None:
        return {}
    for column in BY:
        if column == "partition" and data.log.pools:
            continue
        names, owner = largest_groups(data.log.jobs, column, waits.logged, HEAVIEST)
        if len(names) > 1:
            tables[column] = list(zip(names, waits.grouped(owner, len(names)), strict=True))
    return tables
