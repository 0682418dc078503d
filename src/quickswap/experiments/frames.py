"""All results of a store as one table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quickswap.experiments.point import Point

if TYPE_CHECKING:
    import polars

    from quickswap.experiments.store import Store
    from quickswap.result import Result

__all__ = ["frame_of", "frame_of_results"]

KEPT = (
    *("engine", "jobs", "precision", "seed", "replications", "warmup", "slowdown_bound"),
    *("max_in_system", "allow_unstable", "version"),
)
"""Inputs that become columns."""


def frame_of(store: Store) -> polars.DataFrame:
    """Return one row for each result, class and quantity; see `Store.to_frame`."""
    return frame_of_results(store)


def frame_of_results(results: Iterable[Result]) -> polars.DataFrame:
    """Return one row for each result, class and quantity."""
    import polars as pl

    frames = [_frame(each) for each in results]
    if frames:
        return pl.concat(frames)
    columns = ("policy", "arrival_rate", "load", "class", "quantity", "value", "half_width")
    more = ("verdict", "key", "servers", "spelling", "stop", "completed", *KEPT)
    return pl.DataFrame(schema=[*columns, *more])


def _frame(result: Result) -> polars.DataFrame:
    import polars as pl

    inputs = result.inputs
    values = {
        "key": Point(inputs).key,
        "servers": inputs.system["servers"],
        "spelling": inputs.policy,
        "stop": result.stop.name,
        "completed": result.completed,
    } | {name: getattr(inputs, name) for name in KEPT}
    values["warmup"] = str(inputs.warmup)
    types = {"precision": pl.Float64, "seed": pl.UInt64}
    columns = [pl.lit(value, dtype=types.get(name)).alias(name) for name, value in values.items()]
    return result.to_frame().with_columns(columns)
