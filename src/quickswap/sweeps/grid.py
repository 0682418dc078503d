"""Grids: models, policies, loads, seeds and settings, of which every combination is a point."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Self, final

from quickswap._check import items, positive
from quickswap._words import counted
from quickswap.engine.settings import SETTINGS
from quickswap.errors import ModelError, PolicyError, QuickswapError, invalid, unknown
from quickswap.files import checked_path
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy, spell
from quickswap.sweeps.parameters import expand_parameters
from quickswap.sweeps.point import Point

__all__ = ["Grid", "GridPoint", "model_files", "read_grids"]

AXES = ("models", "policies", "loads", "rates", "seeds")
SINGLE = {"model": "models", "policy": "policies", "load": "loads", "rate": "rates"}
"""Names of the axes for a single value; `seed` is a setting."""
KEYS = (*AXES, *SINGLE, *SETTINGS)
MODEL = {"servers", "classes"}
"""Keys of a model file."""
MOST = 1_000_000
"""Points of a grid."""


@dataclass(frozen=True, slots=True)
class GridPoint:
    """A point with the names under which tables show it.

    Attributes:
        point: the simulation.
        model: name of the model, or the numbers of servers and classes of a system.
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
        policies: policies, spellings, or mappings of a name and parameters; a value
            may be a list, as in "msfq:threshold=[0,8,31]" or "msfq:threshold=[0..31]".
        loads: loads, each a scaled model; or
        rates: total arrival rates, jobs per second. By default each model keeps its own rate.
        seeds: one or several.
        settings: as `Point.of` takes them, each a value or a list of values. The engine is "events"
            by default, so all policies serve the same jobs.

    Raises:
        QuickswapError: an unknown setting, an empty list, or both loads and rates.
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
        **settings: Any,
    ) -> None:
        if loads is not None and rates is not None:
            raise QuickswapError("loads and rates are both given: give one of them.")
        for name in settings:
            if name not in SETTINGS:
                unknown("key of a grid", name, KEYS, QuickswapError)
        chosen = {"engine": "events"} | ({} if "seed" in settings else {"seed": seeds}) | settings
        named = [_named(each) for each in _several(models, "models")]
        expanded = [
            policy for each in _several(policies, "policies") for policy in expand_parameters(each)
        ]
        values: dict[str, Any] = {
            "models": tuple(named),
            "policies": tuple({spell(policy): policy for policy in expanded}.values()),
            "loads": _numbers(loads, "loads"),
            "rates": _numbers(rates, "rates"),
            "settings": tuple((name, _several(value, name)) for name, value in chosen.items()),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def load(cls, path: str | Path) -> tuple[Self, ...]:
        """Read the grids of a TOML file; the points of several grids form a union.

        The keys are the arguments of `Grid`; `model`, `policy`, `load`, `rate` and `seed` take one
        value. Each `[[grid]]` is a grid, and the keys at the top are its defaults. Names of model
        files are relative to the folder of the file.

        Raises:
            QuickswapError: the file is not valid.
        """
        return read_grids(path, {})

    def __len__(self) -> int:
        """Number of combinations."""
        size = len(self.models) * len(self.policies) * len(self.loads or self.rates or (0,))
        for _, values in self.settings:
            size *= len(values)
        return size

    def grid_points(self) -> Iterator[GridPoint]:
        """Yield the points with their names: by model, then load, settings and policy.

        Raises:
            QuickswapError: a setting out of range, or a policy that does not suit a model.
        """
        if len(self) > MOST:
            raise QuickswapError(
                f"the grid has {len(self):,} points; at most {MOST:,} are allowed."
            )
        names = [name for name, _ in self.settings]
        choices = list(product(*(values for _, values in self.settings)))
        for model, system in self.models:
            with _of_model(model):
                systems = [system]
                if self.loads is not None:
                    systems = [system.with_load(load) for load in self.loads]
                elif self.rates is not None:
                    systems = [system.with_rate(rate) for rate in self.rates]
            for scaled, chosen, policy in product(systems, choices, self.policies):
                with _of_model(model):
                    point = Point.of(scaled, policy, **dict(zip(names, chosen, strict=True)))
                yield GridPoint(point, model, policy.label)

    def points(self) -> list[Point]:
        """Return the points, in the order of `grid_points`."""
        return [each.point for each in self.grid_points()]


def read_grids(path: str | Path, overrides: Mapping[str, Any]) -> tuple[Grid, ...]:
    """Return the grids of a TOML file; overrides replace its keys, in every grid.

    Raises:
        QuickswapError: the file or the overrides are not valid.
    """
    file, common, parts = _document(path)
    try:
        return tuple(_grid(common, part, overrides, file.parent) for part in parts)
    except QuickswapError as error:
        raise error.within(f"{file}: ") from None


def model_files(path: str | Path, overrides: Mapping[str, Any]) -> list[Path]:
    """Return the model files named by the grids of a TOML file or by the overrides.

    Raises:
        QuickswapError: the file is not valid.
    """
    file, common, parts = _document(path)
    named = [
        each
        for layer in (common, *parts, overrides)
        for key in ("model", "models")
        for each in _several(layer.get(key, ""), key)
        if isinstance(each, str) and each
    ]
    files = (Path(_beside(each, file.parent)) for each in named)
    return [each for each in files if each.is_file()]


def _document(path: str | Path) -> tuple[Path, dict[str, Any], list[dict[str, Any]]]:
    """Return a path, its top-level keys, and its `[[grid]]` tables, or one that is empty."""
    file = checked_path(path)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
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
            f"{file} is a model file, not a grid: write a grid that contains "
            f'models = ["{file.name}"].'
        )
    return file, document, parts


def _grid(
    common: Mapping[str, Any], part: Mapping[str, Any], overrides: Mapping[str, Any], folder: Path
) -> Grid:
    """Return one grid of a file: its keys over those at the top, and the overrides over both."""
    values: dict[str, Any] = {}
    for layer in (common, part, overrides):
        plural = _plural(layer)
        for one, other in (("loads", "rates"), ("rates", "loads")):
            if one in plural and other not in plural:
                values.pop(other, None)
        values |= plural
    for axis in ("models", "policies"):
        if axis not in values:
            message = f"a grid requires {axis}, as in {axis} = [{EXAMPLES[axis]}]."
            raise QuickswapError(message, argument=axis)
    models, policies = values.pop("models"), values.pop("policies")
    beside = [_beside(each, folder) for each in _several(models, "models")]
    return Grid(beside, policies, **values)


EXAMPLES = {"models": '"four-class"', "policies": '"msf", "adaptive-quickswap"'}


def _plural(layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a layer, with the names for a single value in the plural."""
    values: dict[str, Any] = {}
    for key, value in layer.items():
        if key not in KEYS:
            unknown("key of a grid", key, KEYS, QuickswapError)
        name = "seeds" if key == "seed" else SINGLE.get(key, key)
        if name in values:
            raise QuickswapError(
                f"a grid contains {key} twice, in the singular and the plural: keep one of them."
            )
        values[name] = value
    return values


def _beside(model: Any, folder: Path) -> Any:
    """Return a model; a file next to the grid is found by its relative name."""
    if isinstance(model, str) and (folder / model).is_file():
        return folder / model
    return model


@contextmanager
def _of_model(model: str) -> Iterator[None]:
    """Name the model in errors from it, and from policies that do not suit it."""
    try:
        yield
    except (ModelError, PolicyError) as error:
        raise error.within(f"{model}: ") from error


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
        raise QuickswapError(
            f"{what} is an empty list; give at least one.", argument=what, given=value
        )
    return tuple({repr(each): each for each in listed}.values())


def _numbers(value: Any, what: str) -> tuple[float, ...] | None:
    if value is None:
        return None
    given = _several(value, what)
    if any(isinstance(each, Mapping) for each in given):
        raise invalid(what, value, "a list of numbers", QuickswapError)
    return tuple(positive(each, f"an item of {what}", QuickswapError) for each in given)
