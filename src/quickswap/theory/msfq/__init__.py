"""MSFQ on one-or-all systems: the paper's approximation, and the exact solution."""

from __future__ import annotations

from quickswap.theory.msfq.solution import ExactMSFQ, PhaseShare, exact

__all__ = ["ExactMSFQ", "PhaseShare", "exact"]
