"""Logs of clusters: the jobs that ran, with a report on every row.

`read` reads the Standard Workload Format, the output of Slurm's `sacct`, and tables in CSV or
Parquet. `fit` fits a system to a log, and `goodness` compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quickswap.errors import LogError
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


_LAZY = {
    "ClassGoodness": "fits.goodness",
    "Goodness": "fits.goodness",
    "goodness": "fits.goodness",
    "fit": "fits.fitting",
}
"""Modules that are imported on first use: they require SciPy, which reading does not."""


def __getattr__(name: str) -> Any:
    """Import the functions that fit models on first use."""
    from importlib import import_module

    if name not in _LAZY:
        raise AttributeError(f"module 'quickswap.logs' has no attribute {name!r}")
    value = getattr(import_module(f"quickswap.logs.{_LAZY[name]}"), name)
    globals()[name] = value
    return value
