"""Puts the parts of a report together, in one file that needs nothing else."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from quickswap._words import counted
from quickswap.files import write_text
from quickswap.replays import ReplayComparison
from quickswap.report.gains import by_class, by_user, check_column, check_filled
from quickswap.report.gains_section import gains_section
from quickswap.report.gantt import gantt_section
from quickswap.report.markup import Markup, joined, tag
from quickswap.report.model import Told
from quickswap.report.notes import caveats_section, computed_section, quality_section
from quickswap.report.paths import mix_section, queue_section, waits_section
from quickswap.report.summary import summary
from quickswap.report.tables import policies_section
from quickswap.report.words import duration

__all__ = ["write_report"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""What the page may load: nothing."""
PARTS = (
    ("summary", "In short"),
    ("policies", "Policies"),
    ("gains", "Gains and losses"),
    ("waits", "Waits"),
    ("queue", "Queue and load"),
    ("mix", "Jobs"),
    ("gantt", "Who ran when"),
    ("quality", "The log"),
    ("caveats", "What this does not know"),
    ("computed", "How it was computed"),
)


def write_report(
    comparison: ReplayComparison,
    path: str | Path,
    *,
    groups: str | None = None,
    title: str | None = None,
    command: str | None = None,
) -> None:
    """Write what replays of a log have found as one HTML page, for readers who did not run them.

    The page needs no network and no other file. It is written whole or not at all, and equal
    comparisons give equal bytes. EASY is the baseline if it is among the policies, else the first.

    Args:
        comparison: what `quickswap.replays.replay_all` returns; the more loads, the better.
        path: of the file.
        groups: column of the log whose values are compared as groups of users: "user", "group",
            "queue", "partition" or "class"; by default "group" where there are 2 to 30, else
            "user". Of more than 30, and of users, the twelve that bring most work are shown.
        title: of the page; by default the machine or the file.
        command: with which the report was made, to be shown; by default some lines of Python.

    Raises:
        QuickswapError: no such column, no comparison, or the file cannot be written.
    """
    told = Told.of(comparison, check_column(groups), command)
    check_filled(told.log.jobs, groups)
    write_text(path, page(told, title))


def page(told: Told, title: str | None) -> str:
    """Return the whole page."""
    sides = [(by_class(told, point), by_user(told, point)) for point in told.points]
    name = title or f"Replay of {told.log.header.get('Computer') or Path(told.log.source).name}"
    body = [
        tag("header", tag("h1", name), tag("p", _subject(told))),
        tag(
            "nav",
            tag("ul", *(tag("li", tag("a", text, href=f"#{to}")) for to, text in PARTS)),
            aria_label="Parts",
        ),
        tag(
            "main",
            summary(told, sides),
            policies_section(told),
            gains_section(told, sides),
            waits_section(told),
            queue_section(told),
            mix_section(told),
            gantt_section(told),
            quality_section(told),
            caveats_section(told),
            computed_section(told),
        ),
        tag("script", _asset("page.js"), _asset("plan.js"), _asset("gantt.js")),
    ]
    head = [
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        tag("title", name),
        tag("style", _asset("report.css")),
    ]
    document = tag("html", tag("head", *head), tag("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{joined([document])}\n"


def _asset(name: str) -> Markup:
    return Markup(files("quickswap.report").joinpath("assets", name).read_text(encoding="utf-8"))


def _subject(told: Told) -> str:
    """Return log, machine and period in a sentence."""
    log, base, clock = told.log, told.main.baseline, told.clock
    place = log.header.get("Installation")
    span = log.duration * told.main.factor
    if clock.origin is None:
        period = f"submitted within {duration(span)}"
    else:
        period = f"submitted from {clock.told(0.0)} to {clock.told(span)} ({clock.name})"
    return (
        f"{Path(log.source).name}{f', {place}' if place else ''}: "
        f"{counted(len(log), 'job', ',')}, {period}, on "
        f"{counted(base.schedule.servers, 'server', ',')}. Their load is {told.main.share(1)}. "
        "What would these jobs have waited under other scheduling policies?"
    )
