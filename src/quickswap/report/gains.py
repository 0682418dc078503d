"""Who gains and who loses: differences of the mean wait by class and by group of users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quickswap.errors import QuickswapError, shown
from quickswap.estimates import Estimate
from quickswap.replays import ReplayResult
from quickswap.replays.measuring import tabulate
from quickswap.report import charts
from quickswap.report.markup import Markup, figure, joined, section, table, tag
from quickswap.report.model import METRIC, Told, difference
from quickswap.report.words import Unit, certain, listed, unit_of

__all__ = ["COLUMNS", "Gain", "Gains", "by_class", "by_user", "gains_section"]

COLUMNS = ("user", "group", "queue", "partition", "class")
"""Columns of a log whose values can stand for groups of users."""
FEW = 30
"""Groups that are shown one by one."""
HEAVIEST = 12
"""Users that are shown where there are more."""
UNKNOWN = "(not logged)"


@dataclass(frozen=True)
class Gain:
    """One group under one policy.

    Attributes:
        name: of the group.
        jobs, work: its shares of the jobs and of the work measured.
        base: its mean wait under the baseline, seconds.
        gap: mean wait less that under the baseline, seconds; None where they cannot be paired.
    """

    name: str
    jobs: float
    work: float
    base: Estimate
    gap: Estimate | None


@dataclass(frozen=True)
class Gains:
    """All groups of one kind under all policies but the baseline.

    Attributes:
        noun: what a group is.
        before, after: stand around a group's name in a sentence.
        plural: whether a group is spoken of as many.
        rows: by policy, in the order of the groups.
    """

    noun: str
    before: str
    after: str
    plural: bool
    rows: dict[str, tuple[Gain, ...]]

    def of(self, policy: str) -> tuple[Gain, ...]:
        """Return the groups under a policy."""
        return self.rows.get(policy, ())


def by_class(told: Told) -> Gains:
    """Return gains and losses by server need."""
    base = told.main.baseline
    need, size, inside = _measured(base)
    work = need * size * inside
    rows: dict[str, tuple[Gain, ...]] = {}
    edges = [each.need for each in base.classes]
    at = np.searchsorted(edges, need, side="left")
    jobs_of = np.bincount(at, inside, len(edges))
    work_of = np.bincount(at, work, len(edges))
    for other in told.main.others:
        rows[other.policy_label] = tuple(
            Gain(
                each.name,
                _share(jobs_of[i], jobs_of.sum()),
                _share(work_of[i], work_of.sum()),
                each.mean_waiting_time,
                difference(other, base, cls=each.name),
            )
            for i, each in enumerate(base.classes)
            if each.jobs
        )
    return Gains("class of needs", "jobs that need ", " servers", True, rows)


def by_user(told: Told) -> Gains | None:
    """Return gains and losses by group of users; None if the log knows of one or none."""
    column = told.column or _column(told.log.jobs)
    if column is None:
        return None
    base = told.main.baseline
    names, owner = _owners(told.log.jobs, column, base)
    if len(names) < 2:
        return None
    mine = owner[base.schedule.rows]
    need, size, inside = _measured(base)
    jobs_of = np.bincount(mine, inside, len(names))
    work_of = np.bincount(mine, need * size * inside, len(names))
    pieces = base.table.pieces if base.table is not None else None
    if pieces is None:
        return None
    bound = base.inputs.slowdown_bound
    ours = tabulate(base.schedule, pieces, mine, len(names), bound)
    means = pieces.estimates(
        np.stack([ours.means(METRIC, group) for group in range(len(names))], axis=1)
    )
    rows = {}
    for other in told.main.others:
        paired = difference(other, base) is not None
        theirs = tabulate(other.schedule, pieces, owner[other.schedule.rows], len(names), bound)
        rows[other.policy_label] = tuple(
            Gain(
                name,
                _share(jobs_of[i], jobs_of.sum()),
                _share(work_of[i], work_of.sum()),
                means[i],
                theirs.difference(ours, METRIC, i) if paired else None,
            )
            for i, name in enumerate(names)
            if jobs_of[i]
        )
    return Gains(column, f"{column} ", "", False, rows)


def check_column(column: object) -> str | None:
    """Refuse a column that cannot stand for groups of users.

    Raises:
        QuickswapError: with those that can.
    """
    if column is None or (isinstance(column, str) and column in COLUMNS):
        return column
    raise QuickswapError(
        f"groups is {shown(column)}; it must be a column of the log: {', '.join(COLUMNS)}."
    )


def _column(jobs: pl.DataFrame) -> str | None:
    """Return the column that tells users apart: groups if they are few, else users."""
    known = {name: jobs[name].drop_nulls().n_unique() for name in ("group", "user")}
    if 2 <= known["group"] <= FEW or (known["user"] < 2 <= known["group"]):
        return "group"
    return "user" if known["user"] >= 2 else None


def _owners(
    jobs: pl.DataFrame, column: str, base: ReplayResult
) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of the groups, heaviest first, and the group of each job of the log."""
    texts = jobs[column].cast(pl.String).fill_null(UNKNOWN)
    work = (jobs["need"] * jobs["size"]).rename("work")
    sums = (
        pl.DataFrame([texts, work])
        .group_by(column)
        .agg(pl.col("work").sum())
        .sort(["work", column], descending=[True, False])
    )
    names: list[str] = sums[column].to_list()
    shown_names = names if len(names) <= FEW and column != "user" else names[:HEAVIEST]
    rest = len(names) - len(shown_names)
    number = {name: i for i, name in enumerate(shown_names)}
    codes = texts.replace_strict(number, default=len(shown_names), return_dtype=pl.Int64)
    if rest:
        shown_names = [*shown_names, f"all {rest} others" if rest > 1 else "the other one"]
    return shown_names, codes.to_numpy()


def _measured(
    result: ReplayResult,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return need and size of each job, and 1 where it is measured, else 0."""
    schedule = result.schedule
    assert result.table is not None
    inside = result.table.pieces.inside(schedule.arrival).astype(float)
    return schedule.need, schedule.size, inside


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def gains_section(told: Told, classes: Gains, users: Gains | None) -> Markup:
    """Return the section on who gains and who loses."""
    base = told.main.baseline
    if not told.main.others:
        text = "There is only one policy, so nobody gains or loses."
        return section("gains", "Who gains and who loses", tag("p", text))
    intro = tag(
        "p",
        f"How much longer (+) or shorter (\N{MINUS SIGN}) the mean wait of a job would be than "
        f"under {base.policy_label}, at {told.main.name}. The line is the 95 % interval; where it "
        "crosses 0, nobody can tell from this log. Of twenty such intervals, about one is wrong.",
    )
    parts = [tag("h3", "By server need"), _part(told, classes, "needs")]
    if users is None:
        words = "The log does not tell users or groups apart, so gains by user are not shown."
        parts += [tag("h3", "By users"), tag("p", words)]
    else:
        parts += [tag("h3", f"By {users.noun}, heaviest first"), _part(told, users, users.noun)]
    return section("gains", "Who gains and who loses", intro, *parts)


def _part(told: Told, gains: Gains, head: str) -> Markup:
    if not any(gains.rows.values()):
        return tag("p", "No job was measured.")
    drawings = [
        figure(
            charts.gains(rows, policy, told.styles[policy], head),
            f"{policy} against {told.main.baseline.policy_label}, by {gains.noun}",
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
    base_unit = unit_of(row.base.value for row in first)
    units = {
        policy: unit_of(row.gap.value for row in rows if row.gap is not None)
        for policy, rows in gains.rows.items()
    }
    columns = [
        head,
        "jobs [%]",
        "work [%]",
        f"{told.main.baseline.policy_label} [{base_unit.name}]",
        *(f"{policy} [{unit.name}]" for policy, unit in units.items()),
    ]
    body = [
        [
            row.name,
            f"{100 * row.jobs:.1f}",
            f"{100 * row.work:.1f}",
            str(base_unit.of(row.base)),
            *(_gap(rows[i], units[policy]) for policy, rows in gains.rows.items()),
        ]
        for i, row in enumerate(first)
    ]
    caption = (
        f"Mean wait by {gains.noun} under {told.main.baseline.policy_label}, and its change under "
        "the others"
    )
    if alike:
        words = f"Under {listed(alike)} each {gains.noun} waits as long as under "
        alike_words = tag("p", f"{words}{told.main.baseline.policy_label}.")
    else:
        alike_words = Markup("")
    return joined(
        [alike_words, tag("div", *drawings, class_="figures"), table(caption, columns, body)]
    )


def _gap(row: Gain, unit: Unit) -> Markup:
    if row.gap is None:
        return tag("td", "-")
    kind = ("gain" if row.gap.value < 0 else "loss") if certain(row.gap) else "open"
    return tag("td", unit.signed(row.gap), class_=kind)
