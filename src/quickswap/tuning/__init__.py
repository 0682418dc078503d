"""The best policy for a workload, and its parameters: exact where theory gives it, else a race."""

from __future__ import annotations

from quickswap.tuning.result import Row, Tuning
from quickswap.tuning.searching import TuningProgress, tune

__all__ = ["Row", "TuningProgress", "Tuning", "tune"]
