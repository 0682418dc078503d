"""The jobs of a log, for replays and fits."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from quickswap._check import factor as check_factor
from quickswap.errors import LogError, invalid
from quickswap.files import checked_path, write_with
from quickswap.logs.quality import QualityReport

__all__ = ["COLUMNS", "KEY", "JobLog", "check_log", "stored_metadata", "unreadable"]

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
    "pool": pl.Categorical,
    "state": pl.Categorical,
    "job": pl.String,
    "line": pl.Int64,
}
"""The columns of `JobLog.jobs`."""

KEY = "quickswap"
"""Key of the metadata in a Parquet file that `JobLog.write_parquet` wrote."""
_METADATA = (*("servers", "source", "origin", "zone", "header", "load_factor", "pools", "format"),)


@dataclass(frozen=True)
class JobLog:
    """The jobs of a log in order of submission, with its metadata.

    Attributes:
        jobs: one row per job. `submit`, seconds after the first submission; `need`, servers;
            `size`, run time in seconds; `estimate`, time limit in seconds, or the size if the log
            has no limit; `wait`, waiting time on the real cluster in seconds, or null; `eligible`,
            when the job could first start, in seconds after the first submission, or null;
            `class`, `user`, `group`, `queue`, `partition`, `pool`, `state` and `job` (the job
            number), texts or null; `line`, line number in the file, from 1. Jobs with equal
            submission times are in the order of their lines.
        servers: servers of the machine.
        report: counts of the rows dropped and repaired.
        source: the file.
        origin: Unix time of submission time 0, in seconds, or None if unknown.
        zone: the time zone of the times in the file, or None.
        header: the header of the file, by key.
        load_factor: factor by which the load was multiplied; `wait` is that of the file.
        pools: servers of each pool, by name; empty if all jobs may use all servers.
        format: format of the file; "sacct" is a log of Slurm.
    """

    jobs: pl.DataFrame = field(repr=False)
    servers: int
    report: QualityReport = field(repr=False)
    source: str
    origin: float | None = None
    zone: str | None = None
    header: dict[str, str] = field(default_factory=dict, repr=False)
    load_factor: float = 1.0
    pools: dict[str, int] = field(default_factory=dict)
    format: str = ""

    @property
    def duration(self) -> float:
        """Seconds from the first submission to the last."""
        return float(self.jobs.get_column("submit")[-1])

    @property
    def load(self) -> float:
        """Offered load: sum of need times size over servers times duration, or nan."""
        work = float((self.jobs.get_column("need") * self.jobs.get_column("size")).sum())
        return work / (self.servers * self.duration) if self.duration > 0 else float("nan")

    @property
    def needs(self) -> dict[int, int]:
        """Number of jobs by server need, the smallest need first."""
        counts = self.jobs.get_column("need").value_counts().sort("need")
        return dict(counts.rows())

    def scaled(self, factor: float) -> JobLog:
        """Return the log with interarrival times divided by a factor, which multiplies its load.

        Raises:
            LogError: the factor is not from 0.001 to 1000.
        """
        by = check_factor(factor, "factor", LogError)
        jobs = self.jobs.with_columns(pl.col("submit", "eligible") / by)
        return replace(self, jobs=jobs, load_factor=self.load_factor * by)

    def __len__(self) -> int:
        return self.jobs.height

    def write_parquet(self, path: str | Path) -> None:
        """Write the log with its report to a Parquet file, completely or not at all.

        Raises:
            QuickswapError: the file cannot be written.
        """
        facts = {name: getattr(self, name) for name in _METADATA}
        metadata = {KEY: json.dumps(facts | {"report": self.report.to_dict()})}
        write_with(path, lambda file: self.jobs.write_parquet(file, metadata=metadata))

    @classmethod
    def read_parquet(cls, path: str | Path) -> JobLog:
        """Read a file that `write_parquet` wrote; the report is that of the original file.

        Raises:
            LogError: the file cannot be read, or was not written by `write_parquet`.
        """
        facts = stored_metadata(checked_path(path))
        if facts is None:
            raise LogError(
                f"{path} was not written by JobLog.write_parquet", advice="read it with logs.read"
            )
        return cls(
            jobs=pl.read_parquet(path).select(pl.col(c).cast(t) for c, t in COLUMNS.items()),
            report=QualityReport.from_dict(facts["report"]),
            **{name: facts[name] for name in _METADATA},
        )


def check_log(log: object) -> None:
    """Reject an argument `log` that is not a log."""
    if not isinstance(log, JobLog):
        raise invalid("log", log, "a log that quickswap.logs.read returned", LogError)


def unreadable(path: Path) -> LogError:
    """Return the error about a file that is not Parquet, or damaged."""
    return LogError(f"{path} cannot be read as Parquet", advice="download or write it again")


def stored_metadata(path: Path) -> dict[str, Any] | None:
    """Return the metadata that `JobLog.write_parquet` wrote; None in other Parquet files.

    Raises:
        LogError: the file cannot be read.
    """
    try:
        if not path.exists():
            raise LogError(f"{path} does not exist (no such file)", advice="give the file of a log")
        metadata = pl.read_parquet_metadata(path)
        facts = json.loads(metadata[KEY]) if KEY in metadata else None
    except (OSError, pl.exceptions.PolarsError, json.JSONDecodeError) as error:
        raise unreadable(path) from error
    return facts if isinstance(facts, dict) else None
