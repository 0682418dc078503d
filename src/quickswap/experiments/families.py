"""Systems that differ in their arrival rate alone are one model; what a store's models are called.

A store holds systems, not the names under which grids had them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from quickswap._words import counted
from quickswap.errors import ModelError, QuickswapError, unknown
from quickswap.models import as_system, load
from quickswap.system import System

__all__ = ["chosen_model", "model_names", "shape"]

DIGITS = 9
"""Significant digits to which rates that were scaled back and forth are compared."""
PRESETS = ("one-or-all", "four-class", "borg-a", "borg-b")


def shape(system: System) -> str:
    """Return text that is equal for systems that differ in their arrival rate alone."""
    return json.dumps(_rounded(system.with_load(1.0).to_dict()), sort_keys=True)


def model_names(systems: Iterable[System]) -> dict[str, str]:
    """Return a name for each shape: of the preset, or how many servers and classes there are."""
    known = {shape(load(name)): name for name in PRESETS}
    names: dict[str, str] = {}
    for system in systems:
        key = shape(system)
        if key not in names:
            names[key] = _free(known.get(key) or _described(system, key), set(names.values()))
    return names


def chosen_model(given: Any, names: dict[str, str]) -> str:
    """Return the shape of the model that was asked for, or of the only one if none was.

    Args:
        given: a name of `names`, a System, a preset or a model file; None for the only one.
        names: by shape.

    Raises:
        QuickswapError: there are several and none was asked for, or it is not there.
    """
    if given is None:
        if len(names) > 1:
            raise QuickswapError(
                f"a figure shows one model, and here are points of {len(names)}: choose the model "
                f"{_listed(list(names.values()))}."
            )
        return next(iter(names))
    for key, name in names.items():
        if given == name:
            return key
    try:
        key = shape(as_system(given))
    except ModelError:
        unknown("model in the store", given, names.values(), QuickswapError)
    if key not in names:
        raise QuickswapError(
            f"there are no points of the model {given!s}, whatever the rate: there are those of "
            f"{_listed(list(names.values()))}."
        )
    return key


def _described(system: System, key: str) -> str:
    if system.one_or_all:
        share = system.job_shares[system.needs.index(1)]
        for options in (f"k={system.servers}", f"k={system.servers},p1={share:.{DIGITS}g}"):
            if shape(load(f"one-or-all:{options}")) == key:
                return f"one-or-all:{options}"
    servers, classes = counted(system.servers, "server"), counted(len(system.classes), "class")
    return f"{servers}, {classes}"


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def _listed(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _rounded(data: Any) -> Any:
    if isinstance(data, float):
        return float(f"{data:.{DIGITS}g}")
    if isinstance(data, dict):
        return {key: _rounded(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_rounded(value) for value in data]
    return data
