"""Properties of a log that limit the results: missing data and assumptions."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass

from quickswap.logs.server_use import ServerUse
from quickswap.policies import Policy
from quickswap.report.data import ReportData

__all__ = ["Cautions", "cautions"]

WAITS = re.compile(r"\bsubmi|\bstart(ed|s)? time|\bwait", re.IGNORECASE)
"""Words in the header of a log about submission times and waits."""
MANY = 0.05
"""Share of the jobs or of the rows above which a defect is reported."""


@dataclass(frozen=True)
class Cautions:
    """Properties of a log; a property without need for caution is empty, 0 or False.

    Attributes:
        no_waits: whether the log contains no waits.
        note: the notes in its header about submission times, starts and waits.
        no_estimates: share of the jobs without an estimate, if a policy used estimates.
        estimators: these policies.
        partitions: number of partitions that were merged, if there are several.
        stated: number of servers in the header, if another number was replayed.
        unstated: whether the header does not contain the number of servers.
        peak: largest number of servers in use, if it is not below the number replayed.
        above: share of the time with more servers in use than were replayed.
        too_large: number of jobs that need more servers than were replayed.
        unusable: number of dropped rows, if there are many.
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
    """Return the facts about the log of a report; the report on the log has those on its pools."""
    log, base, logged = data.log, data.main.baseline, data.main.logged
    servers, report = base.schedule.servers, log.report
    users = tuple(
        each.policy_label
        for each in data.main.policies
        if isinstance(each.policy, Policy) and each.policy.uses_estimates
    )
    lacking = report["no_estimate"] / len(log)
    if base.inputs.estimate != "logged" or lacking <= MANY or not users:
        lacking, users = 0.0, ()
    header = [log.header.get(key, "") for key in ("MaxProcs", "MaxNodes")]
    stated = [int(found[0]) for text in header if (found := re.match(r"\d+", text))]
    peak, above = 0, 0.0
    if logged is not None and not log.pools:
        jobs = logged.schedule
        use = ServerUse(jobs.arrival, jobs.wait, jobs.size, jobs.need)
        peak, above = use.peak, use.share_above(servers)
    partitions = log.jobs["partition"].drop_nulls().n_unique()
    unusable = sum(each.count for each in report.findings if each.kind == "dropped")
    return Cautions(
        no_waits=log.jobs["wait"].count() == 0,
        note=" ".join(filter(WAITS.search, log.header.get("Note", "").splitlines())),
        no_estimates=lacking,
        estimators=users,
        partitions=partitions if partitions > 1 and not log.pools else 0,
        stated=stated[0] if stated and servers not in stated and not log.pools else 0,
        unstated=not stated and not log.pools,
        peak=peak if peak > servers or (peak == servers and not stated) else 0,
        above=above,
        too_large=base.too_large,
        unusable=unusable if unusable > MANY * report.rows else 0,
    )
