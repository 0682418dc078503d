"""Arguments of the Python functions, called as options of the commands."""

from __future__ import annotations

import shlex

__all__ = ["given", "option"]

NAMES = {"start": "--from", "end": "--to"}
"""Options whose name differs from that of the argument."""


def option(argument: str) -> str:
    """Return the option that sets an argument of a function."""
    if not argument.isidentifier():
        return argument
    return NAMES.get(argument, "--" + argument.replace("_", "-"))


def given(options: object | None) -> list[str]:
    """Return the options that differ from their defaults, as written: `--unit node`.

    `options` is an instance of a dataclass of options with defaults, or None.
    """
    if options is None:
        return []
    defaults, words = vars(type(options)()), []
    for name, value in vars(options).items():
        if value != defaults[name]:
            words.append(
                option(name) if value is True else f"{option(name)} {shlex.quote(str(value))}"
            )
    return words
