"""Logs of clusters: the jobs that ran, and a report on every row that is not among them.

`read` takes the Standard Workload Format, what Slurm's `sacct` prints, and tables
in CSV or Parquet. `fit` makes a model of a log, and `goodness` tells how good it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quickswap.logs.errors import LogError
from quickswap.logs.joblog import JobLog
from quickswap.logs.quality import Finding, QualityReport
from quickswap.logs.reading import read
from quickswap.logs.rules import RULES, Rule

if TYPE_CHECKING:
    from quickswap.logs.fits.fitting import fit
    from quickswap.logs.fits.goodness import ClassGoodness, Goodness, goodness

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


_HOME = {
    "ClassGoodness": "fits.goodness",
    "Goodness": "fits.goodness",
    "goodness": "fits.goodness",
    "fit": "fits.fitting",
}
"""Modules imported when first asked for: they take SciPy, which reading does not."""


def __getattr__(name: str) -> Any:
    """Import what fits models when it is first asked for."""
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'quickswap.logs' has no attribute {name!r}")
    value = getattr(import_module(f"quickswap.logs.{_HOME[name]}"), name)
    globals()[name] = value
    return value
