"""A log of jobs, ready to be replayed or fitted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from quickswap._check import factor as check_factor
from quickswap.files import checked_path, write_with
from quickswap.logs.errors import LogError
from quickswap.logs.quality import QualityReport

__all__ = ["COLUMNS", "KEY", "JobLog"]

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "submit": pl.Float64,
    "need": pl.Int64,
    "size": pl.Float64,
    "estimate": pl.Float64,
    "wait": pl.Float64,
    "eligible": pl.Float64,
    "class": pl.Categorical,
    "user": pl.Categorical,
    "group": pl.Categorical,
    "queue": pl.Categorical,
    "partition": pl.Categorical,
    "state": pl.Categorical,
    "job": pl.String,
    "line": pl.Int64,
}
"""The columns of `JobLog.jobs`."""

KEY = "quickswap"
"""Where a Parquet file of ours keeps what is not in its table."""


@dataclass(frozen=True)
class JobLog:
    """The jobs of a log in the order of their submission, and what is known about them.

    Attributes:
        jobs: one row a job. `submit`, seconds after the first job kept; `need`, servers; `size`,
            seconds it ran; `estimate`, seconds it was said to run at most, else its size; `wait`,
            seconds it waited where the log was made, or null; `eligible`, seconds after the first
            job kept when it could first run, or null; `class`, `user`, `group`, `queue`,
            `partition`, `state` and `job` (its number there), texts or null; `line`, where it
            stands in the file, from 1. Of equal submit times the earlier line comes first.
        servers: servers of the machine.
        report: what became of each row of the file.
        source: the file.
        origin: Unix time of submit time 0, in seconds; None if the log does not say.
        zone: the time zone in which the log tells its times, or None.
        header: what the log says about itself, by key.
        load_factor: factor by which its load was raised; `wait` is as in the log all the same.
    """

    jobs: pl.DataFrame = field(repr=False)
    servers: int
    report: QualityReport = field(repr=False)
    source: str
    origin: float | None = None
    zone: str | None = None
    header: dict[str, str] = field(default_factory=dict, repr=False)
    load_factor: float = 1.0

    @property
    def duration(self) -> float:
        """Seconds from the first submission to the last."""
        return float(self.jobs.get_column("submit")[-1])

    @property
    def load(self) -> float:
        """Offered load: need times size, summed, over servers times duration; nan for no time."""
        work = float((self.jobs.get_column("need") * self.jobs.get_column("size")).sum())
        return work / (self.servers * self.duration) if self.duration > 0 else float("nan")

    @property
    def needs(self) -> dict[int, int]:
        """Jobs by server need, the smallest need first."""
        counts = self.jobs.get_column("need").value_counts().sort("need")
        return dict(counts.rows())

    def scaled(self, factor: float) -> JobLog:
        """Return the log with its load raised by a factor: interarrival times that much shorter.

        Raises:
            LogError: the factor is not from .001 to 1000.
        """
        by = check_factor(factor, "the factor of the load", LogError)
        jobs = self.jobs.with_columns(pl.col("submit", "eligible") / by)
        return replace(self, jobs=jobs, load_factor=self.load_factor * by)

    def __len__(self) -> int:
        return self.jobs.height

    def write_parquet(self, path: str | Path) -> None:
        """Write the whole log, its report included, as a Parquet file; whole or not at all.

        Raises:
            QuickswapError: the file cannot be written.
        """
        facts = {
            "servers": self.servers,
            "source": self.source,
            "origin": self.origin,
            "zone": self.zone,
            "header": self.header,
            "load_factor": self.load_factor,
            "report": self.report.to_dict(),
        }
        metadata = {KEY: json.dumps(facts)}
        write_with(path, lambda file: self.jobs.write_parquet(file, metadata=metadata))

    @classmethod
    def read_parquet(cls, path: str | Path) -> JobLog:
        """Read what `write_parquet` wrote: the same log, with the report of its first reading.

        Raises:
            LogError: the file cannot be read, or was not written by `write_parquet`.
        """
        facts = stored(checked_path(path))
        if facts is None:
            raise LogError(
                f"{path} was not written by JobLog.write_parquet: read it with logs.read."
            )
        return cls(
            jobs=pl.read_parquet(path).select(pl.col(c).cast(t) for c, t in COLUMNS.items()),
            servers=facts["servers"],
            report=QualityReport.from_dict(facts["report"]),
            source=facts["source"],
            origin=facts["origin"],
            zone=facts["zone"],
            header=facts["header"],
            load_factor=facts["load_factor"],
        )


def stored(path: Path) -> dict[str, Any] | None:
    """Return what a Parquet file of ours keeps beside its table; None if it is not ours.

    Raises:
        LogError: the file cannot be read.
    """
    try:
        if not path.exists():
            raise LogError(f"{path} does not exist (no such file): give the file of a log.")
        metadata = pl.read_parquet_metadata(path)
        facts = json.loads(metadata[KEY]) if KEY in metadata else None
    except (OSError, pl.exceptions.PolarsError, json.JSONDecodeError) as error:
        raise LogError(f"{path} cannot be read as Parquet: fetch or write it again.") from error
    return facts if isinstance(facts, dict) else None
