"""What tuning has found: the best policy, by how much, what is tied with it, and all others."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickswap.model.system import System
from quickswap.simulation.result import plain
from quickswap.statistics.estimates import Estimate

if TYPE_CHECKING:
    import polars

__all__ = ["Row", "Tuning"]

FRESH = "{} by the fresh jobs; the race did not tell."
"""Why a candidate has its place if the race has not told it."""
FORMAT = 1
"""Version of the JSON form."""


@dataclass(frozen=True)
class Row:
    """One candidate.

    Attributes:
        label: of the policy, in tables.
        policy: its spelling, which `parse` and the command line read.
        status: "best"; "tied" (at most `indifference` above the best, surely); "worse" (surely
            above it, and not surely within that); "unstable"; "not told" (more jobs would tell).
            Where the race did not tell, the fresh jobs may, and `reason` says so.
        exact: whether the value comes from theory.
        value: the metric, seconds, from the last round in which it was simulated.
        above: its value less that of the winner on the same jobs, seconds.
        jobs: simulated for it in the race.
        reason: of the status, if there is more to say.
        equals: labels of policies given that decide alike on this system.
        alike: label of another candidate that decided alike on all jobs simulated, so that this one
            left the race; "" if there is none.
    """

    label: str
    policy: str
    status: str
    exact: bool
    value: Estimate
    above: Estimate
    jobs: int
    reason: str
    equals: tuple[str, ...]
    alike: str


@dataclass(frozen=True)
class Tuning:
    """The best policy found for a workload; see `tune`. Estimates carry 95 % intervals.

    `value`, `margin`, `default_cost` and `default_excess` come from simulations of jobs that no
    candidate was chosen by; those of the rows from the race, where the best value is a little too
    good as it is the best. The fresh jobs also tell the place of `next` and of the default where
    the race did not.

    Attributes:
        system: what was tuned.
        metric: "weighted", "mean", "p99" or "max-class".
        rows: all candidates, the best first.
        value: of the winner, seconds.
        next: label of the candidate that came nearest to the winner in the race without being tied
            with it, whether surely worse or not; None if there is none. If the fresh jobs tie them,
            it is among `tied` as well.
        margin: its value less that of the winner, seconds.
        default: spelling of the simple default.
        default_label: its label.
        default_cost: its value less that of the winner, seconds.
        default_excess: the same as a share of the winner's: .07 says 7 %.
        checked: whether these come from jobs of their own, or theory; not if it was interrupted.
        doubt: why the value of the winner cannot be trusted, as the run was too short; else "".
        indifference: relative difference that does not matter.
        confidence: of all comparisons of the race together.
        budget: jobs that might be simulated.
        jobs: that were.
        rounds: of the race.
        seed: of the race.
        ran: simulations that were run now, and not found in the store; not compared.
        simulations: all of them.
    """

    system: System
    metric: str
    rows: tuple[Row, ...]
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
        """Spelling of the best policy; None if none is known to be stable."""
        return self.rows[0].policy if self.rows and self.rows[0].status == "best" else None

    @property
    def winner_label(self) -> str | None:
        """Label of the best policy."""
        return None if self.winner is None else self.rows[0].label

    @property
    def exact(self) -> bool:
        """Whether the value of the winner comes from theory."""
        return self.winner is not None and self.rows[0].exact

    @property
    def tied(self) -> tuple[str, ...]:
        """Labels of the candidates that are tied with the winner, the best first."""
        return tuple(each.label for each in self.rows if each.status == "tied")

    @property
    def not_told(self) -> tuple[str, ...]:
        """Labels of the candidates of which the jobs did not tell whether they are worse."""
        return tuple(each.label for each in self.rows if each.status == "not told")

    def to_frame(self) -> polars.DataFrame:
        """Return a polars frame with one row for each candidate, the best first.

        Columns: policy (label), spelling, status, exact, value, half_width, above,
        above_half_width (seconds), jobs, reason.
        """
        import polars as pl

        columns = ["policy", "spelling", "status", "exact", "value", "half_width"]
        columns += ["above", "above_half_width", "jobs", "reason"]
        rows = [
            (
                *(each.label, each.policy, each.status, each.exact),
                *(each.value.value, each.value.half_width),
                *(each.above.value, each.above.half_width, each.jobs, each.reason),
            )
            for each in self.rows
        ]
        kinds: list[Any] = [pl.String, pl.String, pl.String, pl.Boolean, *[pl.Float64] * 4]
        kinds += [pl.Int64, pl.String]
        return pl.DataFrame(rows, schema=dict(zip(columns, kinds, strict=True)), orient="row")

    def to_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes, as values of JSON; an estimate is value and half-width."""
        data: dict[str, Any] = {"quickswap_tuning": FORMAT, "winner": self.winner}
        names = [name for name in self.__dataclass_fields__ if name not in ("system", "ran")]
        data |= {name: plain(getattr(self, name)) for name in names}
        return data | {"system": self.system.to_dict()}

    def to_json(self) -> str:
        """Return all of it as JSON; numbers that JSON has no word for become strings."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file; a file already there is replaced only once all is written."""
        from quickswap.files import write_text

        write_text(path, self.to_json() + "\n")
