"""Many simulations: grids of points, a store of results, and the runs that it lacks."""

from __future__ import annotations

from quickswap.sweeps.cells import Cell
from quickswap.sweeps.grid import Grid, GridPoint
from quickswap.sweeps.point import Point
from quickswap.sweeps.record import Failure
from quickswap.sweeps.run import Outcomes, Sweep, SweepProgress, run_points, sweep
from quickswap.sweeps.store import Store

__all__ = [
    "Cell",
    "Failure",
    "Grid",
    "GridPoint",
    "Outcomes",
    "Point",
    "Store",
    "Sweep",
    "SweepProgress",
    "run_points",
    "sweep",
]
