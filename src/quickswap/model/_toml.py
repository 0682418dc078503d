"""What `tomllib` leaves to do: writing a model as TOML, and finding the line of a key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

__all__ = ["line_of", "write"]


def write(model: Mapping[str, object]) -> str:
    """Return a model, in the form of `System.to_dict`, as TOML: laws and arrivals on one line."""
    lines: list[str] = []
    for key, value in model.items():
        if key != "classes":
            lines.append(f"{key} = {_value(value)}")
    classes = model.get("classes", [])
    for each in classes if isinstance(classes, list) else []:
        lines += ["", "[[classes]]"]
        lines += [f"{key} = {_value(value)}" for key, value in each.items()]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    """Return one value; JSON's text, numbers and booleans are TOML's as well."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def line_of(text: str, where: tuple[str | int, ...]) -> int | None:
    """Return the number of the line, from 1, that holds a key, or else the nearest key around it.

    Reads headers, `key = value` and arrays of one inline table a line: what models are written in.
    """
    lines = _lines(text)
    for length in range(len(where), 0, -1):
        if where[:length] in lines:
            return lines[where[:length]]
    return None


def _lines(text: str) -> dict[tuple[str | int, ...], int]:
    """Return the line of every key and every element of an array of tables."""
    found: dict[tuple[str | int, ...], int] = {}
    elements: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    array: tuple[str | int, ...] | None = None
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if array is not None and line.startswith("]"):
            array = None
        elif array is not None and line.startswith("{"):
            elements[array] = elements.get(array, -1) + 1
            found[*array, elements[array]] = number
        elif header := re.match(r"(\[\[?)([^\[\]]+)\]", line):
            table = _keys(header[2], elements)
            if header[1] == "[[":
                elements[table] = elements.get(table, -1) + 1
                table = (*table, elements[table])
            found.setdefault(table, number)
        elif key := re.match(r"([\w\"'. -]+?)\s*=\s*(.*)", line):
            path = (*table, *(part.strip(" \"'") for part in key[1].split(".")))
            found.setdefault(path, number)
            if re.fullmatch(r"\[\s*(#.*)?", key[2]):
                array = path
    return found


def _keys(dotted: str, elements: Mapping[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
    """Return the path of a header; an array of tables in its way stands for its latest element."""
    path: tuple[str | int, ...] = ()
    parts = [part.strip(" \"'") for part in dotted.split(".")]
    for position, part in enumerate(parts):
        path = (*path, part)
        if path in elements and position < len(parts) - 1:
            path = (*path, elements[path])
    return path
