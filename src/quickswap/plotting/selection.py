"""The points of stores that a chart shows, selected before their results are read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from quickswap._check import items, real
from quickswap._words import load_words
from quickswap.engine._core import VERSION
from quickswap.engine.settings import Inputs
from quickswap.errors import QuickswapError, invalid
from quickswap.files import checked_path
from quickswap.model.system import System
from quickswap.plotting.families import chosen_model, loads_of, model_names, shape
from quickswap.policies import POLICIES, Policy, spell
from quickswap.sweeps.parameters import expand_parameters
from quickswap.sweeps.record import Failure
from quickswap.sweeps.store import Store

__all__ = ["Selection", "StoredPoint", "opened", "select"]

FIRST = ("msf", "first-fit", "nmsr", "msfq", "static-quickswap", "adaptive-quickswap")
"""Policies in the order of the paper's figures; the others follow in that of `POLICIES`."""
ORDER = tuple(dict.fromkeys((*FIRST, *(kind.name for kind in POLICIES))))
CLOSE = 1e-9
"""Relative tolerance of equal loads."""


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point of a store.

    Attributes:
        key: of the point.
        failure: the reason why it has no result; None if it has one.
    """

    key: str
    inputs: Inputs
    failure: Failure | None = None

    @property
    def system(self) -> System:
        """The system simulated."""
        return self.inputs.system

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self.inputs.policy

    @property
    def load(self) -> float:
        """Load to twelve digits."""
        return float(f"{self.system.load:.12g}")

    @property
    def rate(self) -> float:
        """Arrivals per second to twelve digits."""
        return float(f"{self.system.arrival_rate:.12g}")


@dataclass
class Selection:
    """The points of a store that are drawn.

    Attributes:
        points: in the order of their policies.
        model: its name.
        left_out: numbers of points that are left out, by reason.
    """

    points: list[StoredPoint]
    model: str = ""
    left_out: Counter[str] = field(default_factory=Counter)

    def keep(self, wanted: Callable[[StoredPoint], bool], reason: str) -> None:
        """Keep the points that are wanted; count the others by the reason."""
        kept = [each for each in self.points if wanted(each)]
        if len(kept) < len(self.points):
            self.left_out[reason] += len(self.points) - len(kept)
        self.points = kept


@contextmanager
def opened(given: object) -> Iterator[Store]:
    """Open one or several stores to be read as one; their files are not changed.

    Raises:
        QuickswapError: one of them is not a store, or they contain different results of one point.
    """
    several = [given] if isinstance(given, Store | str | Path) else items(given)
    if not several:
        allowed = "a Store, its file, or several"
        raise invalid("stores", given, allowed, QuickswapError)
    with ExitStack() as stack:
        stores = [
            each
            if isinstance(each, Store)
            else stack.enter_context(Store(checked_path(each), read_only=True))
            for each in several
        ]
        if len(stores) == 1:
            yield stores[0]
            return
        together = stack.enter_context(Store())
        together.merge(*stores)
        yield together


def select(
    store: Store,
    *,
    model: Any = None,
    policies: object = None,
    loads: Iterable[float] | None = None,
    every: bool = False,
) -> Selection:
    """Return the requested points of a store, of one model and one version.

    The version is this one, or that of the last point if the store has no points of this one.

    Args:
        store: contains the points.
        model: as `chosen_model` takes it.
        policies: policies or spellings, in order; a name alone stands for all policies of that name
            if the store has none without parameters. None for all.
        loads: those to keep; None for all.
        every: whether a name alone always stands for all policies of that name.

    Raises:
        QuickswapError: the store is empty, or contains none of the requested points.
    """
    results = [
        StoredPoint(key, point.inputs)
        for key, point in zip(store.keys(), store.points(), strict=False)
    ]
    failures = [StoredPoint(each.point.key, each.point.inputs, each) for each in store.failures()]
    found = Selection(results + failures)
    if not found.points:
        what = "the store is" if store.path is None else f"{store.path} is"
        raise QuickswapError(f"{what} empty: give the store of a sweep that has run.")
    versions = [each.inputs.version for each in found.points]
    version = VERSION if VERSION in versions else versions[-1]
    found.keep(lambda each: each.inputs.version == version, "of another version of quickswap")
    shapes = cache(shape)
    distinct = sorted(
        dict.fromkeys(each.system for each in found.points),
        key=lambda each: (each.servers, len(each.classes), shapes(each)),
    )
    names = model_names(distinct)
    key = chosen_model(model, names, loads_of(distinct))
    found.model = names[key]
    found.keep(lambda each: shapes(each.system) == key, "of another model")
    if loads is not None:
        _keep_loads(found, list(loads))
    ranks = _ranks(found.points, policies, every)
    found.keep(lambda each: each.inputs.spelling in ranks, "of a policy that was not requested")
    found.points.sort(key=lambda each: (ranks[each.inputs.spelling], each.rate, each.key))
    return found


def _keep_loads(found: Selection, loads: Sequence[float]) -> None:
    present = sorted({each.load for each in found.points})
    for load in loads:
        if not any(math.isclose(load, each, rel_tol=CLOSE) for each in present):
            raise QuickswapError(
                f"the store has no points of {found.model} at load {load_words(load, 6)}: give "
                f"some of {', '.join(load_words(each, 6) for each in present)}."
            )
    found.keep(
        lambda point: any(math.isclose(point.load, each, rel_tol=CLOSE) for each in loads),
        "at a load that was not requested",
    )


def _ranks(points: Sequence[StoredPoint], asked: object, every: bool) -> dict[str, int]:
    """Return the spellings to draw, each with its rank in the order of the lines."""
    there = {each.inputs.spelling: each.policy for each in points}
    in_order = sorted(there, key=lambda spelling: _rank(there[spelling]))
    if asked is None:
        return {spelling: rank for rank, spelling in enumerate(in_order)}
    several = [asked] if isinstance(asked, str | Policy) else items(asked)
    if not several:
        allowed = "one or several"
        raise invalid("policies", asked, allowed, QuickswapError, advice="leave it out for all")
    ranks: dict[str, int] = {}
    for given in several:
        name = given.strip().lower().replace("_", "-") if isinstance(given, str) else None
        alone = name in ORDER  # it may stand for all policies of that name
        for exact in [str(name)] if alone else map(spell, expand_parameters(given)):
            chosen = [exact] if exact in there else []
            if alone and (every or not chosen):
                chosen = [each for each in in_order if there[each].name == exact]
            if not chosen:
                raise QuickswapError(
                    f"the store has no points of policy {exact}: give some of "
                    f"{', '.join(in_order)}."
                )
            for spelling in chosen:
                ranks.setdefault(spelling, len(ranks))
    return ranks


def _rank(policy: Policy) -> tuple[Any, ...]:
    """Return a sort key: by name in the order of the figures, then defaults before others."""

    def comparable(value: object) -> tuple[int, float, str]:
        number = real(value)
        return (1, 0.0, str(value)) if number is None else (0, number, "")

    values = ((getattr(policy, each.name), each.default) for each in fields(policy))  # type: ignore[arg-type]  # all are dataclasses
    return (
        ORDER.index(policy.name),
        *((value != default, comparable(value)) for value, default in values),
    )
