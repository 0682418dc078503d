"""Many simulations: points, a store of their results, and the running of what is missing."""

from __future__ import annotations

from quickswap.experiments.grid import Grid, Spot
from quickswap.experiments.outcomes import Advance, Outcomes
from quickswap.experiments.places import Place
from quickswap.experiments.point import Point
from quickswap.experiments.record import Failure
from quickswap.experiments.running import run_points
from quickswap.experiments.store import Store
from quickswap.experiments.sweeping import Sweep, sweep

__all__ = [
    "Advance",
    "Failure",
    "Grid",
    "Outcomes",
    "Place",
    "Point",
    "Spot",
    "Store",
    "Sweep",
    "run_points",
    "sweep",
]
