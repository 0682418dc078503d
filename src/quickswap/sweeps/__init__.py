"""Many simulations: points, a store of their results, and the running of what is missing."""

from __future__ import annotations

from quickswap.sweeps.grid import Grid, Spot
from quickswap.sweeps.outcomes import Advance, Outcomes
from quickswap.sweeps.places import Place
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure
from quickswap.sweeps.running import run_points
from quickswap.sweeps.store import Store
from quickswap.sweeps.sweeping import Sweep, sweep

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
