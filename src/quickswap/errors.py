"""Errors and warnings: the message states what was given, what is allowed and what to do.

Every error that a user can cause is a `QuickswapError`, with a message of one sentence. The command
line prints it and exits with code 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, NoReturn, Self, TypeVar

__all__ = [
    "CompilationWarning",
    "InfiniteVarianceWarning",
    "Interrupted",
    "LogError",
    "ModelError",
    "PolicyError",
    "QuickswapError",
    "UnstableError",
    "inside",
    "invalid",
    "shown",
    "unknown",
]

LONGEST = 80
"""Largest number of characters of a given value in a message."""

Key = str | int
"""One step into a model: the name of a key, or a position in a list."""


class QuickswapError(ValueError):
    """An input that is not valid.

    The sentence is the message, or without one what the argument is and must be, and then the
    advice, unless the message contains it.

    Attributes:
        where: keys that lead to it in a model.
        argument: name of the argument at fault; "" if there is none.
        given: its value.
        allowed: the values that it may have.
        advice: a remedy. It refers to arguments as in "give {servers}" and "give {unit:node}".
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
        super().__init__(message)
        self.where = where
        self.argument, self.given, self.allowed, self.advice = argument, given, allowed, advice
        self.prefix = ""

    def __str__(self) -> str:
        return self.calling()

    def within(self, prefix: str) -> Self:
        """Return this error with a prefix, such as the name of the file at fault."""
        self.prefix = prefix + self.prefix
        return self

    def calling(self, option: Callable[[str], str] | None = None) -> str:
        """Return the message, with arguments called as options instead of Python's arguments."""
        text = self.sentence(option)
        if self.advice and self.advice not in text:
            advice = self.advice.format_map(_Arguments(option))
            text = f"{text.removesuffix('.')}; {advice}."
        return text

    def sentence(self, option: Callable[[str], str] | None = None) -> str:
        """Return the message without the advice."""
        name = option(self.argument) if option and self.argument else self.argument
        text = super().__str__()
        for start in (self.argument, f"unknown {self.argument}"):
            if self.argument and text.startswith(start):
                text = start.removesuffix(self.argument) + name + text.removeprefix(start)
        return self.prefix + (text or f"{name} is {shown(self.given)}; it must be {self.allowed}.")


class _Arguments(dict[str, "_Argument"]):
    """The arguments to which an advice refers."""

    def __init__(self, option: Callable[[str], str] | None) -> None:
        super().__init__()
        self._option = option

    def __missing__(self, name: str) -> _Argument:
        return _Argument(name, self._option)


@dataclass(frozen=True)
class _Argument:
    """An argument in an advice: `unit="node"` in Python, `--unit node` as an option.

    A value such as `size=runtime` is an item of a mapping: `columns={"size": runtime}` in Python.
    The value `True` is that of a flag: `--allow-unstable`, and `allow_unstable=True` in Python.
    """

    name: str
    option: Callable[[str], str] | None

    def __format__(self, value: str) -> str:
        if self.option is not None:
            return f"{self.option(self.name)} {value.removeprefix('True')}".rstrip()
        if value == "True":
            return f"{self.name}=True"
        key, equals, item = value.partition("=")
        if equals:
            return f'{self.name}={{"{key}": {item}}}'
        return f'{self.name}="{value}"' if value else f"{self.name}="


class ModelError(QuickswapError):
    """An invalid size distribution, arrival process, job class, system or model file."""


class PolicyError(QuickswapError):
    """An unknown policy, a parameter out of range, or a policy that cannot serve the system."""


class NoClassError(QuickswapError, LookupError):
    """A name in brackets that is not a class of a result."""


class LogError(QuickswapError):
    """A log that cannot be read or contains no jobs; the message contains the file and the line."""


class UnstableError(QuickswapError):
    """An arrival rate at which the system or the policy is unstable, so no mean exists."""


Found = TypeVar("Found")


class Interrupted(KeyboardInterrupt, Generic[Found]):
    """Ctrl-C during long work; `result` contains the results so far, or None.

    It is a `Result` from `simulate`, a `Comparison` whose last result is the interrupted one from
    `compare`, and the complete part of the results from `replay_all`, `sweep` and `tune`.
    """

    def __init__(self, result: Found | None) -> None:
        super().__init__("interrupted; .result contains the results so far")
        self.result = result


class CompilationWarning(UserWarning):
    """A policy marked with `compiled` that runs in Python, with the lines that are not compiled."""


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


def invalid(
    argument: str,
    given: object,
    allowed: str,
    error: type[QuickswapError] = ModelError,
    where: tuple[Key, ...] = (),
    *,
    advice: str = "",
) -> QuickswapError:
    """Return the error about the value of an argument; the sentence is made from its fields."""
    return error(where=where, argument=argument, given=given, allowed=allowed, advice=advice)


def unknown(
    kind: str,
    given: object,
    known: Iterable[str],
    error: type[QuickswapError] = ModelError,
    where: tuple[Key, ...] = (),
    argument: str = "",
) -> NoReturn:
    """Raise `error` for an unknown name, with the nearest known name and the list of all names.

    The argument at fault is by default the kind of name.
    """
    import difflib

    names = list(known)
    word = given.lower() if isinstance(given, str) else ""
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    message = f"unknown {kind}: {shown(given)}{hint}; known: {', '.join(names)}."
    argument = argument or kind
    raise error(message, where, argument=argument, given=given, allowed=", ".join(names))
