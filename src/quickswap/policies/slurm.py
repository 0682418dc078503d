"""The scheduling of Slurm, with the settings of slurm.conf."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self, final

from quickswap._check import flag, items, real, whole
from quickswap._words import count_of
from quickswap.errors import PolicyError, invalid
from quickswap.model.system import System
from quickswap.policies.base import Policy

__all__ = ["Slurm"]

DAY = 24 * 60
"""Minutes."""
MOST = 2**32 - 1
"""Largest weight and priority in Slurm."""


def _whole(default: int, low: int, high: int) -> Any:
    """Return a field for a whole number."""
    return _setting(default, lambda value, what: whole(value, what, low, high, PolicyError))


def _number(default: float, low: float, high: float) -> Any:
    """Return a field for a number."""

    def check(value: object, what: str) -> float:
        number = real(value)
        if number is None or not low <= number <= high:
            raise invalid(what, value, f"a number from {low:g} to {high:g}", PolicyError)
        return number

    return _setting(default, check)


def _setting(default: Any, check: Callable[[Any, str], Any]) -> Any:
    return field(default=default, metadata={"check": check})


def _interval(value: object, what: str) -> float | None:
    number = math.inf if value is None else real(value)
    if number in (math.inf, -1):
        return None
    if number is None or not 1 <= number <= 10_800:
        allowed = "a number from 1 to 10800, or -1 for no backfilling"
        raise invalid(what, value, allowed, PolicyError)
    return number


def _factors(value: object, what: str) -> tuple[str, ...]:
    """Return names with their numbers, as in "debug:10"."""
    given = items(value)
    for each in [value] if given is None else given:
        name, _, factor = each.rpartition(":") if isinstance(each, str) else ("", "", "")
        if not name or count_of(factor) is None:
            allowed = 'a list of names and whole numbers, as in "debug:10"'
            raise invalid(what, value, allowed, PolicyError)
    return tuple(map(str, given or ()))


@final
@dataclass(frozen=True, slots=True)
class Slurm(Policy):
    """Schedule as Slurm does, with a main loop and backfill cycles over jobs in order of priority.

    The settings have the names, defaults and units of slurm.conf. A job has a priority, the sum of
    weighted factors from 0 to 1, rounded down: its age, up to `priority_max_age` minutes; its share
    of the servers, or the rest with `priority_favor_small`; its partition and its QOS; and the
    fair-share factor of its user, 2^(-U/S), where U is the user's share of all usage, which halves
    every `priority_decay_half_life` minutes, and S = 1 / (number of users). Priorities are
    calculated when a job arrives, and again at the first decision of each period of
    `priority_calc_period` minutes. With equal priorities the older job is first.

    Main loop, after each arrival and completion: the first `default_queue_depth` jobs start if they
    fit, until one does not fit that may reserve. A job may reserve if it has waited for at least
    `bf_min_age_reserve` seconds and its priority is at least `bf_min_prio_reserve`.

    Backfill cycle, `bf_interval` seconds after the last one, or later, as soon as a job has
    arrived, started or ended since then: the first `bf_max_job_test` jobs, at most
    `bf_max_job_user` of a user, start if that delays no reservation. Those that do not start and
    may reserve get the earliest reservation within `bf_window` minutes, the first
    `bf_job_part_count_reserve` of them. Limits of 0 are none. Jobs in service and reservations end
    at their time limits. Ends of jobs in service are rounded down, and the lengths of reservations
    up, to multiples of `bf_resolution` seconds. Reservations end with the cycle.

    `partitions` are the `PriorityJobFactor` of partitions, 1 by default, and `qos` the priorities
    of QOS, 0 by default: `partitions=("debug:10", "batch:1")`. A replay has the users, partitions
    and QOS of the log; in `simulate` each class is a user.

    Source: the manual of Slurm, slurm.conf and "Multifactor Priority Plugin", 22.05.
    """

    name: ClassVar[str] = "slurm"
    title: ClassVar[str] = "Slurm"
    estimates: ClassVar[bool] = True
    individual: ClassVar[bool] = True
    lists: ClassVar[tuple[str, ...]] = ("partitions", "qos")

    default_queue_depth: int = _whole(100, 1, 10**9)
    bf_interval: float | None = _setting(30, _interval)
    bf_window: float = _number(DAY, 1, 30 * DAY)
    bf_resolution: float = _number(60, 1, 3600)
    bf_max_job_test: int = _whole(500, 1, 10**6)
    bf_max_job_user: int = _whole(0, 0, 10**6)
    bf_job_part_count_reserve: int = _whole(0, 0, 10**5)
    bf_min_age_reserve: float = _number(0, 0, 30 * DAY * 60)
    bf_min_prio_reserve: int = _whole(0, 0, 2**63)
    priority_weight_age: int = _whole(0, 0, MOST)
    priority_weight_fairshare: int = _whole(0, 0, MOST)
    priority_weight_job_size: int = _whole(0, 0, MOST)
    priority_weight_partition: int = _whole(0, 0, MOST)
    priority_weight_qos: int = _whole(0, 0, MOST)
    priority_max_age: float = _number(7 * DAY, 1, 10**9)
    priority_decay_half_life: float = _number(7 * DAY, 0, 10**9)
    priority_calc_period: float = _number(5, 1, 10**9)
    priority_favor_small: bool = _setting(False, lambda value, what: flag(value, what, PolicyError))
    partitions: tuple[str, ...] = _setting((), _factors)
    qos: tuple[str, ...] = _setting((), _factors)

    def __post_init__(self) -> None:
        for each in fields(self):
            value = each.metadata["check"](getattr(self, each.name), f"{each.name} of Slurm")
            object.__setattr__(self, each.name, value)

    @classmethod
    def from_conf(cls, path: str | Path) -> Self:
        """Return the policy of a slurm.conf.

        Warns:
            UserWarning: the file contains settings of the schedule that are not modelled.

        Raises:
            PolicyError: the file cannot be read, or a value is not valid.
        """
        from quickswap.policies.slurm_conf import read

        return cls(**read(path, {each.name: each.metadata["check"] for each in fields(cls)}))

    def to_conf(self) -> list[str]:
        """Return the lines of slurm.conf with these settings, except `partitions` and `qos`."""
        from quickswap.policies.slurm_conf import write

        kept = [each for each in fields(self) if each.name not in self.lists]
        values = {each.name: getattr(self, each.name) for each in kept}
        return write(values, {each.name: each.default for each in kept})

    def constant_priority(self, column: str, name: str | None) -> float:
        """Return the part of the priority of the jobs in a `partition` or `queue` (QOS)."""
        given, default, weight = {
            "partition": (self.partitions, 1, self.priority_weight_partition),
            "queue": (self.qos, 0, self.priority_weight_qos),
        }[column]
        factors = {key: int(number) for key, _, number in (each.rpartition(":") for each in given)}
        most = max(factors.values(), default=default)
        return weight * min(1.0, factors.get(name or "", default) / most) if most else 0.0

    def _parameters(self, system: System) -> dict[str, object]:
        minutes = ("bf_window", "priority_max_age", "priority_decay_half_life")
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        for constant in ("partitions", "qos", "priority_weight_partition", "priority_weight_qos"):
            del values[constant]
        for name in (*minutes, "priority_calc_period"):
            values[name] *= 60
        return values

    def _details(self) -> list[str]:
        changed = [each for each in fields(self) if getattr(self, each.name) != each.default]
        return [f"{each.name}={_shown(getattr(self, each.name))}" for each in changed]


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value).replace("None", "-1")
