"""Results known without simulation, one module a result. Nothing here imports the engine."""

from __future__ import annotations

from quickswap.theory.stability import Stability, stability

__all__ = ["Stability", "stability"]
