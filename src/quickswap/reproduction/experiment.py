"""A figure as data: systems, policies, what is varied, what is drawn, and how long to simulate."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, final

from quickswap.errors import QuickswapError, shown, unknown
from quickswap.model.distributions import Deterministic, LogNormal
from quickswap.model.system import System
from quickswap.sweeps.point import Point

__all__ = ["AXES", "Axis", "Effort", "Experiment", "Panel", "Series"]

FORMAT = 1
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
"""Of an experiment, which becomes the name of its files."""
DRAW = re.compile(r"\{draw (\d+)\}")


@dataclass(frozen=True, slots=True)
class Axis:
    """What is varied: `label` is what the figure calls it."""

    label: str
    log: bool = False


AXES = {
    "rate": Axis("arrival rate [jobs per second]"),
    "load": Axis("load"),
    "threshold": Axis("threshold l"),
    "risk": Axis("risk", log=True),
    "overrun": Axis("jobs that may be expected to outlast the drain", log=True),
    "factor": Axis("factor by which mean sizes are misjudged", log=True),
    "scv": Axis("squared coefficient of variation of the sizes"),
}
"""What can be varied.

`rate` and `load` scale the arrivals; `threshold`, `risk` and `overrun` stand in the policy's
spelling as {x}; with `factor`, {draw 3} stands there for a belief about each class, the third of
many, in which its mean size is that factor too long or too short; `scv` makes the sizes lognormal
(0: deterministic) of the same means.
"""


@dataclass(frozen=True, slots=True)
class Series:
    """One policy, simulated or computed, at each value of the axis.

    Attributes:
        label: in the figure; series of one label have one entry in its legend.
        policy: its spelling; {x} stands for the value.
        method: "simulated", or a key of `analysis.METHODS`.
        values: other values than those of the experiment.
    """

    label: str
    policy: str
    method: str = "simulated"
    values: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture.

    Attributes:
        title: above it.
        quantity: as `Result.quantities` names it; or "trajectory".
        cls: name of the class, or "all".
        label: of the vertical axis.
        log: whether that is logarithmic.
    """

    title: str
    quantity: str
    cls: str = "all"
    label: str = "seconds"
    log: bool = True


@dataclass(frozen=True, slots=True)
class Effort:
    """How long each point is simulated.

    Attributes:
        jobs: completions at most, or exactly where there is no precision.
        precision: relative half-width to reach; None for a fixed number of jobs.
    """

    jobs: int
    precision: float | None = None


@final
@dataclass(frozen=True)
class Experiment:
    """One figure.

    Attributes:
        name: as on the command line.
        title: what it shows, in a line.
        source: the paper's figure, or "beyond the paper".
        system: simulated, but for what the axis changes.
        axis: a key of `AXES`.
        values: of the axis.
        series, panels: what is drawn.
        quick, full: efforts.
        precision_of: as in `simulate`.
        settings: of `simulate`, for all points.
    """

    name: str
    title: str
    source: str
    system: System
    axis: str
    values: tuple[float, ...]
    series: tuple[Series, ...]
    panels: tuple[Panel, ...]
    quick: Effort
    full: Effort
    precision_of: str = "mean"
    settings: tuple[tuple[str, Any], ...] = ()

    def at(self, series: Series, x: float) -> tuple[System, str]:
        """Return the system and the spelling of the policy at a value of the axis."""
        system = self.system
        if self.axis == "rate":
            system = system.with_rate(x)
        elif self.axis == "load":
            system = system.with_load(x)
        elif self.axis == "scv":
            system = _with_scv(system, x)
        policy = series.policy.replace("{x}", f"{x:g}")
        return system, DRAW.sub(lambda found: _belief(system, x, int(found[1])), policy)

    def values_of(self, series: Series) -> tuple[float, ...]:
        """Return the values at which a series is looked at."""
        return self.values if series.values is None else series.values

    def points(self, effort: Effort) -> Iterator[tuple[Series, float, Point]]:
        """Yield the simulations: series, value of the axis, point."""
        settings: dict[str, Any] = {"jobs": effort.jobs, **dict(self.settings)}
        if effort.precision is not None:
            settings |= {"precision": effort.precision, "precision_of": self.precision_of}
        for series in self.series:
            if series.method == "simulated":
                for x in self.values_of(series):
                    yield series, x, Point.of(*self.at(series, x), **settings)

    def to_json(self, **more: Any) -> str:
        """Return the record as JSON, with what else is to be remembered."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        data |= {
            "system": self.system.to_dict(),
            "series": [asdict(each) for each in self.series],
            "panels": [asdict(each) for each in self.panels],
            "quick": asdict(self.quick),
            "full": asdict(self.full),
        }
        return json.dumps({"quickswap_experiment": FORMAT, **data, **more}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> tuple[Self, dict[str, Any]]:
        """Read what `to_json` wrote: the record, and what else was remembered.

        Raises:
            QuickswapError: it is something else.
        """
        try:
            data = json.loads(text)
            version = data.pop("quickswap_experiment")
        except (ValueError, TypeError, KeyError, AttributeError):
            raise QuickswapError("this is no JSON of a quickswap experiment.") from None
        if version != FORMAT:
            raise QuickswapError(
                f"this experiment has format {version}; this version reads {FORMAT}."
            )
        fields = {name: data.pop(name) for name in cls.__dataclass_fields__ if name in data}
        try:
            record = cls(
                **fields
                | {
                    "system": System.from_dict(fields["system"]),
                    "values": tuple(fields["values"]),
                    "series": tuple(_series(each) for each in fields["series"]),
                    "panels": tuple(Panel(**each) for each in fields["panels"]),
                    "quick": Effort(**fields["quick"]),
                    "full": Effort(**fields["full"]),
                    "settings": tuple((name, value) for name, value in fields["settings"]),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise QuickswapError(
                f"this JSON of a quickswap experiment is damaged: {error!r}."
            ) from None
        if not isinstance(record.name, str) or not NAME.fullmatch(record.name):
            raise QuickswapError(
                f"the name of an experiment is {shown(record.name)}; it must be of small letters, "
                "digits and hyphens, as it names files."
            )
        if not (record.values and record.series and record.panels):
            raise QuickswapError("an experiment needs values, series and panels; this has none.")
        if record.axis not in AXES:
            unknown("axis", record.axis, AXES, QuickswapError)
        return record, data


def _series(data: dict[str, Any]) -> Series:
    values = data["values"]
    return Series(**data | {"values": None if values is None else tuple(values)})


def _belief(system: System, factor: float, draw: int) -> str:
    """Return a factor or its inverse for each class, as the draw with this number has it."""
    coin = random.Random(draw)
    return "+".join(f"{factor if coin.random() < 0.5 else 1 / factor:g}" for _ in system.classes)


def _with_scv(system: System, scv: float) -> System:
    """Return the system with sizes of the same means and this squared coefficient of variation."""
    classes = (
        replace(
            each,
            size=LogNormal(mean=each.size.mean, scv=scv) if scv else Deterministic(each.size.mean),
        )
        for each in system.classes
    )
    return System(system.servers, tuple(classes))
