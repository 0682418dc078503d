"""Whether a log can decide between policies, and if not, why not and what to do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quickswap._words import counted
from quickswap.estimates import Estimate
from quickswap.replays import ReplayResult
from quickswap.replays.bootstrap import FEWEST
from quickswap.report.model import Point, Told, difference
from quickswap.report.words import certain, listed

__all__ = ["HARDLY", "Decision", "decided", "effective", "gap_told", "important"]

HARDLY = 0.05
"""Share of the mean response time below which a mean wait is nothing that users feel."""
MINUTE, SLIGHT = 60.0, 0.01
"""Seconds, and share of a mean wait, below which a difference is of no importance to users."""
MOST = 0.9
"""Share of the jobs that, in a few pieces of the log, make it one of a few events."""


@dataclass(frozen=True)
class Decision:
    """What a log says about which policy makes users wait least, at one load.

    Attributes:
        first: the policy of the least mean wait.
        tied: other policies that are not told apart from it, by label.
        reasons: why the log cannot decide, in sentences; none if it can.
        advice: what to do then.
        others: number of policies besides the first.
        alike: other policies whose difference, though told apart, is of no importance.
    """

    first: ReplayResult
    tied: tuple[str, ...]
    reasons: tuple[str, ...]
    advice: str
    others: int
    alike: tuple[str, ...] = ()

    @property
    def among(self) -> str:
        """What it is that the log cannot decide, in words."""
        names = [self.first.policy_label, *self.tied]
        few = 0 < len(self.tied) < self.others
        return f"between {listed(names)}" if few else "which of these policies is best"

    @property
    def settled(self) -> bool:
        """Whether the log decides."""
        return not self.reasons


def decided(told: Told, point: Point) -> Decision:
    """Return what the log says at a point at which jobs were measured."""
    first, *rest = point.ranked
    gaps = {each.policy_label: difference(each, first) for each in rest}
    tied = tuple(name for name, gap in gaps.items() if gap is None or not gap.low > 0)
    alike = tuple(
        name
        for name, gap in gaps.items()
        if name not in tied and gap is not None and not important(gap, first)
    )
    if not rest:
        return Decision(first, tied, (), "", 0)
    slow = rest[-1]
    if slow.mean_waiting_time.value <= HARDLY * slow.mean_response_time.value:
        wait = told.unit.told(slow.mean_waiting_time)
        response = told.unit.told(slow.mean_response_time)
        return Decision(
            first,
            tied,
            (
                "Jobs hardly wait, whatever the policy: on average at most "
                f"{wait} (under {slow.policy_label}), of {response} from submission to end.",
            ),
            _quiet(first),
            len(rest),
            alike,
        )
    reasons = [each for each in (_few(first), _chance(told, point, first, tied)) if each]
    advice = (
        "Bring a longer log: some months, six weeks at least, in which jobs are submitted all the "
        "time. Until then there is no ground for a change."
    )
    return Decision(first, tied, tuple(reasons), advice, len(rest), alike)


def _quiet(first: ReplayResult) -> str:
    """Return what to do where jobs hardly wait: the machine may have had other jobs too."""
    report = first.log.report
    left_out = report["need_cap"] + report["size_cap"]
    if left_out:
        return (
            f"This says nothing about the machine: {counted(left_out, 'job', ',')} of it, left out "
            "by need or size, kept its servers busy too. Replay all jobs, or give the number of "
            "servers that the others had to themselves."
        )
    return (
        "At this load the choice hardly matters to users. To choose for busier times, look at "
        "the higher loads below, or bring a log of a busier time."
    )


def important(gap: Estimate, than: ReplayResult) -> bool:
    """Whether a difference of mean waits matters: a minute or more, and 1 % of the wait or more."""
    size = abs(gap.value)
    return size >= MINUTE and size >= SLIGHT * abs(than.mean_waiting_time.value)


def effective(result: ReplayResult) -> tuple[float, int, float]:
    """Return how many pieces of the log it is worth, and the fewest that hold most jobs.

    The first is the square of the sum of the jobs of the pieces, over the sum of their squares;
    then come a number of pieces and the share of the jobs in them, 90 % or more.
    """
    assert result.table is not None
    jobs = np.sort(result.table.moments[:, :, 0, 0].sum(axis=1))[::-1]
    share = np.cumsum(jobs) / jobs.sum()
    few = int(np.argmax(share >= MOST))
    return float(jobs.sum() ** 2 / np.square(jobs).sum()), few + 1, float(share[few])


def gap_told(told: Told, gap: Estimate) -> str:
    """Return the size of a difference in words, without its sign."""
    return told.unit.told(Estimate(abs(gap.value), gap.half_width))


def _few(first: ReplayResult) -> str:
    """Return that the log holds too few independent pieces of time, if so."""
    number, unit = first.resampled
    if unit == "whole":
        return "It is so short that nobody can say how far off its numbers are."
    worth, few, share = effective(first)
    if worth >= FEWEST:
        return ""
    return (
        f"{100 * share:.0f} % of its jobs were submitted in {few} of its "
        f"{counted(number, unit)}, so that it tells of hardly more than "
        f"{'one event' if few == 1 else 'a few events'}: other times may turn out otherwise."
    )


def _chance(told: Told, point: Point, first: ReplayResult, tied: tuple[str, ...]) -> str:
    """Return that the differences may be chance, if that is so of those that matter."""
    base = point.baseline
    if first is base and tied:
        other = next(each for each in point.ranked if each.policy_label == tied[0])
    elif first is not base and base.policy_label in tied:
        other = base
    else:
        return ""
    gap = difference(other, first)
    if gap is None or certain(gap):
        return ""
    if gap.value == 0 and gap.half_width == 0:
        return f"Jobs wait the same under {first.policy_label} and {listed(tied)}."
    return (
        f"The difference between {first.policy_label} and {other.policy_label} in the mean wait, "
        f"{gap_told(told, gap)}, may well be chance."
    )
