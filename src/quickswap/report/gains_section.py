"""The section on who gains and who loses: pictures and tables by need and by user, at each load."""

from __future__ import annotations

from quickswap._words import plural
from quickswap.report.counting import Counted, counted_at
from quickswap.report.forest import forest
from quickswap.report.gains import Gain, Gains
from quickswap.report.markup import Markup, figure, folded, joined, section, table, tag
from quickswap.report.model import Point, Told
from quickswap.report.words import Unit, certain, listed

__all__ = ["Sides", "gains_section"]

Sides = tuple[Gains, Gains | None]
"""Gains by class, and by users where the log tells them apart."""


def gains_section(told: Told, sides: list[Sides]) -> Markup:
    """Return the section; `sides` holds the gains at each load."""
    base, title = told.main.baseline, "Who gains and who loses"
    if not told.main.others:
        text = "There is only one policy, so nobody gains or loses."
        return section("gains", title, tag("p", text))
    intro = (
        f"How much longer (+) or shorter (\N{MINUS SIGN}) the mean wait of a job would be than "
        f"under {base.policy_label}. The line is the 95 % interval; where it crosses 0, this log "
        "cannot tell. Of twenty such intervals, about one is wrong. Each picture has a "
        "scale of its own."
    )
    if len(told.points) > 1:
        intro += " Each load has a part of its own below: open it to see it."
    parts = [
        folded(
            f"{point.name[:1].upper()}{point.name[1:]}: {point.share()}",
            *_at(told, point, pair),
            opened=point is told.main,
        )
        for point, pair in zip(told.points, sides, strict=True)
    ]
    return section("gains", title, tag("p", intro), *parts)


def _at(told: Told, point: Point, sides: Sides) -> list[Markup]:
    classes, users = sides
    parts = [_counts(told, point), tag("h3", "By server need"), _part(told, point, classes, "need")]
    if users is None:
        words = "The log does not tell users or groups apart, so gains by user are not shown."
        if told.column is not None:
            words = f"The log does not tell one {told.column} from another."
        return [*parts, tag("h3", "By users"), tag("p", words)]
    title = f"By {users.noun}, heaviest first"
    return [*parts, tag("h3", title), _part(told, point, users, users.noun)]


def _counts(told: Told, point: Point) -> Markup:
    """Return how many users and jobs gain and lose under each policy."""
    found = counted_at(told, point)
    if not found:
        return Markup("")
    noun = next(iter(found.values())).noun
    people = (
        []
        if noun is None
        else [f"{plural(noun)} that gain", f"{plural(noun)} that lose", "not clear"]
    )
    columns = ["policy", *people, "jobs that start sooner [%]", "jobs that start later [%]"]
    rows = [[policy, *_people(each), *_jobs(each)] for policy, each in found.items()]
    words = (
        f"Counted against {point.baseline.policy_label}. A job starts sooner or later if it is by "
        "a minute or more."
    )
    if noun is not None:
        words += (
            f" A {noun} gains or loses if the mean wait of its jobs changes by a minute or more, "
            "the interval of the change leaves out 0, and its jobs lie in at least six "
            f"{plural(point.baseline.resampled[1])}; all others are not clear."
        )
    return joined([table("How many gain and how many lose", columns, rows), tag("p", words)])


def _people(each: Counted) -> list[str]:
    if each.noun is None:
        return []
    return [str(each.gain), str(each.lose), str(each.people - each.gain - each.lose)]


def _jobs(each: Counted) -> list[str]:
    return [f"{100 * each.sooner:.1f}", f"{100 * each.later:.1f}"]


def _part(told: Told, point: Point, gains: Gains, head: str) -> Markup:
    if not any(gains.rows.values()):
        return tag("p", "No job was measured.")
    unit, base = told.unit, point.baseline.policy_label
    drawings = [
        figure(
            forest(
                rows,
                policy,
                f"{policy}: change of the mean wait by {head}, at {point.name}, with intervals",
                unit,
            ),
            f"{policy} against {base}, by {gains.noun}",
        )
        for policy, rows in gains.rows.items()
        if any(row.gap is not None and row.gap.value for row in rows)
    ]
    alike = [
        policy
        for policy, rows in gains.rows.items()
        if all(row.gap is not None and row.gap.value == 0 for row in rows)
    ]
    first = next(iter(gains.rows.values()))
    columns = [
        head,
        "share of jobs [%]",
        "share of work [%]",
        f"{base} [{unit.name}]",
        *(f"{policy} [{unit.name}]" for policy in gains.rows),
    ]
    body = [
        [
            row.name,
            f"{100 * row.jobs:.1f}",
            f"{100 * row.work:.1f}",
            str(unit.of(row.base)),
            *(_gap(rows[i], unit) for rows in gains.rows.values()),
        ]
        for i, row in enumerate(first)
    ]
    caption = f"Mean wait by {gains.noun} under {base}, and its change under the others"
    same = (
        tag("p", f"Under {listed(alike)} each {gains.noun} waits as long as under {base}.")
        if alike
        else ""
    )
    pictures = tag("div", *drawings, class_="figures")
    return joined([same, pictures, table(caption, columns, body)])


def _gap(row: Gain, unit: Unit) -> Markup:
    if row.gap is None:
        return tag("td", "-")
    kind = ("gain" if row.gap.value < 0 else "loss") if certain(row.gap) else "open"
    return tag("td", unit.signed(row.gap), class_=kind)
