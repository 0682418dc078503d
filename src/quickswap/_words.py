"""Words: `name:key=value,key=value`, the one spelling of policies and presets, and counts."""

from __future__ import annotations

from quickswap.errors import QuickswapError

__all__ = ["counted", "split"]


def split(text: str, what: str, error: type[QuickswapError]) -> tuple[str, dict[str, str]]:
    """Return the name and the options, keys with underscores, all stripped of blanks.

    Raises:
        error: an option without `=`, or one given twice.
    """
    name, _, rest = text.partition(":")
    result: dict[str, str] = {}
    for part in filter(str.strip, rest.split(",")):
        key, equals, value = (word.strip() for word in part.partition("="))
        key = key.replace("-", "_")
        if not equals:
            raise error(
                f"{part.strip()!r} in {what} {text!r} must be key=value, with commas between them."
            )
        if key in result:
            raise error(f"{key} is given twice in {what} {text!r}.")
        result[key] = value
    return name.strip(), result


def counted(number: float, noun: str, form: str = "") -> str:
    """Return the number and the noun, in the plural unless there is one: "1 class", "2 classes"."""
    text = format(number, form)
    ending = "" if text == "1" else "es" if noun.endswith("s") else "s"
    return f"{text} {noun}{ending}"
