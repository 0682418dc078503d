"""Who gains, who pays and what it costs if one policy takes the place of another, in words."""

from __future__ import annotations

from quickswap._words import plural
from quickswap.estimates import Estimate
from quickswap.replays import ReplayResult
from quickswap.report.counting import FELT, Counted
from quickswap.report.gains import Gain, Gains
from quickswap.report.gains_section import Sides
from quickswap.report.model import Point, Told
from quickswap.report.words import certain, percent

__all__ = ["balance", "costs", "gainers", "losers", "price", "starving"]

FAR, LONG = 2.0, 3600.0
"""Times the longest wait of another policy, and seconds more, from which a wait is far longer."""


def gainers(told: Told, policy: ReplayResult, sides: Sides, counted: Counted | None) -> str:
    """Return who waits clearly less under a policy."""
    return _side(told, policy, sides, counted, gain=True)


def losers(told: Told, policy: ReplayResult, sides: Sides, counted: Counted | None) -> str:
    """Return who waits clearly more under a policy."""
    return _side(told, policy, sides, counted, gain=False)


def balance(told: Told, policy: ReplayResult, sides: Sides, counted: Counted | None) -> str:
    """Return in short how many gain and lose, and who loses most."""
    texts = []
    if counted is not None and counted.noun is not None:
        people = f"{counted.people} {plural(counted.noun)}"
        texts.append(
            f"of {people}, {counted.gain} clearly gain and {counted.lose} clearly lose"
            if counted.gain or counted.lose
            else f"of {people}, nobody clearly gains or loses"
        )
    lost = [_most(told, each, policy.policy_label, gain=False) for each in sides if each]
    texts += [text for text in lost if text]
    text = "; ".join(texts) or "nobody clearly gains or loses"
    return f"{text}."


def _side(
    told: Told, policy: ReplayResult, sides: Sides, counted: Counted | None, *, gain: bool
) -> str:
    texts = [_most(told, each, policy.policy_label, gain) for each in sides if each is not None]
    said = [text for text in texts if text]
    word, shorter = ("gain", "sooner") if gain else ("lose", "later")
    text = "; ".join(said) or f"no class or user on this page clearly {word}s"
    text = f"{text[:1].upper()}{text[1:]}."
    if counted is None:
        return text
    jobs = counted.sooner if gain else counted.later
    numbers = f"{100 * jobs:.0f} % of all jobs start a minute or more {shorter}"
    if counted.noun is not None:
        people = counted.gain if gain else counted.lose
        numbers = (
            f"In all, {people} of {counted.people} {plural(counted.noun)} clearly {word}"
            f"{'s' if people == 1 else ''}, and {numbers}"
        )
    return f"{text} {numbers[:1].upper()}{numbers[1:]}."


def price(told: Told, point: Point, policy: ReplayResult, classes: Gains) -> str:
    """Return what a low mean wait hides, as in "but jobs that ... wait 3 h more"; or nothing."""
    found = [] if policy is point.baseline else _clear(classes, policy.policy_label, gain=False)
    texts = []
    if found:
        row, gap = found[0]
        texts.append(f"{classes.who(row)} wait {_size(told, gap)} more")
    starved = starving(told, point, policy)
    if starved:
        texts.append(f"one job {starved}")
    return f"but {', and '.join(texts)}" if texts else ""


def starving(told: Told, point: Point, policy: ReplayResult) -> str:
    """Return how long one job waited if that is far longer than elsewhere; else nothing.

    Elsewhere is under the baseline, or, for the baseline, under the policy where it is least.
    """
    others = [each for each in point.ranked if each is not policy]
    if policy is not point.baseline and point.baseline.jobs:
        others = [point.baseline]
    if not others:
        return ""
    other = min(others, key=lambda each: each.longest_wait)
    longest, usual = policy.longest_wait, other.longest_wait
    if not (longest >= FAR * usual and longest - usual >= LONG):
        return ""
    unit = told.unit
    return (
        f"waited {unit.plain(longest)}\N{NO-BREAK SPACE}{unit.name} (the longest under "
        f"{other.policy_label}: {unit.plain(usual)}\N{NO-BREAK SPACE}{unit.name})"
    )


def _size(told: Told, gap: Estimate) -> str:
    return told.unit.told(Estimate(abs(gap.value), gap.half_width))


def _clear(gains: Gains, policy: str, gain: bool) -> list[tuple[Gain, Estimate]]:
    """Return the groups that clearly gain or lose, those that do most first."""
    found = [
        (row, row.gap)
        for row in gains.of(policy)
        if row.gap is not None
        and certain(row.gap)
        and (row.gap.value < 0) == gain
        and abs(row.gap.value) >= FELT
    ]
    return sorted(found, key=lambda each: -abs(each[1].value))


def _most(told: Told, gains: Gains, policy: str, gain: bool) -> str:
    """Return the group that clearly gains or loses most."""
    clear = _clear(gains, policy, gain)
    if not clear:
        return ""
    row, gap = clear[0]
    size = _size(told, gap)
    verb, less = ("gain", "less") if gain else ("lose", "more")
    most = f"{verb if gains.plural else f'{verb}s'}{' most' if len(clear) > 1 else ''}"
    share = f"{_part(row.jobs)} of the jobs, {_part(row.work)} of the work"
    return f"{gains.who(row)} ({share}) {most}, {size} {less} wait a job"


def _part(share: float) -> str:
    if share < 0.001:
        return "under 0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.1f} %"


def costs(told: Told, policy: ReplayResult, base: ReplayResult) -> str:
    """Return what a change does to the work done, the servers in use, and the large jobs."""
    unit = told.unit
    new, old = policy.weighted_mean_response_time, base.weighted_mean_response_time
    gap = None
    if policy.table is not None and base.table is not None and policy.jobs == base.jobs:
        gap = policy.table.weighted_difference(base.table)
    apart = gap is not None and certain(gap)
    change = f"from {unit.told(old)} to {unit.told(new)}"
    verb = "rises" if new.value > old.value else "falls"
    weighted = (
        f"the mean response time weighted by work, which tells what the large jobs feel, {verb} "
        f"{change}"
        if apart
        else "the mean response time weighted by work, which tells what the large jobs feel, is "
        f"not told apart ({change})"
    )
    use = ""
    if policy.utilisation.value == policy.utilisation.value:
        use = (
            f", {_short(policy.utilisation)} % of the servers are in use "
            f"(under {base.policy_label} {_short(base.utilisation)} %)"
        )
    longest = (
        f"the longest wait goes from {unit.plain(base.longest_wait)} to "
        f"{unit.plain(policy.longest_wait)} {unit.name}"
    )
    return f"The same jobs bring the same work{use}; {weighted}; {longest}."


def _short(share: Estimate) -> str:
    return percent(Estimate(round(share.value, 3), 0.0))
