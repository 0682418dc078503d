"""Results known without simulation, one module per result.

Only `chain` imports the core, because it asks the policies for their decisions. Modules are
imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quickswap.theory.stability import Stability, stability

if TYPE_CHECKING:
    from quickswap.theory import chain, classical, fcfs, msfq, server_filling, static_quickswap
    from quickswap.theory.asymptotics import heavy_traffic
    from quickswap.theory.means import ClassMeans, Means
    from quickswap.theory.threshold import BestThreshold, best_threshold

__all__ = [
    "BestThreshold",
    "ClassMeans",
    "Means",
    "Stability",
    "best_threshold",
    "chain",
    "classical",
    "fcfs",
    "heavy_traffic",
    "msfq",
    "server_filling",
    "stability",
    "static_quickswap",
]

_HOME = {
    "BestThreshold": "threshold",
    "ClassMeans": "means",
    "Means": "means",
    "best_threshold": "threshold",
    "heavy_traffic": "asymptotics",
}
"""The module of each public name that is not itself a module."""


def __getattr__(name: str) -> Any:
    """Import a public name, or a module, when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'quickswap.theory' has no attribute {name!r}")
    if name in _HOME:
        value = getattr(import_module(f"quickswap.theory.{_HOME[name]}"), name)
    else:
        value = import_module(f"quickswap.theory.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
