"""The answer in plain words: sentences from the numbers, no surer than their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator

from quickswap.estimates import Estimate
from quickswap.replays import ReplayResult
from quickswap.report.gains import Gain, Gains
from quickswap.report.markup import Markup, section, tag
from quickswap.report.model import Point, Told, difference
from quickswap.report.words import certain, listed, unit_of

__all__ = ["summary"]


HARDLY = 0.01
"""Share of the mean response time below which a mean wait is nothing that users feel."""


def summary(told: Told, gains: list[Gains]) -> Markup:
    """Return the first section."""
    point = told.main
    if not point.ranked:
        return section(
            "summary",
            "In short",
            tag("p", "No job of the log was measured: it is too short for an answer."),
        )
    first = point.ranked[0]
    best = tag("p", _best(point, first), class_="answer")
    rest = [
        _others(first, point),
        _slowdown(told, point),
        *_behind(point),
        _gains(first, point, gains),
        _logged(point),
        *(_loaded(each, told) for each in told.points[1:]),
    ]
    return section(
        "summary",
        "In short",
        best,
        tag("ul", *(tag("li", text) for text in rest if text)),
        tag(
            "p",
            "After each ± stands the half-width of a 95 % interval: how far the value might be off "
            f"with other {_pieces(first)} of the same kind. “Not told apart” means that the "
            "interval of the difference holds 0.",
            class_="note",
        ),
    )


def _pieces(result: ReplayResult) -> str:
    unit = result.resampled[1]
    return "weeks, days or hours" if unit == "whole" else f"{unit}s"


def _best(point: Point, first: ReplayResult) -> str:
    """Return which policy had the least mean wait, and by how much."""
    wait, base = first.mean_waiting_time, point.baseline
    unit = unit_of([wait.value, base.mean_waiting_time.value])
    where = f"At {point.name} ({point.share()})"
    if len(point.results) == 1:
        return f"{where}, jobs wait {unit.told(wait)} on average under {first.policy_label}."
    worst = point.ranked[-1]
    if not worst.mean_waiting_time.value > HARDLY * worst.mean_response_time.value:
        slow = unit_of([worst.mean_waiting_time.value]).told(worst.mean_waiting_time)
        return (
            f"{where}, jobs hardly wait under any of these policies: {slow} on average at most, "
            f"under {worst.policy_label}. The choice among them hardly matters."
        )
    head = (
        f"{where}, {first.policy_label} makes users wait least: {unit.told(wait)} a job on average"
    )
    if first is not base:
        other = f"{unit.told(base.mean_waiting_time)} under {base.policy_label} (the baseline)"
        gap = difference(first, base)
        text = f"{head}, against {other}. {_difference(gap, wait, base.mean_waiting_time)}"
        return f"{text}{_tied(point, (first, base))}"
    second = point.ranked[1]
    unit = unit_of([wait.value, second.mean_waiting_time.value])
    gap = difference(first, second)
    other = f"{second.policy_label}, {unit.told(second.mean_waiting_time)}"
    tail = _difference(gap, wait, second.mean_waiting_time)
    text = f"{head}. It is the baseline itself; next comes {other}. {tail}"
    return f"{text}{_tied(point, (first, second))}"


def _tied(point: Point, told: tuple[ReplayResult, ...]) -> str:
    """Return which policies not yet told of might be as good."""
    gaps = [
        (r.policy_label, difference(r, told[0]))
        for r in point.ranked
        if not any(r is each for each in told)
    ]
    names = [name for name, gap in gaps if gap is not None and not gap.low > 0]
    return f" Not told apart from {told[0].policy_label}: {listed(names)}." if names else ""


def _difference(gap: Estimate | None, less: Estimate, more: Estimate) -> str:
    """Return how sure it is that one mean is less than another."""
    if gap is None:
        return (
            "The two were measured over different jobs, so that their difference has no interval."
        )
    unit = unit_of([gap.value])
    size = unit.told(Estimate(abs(gap.value), gap.half_width))
    if more.value > 0 and gap.value:
        size += f", {100 * abs(gap.value) / more.value:.0f} % of the longer wait"
    if math.isnan(gap.half_width):
        return f"The difference is {size}; the log is too short to say how certain that is."
    if certain(gap):
        return f"The difference is {size}: more than chance among weeks explains."
    if gap.value == 0:
        return "There is no difference between them."
    return f"The difference is {size}: the two are not told apart by this log."


def _others(first: ReplayResult, point: Point) -> str:
    """Return how the other policies compare with the baseline."""
    texts = []
    for each in point.others:
        gap = difference(each, point.baseline)
        if each is first or gap is None or not math.isfinite(gap.value):
            continue
        if gap.value == 0:
            texts.append(f"{each.policy_label} the same")
            continue
        unit = unit_of([gap.value])
        size = unit.told(Estimate(abs(gap.value), gap.half_width))
        more = "more" if gap.value > 0 else "less"
        doubt = "" if certain(gap) else ", not told apart"
        texts.append(f"{each.policy_label} {size} {more}{doubt}")
    if not texts:
        return ""
    return f"Compared with {point.baseline.policy_label}, the mean wait is: {'; '.join(texts)}."


def _slowdown(told: Told, point: Point) -> str:
    """Return what the mean of the bounded slowdown says, where it says something else."""
    at = told.comparison.points.index(
        next(p for p in told.comparison.points if p[-1].inputs.load_factor == point.factor)
    )
    best, *tied = told.comparison.best(at)
    if len(point.results) == 1:
        return ""
    value = next(r for r in point.results if r.policy_label == best).overall.bounded_slowdown.mean
    bound = point.baseline.inputs.slowdown_bound
    text = (
        "By the bounded slowdown, which weighs a wait by the length of the job (at least "
        f"{bound:g} s), {best} is best, too: {value} on average"
        if best == point.ranked[0].policy_label
        else "By the bounded slowdown, which weighs a wait by the length of the job (at least "
        f"{bound:g} s) and so cares for short jobs, another policy is best: {best}, {value} on "
        "average"
    )
    return f"{text}; not told apart from it: {listed(tied)}." if tied else f"{text}."


def _behind(point: Point) -> Iterator[str]:
    for each in point.results:
        if each.verdict == "falls behind":
            yield (
                f"{each.policy_label} falls behind at {point.name}: {100 * each.left_behind:.0f} % "
                "of all work still waits when the last job is submitted. Its waits grow with the "
                "length of the log, and mean nothing beyond it."
            )


def _gains(first: ReplayResult, point: Point, gains: list[Gains]) -> str:
    """Return who gains and who loses most if the baseline gives way to the best policy."""
    shown = first if first is not point.baseline else None
    if shown is None:
        return ""
    texts = []
    for each in gains:
        rows = [row for row in each.of(shown.policy_label) if row.gap is not None]
        sure = [row for row in rows if row.gap is not None and certain(row.gap)]
        win = min(sure, key=_gap, default=None)
        lose = max(sure, key=_gap, default=None)
        said = [
            text
            for text in (
                _who(each, win, "gain") if win and _gap(win) < 0 else "",
                _who(each, lose, "lose") if lose and _gap(lose) > 0 else "",
            )
            if text
        ]
        if said:
            texts.append("; ".join(said))
        elif rows:
            texts.append(f"of no {each.noun} it is certain whether it gains or loses")
    if not texts:
        return ""
    head = f"{shown.policy_label} instead of {point.baseline.policy_label}"
    among = "Of the classes and users that this page tells apart, and so far as it is certain:"
    return f"{among} {head}: {'. '.join(map(_upper, texts))}."


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _gap(row: Gain) -> float:
    assert row.gap is not None
    return row.gap.value


def _who(gains: Gains, row: Gain, verb: str) -> str:
    assert row.gap is not None
    unit = unit_of([row.gap.value])
    size = unit.told(Estimate(abs(row.gap.value), row.gap.half_width))
    verb = verb if gains.plural else f"{verb}s"
    return (
        f"{gains.before}{row.name}{gains.after} {verb} most, {size} of wait a job "
        f"({100 * row.jobs:.0f} % of the jobs, {100 * row.work:.0f} % of the work)"
    )


def _logged(point: Point) -> str:
    """Return how the waits in the log compare with the baseline."""
    if point.logged is None or not point.logged.jobs:
        return ""
    wait, base = point.logged.mean_waiting_time, point.baseline
    unit = unit_of([wait.value, base.mean_waiting_time.value])
    gap = difference(point.logged, base)
    text = f"The log itself tells of {unit.told(wait)} of wait a job on average"
    if gap is None:
        return f"{text}, over the {point.logged.jobs:,} jobs whose wait it tells."
    if not certain(gap):
        return f"{text}, which is not told apart from the replay under {base.policy_label}."
    more = "more" if gap.value > 0 else "less"
    return (
        f"{text}, {more} than the replay under {base.policy_label} "
        f"({unit.told(base.mean_waiting_time)}): the real scheduler may have had to heed "
        "priorities, reservations, dependencies and failures, of which a replay knows nothing. "
        "Compare policies with each other rather than with the log."
    )


def _loaded(point: Point, told: Told) -> str:
    """Return what happens at another load."""
    if not point.ranked:
        return ""
    first, base = point.ranked[0], point.baseline
    before = next((r for r in told.main.results if r.policy_label == first.policy_label), None)
    unit = unit_of([first.mean_waiting_time.value])
    text = (
        f"At {point.name} ({point.share()}), {first.policy_label} makes "
        f"users wait least: {unit.told(first.mean_waiting_time)}"
    )
    if before is not None:
        text += f" ({unit.told(before.mean_waiting_time)} at {told.main.name})"
    if first is not base:
        gap = difference(first, base)
        text += f", against {unit.told(base.mean_waiting_time)} under {base.policy_label}"
        if gap is not None and not certain(gap):
            text += ", from which it is not told apart"
    elif len(point.ranked) > 1:
        gap = difference(first, point.ranked[1])
        if gap is not None and not certain(gap):
            text += f", not told apart from {point.ranked[1].policy_label}"
    behind = [r.policy_label for r in point.results if r.verdict == "falls behind"]
    if behind:
        text += f". {listed(behind)} fall{'s' if len(behind) == 1 else ''} behind"
    return f"{text}."
