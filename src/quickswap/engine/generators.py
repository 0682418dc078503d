"""Random generators that a custom policy uses instead of the one that the run gives it.

Each replication works on a copy of the policy, and a generator inside it is copied with its state:
all replications then draw the same numbers, so their spread, and the confidence interval made
of it, is wrong. The global generators are shared with all other code, so no run that draws
from them can be repeated.
"""

from __future__ import annotations

import dis
import random
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType

from quickswap.errors import PolicyError
from quickswap.policies.fingerprint import attributes, foreign

__all__ = ["generator_of", "untouched_generators"]

DEEPEST = 6
"""Steps from the policy to a generator."""
MOST = 10_000
"""Objects that are looked at."""
GLOBAL = ("random", "numpy.random")
"""Modules whose functions draw from a global generator."""


def generator_of(policy: object) -> str | None:
    """Return where a custom policy reaches a random generator, or None.

    Looked at are its attributes and what they hold, and the globals that its methods and the
    functions called there use.
    """
    seen = {id(policy)}
    pending: deque[tuple[str, object, int]] = deque([("", policy, 0)])
    while pending and len(seen) < MOST:
        where, value, depth = pending.popleft()
        for step, part in _parts(value):
            place = f"{where}{step}".lstrip(".")
            if _draws(part):
                return place
            if id(part) not in seen and depth + 1 < DEEPEST:
                seen.add(id(part))
                pending.append((place, part, depth + 1))
    return None


def _draws(value: object) -> bool:
    """Whether it is a generator, a method of one, or a module with a global one."""
    if isinstance(value, ModuleType):
        return value.__name__ in GLOBAL
    if isinstance(value, MethodType | BuiltinMethodType):
        value = value.__self__
    numpy = sys.modules.get("numpy.random")  # not imported, so not used
    kinds = () if numpy is None else (numpy.Generator, numpy.RandomState, numpy.BitGenerator)
    return isinstance(value, (random.Random, *kinds))


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """Yield what an object holds or calls, each with the step that leads there."""
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from ((f"[{place}]", part) for place, part in enumerate(value))
    elif isinstance(value, property | staticmethod | classmethod | MethodType):
        yield "", value.fget if isinstance(value, property) else value.__func__
    elif isinstance(value, FunctionType):
        if not foreign(value):
            yield from _used(value)
    elif not isinstance(value, type | ModuleType):
        yield from ((f".{name}", part) for name, part in attributes(value))
        for kind in type(value).__mro__:
            if not foreign(kind):
                yield from ((f".{name}", part) for name, part in vars(kind).items())


def _used(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the objects that a function reaches: closures, globals and imported modules."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f": {name}", cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for names in _paths(function.__code__):
        if names[0] in function.__globals__:
            value = function.__globals__[names[0]]
            place = names[0]
            for name in names[1:]:
                if not isinstance(value, ModuleType) or _draws(value) or not hasattr(value, name):
                    break
                value, place = getattr(value, name), f"{place}.{name}"
            yield f": {place}", value
        elif names[0] in sys.modules:  # imported inside
            yield f": {names[0]}", sys.modules[names[0]]


def _paths(code: CodeType) -> Iterator[list[str]]:
    """Yield the global names that code loads, each with the attributes taken from it at once."""
    path: list[str] = []
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM") and path:
            path = [*path, str(each.argval)]
            if each.opname == "IMPORT_FROM":
                yield [".".join(path)]
                path = path[:-1]
            continue
        if path:
            yield path
        named = each.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME")
        path = [str(each.argval)] if named else []
    if path:
        yield path
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _paths(constant)


@contextmanager
def untouched_generators(name: str) -> Iterator[None]:
    """Reject a run in which the custom policy `name` draws from a global generator.

    This detects what `generator_of` cannot see, such as draws in a compiled function.

    Raises:
        PolicyError: the state of a global generator is another one after the run.
    """
    before = _states()
    yield
    for module, state in _states().items():
        if module in before and before[module] != state:
            raise PolicyError(
                f"the global generator of {module} was used while policy {name} was simulated, so "
                "that the run cannot be repeated: draw from view.random instead.",
                given=module,
                advice="draw from view.random instead",
            )


def _states() -> dict[str, object]:
    """Return the states of the global generators, to be compared."""
    states: dict[str, object] = {"random": random.getstate()}
    if (numpy := sys.modules.get("numpy.random")) is not None:
        name, keys, *rest = numpy.get_state()
        states["numpy.random"] = (name, keys.tobytes(), *rest)
    return states
