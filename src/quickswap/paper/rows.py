"""The numbers of an experiment, one per row, and their chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickswap.paper.experiment import AXES, LOGARITHMIC, Experiment, Series, computed
from quickswap.plotting.chart import MISSING, Axis, Chart, Line, Look, Mark
from quickswap.policies import parse
from quickswap.simulation.result import Result, Stop, Trajectory
from quickswap.statistics.estimates import Estimate
from quickswap.sweeps.record import Failure

if TYPE_CHECKING:
    import polars

__all__ = ["Row", "Rows", "chart_of_rows", "rows_of"]

LOOKS: dict[str, Look] = {
    "simulated": "marks",
    "exact": "exact",
    "printed": "dashed",
    "corrected": "dotted",
    "approximation": "dotted",
    "best thresholds": "curve",
}
"""Looks of the lines, by method."""


@dataclass(frozen=True, slots=True)
class Row:
    """A quantity at a point. Times are in seconds, rates in jobs per second.

    Attributes:
        series: label of the line.
        policy: spelling of the policy at this point.
        method: as in `Series`.
        x: value of the axis.
        rate, load: of the system.
        cls, quantity: as in `Result.quantities`.
        value: nan if there is none.
        half_width: of the 95 % interval; 0 for exact values, nan where it is unknown.
        verdict: of the simulation; "" for computed values.
        reached: whether the requested precision is reached; true if none was requested.
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
    """All rows of an experiment, and the results, by series and value of the axis."""

    experiment: Experiment
    rows: tuple[Row, ...]
    results: Mapping[tuple[Series, float], Result | Failure]

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

    def exact(self, policy: str, quantity: str, cls: str = "all") -> dict[float, float]:
        """Return the exact values of a policy, spelled as in `Series`, by value of the axis."""
        return {
            row.x: row.value
            for row in self.rows
            if (row.quantity, row.cls, row.method) == (quantity, cls, "exact")
            and row.policy == policy.replace("{x}", f"{row.x:g}")
        }

    def to_frame(self) -> polars.DataFrame:
        """Return a polars frame with a row for each row and the columns of `Row`."""
        import polars as pl

        columns = [name if name != "cls" else "class" for name in Row.__dataclass_fields__]
        data = [tuple(getattr(row, name) for name in Row.__dataclass_fields__) for row in self]
        return pl.DataFrame(data, schema=columns, orient="row").with_columns(
            pl.lit(self.experiment.name).alias("figure")
        )


def rows_of(
    experiment: Experiment, results: Mapping[tuple[Series, float], Result | Failure]
) -> Rows:
    """Return the rows of an experiment, from simulations and from theory.

    Args:
        experiment: the record.
        results: of its points, by series and value of the axis.
    """
    rows: list[Row] = []
    for series in experiment.series:
        for x in series.values or experiment.values:
            system, policy = experiment.system_at(x), experiment.policy_at(series, x)
            result = results.get((series, x))
            verdict, reached, jobs = "", True, 0
            if isinstance(result, Result):
                estimates = {(cls, quantity): each for cls, quantity, each in result.quantities()}
                verdict, jobs = result.verdict.status, result.completed
                reached = result.stop is not Stop.BUDGET
            elif isinstance(result, Failure):
                estimates = {(each.cls, each.quantity): MISSING for each in experiment.panels}
                verdict, reached = "unstable" if result.unstable else "failed", False
            else:
                estimates = computed(series.method, system, parse(policy))
            rows += [
                Row(
                    series=series.label,
                    policy=policy,
                    method=series.method,
                    x=x,
                    rate=system.arrival_rate,
                    load=system.load,
                    cls=cls,
                    quantity=quantity,
                    value=estimate.value,
                    half_width=estimate.half_width,
                    verdict=verdict,
                    reached=reached,
                    jobs=jobs,
                )
                for (cls, quantity), estimate in estimates.items()
            ]
    return Rows(experiment, tuple(rows), results)


def chart_of_rows(rows: Rows) -> Chart:
    """Return the chart of an experiment."""
    experiment = rows.experiment
    if any(panel.quantity == "trajectory" for panel in experiment.panels):
        lines = tuple(
            Line(series.label, _path(result, result.trajectory, experiment), look="path")
            for (series, _), result in rows.results.items()
            if isinstance(result, Result) and result.trajectory is not None
        )
        return Chart(Axis("time [s]"), experiment.panels, lines)
    known: dict[tuple[str, str, float], dict[tuple[str, str], Row]] = {}
    for row in rows:
        known.setdefault((row.method, row.policy, row.x), {})[row.cls, row.quantity] = row
    lines = tuple(
        Line(
            series.label,
            tuple(
                _mark(x, known.get((series.method, experiment.policy_at(series, x), x), {}), rows)
                for x in sorted(series.values or experiment.values)
            ),
            LOOKS[series.method],
        )
        for series in experiment.series
    )
    label, log = AXES[experiment.axis], experiment.axis in LOGARITHMIC
    axis = Axis.of(label, sorted(experiment.values), log=log)
    limit = {"rate": experiment.system.capacity, "load": 1.0}.get(experiment.axis)
    return Chart(axis, experiment.panels, lines, limit)


def _mark(x: float, found: Mapping[tuple[str, str], Row], rows: Rows) -> Mark:
    panels = rows.experiment.panels
    chosen = [found.get((panel.cls, panel.quantity)) for panel in panels]
    estimates = tuple(MISSING if row is None else row.estimate for row in chosen)
    any_row = next(iter(found.values()), None)
    if any_row is None:
        return Mark(x, estimates)
    return Mark(x, estimates, any_row.verdict, any_row.reached)


def _path(result: Result, trajectory: Trajectory, experiment: Experiment) -> tuple[Mark, ...]:
    """Return the number of jobs of each panel's class along the trajectory."""
    classes = [result.system.names.index(panel.cls) for panel in experiment.panels]
    return tuple(
        Mark(time, tuple(Estimate(float(counts[each]), 0.0) for each in classes))
        for time, counts in zip(trajectory.times, trajectory.counts, strict=True)
    )
