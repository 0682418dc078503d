"""`quickswap tune LOG`: the policy to switch to, and how."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap.cli.running import progress

if TYPE_CHECKING:
    from quickswap.logs import JobLog
    from quickswap.report.text import Unit
    from quickswap.tuning.for_logs import LogTuning, LogTuningRow, Trial

__all__ = ["tune_log"]

METRICS = {
    "waiting_time": "mean wait",
    "response_time": "mean response time",
    "slowdown": "mean slowdown",
    "bounded_slowdown": "mean bounded slowdown",
}


def tune_log(log: JobLog, settings: dict[str, Any], csv: Path | None, json: Path | None) -> None:
    """Tune a log; print the answer, or write it."""
    from quickswap.cli.output import emit, writing_files
    from quickswap.policies import Slurm
    from quickswap.report import write_report
    from quickswap.tuning import tune_log as search

    conf, report = settings.pop("slurm_conf"), settings.pop("report")
    baseline = None if conf is None else Slurm.from_conf(conf)
    with progress("tuning") as shown:
        found = search(log, baseline=baseline, progress=shown, **settings)
    with writing_files() as attempt:
        attempt(lambda: emit(csv, lambda: found.to_frame().write_csv()))
        attempt(lambda: emit(json, found.to_json))
        if report is not None:
            attempt(lambda: write_report(found.rest, report))
        if "-" not in {str(csv), str(json)}:
            _print(log, found)


def _print(log: JobLog, found: LogTuning) -> None:
    from quickswap._words import counted
    from quickswap.cli.output import explain_unknown, print_table
    from quickswap.replays.logged_waits import LoggedWaits
    from quickswap.report.causes import unexplained_sentence
    from quickswap.report.text import Unit, common_unit
    from quickswap.tuning.for_logs import LogStanding

    hours, waits = common_unit(found.rest), LoggedWaits.of(found.rest)
    unit = hours if found.metric.endswith("time") else Unit("", 1.0, "")
    if waits is not None and waits.unexplained:
        print(f"{unexplained_sentence(waits, hours)}\n")
    print(f"{answer(found, unit)}\n")
    if found.best is not None:
        print(f"write it as  {found.best.policy}")
        for at, line in enumerate(found.slurm_conf):
            print(f"{'' if at else 'slurm.conf':11}  {line}")
        if found.requires:
            print(f"slurm.conf   no setting of Slurm does this: it requires {found.requires}")
        print()
    share, jobs = f"{100 * found.train:g} %", counted(len(log), "job", ",")
    pieces, piece = found.rest.results[0].resampled
    print(
        f"{log.source}: {jobs} on {counted(found.servers, 'server', ',')}; "
        f"the first {share} select, the rest confirms"
    )
    times = f"times in {hours.word}; " if unit is hours else f"waits in {hours.word}; "
    print(f"{times}± is the 95 % half-width over {counted(pieces, piece)} in the rest\n")
    name = METRICS[found.metric]
    columns = ["policy", "result", f"{name}, first", "change", f"{name}, rest", "change"]
    columns += ["longest wait, rest", "groups that lose", "undecided"]
    rows = [_cells(each, unit, hours) for each in found.rows]
    print_table(columns, rows, text=2)
    limit = f"{100 * found.no_worse:g} %, and than a minute"
    print(f"\ngroups that lose: their mean wait increases by significantly more than {limit}")
    print("undecided: the interval contains this limit, or the group has jobs in too few weeks")
    explain_unknown(cell for row in rows for cell in row)
    for each in found.rows:
        if each.standing is LogStanding.REJECTED and each.first.change.value < 0:
            print(f"{each.label}: {_loss(each, hours)}")


def answer(found: LogTuning, unit: Unit) -> str:
    """Return the answer as a sentence."""
    name, base, best = METRICS[found.metric], found.baseline, found.best
    if best is None or best.rest is None or base.rest is None:
        loss = f"under which no group loses more than {100 * found.no_worse:g} %"
        if all(each.rest is None for each in found.rows[1:]):
            return f"Keep {base.label}: on the first part no candidate {loss} has a smaller {name}."
        return (
            f"Keep {base.label}: on the rest of the log no candidate {loss} has a significantly "
            f"smaller {name}."
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
