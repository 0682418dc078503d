"""`quickswap govern PARTITION`: a policy beside a real Slurm."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Literal, cast

from cyclopts import Parameter

from quickswap._words import counted
from quickswap.cli.options import File, Whole, check_writable, options_of
from quickswap.cli.output import say
from quickswap.governing.limits import Limits

if TYPE_CHECKING:
    from quickswap.governing.audit import Audit
    from quickswap.governing.controller import Controller
    from quickswap.governing.governor import Decision, Governor

__all__ = ["govern"]


if TYPE_CHECKING:
    LimitOptions = Limits
else:
    LimitOptions = Parameter(name="*")(options_of(Limits))


def govern(
    partition: str | None = None,
    /,
    *,
    policy: str = "adaptive-quickswap:overrun=0.9",
    live: bool = False,
    log: File = None,
    limits: LimitOptions | None = None,
    unit: Literal["node", "cpu"] = "node",
    rest: str | None = None,
    once: bool = False,
    explain: str | None = None,
    outcomes: File = None,
    metrics: File = None,
    metrics_port: Whole | None = None,
    undo: Path | None = None,
) -> None:
    """Let a policy govern a partition of a real Slurm; by default only print what it would do.

    Parameters
    ----------
    partition
        A partition of Slurm, whose nodes no other partition uses.
    policy
        adaptive-quickswap with overrun or backfill, or easy, with their parameters.
    live
        Set the SiteFactors of pending jobs; all are undone at the end. Requires the rights of an
        operator of Slurm, and --log.
    log
        Write each decision and each change to this file before it is made, as JSON lines.
    unit
        What a server is: node or cpu.
    rest
        Address of slurmrestd, as in unix:/run/slurmrestd.socket or http://localhost:6820, instead
        of commands. The token is in the environment variable SLURM_JWT.
    once
        Decide once.
    explain
        Print why this job waits, instead of governing.
    outcomes
        Append each job that has ended to this table, a log for `quickswap replay`.
    metrics
        Write metrics to this file at each decision, for the textfile collector of Prometheus.
    metrics_port
        Serve the same metrics at http://127.0.0.1:PORT/metrics, to programs on this machine only.
        By default they are not served.
    undo
        Undo all SiteFactors that this log says may still be set, and end.
    """
    from quickswap._check import whole
    from quickswap.errors import QuickswapError
    from quickswap.governing.audit import Audit, Recovered, recovered
    from quickswap.governing.decision import Planner, steering_policy
    from quickswap.governing.explaining import explained
    from quickswap.governing.governor import (
        Governor,
        check_cluster,
        check_factors,
        held,
        only_governor,
        without_holds,
    )
    from quickswap.governing.outputs import serving_metrics
    from quickswap.policies import spell

    bounds = Limits(**vars(limits or cast("Any", LimitOptions)()))
    planner = Planner(steering_policy(policy))
    if undo is not None:
        others = (partition, live, log, once, explain, outcomes, metrics, metrics_port)
        if any(each not in (None, False) for each in others):
            raise QuickswapError(
                "--undo governs nothing: omit the partition and all options but --unit and --rest."
            )
        recovered(undo)  # it must be an audit log
        with Audit(undo) as audit:
            if not (audit.open or held(audit)):
                print(f"{undo} has no SiteFactor that may be set")
            _undo(_controller(unit, rest), audit, undo)
        return
    if partition is None or not partition.strip():
        raise QuickswapError("no partition is given: name a partition of Slurm.")
    if live and (log is None or once or explain is not None):
        wrong = "--live requires --log" if log is None else "--once and --explain change nothing"
        raise QuickswapError(f"{wrong}: {'give a file' if log is None else 'omit --live'}.")
    if bounds.hold and rest is not None:
        raise QuickswapError("--hold requires the commands of Slurm: omit --rest.")
    if metrics_port is not None:
        whole(metrics_port, "metrics_port", 1, 65_535, QuickswapError)
    check_writable(outcomes, metrics, sources=[log])
    controller = _controller(unit, rest)
    cluster = controller.cluster()
    if explain is not None:
        known = recovered(log) if log is not None and log.exists() else Recovered()
        planner.memory = known.memories.get(spell(planner.policy), planner.memory)
        snapshot = without_holds(controller.snapshot(partition), known.holds)
        print(explained(snapshot, planner, explain))
        return
    with ExitStack() as stack:
        stop = stack.enter_context(_stopping())
        audit = stack.enter_context(Audit(log))
        report = _Report(partition, live, outcomes, metrics)
        if metrics_port is not None:
            stack.enter_context(serving_metrics(metrics_port, lambda: report.text))
        if live and log is not None:
            check_cluster(cluster)
            stack.enter_context(only_governor(cluster.name, partition))
            _undo(controller, audit, log)
            check_factors(controller.snapshot(partition), audit)
            stack.callback(_undo, controller, audit, log)
        elif audit.open:
            say(
                "warning",
                f"{counted(len(audit.open), 'SiteFactor')} of an earlier run may still be set: "
                f"run quickswap govern --undo {log}.",
            )
        planner.memory = audit.known.memories.get(spell(planner.policy), planner.memory)
        governor = Governor(controller, partition, planner, audit, bounds, live)
        if once:
            report(governor, governor.decide())
        else:
            governor.run(stop, lambda decision: report(governor, decision))


def _controller(unit: str, rest: str | None) -> Controller:
    if rest is None:
        from quickswap.governing.commands import Commands

        return Commands(unit)
    from quickswap.governing.rest import Rest

    return Rest(unit, rest)


@contextmanager
def _stopping() -> Iterator[Event]:
    """Yield an event that SIGTERM, SIGHUP and Ctrl-C set meanwhile."""
    stop = Event()
    signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = [signal.signal(each, lambda *_: stop.set()) for each in signals]
    try:
        yield stop
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


def _undo(controller: Controller, audit: Audit, log: Path) -> None:
    """Undo all SiteFactors of a log.

    Raises:
        QuickswapError: some may still be set.
    """
    from quickswap.errors import LogError, QuickswapError
    from quickswap.governing.controller import UnreachableError
    from quickswap.governing.governor import undo

    count, reason = len(audit.open), "Slurm does not accept the changes"
    try:
        undo(controller, audit)
    except (LogError, UnreachableError) as error:
        reason = str(error).removesuffix(".")
    if audit.open:
        raise QuickswapError(
            f"{counted(len(audit.open), 'SiteFactor')} may still be set ({reason}): run quickswap "
            f"govern --undo {log} when Slurm answers."
        )
    if count:
        print(f"undone: {counted(count, 'SiteFactor')} of {log}", flush=True)


@dataclass
class _Report:
    """Prints decisions, and writes the files of a governor."""

    partition: str
    live: bool
    outcomes: Path | None
    metrics: Path | None
    text: str = ""
    shown: object = None

    def __post_init__(self) -> None:
        from quickswap.governing.outputs import JobTable

        self.table = None if self.outcomes is None else JobTable(self.outcomes)

    def __call__(self, governor: Governor, decision: Decision) -> None:
        from quickswap.files import write_text
        from quickswap.governing.outputs import metrics_text

        snapshot, plan = decision.snapshot, decision.plan
        if self.table is not None:
            self.table.add(snapshot)
        self.text = metrics_text(self.partition, governor.counts, snapshot)
        if self.metrics is not None:
            write_text(self.metrics, self.text)
        present = (plan.starts, plan.reserved, decision.writes, decision.holds, decision.releases)
        if present == self.shown:
            return
        self.shown = present
        time = datetime.fromtimestamp(snapshot.time).strftime("%H:%M:%S")
        waiting = sum(job.startable for job in snapshot.jobs)
        print(
            f"{time} {snapshot.free} of {counted(snapshot.servers, 'server')} free, "
            f"{counted(waiting, 'job')} waiting; starts: {' '.join(plan.starts) or 'none'}; keeps "
            f"servers free for: {plan.reserved or 'none'}"
        )
        for job in decision.holds:
            verb = "holds" if self.live else "would hold"
            seconds = f"{governor.limits.hold:g} s"
            print(f"  {verb} job {job.id} for {seconds}: servers are kept free for another job")
        for name in decision.releases:
            print(f"  releases job {name}")
        for write in decision.writes:
            verb = "sets" if self.live else "would set"
            print(f"  {verb} SiteFactor of job {write.job} to {write.factor}: {write.reason}")
        sys.stdout.flush()
