"""The variable on the horizontal axis of a store's chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from quickswap._check import real
from quickswap.engine.settings import Settings
from quickswap.errors import QuickswapError, unknown
from quickswap.plotting.selection import StoredPoint
from quickswap.policies import Policy, spell

__all__ = ["Variable", "is_parameter", "variable_of"]

WIDE = 30.0
"""Ratio of the largest to the least value above which an axis is logarithmic."""
SETTINGS = {
    each.name: each.metadata["label"]
    for each in fields(Settings)
    if str(each.type).startswith(("int", "float")) and each.name not in ("seed", "trajectory")
}
"""Settings that are numbers, with their labels; "" for the name."""
LABELS = {
    "load": "load",
    "rate": "arrival rate [jobs per second]",
    "threshold": "threshold l",
    "backfill": "risk of the backfilling",
    "window": "window [jobs]",
    "cycle": "cycle [s]",
}
"""Labels of the other variables, by default the name."""


@dataclass(frozen=True, slots=True)
class Variable:
    """The variable on the horizontal axis.

    Attributes:
        name: "load", "rate" (of arrivals), or that of a parameter or setting.
        kind: "rate" for the first two, "parameter" or "setting".
        log: whether its axis is logarithmic.
    """

    name: str
    kind: str
    log: bool = False

    @property
    def label(self) -> str:
        """The label of the axis."""
        return (LABELS | SETTINGS).get(self.name) or self.name.replace("_", " ")

    def value(self, point: StoredPoint) -> float | None:
        """Return the value of a point on the axis; None if it has none."""
        if self.kind == "rate":
            return point.load if self.name == "load" else point.rate
        if self.kind == "setting":
            return real(getattr(point.inputs, self.name))
        value = getattr(point.policy, self.name, None)
        if value is None and hasattr(point.policy, self.name):  # the default is worked out
            value = point.policy.resolve(point.system).get(self.name)
        return real(value)

    def line(self, point: StoredPoint) -> str:
        """Return the label of a point's line: its policy without the parameter on the axis."""
        title, label = point.policy.title, point.policy.label
        if self.kind != "parameter" or not hasattr(point.policy, self.name):
            return label
        _, _, rest = spell(point.policy).partition(":")
        others = [word for word in rest.split(",") if word and word.split("=")[0] != self.name]
        if self.value(point) is None:
            return label if rest else f"{title}, default {self.name}"
        return f"{title} ({', '.join(others).replace('=', ' ')})" if others else title


def is_parameter(given: str | None) -> bool:
    """Whether the requested axis can only be a parameter of policies."""
    return given is not None and _plain(given) not in ("load", "rate", *SETTINGS)


def variable_of(given: str | None, points: Sequence[StoredPoint]) -> Variable:
    """Return the requested axis, or the default one.

    The default is the load if there are several loads, otherwise the parameter of policies with the
    most values.

    Raises:
        QuickswapError: the axis is unknown or has a single value.
    """
    parameters = _parameters(points)
    if given is None:
        sizes = {name: len(_values(name, "parameter", points)) for name in parameters}
        best = max(sizes, key=sizes.__getitem__, default="load")
        if len({each.load for each in points}) > 1 or sizes.get(best, 0) < 2:
            return Variable("load", "rate")
        return _scaled(best, "parameter", points)
    name = _plain(given)
    if name in ("load", "rate"):
        return Variable(name, "rate")
    if name not in (*parameters, *SETTINGS):
        numbers = [
            *(each for each in parameters if _values(each, "parameter", points)),
            *(each for each in SETTINGS if _values(each, "setting", points)),
        ]
        known = ["load", "rate", *(each.replace("_", "-") for each in numbers)]
        unknown("x", given, known, QuickswapError, argument="x")
    axis = _scaled(name, "parameter" if name in parameters else "setting", points)
    if all(axis.value(each) is None for each in points):
        raise QuickswapError(f"no point has a number for {name}: draw against load or rate.")
    if len(values := _values(name, axis.kind, points)) == 1:
        varied = ["load", "rate"] if len({each.load for each in points}) > 1 else []
        kinds = [*((each, "parameter") for each in parameters), *((s, "setting") for s in SETTINGS)]
        varied += [each for each, kind in kinds if len(_values(each, kind, points)) > 1]
        raise QuickswapError(
            f"{name} is {values.pop():g} at all points that have a value: "
            + (f"draw against {' or '.join(varied)}." if varied else "leave the axis out."),
            given=given,
        )
    return axis


def _plain(given: object) -> str:
    return str(given).strip().replace("-", "_")


def _scaled(name: str, kind: str, points: Sequence[StoredPoint]) -> Variable:
    positive = [value for value in _values(name, kind, points) if value > 0]
    wide = name != "threshold" and bool(positive) and max(positive) >= WIDE * min(positive)
    return Variable(name, kind, log=wide)


def _values(name: str, kind: str, points: Sequence[StoredPoint]) -> set[float]:
    axis = Variable(name, kind)
    return {value for each in points if (value := axis.value(each)) is not None}


def _parameters(points: Sequence[StoredPoint]) -> list[str]:
    """Return the names of the parameters of the policies, except "rate"."""
    kinds: dict[type[Policy], None] = dict.fromkeys(type(each.policy) for each in points)
    names = (field.name for kind in kinds for field in fields(kind))  # type: ignore[arg-type]  # all are dataclasses
    return [name for name in dict.fromkeys(names) if name != "rate"]
