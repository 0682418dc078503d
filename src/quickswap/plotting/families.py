"""Names of the models in a store: systems that differ only in their arrival rate are one model.

A store contains systems, not the names that grids gave them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from quickswap._words import counted, load_words
from quickswap.errors import ModelError, QuickswapError, unknown
from quickswap.model.files import as_system, load, presets
from quickswap.model.system import System

__all__ = ["chosen_model", "loads_of", "model_names", "shape"]

DIGITS = 9
"""Significant digits in which shapes are compared, as scaling rounds the rates."""
FEW = 6
"""Classes whose needs are listed one by one."""


def shape(system: System) -> str:
    """Return a text that is equal for systems that differ only in their arrival rate."""
    return json.dumps(_rounded(system.with_load(1.0).to_dict()), sort_keys=True)


def model_names(systems: Iterable[System]) -> dict[str, str]:
    """Return a name for each shape: the preset, or the servers and needs.

    Equal names are extended by mean sizes, shares of the jobs or distributions, if these differ.
    """
    named = {shape(load(name)): name for name in presets()}
    known: dict[str, System] = {}
    for system in systems:
        known.setdefault(shape(system), system)
    names = {key: named.get(key) or _described(each, key) for key, each in known.items()}
    details = {key: _details(each) for key, each in known.items()}
    for texts in zip(*details.values(), strict=True):
        detail = dict(zip(details, texts, strict=True))
        for name in [each for each, number in Counter(names.values()).items() if number > 1]:
            more = {key: detail[key] for key in names if names[key] == name}
            if len(set(more.values())) > 1:
                names |= {key: f"{name}, {text}" for key, text in more.items()}
    seen: Counter[str] = Counter()
    for key, name in names.items():
        seen[name] += 1
        names[key] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names


def loads_of(systems: Iterable[System]) -> dict[str, str]:
    """Return the range of loads of each shape, as in "load 0.5 to 0.9"."""
    found: dict[str, list[float]] = {}
    for system in systems:
        found.setdefault(shape(system), []).append(system.load)
    ranges = {key: (load_words(min(each)), load_words(max(each))) for key, each in found.items()}
    return {
        key: f"load {least}" if least == most else f"load {least} to {most}"
        for key, (least, most) in ranges.items()
    }


def chosen_model(given: Any, names: dict[str, str], loads: dict[str, str]) -> str:
    """Return the shape of the requested model, or of the only one if none was.

    Args:
        given: a name of `names`, a System, a preset or a model file; None for the only one.
        names: by shape, as `model_names` gives them.
        loads: by shape, as `loads_of` gives them.

    Raises:
        QuickswapError: there are several models and none was requested, or it has no points.
    """
    if given is None:
        if len(names) > 1:
            raise QuickswapError(
                f"a figure shows one model, and the store contains {len(names)}: give the model "
                f"{_listed(names, loads)}, by that name, its preset or its file."
            )
        return next(iter(names))
    for key, name in names.items():
        if given == name:
            return key
    try:
        key = shape(as_system(given))
    except ModelError:
        unknown("model in the store", given, names.values(), QuickswapError, argument="model")
    if key not in names:
        raise QuickswapError(
            f"the store has no points of the model {given!s} at any rate: it contains "
            f"{_listed(names, loads)}."
        )
    return key


def _described(system: System, key: str) -> str:
    if system.one_or_all:
        share = system.job_shares[system.needs.index(1)]
        for options in (f"k={system.servers}", f"k={system.servers},p1={share:.{DIGITS}g}"):
            if shape(load(f"one-or-all:{options}")) == key:
                return f"one-or-all:{options}"
    servers, number = counted(system.servers, "server"), len(system.needs)
    if number > FEW:
        return f"{servers}, {number} classes of needs {min(system.needs)} to {max(system.needs)}"
    needs = ", ".join(map(str, sorted(system.needs)))
    return f"{servers}, need{'' if number == 1 else 's'} {needs}"


def _details(system: System) -> list[str]:
    """Return details that distinguish models with the same servers and needs."""

    def by_need(texts: Sequence[str]) -> str:
        """Return the texts of the classes by need; of many classes the distinct ones."""
        in_order = [texts[i] for i in sorted(range(len(texts)), key=system.needs.__getitem__)]
        if len(in_order) > FEW:
            in_order = list(dict.fromkeys(in_order))
        return ", ".join(in_order if len(in_order) <= FEW else [*in_order[:FEW], "..."])

    return [
        f"mean sizes {by_need([f'{each.size.mean:.4g}' for each in system.classes])} s",
        f"shares {by_need([f'{100 * share:.3g} %' for share in system.job_shares])}",
        f"sizes {by_need([each.size.kind for each in system.classes])}",
    ]


def _listed(names: dict[str, str], loads: dict[str, str]) -> str:
    quoted = [f"{name!r} ({loads[key]})" for key, name in names.items()]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _rounded(data: Any) -> Any:
    if isinstance(data, float):
        return float(f"{data:.{DIGITS}g}")
    if isinstance(data, dict):
        return {key: _rounded(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_rounded(value) for value in data]
    return data
