"""Grids: models, policies, loads, seeds and settings, of which every combination is a point."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Self, Unpack, final

from quickswap._check import items, positive
from quickswap._words import counted
from quickswap.engine.settings import GridSettings
from quickswap.errors import ModelError, PolicyError, QuickswapError, shown, unknown
from quickswap.files import checked_path
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy, spell
from quickswap.sweeps.point import SETTINGS, Point
from quickswap.sweeps.spread import spread

__all__ = ["Grid", "Spot", "model_files", "read_grids"]

AXES = ("models", "policies", "loads", "rates", "seeds")
SINGLE = {"model": "models", "policy": "policies", "load": "loads", "rate": "rates"}
"""Names for an axis of one value; a seed is a setting like any other."""
KEYS = (*AXES, *SINGLE, *SETTINGS)
MODEL = {"servers", "classes"}
"""Keys of a model file."""
MOST = 1_000_000
"""Points of a grid."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A point with its place in the grid.

    Attributes:
        point: the simulation.
        model: name of the model, or how many servers and classes a system has.
        label: of the policy.
    """

    point: Point
    model: str
    label: str


@final
@dataclass(frozen=True, init=False)
class Grid:
    """All combinations of models, policies, loads (or rates) and settings.

    Args:
        models: systems, presets or model files; one or several.
        policies: policies of quickswap, spellings, or mappings of a name and parameters; a value
            may be a list, as in "msfq:threshold=[0,8,31]" or "msfq:threshold=[0..31]".
        loads: loads, each a scaled model; or
        rates: total arrival rates, jobs per second. If neither is given, the models as they are.
        seeds: one or several.
        settings: as `Point.of` takes them, each a value or a list of values. The engine is "events"
            unless it is given, so that all policies see the same jobs.

    Raises:
        QuickswapError: an unknown setting, an empty list, loads and rates both.
    """

    models: tuple[tuple[str, System], ...]
    policies: tuple[Policy, ...]
    loads: tuple[float, ...] | None
    rates: tuple[float, ...] | None
    settings: tuple[tuple[str, tuple[Any, ...]], ...]

    def __init__(
        self,
        models: Any,
        policies: Any,
        *,
        loads: Any = None,
        rates: Any = None,
        seeds: Any = (1,),
        **settings: Unpack[GridSettings],
    ) -> None:
        if loads is not None and rates is not None:
            raise QuickswapError("a grid takes loads or rates, not both.")
        for name in settings:
            if name not in SETTINGS:
                unknown("key of a grid", name, KEYS, QuickswapError)
        chosen = {"engine": "events"} | ({} if "seed" in settings else {"seed": seeds}) | settings
        named = [_named(each) for each in _several(models, "models")]
        spreads = [policy for each in _several(policies, "policies") for policy in spread(each)]
        values: dict[str, Any] = {
            "models": tuple(named),
            "policies": tuple({spell(policy): policy for policy in spreads}.values()),
            "loads": _numbers(loads, "loads"),
            "rates": _numbers(rates, "rates"),
            "settings": tuple((name, _several(value, name)) for name, value in chosen.items()),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def load(cls, path: str | Path) -> tuple[Self, ...]:
        """Read the grids of a TOML file, of which one is a grid of its own and several a union.

        The keys are those of `Grid`; `model`, `policy`, `load`, `rate` and `seed` are for one
        value. Each `[[grid]]` is a grid, with the keys at the top for those that it leaves out.
        Names of model files are relative to the folder of the grid's.

        Raises:
            QuickswapError: a mistake in the file.
        """
        return read_grids(path, {})

    def __len__(self) -> int:
        """Number of combinations."""
        size = len(self.models) * len(self.policies) * len(self.loads or self.rates or (0,))
        for _, values in self.settings:
            size *= len(values)
        return size

    def spots(self) -> Iterator[Spot]:
        """Yield the points with their places: models first, then loads, settings and policies.

        Raises:
            QuickswapError: a setting out of range, or a policy that does not suit a model.
        """
        if len(self) > MOST:
            raise QuickswapError(f"this grid has {len(self):,} points: at most {MOST:,} are taken.")
        names = [name for name, _ in self.settings]
        choices = list(product(*(values for _, values in self.settings)))
        for model, system in self.models:
            with _of_model(model):
                systems = self._scaled(system)
            for scaled in systems:
                for chosen in choices:
                    for policy in self.policies:
                        settings = dict(zip(names, chosen, strict=True))
                        with _of_model(model):
                            point = Point.of(scaled, policy, **settings)
                        yield Spot(point, model, policy.label)

    def points(self) -> list[Point]:
        """Return the points, in the order of `spots`."""
        return [spot.point for spot in self.spots()]

    def _scaled(self, system: System) -> list[System]:
        if self.loads is not None:
            return [system.with_load(load) for load in self.loads]
        if self.rates is not None:
            return [system.with_rate(rate) for rate in self.rates]
        return [system]


def read_grids(path: str | Path, overrides: Mapping[str, Any]) -> tuple[Grid, ...]:
    """Return the grids of a TOML file; overrides take the place of keys, in every grid.

    Raises:
        QuickswapError: a mistake in the file, or in the overrides.
    """
    file, common, parts = _document(path)
    try:
        return tuple(_grid(common, part, overrides, file.parent) for part in parts)
    except QuickswapError as error:
        raise type(error)(f"{file}: {error}") from None


def model_files(path: str | Path, overrides: Mapping[str, Any]) -> list[Path]:
    """Return the model files that the grids of a TOML file name, or the overrides.

    Raises:
        QuickswapError: a mistake in the file.
    """
    file, common, parts = _document(path)
    named = [
        each
        for layer in (common, *parts, overrides)
        for key in ("model", "models")
        for each in _several(layer.get(key, ""), key)
        if isinstance(each, str) and each
    ]
    return [found for each in named if (found := Path(_beside(each, file.parent))).is_file()]


def _document(path: str | Path) -> tuple[Path, dict[str, Any], list[dict[str, Any]]]:
    """Return a file, its keys at the top, and its `[[grid]]` tables, or one that is empty."""
    file = checked_path(path)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise QuickswapError(f"{file} is not valid TOML: {error}.") from None
    except UnicodeDecodeError:
        raise QuickswapError(f"the grid {file} cannot be read: it is not UTF-8 text.") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise QuickswapError(f"the grid {file} cannot be read: {reason}.") from None
    parts = document.pop("grid", [{}])
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise QuickswapError(f"{file}: grid must be an array of tables, as in [[grid]].")
    if MODEL & document.keys() and not {"model", "models"} & document.keys():
        raise QuickswapError(
            f"{file} looks like a model file, and a grid is to be given: a grid names it, as in "
            f'models = ["{file.name}"].'
        )
    return file, document, parts


def _grid(
    common: Mapping[str, Any], part: Mapping[str, Any], overrides: Mapping[str, Any], folder: Path
) -> Grid:
    """Return one grid of a file: what it says, what all say, and what the overrides say."""
    values: dict[str, Any] = {}
    for layer in (common, part, overrides):
        plural = _plural(layer)
        for one, other in (("loads", "rates"), ("rates", "loads")):
            if one in plural and other not in plural:
                values.pop(other, None)
        values |= plural
    for axis in ("models", "policies"):
        if axis not in values:
            raise QuickswapError(f"a grid needs {axis}, as in {axis} = [{EXAMPLES[axis]}].")
    models, policies = values.pop("models"), values.pop("policies")
    found = [_beside(each, folder) for each in _several(models, "models")]
    return Grid(found, policies, **values)


EXAMPLES = {"models": '"four-class"', "policies": '"msf", "adaptive-quickswap"'}


def _plural(layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a layer with those for one value in the plural."""
    values: dict[str, Any] = {}
    for key, value in layer.items():
        if key not in KEYS:
            unknown("key of a grid", key, KEYS, QuickswapError)
        name = "seeds" if key == "seed" else SINGLE.get(key, key)
        if name in values:
            raise QuickswapError(f"a grid takes {key} once, in the singular or the plural.")
        values[name] = value
    return values


def _beside(model: Any, folder: Path) -> Any:
    """Return a model; the name of a file is relative to the folder of the grid."""
    if isinstance(model, str) and (folder / model).is_file():
        return folder / model
    return model


@contextmanager
def _of_model(model: str) -> Iterator[None]:
    """Name the model in a mistake that comes from it, or from a policy that does not suit it."""
    try:
        yield
    except (ModelError, PolicyError) as error:
        raise type(error)(f"{model}: {error}", error.where) from error


def _named(model: Any) -> tuple[str, System]:
    system = as_system(model)
    if isinstance(model, System):
        servers, classes = counted(system.servers, "server"), counted(len(system.classes), "class")
        return f"{servers}, {classes}", system
    return Path(model).stem if str(model).endswith(".toml") else str(model), system


def _several(value: Any, what: str) -> tuple[Any, ...]:
    """Return a value or a list of them as a tuple without repetitions."""
    listed = items(value) if not isinstance(value, System | Policy) else None
    if listed is None:
        return (value,)
    if not listed:
        raise QuickswapError(f"{what} of a grid is an empty list: give at least one.")
    return tuple({repr(each): each for each in listed}.values())


def _numbers(value: Any, what: str) -> tuple[float, ...] | None:
    if value is None:
        return None
    given = _several(value, what)
    if any(isinstance(each, Mapping) for each in given):
        raise QuickswapError(f"{what} must be numbers, not {shown(value)}.")
    return tuple(positive(each, f"each of {what}", QuickswapError) for each in given)
