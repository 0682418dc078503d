"""Scheduling of multiserver jobs: simulate, compare and understand policies.

Everything listed in `__all__` is public. The names are imported when they are first used, so that
`import quickswap` and the command line start at once; to add one, put it in `_HOME` and, for type
checkers and editors, among the imports below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

_HOME = {
    # The model
    "System": "system",
    "JobClass": "jobclass",
    "Distribution": "distributions",
    "Exponential": "distributions",
    "Deterministic": "distributions",
    "Uniform": "distributions",
    "Erlang": "distributions",
    "Gamma": "distributions",
    "Hyperexponential": "distributions",
    "LogNormal": "distributions",
    "Weibull": "distributions",
    "Pareto": "distributions",
    "BoundedPareto": "distributions",
    "Empirical": "distributions",
    "Arrivals": "arrivals",
    "Poisson": "arrivals",
    "Renewal": "arrivals",
    "MarkovModulatedPoisson": "arrivals",
    "load": "models",
    "presets": "models",
    # Policies
    "Policy": "policies",
    "FCFS": "policies",
    "FirstFit": "policies",
    "MSF": "policies",
    "LSF": "policies",
    "Smash": "policies",
    "EASY": "policies",
    "Conservative": "policies",
    "MSFQ": "policies",
    "StaticQuickswap": "policies",
    "AdaptiveQuickswap": "policies",
    "NMSR": "policies",
    "RandomizedTimers": "policies",
    "ServerFilling": "policies",
    "DivisorFilling": "policies",
    "MaxWeight": "policies",
    "parse": "policies",
    "spell": "policies",
    # Simulation
    "simulate": "simulation",
    "Interrupted": "simulation",
    "compare": "comparison",
    "difference": "comparison",
    "Comparison": "comparison",
    "Result": "result",
    "ClassResult": "result",
    "Summary": "result",
    "Stop": "result",
    "Verdict": "result",
    "Trajectory": "result",
    "Estimate": "estimates",
    # Many simulations
    "sweep": "experiments.sweeping",
    "reproduce": "paper.run",
    "Reproduction": "paper.run",
    "Grid": "experiments.grid",
    "Point": "experiments.point",
    "Store": "experiments.store",
    # Tuning
    "tune": "tuning",
    "Tuning": "tuning",
    # Replays of logs
    "replay": "replays",
    "replay_all": "replays",
    "ReplayComparison": "replays",
    "ReplayResult": "replays",
    "write_report": "report",
    # Policies step by step, and of your own
    "Scheduler": "step",
    "State": "step",
    "OwnPolicy": "own",
    "View": "own",
    # Theory, beside the module `theory` itself
    "Stability": "theory",
    "stability": "theory",
    # Errors
    "QuickswapError": "errors",
    "ModelError": "errors",
    "PolicyError": "errors",
    "UnstableError": "errors",
    "InfiniteVarianceWarning": "errors",
}
"""The module of each public name."""

if TYPE_CHECKING:
    from quickswap import logs, replays, theory
    from quickswap.arrivals import Arrivals, MarkovModulatedPoisson, Poisson, Renewal
    from quickswap.comparison import Comparison, compare, difference
    from quickswap.distributions import (
        BoundedPareto,
        Deterministic,
        Distribution,
        Empirical,
        Erlang,
        Exponential,
        Gamma,
        Hyperexponential,
        LogNormal,
        Pareto,
        Uniform,
        Weibull,
    )
    from quickswap.errors import (
        InfiniteVarianceWarning,
        ModelError,
        PolicyError,
        QuickswapError,
        UnstableError,
    )
    from quickswap.estimates import Estimate
    from quickswap.experiments.grid import Grid
    from quickswap.experiments.point import Point
    from quickswap.experiments.store import Store
    from quickswap.experiments.sweeping import sweep
    from quickswap.jobclass import JobClass
    from quickswap.models import load, presets
    from quickswap.own import OwnPolicy, View
    from quickswap.paper.run import Reproduction, reproduce
    from quickswap.policies import (
        EASY,
        FCFS,
        LSF,
        MSF,
        MSFQ,
        NMSR,
        AdaptiveQuickswap,
        Conservative,
        DivisorFilling,
        FirstFit,
        MaxWeight,
        Policy,
        RandomizedTimers,
        ServerFilling,
        Smash,
        StaticQuickswap,
        parse,
        spell,
    )
    from quickswap.replays import ReplayComparison, ReplayResult, replay, replay_all
    from quickswap.report import write_report
    from quickswap.result import ClassResult, Result, Stop, Summary, Trajectory, Verdict
    from quickswap.simulation import Interrupted, simulate
    from quickswap.step import Scheduler, State
    from quickswap.system import System
    from quickswap.theory import Stability, stability
    from quickswap.tuning import Tuning, tune

__all__ = [
    "EASY",
    "FCFS",
    "LSF",
    "MSF",
    "MSFQ",
    "NMSR",
    "AdaptiveQuickswap",
    "Arrivals",
    "BoundedPareto",
    "ClassResult",
    "Comparison",
    "Conservative",
    "Deterministic",
    "Distribution",
    "DivisorFilling",
    "Empirical",
    "Erlang",
    "Estimate",
    "Exponential",
    "FirstFit",
    "Gamma",
    "Grid",
    "Hyperexponential",
    "InfiniteVarianceWarning",
    "Interrupted",
    "JobClass",
    "LogNormal",
    "MarkovModulatedPoisson",
    "MaxWeight",
    "ModelError",
    "OwnPolicy",
    "Pareto",
    "Point",
    "Poisson",
    "Policy",
    "PolicyError",
    "QuickswapError",
    "RandomizedTimers",
    "Renewal",
    "ReplayComparison",
    "ReplayResult",
    "Reproduction",
    "Result",
    "Scheduler",
    "ServerFilling",
    "Smash",
    "Stability",
    "State",
    "StaticQuickswap",
    "Stop",
    "Store",
    "Summary",
    "System",
    "Trajectory",
    "Tuning",
    "Uniform",
    "UnstableError",
    "Verdict",
    "View",
    "Weibull",
    "compare",
    "difference",
    "load",
    "logs",
    "parse",
    "presets",
    "replay",
    "replay_all",
    "replays",
    "reproduce",
    "simulate",
    "spell",
    "stability",
    "sweep",
    "theory",
    "tune",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"quickswap.{_HOME[name]}"), name)
    elif name in ("logs", "replays", "theory"):
        value = import_module(f"quickswap.{name}")
    else:
        raise AttributeError(f"module 'quickswap' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
