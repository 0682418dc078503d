"""The answer in plain words: sentences from the numbers, no surer than their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator

from quickswap._words import plural
from quickswap.estimates import Estimate
from quickswap.replays import ReplayResult
from quickswap.report.costs import balance, costs, gainers, losers, price, starving
from quickswap.report.counting import counted_at
from quickswap.report.deciding import Decision, decided, gap_told, important
from quickswap.report.doubts import doubts
from quickswap.report.gains import Gains
from quickswap.report.gains_section import Sides
from quickswap.report.markup import Markup, section, tag
from quickswap.report.model import Point, Told, difference
from quickswap.report.words import amount, certain, duration, listed

__all__ = ["summary"]

LAGS = ("falls behind", "behind for long")
Item = tuple[str, str]
"""What a sentence is about, and the sentence."""


def summary(told: Told, sides: list[Sides]) -> Markup:
    """Return the first section; `sides` holds who gains and loses at each load."""
    point, title = told.main, "In short"
    if not point.ranked:
        text = "No job of the log was measured: it is too short for an answer."
        return section("summary", title, tag("p", text), _caution(told))
    decision = decided(told, point)
    items = [
        *_behind(point),
        *_others(told, point, decision),
        *_who(told, point, decision, sides[0]),
        *_slowdown(told, point, decision.settled),
        *_logged(told, point),
        *(
            item
            for each, pair in zip(told.points[1:], sides[1:], strict=True)
            for item in _loaded(told, each, pair)
        ),
    ]
    return section(
        "summary",
        title,
        _answer(told, point, decision, sides[0][0]),
        _caution(told),
        tag("ul", *(tag("li", tag("b", head), " ", text) for head, text in items)),
        tag("p", _note(decision.first), class_="note"),
    )


def _note(first: ReplayResult) -> str:
    unit = first.resampled[1]
    pieces = "weeks, days or hours" if unit == "whole" else f"{plural(unit)}"
    return (
        f"After ± stands how far a value might be off with other {pieces} of the same kind, 19 "
        "times in 20. Policies are called “not told apart” where their difference might as "
        "well be chance. The wait of a job is the time from its submission to its start."
    )


def _answer(told: Told, point: Point, decision: Decision, classes: Gains) -> Markup:
    """Return what the log says, or first of all that it cannot decide."""
    where = f"At {point.name} ({point.share()})"
    if decision.settled:
        return tag("p", _best(told, point, decision, where, classes), class_="answer")
    first, last = decision.first, point.ranked[-1]
    load = "its own load" if point.factor == 1 else point.name
    cannot = f"This log cannot decide {decision.among} at {load} ({point.share()})."
    least, most = first.mean_waiting_time, last.mean_waiting_time
    found = (
        f"In the replay the mean wait is {told.unit.told(least)} under {first.policy_label}, the "
        f"least, and {told.unit.told(most)} under {last.policy_label}, the most."
        if least.value < most.value
        else f"In the replay the mean wait is {told.unit.told(least)} under all of them."
    )
    starved = _starved(told, point, decision)
    return tag(
        "div",
        tag("p", tag("b", cannot), " ", " ".join(decision.reasons)),
        tag("p", tag("b", "What to do: "), decision.advice),
        tag("p", found, *(f" {each}" for each in starved)),
        class_="answer undecided",
    )


def _starved(told: Told, point: Point, decision: Decision) -> list[str]:
    """Return which of the policies that come into question let a job wait far longer."""
    names = (decision.first.policy_label, *decision.tied, *decision.alike)
    return [
        f"Under {each.policy_label} one job {text}."
        for each in point.ranked
        if each.policy_label in names and (text := starving(told, point, each))
    ]


def _best(told: Told, point: Point, decision: Decision, where: str, classes: Gains) -> str:
    """Return which policy had the least mean wait, and by how much."""
    first, base, unit = decision.first, point.baseline, told.unit
    wait = unit.told(first.mean_waiting_time)
    if len(point.ranked) == 1:
        return f"{where}, jobs wait {wait} on average under {first.policy_label}."
    head = f"{where}, {first.policy_label} makes users wait least: {wait} a job on average"
    cost = price(told, point, first, classes)
    cost = f", {cost}" if cost else ""
    alike = _alike(decision)
    if first is base:
        second = point.ranked[1]
        text = (
            f"{head}{cost}. It is the policy that the others are compared with, so that there is "
            f"nothing to gain by a change; next comes {second.policy_label} with "
            f"{unit.told(second.mean_waiting_time)}."
        )
        return f"{text} {_difference(told, difference(first, second), second)}{alike}"
    text = (
        f"{head}, against {unit.told(base.mean_waiting_time)} under {base.policy_label} (with "
        f"which all are compared){cost}. {_difference(told, difference(first, base), base)}"
    )
    if decision.tied:
        text += f" Not told apart from {first.policy_label}: {listed(decision.tied)}."
    return f"{text}{alike}"


def _alike(decision: Decision) -> str:
    """Return which policies are as good as the best for all that users notice."""
    if not decision.alike:
        return ""
    return (
        f" The difference between {decision.first.policy_label} and {listed(decision.alike)} is of "
        "no importance: under a minute a job, or under 1 %."
    )


def _difference(told: Told, gap: Estimate | None, more: ReplayResult) -> str:
    """Return how sure it is that one mean is less than another."""
    if gap is None:
        return "The two were measured over different jobs: how sure that is cannot be told."
    share = 100 * abs(gap.value) / more.mean_waiting_time.value
    size = f"The difference is {gap_told(told, gap)}, or {share:.0f} %"
    piece = more.resampled[1]
    if math.isnan(gap.half_width):
        return f"{size}; the log is too short to say how sure that is."
    return f"{size}: more than chance from {piece} to {piece} explains."


def _lags(result: ReplayResult) -> str:
    """Return in which way a policy does not keep up."""
    if result.verdict == "behind for long":
        return (
            f"is behind for long: for {duration(result.backlog.longest)} on end, there is at least "
            f"as much work waiting as the whole machine does in {amount(result.much)}"
        )
    if result.left_behind > 0:
        return (
            f"falls behind: {100 * result.left_behind:.0f} % of all work still waits when the last "
            "job is submitted, so that its waits grow with the length of the log"
        )
    return "falls behind: more is submitted than the machine can do"


def _caution(told: Told) -> Markup:
    found = doubts(told)
    if not found:
        return Markup("")
    return tag(
        "div",
        tag("p", tag("b", "Know this first.")),
        tag("ul", *(tag("li", text) for text in found)),
        class_="caution",
    )


def _others(told: Told, point: Point, decision: Decision) -> Iterator[Item]:
    """Yield how the other policies compare with the baseline."""
    texts = []
    for each in point.others:
        gap = difference(each, point.baseline)
        if (each is decision.first and decision.settled) or gap is None:
            continue
        if not math.isfinite(gap.value):
            continue
        if gap.value == 0:
            texts.append(f"{each.policy_label} the same")
            continue
        more = "more" if gap.value > 0 else "less"
        doubt = "" if certain(gap) else " (not told apart)"
        if certain(gap) and not important(gap, point.baseline):
            doubt = " (of no importance)"
        texts.append(f"{each.policy_label} {gap_told(told, gap)} {more}{doubt}")
    if texts:
        yield "Mean wait", f"compared with {point.baseline.policy_label}: {'; '.join(texts)}."


def _who(told: Told, point: Point, decision: Decision, sides: Sides) -> Iterator[Item]:
    """Yield who gains, who pays and what it costs if the baseline gives way to the best policy."""
    first, base = decision.first, point.baseline
    if first is base or (not decision.settled and not difference_matters(first, base)):
        return
    change = f"{first.policy_label} instead of {base.policy_label}"
    counted = counted_at(told, point).get(first.policy_label)
    yield f"Who gains by {change}?", gainers(told, first, sides, counted)
    yield "Who pays for it?", losers(told, first, sides, counted)
    yield "What does it cost?", costs(told, first, base)


def difference_matters(first: ReplayResult, base: ReplayResult) -> bool:
    """Whether two means differ at all."""
    gap = difference(first, base)
    return gap is not None and gap.value != 0


def _slowdown(told: Told, point: Point, settled: bool) -> Iterator[Item]:
    """Yield what the mean of the bounded slowdown says."""
    if len(point.ranked) < 2:
        return
    at = told.comparison.points.index(
        next(p for p in told.comparison.points if p[-1].inputs.load_factor == point.factor)
    )
    best, *tied = told.comparison.best(at)
    value = next(r for r in point.results if r.policy_label == best).overall.bounded_slowdown.mean
    same = settled and best == point.ranked[0].policy_label
    text = (
        "How many times its run time a job takes from submission to end (the bounded slowdown) "
        f"tells what short jobs feel. By its mean {best} is best{', too' if same else ''}, with "
        f"{value}"
    )
    yield "By another measure:", f"{text}; not told apart: {listed(tied)}." if tied else f"{text}."


def _behind(point: Point) -> Iterator[Item]:
    lagging = [each for each in point.results if each.verdict in LAGS]
    head = "No policy keeps up:" if len(lagging) == len(point.results) else "Not up to it:"
    if lagging:
        texts = (f"{each.policy_label} {_lags(each)}" for each in lagging)
        yield head, f"at {point.name}, {'; '.join(texts)}."


def _logged(told: Told, point: Point) -> Iterator[Item]:
    """Yield how the waits in the log compare with the baseline."""
    if point.logged is None or not point.logged.jobs:
        return
    base, unit = point.baseline, told.unit
    gap = difference(point.logged, base)
    text = f"the log tells of {unit.told(point.logged.mean_waiting_time)} of wait a job on average"
    if gap is None:
        text += f", over the {point.logged.jobs:,} jobs whose wait it tells."
    elif not certain(gap):
        text += f", not told apart from the replay under {base.policy_label}."
    else:
        more = "more" if gap.value > 0 else "less"
        text += (
            f", {gap_told(told, gap)} {more} than the replay under {base.policy_label}: the real "
            "scheduler may have had to heed priorities, reservations, dependencies and failures, "
            "of which a replay knows nothing. Compare policies with each other, not with the log."
        )
    yield "What really happened:", text


def _loaded(told: Told, point: Point, sides: Sides) -> Iterator[Item]:
    """Yield what happens at another load."""
    if not point.ranked:
        return
    decision, base, unit = decided(told, point), point.baseline, told.unit
    first = decision.first
    waits = "; ".join(
        f"{each.policy_label} {unit.told(each.mean_waiting_time)}" for each in point.ranked
    )
    texts = [f"the mean waits are: {waits}."]
    if not decision.settled:
        texts = [f"this log cannot decide {decision.among}. {decision.reasons[-1]} The mean waits"]
        texts.append(f"are: {waits}.")
    else:
        if len(point.ranked) > 1:
            cost = price(told, point, first, sides[0])
            cost = f", {cost}" if cost else ""
            texts.insert(0, f"{first.policy_label} makes users wait least{cost};")
        if first is not base:
            texts.append(_difference(told, difference(first, base), base))
    if first is not base and difference_matters(first, base):
        counted = counted_at(told, point).get(first.policy_label)
        texts.append(f"{first.policy_label} instead of {base.policy_label}:")
        texts.append(balance(told, first, sides, counted))
    if decision.alike:
        texts.append(_alike(decision).strip())
    if not decision.settled:
        texts += _starved(told, point, decision)
    lagging = [each for each in point.results if each.verdict in LAGS]
    texts += [f"{each.policy_label} {_lags(each)}." for each in lagging]
    head = f"{point.name[:1].upper()}{point.name[1:]} ({point.share()}):"
    yield head, " ".join(texts)
