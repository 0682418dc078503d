"""Many simulations: points, a store of their results, and the running of what is missing."""

from __future__ import annotations

from quickswap.experiments.point import Point
from quickswap.experiments.record import Failure
from quickswap.experiments.running import Advance, Outcomes, run_points
from quickswap.experiments.store import Store

__all__ = ["Advance", "Failure", "Outcomes", "Point", "Store", "run_points"]
