"""Public names and the modules that define them; imported when they are first used."""

from . import logs, paper, plotting, replays, sweeps, theory, tuning
from .engine.compiled import LibraryPolicy, compiled
from .engine.custom import CustomPolicy, View
from .engine.scheduler import Scheduler, State
from .engine.settings import Settings
from .errors import (
    CompilationWarning,
    InfiniteVarianceWarning,
    Interrupted,
    ModelError,
    PolicyError,
    QuickswapError,
    UnstableError,
)
from .model.arrivals import (
    Arrivals,
    BatchArrivals,
    GivenArrivals,
    MarkovianArrivals,
    MarkovModulatedPoisson,
    PiecewisePoisson,
    Poisson,
    Renewal,
)
from .model.distributions import (
    BoundedPareto,
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    LogNormal,
    Mixture,
    Pareto,
    PhaseType,
    Tabulated,
    Uniform,
    Weibull,
)
from .model.files import load, presets
from .model.jobclass import JobClass
from .model.system import System
from .paper.run import Reproduction, reproduce
from .policies import (
    EASY,
    FCFS,
    LSF,
    MSF,
    MSFQ,
    NMSR,
    AdaptiveQuickswap,
    BalancedSplitting,
    Conservative,
    DivisorFilling,
    FirstFit,
    MaxWeight,
    Policy,
    RandomizedTimers,
    ServerFilling,
    Slurm,
    Smash,
    StaticQuickswap,
    parse,
    spell,
)
from .replays import ReplayComparison, ReplayResult, replay, replay_all
from .report import write_report
from .simulation.comparison import Comparison, compare, difference
from .simulation.result import Result, Stop, Trajectory
from .simulation.simulate import rerun, simulate
from .simulation.stability import stability
from .statistics.estimates import Estimate
from .statistics.quantities import ClassResult, Summary
from .statistics.verdict import Status, Verdict
from .sweeps.grid import Grid
from .sweeps.point import Point
from .sweeps.run import sweep
from .sweeps.store import Store
from .theory import Stability
from .tuning import LogTuning, Tuning, tune, tune_log

__all__ = [
    "EASY",
    "FCFS",
    "LSF",
    "MSF",
    "MSFQ",
    "NMSR",
    "AdaptiveQuickswap",
    "Arrivals",
    "BalancedSplitting",
    "BatchArrivals",
    "BoundedPareto",
    "ClassResult",
    "Comparison",
    "CompilationWarning",
    "Conservative",
    "CustomPolicy",
    "Deterministic",
    "Distribution",
    "DivisorFilling",
    "Empirical",
    "Erlang",
    "Estimate",
    "Exponential",
    "FirstFit",
    "Gamma",
    "GivenArrivals",
    "Grid",
    "Hyperexponential",
    "InfiniteVarianceWarning",
    "Interrupted",
    "JobClass",
    "LibraryPolicy",
    "LogNormal",
    "LogTuning",
    "MarkovModulatedPoisson",
    "MarkovianArrivals",
    "MaxWeight",
    "Mixture",
    "ModelError",
    "Pareto",
    "PhaseType",
    "PiecewisePoisson",
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
    "Settings",
    "Slurm",
    "Smash",
    "Stability",
    "State",
    "StaticQuickswap",
    "Status",
    "Stop",
    "Store",
    "Summary",
    "System",
    "Tabulated",
    "Trajectory",
    "Tuning",
    "Uniform",
    "UnstableError",
    "Verdict",
    "View",
    "Weibull",
    "compare",
    "compiled",
    "difference",
    "load",
    "logs",
    "paper",
    "parse",
    "plotting",
    "presets",
    "replay",
    "replay_all",
    "replays",
    "reproduce",
    "rerun",
    "simulate",
    "spell",
    "stability",
    "sweep",
    "sweeps",
    "theory",
    "tune",
    "tune_log",
    "tuning",
    "write_report",
]
