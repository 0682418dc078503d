"""Models by name or by file: `load("borg-b")`, `load("one-or-all:k=8,rate=2")`, `load("my.toml")`.

A model file is `System.to_dict` as TOML, with three shorthands: a class may give `arrival_rate` in
place of `arrivals`; classes may give their `share` of the arrivals instead; and `arrival_rate` or
`load` at the top scales all classes in proportion. `model.schema.json`, next to this file,
describes every key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from quickswap._check import check_keys, positive, whole
from quickswap._words import split
from quickswap.errors import ModelError, QuickswapError, inside, invalid, shown, unknown
from quickswap.model import jobclass
from quickswap.model.system import System

__all__ = ["as_system", "load", "presets", "read"]

FOLDER = Path(__file__).parent / "presets"
OPTIONS = {
    "one-or-all": ("k", "p1", "rate", "load"),
    "four-class": ("rate", "load"),
    "borg-a": ("rate", "load"),
    "borg-b": ("rate", "load"),
    "kth-sp2": ("rate", "load"),
    "nasa-ipsc": ("rate", "load"),
}
"""The presets and their options."""
TOP_KEYS = ("servers", "arrival_rate", "load", "classes")
CLASS_KEYS = (*jobclass.KEYS, "share")


def load(model: str | Path) -> System:
    """Return the system of a preset, with its options if any, or of a TOML file.

    Args:
        model: a `Path`, or text that ends in `.toml`, contains a slash or names a file, is a file;
            other text is a preset, written `name` or `name:option=value,option=value`.

    Raises:
        ModelError: an unknown preset or option, a file that cannot be read, or an error in it,
            with the file, the line and the key.
    """
    if not isinstance(model, str | Path):
        advice = f"the presets are {', '.join(OPTIONS)}"
        raise invalid("the model", model, "the name of a preset or of a file", advice=advice)
    if isinstance(model, Path) or model.endswith(".toml") or "/" in model or _is_file(model):
        return read(_text(Path(model)), str(model))
    return _preset(model)


def presets() -> dict[str, str]:
    """Return the presets by name, each with a one-line description."""
    return {
        name: _text(FOLDER / f"{name}.toml").partition("\n")[0].lstrip("# ") for name in OPTIONS
    }


def read(text: str, source: str) -> System:
    """Return the system of the text of a model file; `source` names the file in errors."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{source} is not valid TOML: {error}.") from None
    try:
        return _system(document)
    except QuickswapError as error:
        message = f"{_place(error.where, text, source)}: {error}"
        # without the argument, whose name in a file is the key
        given, allowed, advice = error.given, error.allowed, error.advice
        raise ModelError(
            message, error.where, given=given, allowed=allowed, advice=advice
        ) from None


def as_system(given: object) -> System:
    """Return a system unchanged, or load the system of a preset or a file.

    Raises:
        ModelError: it is neither, or the model contains an error.
    """
    if isinstance(given, System):
        return given
    if isinstance(given, str | Path):
        return load(given)
    advice = "pass a System, or the name of a preset or model file"
    raise ModelError(
        f"{shown(given)} is not a system: {advice}.", argument="system", given=given, advice=advice
    )


@lru_cache(maxsize=64)
def _preset(model: str) -> System:
    """Return the system of a preset with its options; systems are immutable."""
    name, options = split(model, "preset", ModelError)
    if name not in OPTIONS:
        what = "model, neither a file nor a preset"
        unknown(what, name, OPTIONS, argument="name of the model")
    for key in options:
        if key not in OPTIONS[name]:
            unknown(f"option of preset {name}", key, OPTIONS[name])
    document = tomllib.loads(_text(FOLDER / f"{name}.toml"))
    return _system(_with_options(document, name, options))


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # too long for the name of a file
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # editors on Windows begin a file with a mark
    except FileNotFoundError:
        advice = f"give a TOML file or a preset: {', '.join(OPTIONS)}"
        raise ModelError(f"{path} does not exist; {advice}.", given=path, advice=advice) from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, UnicodeDecodeError):
            reason = "it is not UTF-8 text"
        message = f"the model file {str(path)!r} cannot be read: {reason}."
        raise ModelError(message, given=path) from None


def _place(where: tuple[str | int, ...], text: str, source: str) -> str:
    """Return the file, the key and its line, or the line of the nearest key around it."""
    lines = _lines(text)
    around = (where[:length] for length in range(len(where), 0, -1))
    line = next((lines[each] for each in around if each in lines), None)
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where)
    places = [source, f"line {line}" if line else "", f"key {key.lstrip('.')}" if key else ""]
    return ", ".join(filter(None, places))


def _lines(text: str) -> dict[tuple[str | int, ...], int]:
    """Return the line, from 1, of every key and every element of an array of tables.

    It parses headers, `key = value` and arrays with one inline table per line, the forms of models.
    """
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
    """Return the path of a header, in which an array of tables means its latest element."""
    path: tuple[str | int, ...] = ()
    parts = [part.strip(" \"'") for part in dotted.split(".")]
    for position, part in enumerate(parts):
        path = (*path, part)
        if path in elements and position < len(parts) - 1:
            path = (*path, elements[path])
    return path


def _system(document: Mapping[str, Any]) -> System:
    """Return the system of a document, with shares and totals applied."""
    check_keys(document, "a model", TOP_KEYS)
    classes, shared = _rates(document.get("classes"))
    given = {key: document[key] for key in ("arrival_rate", "load") if key in document}
    if len(given) > 1:
        raise ModelError(
            "a model takes arrival_rate or load for all classes, not both",
            ("load",),
            argument="load of a model",
            given=given["load"],
            advice="omit one of them",
        )
    if shared and not given:
        raise ModelError(
            "a model whose classes give shares requires arrival_rate or load",
            argument="arrival_rate of a model",
            advice="give one of them",
        )
    base = {key: document[key] for key in ("servers",) if key in document}
    system = System.from_dict(base if classes is None else {**base, "classes": classes})
    for key, value in given.items():
        with inside(key):
            total = positive(value, key)
        system = system.with_rate(total) if key == "arrival_rate" else system.with_load(total)
    return system


def _rates(classes: Any) -> tuple[Any, bool]:
    """Return the classes with arrival rates instead of shares, and whether shares were given."""
    if not isinstance(classes, list) or not all(isinstance(each, dict) for each in classes):
        return classes, False  # System.from_dict rejects them
    shared = [position for position, each in enumerate(classes) if "share" in each]
    result = []
    for position, each in enumerate(classes):
        where = ("classes", position)
        with inside(*where):
            check_keys(each, "a class", CLASS_KEYS)
        if shared and position not in shared:
            raise ModelError(
                "either all classes give their share or none does",
                where,
                argument="share of a class",
                advice="add the ones that are missing, or give rates instead",
            )
        if not shared:
            result.append(each)
            continue
        for key in ("arrival_rate", "arrivals"):
            if key in each:
                raise ModelError(
                    f"a class gives its share or {key}, not both",
                    (*where, key),
                    argument=f"{key} of a class",
                    given=each[key],
                    advice="omit one of them",
                )
        with inside(*where, "share"):
            rate = positive(each["share"], "share of a class")
        result.append({key: each[key] for key in each if key != "share"} | {"arrival_rate": rate})
    return result, bool(shared)


def _with_options(
    document: dict[str, Any], name: str, options: Mapping[str, str]
) -> dict[str, Any]:
    """Return the document of a preset with its options applied."""
    numbers = {key: _number(value) for key, value in options.items()}
    if "rate" in options and "load" in options:
        raise ModelError(
            f"preset {name} takes rate or load, not both",
            argument=f"load of preset {name}",
            given=options["load"],
            advice="omit one of them",
        )
    if not {"rate", "load"} & set(options) and {"k", "p1"} & set(options):
        document["load"] = _system(document).load  # the load of the preset is kept
        del document["arrival_rate"]
    if "k" in options:
        servers = whole(numbers["k"], f"k of preset {name}", 2)
        document["servers"] = document["classes"][1]["need"] = servers
    if "p1" in options:
        share = positive(numbers["p1"], f"p1 of preset {name}")
        if share >= 1:
            raise invalid(f"p1 of preset {name}", share, "above 0 and below 1")
        document["classes"][0]["share"], document["classes"][1]["share"] = share, 1 - share
    for option, key in (("rate", "arrival_rate"), ("load", "load")):
        if option in options:
            document.pop("arrival_rate", None)
            document.pop("load", None)
            document[key] = positive(numbers[option], f"{option} of preset {name}")
    return document


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text
