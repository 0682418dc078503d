"""Public names and the modules that define them; imported when they are first used."""

from . import chain, classical, fcfs, msfq, server_filling, static_quickswap
from .asymptotics import heavy_traffic
from .decisions import Optimum, optimum
from .means import ClassMeans, Means
from .stability import Stability, stability
from .threshold import BestThreshold, best_threshold
from .work import lower_bound

__all__ = [
    "BestThreshold",
    "ClassMeans",
    "Means",
    "Optimum",
    "Stability",
    "best_threshold",
    "chain",
    "classical",
    "fcfs",
    "heavy_traffic",
    "lower_bound",
    "msfq",
    "optimum",
    "server_filling",
    "stability",
    "static_quickswap",
]
