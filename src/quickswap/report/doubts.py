"""What is to be known of a log before its answer is used: what it lacks, and what was assumed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from quickswap._words import counted
from quickswap.replays.schedule import History
from quickswap.report.model import Told
from quickswap.report.words import listed

__all__ = ["doubts"]

TELLING = re.compile(r"\bsubmi|\bstart(ed|s)? time|\bwait", re.IGNORECASE)
"""Words of a log's note on itself that are about when jobs came and how long they waited."""
MANY = 0.05
"""Share of the jobs or the rows beyond which something is worth telling at the beginning."""
USES_ESTIMATES = ("EASY", "Conservative")


def doubts(told: Told) -> list[str]:
    """Return sentences, the gravest first; none if the log tells all that a replay needs."""
    found = (_waits, _estimates, _partitions, _servers, _left_out)
    return [text for each in found for text in each(told)]


def _waits(told: Told) -> Iterator[str]:
    log = told.log
    notes = [line for line in log.header.get("Note", "").splitlines() if TELLING.search(line)]
    quoted = f"The log says about itself: “{' '.join(notes)}”. " if notes else ""
    if log.jobs["wait"].count() == 0:
        yield (
            f"The log does not tell how long its jobs waited. {quoted}If its submission times are "
            "really the times at which jobs started, the true queue is not in it: all waits here, "
            "and the differences between policies, are then too small."
        )
    elif quoted:
        yield quoted.strip()


def _estimates(told: Told) -> Iterator[str]:
    base = told.main.baseline
    lacks = told.log.report["no_estimate"] / len(told.log)
    users = [r.policy_label for r in told.main.results if r.policy_label in USES_ESTIMATES]
    if base.inputs.estimate != "logged" or lacks <= MANY or not users:
        return
    whose = "" if lacks == 1 else f" for {100 * lacks:.0f} % of the jobs"
    yield (
        f"The log gives no estimates of run times{whose}, on which {listed(users)} "
        f"{'rely' if len(users) > 1 else 'relies'}. The true run times were used in their place, "
        "which no real scheduler knows: real results may be worse."
    )


def _partitions(told: Told) -> Iterator[str]:
    known = told.log.jobs["partition"].drop_nulls().n_unique()
    if known > 1:
        yield (
            f"Its {known} partitions are taken as one machine, in which every job may run on every "
            "server. If in truth jobs had to wait for servers of their own partition, replay one "
            "partition at a time (--partition)."
        )


def _servers(told: Told) -> Iterator[str]:
    log, servers = told.log, told.main.baseline.schedule.servers
    header = [log.header.get(key, "") for key in ("MaxProcs", "MaxNodes")]
    said = [int(found[0]) for text in header if (found := re.match(r"\d+", text))]
    peak = _peak(told)
    if said and servers not in said:
        yield (
            f"The log says that the machine has {counted(said[0], 'server', ',')}; "
            f"{servers:,} were given for the replay."
        )
    if not said and peak == servers:
        yield (
            f"The log does not say how many servers the machine has. {servers:,} is the most that "
            "were ever in use at once; if there are more, all waits here are too long."
        )
    elif not said:
        yield (
            f"The log does not say how many servers the machine has; "
            f"{servers:,} were given for the replay."
        )
    if peak > servers:
        yield (
            f"The log shows up to {peak:,} servers in use at once, more than the {servers:,} of "
            "the replay: the real machine may have been larger at times, or its clock not exact."
        )


def _peak(told: Told) -> int:
    """Return the most servers in use at once in the log; 0 if it does not tell."""
    logged = told.main.logged
    if logged is None or not len(logged.schedule):
        return 0
    history = History.of(logged.schedule)
    return int(np.max(history.busy[history.settled()]))


def _left_out(told: Told) -> Iterator[str]:
    base, report = told.main.baseline, told.log.report
    if base.too_large:
        yield (
            f"{counted(base.too_large, 'job', ',')} of {len(told.log):,} need more than the "
            f"{counted(base.schedule.servers, 'server', ',')} and are left out."
        )
    broken = sum(each.count for each in report.findings if each.kind == "dropped")
    if broken > MANY * report.rows:
        yield (
            f"{broken:,} of the {report.rows:,} rows of the log could not be used; the part on the "
            "log says why."
        )
