"""The data of the zoomable picture of who ran when, packed small; `assets/gantt.js` draws it.

Only need, size, submission and user of each job, and its start under each policy, are stored, as
whole numbers in columns, deflated. Which servers a job holds is decided by the browser.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quickswap.replays import ReplayResult
from quickswap.report.markup import Markup, section, tag
from quickswap.report.model import Told
from quickswap.report.words import listed

__all__ = ["gantt_section"]

MOST = 100_000
"""Jobs that are drawn at most."""
FINEST = 2**31 - 1
"""Ticks that the span has at most."""


def gantt_section(told: Told) -> Markup:
    """Return the picture, its buttons, and its data."""
    point = told.main
    drawn = [each for each in point.all() if not each.schedule.preemptive and len(each.schedule)]
    title = "Who ran when"
    left_out = [each.policy_label for each in point.all() if each.schedule.preemptive]
    words = (
        [
            f"{listed(left_out)} may stop jobs and resume them: the schedule does not tell when, "
            "so that there is no picture of it."
        ]
        if left_out
        else []
    )
    if not drawn:
        return section("gantt", title, *(tag("p", each) for each in words))
    # all policies serve the same jobs; what was logged may lack some
    widest = max(drawn, key=lambda each: len(each.schedule))
    rows, cut = _window(widest)
    if cut:
        words.append(cut)
    if point.logged in drawn:
        words.append(
            "Where the log shows more servers in use than there are, “as logged” has rows above "
            "the machine."
        )
    data = json.dumps(_data(told, drawn, rows), separators=(",", ":")).replace("<", "\\u003c")
    intro = (
        f"Every bar is a job at {point.name}: as long as it ran, as high as the servers it held, "
        "the darker the longer it waited, and at last orange. From afar the picture "
        "shows the share of the servers in use. Drag to move; zoom with the buttons, with two "
        "fingers, with the keys + and \N{MINUS SIGN}, or with the wheel "
        "once the picture is clicked. Point at a job to read about it."
    )
    return section(
        "gantt",
        title,
        tag("p", intro),
        *(tag("p", each) for each in words),
        _stage([each.policy_label for each in drawn], point.baseline.policy_label),
        tag("script", Markup(data), type="application/json", id="gantt-data"),
    )


def _stage(policies: Sequence[str], chosen: str) -> Markup:
    options = [
        tag("option", name, value=i, selected=name == chosen) for i, name in enumerate(policies)
    ]
    buttons = [
        tag("button", sign, type="button", data_do=what, title=words, aria_label=words)
        for sign, what, words in (
            ("+", "in", "zoom in"),
            ("\N{MINUS SIGN}", "out", "zoom out"),
            ("←", "back", "earlier"),
            ("→", "on", "later"),
            ("whole log", "all", "show the whole log"),
            ("longest queue", "busy", "show the time when most work waited"),
        )
    ]
    choice = tag("label", "policy ", tag("select", *options, id="gantt-policy"))
    canvas = tag(
        "canvas",
        "This picture needs a browser that draws.",
        id="gantt-canvas",
        tabindex=0,
        role="application",
        aria_label="Jobs over time: arrows move, plus and minus zoom, Home shows everything",
        aria_describedby="gantt-told",
    )
    return tag(
        "div",
        tag("div", choice, *buttons, class_="tools"),
        canvas,
        tag("p", "", id="gantt-told", aria_live="polite"),
        tag("noscript", tag("p", "This picture needs JavaScript.")),
        class_="gantt",
    )


def _window(result: ReplayResult) -> tuple[NDArray[np.int64], str]:
    """Return the jobs to be drawn, as rows of the log, and a sentence if they are not all."""
    schedule = result.schedule
    jobs = len(schedule)
    if jobs <= MOST:
        return schedule.rows, ""
    # the busiest stretch of so many submissions: most work a second
    work = np.concatenate([[0.0], np.cumsum(schedule.need * schedule.size)])
    spans = schedule.arrival[MOST - 1 :] - schedule.arrival[: jobs - MOST + 1]
    rate = (work[MOST:] - work[: jobs - MOST + 1]) / np.maximum(spans, 1e-9)
    first = int(np.argmax(rate))
    words = (
        f"Of {jobs:,} jobs, {MOST:,} are drawn: those submitted one after the other in the busiest "
        "stretch. Jobs that were there before it are missing from its beginning."
    )
    return schedule.rows[first : first + MOST], words


def _data(told: Told, drawn: Sequence[ReplayResult], rows: NDArray[np.int64]) -> dict[str, Any]:
    jobs = told.log.jobs[rows]
    submit, size = jobs["submit"].to_numpy(), jobs["size"].to_numpy()
    begin = float(submit[0])
    starts = [_starts(each, rows, len(told.log)) for each in drawn]
    end = max(float(np.nanmax(start + size)) for start in starts) - begin
    tick = _tick([submit - begin, size], end)
    users = jobs["user"] if jobs["user"].null_count() < len(jobs) else jobs["group"]
    names, codes = _codes(users.cast(pl.String))
    columns = [
        _packed(np.diff(np.rint((submit - begin) / tick), prepend=0.0)),
        _packed(np.maximum(np.rint(size / tick), 0)),
        _packed(jobs["need"].to_numpy()),
        _packed(codes),
    ]
    waits = [
        # one more than the wait; 0 for a job that is not there
        _packed(np.where(np.isnan(start), 0.0, np.rint((start - submit) / tick) + 1))
        for start in starts
    ]
    clock = told.clock
    factor = told.main.factor
    return {
        "jobs": len(rows),
        "servers": told.main.baseline.schedule.servers,
        "tick": tick,
        "begin": begin,
        "origin": clock.origin if factor == 1 else None,
        "zone": clock.name,
        "users": names,
        "columns": columns,
        "waits": waits,
    }


def _starts(result: ReplayResult, rows: NDArray[np.int64], jobs: int) -> NDArray[np.float64]:
    """Return when jobs of the log start; nan for those that are not part of a schedule."""
    starts = np.full(jobs, np.nan)
    starts[result.schedule.rows] = result.schedule.start
    chosen: NDArray[np.float64] = starts[rows]
    return chosen


def _tick(times: Sequence[NDArray[np.float64]], end: float) -> float:
    """Return the resolution in seconds: one, unless times are finer or the span is very long."""
    whole = all((each == np.rint(each)).all() for each in times)
    tick = 1.0 if whole or end > 1e5 else max(end, 1e-9) / 2**30
    return max(tick, end / FINEST)


def _codes(users: pl.Series) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of the users, and the number of each job's user; 0 for nobody known."""
    names = users.drop_nulls().unique(maintain_order=True).to_list()
    numbers = {name: i + 1 for i, name in enumerate(names)}
    codes = users.replace_strict(numbers, default=0, return_dtype=pl.Int64)
    return names, codes.fill_null(0).to_numpy()


def _packed(values: Any) -> str:
    """Return whole numbers as text: 32 bits each, by bytes of equal weight, deflated, base64."""
    numbers = np.asarray(values).astype("<u4")
    planes = numbers.view(np.uint8).reshape(-1, 4).T
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress(planes.tobytes()) + packer.flush()).decode()
