"""Arrival processes of a class.

`base` defines the interface; the other modules contain the processes.
"""

from __future__ import annotations

from quickswap.model.arrivals.base import PROCESSES, Arrivals
from quickswap.model.arrivals.cyclic import GivenArrivals, PiecewisePoisson
from quickswap.model.arrivals.elementary import BatchArrivals, Poisson, Renewal
from quickswap.model.arrivals.markovian import MarkovianArrivals, MarkovModulatedPoisson

__all__ = [
    "PROCESSES",
    "Arrivals",
    "BatchArrivals",
    "GivenArrivals",
    "MarkovModulatedPoisson",
    "MarkovianArrivals",
    "PiecewisePoisson",
    "Poisson",
    "Renewal",
]
