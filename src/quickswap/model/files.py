"""Models by name or by file: `load("borg-b")`, `load("one-or-all:k=8,rate=2")`, `load("my.toml")`.

A model file is `System.to_dict` as TOML, with three shorthands: a class may give `arrival_rate` in
place of `arrivals`; classes may give their `share` of the arrivals instead; and `arrival_rate` or
`load` at the top scales all classes in proportion. `model.schema.json`, beside this file, describes
every key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quickswap._check import positive, whole
from quickswap._words import split
from quickswap.errors import ModelError, QuickswapError, inside, shown, unknown
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
        ModelError: an unknown preset or option, a file that cannot be read, or a mistake in it,
            with the file, the line and the key.
    """
    if not isinstance(model, str | Path):
        raise ModelError(
            f"a model must be the name of a preset or of a file, not {shown(model)}; the presets "
            f"are {', '.join(OPTIONS)}."
        )
    if isinstance(model, Path) or model.endswith(".toml") or "/" in model or _is_file(model):
        return read(_text(Path(model)), str(model))
    name, options = split(model, "preset", ModelError)
    if name not in OPTIONS:
        unknown("model, neither a file nor a preset", name, OPTIONS)
    for key in options:
        if key not in OPTIONS[name]:
            unknown(f"option of preset {name}", key, OPTIONS[name])
    document = tomllib.loads(_text(FOLDER / f"{name}.toml"))
    return _system(_with_options(document, name, options))


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
        raise ModelError(_placed(error, text, source), error.where) from None


def as_system(given: object) -> System:
    """Return a system unchanged, or load the system of a preset or a file.

    Raises:
        ModelError: it is neither, or the model contains a mistake.
    """
    if isinstance(given, System):
        return given
    if isinstance(given, str | Path):
        return load(given)
    raise ModelError(
        f"{shown(given)} is not a system: pass a System, or the name of a preset or model file."
    )


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # too long for the name of a file
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join(OPTIONS)
        raise ModelError(
            f"there is no file {path}; give a TOML file or a preset: {known}."
        ) from None
    except UnicodeDecodeError:
        raise ModelError(f"the model file {path} cannot be read: it is not UTF-8 text.") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"the model file {str(path)!r} cannot be read: {reason}.") from None


def _placed(error: QuickswapError, text: str, source: str) -> str:
    """Return the message of an error with the file, the line and the key in front."""
    line = _line_of(text, error.where)
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.where)
    places = [source, f"line {line}" if line else "", f"key {key.lstrip('.')}" if key else ""]
    return f"{', '.join(filter(None, places))}: {error}"


def _line_of(text: str, where: tuple[str | int, ...]) -> int | None:
    """Return the number of the line, from 1, with a key, or else with the nearest key around it.

    It parses headers, `key = value` and arrays with one inline table per line, the forms of models.
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
    for key in document:
        if key not in TOP_KEYS:
            unknown("key of a model", key, TOP_KEYS, where=(key,))
    classes, shared = _rates(document.get("classes"))
    given = {key: document[key] for key in ("arrival_rate", "load") if key in document}
    if len(given) > 1:
        raise ModelError("a model takes arrival_rate or load for all classes, not both.", ("load",))
    if shared and not given:
        raise ModelError("a model whose classes give shares requires arrival_rate or load.")
    base = {key: document[key] for key in ("servers",) if key in document}
    system = System.from_dict(base if classes is None else {**base, "classes": classes})
    for key, value in given.items():
        with inside(key):
            total = positive(value, key)
        system = system.with_rate(total) if key == "arrival_rate" else system.with_load(total)
    return system


def _rates(classes: Any) -> tuple[Any, bool]:
    """Return the classes with arrival rates in place of shares, and whether shares were given."""
    if not isinstance(classes, list) or not all(isinstance(each, dict) for each in classes):
        return classes, False  # System.from_dict refuses them
    shared = [position for position, each in enumerate(classes) if "share" in each]
    result = []
    for position, each in enumerate(classes):
        where = ("classes", position)
        for key in each:
            if key not in CLASS_KEYS:
                unknown("key of a class", key, CLASS_KEYS, where=(*where, key))
        if shared and position not in shared:
            raise ModelError("either all classes give their share or none does.", where)
        if not shared:
            result.append(each)
            continue
        for key in ("arrival_rate", "arrivals"):
            if key in each:
                raise ModelError(f"a class gives its share or {key}, not both.", (*where, key))
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
        raise ModelError(f"preset {name} takes rate or load, not both.")
    if not {"rate", "load"} & set(options) and {"k", "p1"} & set(options):
        document["load"] = _system(document).load  # the load of the preset is kept
        del document["arrival_rate"]
    if "k" in options:
        servers = whole(numbers["k"], f"k of preset {name}", 2)
        document["servers"] = document["classes"][1]["need"] = servers
    if "p1" in options:
        share = positive(numbers["p1"], f"p1 of preset {name}")
        if share >= 1:
            raise ModelError(f"p1 of preset {name} must be above 0 and below 1, not {share:g}.")
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
