"""Reads the settings of Slurm's schedule from a slurm.conf, and writes them.

A line has `Key=Value` pairs; keys are case-insensitive, `#` begins a comment, and a backslash at
the end continues the line.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quickswap.errors import PolicyError, QuickswapError, invalid
from quickswap.files import checked_path

__all__ = ["read", "write"]

Checks = Mapping[str, Callable[[Any, str], Any]]

_PAIR = re.compile(r'([^\s=]+)\s*=\s*("[^"]*"|\S*)')
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_FAMILIAR = ("clustername", "slurmctldhost", "controlmachine", "nodename", "partitionname")
"""Keys of which a slurm.conf has at least one, unless it has one that is read here."""

_MINUTES = ("priority_max_age", "priority_decay_half_life", "priority_calc_period")
_DEFAULTS = {
    "completewait": "0",
    "fairsharedampeningfactor": "1",
    "overtimelimit": "0",
    "preemptmode": "off",
    "preempttype": "preempt/none",
    "prioritysitefactorplugin": "site_factor/none",
    "priorityusageresetperiod": "none",
    "priorityweightassoc": "0",
    "priorityweighttres": "",
    "accountingstorageenforce": "none",
    "licenses": "",
    "jobsubmitplugins": "",
}
"""Other settings that affect the schedule, and the values with which they have no effect."""
_OF_THE_DAEMON = {
    *("batch_sched_delay", "bf_continue", "bf_max_time", "bf_node_space_size"),
    *("bf_yield_interval", "bf_yield_sleep", "enable_user_top", "max_array_tasks", "max_rpc_cnt"),
    *("max_script_size", "no_env_cache", "nohold_on_prolog_fail", "requeue_setup_env_fail"),
    *("salloc_wait_nodes", "sbatch_wait_nodes", "sched_min_interval"),
}
"""Items of SchedulerParameters about the time that slurmctld takes, and about the start of jobs."""
_OF_PARTITIONS = {"prioritytier": "1", "overtimelimit": "0", "preemptmode": "off", "qos": ""}
"""The same for partitions."""


@dataclass
class _Conf:
    """What has been read.

    Attributes:
        path: the file.
        checks: for each known setting, a function that checks a value.
        values: settings, by name.
        unmodelled: settings that affect the schedule and are not modelled, as in the file.
        multifactor: whether the priorities are those of priority/multifactor.
        database: whether Slurm has its accounting database, without which it calculates neither
            the age factor nor the fair-share factor.
        flags: PriorityFlags.
        familiar: whether a setting of Slurm was found.
    """

    path: Path
    checks: Checks
    values: dict[str, Any] = field(default_factory=dict)
    unmodelled: list[str] = field(default_factory=list)
    multifactor: bool = False
    database: bool = False
    flags: set[str] = field(default_factory=set)
    factors: dict[str, str] = field(default_factory=dict)
    default_factor: str = "1"
    familiar: bool = False


def read(path: str | Path, checks: Checks) -> dict[str, Any]:
    """Return the known settings in a slurm.conf; warn about those that are not modelled.

    Args:
        path: the file.
        checks: for each known setting, a function that checks a value, given its name.

    Raises:
        PolicyError: the file cannot be read, or a value is not valid.
    """
    conf = _Conf(checked_path(path), checks)
    for number, line in _lines(conf.path):
        pairs = list(_pairs(conf.path, number, line))
        try:
            _take(conf, pairs)
        except QuickswapError as error:
            # without the argument, which is none of the command line
            message = f"{conf.path}, line {number}: {error}"
            raise PolicyError(message, given=error.given, allowed=error.allowed) from None
    if not conf.familiar:
        raise PolicyError(
            f"{conf.path} contains no setting of Slurm",
            advice="give a slurm.conf, as Slurm reads it",
        )
    if not conf.multifactor:  # priority/basic: in order of arrival
        conf.values = {k: v for k, v in conf.values.items() if not k.startswith("priority_")}
    if not conf.database:
        for name in ("priority_weight_age", "priority_weight_fairshare"):
            conf.values.pop(name, None)
    if conf.values.get("priority_weight_fairshare") and "no_fair_tree" not in conf.flags:
        conf.unmodelled.append("fair tree (instead: the classic formula with equal shares)")
    if conf.multifactor and set(conf.factors.values()) - {"1"}:
        conf.values["partitions"] = [f"{name}:{each}" for name, each in conf.factors.items()]
    if conf.unmodelled:
        found = ", ".join(dict.fromkeys(conf.unmodelled))
        warnings.warn(f"{conf.path} contains settings that are not modelled: {found}", stacklevel=3)
    return conf.values


def write(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Return the lines from which `read` obtains these settings, without those of partitions."""
    changed = {name: each for name, each in values.items() if each != defaults[name]}
    interval = changed.pop("bf_interval", defaults["bf_interval"])
    lines = [f"SchedulerType=sched/{'builtin' if interval is None else 'backfill'}"]
    if interval not in (None, defaults["bf_interval"]):
        changed["bf_interval"] = interval
    own = {name: each for name, each in changed.items() if name.startswith("priority_")}
    parameters = [f"{name}={each:.12g}" for name, each in changed.items() if name not in own]
    if parameters:
        lines.append(f"SchedulerParameters={','.join(parameters)}")
    if not any(name.startswith("priority_weight") for name in own):
        return [*lines, "PriorityType=priority/basic"]
    lines.append("PriorityType=priority/multifactor")
    if {"priority_weight_age", "priority_weight_fairshare"} & set(own):
        lines.append("AccountingStorageType=accounting_storage/slurmdbd")
    for name, each in own.items():
        key = "".join(word.capitalize() for word in name.split("_")).replace("Qos", "QOS")
        lines.append(f"{key}={'YES' if each is True else format(each, '.12g')}")
    return lines


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines with the number of their first one, joined and without comments."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise PolicyError(
            f"{path} cannot be read ({reason})", advice="give a slurm.conf"
        ) from error
    except UnicodeDecodeError as error:
        raise PolicyError(f"{path} is not a text file", advice="give a slurm.conf") from error
    begun, joined = 1, ""
    for number, line in enumerate(text.splitlines(), 1):
        begun = begun if joined else number
        plain = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        joined += plain.removesuffix("\\")
        if not plain.endswith("\\"):
            yield begun, joined.strip()
            joined = ""
    yield begun, joined.strip()


def _pairs(path: Path, number: int, line: str) -> Iterator[tuple[str, str]]:
    """Yield keys in lower case, and their values."""
    words = line.split(maxsplit=1)
    if words and words[0].lower() == "include":
        yield "include", "".join(words[1:])
    elif line and _PAIR.sub("", line).strip():
        raise PolicyError(
            f"{path}, line {number} is not a line of slurm.conf ({line[:40]!r})",
            given=line,
            allowed="Key=Value pairs, a comment, or Include",
        )
    else:
        for key, value in _PAIR.findall(line):
            plain = value.strip('"')
            yield key.lower(), "" if plain == "(null)" else plain


def _take(conf: _Conf, pairs: list[tuple[str, str]]) -> None:
    """Take the settings of one line."""
    if not pairs:
        return
    first, value = pairs[0]
    conf.familiar |= first in _FAMILIAR or first in _DEFAULTS
    conf.familiar |= first.startswith(("scheduler", "slurm", "select", "priority"))
    if first == "include":
        conf.unmodelled.append(f"Include {value} (a file that is not read)")
        conf.familiar = True
    elif first == "partitionname":
        _take_partition(conf, value, dict(pairs[1:]))
    elif first != "nodename":
        for key, text in pairs:
            _take_setting(conf, key, text)


def _take_partition(conf: _Conf, name: str, given: dict[str, str]) -> None:
    factor = given.get("priorityjobfactor", conf.default_factor)
    if not factor.isdecimal():
        raise invalid("PriorityJobFactor", factor, "a whole number", PolicyError)
    if name.lower() == "default":
        conf.default_factor = factor
    else:
        conf.factors[name] = factor
    _note(conf, given, _OF_PARTITIONS, f" of partition {name}")


def _take_setting(conf: _Conf, key: str, text: str) -> None:
    word = text.lower()
    if key == "schedulerparameters":
        for part in filter(None, (each.strip() for each in text.split(","))):
            _take_parameter(conf, part)
    elif key == "schedulertype":
        if word == "sched/builtin":
            conf.values["bf_interval"] = None
        elif word != "sched/backfill":
            conf.unmodelled.append(f"SchedulerType={text}")
    elif key == "prioritytype":
        conf.multifactor = word == "priority/multifactor"
        if word not in ("priority/multifactor", "priority/basic"):
            conf.unmodelled.append(f"PriorityType={text}")
    elif key == "accountingstoragetype":
        conf.database = word == "accounting_storage/slurmdbd"
    elif key == "priorityflags":
        conf.flags = {each.strip() for each in word.split(",")}
        conf.unmodelled += [
            f"PriorityFlags={each}" for each in text.split(",") if each.lower() != "no_fair_tree"
        ]
    elif key.startswith("priority") and key in (names := _keys(conf.checks)):
        _set(conf, names[key], key, text)
    else:
        _note(conf, {key: text}, _DEFAULTS, "")


def _keys(checks: Checks) -> dict[str, str]:
    """Return the settings with a line of their own, by key."""
    return {name.replace("_", ""): name for name in checks}


def _take_parameter(conf: _Conf, part: str) -> None:
    """Take an item of SchedulerParameters."""
    key, _, text = (word.strip() for word in part.partition("="))
    if key.lower() in conf.checks:
        _set(conf, key.lower(), key, text)
    elif key.lower() not in _OF_THE_DAEMON:
        conf.unmodelled.append(part)


def _set(conf: _Conf, name: str, key: str, text: str) -> None:
    """Set a setting, checked here so that the message has its line."""
    value: bool | float
    if name == "priority_favor_small":
        if text.lower() not in ("yes", "no"):
            raise invalid(key, text, "YES or NO", PolicyError)
        value = text.lower() == "yes"
    elif name in _MINUTES:
        value = _minutes(key, text)
    else:
        try:
            value = float(text)
        except ValueError:
            raise invalid(key, text, "a number", PolicyError) from None
    conf.values[name] = conf.checks[name](value, key)


def _minutes(key: str, text: str) -> float:
    """Return a time of Slurm in minutes: "30", "1:30:00", "7-0" or "7-12:30"."""
    match = _TIME.fullmatch(text)
    if match is None:
        allowed = 'minutes, or a time such as "12:00:00" or "7-0" (days-hours)'
        raise invalid(key, text, allowed, PolicyError)
    days, *rest = (0 if part is None else int(part) for part in match.groups())
    if match[1] is None and match[4] is None:  # minutes, or minutes:seconds
        rest = [0, *rest[:2]]
    hours, minutes, seconds = rest
    return (days * 24 + hours) * 60 + minutes + seconds / 60


def _note(conf: _Conf, given: dict[str, str], defaults: dict[str, str], where: str) -> None:
    """Note the settings that have an effect and are not modelled."""
    for key, text in given.items():
        if defaults.get(key, text.lower()) != text.lower():
            conf.unmodelled.append(f"{_SPELLED[key]}={text}{where}")


_SPELLED = {
    each.lower(): each
    for each in (
        *("AccountingStorageEnforce", "CompleteWait", "FairShareDampeningFactor"),
        *("JobSubmitPlugins", "Licenses", "OverTimeLimit", "PreemptMode", "PreemptType"),
        *("PrioritySiteFactorPlugin", "PriorityTier", "PriorityUsageResetPeriod"),
        *("PriorityWeightAssoc", "PriorityWeightTRES", "QOS"),
    )
}
"""Keys as Slurm spells them."""
