"""The numbers of an experiment, one a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickswap.policies import parse
from quickswap.reproduction.analysis import APPROXIMATE, computed
from quickswap.reproduction.experiment import Effort, Experiment, Panel, Series
from quickswap.simulation.result import Result, Stop
from quickswap.statistics.estimates import Estimate
from quickswap.sweeps.record import Failure

if TYPE_CHECKING:
    import polars

__all__ = ["Row", "Rows", "gathered"]


@dataclass(frozen=True, slots=True)
class Row:
    """A quantity at a point. Times are in seconds, rates in jobs per second.

    Attributes:
        series, policy, method: as in `Series`; the policy's spelling at this point.
        x: value of the axis.
        rate, load: of the system.
        cls, quantity: as in `Result.quantities`.
        value: nan where there is none.
        half_width: of the 95 % interval; 0 for what is exact, nan where it is not known.
        verdict: of the simulation; "" for what is computed.
        reached: whether the precision asked for is reached; true where none was asked for.
        jobs: completions simulated.
    """

    series: str
    policy: str
    method: str
    x: float
    rate: float
    load: float
    cls: str
    quantity: str
    value: float
    half_width: float
    verdict: str
    reached: bool
    jobs: int

    @property
    def estimate(self) -> Estimate:
        """The value with its half-width."""
        return Estimate(self.value, self.half_width)


@dataclass(frozen=True)
class Rows(Sequence[Row]):
    """All rows of an experiment, and the results they are from, by series and value of the axis."""

    experiment: Experiment
    rows: tuple[Row, ...]
    results: dict[tuple[Series, float], Result | Failure]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def of(
        self, series: str, quantity: str, cls: str = "all", method: str = "simulated"
    ) -> dict[float, Row]:
        """Return the rows of a label, by value of the axis."""
        return {
            row.x: row
            for row in self.rows
            if (row.series, row.quantity, row.cls, row.method) == (series, quantity, cls, method)
        }

    def curve(self, series: Series, panel: Panel) -> list[Row]:
        """Return the rows of a series in a panel, by ascending value of the axis."""
        spelled = {x: self.experiment.at(series, x)[1] for x in self.experiment.values_of(series)}
        wanted = (series.label, panel.quantity, panel.cls, series.method)
        found = {
            row.x: row
            for row in self.rows
            if (row.series, row.quantity, row.cls, row.method) == wanted
            and row.policy == spelled.get(row.x)
        }
        return [found[x] for x in sorted(found)]

    def result(self, series: str, x: float) -> Result | None:
        """Return what was simulated there, if it has a result."""
        for (each, value), result in self.results.items():
            if each.label == series and value == x and isinstance(result, Result):
                return result
        return None

    def to_frame(self) -> polars.DataFrame:
        """Return a polars frame with a row for each row and the columns of `Row`."""
        import polars as pl

        columns = [name if name != "cls" else "class" for name in Row.__dataclass_fields__]
        data = [tuple(getattr(row, name) for name in Row.__dataclass_fields__) for row in self]
        return pl.DataFrame(data, schema=columns, orient="row").with_columns(
            pl.lit(self.experiment.name).alias("figure")
        )


def gathered(experiment: Experiment, effort: Effort, results: Sequence[Result | Failure]) -> Rows:
    """Put the results of an experiment's points together with what theory says.

    Args:
        experiment, effort: whose points were run.
        results: one a point, in their order.
    """
    found = {
        (series, x): result
        for (series, x, _), result in zip(experiment.points(effort), results, strict=True)
    }
    rows: list[Row] = []
    for series in experiment.series:
        for x in experiment.values_of(series):
            if series.method == "simulated":
                rows += _simulated(experiment, series, x, found[series, x])
            else:
                rows += _computed(experiment, series, x)
    return Rows(experiment, tuple(rows), found)


def _simulated(
    experiment: Experiment, series: Series, x: float, result: Result | Failure
) -> Iterator[Row]:
    if isinstance(result, Failure):
        values: list[tuple[str, str, Estimate]] = [
            (panel.cls, panel.quantity, Estimate(math.nan, math.nan)) for panel in experiment.panels
        ]
        verdict, reached, jobs = ("unstable" if result.unstable else "failed"), False, 0
    else:
        values, verdict = list(result.quantities()), result.verdict.status
        reached, jobs = result.stop is not Stop.BUDGET, result.completed
    build = _builder(experiment, series, x)
    for cls, quantity, each in values:
        yield build(cls, quantity, each, verdict, reached, jobs)


def _computed(experiment: Experiment, series: Series, x: float) -> Iterator[Row]:
    system, spelling = experiment.at(series, x)
    half_width = math.nan if series.method in APPROXIMATE else 0.0
    build = _builder(experiment, series, x)
    for (cls, quantity), value in computed(series.method, system, parse(spelling)).items():
        yield build(cls, quantity, Estimate(value, half_width), "", True, 0)


def _builder(
    experiment: Experiment, series: Series, x: float
) -> Callable[[str, str, Estimate, str, bool, int], Row]:
    """Return what makes the rows of one point."""
    system, spelling = experiment.at(series, x)
    rate, load = system.arrival_rate, system.load

    def build(
        cls: str, quantity: str, found: Estimate, verdict: str, reached: bool, jobs: int
    ) -> Row:
        return Row(
            series=series.label,
            policy=spelling,
            method=series.method,
            x=x,
            rate=rate,
            load=load,
            cls=cls,
            quantity=quantity,
            value=found.value,
            half_width=found.half_width,
            verdict=verdict,
            reached=reached,
            jobs=jobs,
        )

    return build
