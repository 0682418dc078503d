"""Distributions of job sizes and of times between arrivals, each with exact moments.

`base` defines the interface; the other modules contain the distributions.
"""

from __future__ import annotations

from quickswap.model.distributions.base import DISTRIBUTIONS, Distribution
from quickswap.model.distributions.elementary import Deterministic, Empirical, Uniform
from quickswap.model.distributions.mixture import Mixture
from quickswap.model.distributions.phase_type import PhaseType
from quickswap.model.distributions.phases import Erlang, Exponential, Gamma, Hyperexponential
from quickswap.model.distributions.tabulated import Tabulated
from quickswap.model.distributions.tails import BoundedPareto, LogNormal, Pareto, Weibull

__all__ = [
    "DISTRIBUTIONS",
    "BoundedPareto",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "Hyperexponential",
    "LogNormal",
    "Mixture",
    "Pareto",
    "PhaseType",
    "Tabulated",
    "Uniform",
    "Weibull",
]
