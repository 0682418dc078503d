"""The best policy for a workload and its parameters, from exact values and a race."""

from __future__ import annotations

from quickswap.tuning.result import Standing, Tuning, TuningRow
from quickswap.tuning.searching import TuningProgress, tune

__all__ = ["Standing", "Tuning", "TuningProgress", "TuningRow", "tune"]
