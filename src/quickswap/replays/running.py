"""Serves the jobs of a log under a policy."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import fields
from functools import partial
from itertools import pairwise
from typing import Any, Unpack, cast

from quickswap._check import items, real
from quickswap._words import counted
from quickswap.engine._core import replay as serve
from quickswap.engine._settings import ReplaySettings, check_progress, check_settings, flag
from quickswap.engine.custom import CustomPolicy, as_policy, custom_name, label
from quickswap.engine.generators import untouched_generators
from quickswap.errors import Interrupted, PolicyError, QuickswapError, shown
from quickswap.logs import JobLog
from quickswap.logs.grouping import group_name
from quickswap.policies import Policy, spell
from quickswap.replays.backlog import Backlog
from quickswap.replays.measuring import Group, measure
from quickswap.replays.result import AS_LOGGED, ReplayComparison, ReplayInputs, ReplayResult
from quickswap.replays.schedule import History, Schedule, check_schedule
from quickswap.replays.task import Task
from quickswap.statistics.bootstrap import Pieces
from quickswap.statistics.quantities import Quantities

__all__ = ["DEFAULT_POLICIES", "as_logged", "replay", "replay_all"]

DEFAULT_POLICIES = ("easy", "conservative", "first-fit", "static-quickswap", "adaptive-quickswap")
APART = 1e-3
"""Share by which factors of the load must differ."""
KNOWN = 0.9
"""Share of the jobs whose wait must be known for the log's own waits to be told unasked."""


def replay(
    log: JobLog,
    policy: Policy | CustomPolicy | str,
    servers: int | None = None,
    *,
    load_factor: float = 1.0,
    estimate: str | float = "logged",
    classes: str = "need",
    warmup: float = 0.05,
    cooldown: float = 0.05,
    slowdown_bound: float = 10.0,
    seed: int = 1,
    debug: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> ReplayResult:
    """Serve the jobs of a log under a policy, as if they had been submitted to it.

    Every job keeps its submission, need and size; only when it is served changes. The schedule is
    checked afterwards by `check_schedule`.

    Args:
        log: what `quickswap.logs.read` returns.
        policy: any policy of quickswap, its spelling, or a custom policy. Those of classes take
            each need for a class, unless `classes` groups them. MSFQ is for logs with the needs 1
            and all servers only.
        servers: of the machine, in place of those of the log. Jobs that need more are left out and
            counted in `too_large`.
        load_factor: raises the load by so much, by interarrival times that many times shorter.
        estimate: what EASY, Conservative and backfilling believe about sizes: "logged" (the log's
            own estimates, else the size), "exact" (the sizes), or a factor of the sizes.
        classes: "need": each need is a class; "load": up to eight groups of needs of about equal
            load; or groups, as in "1,2-4,5-16,17-". Static and Adaptive Quickswap then serve a
            group in order of arrival, as a class of its largest need; other policies decide as
            without groups, which are then only those that the result tells of.
        warmup: share of the log's duration, from its first submission, whose jobs are replayed and
            not measured.
        cooldown: likewise before its last submission.
        slowdown_bound: sizes below this count as this in the bounded slowdown, seconds.
        seed: of the bootstrap that gives the intervals, and of the `view.random` of a policy of
            your own.
        debug: let the core check itself at every event.
        progress: called now and then with the completions so far and those intended.

    Raises:
        PolicyError: the policy does not suit the log, made a mistake, or leaves jobs waiting for
            ever.
        QuickswapError: a setting out of range; no job fits the machine.
        KeyboardInterrupt: Ctrl-C.
    """
    begun = time.perf_counter()
    check_progress(progress)
    task = Task.of(log, servers, load_factor, estimate, classes)
    chosen = as_policy(policy, task.system)
    inputs = task.inputs(
        spell(chosen) if isinstance(chosen, Policy) else custom_name(chosen),
        warmup,
        cooldown,
        slowdown_bound,
        seed,
    )
    spec: dict[str, Any] = {"system": task.system.to_dict(), "policy": task.resolve(chosen)}
    own = None if isinstance(chosen, Policy) else chosen
    if own is not None:
        spec["seed"] = inputs.seed
    checked = flag(debug, "debug")
    try:
        with nullcontext() if own is None else untouched_generators(custom_name(own)):
            start, end, order = serve(
                json.dumps(spec),
                task.arrival,
                task.cls,
                task.size,
                policy=own,
                estimate=task.estimate,
                debug=checked,
                progress=None if progress is None else partial(_report, progress, len(task.rows)),
            )
    except QuickswapError:
        raise
    except ValueError as error:
        raise PolicyError(f"{label(chosen)}: {error}.") from error.__cause__
    if len(order) < len(task.rows):
        left = counted(len(task.rows) - len(order), "job", ",")
        raise PolicyError(
            f"{label(chosen)} leaves {left} waiting for ever: it starts none of them."
        )
    schedule = task.schedule(start, end, isinstance(chosen, Policy) and chosen.preemptive)
    return _measured(task, schedule, inputs, label(chosen), begun)


def replay_all(
    log: JobLog,
    policies: Iterable[Policy | CustomPolicy | str] | Policy | str = DEFAULT_POLICIES,
    *,
    load_factors: Sequence[float] = (1.0,),
    progress: Callable[[int, int], object] | None = None,
    **settings: Unpack[ReplaySettings],
) -> ReplayComparison:
    """Serve the jobs of a log under several policies, at several loads.

    Args:
        log: what `quickswap.logs.read` returns.
        policies: policies, spellings, or custom policies; by default EASY, Conservative,
            First-Fit, Static Quickswap and Adaptive Quickswap.
        load_factors: by which the load is raised; one result a policy each.
        progress: called now and then with the completions so far and those intended.
        settings: all else that `replay` takes, `load_factor` excepted.

    Raises:
        PolicyError, QuickswapError: as `replay`; a policy given twice.
        Interrupted: Ctrl-C; its `result` is the comparison as far as it had come.
    """
    check_settings(settings, ReplaySettings, "replay_all")
    check_progress(progress)
    listed = [policies] if isinstance(policies, str | Policy) else items(policies)
    factors = items(load_factors)
    if not listed:
        raise PolicyError(f"give at least one policy to replay, not {shown(policies)}.")
    if not factors:
        raise QuickswapError(
            f"load_factors must be a list of numbers, not {shown(load_factors)}.",
            argument="load_factors",
        )
    for value, times in Counter(map(real, factors)).items():
        if times > 1 and value is not None:
            raise QuickswapError(f"the load factor {value:g} is given twice: give each once.")
    _refuse_alike([value for each in factors if (value := real(each)) is not None])
    begun = time.perf_counter()
    system = Task.of(log, settings.get("servers")).system
    chosen = [as_policy(each, system) for each in listed]
    for name, times in Counter(map(label, chosen)).items():
        if times > 1:
            raise PolicyError(f"policy {name} is given twice: give each once.")
    results: list[ReplayResult] = []
    runs = len(factors) * len(chosen)

    def report(done: int, intended: int) -> None:
        if progress is not None:
            before = sum(each.policy_label != AS_LOGGED for each in results)
            progress(before * intended + done, runs * intended)

    measured: dict[str, Any] = {
        name: value for name, value in settings.items() if name not in ("estimate", "debug")
    }
    try:
        for factor in cast("list[float]", factors):
            if real(factor) == log.load_factor == 1.0 and _tells_waits(log):
                results.append(as_logged(log, **measured))
            for policy in chosen:
                result = replay(log, policy, load_factor=factor, progress=report, **settings)
                results.append(result)
    except KeyboardInterrupt:
        partly = ReplayComparison(tuple(results), time.perf_counter() - begun)
        raise Interrupted(partly if results else None) from None
    return ReplayComparison(tuple(results), time.perf_counter() - begun)


def _refuse_alike(factors: list[float]) -> None:
    """Refuse factors of the load that differ by less than a thousandth: nobody tells them apart."""
    ordered = sorted(factors)
    for low, high in pairwise(ordered):
        if 0 < low < high < low * (1 + APART):
            raise QuickswapError(
                f"the load factors {low:.12g} and {high:.12g} differ by less than 0.1 %: give one "
                "of them."
            )


def as_logged(
    log: JobLog,
    servers: int | None = None,
    *,
    classes: str = "need",
    warmup: float = 0.05,
    cooldown: float = 0.05,
    slowdown_bound: float = 10.0,
    seed: int = 1,
) -> ReplayResult:
    """Return what the log itself says of its jobs, measured as a replay is.

    Each job starts when it did where the log was made: after the wait logged. Jobs without one are
    left out. The result is no replay: the real cluster knew limits, priorities, failures and
    reservations that no replay knows, and may have had more or fewer servers at times.

    Args:
        log: what `quickswap.logs.read` returns.
        servers, classes, warmup, cooldown, slowdown_bound, seed: as in `replay`.

    Raises:
        QuickswapError: a setting out of range; the log tells no waits, or its load was changed.
    """
    begun = time.perf_counter()
    task = Task.of(log, servers, classes=classes).with_waits()
    wait = task.log.jobs["wait"].to_numpy()[task.rows]
    start = task.arrival + wait
    schedule = task.schedule(start, start + task.size, preemptive=False)
    inputs = task.inputs(AS_LOGGED, warmup, cooldown, slowdown_bound, seed)
    return _measured(task, schedule, inputs, AS_LOGGED, begun)


def _measured(
    task: Task, schedule: Schedule, inputs: ReplayInputs, name: str, begun: float
) -> ReplayResult:
    history = None if schedule.preemptive else History.of(schedule)
    if name != AS_LOGGED:  # what was logged is no schedule of this machine
        check_schedule(schedule, history)
    first, span = float(task.arrival[0]), task.duration
    begin, end = first + inputs.warmup * span, first + (1 - inputs.cooldown) * span
    pieces = Pieces.of(begin, end, 1 / task.log.load_factor, inputs.seed)
    groups = [Group(group_name((low, high)), low, high) for low, high in task.groups]
    quantities, table = measure(schedule, history, pieces, groups, name, inputs.slowdown_bound)
    waits = schedule.wait[pieces.inside(schedule.arrival)]
    return ReplayResult(
        **{f.name: getattr(quantities, f.name) for f in fields(Quantities)},
        inputs=inputs,
        log=task.log,
        schedule=schedule,
        load=task.load,
        jobs=quantities.overall.jobs,
        too_large=len(task.log) - len(task.rows) if name != AS_LOGGED else 0,
        resampled=(len(pieces), pieces.unit),
        longest_wait=float(waits.max(initial=0.0)) if len(waits) else math.nan,
        backlog=Backlog.of(schedule),
        seconds=time.perf_counter() - begun,
        table=table,
    )


def _tells_waits(log: JobLog) -> bool:
    return log.jobs["wait"].count() >= KNOWN * len(log)


def _report(progress: Callable[[int, int], object], jobs: int, done: int) -> None:
    progress(done, jobs)
