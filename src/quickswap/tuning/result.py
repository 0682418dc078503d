"""The result of tuning: the best policy, its margin, and a row for each candidate."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap._shown import Shown
from quickswap._words import counted
from quickswap.model.system import System
from quickswap.policies import parse
from quickswap.simulation.result import plain
from quickswap.statistics.estimates import Estimate

if TYPE_CHECKING:
    import polars

__all__ = ["Standing", "Tuning", "TuningRow"]

FORMAT = 1
"""Version of the JSON form."""


class Standing(StrEnum):
    """How a candidate compares with the best one.

    `ALIKE` is significantly within the indifference of the best; `WORSE` is significantly above it,
    and not significantly within the indifference.
    """

    BEST = "best"
    ALIKE = "not significantly different"
    INCONCLUSIVE = "inconclusive"
    WORSE = "significantly worse"
    UNSTABLE = "unstable"


@dataclass(frozen=True)
class TuningRow:
    """One candidate.

    Attributes:
        label: of the policy, in tables.
        policy: its spelling, which `parse` and the command line read.
        standing: how it compares with the best one.
        exact: whether the value is exact.
        value: the metric, seconds, from the last round in which it was simulated.
        above: difference from the winner on the same jobs, seconds.
        jobs: its jobs in the race.
        reason: of the standing; "" if there is none.
        equals: labels of given policies that take the same decisions on this system.
        alike: label of another candidate that took the same decisions on all jobs, so this one
            left the race; "" if there is none.
        fresh: whether the standing comes from fresh jobs, as the race was inconclusive.
    """

    label: str
    policy: str
    standing: Standing
    exact: bool
    value: Estimate
    above: Estimate
    jobs: int
    reason: str
    equals: tuple[str, ...]
    alike: str
    fresh: bool = False


@dataclass(frozen=True, repr=False)
class Tuning(Shown):
    """The best policy found for a workload; see `tune`. Estimates have 95 % intervals.

    `value`, `margin`, `default_cost` and `default_excess` come from simulations of fresh jobs. The
    values of the rows come from the race, where that of the winner has a selection bias: it is a
    little too low. If the race is inconclusive about `next` or the default, the fresh jobs decide.

    Attributes:
        system: the workload.
        metric: "weighted", "mean", "p99" or "max-class".
        rows: all candidates, the best first.
        value: of the winner, seconds.
        next: label of the candidate nearest to the winner in the race among those significantly
            worse or inconclusive; None if there is none. After the fresh jobs it may be `alike`.
        margin: its difference from the winner, seconds.
        default: spelling of the simple default.
        default_label: its label.
        default_cost: its difference from the winner, seconds.
        default_excess: the same relative to the winner: 0.07 is 7 %.
        checked: whether these are exact or come from fresh jobs; false after Ctrl-C.
        doubt: reason why the value of the winner cannot be trusted; "" if it can.
        indifference: relative difference that does not matter.
        confidence: of all comparisons of the race together.
        budget: jobs allowed.
        jobs: jobs simulated.
        rounds: of the race.
        seed: of the race.
        simulations: number of simulations.
        ran: simulations run by this call; the others were in the store. Not compared.
    """

    system: System
    metric: str
    rows: tuple[TuningRow, ...]
    value: Estimate
    next: str | None
    margin: Estimate
    default: str
    default_label: str
    default_cost: Estimate
    default_excess: Estimate
    checked: bool
    doubt: str
    indifference: float
    confidence: float
    budget: int
    jobs: int
    rounds: int
    seed: int
    simulations: int
    ran: int = field(default=0, compare=False)

    @property
    def winner(self) -> str | None:
        """Spelling of the best policy; None if it is undecided."""
        return self.rows[0].policy if self.rows and self.rows[0].standing is Standing.BEST else None

    @property
    def winner_label(self) -> str | None:
        """Label of the best policy."""
        return None if self.winner is None else self.rows[0].label

    @property
    def exact(self) -> bool:
        """Whether the value of the winner is exact."""
        return self.winner is not None and self.rows[0].exact

    @property
    def alike(self) -> tuple[str, ...]:
        """Labels of the candidates not significantly different from the winner."""
        return tuple(each.label for each in self.rows if each.standing is Standing.ALIKE)

    @property
    def inconclusive(self) -> tuple[str, ...]:
        """Labels of the candidates whose comparison with the winner is inconclusive."""
        return tuple(each.label for each in self.rows if each.standing is Standing.INCONCLUSIVE)

    def __repr__(self) -> str:
        best = (
            "undecided" if self.winner is None else f"{self.winner_label} is best: {self.value} s"
        )
        return f"<Tuning of {counted(len(self.rows), 'candidate')} for {self.metric}: {best}>"

    def to_frame(self) -> polars.DataFrame:
        """Return a polars frame with one row for each candidate, the best first.

        Columns: policy (label), spelling, standing, exact, value, half_width, above,
        above_half_width (seconds), jobs, reason; then metric, servers, arrival_rate (per second)
        and load of the workload, and the parameters of the policies.
        """
        import polars as pl

        schema: Any = dict.fromkeys(("policy", "spelling", "standing"), pl.String)
        schema |= {"exact": pl.Boolean}
        schema |= dict.fromkeys(("value", "half_width", "above", "above_half_width"), pl.Float64)
        schema |= {"jobs": pl.Int64, "reason": pl.String}
        rows = [
            (
                *(each.label, each.policy, each.standing.value, each.exact),
                *(each.value.value, each.value.half_width),
                *(each.above.value, each.above.half_width, each.jobs, each.reason),
            )
            for each in self.rows
        ]
        system = self.system
        workload = {
            "metric": self.metric,
            "servers": system.servers,
            "arrival_rate": system.arrival_rate,
            "load": system.load,
        }
        frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
            **{name: pl.lit(value) for name, value in workload.items()}
        )
        parameters = [parse(each.policy).parameters(system) for each in self.rows]
        if not any(parameters):
            return frame
        cells = pl.DataFrame(parameters, infer_schema_length=None, strict=False)
        return pl.concat([frame, cells], how="horizontal")

    def to_dict(self) -> dict[str, Any]:
        """Return the data of `to_json`; an estimate is a value and a half-width."""
        data: dict[str, Any] = {"quickswap_tuning": FORMAT, "winner": self.winner}
        names = [name for name in self.__dataclass_fields__ if name not in ("system", "ran")]
        data |= {name: plain(getattr(self, name)) for name in names}
        return data | {"system": self.system.to_dict()}

    def to_json(self) -> str:
        """Return all fields as JSON; non-finite numbers become strings."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file; a file already there is replaced only once all is written."""
        from quickswap.files import write_text

        write_text(path, self.to_json() + "\n")
