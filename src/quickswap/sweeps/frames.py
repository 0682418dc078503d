"""Many results as one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from quickswap.engine.settings import Settings
from quickswap.sweeps.point import Point

if TYPE_CHECKING:
    import polars

    from quickswap.simulation.result import Result

__all__ = ["frame_of"]

FRONT = ("policy", "arrival_rate", "load")
KINDS = {"bool": "Boolean", "int": "Int64", "float": "Float64"}
INPUTS = {
    each.name: KINDS.get(str(each.type).removesuffix(" | None"), "String")
    for each in fields(Settings)
    if each.name != "trajectory"  # it describes an output, not the run
} | {"seed": "UInt64", "version": "String"}
"""Inputs that become columns, with their types; a type that is not in `KINDS` is text."""
POINT = {
    "policy": "String",
    "arrival_rate": "Float64",
    "load": "Float64",
    "verdict": "String",
    "key": "String",
    "servers": "Int64",
    "spelling": "String",
    "stop": "String",
    "completed": "Int64",
    **INPUTS,
}
"""Columns of a point, with their types."""
QUANTITY = {"class": "String", "quantity": "String", "value": "Float64", "half_width": "Float64"}


def frame_of(results: Iterable[Result]) -> polars.DataFrame:
    """Return one row for each result, class and quantity; see `Store.to_frame`."""
    points: list[tuple[Any, ...]] = []
    rows: list[tuple[Any, ...]] = []
    for number, each in enumerate(results):
        points.append((number, *_point(each)))
        rows += [
            (number, cls, quantity, e.value, e.half_width) for cls, quantity, e in each.quantities()
        ]
    by_point, by_row = (_table(points, POINT), _table(rows, QUANTITY))
    rest = [name for name in POINT if name not in FRONT]
    joined = by_row.join(by_point, on="number", how="left", maintain_order="left")
    return joined.select(*FRONT, *QUANTITY, *rest)


def _table(rows: list[tuple[Any, ...]], kinds: dict[str, str]) -> polars.DataFrame:
    import polars as pl

    schema = {name: getattr(pl, kind) for name, kind in ({"number": "UInt32"} | kinds).items()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _point(result: Result) -> tuple[Any, ...]:
    inputs = result.inputs
    values = [getattr(inputs, name) for name in INPUTS]
    return (
        result.policy_label,
        *result.rate_and_load(),
        result.verdict.status,
        Point(inputs).key,
        inputs.system.servers,
        inputs.spelling,
        result.stop.name,
        result.completed,
        *(
            str(each) if kind == "String" else each
            for each, kind in zip(values, INPUTS.values(), strict=True)
        ),
    )
