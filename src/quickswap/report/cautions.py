"""What readers must know of a log before they use the results: what it lacks, what was assumed."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass

import numpy as np

from quickswap.replays.schedule import Schedule
from quickswap.report.data import ReportData

__all__ = ["Cautions", "cautions"]

WAITS = re.compile(r"\bsubmi|\bstart(ed|s)? time|\bwait", re.IGNORECASE)
"""Words in the header of a log that are about when jobs came and how long they waited."""
MANY = 0.05
"""Share of the jobs or of the rows beyond which a defect is a caution."""
USES_ESTIMATES = ("EASY", "Conservative")


@dataclass(frozen=True)
class Cautions:
    """Facts about a log; what gives no reason for caution is empty, 0 or False.

    Attributes:
        no_waits: whether the log contains no waits.
        note: what its header says about submission times, starts and waits.
        no_estimates: share of the jobs without an estimate, if a policy used estimates.
        estimators: these policies.
        partitions: number of partitions that were merged, if there are several.
        stated: number of servers in the header, if another number was replayed.
        unstated: whether the log does not say how many servers the machine has.
        peak: most servers in use at the same time, if it is not below the number replayed.
        above: share of the time with more in use than were replayed.
        too_large: jobs that require more servers than there are.
        unusable: rows that could not be used, if they are many.
    """

    no_waits: bool
    note: str
    no_estimates: float
    estimators: tuple[str, ...]
    partitions: int
    stated: int
    unstated: bool
    peak: int
    above: float
    too_large: int
    unusable: int

    def __bool__(self) -> bool:
        return any(astuple(self))


def cautions(data: ReportData) -> Cautions:
    """Return the facts about the log of a report."""
    log, base, logged = data.log, data.main.baseline, data.main.logged
    servers, report = base.schedule.servers, log.report
    users = tuple(r.policy_label for r in data.main.policies if r.policy_label in USES_ESTIMATES)
    lacking = report["no_estimate"] / len(log)
    if base.inputs.estimate != "logged" or lacking <= MANY or not users:
        lacking, users = 0.0, ()
    header = [log.header.get(key, "") for key in ("MaxProcs", "MaxNodes")]
    stated = [int(found[0]) for text in header if (found := re.match(r"\d+", text))]
    peak, above = (0, 0.0) if logged is None else _use(logged.schedule, servers)
    partitions = log.jobs["partition"].drop_nulls().n_unique()
    unusable = sum(each.count for each in report.findings if each.kind == "dropped")
    return Cautions(
        no_waits=log.jobs["wait"].count() == 0,
        note=" ".join(filter(WAITS.search, log.header.get("Note", "").splitlines())),
        no_estimates=lacking,
        estimators=users,
        partitions=partitions if partitions > 1 else 0,
        stated=stated[0] if stated and servers not in stated else 0,
        unstated=not stated,
        peak=peak if peak > servers or (peak == servers and not stated) else 0,
        above=above,
        too_large=base.too_large,
        unusable=unusable if unusable > MANY * report.rows else 0,
    )


def _use(schedule: Schedule, servers: int) -> tuple[int, float]:
    """Return the most servers in use at the same time, and the share of the time above `servers`.

    Submission, wait and run time may each be rounded to whole seconds, so that a job seems to run
    when the next one on its servers has begun: jobs count as three seconds shorter then.
    """
    times = (schedule.arrival, schedule.start, schedule.size)
    rounding = 3.0 if all((each == np.rint(each)).all() for each in times) else 0.0
    ends = np.maximum(schedule.end - rounding, schedule.start)
    moments = np.concatenate([ends, schedule.start])
    order = np.argsort(moments, kind="stable")  # at equal times, ends come first
    used = np.concatenate([-schedule.need, schedule.need])[order].cumsum()
    spans = np.diff(moments[order])
    above = float(spans[used[:-1] > servers].sum() / max(float(spans.sum()), 1e-300))
    return int(used.max(initial=0)), above
