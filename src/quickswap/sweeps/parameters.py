"""Policies with lists of parameters: `msfq:threshold=[0,8,31]` describes three policies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeVar

from quickswap._check import items
from quickswap.engine.custom import CustomPolicy, check_custom
from quickswap.errors import PolicyError, invalid, shown
from quickswap.policies import POLICIES, Policy, parse
from quickswap.policies.custom import built, described

__all__ = ["expand_parameters"]

LIST = re.compile(r"\[([^\[\]]*)\]")
RANGE = re.compile(r"\s*(-?\d{1,99})\s*\.\.\s*(-?\d{1,99})\s*(?:\.\.\s*(\d{1,99})\s*)?")
T = TypeVar("T")
MOST = 100_000
"""Policies of one description."""


def expand_parameters(given: object) -> list[Policy]:
    """Return the policies that a description expands to.

    Args:
        given: a policy; a custom policy, or its class with `parameters`; a spelling, in which a
            value may be a list in brackets, of items and of ranges "first..last" or
            "first..last..step"; or a mapping with "name" and parameters, each a value or a list of
            values.

    Raises:
        PolicyError: the description is none of these, or one of its policies is not valid.
    """
    if isinstance(given, Policy):
        return [given]
    if isinstance(given, str):
        return [parse(text) for text in _texts(given)]
    if isinstance(given, Mapping):
        return [parse(text) for text in _spelled(given)]
    parameters = getattr(given, "parameters", None)
    if isinstance(given, type) and isinstance(parameters, Mapping):
        return list(_instances(given, parameters))
    if isinstance(given, CustomPolicy) and not isinstance(given, type):
        check_custom(given)
        return [described(given)]
    allowed = (
        "a policy, a spelling as in 'msfq:threshold=[0,8,31]', or a table with its "
        "name and parameters"
    )
    raise invalid("policy", given, allowed, PolicyError)


def _instances(kind: type, parameters: Mapping[str, object]) -> Iterator[Policy]:
    """Yield a custom policy for each combination of its parameters."""
    lists = [
        [values] if items(values) is None else list(items(values) or ())
        for values in parameters.values()
    ]
    for chosen in _product(lists, kind.__name__):
        yield built(kind, kind.__name__, dict(zip(parameters, chosen, strict=True)))


def _texts(text: str) -> Iterator[str]:
    """Yield the spellings that one with lists expands to; the last list varies fastest."""
    lists = [_values(match[1], text) for match in LIST.finditer(text)]
    pieces = LIST.split(text)[::2]
    if any("[" in piece or "]" in piece for piece in pieces):
        raise _invalid(text, "has unbalanced brackets")
    for chosen in _product(lists, text):
        yield "".join(map("".join, zip(pieces, (*chosen, ""), strict=True)))


def _values(inside: str, text: str) -> list[str]:
    values: list[str] = []
    for item in inside.split(","):
        match = RANGE.fullmatch(item)
        if match is None:
            values.append(item.strip())
            continue
        first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
        if step < 1 or last < first:
            raise _invalid(text, f"contains the range {item.strip()}, which is not ascending")
        if (count := (last - first) // step + 1) > MOST:
            raise _invalid(
                text,
                f"contains the range {item.strip()} of {count:,} values; at most {MOST:,} are "
                "allowed: give a larger step, as in first..last..step",
            )
        values += map(str, range(first, last + 1, step))
    if not all(values):
        raise _invalid(text, "has a list with an empty item")
    return values


def _spelled(given: Mapping[str, object]) -> Iterator[str]:
    """Yield the spellings of a mapping."""
    name = given.get("name")
    if not isinstance(name, str):
        raise _invalid(dict(given), "has no name: give one, as in name = 'msfq'")
    lists = next((kind.lists for kind in POLICIES if kind.name == name.lower()), ())
    keys = [key for key in given if key != "name"]
    values = [_choices(given[key], key in lists) for key in keys]
    for chosen in _product(values, name):
        pairs = ",".join(f"{key}={value}" for key, value in zip(keys, chosen, strict=True))
        yield f"{name}:{pairs}" if pairs else name


def _choices(value: object, is_list: bool) -> list[str]:
    """Return the values of a parameter as text; a parameter that is a list takes a list of them."""
    several = items(value)
    if several is None:
        return _texts_of_value(value)
    if is_list and not any(items(each) is not None for each in several):
        return ["+".join(map(_text, several))]
    if is_list:
        return ["+".join(map(_text, items(each) or [each])) for each in several]
    return [text for each in several for text in _texts_of_value(each)]


def _texts_of_value(value: object) -> list[str]:
    if isinstance(value, str) and RANGE.fullmatch(value):
        return _values(value, value)
    return [_text(value)]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _product(lists: Sequence[Sequence[T]], text: str) -> Iterator[tuple[T, ...]]:
    size = 1
    for each in lists:
        size *= len(each)
    if size == 0 or size > MOST:
        raise _invalid(text, f"expands to {size} policies; give from 1 to {MOST}")
    return product(*lists)


def _invalid(given: object, problem: str) -> PolicyError:
    return PolicyError(f"policy {shown(given)} {problem}.", argument="policies", given=given)
