"""Checks of the settings of a simulation: each returns a plain value or raises an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from quickswap._check import boolean, integer, real
from quickswap.errors import QuickswapError, shown, unknown

__all__ = [
    *("GridSettings", "PointSettings", "ReplaySettings", "SimulationSettings"),
    *("between", "check_progress", "check_settings", "flag", "jobs_intended"),
    *("warmup_rule", "whole"),
]


class PointSettings(TypedDict, total=False):
    """What determines a simulation besides its system and policy; see `simulate`."""

    jobs: int | None
    precision: float | None
    precision_of: str
    seed: int
    engine: str
    replications: int
    warmup: float | str
    slowdown_bound: float
    trajectory: int
    max_in_system: int
    allow_unstable: bool


class SimulationSettings(PointSettings, total=False):
    """What `simulate` and `compare` take besides what determines the result."""

    threads: int | None
    debug: bool


class GridSettings(TypedDict, total=False):
    """The settings of a point in a grid: each a value or an iterable of values."""

    jobs: int | Iterable[int] | None
    precision: float | Iterable[float] | None
    precision_of: str | Iterable[str]
    seed: int | Iterable[int]
    engine: str | Iterable[str]
    replications: int | Iterable[int]
    warmup: float | str | Iterable[float | str]
    slowdown_bound: float | Iterable[float]
    trajectory: int | Iterable[int]
    max_in_system: int | Iterable[int]
    allow_unstable: bool | Iterable[bool]


class ReplaySettings(TypedDict, total=False):
    """The settings of a replay besides its policy and load; see `replay`."""

    servers: int | None
    estimate: str | float
    classes: str
    warmup: float
    cooldown: float
    slowdown_bound: float
    seed: int
    debug: bool


MOST = 10**15
"""Jobs of a run: a year at thirty million a second."""


def jobs_intended(jobs: object, precision: object) -> int:
    """Return the jobs of a simulation, or the default for None."""
    if jobs is None:
        return 1_000_000 if precision is None else 100_000_000
    return whole(jobs, "jobs", 1)


def whole(value: object, what: str, least: int, most: int = MOST) -> int:
    """Return a setting that is a whole number from `least` to `most`."""
    number = integer(value)
    if number is None or not least <= number <= most:
        raise _invalid(what, value, f"a whole number from {least} to {most}")
    return number


def between(value: object, what: str, low: float, high: float) -> float:
    """Return a setting that is a number between two others."""
    number = real(value)
    if number is None or not low < number < high:
        kind = "a number " if number is None else ""
        raise _invalid(what, value, f"{kind}above {low} and below {high}")
    return number


def warmup_rule(value: object) -> float | str:
    """Return the share of a run that is cut off, or the name of the rule."""
    if isinstance(value, str) and value == "mser5":
        return "mser5"
    share = real(value)
    if share is None or not 0 <= share < 1:
        raise _invalid("warmup", value, '"mser5" or a share from 0 to below 1')
    return share


def flag(value: object, what: str) -> bool:
    """Return a setting that is on or off."""
    if not boolean(value):
        raise _invalid(what, value, "True or False")
    return bool(value)


def check_settings(given: Mapping[str, Any], known: type, what: str) -> None:
    """Refuse a setting that a typed dictionary of settings does not have."""
    names = known.__annotations__
    for name in given:
        if name not in names:
            unknown(f"setting of {what}", name, names, QuickswapError)


def check_progress(progress: object) -> None:
    """Refuse a `progress` that is not callable."""
    if progress is not None and not callable(progress):
        allowed = "a function of the completions so far and those intended"
        raise _invalid("progress", progress, allowed)


def _invalid(argument: str, given: object, allowed: str) -> QuickswapError:
    message = f"{argument} is {shown(given)}; it must be {allowed}."
    return QuickswapError(message, argument=argument, given=given, allowed=allowed)
