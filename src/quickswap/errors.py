"""Errors and warnings: the message states what was given, what is allowed and what to do.

Every error that a user can cause is a `QuickswapError`, with a message of one sentence. The command
line prints it and exits with code 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, NoReturn, TypeVar

__all__ = [
    "InfiniteVarianceWarning",
    "Interrupted",
    "ModelError",
    "PolicyError",
    "QuickswapError",
    "UnstableError",
    "inside",
    "shown",
    "unknown",
]

LONGEST = 80
"""Largest number of characters of a given value in a message."""

Key = str | int
"""One step into a model: the name of a key, or a position in a list."""


class QuickswapError(ValueError):
    """A mistake of the user; `where` contains the keys that lead to it in a model."""

    def __init__(self, message: str, where: tuple[Key, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


class ModelError(QuickswapError):
    """An invalid size distribution, arrival process, job class, system or model file."""


class PolicyError(QuickswapError):
    """An unknown policy, a parameter out of range, or a policy that cannot serve the system."""


class UnstableError(QuickswapError):
    """An arrival rate at which the system or the policy is unstable, so that no mean exists."""


Found = TypeVar("Found")


class Interrupted(KeyboardInterrupt, Generic[Found]):
    """Ctrl-C during long work; `result` contains what was measured until then, or None.

    It is a `Result` from `simulate`, a `Comparison` whose last result is the interrupted one from
    `compare`, and the complete part of the results from `replay_all`, `sweep` and `tune`.
    """

    def __init__(self, result: Found | None) -> None:
        super().__init__("interrupted; .result contains what was measured until then")
        self.result = result


class InfiniteVarianceWarning(UserWarning):
    """A job size with which waiting times can have infinite variance.

    Its third moment, or even its variance, is infinite; means of waiting times then have no
    confidence interval.
    """


@contextmanager
def inside(*path: Key) -> Iterator[None]:
    """Prepend `path` to `where` of any error raised within."""
    try:
        yield
    except QuickswapError as error:
        error.where = (*path, *error.where)
        raise


def shown(value: object) -> str:
    """Return a given value as a message shows it: on one line, and shortened if it is long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer of thousands of digits, an object that cannot be shown
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 10]} ... {text[-5:]}"


def unknown(
    kind: str,
    given: object,
    known: Iterable[str],
    error: type[QuickswapError] = ModelError,
    where: tuple[Key, ...] = (),
) -> NoReturn:
    """Raise `error` for an unknown name, with the nearest known name and the list of all names."""
    raise error(unknown_message(kind, given, known), where)


def unknown_message(kind: str, given: object, known: Iterable[str]) -> str:
    """Return the message of `unknown`."""
    import difflib

    names = list(known)
    word = given.lower() if isinstance(given, str) else ""
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"unknown {kind}: {shown(given)}{hint}; known: {', '.join(names)}."
