"""Hashes of the source and the attributes of custom policies."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["attributes", "fingerprint", "foreign", "references"]

FOREIGN = {*sys.stdlib_module_names, "numpy", "scipy", "polars", "quickswap"}
"""Packages whose source is not read."""
DIGITS = 16
"""Hexadecimal digits of a fingerprint."""


def fingerprint(policy: object) -> str:
    """Return a hash of the methods of a policy, of the functions and constants that they use, and
    of its attributes.

    It is the same in every process where the source can be read.
    """
    digest = hashlib.sha256()
    for part in _parts(policy):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:DIGITS]


def _parts(policy: object) -> Iterator[str]:
    if isinstance(library := getattr(policy, "library", None), Path):
        yield hashlib.sha256(library.read_bytes()).hexdigest()
    seen: set[int] = set()
    for kind in type(policy).__mro__:
        if not foreign(kind):
            yield kind.__name__
            for name, value in sorted(vars(kind).items()):
                if not name.startswith("__") or isinstance(value, FunctionType):
                    yield name
                    yield from _content(value, seen)
    for name, value in sorted(attributes(policy), key=lambda each: each[0]):
        yield name
        yield from _content(value, seen)


def _content(value: object, seen: set[int]) -> Iterator[str]:
    """Yield what a value contains, without addresses."""
    value = getattr(value, "py_func", value)
    numpy: Any = sys.modules.get("numpy")  # not imported, so not used
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        yield f"{value.dtype.str}{value.shape}{value.tolist()!r}"
    elif value is None or isinstance(value, bool | int | float | str | bytes):
        yield repr(value)
    elif isinstance(value, ModuleType):
        yield value.__name__
    elif id(value) in seen:
        yield type(value).__name__
    else:
        seen.add(id(value))
        if isinstance(value, FunctionType):
            yield from _function(value, seen)
        elif isinstance(value, property | staticmethod | classmethod):
            inner = value.fget if isinstance(value, property) else value.__func__
            yield from _content(inner, seen)
        elif isinstance(value, Mapping):
            for key, each in sorted(value.items(), key=lambda pair: repr(pair[0])):
                yield repr(key)
                yield from _content(each, seen)
        elif isinstance(value, set | frozenset):
            yield repr(sorted(map(repr, value)))
        elif isinstance(value, list | tuple):
            for each in value:
                yield from _content(each, seen)
        else:
            yield type(value).__qualname__
            if not foreign(type(value)):
                yield from _content(dict(attributes(value)), seen)


def _function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    try:
        yield inspect.getsource(function)
    except (OSError, TypeError):  # typed at a prompt
        yield from _code(function.__code__)
    if foreign(function):
        return
    for name, value in sorted(references(function).items()):
        if not isinstance(value, type):
            yield name
            yield from _content(value, seen)


def references(function: FunctionType) -> dict[str, object]:
    """Return what the names in a function refer to, also those in comprehensions inside it."""
    names, pending = set(), [function.__code__]
    while pending:
        code = pending.pop()
        names |= set(code.co_names)
        pending += [each for each in code.co_consts if isinstance(each, CodeType)]
    found = {name: function.__globals__[name] for name in names & function.__globals__.keys()}
    return found | dict(inspect.getclosurevars(function).nonlocals)


def _code(code: CodeType) -> Iterator[str]:
    yield f"{code.co_code!r}{code.co_names!r}{code.co_varnames!r}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield repr(constant)


def foreign(value: Any) -> bool:
    """Return whether a class or function belongs to a package whose insides are not looked at."""
    module = getattr(value, "__module__", None)
    return not isinstance(module, str) or module.partition(".")[0] in FOREIGN


def attributes(value: object) -> Iterator[tuple[str, object]]:
    """Yield the names and values of the attributes of an object."""
    yield from getattr(value, "__dict__", {}).items()
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield name, getattr(value, name)
