"""MSFQ on one-or-all systems: the paper's approximation, and the exact solution."""

from __future__ import annotations

from quickswap.theory.msfq.approximation import FORMS, Approximation, approximate
from quickswap.theory.msfq.heavy import ResponseTimes
from quickswap.theory.msfq.solution import ExactMSFQ, PhaseShare, exact

__all__ = [
    "FORMS",
    "Approximation",
    "ExactMSFQ",
    "PhaseShare",
    "ResponseTimes",
    "approximate",
    "exact",
]
