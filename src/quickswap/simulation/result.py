"""The result of a simulation as plain values: estimates with intervals, inputs, verdict."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_type_hints

import msgspec

from quickswap._shown import Shown, plotted
from quickswap._words import load_words
from quickswap.engine.settings import Inputs
from quickswap.errors import QuickswapError
from quickswap.model.system import System
from quickswap.model.variability import remarks
from quickswap.policies import Policy
from quickswap.policies.custom import Custom
from quickswap.statistics.estimates import Estimate, Floats, Split
from quickswap.statistics.pairing import Totals
from quickswap.statistics.quantities import ModelQuantities, PhaseResult
from quickswap.statistics.verdict import Status, Verdict
from quickswap.theory.work import lower_bound, weighted_mean_size

if TYPE_CHECKING:
    import polars

    from quickswap._shown import Axes

__all__ = ["Result", "Stop", "Trajectory"]

FORMAT = 1
"""Version of the JSON form."""


class Stop(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    PRECISE = "precise"
    BUDGET = "budget"
    UNSTABLE = "unstable"
    CROWDED = "crowded"
    INTERRUPTED = "interrupted"

    @property
    def explanation(self) -> str:
        """The meaning of the value, and the remedy."""
        return _EXPLANATIONS[self]


_EXPLANATIONS = {
    Stop.COMPLETED: "all requested jobs have completed",
    Stop.PRECISE: "the requested precision is reached",
    Stop.BUDGET: "the jobs allowed have completed before the requested precision was reached: "
    "allow more",
    Stop.UNSTABLE: "the backlog grows without bound; more jobs would not help",
    Stop.CROWDED: "more jobs were in the system than allowed: raise the limit, or the system is "
    "unstable",
    Stop.INTERRUPTED: "interrupted: these are the results so far",
}


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Number in system per class at equally spaced times of the first replication.

    Attributes:
        step: seconds between points; the first is at time 0, when the system is empty.
        counts: per point, the jobs of each class.
    """

    step: float
    counts: tuple[tuple[int, ...], ...]

    @property
    def times(self) -> tuple[float, ...]:
        """Seconds, one per point."""
        return tuple(i * self.step for i in range(len(self.counts)))


@dataclass(frozen=True, repr=False)
class Result(Shown, ModelQuantities):
    """The result of a simulation. Estimates have intervals of the confidence of the inputs.

    Attributes:
        inputs: all that determines it.
        classes: in the order of the system.
        phases: of MSFQ; empty for other policies.
        trajectory: None unless requested.
        stop: why the run ended.
        verdict: stable or not.
        gains: of both means: how many times as many jobs a run without control variates needs for
            the same interval, as this run estimates it, which may be off by a factor of 3; empty
            without control variates.
        completed: completions simulated, warm-up included.
        events: arrivals and completions simulated.
        seconds: wall-clock time of the loops, nan in a result read from a file; not compared.
    """

    inputs: Inputs
    phases: tuple[PhaseResult, ...]
    trajectory: Trajectory | None
    stop: Stop
    verdict: Verdict
    gains: dict[str, float]
    completed: int
    events: int
    seconds: float = field(default=math.nan, compare=False)
    _totals: Totals | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def stable(self) -> bool:
        """Whether the verdict is "stable"."""
        return self.verdict.status is Status.STABLE

    @property
    def system(self) -> System:
        """The system simulated."""
        return self.inputs.system

    @property
    def policy(self) -> Policy:
        """The policy simulated; a custom one by its name and fingerprint."""
        return self.inputs.policy

    @property
    def lower_bound(self) -> float:
        """Lower bound on the weighted mean response time, seconds; see `theory.lower_bound`."""
        if not isinstance(self.policy, Custom):
            return lower_bound(self.system, self.policy)
        if math.isnan(self.waste_no_job_waits.value):  # a custom policy that uses sizes
            return weighted_mean_size(self.system)
        return lower_bound(self.system)

    @property
    def waste(self) -> Estimate:
        """How far the weighted mean response time is above the lower bound, seconds.

        It is nan unless the run is stable: a run that is too short may even be below the bound.
        """
        if not self.stable:
            return Estimate(math.nan, math.nan)
        return self.weighted_mean_response_time - self.lower_bound

    @property
    def _split(self) -> Split:
        """The batches and their parts; none in a result read from a file."""
        return Split([], []) if self._totals is None else self._totals.split

    @property
    def _controls(self) -> Floats | None:
        """The control in the rows of `_split`, if the run is stable and a control is known."""
        return self._totals.controls() if self._totals is not None and self.stable else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes to read before the estimates are used, a sentence each: heavy tails."""
        return tuple(remarks(self.system))

    def __repr__(self) -> str:
        load, verdict = load_words(self.system.load), self.verdict.status
        mean = self.mean_response_time
        return f"<Result {self.policy_label}, load {load}: {verdict}, mean response time {mean} s>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the trajectory on Matplotlib axes, by default new ones; return them.

        Raises:
            QuickswapError: the result has no trajectory.
        """
        return plotted(self, ax)

    def to_json(self) -> str:
        """Return the result as JSON; non-finite numbers become strings."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes, as values of JSON."""
        found = {name: plain(getattr(self, name)) for name in _found()}
        return {"quickswap_result": FORMAT, "inputs": self.inputs.to_dict(), **found}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            QuickswapError: the text is not a result, or one of another version of the format.
        """
        return cls.from_dict(read_json(text, "result", FORMAT))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build a result from the form of `to_dict`.

        Raises:
            QuickswapError: a key is missing, or a value makes no sense.
        """
        kinds, own = _found(), ("quickswap_result", "inputs")
        try:
            found = {
                name: msgspec.convert(value, kinds[name], strict=False)  # numbers may be strings
                for name, value in data.items()
                if name not in own
            }
            return cls(inputs=Inputs.from_dict(data["inputs"]), **found)
        except (KeyError, TypeError, QuickswapError, msgspec.ValidationError) as error:
            message = f"this JSON of a quickswap result is damaged: {str(error).rstrip('.')}."
            raise QuickswapError(message) from error

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file; a file already there is replaced only once all is written."""
        from quickswap.files import write_text

        write_text(path, self.to_json() + "\n")

    def quantities(self) -> Iterator[tuple[str, str, Estimate]]:
        """Yield class (or "all"), quantity and estimate, in the order of the tables."""
        yield from super().quantities()
        yield "all", "waste", self.waste
        for phase in self.phases:
            yield "all", f"mean_duration_of_phase_{phase.name}", phase.mean

    def rate_and_load(self) -> tuple[float, float]:
        """Return arrival rate and load to twelve digits, so a load of 0.5 compares equal to 0.5."""
        system = self.system
        return float(f"{system.arrival_rate:.12g}"), float(f"{system.load:.12g}")

    def to_frame(self, *, wide: bool = False) -> polars.DataFrame:
        """Return a polars frame with one row for each class and quantity.

        Columns: policy, arrival_rate (per second), load, class, quantity, value, half_width,
        verdict, servers, and the parameters of the policy. If it is `wide`, there is one row for
        each class, and each quantity is a column, followed by that of its half-width.
        """
        rate, load = self.rate_and_load()
        front = {"arrival_rate": rate, "load": load}
        back = {"servers": self.system.servers, **self.parameters}
        return self._framed(front, self.verdict.status, back, wide)

    @property
    def parameters(self) -> dict[str, bool | float | str]:
        """The parameters of the policy in full, a list as text; of a custom policy none."""
        return self.policy.parameters(self.system)


@cache
def _found() -> dict[str, Any]:
    """Return the fields of a result in JSON beside its inputs, with their types."""
    names = [each.name for each in fields(Result) if each.compare and each.name != "inputs"]
    kinds = get_type_hints(Result)
    return {name: kinds[name] for name in names}


def plain(value: Any) -> Any:
    """Return a value of JSON: strings for numbers that are not finite."""

    def finite(each: Any) -> Any:
        if isinstance(each, float):
            return each if math.isfinite(each) else str(each)
        if isinstance(each, dict):
            return {key: finite(part) for key, part in each.items()}
        return [finite(part) for part in each] if isinstance(each, list | tuple) else each

    return finite(msgspec.to_builtins(value))


def read_json(text: str, what: str, version: int) -> dict[str, Any]:
    """Return the data of a file of quickswap, whose first key is `quickswap_` and what it contains.

    Raises:
        QuickswapError: the text is something else, or of another version of the format.
    """
    try:
        data = json.loads(text)
        found = data[f"quickswap_{what}"]
    except (ValueError, TypeError, KeyError) as error:
        raise QuickswapError(
            f"not a quickswap {what}: give the JSON that {what.title()}.to_json wrote."
        ) from error
    if found != version:
        raise QuickswapError(
            f"this {what} has format {found}; this version of quickswap reads {version}.",
            argument="format",
            given=found,
            allowed=str(version),
        )
    return data  # type: ignore[no-any-return]  # it is a dictionary, as it has keys
