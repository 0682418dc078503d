"""Models by name or by file: `load("borg-b")`, `load("one-or-all:k=8,rate=2")`, `load("my.toml")`.

A model file is `System.to_dict` as TOML, with three things that are pleasant to write: a class may
give `arrival_rate` in place of `arrivals`; classes may give their `share` of the arrivals instead;
and `arrival_rate` or `load` at the top scales all classes alike. `model.schema.json`, beside this
file, describes every key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quickswap import jobclass
from quickswap._check import positive, whole
from quickswap._toml import line_of
from quickswap._words import split
from quickswap.errors import ModelError, QuickswapError, inside, shown, unknown
from quickswap.system import System

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
        model: text that ends in `.toml`, holds a slash or names a file is a file, as is any `Path`;
            other text is a preset, spelled `name` or `name:option=value,option=value`.

    Raises:
        ModelError: an unknown preset or option, a file that cannot be read, or a mistake in it,
            with the file, the line and the key.
    """
    if not isinstance(model, str | Path):
        raise ModelError(
            f"a model is a preset or a file, as text or a Path, not {shown(model)}; presets are "
            f"{', '.join(OPTIONS)}."
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
    """Return the presets by name, each with a line that says what it is."""
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
    """Return a system as it is, or the one of a preset or a file.

    Raises:
        ModelError: it is neither, or there is a mistake in the model.
    """
    if isinstance(given, System):
        return given
    if isinstance(given, str | Path):
        return load(given)
    raise ModelError(
        f"{shown(given)} is no system: give a System, or the name of a preset or model file."
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
    line = line_of(text, error.where)
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.where)
    places = [source, f"line {line}" if line else "", f"key {key.lstrip('.')}" if key else ""]
    return f"{', '.join(filter(None, places))}: {error}"


def _system(document: Mapping[str, Any]) -> System:
    """Return the system of a document, once shares and totals are worked out."""
    for key in document:
        if key not in TOP_KEYS:
            unknown("key of a model", key, TOP_KEYS, where=(key,))
    classes, shared = _rates(document.get("classes"))
    given = {key: document[key] for key in ("arrival_rate", "load") if key in document}
    if len(given) > 1:
        raise ModelError("a model takes arrival_rate or load for all classes, not both.", ("load",))
    if shared and not given:
        raise ModelError("a model whose classes give shares needs arrival_rate or load.")
    base = {key: document[key] for key in ("servers",) if key in document}
    system = System.from_dict(base if classes is None else {**base, "classes": classes})
    for key, value in given.items():
        with inside(key):
            total = positive(value, key)
        system = system.with_rate(total) if key == "arrival_rate" else system.with_load(total)
    return system


def _rates(classes: Any) -> tuple[Any, bool]:
    """Return the classes with arrival rates in place of shares, and whether there were any."""
    if not isinstance(classes, list) or not all(isinstance(each, dict) for each in classes):
        return classes, False  # for System.from_dict to refuse
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
    """Change a preset as its options say."""
    numbers = {key: _number(value) for key, value in options.items()}
    if "rate" in options and "load" in options:
        raise ModelError(f"preset {name} takes rate or load, not both.")
    if not {"rate", "load"} & set(options) and {"k", "p1"} & set(options):
        document["load"] = _system(document).load  # that of the preset is kept
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
