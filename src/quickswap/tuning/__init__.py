"""The best policy for a workload or a log, and its parameters, from exact values and a race."""

from __future__ import annotations

from quickswap.tuning.for_logs import LogTuning, LogTuningRow, tune_log
from quickswap.tuning.result import Standing, Tuning, TuningRow
from quickswap.tuning.searching import TuningProgress, tune

__all__ = [
    "LogTuning",
    "LogTuningRow",
    "Standing",
    "Tuning",
    "TuningProgress",
    "TuningRow",
    "tune",
    "tune_log",
]
