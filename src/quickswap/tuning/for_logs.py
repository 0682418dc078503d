"""The best policy for a log: a race on its first part, which the rest confirms or not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Unpack

import numpy as np
import polars as pl

from quickswap._check import between, real
from quickswap._progress import jobs_bar, shows
from quickswap._shown import Shown
from quickswap.engine.custom import CustomPolicy
from quickswap.engine.settings import ReplayInputs, ReplaySettings, check_settings
from quickswap.errors import Interrupted, LogError, QuickswapError, invalid, unknown
from quickswap.logs import JobLog
from quickswap.logs.joblog import check_log
from quickswap.policies import EASY, FirstFit, Policy, Slurm, parse, spell
from quickswap.policies.base import not_a_policy
from quickswap.replays import ReplayComparison, ReplayResult, replay_all
from quickswap.replays.logged_waits import LoggedWaits
from quickswap.replays.owners import HEAVIEST, NOTICEABLE, largest_groups
from quickswap.simulation.result import plain
from quickswap.statistics.bootstrap import FEWEST
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.paired import Outcome, outcome_of
from quickswap.statistics.quantities import SUMMARIES
from quickswap.tuning.candidates import chosen

__all__ = ["GroupLoss", "LogStanding", "LogTuning", "LogTuningRow", "Trial", "tune_log"]

FORMAT = 1
"""Version of the JSON form."""
FINALISTS = 3
"""Largest number of candidates that are replayed on the rest of the log."""
EASY_CANDIDATES = (
    *("easy", "easy:order=shortest", "easy:order=area", "easy:patience=[1,3,10]"),
    *("easy:patience=[1,3,10],order=shortest", "easy:age=[43200,86400]"),
    *("easy:age=[43200,86400],order=shortest", "easy:order=[expansion,wfp3],reservation=first"),
    *("conservative", "first-fit"),
)
"""Default candidates for any log."""
AGES = (3600.0, 43200.0, 86400.0)
"""Values of `bf_min_age_reserve` that are tried."""
WEIGHT = 10_000
"""A weight of priorities that exceeds all rounding."""
NEVER = 30 * 86400
"""The largest `bf_min_age_reserve`, seconds."""


ORDERS = {
    "shortest": "of their time limits",
    "area": "of the product of time limit and need",
    "largest": "of their needs, the largest first",
    "expansion": "of the ratio of wait to time limit, the largest first",
    "wfp3": "of the product of need and the third power of the ratio of wait to time limit, the "
    "largest first",
}
"""The orders of EASY in words."""


class LogStanding(StrEnum):
    """How a candidate fared.

    `BEST` is the policy to switch to. `SMALL` is significantly better than the baseline, but by
    less than the smallest gain that is worth a change. The groups of `REJECTED` lose significantly
    more than allowed, on the first part or on the rest. `LEFT_OUT` were not among the best on the
    first part.
    """

    BASELINE = "baseline"
    BEST = "best"
    BETTER = "significantly better"
    SMALL = "significantly better, but the gain is too small"
    UNCONFIRMED = "not significantly better on the rest"
    REJECTED = "a group loses too much"
    LEFT_OUT = "not among the best of the first part"


@dataclass(frozen=True)
class GroupLoss:
    """The change of the mean wait of one group of jobs.

    Attributes:
        column: "need" or "user".
        name: of the group.
        wait: its mean wait under the baseline, seconds.
        change: difference from that, seconds.
        excess: the change minus the largest change allowed, seconds.
    """

    column: str
    name: str
    wait: float
    change: Estimate
    excess: Estimate

    @property
    def violated(self) -> bool:
        """Whether the group loses significantly more than allowed."""
        return self.excess.low > 0

    @property
    def undecided(self) -> bool:
        """Whether the interval contains the largest change allowed, or is unknown."""
        return not self.violated and not self.excess.high <= 0

    @property
    def label(self) -> str:
        """The group in words."""
        return f"{self.column} {self.name}"


@dataclass(frozen=True)
class Trial:
    """A candidate on one part of the log.

    Attributes:
        value: mean of the metric.
        change: difference from the baseline, paired by week.
        longest_wait: of a job measured, seconds.
        groups: the groups of needs, then those of users if the log contains users.
    """

    value: Estimate
    change: Estimate
    longest_wait: float
    groups: tuple[GroupLoss, ...] = field(repr=False)

    @property
    def violated(self) -> tuple[GroupLoss, ...]:
        """The groups that lose significantly more than allowed, the largest excess first."""
        found = [each for each in self.groups if each.violated]
        return tuple(sorted(found, key=lambda each: -each.excess.value))

    @property
    def undecided(self) -> tuple[GroupLoss, ...]:
        """The groups of which the log is too short to decide whether they lose too much."""
        return tuple(each for each in self.groups if each.undecided)


@dataclass(frozen=True)
class LogTuningRow:
    """One candidate.

    Attributes:
        label: of the policy, in tables.
        policy: its text, which `parse` and the command line read.
        standing: how it fared.
        first: on the first part of the log.
        rest: on the rest; None for candidates that were not replayed there.
    """

    label: str
    policy: str
    standing: LogStanding
    first: Trial
    rest: Trial | None


@dataclass(frozen=True)
class LogTuning(Shown):
    """The best policy found for a log; see `tune_log`.

    Attributes:
        source: the file of the log.
        servers: servers of the machine.
        metric: the mean that is minimised.
        train: share of the jobs in the first part of the log.
        no_worse: the largest loss of a group, relative to its mean wait.
        smallest_gain: the smallest gain that is worth a change, relative to the baseline.
        rows: the baseline, then the candidates, the best on the first part first.
        rest: the replays of the baseline and the finalists on the rest; not compared.
        waits: the logged waits of the "rest" and of the "first part", where they are known; not
            compared.
    """

    source: str
    servers: int
    metric: str
    train: float
    no_worse: float
    smallest_gain: float
    rows: tuple[LogTuningRow, ...]
    rest: ReplayComparison = field(compare=False, repr=False)
    waits: Mapping[str, LoggedWaits] = field(compare=False, repr=False)

    @property
    def baseline(self) -> LogTuningRow:
        """The policy with which the others are compared."""
        return self.rows[0]

    @property
    def best(self) -> LogTuningRow | None:
        """The policy to switch to; None if none is better on the rest, as `tune_log` defines it."""
        return next((each for each in self.rows if each.standing is LogStanding.BEST), None)

    @property
    def winner(self) -> str | None:
        """The text of the policy to switch to."""
        return None if self.best is None else self.best.policy

    @property
    def slurm_conf(self) -> tuple[str, ...]:
        """The lines of slurm.conf that switch the winner on; empty if Slurm does not offer it.

        Lines that the baseline has too are left out.
        """
        if self.best is None:
            return ()
        policies = {each.policy_label: each.policy for each in self.rest.results}
        own, new = (as_slurm(policies[each.label]) for each in (self.baseline, self.best))
        if new is None:
            return ()
        known = own.to_conf() if isinstance(policies[self.baseline.label], Slurm) and own else []
        return tuple(line for line in new.to_conf() if line not in known)

    @property
    def requires(self) -> str:
        """What the scheduler must do if Slurm does not offer the winner; otherwise empty."""
        if self.best is None or self.slurm_conf:
            return ""
        policies = {each.policy_label: each.policy for each in self.rest.results}
        policy = policies[self.best.label]
        if not isinstance(policy, EASY):
            return f"a scheduler that offers {self.best.label}"
        words = []
        if policy.patience:
            words.append(
                f"reserves servers for a job only once it has waited for {policy.patience:g} times "
                f"its time limit (or {policy.least:g} seconds, if that is more)"
            )
        elif policy.age:
            words.append(
                f"reserves servers for a job only once it has waited for {policy.age:g} seconds"
            )
        if policy.order != "oldest":
            jobs = "jobs" if policy.reservation == "first" else "other jobs"
            words.append(f"starts {jobs} in the order {ORDERS[policy.order]}")
        return f"a scheduler that {' and '.join(words)}"

    def to_frame(self) -> pl.DataFrame:
        """Return a Polars frame with one row per candidate and part of the log.

        Columns: policy (label), spelling, standing, part, value, half_width, change,
        change_half_width, longest_wait, violated and undecided (numbers of groups).
        """
        rows = [
            {
                "policy": row.label,
                "spelling": row.policy,
                "standing": row.standing.value,
                "part": part,
                "value": trial.value.value,
                "half_width": trial.value.half_width,
                "change": trial.change.value,
                "change_half_width": trial.change.half_width,
                "longest_wait": trial.longest_wait,
                "violated": len(trial.violated),
                "undecided": len(trial.undecided),
            }
            for row in self.rows
            for part, trial in (("first", row.first), ("rest", row.rest))
            if trial is not None
        ]
        return pl.DataFrame(rows)

    def to_json(self) -> str:
        """Return all fields as JSON, with the winner and its lines of slurm.conf."""
        data: dict[str, Any] = {"quickswap_log_tuning": FORMAT, "winner": self.winner}
        data |= {"slurm_conf": list(self.slurm_conf), "requires": self.requires}
        names = [each.name for each in fields(self) if each.compare]
        data |= {name: plain(getattr(self, name)) for name in names}
        return json.dumps(data, indent=1, allow_nan=False)


@shows(jobs_bar, "tuning")
def tune_log(
    log: JobLog,
    policies: Iterable[Policy | CustomPolicy | type[CustomPolicy] | str]
    | Policy
    | str
    | None = None,
    *,
    baseline: Policy | str | None = None,
    metric: str = "waiting_time",
    train: float = 0.6,
    no_worse: float = 0.1,
    smallest_gain: float = 0.05,
    progress: Callable[[int, int], object] | bool | None = None,
    **settings: Unpack[ReplaySettings],
) -> LogTuning:
    """Find the policy that would have served the jobs of a log best, without harming any group.

    All candidates are replayed on the first part of the log. The best three there with different
    means, of those under which no group loses too much, are replayed again and measured on the
    rest. The winner is the first of them, in the order of the first part, whose mean is
    significantly below that of the baseline on the rest, by at least `smallest_gain` times it, and
    under which no group loses too much there either.

    The groups are the needs of the jobs, or up to eight groups of needs, and the twelve users with
    the most work and all other users. A group loses too much if the increase of its mean wait is
    significantly more than `no_worse` times its mean wait under the baseline, and than a minute.

    Args:
        log: a log that `quickswap.logs.read` returned.
        policies: candidates, as in `tune`. By default EASY with other orders and with patience,
            Conservative and First-Fit, and for a log of Slurm also Slurm with other parameters.
        baseline: the policy with which candidates are compared: by default Slurm for a log of
            Slurm, otherwise EASY.
        metric: the mean to minimise: "waiting_time", "response_time", "slowdown" or
            "bounded_slowdown".
        train: share of the jobs in the first part, above 0 and below 1; the rest begins with the
            first submission after them.
        no_worse: the largest loss of a group, as a share of its mean wait, from 0 to 1.
        smallest_gain: the smallest gain that is worth a change, as a share of the mean under the
            baseline, from 0 to 1.
        progress: True for a bar, or a function that is called several times a second, with the
            completions so far and in total, first for the first part and then for the whole log.
        settings: other arguments of `replay`; `warmup` applies to the first part.

    Raises:
        PolicyError: a policy does not suit the log.
        QuickswapError: an argument is out of range, or one of the parts contains no job.
        Interrupted: Ctrl-C.
    """
    own = ("policies", "baseline", "metric", "train", "no_worse", "smallest_gain", "progress")
    check_settings(settings, ReplaySettings, "tune_log", *own)
    check_log(log)
    if not isinstance(metric, str) or metric not in SUMMARIES:
        unknown("metric", metric, SUMMARIES, QuickswapError, argument="metric")
    train = between(train, "train", 0, 1, QuickswapError)
    share, least = _share(no_worse, "no_worse"), _share(smallest_gain, "smallest_gain")
    base, candidates = _candidates(log, policies, baseline)
    head, begun = _first_part(log, train, settings)

    def replayed(part: JobLog, served: list[Any]) -> ReplayComparison:
        try:
            return replay_all(part, served, progress=progress, **settings)
        except Interrupted:
            raise Interrupted(None) from None  # the first part alone is no result

    early = replayed(head, [base, *candidates])
    first = _by_policy(early)
    trials = _trials(first, metric, share)
    start, *others = trials
    others.sort(key=lambda name: trials[name].value.value)
    good: dict[float, str] = {}  # by mean: equal ones are of equal schedules, as a rule
    for name in others:
        trial = trials[name]
        if trial.change.value < 0 and not trial.violated:
            good.setdefault(trial.value.value, name)
    finalists = [first[name].policy for name in list(good.values())[:FINALISTS]]
    settings["warmup"] = begun
    rest = replayed(log, [base, *finalists])
    confirmed = _trials(_by_policy(rest), metric, share)
    worth = -least * confirmed[start].value.value
    standings = _standings(start, others, trials, confirmed, worth)
    rows = tuple(
        LogTuningRow(
            name, first[name].inputs.policy, standings[name], trials[name], confirmed.get(name)
        )
        for name in (start, *others)
    )
    waits = {
        part: found
        for part, each in (("rest", rest), ("first part", early))
        if (found := LoggedWaits.of(each)) is not None
    }
    servers = first[start].inputs.servers
    return LogTuning(log.source, servers, metric, train, share, least, rows, rest, waits)


def _share(value: object, argument: str) -> float:
    share = real(value)
    if share is None or not 0 <= share <= 1:
        raise invalid(argument, value, "a share from 0 to 1", QuickswapError)
    return share


def _standings(
    baseline: str,
    others: list[str],
    first: dict[str, Trial],
    rest: dict[str, Trial],
    worth: float,
) -> dict[str, LogStanding]:
    """Return the standing of each candidate.

    Args:
        baseline: label of the baseline.
        others: labels of the candidates, in the order of the first part.
        first, rest: the trials on both parts.
        worth: the least change of the metric, a decrease, that is worth a change of the policy.
    """
    standings, best = {baseline: LogStanding.BASELINE}, False
    for name in others:
        trial = rest.get(name)
        if first[name].violated or (trial is not None and trial.violated):
            standings[name] = LogStanding.REJECTED
        elif trial is None:
            standings[name] = LogStanding.LEFT_OUT
        elif outcome_of(trial.change) is not Outcome.BETTER:
            standings[name] = LogStanding.UNCONFIRMED
        elif trial.change.value > worth:
            standings[name] = LogStanding.SMALL
        else:
            standings[name] = LogStanding.BETTER if best else LogStanding.BEST
            best = True
    return standings


def _candidates(
    log: JobLog, policies: object, baseline: Policy | str | None
) -> tuple[Policy, list[Policy]]:
    """Return the baseline and the other candidates."""
    if baseline is None:
        baseline = Slurm() if log.format == "sacct" else EASY()
    base = parse(baseline) if isinstance(baseline, str) else baseline
    if not isinstance(base, Policy):
        raise not_a_policy(base)
    given = chosen(EASY_CANDIDATES if policies is None else policies)
    if policies is None and isinstance(base, Slurm):
        given = [*_variants(base), *given]
    distinct = {spell(each): each for each in (base, *given)}
    return base, list(distinct.values())[1:]


def _variants(base: Slurm) -> list[Policy]:
    """Return Slurm with a later reservation, or with a preference for small jobs, or with both."""
    small = replace(base, priority_weight_job_size=WEIGHT, priority_favor_small=True)
    return [
        *(replace(base, bf_min_age_reserve=age) for age in AGES),
        replace(base, bf_job_part_count_reserve=1),
        small,
        *(replace(small, bf_min_age_reserve=age) for age in AGES),
    ]


def as_slurm(policy: Policy | CustomPolicy | None) -> Slurm | None:
    """Return the settings of Slurm under which it takes the decisions of a policy, if any.

    A cycle each second takes the place of a decision at each event, so starts may be a second late.
    """
    if isinstance(policy, Slurm):
        return policy
    cycles = Slurm(
        default_queue_depth=10_000,
        bf_interval=1,
        bf_resolution=1,
        bf_window=NEVER / 60,
        bf_max_job_test=10_000,
        bf_job_part_count_reserve=1,
    )
    if isinstance(policy, FirstFit):
        return replace(cycles, bf_min_age_reserve=NEVER)
    if isinstance(policy, EASY) and policy.order == "oldest" and not policy.patience:
        return replace(cycles, bf_min_age_reserve=min(policy.age or 0.0, NEVER))
    return None


def _first_part(log: JobLog, train: float, settings: Mapping[str, Any]) -> tuple[JobLog, float]:
    """Return the first part of the log, and its share of the duration.

    Raises:
        LogError: one of the parts is empty.
    """
    given = {name: settings[name] for name in ("warmup", "cooldown") if name in settings}
    inputs = ReplayInputs(source=log.source, servers=log.servers, **given)
    submit = log.jobs["submit"].to_numpy()
    begin, cut, end = submit[0], submit[int(train * len(log))], submit[-1]
    share = float((cut - begin) / (end - begin or 1.0))
    if not 0 < share < 1 - inputs.cooldown:
        raise LogError(
            f"the first {100 * train:g} % of the jobs of {log.source} take {100 * share:.3g} % of "
            f"its duration, and the last {100 * inputs.cooldown:g} % are the cool-down, so one of "
            "the parts is empty",
            argument="log",
            advice="give a longer log, or other values of {train} and {cooldown}",
        )
    return replace(log, jobs=log.jobs.filter(pl.col("submit") < cut)), share


def _by_policy(comparison: ReplayComparison) -> dict[str, ReplayResult]:
    """Return the replays by label, without the logged waits.

    Raises:
        LogError: no job is measured.
    """
    found = {each.policy_label: each for each in comparison.results if each.policy is not None}
    if not all(each.jobs for each in found.values()):
        raise LogError(
            "a part of the log has no job that is measured",
            argument="log",
            advice="give a longer log, or another {train}",
        )
    return found


def _trials(results: dict[str, ReplayResult], metric: str, no_worse: float) -> dict[str, Trial]:
    """Return the trials of some replays, the first of which is that of the baseline."""
    base = next(iter(results.values()))
    groups = _groups(base)
    return {
        name: Trial(
            getattr(each.overall, metric).mean,
            each.difference(base, metric),
            each.longest_wait,
            () if each is base else tuple(_losses(base, each, groups, no_worse)),
        )
        for name, each in results.items()
    }


def _groups(base: ReplayResult) -> list[tuple[str, list[str], Any]]:
    """Return the kinds of groups: the column, their names, and the group of each row of the log."""
    jobs = base.log.jobs
    need = np.searchsorted([each.need for each in base.classes], jobs["need"].to_numpy())
    found: list[tuple[str, list[str], Any]] = [("need", [each.name for each in base.classes], need)]
    if jobs["user"].drop_nulls().n_unique() > 1:
        found.append(("user", *largest_groups(jobs, "user", base, HEAVIEST)))
    return found


def _losses(
    base: ReplayResult,
    other: ReplayResult,
    groups: list[tuple[str, list[str], Any]],
    no_worse: float,
) -> Iterable[GroupLoss]:
    """Yield the changes of the mean waits of the groups with jobs."""
    for column, names, owner in groups:
        before, after = (each.tabulated(owner, len(names)) for each in (base, other))
        jobs = before.moments[:, :, 0, 0]
        for at, name in enumerate(names):
            if not jobs[:, at].any():
                continue
            wait = before.means("waiting_time", at)
            change = after.means("waiting_time", at) - wait
            excess = change - np.maximum(no_worse * wait, NOTICEABLE)
            estimates = before.pieces.estimates(np.column_stack([change, excess]))
            changed = np.nan_to_num(change).any()  # no group is undecided in an equal schedule
            if changed and (jobs[:, at] > 0).sum() < FEWEST:
                estimates = [Estimate(each.value, math.nan) for each in estimates]
            yield GroupLoss(column, name, float(wait[0]), *estimates)
