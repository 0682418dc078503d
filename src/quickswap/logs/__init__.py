"""Logs of clusters: the jobs that ran, and a report on every row that is not among them.

`read` takes the Standard Workload Format, what Slurm's `sacct` prints, and tables
in CSV or Parquet. `fit` makes a model of a log, and `goodness` tells how good it is.
"""

from __future__ import annotations

from quickswap.logs.errors import LogError
from quickswap.logs.fitting import fit
from quickswap.logs.goodness import ClassGoodness, Goodness, goodness
from quickswap.logs.joblog import JobLog
from quickswap.logs.quality import Finding, QualityReport
from quickswap.logs.reading import read
from quickswap.logs.rules import RULES, Rule

__all__ = [
    "RULES",
    "ClassGoodness",
    "Finding",
    "Goodness",
    "JobLog",
    "LogError",
    "QualityReport",
    "Rule",
    "fit",
    "goodness",
    "read",
]
