"""Replays a log under policies, and measures its logged waits."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, Unpack

from quickswap._check import factor, flag, items
from quickswap._progress import jobs_bar, shows
from quickswap._words import counted
from quickswap.engine._core import replay as serve
from quickswap.engine.compiled import native
from quickswap.engine.custom import CustomPolicy, as_policy, label
from quickswap.engine.generators import untouched_generators
from quickswap.engine.settings import (
    MeasureSettings,
    ReplayInputs,
    ReplaySettings,
    check_progress,
    check_settings,
)
from quickswap.errors import Interrupted, PolicyError, QuickswapError, invalid, unknown
from quickswap.logs import JobLog
from quickswap.logs.joblog import check_log
from quickswap.policies import Policy, parse, spell
from quickswap.policies.custom import custom_name
from quickswap.replays.backlog import Backlog
from quickswap.replays.jobs import ReplayJobs
from quickswap.replays.measurement import measure
from quickswap.replays.preemption import Preemption, serve_preemptible
from quickswap.replays.result import AS_LOGGED, ReplayComparison, ReplayResult
from quickswap.replays.schedule import History, Schedule, check_schedule
from quickswap.statistics.bootstrap import Pieces
from quickswap.statistics.quantities import Quantities

__all__ = ["DEFAULT_POLICIES", "as_logged", "default_policies", "replay", "replay_all"]

DEFAULT_POLICIES = ("easy", "conservative", "first-fit", "static-quickswap", "adaptive-quickswap")
"""Default policies for any log."""
APART = 1e-3
"""Smallest relative difference of load factors."""
KNOWN = 0.9
"""Share of jobs with a known wait from which the results include the logged waits."""
Policies = tuple[Policy | CustomPolicy, list[Policy | CustomPolicy]]
"""The policy of a replay, and that of each pool."""


@shows(jobs_bar, "replaying")
def replay(
    log: JobLog,
    policy: Policy | CustomPolicy | str,
    *,
    load_factor: float = 1.0,
    progress: Callable[[int, int], object] | bool | None = None,
    **settings: Unpack[ReplaySettings],
) -> ReplayResult:
    """Replay a log under a policy: the same jobs are served at other times.

    Each job keeps its submission, need and size. `check_schedule` checks the schedule.

    Args:
        log: a log that `quickswap.logs.read` returned.
        policy: a policy, its text, or a custom policy. For class-based policies each need is a
            class, unless `classes` groups them. MSFQ requires a log whose needs are 1 and the
            number of servers.
        load_factor: factor of the load; interarrival times are divided by it.
        progress: True for a bar, or a function that is called several times a second, with the
            completions so far and in total.
        settings: as follows; `ReplayInputs` contains the defaults.

            - `servers`: servers of the machine; by default those of the log. Jobs that need more
              are left out and counted in `too_large`.
            - `estimate`: sizes that EASY, Conservative, Slurm and backfilling use: "logged" (the
              estimates of the log, or the size of jobs without one), "exact" (the sizes),
              "predicted" (the mean run time of the last two jobs of the user that have completed at
              the submission, at most
              the estimate of the log; "logged" for the first jobs of a user and for jobs
              without one), or a factor of the sizes.
            - `classes`: "need" for a class per need, "load" for up to eight groups of needs with
              nearly equal loads, or groups, as in "1,2-4,5-16,17-". Static and Adaptive Quickswap,
              and custom policies, serve a group in order of arrival, as a class with its largest
              need. Other policies ignore the groups, which are then only the classes of the result.
            - `warmup`, `cooldown`: shares of the duration of the log, after its first submission
              and before its last, whose jobs are replayed, but not measured.
            - `slowdown_bound`: smallest size in the bounded slowdown, seconds.
            - `confidence`: of the intervals, from 0.5 to 0.999.
            - `percentiles`: percentiles of all times and slowdowns besides P50, P90, P99 and P99.9,
              as in `(95, 97.5)`.
            - `seed`: seed of the bootstrap, and of `view.random` in custom policies.
            - `pool_policies`: policies of some pools of the log, instead of the policy of the
              replay, as in "gpu=fcfs debug=conservative".
            - `user_limit`: the most jobs of a user that wait or run at once; further jobs are held
              back until one completes. "observed": the most that ran at once in the log, of any
              user.
            - `queue_limit`: the same for queues, as in "debug=2 long=40". "observed": the most of
              each queue. In a log with pools, limits are those in each pool.
            - `preemptible`: queues (QOS in Slurm) or partitions, as in "scavenger night". Their
              jobs run only on servers that all other jobs of the log or pool leave free, the oldest
              that fits first. When another job needs servers, the jobs that started last are
              stopped, and wait again. The other jobs are served as if they were alone. Limits apply
              to the two groups of jobs separately.
            - `preempt_mode`: "requeue" if stopped jobs lose their work and start again, "suspend"
              if they keep it and continue.
            - `end_at_limit`: whether jobs end at their time limit; by default each job runs as long
              as in the log.
            - `debug`: whether the core checks its state at every event.

    Raises:
        PolicyError: the policy does not suit the log, makes an invalid decision, or never starts
            some of the jobs.
        QuickswapError: a setting is out of range, or no job fits the machine.
        KeyboardInterrupt: Ctrl-C.
    """
    begun = time.perf_counter()
    check_settings(settings, ReplaySettings, "replay", "load_factor", "progress")
    progress = check_progress(progress)
    debug = flag(settings.pop("debug", False), "debug", QuickswapError)
    jobs = ReplayJobs.of(log, _inputs(log, load_factor=load_factor, **settings))
    return _replayed(jobs, _policies(policy, jobs), debug, progress, begun)


def _inputs(log: JobLog, *, servers: int | None = None, **settings: Any) -> ReplayInputs:
    """Return the inputs of a replay of a log, by default on its own number of servers."""
    check_log(log)
    if log.pools and servers is not None and servers != log.servers:
        raise QuickswapError(
            f"the log has pools with {log.servers:,} servers together",
            argument="servers",
            given=servers,
            advice="read the log with pools of other sizes, or omit {servers}",
        )
    machine = log.servers if servers is None else servers
    return ReplayInputs(source=log.source, servers=machine, **settings)


def _policies(given: object, jobs: ReplayJobs) -> Policies:
    """Return the policy of a replay, then that of each pool, checked against its jobs.

    Raises:
        PolicyError: a policy does not suit the jobs.
        QuickswapError: a pool with a policy of its own is not in the log.
    """
    own = {
        name: policy
        for name, _, policy in (each.partition("=") for each in jobs.inputs.pool_policies.split())
    }
    for name in own:
        if name not in jobs.log.pools:
            if jobs.log.pools:
                unknown("pool", name, jobs.log.pools, QuickswapError, argument="pool_policies")
            raise QuickswapError(
                f"the log has no pools, but {name} has a policy",
                argument="pool_policies",
                given=jobs.inputs.pool_policies,
                advice="read the log with {pool}, or omit {pool_policies}",
            )
    checked = []
    for part in jobs.parts:
        served = part.served
        try:
            checked.append(_policy(own.get(part.pool, given), served))
        except PolicyError as error:
            if not part.pool:
                raise
            raise PolicyError(f"pool {part.pool}: {error}", argument="policy") from error
        if part.yielding and getattr(checked[-1], "preemptive", False):
            raise QuickswapError(
                f"{label(checked[-1])} interrupts jobs, and preemptible jobs require a policy that "
                "does not",
                argument="preemptible",
                given=jobs.inputs.preemptible,
                advice="replay a nonpreemptive policy, or omit {preemptible}",
            )
    shared = [each for part, each in zip(jobs.parts, checked, strict=True) if part.pool not in own]
    return shared[0] if shared else _policy(given, jobs), checked


def _policy(given: object, jobs: ReplayJobs) -> Policy | CustomPolicy:
    """Return a policy, checked against the jobs as it sees them."""
    policy = parse(given) if isinstance(given, str) else given
    return as_policy(policy, jobs.seen_by(policy))


def _replayed(
    jobs: ReplayJobs,
    policies: Policies,
    debug: bool,
    progress: Callable[[int, int], object] | None,
    begun: float,
) -> ReplayResult:
    """Serve the jobs of each pool under its policy, and measure the schedules."""
    policy, own = policies
    schedules: list[Schedule] = []

    def report(done: int) -> None:
        if progress is not None:
            progress(sum(map(len, schedules)) + done, len(jobs.rows))

    for part, each in zip(jobs.parts, own, strict=True):
        schedule = _served(part.served, each, debug, None if progress is None else report)
        if part.yielding:
            rest = serve_preemptible(part.yielding, schedule)
            schedule = Schedule.merged(schedule.servers, [schedule, rest])
        schedules.append(schedule)
    return _measured(jobs, schedules, policy, begun, own)


def _served(
    jobs: ReplayJobs,
    policy: Policy | CustomPolicy,
    debug: bool,
    progress: Callable[[int], object] | None,
) -> Schedule:
    """Return the schedule of jobs under a policy."""
    gate = jobs.gate
    spec: dict[str, Any] = {"system": jobs.system.to_dict(), "policy": jobs.resolve(policy)}
    own = None if isinstance(policy, Policy) else policy
    if own is not None:
        spec["seed"] = jobs.inputs.seed
    try:
        with nullcontext() if own is None else untouched_generators(custom_name(own)):
            start, end, order, predicted = serve(
                json.dumps(spec),
                jobs.arrival,
                jobs.cls,
                jobs.size,
                policy=native(own),
                estimate=jobs.estimate,
                predict=jobs.predict,
                **jobs.attributes(policy),
                groups=None if gate is None else gate.groups,
                limits=None if gate is None else gate.limits,
                debug=debug,
                progress=progress,
            )
    except QuickswapError:
        raise
    except ValueError as error:
        raise PolicyError(f"{label(policy)}: {error}.") from error.__cause__
    if len(order) < len(jobs.rows):
        left = counted(len(jobs.rows) - len(order), "job", ",")
        raise PolicyError(
            f"{label(policy)} never starts {left}",
            argument="policy",
            given=policy,
            advice="check that it starts any job that fits",
        )
    preemptive = isinstance(policy, Policy) and policy.preemptive
    return jobs.schedule(start, end, preemptive, predicted)


def default_policies(log: JobLog) -> tuple[str, ...]:
    """Return the default policies of replays, which begin with Slurm for a log of Slurm."""
    return ("slurm", *DEFAULT_POLICIES) if log.format == "sacct" else DEFAULT_POLICIES


@shows(jobs_bar, "replaying")
def replay_all(
    log: JobLog,
    policies: Iterable[Policy | CustomPolicy | str] | Policy | str | None = None,
    *,
    load_factors: Sequence[float] = (1.0,),
    progress: Callable[[int, int], object] | bool | None = None,
    **settings: Unpack[ReplaySettings],
) -> ReplayComparison:
    """Replay a log under several policies, at one or several loads.

    Args:
        log: a log that `quickswap.logs.read` returned.
        policies: policies, their texts, or custom policies; by default EASY, Conservative,
            First-Fit, Static Quickswap and Adaptive Quickswap, and for a log of Slurm also Slurm.
        load_factors: factors of the load; there is one result per factor and policy.
        progress: True for a bar, or a function that is called several times a second, with the
            completions so far and in total.
        settings: other arguments of `replay`.

    Raises:
        PolicyError, QuickswapError: as in `replay`, or a policy or factor is given twice.
        Interrupted: Ctrl-C; its `result` contains the completed replays.
    """
    check_settings(settings, ReplaySettings, "replay_all", "load_factors", "progress")
    progress = check_progress(progress)
    if policies is None:
        check_log(log)
        policies = default_policies(log)
    listed = [policies] if isinstance(policies, str | Policy) else items(policies)
    factors = items(load_factors)
    if not listed:
        raise invalid("policies", policies, "at least one policy", PolicyError)
    if not factors:
        allowed = "a list of numbers"
        raise invalid("load_factors", load_factors, allowed, QuickswapError)
    numbers = sorted(factor(each, "load_factors", QuickswapError) for each in factors)
    for low, high in pairwise(numbers):
        if high < low * (1 + APART):
            raise QuickswapError(
                f"load_factors contains {low:.12g} and {high:.12g}, which differ by less than 0.1 "
                "%",
                argument="load_factors",
                given=load_factors,
                advice="give one of them",
            )
    begun = time.perf_counter()
    debug = flag(settings.pop("debug", False), "debug", QuickswapError)
    points = [_inputs(log, load_factor=factor, **settings) for factor in factors]
    served = ReplayJobs.of(log, points[0])
    chosen = [_policies(each, served) for each in listed]
    for name, times in Counter(label(policy) for policy, _ in chosen).items():
        if times > 1:
            raise PolicyError(
                f"policies contains {name} twice",
                argument="policies",
                given=policies,
                advice="give each policy once",
            )
    results: list[ReplayResult] = []
    runs = len(factors) * len(chosen)

    def report(done: int, intended: int) -> None:
        if progress is not None:
            before = sum(each.policy_label != AS_LOGGED for each in results)
            progress(before * intended + done, runs * intended)

    measured: dict[str, Any] = {
        name: value for name, value in settings.items() if name in MeasureSettings.__annotations__
    }
    waits_known = log.jobs["wait"].count() >= KNOWN * len(log)
    try:
        for inputs in points:
            if inputs.load_factor == log.load_factor == 1.0 and waits_known:
                results.append(as_logged(log, **measured))
            if inputs is not points[0]:
                served = ReplayJobs.of(log, inputs)
            for each in chosen:
                result = _replayed(served, each, debug, report, time.perf_counter())
                results.append(result)
    except KeyboardInterrupt:
        partly = ReplayComparison(tuple(results), time.perf_counter() - begun)
        raise Interrupted(partly if results else None) from None
    return ReplayComparison(tuple(results), time.perf_counter() - begun)


def as_logged(log: JobLog, **settings: Unpack[MeasureSettings]) -> ReplayResult:
    """Return the logged waits, measured in the same way as a replay.

    Each job starts after its logged wait. Jobs without one are left out. The real cluster may have
    applied limits, priorities and reservations, which a replay does not model, and may have had
    failures, or more or fewer servers at times.

    Args:
        log: a log that `quickswap.logs.read` returned.
        settings: servers, classes, warmup, cooldown, slowdown_bound, confidence, percentiles and
            seed, as in `replay`.

    Raises:
        QuickswapError: a setting is out of range, or the log lacks waits or has a scaled load.
    """
    begun = time.perf_counter()
    check_settings(settings, MeasureSettings, "as_logged")
    jobs = ReplayJobs.of(log, _inputs(log, **settings)).with_waits()
    schedules = []
    for part in jobs.parts:
        start = part.arrival + part.log.jobs["wait"].to_numpy()[part.rows]
        schedules.append(part.schedule(start, start + part.size, preemptive=False))
    return _measured(jobs, schedules, None, begun)


def _measured(
    jobs: ReplayJobs,
    schedules: list[Schedule],
    policy: Policy | CustomPolicy | None,
    begun: float,
    own: Sequence[Policy | CustomPolicy | None] = (),
) -> ReplayResult:
    """Return the result of the schedules of the pools, and within it a result for each pool."""
    histories = [None if each.preemptive else History.of(each) for each in schedules]
    if policy is not None:  # the real machine may have had other servers
        for schedule, history in zip(schedules, histories, strict=True):
            check_schedule(schedule, history)
    inputs, (first, _), span = jobs.inputs, jobs.span, jobs.duration
    begin, end = first + inputs.warmup * span, first + (1 - inputs.cooldown) * span
    pieces = Pieces.of(begin, end, 1 / jobs.log.load_factor, inputs.seed, inputs.confidence)
    pools: dict[str, ReplayResult] = {}
    if jobs.log.pools:
        for part, schedule, history, each in zip(
            jobs.parts, schedules, histories, own or [None] * len(schedules), strict=True
        ):
            pools[part.pool] = _result(part, schedule, [history], each, pieces, begun, {})
        schedules = [Schedule.merged(jobs.inputs.servers, schedules)]
    return _result(jobs, schedules[0], histories, policy, pieces, begun, pools)


def _result(
    jobs: ReplayJobs,
    schedule: Schedule,
    histories: list[History | None],
    policy: Policy | CustomPolicy | None,
    pieces: Pieces,
    begun: float,
    pools: dict[str, ReplayResult],
) -> ReplayResult:
    """Return the result of a schedule; `histories` of the pools that it contains."""
    if policy is None:
        text = name = AS_LOGGED
    else:
        text = spell(policy) if isinstance(policy, Policy) else custom_name(policy)
        name = label(policy)
    inputs = replace(jobs.inputs, policy=text)
    quantities, table = measure(
        schedule,
        histories,
        pieces,
        jobs.groups,
        name,
        inputs.slowdown_bound,
        inputs.more_percentiles,
    )
    waits = schedule.wait[pieces.inside(schedule.arrival)]
    return ReplayResult(
        **{f.name: getattr(quantities, f.name) for f in fields(Quantities)},
        inputs=inputs,
        policy=policy,
        log=jobs.log,
        schedule=schedule,
        load=jobs.load,
        jobs=quantities.overall.jobs,
        too_large=len(jobs.log) - len(jobs.rows) if policy is not None and not jobs.pool else 0,
        predicted=schedule.predicted,
        resampled=(len(pieces), pieces.unit),
        longest_wait=float(waits.max(initial=0.0)) if len(waits) else math.nan,
        backlog=Backlog.of(schedule),
        seconds=time.perf_counter() - begun,
        table=table,
        pools=pools,
        ended_at_limit=jobs.ended_at_limit,
        preemption=Preemption.of(schedule, jobs, pieces),
    )
