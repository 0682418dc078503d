"""Errors and warnings: the message states what was given, what is allowed and what to do.

Every error that a user can cause is a `QuickswapError`, with a message of one sentence. The command
line prints it and exits with code 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, NoReturn, Self, TypeVar

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
    """An input that is not valid.

    Args:
        message: a sentence; "" for "ARGUMENT is GIVEN; it must be ALLOWED: ADVICE."

    Attributes:
        where: keys that lead to it in a model.
        argument: name of the argument at fault, as the message calls it; "" if there is none.
        given: its value.
        allowed: the values that it may have.
        advice: a remedy.
    """

    def __init__(
        self,
        message: str = "",
        where: tuple[Key, ...] = (),
        *,
        argument: str = "",
        given: object = None,
        allowed: str = "",
        advice: str = "",
    ) -> None:
        if not message:
            message = f"{argument} is {shown(given)}; it must be {allowed}"
            message += f": {advice}." if advice else "."
        super().__init__(message)
        self.where = where
        self.argument, self.given, self.allowed, self.advice = argument, given, allowed, advice
        self.prefix = ""

    def __str__(self) -> str:
        return self.prefix + super().__str__()

    def within(self, prefix: str) -> Self:
        """Return this error with a prefix, such as the name of the file at fault."""
        self.prefix = prefix + self.prefix
        return self

    def calling(self, name: Callable[[str], str]) -> str:
        """Return the message with another name for the argument, such as that of an option."""
        before, argument, after = super().__str__().partition(self.argument or "\0")
        return self.prefix + before + (name(argument) if argument else "") + after


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
    argument: str = "",
) -> NoReturn:
    """Raise `error` for an unknown name, with the nearest known name and the list of all names."""
    names = list(known)
    message = unknown_message(kind, given, names)
    raise error(message, where, argument=argument, given=given, allowed=", ".join(names))


def unknown_message(kind: str, given: object, known: Iterable[str]) -> str:
    """Return the message of `unknown`."""
    import difflib

    names = list(known)
    word = given.lower() if isinstance(given, str) else ""
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"unknown {kind}: {shown(given)}{hint}; known: {', '.join(names)}."
