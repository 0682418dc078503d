"""Why a job waits, in words."""

from __future__ import annotations

from datetime import datetime

from quickswap._words import counted
from quickswap.errors import QuickswapError
from quickswap.governing.controller import JobState, Snapshot
from quickswap.governing.decision import Planner

__all__ = ["explained"]


def explained(snapshot: Snapshot, planner: Planner, name: str) -> str:
    """Return why a job waits under a policy, as sentences.

    Raises:
        QuickswapError: there is no such job.
    """
    job = next((each for each in snapshot.jobs if each.id == name), None)
    if job is None:
        raise QuickswapError(
            f"the partition has no job {name}: squeue --array lists the jobs.",
            argument="explain",
            given=name,
        )
    if job.state is not JobState.PENDING:
        runs = job.state is JobState.RUNNING
        return f"Job {name} does not wait: it {'runs' if runs else 'has ended'}."
    if not job.startable:
        reason = job.reason if job.priority else f"{job.reason}, its priority is 0"
        return f"Slurm does not let job {name} start ({reason}), so the policy leaves it out."
    label = planner.policy.label
    plan = planner.plan(snapshot, until=name)
    if name in plan.too_large:
        return f"Job {name} needs {counted(job.need, 'server')}, and {snapshot.servers} are up."
    free = f"{snapshot.free} of {counted(snapshot.servers, 'server')} are free"
    needs = f"Job {name} needs {job.need}; {free}."
    if name in plan.starts:
        place = plan.starts.index(name) + 1
        return (
            f"{needs} {label} starts it now, as number {place}; Slurm starts it in its next cycle."
        )
    sentences = [needs]
    if name == plan.reserved:
        sentences.append(f"{label} keeps servers free for it.")
    elif plan.reserved is not None:
        sentences.append(f"{label} keeps servers free for job {plan.reserved}.")
    if name in plan.later:
        before = list(plan.later).index(name) + len(plan.starts)
        time = datetime.fromtimestamp(plan.later[name]).strftime("%Y-%m-%d %H:%M:%S")
        sentences.append(
            f"If all jobs end at their time limits, it starts at {time}, after "
            f"{counted(before, 'other waiting job')}."
        )
    return " ".join(sentences)
