"""Checks of single values: each returns a plain value, or raises one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import SupportsFloat

from quickswap.errors import ModelError, QuickswapError

__all__ = ["number", "numbers", "positive", "whole"]


def number(
    value: object, what: str, low: float = -math.inf, error: type[QuickswapError] = ModelError
) -> float:
    """Return `value` as a finite float of at least `low`.

    Integers and NumPy scalars are taken; booleans, text, nan and infinities are not.
    """
    result = _real(value)
    if result is None or not math.isfinite(result) or result < low:
        least = f" of at least {low:g}" if low > -math.inf else ""
        raise error(f"{what} must be a finite number{least}, not {value!r}.")
    return result


def positive(value: object, what: str, error: type[QuickswapError] = ModelError) -> float:
    """Return `value` as a finite float above zero."""
    result = _real(value)
    if result is None or not math.isfinite(result) or result <= 0:
        raise error(f"{what} must be a positive finite number, not {value!r}.")
    return result


def numbers(values: object, what: str, low: float = -math.inf) -> tuple[float, ...]:
    """Return a non-empty list, tuple or array as a tuple of finite floats of at least `low`."""
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise ModelError(f"{what} must be a list of numbers, not {values!r}.")
    result = tuple(number(value, f"each of {what}", low) for value in values)
    if not result:
        raise ModelError(f"{what} must hold at least one number.")
    return result


def whole(
    value: object,
    what: str,
    low: int,
    high: int | None = None,
    error: type[QuickswapError] = ModelError,
) -> int:
    """Return `value` as an int from `low` to `high`.

    2.0 and NumPy integers are taken; 2.5, True and "2" are not.
    """
    result: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        result = value
    elif (real := _real(value)) is not None and real.is_integer():
        result = int(real)
    if result is None or result < low or (high is not None and result > high):
        upper = f" from {low} to {high}" if high is not None else f" of at least {low}"
        raise error(f"{what} must be a whole number{upper}, not {value!r}.")
    return result


def _real(value: object) -> float | None:
    """Return a number as a plain float, or None if it is none or too large for a float."""
    if _boolean(value) or isinstance(value, str | bytes) or not isinstance(value, SupportsFloat):
        return None
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return None


def _boolean(value: object) -> bool:
    # NumPy's own is known by its name, so that NumPy need not be imported.
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
