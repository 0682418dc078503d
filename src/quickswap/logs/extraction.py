"""Times, size, need and wait of each job from the fields of its row; the same for all formats.

An unparsable value drops the row only if the submission, the size or the need is then unknown.
Other unparsable values are reported and become null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from quickswap.logs import times, values
from quickswap.logs.daylight_saving import TIME_FIELDS, resolve
from quickswap.logs.job_rows import LARGEST, complete, marked
from quickswap.logs.quality import DROP, Tally

__all__ = ["Sources", "extract", "named_sources"]

Sources = Mapping[str, Sequence[tuple[str, pl.Expr]]]
"""For each quantity the fields that contain it, the best first, each with its value as a number."""

_QUANTITIES: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "size": values.duration,
    "wait": values.duration,
    "need": values.count,
    "requested": values.count,
    "estimate": values.duration,
}
"""The quantities besides times, each with its reading from a text or a number."""
_RUNNING = ("running", "suspended", "completing")


def extract(frame: pl.DataFrame, sources: Sources, zone: str | None, tally: Tally) -> pl.DataFrame:
    """Return the columns of `job_rows.complete`.

    Args:
        frame: the fields, null where missing: times named as in `TIME_FIELDS`, texts named as in
            `job_rows.TEXTS`, and the fields of `sources`; the line, the marks, and the rules that
            drop rows, as far as they are known.
        sources: the fields of size, wait, need, requested and estimate.
        zone: the time zone of local times; None is UTC.
        tally: keeps the first unparsable text.
    """
    zone = zone or "UTC"
    missing = [name for name in (DROP, "state") if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)
    moments = [name for name in TIME_FIELDS if name in frame.columns]
    readings = {name: times.seconds(pl.col(name), zone) for name in moments}
    for each in sources.values():
        readings |= dict(each)
    parsed = frame.select(
        pl.when(value.is_between(-LARGEST, LARGEST)).then(value).alias(field)
        for field, value in readings.items()
    )
    run = parsed.select(
        *(_best(name, [name] if name in moments else []) for name in TIME_FIELDS),
        *(_best(name, [field for field, _ in sources.get(name, ())]) for name in _QUANTITIES),
        *(
            pl.lit(frame[field].is_not_null() & parsed[field].is_null()).alias(_bad(field))
            for field in readings
        ),
        _skipped=pl.lit(False),
        _gap=pl.lit(False),
        _ambiguous=pl.lit(False),
    )
    if zone != "UTC" and run.select(pl.any_horizontal(map(_bad, moments)).any()).item():
        run = _resolve_times(frame, run, moments, zone)
    start, end = pl.coalesce("start", pl.col("submit") + pl.col("wait")), pl.col("end")
    span = end - start

    def bad(*names: str) -> pl.Expr:
        fields = [field for name in names for field in dict(sources.get(name, [(name, None)]))]
        known = (_bad(field) for field in fields if field in readings)
        return pl.any_horizontal(pl.lit(False), *known)

    need = ((pl.col("need") > 0) | (pl.col("requested") > 0)).fill_null(False)
    run = run.with_columns(
        size=pl.coalesce("size", pl.when(span >= 0).then(span)),
        wait=pl.coalesce("wait", start - pl.col("submit")),
        _from_times=pl.col("size").is_null() & (span >= 0) & bool(sources.get("size")),
        _wrong=pl.any_horizontal(map(_bad, readings)),
    ).with_columns(
        _lost=(pl.col("submit").is_null() & ~pl.col("_skipped") & bad("submit"))
        | (pl.col("size").is_null() & bad("size", "start", "end"))
        | (~need & bad("need", "requested"))
    )
    for rule, which in (
        ("unreadable", run["_lost"]),
        ("bad_value", run["_wrong"] & ~run["_lost"]),
    ):
        at = (which & frame[DROP].is_null()).arg_true()
        if len(at):  # keep the first unparsable text
            first = int(at[frame["line"][at].arg_min() or 0])
            name = next(field for field in readings if run[_bad(field)][first])
            text = f"{name} {str(frame[name][first])[:40]!r}"
            tally.example(rule, frame["line"][first], text)
    running = pl.col("state").is_in(_RUNNING).fill_null(False) & end.is_null()
    idle: pl.Expr = pl.lit(False)
    if "start" in frame.columns:
        unstarted = frame["start"].is_null() & frame["submit"].is_not_null()
        idle = pl.lit(unstarted) & ~(pl.col("size") > 0).fill_null(False)
    drop = (
        pl.when("_lost")
        .then(pl.lit("unreadable"))
        .when("_skipped")
        .then(pl.lit("skipped_time"))
        .when(idle)
        .then(pl.lit("never_started"))
    )
    texts = frame.drop([name for name in frame.columns if name in readings])
    return complete(
        pl.concat([texts, run], how="horizontal").with_columns(
            pl.coalesce(DROP, drop).alias(DROP),
            marked(
                running=running,
                size_from_times=pl.col("_from_times"),
                suspended=~running & ((span - pl.col("size")).abs() > 1),
                ambiguous_time=pl.col("_ambiguous"),
                gap_time=pl.col("_gap"),
                bad_value=pl.col("_wrong"),
            ),
        )
    )


def _bad(field: str) -> str:
    """Return the name of the column with whether the text of a field is unparsable."""
    return f"{field}?"


def named_sources(frame: pl.DataFrame) -> Sources:
    """Return the sources of a frame whose fields have the names of the quantities."""
    return {
        name: [(name, reading(pl.col(name)))]
        for name, reading in _QUANTITIES.items()
        if name in frame.columns
    }


def _best(name: str, fields: list[str]) -> pl.Expr:
    """Return the first known value of several fields; for needs, preferably one above 0."""
    above = [pl.when(pl.col(field) > 0).then(pl.col(field)) for field in fields]
    needs = above if name in ("need", "requested") else []
    found = [*needs, *map(pl.col, fields), pl.lit(None, pl.Float64)]
    return pl.coalesce(found).alias(name)


def _resolve_times(
    frame: pl.DataFrame, run: pl.DataFrame, moments: list[str], zone: str
) -> pl.DataFrame:
    """Resolve repeated and skipped local times; other times without a value stay bad."""
    at = run.select(pl.any_horizontal(map(_bad, moments))).to_series().arg_true()
    few = run[at]
    logged = [frame[name].gather(at) if name in moments else few[name] for name in TIME_FIELDS]
    resolved = resolve(pl.DataFrame([*logged, few["size"], few["wait"]]), zone)
    found = {
        name: [each.moments[index] for each in resolved] for index, name in enumerate(TIME_FIELDS)
    }
    found |= {_bad(name): [name in each.bad for each in resolved] for name in moments}
    found["_skipped"] = [
        "submit" in each.skipped or (size is None and not each.skipped.isdisjoint(("start", "end")))
        for each, size in zip(resolved, few["size"], strict=True)
    ]
    found["_gap"] = [bool(each.skipped) for each in resolved]
    found["_ambiguous"] = [each.ambiguous for each in resolved]
    return run.with_columns(run[name].scatter(at, values) for name, values in found.items())
