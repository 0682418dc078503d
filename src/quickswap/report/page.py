"""Renders a report from the template `assets/report.html`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from quickswap._check import checks_keywords
from quickswap._words import counted, plural
from quickswap.files import write_text
from quickswap.replays import ReplayComparison
from quickswap.report import charts, text
from quickswap.report.causes import (
    idle_sentence,
    most_at_once,
    unexplained_sentence,
    wait_groups,
)
from quickswap.report.cautions import cautions
from quickswap.report.data import ReportData, columns_of, marks, significant
from quickswap.report.gantt import gantt
from quickswap.report.groups import check_column, check_filled
from quickswap.report.summary import bounded_slowdown, summarise

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["write_report"]

FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that a document must not contain."""
UNIT_SPACE = re.compile(r"(?<=\d) (?=±|%|(?:s|min|h|days)\b)|(?<=±) (?=[\d?])")
"""Spaces at which a line must not break: those before units, and around ±."""


@checks_keywords
def write_report(
    comparison: ReplayComparison,
    path: str | Path,
    *,
    groups: str | None = None,
    title: str | None = None,
    command: str | None = None,
) -> None:
    """Write the results of replays of a log as one HTML page, for readers who did not run them.

    The page is a single file and requires no network. It is written completely or not at all, and
    equal comparisons give equal bytes. The baseline is Slurm if it is among the policies, or else
    EASY, or else the first policy.

    Args:
        comparison: the result of `quickswap.replays.replay_all`, preferably at several loads.
        path: the file to write.
        groups: column of the log whose values are compared as groups of users: "user", "group",
            "queue", "partition" or "class"; by default "group" where there are 2 to 30, otherwise
            "user". If there are more than 30, or for users, the twelve with the most work
            are shown.
        title: title of the page; by default the machine or the file.
        command: the command that writes the report, for display; by default lines of Python.

    Raises:
        QuickswapError: an argument is invalid, or the file cannot be written.
    """
    data = ReportData.of(comparison, check_column(groups), command)
    check_filled(data.log.jobs, groups)
    write_text(path, render(data, title))


def render(data: ReportData, title: str | None) -> str:
    """Return the page."""
    source = Path(data.log.source).name
    base = data.main.baseline
    context = {
        "data": data,
        "unit": data.unit,
        "main": data.main,
        "base": base,
        "inputs": base.inputs,
        "servers": base.schedule.servers,
        "source": source,
        "title": title or f"Replay of {data.log.header.get('Computer') or source}",
        "median_run_time": float(np.median(base.schedule.size)),
        "cautions": cautions(data),
        "waits": data.main.waits,
        "wait_groups": wait_groups(data),
        "columns": columns_of(base),
        "most_at_once": most_at_once(data),
        "summaries": [summarise(data, level) for level in data.levels],
        "slowdown": bounded_slowdown(data),
        "gantt": gantt(data),
    }
    return _environment().get_template("report.html").render(context) + "\n"


@cache
def _environment() -> Environment:
    """Return the templates, which are compiled once."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: (_asset(name), name, None)),
        autoescape=True,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "bound": lambda words: UNIT_SPACE.sub(text.HARD_SPACE, words),
        "counted": lambda number, noun: counted(number, noun, ",").replace(" ", text.HARD_SPACE, 1),
        "duration": text.duration,
        "listed": text.listed,
        "number": text.number,
        "percent": text.percent,
        "plain": "{:g}".format,
        "plural": plural,
        "repr": repr,
        "sentence": lambda words: words[:1].upper() + words[1:],
        "share": text.share,
    }
    environment.tests |= {"significant": significant}
    environment.globals |= {
        "asset": lambda name: Markup(_asset(name)),
        "charts": charts,
        "forest": charts.forest,
        "idle_sentence": idle_sentence,
        "unexplained_sentence": unexplained_sentence,
        "marks": marks,
    }
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment


def _clean(value: object) -> object:
    """Return a value without the characters that a document must not contain."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", value)
    return "" if value is None else value


def _asset(name: str) -> str:
    return files("quickswap.report").joinpath("assets", name).read_text(encoding="utf-8")
