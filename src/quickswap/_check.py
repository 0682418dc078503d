"""Checks of single values: each returns a plain value, or raises an error.

`what` is the argument as the message calls it, e.g. "rate of MSFQ".
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from typing import ParamSpec, SupportsFloat, TypeVar

from quickswap.errors import ModelError, QuickswapError, invalid, unknown

__all__ = [
    "between",
    "boolean",
    "check_keys",
    "checks_keywords",
    "factor",
    "flag",
    "integer",
    "items",
    "number",
    "numbers",
    "positive",
    "real",
    "whole",
]

Arguments = ParamSpec("Arguments")
Found = TypeVar("Found")


def checks_keywords(function: Callable[Arguments, Found]) -> Callable[Arguments, Found]:
    """Decorate a function so that for an unknown keyword the error contains the nearest known."""
    known = inspect.signature(function).parameters

    @wraps(function)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Found:
        for name in kwargs:
            if name not in known:
                what = f"argument of {function.__name__}"
                unknown(what, name, known, QuickswapError, argument=name)
        return function(*args, **kwargs)

    return checked


def number(
    value: object, what: str, low: float = -math.inf, error: type[QuickswapError] = ModelError
) -> float:
    """Return `value` as a finite float of at least `low`.

    Integers and NumPy scalars are accepted; booleans, text, nan and infinities are not.
    """
    result = real(value)
    if result is None or not math.isfinite(result) or result < low:
        least = f" of at least {low:g}" if low > -math.inf else ""
        raise invalid(what, value, f"a finite number{least}", error)
    return result


def positive(value: object, what: str, error: type[QuickswapError] = ModelError) -> float:
    """Return `value` as a finite float above zero."""
    result = real(value)
    if result is None or not math.isfinite(result) or result <= 0:
        raise invalid(what, value, "a positive finite number", error)
    return result


def factor(value: object, what: str, error: type[QuickswapError]) -> float:
    """Return `value` as a float from 0.001 to 1000, by which a load may be multiplied."""
    result = positive(value, what, error)
    if not 1e-3 <= result <= 1e3:
        raise invalid(what, value, "from 0.001 to 1000", error)
    return result


def numbers(values: object, what: str, low: float = -math.inf) -> tuple[float, ...]:
    """Return a non-empty list, tuple or array as a tuple of finite floats of at least `low`."""
    given = items(values)
    if not given:
        raise invalid(what, values, "a list of at least one number")
    return tuple(number(value, f"an item of {what}", low) for value in given)


def rates_of(values: object, what: str) -> tuple[float, ...]:
    """Return finite numbers from 0 on, one of them above 0."""
    found = numbers(values, what, 0.0)
    if max(found) == 0:
        raise invalid(what, found, "numbers of which at least one is above 0")
    return found


def positives(values: object, what: str, count: int, each: str) -> tuple[float, ...]:
    """Return as many finite numbers above 0 as there are of something else."""
    found = tuple(positive(value, f"an item of {what}") for value in numbers(values, what))
    if len(found) != count:
        raise invalid(f"number of {what}", len(found), f"{count}, one for each {each}")
    return found


def whole(
    value: object,
    what: str,
    low: int,
    high: int | None = None,
    error: type[QuickswapError] = ModelError,
) -> int:
    """Return `value` as an int from `low` to `high`.

    2.0 and NumPy integers are accepted; 2.5, True and "2" are not.
    """
    result = integer(value)
    if result is None or result < low or (high is not None and result > high):
        upper = f" from {low} to {high}" if high is not None else f" of at least {low}"
        raise invalid(what, value, f"a whole number{upper}", error)
    return result


def between(
    value: object, what: str, low: float, high: float, error: type[QuickswapError] = ModelError
) -> float:
    """Return `value` as a float above `low` and below `high`."""
    result = real(value)
    if result is None or not low < result < high:
        kind = "a number " if result is None else ""
        upper = f"below {high}" if high < math.inf else "finite"
        raise invalid(what, value, f"{kind}above {low} and {upper}", error)
    return result


def flag(value: object, what: str, error: type[QuickswapError] = ModelError) -> bool:
    """Return `value` as True or False; 1, "yes" and None are not accepted."""
    if not boolean(value):
        raise invalid(what, value, "True or False", error)
    return bool(value)


def integer(value: object) -> int | None:
    """Return a whole number as an int, or None for any other value."""
    if isinstance(value, int):
        return None if boolean(value) else int(value)
    found = real(value)
    return int(found) if found is not None and found.is_integer() else None


def real(value: object) -> float | None:
    """Return a number as a plain float, or None if it is not a number or too large for a float."""
    if isinstance(value, float):
        return float(value)
    if boolean(value) or isinstance(value, str | bytes):
        return None
    if not isinstance(value, int | SupportsFloat):  # the latter is slow to check
        return None
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return None


def boolean(value: object) -> bool:
    """Return whether a value is True or False, NumPy's included."""
    # NumPy's type is recognised by its name, so NumPy is not imported.
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def check_keys(
    data: Iterable[str], owner: str, known: Collection[str], required: Iterable[str] = ()
) -> None:
    """Reject an unknown key, with its place, and then a required key that is missing."""
    for key in data:
        if key not in known:
            unknown(f"key of {owner}", key, known, where=(key,))
    for key in required:
        if key not in data:
            raise ModelError(f"{owner} requires the key {key}.", argument=key)


def items(values: object) -> list[object] | None:
    """Return the items of a list, tuple, array or other iterable; None for text and mappings."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        return None
    try:
        return list(values)
    except TypeError:  # an array without dimensions
        return None
