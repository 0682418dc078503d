"""What became of the rows of the log, what the replay leaves out, and how it was computed."""

from __future__ import annotations

from pathlib import Path

from quickswap._words import counted, plural
from quickswap.report.markup import Markup, section, table, tag
from quickswap.report.model import Told

__all__ = ["caveats_section", "computed_section", "quality_section"]


def quality_section(told: Told) -> Markup:
    """Return the quality report of the log."""
    report = told.log.report
    head = (
        f"{counted(report.rows, 'row', ',')} read; {counted(report.kept, 'job', ',')} kept, "
        f"{report.repaired:,} of them repaired; {counted(report.dropped, 'row', ',')} dropped."
    )
    parts: list[object] = [tag("p", head)]
    if report.findings:
        rows = [
            (each.text, each.kind, f"{each.count:,}", _lines(each.lines, each.count))
            for each in report.findings
        ]
        columns = ["rule", "what was done", "rows", "first lines"]
        parts.append(table("What was found in the rows, by rule", columns, rows))
    else:
        parts.append(tag("p", "No rule applied to any row."))
    if report.states:
        states = [(name, f"{count:,}") for name, count in report.states.items()]
        parts.append(table("Rows by the state of the job", ["state", "rows"], states))
    if report.facts:
        parts.append(tag("ul", *(tag("li", fact) for fact in report.facts)))
    notes = told.log.header.get("Note")
    if notes:
        parts.append(tag("p", "The log says about itself:"))
        parts.append(tag("blockquote", *(tag("p", line) for line in notes.splitlines())))
    return section("quality", "The log", *parts)


def _lines(lines: tuple[int, ...], count: int) -> str:
    more = ", …" if count > len(lines) else ""
    return ", ".join(map(str, lines)) + more


def caveats_section(told: Told) -> Markup:
    """Return what the answer does not know of."""
    base = told.main.baseline
    number, unit = base.resampled
    over = (
        "The log is too short for intervals."
        if unit == "whole"
        else f"What stands after ± comes from putting together the log's {counted(number, unit)} "
        f"anew by chance, again and again, some twice and some not at all. It tells how much the "
        f"answer depends on the {plural(unit)} that the log happens to hold, and nothing of other "
        "years, users or machines."
    )
    points = [
        ("One log.", f"This is one stretch of one machine's life. {over}"),
        (
            "Users do not react.",
            "Each job is submitted when it was in the log. Under another policy users would have "
            "submitted otherwise: sooner after a short wait, less after a long one.",
        ),
        (
            "Higher loads are made.",
            "The load is raised by playing the log faster; real growth brings other jobs.",
        ),
        (
            "Only servers count.",
            "Dependencies between jobs, priorities, fair shares, reservations, failures, memory, "
            "licences and the place of servers in the network are ignored. All servers are alike.",
        ),
        ("Estimates.", _estimates(told)),
        ("Jobs left out.", _left_out(told)),
    ]
    items = (tag("li", tag("b", head), " ", text) for head, text in points if text)
    return section("caveats", "What this does not know", tag("ul", *items))


def _estimates(told: Told) -> str:
    believed = told.main.baseline.inputs.estimate
    if believed == "exact":
        text = "Policies that use estimated run times were given the true ones."
    elif believed == "logged":
        text = "Policies that use estimated run times were given those of the log"
        lacks = told.log.report["no_estimate"]
        text += (
            f"; {_lacking(lacks, len(told.log))}, and the true run time was taken in its place."
            if lacks
            else "."
        )
    else:
        text = f"Policies that use estimated run times were given {believed:g} times the true ones."
    return f"{text} A job runs as long as it ran in the log, even beyond its estimate."


def _lacking(lacks: int, jobs: int) -> str:
    if lacks >= jobs:
        return "the log gives none"
    return f"for {lacks:,} of the {jobs:,} jobs the log gives none"


def _left_out(told: Told) -> str:
    base = told.main.baseline
    inputs = base.inputs
    texts = [
        f"The first {100 * inputs.warmup:g} % and the last {100 * inputs.cooldown:g} % of the time "
        "are replayed, but not measured, as the machine is empty at first and nobody comes at the "
        f"end; {counted(base.jobs, 'job', ',')} were measured."
    ]
    if base.too_large:
        texts.append(
            f"{counted(base.too_large, 'job', ',')} need more than the {base.schedule.servers:,} "
            "servers, and are left out."
        )
    if told.main.logged is not None and told.main.logged.jobs != base.jobs:
        texts.append(
            f"The row “as logged” rests on the {told.main.logged.jobs:,} jobs whose wait the log "
            "tells."
        )
    return " ".join(texts)


def computed_section(told: Told) -> Markup:
    """Return version, settings, and how to do it again."""
    inputs = told.main.baseline.inputs
    settings = [
        ("quickswap", inputs.version),
        ("log", Path(inputs.source).name),
        ("servers", f"{inputs.servers:,}"),
        ("policies", ", ".join(each.inputs.policy for each in told.main.results)),
        ("times the load of the log", ", ".join(f"{point.factor:g}" for point in told.points)),
        ("estimates", str(inputs.estimate)),
        ("classes", "each need" if inputs.classes == "need" else inputs.classes),
        ("not measured, first and last", f"{100 * inputs.warmup:g} %, {100 * inputs.cooldown:g} %"),
        ("run times count in the slowdown from", f"{inputs.slowdown_bound:g} s"),
        ("seed of the intervals", str(inputs.seed)),
    ]
    code = told.command or _code(told)
    return section(
        "computed",
        "How it was computed",
        tag(
            "p",
            "Every schedule was checked: no job starts before it is submitted, each runs for its "
            "time, and no server runs two jobs at once.",
        ),
        table("Settings", ["setting", "value"], settings),
        tag("p", "To do it again:"),
        tag("pre", tag("code", code), tabindex=0),
    )


def _code(told: Told) -> str:
    """Return Python that makes the report again."""
    inputs = told.main.baseline.inputs
    policies = [each.inputs.policy for each in told.main.results]
    factors = [point.factor for point in told.points]
    settings = {
        "servers": inputs.servers,
        "load_factors": factors,
        "estimate": inputs.estimate,
        "classes": inputs.classes,
        "warmup": inputs.warmup,
        "cooldown": inputs.cooldown,
        "slowdown_bound": inputs.slowdown_bound,
        "seed": inputs.seed,
    }
    words = [f"    {key}={value!r}," for key, value in settings.items()]
    return "\n".join(
        [
            "from quickswap import logs, replays, write_report",
            f"log = logs.read({Path(inputs.source).name!r})  # and the options it was read with",
            "found = replays.replay_all(",
            "    log,",
            f"    {policies!r},",
            *words,
            ")",
            'write_report(found, "report.html")',
        ]
    )
