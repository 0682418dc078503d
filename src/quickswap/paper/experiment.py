"""An experiment as data: simulations, values of theory, their axis, panels and effort."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, final

import msgspec
from msgspec import Meta, Struct

from quickswap._check import between, whole
from quickswap.engine.settings import MOST_JOBS, PointSettings
from quickswap.errors import (
    ModelError,
    PolicyError,
    QuickswapError,
    UnstableError,
    invalid,
    unknown,
)
from quickswap.model.distributions import Deterministic, LogNormal
from quickswap.model.system import System
from quickswap.plotting.chart import Panel
from quickswap.policies import (
    FCFS,
    MSF,
    MSFQ,
    AdaptiveQuickswap,
    Policy,
    ServerFilling,
    StaticQuickswap,
    parse,
    spell,
)
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.quantities import quantity_of
from quickswap.sweeps.grid import Grid
from quickswap.sweeps.point import Point
from quickswap.theory import fcfs, msfq, server_filling, static_quickswap
from quickswap.theory.means import Means
from quickswap.theory.threshold import Thresholds

__all__ = [
    "AXES",
    "BEYOND",
    "LOGARITHMIC",
    "MEAN",
    "WEIGHTED",
    "AxisName",
    "Effort",
    "Experiment",
    "Method",
    "Saved",
    "Series",
    "computed",
]

MEAN, WEIGHTED = "mean_response_time", "weighted_mean_response_time"

Method = Literal["simulated", "exact", "printed", "corrected", "approximation", "best thresholds"]
"""How a series is obtained: "printed" and "corrected" are the two forms of the paper's analysis,
"approximation" is our own of Static Quickswap, "best thresholds" compares thresholds with k - 1."""


def computed(method: Method, system: System, policy: Policy) -> dict[tuple[str, str], Estimate]:
    """Return values by class (or "all") and quantity, times in seconds.

    The half-width is 0 for exact values and nan for approximations. There are no values where the
    method does not apply to the system, or the policy is unstable.

    Raises:
        PolicyError: the method does not apply to the policy.
    """
    try:
        if method == "best thresholds" and isinstance(policy, MSFQ):
            scan = Thresholds(system, policy.drain)
            values = {}
            for metric in ("mean", "weighted"):
                best = scan.best(metric)
                values["all", f"best_threshold_for_{metric}"] = float(best.threshold)
                values["all", f"cost_of_default_for_{metric}"] = 1 + best.loss
        else:
            means = _means(method, system, policy)
            values = {(each.name, MEAN): each.mean_response_time for each in means.classes}
            values["all", MEAN] = means.mean_response_time
            values["all", WEIGHTED] = means.weighted_mean_response_time
    except (ModelError, UnstableError):
        return {}
    half_width = 0.0 if method in ("exact", "best thresholds") else float("nan")
    return {key: Estimate(value, half_width) for key, value in values.items()}


def _means(method: Method, system: System, policy: Policy) -> Means:
    match method, policy:
        case "exact", MSFQ():
            return msfq.exact(system, policy.threshold, policy.drain)
        case "exact", MSF():
            return msfq.exact(system, 0)
        case "exact", AdaptiveQuickswap():
            return msfq.exact(system, system.servers)
        case "exact", FCFS():
            return fcfs.exact(system)
        case "exact", ServerFilling(order="arrival", costly=False):
            return server_filling.exact(system)
        case ("printed" | "corrected") as form, MSFQ(drain="always"):
            threshold = system.servers - 1 if policy.threshold is None else policy.threshold
            return msfq.approximate(system, threshold, form)
        case "approximation", StaticQuickswap(drain="exclusive"):
            return static_quickswap.approximate(system, threshold=policy.threshold)
    raise PolicyError(
        f"policy: {policy.label} has no values of theory ({method}).",
        argument="series.policy",
        given=policy,
        allowed=f"one to which {method!r} applies",
    )


BEYOND = "beyond the paper"
DRAW = re.compile(r"\{draw (\d+)\}")
AxisName = Literal["rate", "load", "threshold", "risk", "overrun", "factor", "scv"]
AXES: dict[AxisName, str] = {
    "rate": "arrival rate [jobs per second]",
    "load": "load",
    "threshold": "threshold l",
    "risk": "risk",
    "overrun": "jobs that may be expected to outlast the drain",
    "factor": "factor by which mean sizes are misjudged",
    "scv": "squared coefficient of variation of the sizes",
}
"""The axes, with their labels; `LOGARITHMIC` are logarithmic.

`rate` and `load` scale the arrivals. `threshold`, `risk` and `overrun` replace {x} in the spelling
of a policy. With `factor`, {draw 3} in a spelling stands for the third random choice of believed
mean sizes, each that factor too long or too short. `scv` makes the sizes lognormal (deterministic
at 0) with the same means.
"""
DRAWN = "{draw "
MARKS: dict[AxisName, str] = {
    "threshold": "{x}",
    "risk": "{x}",
    "overrun": "{x}",
    "factor": DRAWN,
}
"""What the spelling of a policy contains if it depends on the axis."""
OTHER_QUANTITIES = (
    "trajectory",
    *(
        f"{what}_for_{metric}"
        for what in ("best_threshold", "cost_of_default")
        for metric in ("mean", "weighted")
    ),
)
"""Quantities of panels that results do not have."""
LOGARITHMIC: tuple[AxisName, ...] = ("risk", "overrun", "factor", "scv")


class Series(Struct, frozen=True, forbid_unknown_fields=True):
    """One policy, simulated or computed, at each value of the axis.

    Attributes:
        label: in the figure; series of one label have one entry in its legend.
        policy: its spelling; {x} stands for the value.
        method: "simulated", or how it is computed.
        values: of the axis, if they differ from those of the experiment.
    """

    label: str
    policy: str
    method: Method = "simulated"
    values: tuple[float, ...] = ()


class Effort(Struct, frozen=True, forbid_unknown_fields=True):
    """The length of the simulations.

    Attributes:
        jobs: completions at most, or exactly where there is no precision.
        precision: relative half-width to reach; None for a fixed number of jobs.
        most: completions at most of a point that is too short, or on which the verdict on a claim
            hangs; None if it is not simulated again.
    """

    jobs: int
    precision: float | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        whole(self.jobs, "jobs", 1, MOST_JOBS, QuickswapError)
        if self.precision is not None:
            between(self.precision, "precision", 0, 1, QuickswapError)
        if self.most is not None and not self.jobs <= self.most <= MOST_JOBS:
            allowed = f"at least jobs, {self.jobs}, and at most {MOST_JOBS}"
            raise invalid("most", self.most, allowed, QuickswapError)

    @property
    def longest(self) -> Effort:
        """The effort of the points that are simulated again."""
        return Effort(self.most or self.jobs, self.precision)


@final
class Experiment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One figure.

    Attributes:
        name: as on the command line, and of its files; not that of another file in the folder.
        title: one line.
        source: the paper's figure, or `BEYOND`.
        system: simulated, except for what the axis changes.
        axis: a key of `AXES`.
        values: of the axis.
        series, panels: of the figure.
        quick, full: efforts.
        precision_of: as in `simulate`.
        settings: of `simulate`, for all points.
    """

    name: Annotated[str, Meta(pattern="^(?!(claims|results)$)[a-z0-9][a-z0-9-]{0,99}$")]
    title: str
    source: str = BEYOND
    system: System
    axis: AxisName
    values: Annotated[tuple[float, ...], Meta(min_length=1)]
    series: Annotated[tuple[Series, ...], Meta(min_length=1)]
    panels: Annotated[tuple[Panel, ...], Meta(min_length=1)]
    quick: Effort
    full: Effort
    precision_of: str = "weighted"
    settings: Mapping[str, int | float] = {}

    def __post_init__(self) -> None:
        if len(set(self.values)) < len(self.values):
            raise invalid("values", self.values, "different from each other", QuickswapError)
        drawn = [(each.label, each.policy, each.method) for each in self.series]
        if len(set(drawn)) < len(drawn):
            raise QuickswapError("two series have the same label, policy and method.")
        for each in self.series:
            if each.method == "simulated" and each.values:
                raise QuickswapError(
                    f"series {each.label!r} is simulated and has values of its own: only computed "
                    "series have them, simulated ones have those of the figure."
                )
        mark = MARKS.get(self.axis)
        if mark and not any(mark in each.policy for each in self.series):
            raise QuickswapError(
                f"the axis is {self.axis}, and no policy depends on it: write {mark}"
                f"{'3}' if mark == DRAWN else ''} in its spelling."
            )
        if not self.estimates and not self.settings.get("trajectory"):
            raise QuickswapError("panels show trajectories, and none is kept: set its points.")
        for panel in self.panels:
            if (panel.quantity == "trajectory") == self.estimates:
                raise QuickswapError("some panels show trajectories and others do not.")
            if panel.quantity not in OTHER_QUANTITIES:
                named = quantity_of(panel.quantity).name
                if named != panel.quantity:
                    raise invalid("quantity", panel.quantity, f"written as {named}", QuickswapError)
            classes = ("all", *self.system.names) if self.estimates else self.system.names
            if panel.cls not in classes:
                unknown("class", panel.cls, classes, QuickswapError, argument="cls")
        # the others are fields of their own
        kept = PointSettings.__annotations__.keys() - {"jobs", "precision", "precision_of"}
        for name in self.settings:
            if name not in kept:
                unknown("setting", name, sorted(kept), QuickswapError, argument="settings")

    @property
    def estimates(self) -> bool:
        """Whether it shows estimates, which need long runs, and not only trajectories."""
        return any(panel.quantity != "trajectory" for panel in self.panels)

    def system_at(self, x: float) -> System:
        """Return the system at a value of the axis."""
        if self.axis == "rate":
            return self.system.with_rate(x)
        if self.axis == "load":
            return self.system.with_load(x)
        if self.axis != "scv":
            return self.system
        means = [each.size.mean for each in self.system.classes]
        sizes = [LogNormal(mean=mean, scv=x) if x else Deterministic(mean) for mean in means]
        classes = zip(self.system.classes, sizes, strict=True)
        return System(self.system.servers, [replace(each, size=size) for each, size in classes])

    def policy_at(self, series: Series, x: float) -> str:
        """Return the spelling of a series' policy at a value of the axis."""

        def believed(match: re.Match[str]) -> str:
            coin = random.Random(int(match[1]))
            factors = (x if coin.random() < 0.5 else 1 / x for _ in self.system.classes)
            return "+".join(f"{factor:g}" for factor in factors)

        return DRAW.sub(believed, series.policy.replace("{x}", f"{x:g}"))

    def points(self, effort: Effort) -> dict[tuple[Series, float], Point]:
        """Return the simulations, by series and value of the axis.

        At each value they are a grid: one system under several policies.
        """
        simulated = [each for each in self.series if each.method == "simulated"]
        settings: dict[str, Any] = {"engine": "auto", "jobs": effort.jobs, **self.settings}
        if effort.precision is not None:
            settings |= {"precision": effort.precision, "precision_of": self.precision_of}
        named = {}
        for x in self.values if simulated else ():
            policies = {each: self.policy_at(each, x) for each in simulated}
            grid = Grid(self.system_at(x), list(policies.values()), **settings)
            points = {each.inputs.spelling: each for each in grid.points()}
            for each, policy in policies.items():
                named[each, x] = points[spell(parse(policy))]
        return named


class Saved(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of the JSON file of an experiment.

    Attributes:
        quickswap_experiment: version of the format.
        version: of quickswap.
        effort: with which it was run; None for `full`.
        experiment: the record.
    """

    quickswap_experiment: Literal[2] = 2
    version: str = ""
    effort: Effort | None = None
    experiment: Experiment

    def to_json(self) -> str:
        """Return it as JSON."""
        data = msgspec.to_builtins(self)
        data["experiment"]["system"] = self.experiment.system.to_dict()
        return msgspec.json.format(msgspec.json.encode(data), indent=1).decode() + "\n"

    @classmethod
    def from_json(cls, text: str) -> Saved:
        """Read what `to_json` wrote.

        Raises:
            QuickswapError: the text is not an experiment; the message locates the error.
        """
        try:
            data = msgspec.json.decode(text)
            data["experiment"]["system"] = System.from_dict(data["experiment"]["system"])
            return msgspec.convert(data, cls)
        except (msgspec.MsgspecError, QuickswapError) as error:
            reason = str(error).replace(". - at", " - at").rstrip(".")
        except RecursionError:
            reason = "it is nested too deeply"
        except (KeyError, TypeError):
            reason = "it has no experiment with a system"
        raise QuickswapError(
            f"not a quickswap experiment: {reason}.",
            argument="figures",
            allowed="the JSON file of an experiment",
        )
