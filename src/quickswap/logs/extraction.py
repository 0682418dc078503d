"""Times, size, need and wait of each job from the fields of its row; the same for all formats.

An unparsable value drops the row only if the submission, the size or the need is then unknown.
Other unparsable values are reported and become null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from quickswap.logs import times
from quickswap.logs.daylight_saving import TIME_FIELDS, resolve
from quickswap.logs.job_rows import LARGEST, complete, marked
from quickswap.logs.quality import DROP, Tally

__all__ = ["Sources", "extract"]

Sources = Mapping[str, Sequence[tuple[str, pl.Expr]]]
"""For each quantity the fields that contain it, the best first, each with its value as a number."""

_QUANTITIES = ("size", "wait", "need", "requested", "estimate")
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
    values = frame.select(
        pl.when(value.is_between(-LARGEST, LARGEST)).then(value).alias(field)
        for field, value in readings.items()
    )
    bad = pl.DataFrame(
        [(frame[field].is_not_null() & values[field].is_null()).alias(field) for field in readings]
    )
    run = values.select(
        *(_best(name, [name] if name in moments else []) for name in TIME_FIELDS),
        *(_best(name, [field for field, _ in sources.get(name, ())]) for name in _QUANTITIES),
        _skipped=pl.lit(False),
        _gap=pl.lit(False),
        _ambiguous=pl.lit(False),
    )
    if zone != "UTC" and bad.select(pl.any_horizontal(moments).any()).item():
        run, bad = _resolve_times(frame, run, bad, zone)
    start, end = pl.coalesce("start", pl.col("submit") + pl.col("wait")), pl.col("end")
    span = end - start
    run = run.with_columns(
        size=pl.coalesce("size", pl.when(span >= 0).then(span)),
        wait=pl.coalesce("wait", start - pl.col("submit")),
        _from_times=pl.col("size").is_null() & (span >= 0) & bool(sources.get("size")),
    )
    lost = _lost(run, bad, sources)
    wrong = bad.select(pl.any_horizontal(pl.all()).alias("wrong")).to_series()
    fresh = frame[DROP].is_null()
    _quote(frame, bad, lost & fresh, "unreadable", tally)
    _quote(frame, bad, wrong & ~lost & fresh, "bad_value", tally)
    running = pl.col("state").is_in(_RUNNING).fill_null(False) & end.is_null()
    idle: pl.Expr = pl.lit(False)
    if "start" in frame.columns:
        unstarted = frame["start"].is_null() & frame["submit"].is_not_null()
        idle = pl.lit(unstarted) & ~(pl.col("size") > 0).fill_null(False)
    drop = (
        pl.when(lost)
        .then(pl.lit("unreadable"))
        .when(pl.col("_skipped"))
        .then(pl.lit("skipped_time"))
        .when(idle)
        .then(pl.lit("never_started"))
    )
    texts = frame.drop([name for name in frame.columns if name in readings])
    return complete(
        pl.concat([texts, run], how="horizontal").with_columns(
            pl.coalesce(DROP, drop.otherwise(None)).alias(DROP),
            marked(
                running=running,
                size_from_times=pl.col("_from_times"),
                suspended=~running & ((span - pl.col("size")).abs() > 1),
                ambiguous_time=pl.col("_ambiguous"),
                gap_time=pl.col("_gap"),
                bad_value=pl.lit(wrong),
            ),
        )
    )


def _best(name: str, fields: list[str]) -> pl.Expr:
    """Return the first known value of several fields; for needs, preferably one above 0."""
    above = [pl.when(pl.col(field) > 0).then(pl.col(field)) for field in fields]
    needs = above if name in ("need", "requested") else []
    found = [*needs, *map(pl.col, fields), pl.lit(None, pl.Float64)]
    return pl.coalesce(found).alias(name)


def _lost(run: pl.DataFrame, bad: pl.DataFrame, sources: Sources) -> pl.Series:
    """Return which rows lack a required quantity because of an unparsable value."""

    def any_bad(*names: str) -> pl.Series:
        fields = [field for name in names for field, _ in sources.get(name, [(name, None)])]
        return bad.select(
            pl.any_horizontal(pl.lit(False), *(each for each in fields if each in bad.columns))
        ).to_series()

    unknown = run.select(
        submit=pl.col("submit").is_null() & ~pl.col("_skipped"),
        size=pl.col("size").is_null(),
        need=~((pl.col("need") > 0) | (pl.col("requested") > 0)).fill_null(False),
    )
    return (
        (unknown["submit"] & any_bad("submit"))
        | (unknown["size"] & any_bad("size", "start", "end"))
        | (unknown["need"] & any_bad("need", "requested"))
    )


def _resolve_times(
    frame: pl.DataFrame, run: pl.DataFrame, bad: pl.DataFrame, zone: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Resolve repeated and skipped local times; other times without a value stay bad."""
    moments = [name for name in TIME_FIELDS if name in frame.columns]
    odd = bad.select(pl.any_horizontal(moments)).to_series()
    at = odd.arg_true()
    few = run[at]
    logged = [frame[name].gather(at) if name in moments else few[name] for name in TIME_FIELDS]
    resolved = resolve(pl.DataFrame([*logged, few["size"], few["wait"]]), zone)
    columns = [
        run[name].scatter(at, [each.moments[index] for each in resolved])
        for index, name in enumerate(TIME_FIELDS)
    ]
    unsized = [
        "submit" in each.skipped or (size is None and not each.skipped.isdisjoint(("start", "end")))
        for each, size in zip(resolved, few["size"].to_list(), strict=True)
    ]
    columns += [
        run["_skipped"].scatter(at, unsized),
        run["_gap"].scatter(at, [bool(each.skipped) for each in resolved]),
        run["_ambiguous"].scatter(at, [each.ambiguous for each in resolved]),
    ]
    flags = [bad[name].scatter(at, [name in each.bad for each in resolved]) for name in moments]
    return run.with_columns(columns), bad.with_columns(flags)


def _quote(
    frame: pl.DataFrame, bad: pl.DataFrame, where: pl.Series, rule: str, tally: Tally
) -> None:
    """Keep the first unparsable text of the rows of a rule."""
    if where.any():
        row = frame.with_row_index("_at").filter(where).sort("line").row(0, named=True)
        name = next(each for each in bad.columns if bad[each][row["_at"]])
        tally.example(rule, row["line"], f"{name} {str(row[name])[:40]!r}")
