"""The result of tuning with a log as text and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quickswap._tables import Page, TextTable
from quickswap._words import counted
from quickswap.display.simulations import unknown_intervals
from quickswap.report.causes import REMEDY, unexplained_sentence
from quickswap.report.text import Unit, common_unit
from quickswap.tuning.for_logs import LogStanding

if TYPE_CHECKING:
    from quickswap.tuning.for_logs import LogTuning, LogTuningRow, Trial

__all__ = ["log_tuning_page"]

METRICS = {
    "waiting_time": "mean wait",
    "response_time": "mean response time",
    "slowdown": "mean slowdown",
    "bounded_slowdown": "mean bounded slowdown",
}


def log_tuning_page(found: LogTuning) -> Page:
    """Return the policy to switch to, how to switch it on, and a line for each candidate."""
    hours = common_unit(found.rest)
    unit = hours if found.metric.endswith("time") else Unit("", 1.0, "")
    warnings = [
        f"{unexplained_sentence(waits, hours).removesuffix('.')} on the {part} of the log."
        for part, waits in found.waits.items()
        if waits.unexplained
    ]
    first, name = found.rest.results[0], METRICS[found.metric]
    jobs, servers = (
        counted(*each, ",") for each in ((len(first.log), "job"), (found.servers, "server"))
    )
    pieces = counted(*first.resampled)
    times = f"{'times' if unit is hours else 'waits'} in {hours.word}"
    columns = ["policy", "result", f"{name}, first", "change", f"{name}, rest", "change"]
    columns += ["longest wait, rest", "groups that lose", "undecided"]
    rows = [_cells(each, unit, hours) for each in found.rows]
    limit = f"{100 * found.no_worse:g} %, and than a minute"
    level = f"{100 * found.rest.results[0].inputs.confidence:.6g} %"
    losses = [
        f"{each.label}: {_loss(each, hours)}"
        for each in found.rows
        if each.standing is LogStanding.REJECTED and each.first.change.value < 0
    ]
    return [
        *([warnings[0], REMEDY, ""] if warnings else []),
        _answer(found, unit),
        "",
        *_switch(found),
        f"{found.source}: {jobs} on {servers}; the first {100 * found.train:g} % select, the rest "
        "confirms",
        f"{times}; ± is the {level} half-width over {pieces} in the rest",
        "",
        TextTable(columns, rows, text=2),
        "",
        f"groups that lose: their mean wait increases by significantly more than {limit}",
        "undecided: the interval contains this limit, or the group has jobs in too few weeks",
        *unknown_intervals(cell for row in rows for cell in row),
        *losses,
    ]


def _switch(found: LogTuning) -> list[str]:
    """Return the lines that state how to switch the winner on."""
    if found.winner is None:
        return []
    lines = found.slurm_conf or (f"no setting of Slurm does this: it requires {found.requires}",)
    names = ("slurm.conf", *[""] * len(lines))
    shown = [f"{name:11}  {line}" for name, line in zip(names, lines, strict=False)]
    return [f"write it as  {found.winner}", *shown, ""]


def _answer(found: LogTuning, unit: Unit) -> str:
    """Return the answer as a sentence."""
    name, base, best = METRICS[found.metric], found.baseline, found.best
    if best is None or best.rest is None or base.rest is None:
        if base.first.value.value == 0:
            return f"Keep {base.label}: no job of the first part waits."
        loss = f"under which no group loses more than {100 * found.no_worse:g} %"
        if all(each.rest is None for each in found.rows[1:]):
            return f"Keep {base.label}: on the first part no candidate {loss} has a smaller {name}."
        answer = (
            f"Keep {base.label}: on the rest of the log no candidate {loss} has a significantly "
        )
        small = next((each for each in found.rows if each.standing is LogStanding.SMALL), None)
        if small is None or small.rest is None:
            return f"{answer}smaller {name}."
        change = f"{unit.convert(small.rest.change)} {unit.name}".rstrip()
        return (
            f"{answer}smaller {name} by at least {100 * found.smallest_gain:g} %. The gain of "
            f"{small.label} is significant, but smaller (difference {change})."
        )
    old, new = (_with_unit(each.rest, unit) for each in (base, best))
    change = f"{unit.convert(best.rest.change)} {unit.name}".rstrip()
    undecided = len(best.rest.undecided)
    doubt = (
        f"; {undecided} of {len(best.rest.groups)} groups are undecided"
        if undecided
        else f"; none of {len(best.rest.groups)} groups is undecided"
    )
    return (
        f"Switch from {base.label} to {best.label}: on the rest of the log the {name} is {new} "
        f"instead of {old} (difference {change}), and no group loses significantly more than "
        f"{100 * found.no_worse:g} %{doubt}."
    )


def _with_unit(trial: Trial | None, unit: Unit) -> str:
    assert trial is not None
    return f"{unit.convert(trial.value)} {unit.name}".rstrip()


def _loss(row: LogTuningRow, hours: Unit) -> str:
    """Return the largest loss of a group, in words."""
    part, trial = ("first part", row.first)
    if not row.first.violated and row.rest is not None:
        part, trial = "rest", row.rest
    worst = trial.violated[0]
    loss, wait = hours.convert(worst.change), hours.plain(worst.wait)
    return f"{worst.label} waits {loss} {hours.name} longer than {wait} {hours.name} on the {part}"


def _cells(row: LogTuningRow, unit: Unit, hours: Unit) -> list[str]:
    def pair(trial: Trial | None) -> list[str]:
        if trial is None:
            return ["", ""]
        sign = "+" if trial.change.value > 0 else ""
        change = f"{sign}{unit.convert(trial.change)}" if trial.groups else ""
        return [str(unit.convert(trial.value)), change]

    shown = row.first if row.rest is None else row.rest
    counts = [len(shown.violated), len(shown.undecided)]
    groups = list(map(str, counts)) if shown.groups else ["", ""]
    longest = "" if row.rest is None else hours.plain(row.rest.longest_wait)
    return [row.label, row.standing, *pair(row.first), *pair(row.rest), longest, *groups]
