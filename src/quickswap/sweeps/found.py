"""The points that stores hold, before their results are read, and which of them are drawn."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from quickswap._check import items, real
from quickswap._words import load_words
from quickswap.engine._core import VERSION
from quickswap.engine._inputs import Inputs
from quickswap.errors import QuickswapError, shown
from quickswap.files import checked_path
from quickswap.model.system import System
from quickswap.policies import POLICIES, Policy, parse, spell
from quickswap.sweeps.families import chosen_model, loads_of, model_names, shape
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure
from quickswap.sweeps.spread import spread
from quickswap.sweeps.store import Store

__all__ = ["Drawn", "Found", "drawn_from", "opened"]

FIRST = ("msf", "first-fit", "nmsr", "msfq", "static-quickswap", "adaptive-quickswap")
"""Policies in the order of the paper's figures; the others follow in that of `POLICIES`."""
ORDER = tuple(dict.fromkeys((*FIRST, *(kind.name for kind in POLICIES))))
CLOSE = 1e-9
"""Relative difference of loads that count as equal."""


@dataclass(frozen=True, slots=True)
class Found:
    """A point that a store holds.

    Attributes:
        key: of the point.
        failure: why it has no result; None if it has one.
    """

    key: str
    inputs: Inputs
    system: System
    policy: Policy
    failure: Failure | None

    @property
    def load(self) -> float:
        """Load to twelve digits."""
        return float(f"{self.system.load:.12g}")

    @property
    def rate(self) -> float:
        """Arrivals per second to twelve digits."""
        return float(f"{self.system.arrival_rate:.12g}")


@dataclass
class Drawn:
    """What is drawn of what stores hold.

    Attributes:
        model: its name.
        points: in the order of their policies.
        left_out: why points are left out, and how many.
    """

    model: str
    points: list[Found]
    left_out: Counter[str] = field(default_factory=Counter)


@contextmanager
def opened(given: object) -> Iterator[Store]:
    """Open one or several stores to be read as one; their files are left as they are.

    Raises:
        QuickswapError: one of them is no store, or they hold different results of one point.
    """
    several = [given] if isinstance(given, Store | str | Path) else items(given)
    if not several:
        raise QuickswapError(f"stores is {shown(given)}: give a Store, its file, or several.")
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


def drawn_from(
    store: Store,
    *,
    model: Any = None,
    policies: object = None,
    loads: Iterable[float] | None = None,
    whole: bool = False,
) -> Drawn:
    """Return the points of a store that are asked for, of one model and one version.

    Args:
        store: what holds them.
        model: as `chosen_model` takes it.
        policies: policies or spellings, in the order wanted; a name alone is all policies of it
            if the plain one is not there. None for all.
        loads: those to keep; None for all.
        whole: whether a name alone is all policies of it in any case.

    Raises:
        QuickswapError: there is nothing, or something is asked for that is not there.
    """
    found = _of_one_version(store)
    systems = _distinct(found.points)
    names = model_names(systems)
    key = chosen_model(model, names, loads_of(systems))
    found.model = names[key]
    shapes = cache(shape)
    found.points = _kept(found, "of another model", lambda each: shapes(each.system) == key)
    if loads is not None:
        _keep_loads(found, list(loads))
    ranks = _ranks(found.points, policies, whole)
    found.points = _kept(
        found, "of a policy not asked for", lambda each: spell(each.policy) in ranks
    )
    found.points.sort(key=lambda each: (ranks[spell(each.policy)], each.rate, each.key))
    return found


def _of_one_version(store: Store) -> Drawn:
    """Return the points of this version of quickswap, or of the last one if there are none."""
    everything = Drawn("", [*_results(store), *_failures(store)])
    if not everything.points:
        what = "the store is" if store.path is None else f"{store.path} is"
        raise QuickswapError(f"{what} empty: give the store of a sweep that has run.")
    versions = [each.inputs.version for each in everything.points]
    wanted = VERSION if VERSION in versions else versions[-1]
    everything.points = _kept(
        everything, "of another version of quickswap", lambda each: each.inputs.version == wanted
    )
    return everything


def _results(store: Store) -> Iterator[Found]:
    for key, point in zip(store.keys(), store.points(), strict=False):
        yield _found(key, point, None)


def _failures(store: Store) -> Iterator[Found]:
    for each in store.failures():
        yield _found(each.point.key, each.point, each)


def _found(key: str, point: Point, failure: Failure | None) -> Found:
    system = _system(json.dumps(point.inputs.system))
    return Found(key, point.inputs, system, _policy(point.inputs.policy), failure)


@cache
def _system(text: str) -> System:
    return System.from_dict(json.loads(text))


@cache
def _policy(spelling: str) -> Policy:
    return parse(spelling)


def _distinct(points: Iterable[Found]) -> list[System]:
    systems = dict.fromkeys(each.system for each in points)
    return sorted(systems, key=lambda each: (each.servers, len(each.classes), shape(each)))


def _kept(found: Drawn, reason: str, wanted: Any) -> list[Found]:
    """Return the points that are wanted; count the others."""
    kept = [each for each in found.points if wanted(each)]
    if gone := len(found.points) - len(kept):
        found.left_out[reason] += gone
    return kept


def _keep_loads(found: Drawn, loads: Sequence[float]) -> None:
    there = sorted({each.load for each in found.points})
    for load in loads:
        if not any(_close(load, each) for each in there):
            raise QuickswapError(
                f"there are no points of {found.model} at load {load_words(load, 6)}: there are "
                f"those at {', '.join(load_words(each, 6) for each in there)}."
            )
    found.points = _kept(
        found, "at a load not asked for", lambda p: any(_close(p.load, each) for each in loads)
    )


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= CLOSE * abs(other)


def _ranks(points: Sequence[Found], asked: object, whole: bool) -> dict[str, int]:
    """Return the spellings to draw, each with its place in the order of the lines."""
    there = {spell(each.policy): each.policy for each in points}
    in_order = sorted(there, key=lambda spelling: _rank(there[spelling]))
    if asked is None:
        return {spelling: rank for rank, spelling in enumerate(in_order)}
    several = [asked] if isinstance(asked, str | Policy) else items(asked)
    if not several:
        raise QuickswapError(
            f"policies is {shown(asked)}: give one or several, or leave it out for all."
        )
    ranks: dict[str, int] = {}
    for policy in (each for given in several for each in _wanted(given)):
        exact = spell(policy) if isinstance(policy, Policy) else policy
        chosen = [exact] if exact in there else []
        if isinstance(policy, str) and (whole or not chosen):
            chosen = [each for each in in_order if there[each].name == exact]
        if not chosen:
            raise QuickswapError(
                f"there are no points of policy {exact}: there are those of {', '.join(in_order)}."
            )
        for spelling in chosen:
            ranks.setdefault(spelling, len(ranks))
    return ranks


def _wanted(given: object) -> Sequence[Policy | str]:
    """Return the policies that a description stands for; a name alone needs no parameters."""
    name = given.strip().lower().replace("_", "-") if isinstance(given, str) else None
    return [name] if name in ORDER else spread(given)


def _rank(policy: Policy) -> tuple[Any, ...]:
    """Return what orders policies: their names as in the figures, then defaults before others."""
    values = ((getattr(policy, each.name), each.default) for each in fields(policy))  # type: ignore[arg-type]  # all are dataclasses
    return (
        ORDER.index(policy.name),
        *((value != default, _comparable(value)) for value, default in values),
    )


def _comparable(value: object) -> tuple[int, float, str]:
    number = real(value)
    return (1, 0.0, str(value)) if number is None else (0, number, "")
