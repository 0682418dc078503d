"""Results, comparisons, replays, sweeps and stores on one pair of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quickswap.errors import QuickswapError
from quickswap.plotting.chart import Chart, Panel
from quickswap.plotting.drawing import draw_on
from quickswap.plotting.results import (
    backlog_chart,
    comparison_chart,
    replay_chart,
    trajectory_chart,
)
from quickswap.plotting.stores import chart_of
from quickswap.replays import ReplayComparison, ReplayResult
from quickswap.simulation.comparison import Comparison
from quickswap.simulation.result import Result
from quickswap.statistics.quantities import (
    Quantities,
    Quantity,
    advice_without,
    quantity_of,
    value_of,
)
from quickswap.sweeps.run import Sweep
from quickswap.sweeps.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_object"]


def draw_object(found: object, ax: Axes | None, metric: str, x: str | None, model: Any) -> Axes:
    """Draw an object that has a figure on axes, by default new ones, and return them."""
    return draw_on(_chart(found, metric, x, model), ax)


def _chart(found: object, metric: str, x: str | None, model: Any) -> Chart:
    if isinstance(found, Result):
        return trajectory_chart(found)
    if isinstance(found, Comparison):
        quantity = _quantity(metric, found.results)
        return comparison_chart(found, (Panel("", quantity.name, log=not quantity.share),))
    if isinstance(found, ReplayResult):
        return backlog_chart(found)
    if isinstance(found, ReplayComparison):
        quantity = _quantity(metric, found.results)
        return replay_chart(found, Panel("", quantity.name, log=False))
    if isinstance(found, Sweep):
        found = _stored(found)
    if isinstance(found, Store):
        return chart_of(found, metrics=metric, x=x, model=model)
    raise QuickswapError(f"{type(found).__name__} has no figure.")


def _quantity(metric: str, results: Sequence[Quantities]) -> Quantity:
    """Return a quantity by its name.

    Raises:
        QuickswapError: the name is unknown, or no result has a value of the quantity.
    """
    quantity = quantity_of(metric)
    values = [value_of(each, quantity.name, None) for each in results]
    if all(each is None or math.isnan(each.value) for each in values):
        raise QuickswapError(
            f"no result has a value of {quantity.short or quantity.name}",
            argument="metric",
            given=metric,
            advice="simulate more jobs" if any(values) else advice_without(quantity),
        )
    return quantity


def _stored(found: Sweep) -> Store:
    """Return a store of the points of a sweep, as its own may contain others."""
    store = Store()
    for each, outcome in zip(found.grid_points, found.outcomes, strict=True):
        if isinstance(outcome, Result):
            store.put(each.point, outcome)
    return store
