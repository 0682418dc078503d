"""Checks of the settings of a simulation: each returns a plain value, or raises one sentence."""

from __future__ import annotations

from quickswap._check import boolean, integer, real
from quickswap.errors import QuickswapError, shown

__all__ = ["between", "check_progress", "flag", "jobs_intended", "warmup_rule", "whole"]

MOST = 10**15
"""Jobs of a run: a year at thirty million a second."""


def jobs_intended(jobs: object, precision: object) -> int:
    """Return the jobs of a simulation, or the default if it does not say how many."""
    if jobs is None:
        return 1_000_000 if precision is None else 100_000_000
    return whole(jobs, "jobs", 1)


def whole(value: object, what: str, least: int, most: int = MOST) -> int:
    """Return a setting that is a whole number from `least` to `most`."""
    number = integer(value)
    if number is None or not least <= number <= most:
        raise QuickswapError(
            f"{what} is {shown(value)}; it must be a whole number from {least} to {most}."
        )
    return number


def between(value: object, what: str, low: float, high: float) -> float:
    """Return a setting that is a number between two others."""
    number = real(value)
    if number is None or not low < number < high:
        kind = "a number " if number is None else ""
        raise QuickswapError(
            f"{what} is {shown(value)}; it must be {kind}above {low} and below {high}."
        )
    return number


def warmup_rule(value: object) -> float | str:
    """Return the share of a run that is cut off, or the name of the rule."""
    if isinstance(value, str) and value == "mser5":
        return "mser5"
    share = real(value)
    if share is None or not 0 <= share < 1:
        raise QuickswapError(
            f'warmup is {shown(value)}; it must be "mser5" or a share from 0 to below 1.'
        )
    return share


def flag(value: object, what: str) -> bool:
    """Return a setting that is on or off."""
    if not boolean(value):
        raise QuickswapError(f"{what} is {shown(value)}; it must be True or False.")
    return bool(value)


def check_progress(progress: object) -> None:
    """Refuse what cannot be called."""
    if progress is not None and not callable(progress):
        raise QuickswapError(
            f"progress is {shown(progress)}; it must be a function of the completions so far and "
            "those intended."
        )
