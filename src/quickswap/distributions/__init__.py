"""Laws of job sizes and of times between arrivals, each with exact moments.

`base` says what a law offers; `elementary`, `phases` and `tails` hold the laws.
"""

from __future__ import annotations

from quickswap.distributions.base import Distribution
from quickswap.distributions.elementary import Deterministic, Empirical, Uniform
from quickswap.distributions.phases import Erlang, Exponential, Gamma, Hyperexponential
from quickswap.distributions.tails import BoundedPareto, LogNormal, Pareto, Weibull

__all__ = [
    "LAWS",
    "BoundedPareto",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "Hyperexponential",
    "LogNormal",
    "Pareto",
    "Uniform",
    "Weibull",
]

LAWS: dict[str, type[Distribution]] = {
    law.law: law
    for law in (
        Exponential,
        Deterministic,
        Uniform,
        Erlang,
        Gamma,
        Hyperexponential,
        LogNormal,
        Weibull,
        Pareto,
        BoundedPareto,
        Empirical,
    )
}
"""Every law by its name in files."""
