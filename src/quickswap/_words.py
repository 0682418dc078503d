"""Text: `name:key=value,key=value`, the syntax of policies and presets, and counts with nouns."""

from __future__ import annotations

from quickswap.errors import QuickswapError, invalid

__all__ = ["count_of", "counted", "load_words", "plural", "split"]

ROUNDING = 1e-12
"""Distance from 1 within which a load is 1: the rounding error of scaling rates back and forth."""


def split(text: str, what: str, error: type[QuickswapError]) -> tuple[str, dict[str, str]]:
    """Return the name and the options, stripped of blanks, with underscores in the keys.

    Raises:
        error: an option without `=`, or one given twice.
    """
    name, _, rest = text.partition(":")
    result: dict[str, str] = {}
    for part in filter(str.strip, rest.split(",")):
        key, equals, value = (word.strip() for word in part.partition("="))
        key = key.replace("-", "_")
        if not equals:
            given, allowed = part.strip(), "key=value, with commas between them"
            raise invalid(f"an option of {what} {text!r}", given, allowed, error)
        if key in result:
            raise error(
                f"{key} is given twice in {what} {text!r}.", given=text, allowed=f"one {key}"
            )
        result[key] = value
    return name.strip(), result


def count_of(text: str) -> int | None:
    """Return a whole number from 0 on, as in 1000 or 1_000; None for any other text."""
    try:
        number = int(text)
    except ValueError:
        return None
    return number if number >= 0 else None


def counted(number: float, noun: str, form: str = "") -> str:
    """Return the number and the noun, in the plural unless there is one: "1 class", "2 classes"."""
    text = format(number, form)
    return f"{text} {noun if text == '1' else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun."""
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def load_words(load: float, digits: int = 4) -> str:
    """Return a load as text, with enough digits to distinguish it from 1."""
    if abs(load - 1) < ROUNDING:
        return "1"
    text = f"{load:.{digits}g}"
    return text if float(text) != 1 else load_words(load, digits + 1)
