"""What a simulation found, as plain values: estimates with intervals, inputs, verdict."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from quickswap.engine.settings import Inputs
from quickswap.errors import InfiniteVarianceWarning, QuickswapError
from quickswap.model.system import System
from quickswap.model.variability import remarks
from quickswap.statistics.estimates import Estimate
from quickswap.statistics.pairing import Totals
from quickswap.statistics.quantities import ClassResult, PhaseResult, Quantities, Summary
from quickswap.statistics.verdict import Status, Verdict

if TYPE_CHECKING:
    import polars

__all__ = ["Result", "Stop", "Trajectory"]

FORMAT = 1
"""Version of the JSON form."""


class Stop(Enum):
    """Why a run ended."""

    COMPLETED = "all the jobs asked for have completed"
    PRECISE = "the precision asked for is reached"
    BUDGET = (
        "the jobs allowed have completed before the precision asked for was reached: allow more"
    )
    UNSTABLE = "the backlog grows without end, so that more jobs would add nothing"
    CROWDED = (
        "more jobs were in the system than allowed: raise the limit, or the system is unstable"
    )
    INTERRUPTED = "interrupted: this is what had been measured until then"


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


@dataclass(frozen=True)
class Result(Quantities):
    """What a simulation found. Estimates carry 95 % intervals.

    Attributes:
        inputs: all that determines it.
        classes: in the order of the system.
        phases: of MSFQ; empty for other policies.
        trajectory: None unless asked for.
        stop: why the run ended.
        verdict: stable or not.
        completed: completions simulated, warm-up included.
        events: arrivals and completions simulated.
        seconds: wall-clock time of the loops, nan in a result read from a file; not compared.
    """

    inputs: Inputs
    phases: tuple[PhaseResult, ...]
    trajectory: Trajectory | None
    stop: Stop
    verdict: Verdict
    completed: int
    events: int
    seconds: float = field(default=math.nan, compare=False)
    _totals: Totals | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def stable(self) -> bool:
        """Whether the verdict is "stable"."""
        return self.verdict.status is Status.STABLE

    @cached_property
    def system(self) -> System:
        """The system simulated."""
        with warnings.catch_warnings():  # the warning was given when the system was made
            warnings.simplefilter("ignore", InfiniteVarianceWarning)
            return System.from_dict(self.inputs.system)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known before the estimates are used, a sentence each: heavy tails."""
        return tuple(remarks(self.system))

    def to_json(self) -> str:
        """Return the result as JSON; non-finite numbers become strings."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes, as values of JSON."""
        data: dict[str, Any] = {"quickswap_result": FORMAT}
        return data | {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.compare}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            QuickswapError: the text is not a result, or one of another version of the format.
        """
        try:
            data = json.loads(text)
            version = data["quickswap_result"]
        except (ValueError, TypeError, KeyError) as error:
            raise QuickswapError(
                "not a quickswap result: give the JSON that Result.to_json wrote."
            ) from error
        if version != FORMAT:
            message = f"this result has format {version}; this version of quickswap reads {FORMAT}."
            raise QuickswapError(message)
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build a result from the form of `to_dict`.

        Raises:
            QuickswapError: a key is missing, or a value makes no sense.
        """
        try:
            return cls._from_dict(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise QuickswapError(
                f"this JSON of a quickswap result is damaged: {error!r}."
            ) from error

    @classmethod
    def _from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(
            inputs=Inputs(**data["inputs"]),
            policy_label=data["policy_label"],
            classes=tuple(map(_class_result, data["classes"])),
            overall=_class_result(data["overall"]),
            phases=tuple(map(_phase, data["phases"])),
            trajectory=_trajectory(data["trajectory"]),
            stop=Stop[data["stop"]],
            verdict=_verdict(data["verdict"]),
            completed=data["completed"],
            events=data["events"],
            weighted_mean_response_time=_estimate(data["weighted_mean_response_time"]),
            jain_index=_estimate(data["jain_index"]),
            utilisation=_estimate(data["utilisation"]),
            wasted_capacity=_estimate(data["wasted_capacity"]),
        )

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file; a file already there is replaced only once all is written."""
        from quickswap.files import write_text

        write_text(path, self.to_json() + "\n")

    def quantities(self) -> Iterator[tuple[str, str, Estimate]]:
        """Yield class (or "all"), quantity and estimate, in the order of the tables."""
        yield from super().quantities()
        for phase in self.phases:
            yield "all", f"mean_duration_of_phase_{phase.name}", phase.mean

    def rate_and_load(self) -> tuple[float, float]:
        """Return arrival rate and load to twelve digits, so that a load of .5 is found as such."""
        system = self.system
        return float(f"{system.arrival_rate:.12g}"), float(f"{system.load:.12g}")

    def to_frame(self) -> polars.DataFrame:
        """Return a polars frame with one row for each class and quantity.

        Columns: policy, arrival_rate (per second), load, class, quantity, value, half_width,
        verdict.
        """
        import polars as pl

        rate, load = self.rate_and_load()
        rows = [
            (self.policy_label, rate, load, who, what, e.value, e.half_width)
            for who, what, e in self.quantities()
        ]
        columns = ["policy", "arrival_rate", "load", "class", "quantity", "value", "half_width"]
        frame = pl.DataFrame(rows, schema=columns, orient="row")
        return frame.with_columns(pl.lit(str(self.verdict.status)).alias("verdict"))


def plain(value: Any) -> Any:
    """Return a value of JSON: names for enums, strings for numbers that are not finite."""
    if isinstance(value, Estimate):  # most of what there is
        pair = [value.value, value.half_width]
        return [each if math.isfinite(each) else str(each) for each in pair]
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def _estimate(pair: list[Any]) -> Estimate:
    return Estimate(float(pair[0]), float(pair[1]))


def _verdict(data: dict[str, Any]) -> Verdict:
    growth = _estimate(data["growth"])
    return Verdict(Status(data["status"]), data["proven"], data["reason"], growth)


def _summary(data: dict[str, Any]) -> Summary:
    return Summary(**{key: _estimate(pair) for key, pair in data.items()})


def _class_result(data: dict[str, Any]) -> ClassResult:
    return ClassResult(
        name=data["name"],
        need=data["need"],
        jobs=data["jobs"],
        response_time=_summary(data["response_time"]),
        waiting_time=_summary(data["waiting_time"]),
        slowdown=_summary(data["slowdown"]),
        bounded_slowdown=_summary(data["bounded_slowdown"]),
        number_in_system=_estimate(data["number_in_system"]),
        number_waiting=_estimate(data["number_waiting"]),
        throughput=_estimate(data["throughput"]),
    )


def _phase(data: dict[str, Any]) -> PhaseResult:
    mean, std = _estimate(data["mean"]), _estimate(data["std"])
    return PhaseResult(data["name"], data["count"], mean, std)


def _trajectory(data: dict[str, Any] | None) -> Trajectory | None:
    if data is None:
        return None
    return Trajectory(float(data["step"]), tuple(map(tuple, data["counts"])))
