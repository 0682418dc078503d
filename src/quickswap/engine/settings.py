"""The settings of a run, each defined once: type, default, what is allowed, and its help text.

`Settings` is the definition. `simulate`, `compare`, `Point`, `Grid`, frames, figures, stores and
the options of the command line take names, types, defaults, checks and help from its fields. Type
checkers cannot derive keyword arguments from a dataclass (PEP 692): `PointSettings` repeats names
and types, and a test compares the two.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache
from typing import Any, Self, TypedDict, TypeVar, Unpack

from quickswap._check import between, factor, flag, items, real, whole
from quickswap._words import count_of
from quickswap.engine._core import VERSION
from quickswap.engine.compiled import is_compiled
from quickswap.engine.custom import CustomPolicy
from quickswap.errors import InfiniteVarianceWarning, QuickswapError, invalid, unknown
from quickswap.model.arrivals import Poisson
from quickswap.model.distributions import Exponential
from quickswap.model.system import MOST_SERVERS, System
from quickswap.policies import Policy, parse, spell
from quickswap.policies.custom import Custom, described

__all__ = [
    *("MOST_JOBS", "PERCENTILES", "SETTINGS", "Inputs", "MeasureSettings", "PointSettings"),
    *("ReplayInputs", "ReplaySettings", "Settings", "SimulationSettings"),
    *("check_progress", "check_settings", "check_threads"),
]

MOST_JOBS = 10**15
"""Jobs of a run: a year at thirty million a second."""
PERCENTILES = (50.0, 90.0, 99.0, 99.9)
"""Percentiles of every result."""
MOST_PERCENTILES = 1000
"""Further percentiles of a result."""
SYSTEMS = 256
"""Systems kept as objects while many results of a store are read."""


Report = TypeVar("Report", bound=Callable[..., object])
"""A function that is called with the progress."""


def check_progress(progress: Report | bool | None) -> Report | None:
    """Return a function that is called with the progress, or None; reject other objects.

    `True` is replaced by a bar before: see `quickswap._progress.shows`.
    """
    if progress is None or progress is False:
        return None
    if not callable(progress):
        allowed = "True for a bar, or a function that is called with the progress"
        raise invalid("progress", progress, allowed, QuickswapError)
    return progress


def check_threads(threads: object) -> int | None:
    """Return a number of threads; None stands for the cores of the machine."""
    return None if threads is None else whole(threads, "threads", 1, 10_000, QuickswapError)


def check_settings(given: Mapping[str, Any], known: type, verb: str, *others: str) -> None:
    """Reject a name that a typed dictionary of settings does not have.

    The message also contains the `others`, the keywords that the verb takes besides settings.
    """
    names = [*known.__annotations__, *others]
    for name in given:
        if name not in names:
            unknown(f"setting of {verb}", name, names, QuickswapError)


def _warmup(value: object, argument: str) -> float | str:
    if isinstance(value, str) and value == "mser5":
        return "mser5"
    share = real(value)
    if share is None or not 0 <= share < 1:
        allowed = '"mser5" or a share from 0 to below 1'
        raise invalid(argument, value, allowed, QuickswapError)
    return share


def _one_of(*known: str) -> Callable[[object, str], str]:
    def check(value: object, argument: str) -> str:
        if not isinstance(value, str) or value not in known:
            unknown(argument, value, known, QuickswapError, argument=argument)
        return value

    return check


def _whole(least: int, most: int = MOST_JOBS) -> Callable[[object, str], int]:
    return lambda value, argument: whole(value, argument, least, most, QuickswapError)


def _between(low: float, high: float) -> Callable[[object, str], float]:
    return lambda value, argument: between(value, argument, low, high, QuickswapError)


def _flag(value: object, argument: str) -> bool:
    return flag(value, argument, QuickswapError)


def _setting(
    default: Any,
    check: Callable[[object, str], object],
    help_text: str,
    *,
    unset: str = "",
    label: str = "",
) -> Any:
    """Return a field; a default of None is not checked.

    Args:
        default: the default value.
        check: takes a value and the name of the argument; returns the value, or raises.
        help_text: the meaning of the setting.
        unset: the meaning of None, as in "By default ...".
        label: the label in figures, with the unit; by default the name.
    """
    meaning = {"check": check, "help": help_text, "unset": unset, "label": label}
    return field(default=default, metadata=meaning)


def _confidence(value: object, argument: str) -> float:
    level = real(value)
    if level is None or not 0.5 <= level <= 0.999:
        raise invalid(argument, value, "from 0.5 to 0.999, as in 0.99", QuickswapError)
    return level


def _percentiles(value: object, argument: str) -> str:
    """Return percentiles as text, in order."""
    listed = value.split(",") if isinstance(value, str) else items(value)
    given = [value] if listed is None else listed
    levels = [_level(each) for each in given if each != ""]
    if None in levels or len(levels) > MOST_PERCENTILES:
        example = "95,97.5" if isinstance(value, str) else "(95, 97.5)"
        allowed = f"up to {MOST_PERCENTILES} numbers above 0 and below 100, as in {example}"
        raise invalid(argument, value, allowed, QuickswapError)
    distinct = {each for each in levels if each is not None}
    return ",".join(f"{each:.10g}" for each in sorted(distinct))


def _level(given: object) -> float | None:
    try:
        level = float(given) if isinstance(given, str) else real(given)
    except ValueError:
        return None
    return level if level is not None and 0 < level < 100 else None


def _slowdown_bound() -> Any:
    """Return the field that simulations and replays have in common."""
    text = "Smaller sizes count as this value in the bounded slowdown, in seconds."
    return _setting(10.0, _between(0, math.inf), text, label="bound of the slowdown [s]")


def _confidence_level() -> Any:
    """Return the field that simulations and replays have in common."""
    return _setting(0.95, _confidence, "Confidence level of the intervals.")


def _more_percentiles() -> Any:
    """Return the field that simulations and replays have in common."""
    text = "Percentiles of all times and slowdowns besides P50, P90, P99 and P99.9, as in 95,97.5."
    return _setting("", _percentiles, text, unset="no others")


def _check_fields(settings: object, definition: type) -> None:
    """Replace the values of the fields of a definition by the checked values."""
    for each in fields(definition):
        value = getattr(settings, each.name)
        if "check" in each.metadata and not (value is None and each.default is None):
            object.__setattr__(settings, each.name, each.metadata["check"](value, each.name))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that determine a result, together with the system and the policy.

    The help of each setting is in the metadata of its field.

    Raises:
        QuickswapError: a setting is out of range.
    """

    jobs: int | None = _setting(
        None,
        _whole(1),
        "Completions over all replications; with a precision, the maximum.",
        unset="1,000,000 (quickswap compare: 15,000,000); with a precision 100,000,000",
    )
    precision: float | None = _setting(
        None,
        _between(0, 1),
        "Simulate until the relative half-width is at most this value and the run is no longer too "
        "short.",
        unset="until all jobs have completed",
        label="requested precision",
    )
    precision_of: str = _setting(
        "mean",
        _one_of("mean", "weighted", "classes"),
        "Means that must have the precision: mean, weighted (both means) or classes (all means).",
    )
    seed: int = _setting(1, _whole(0, 2**64 - 1), "Equal seeds give equal results, byte by byte.")
    engine: str = _setting(
        "auto",
        _one_of("auto", "jumps", "events"),
        "jumps (exponential sizes, Poisson arrivals: fastest), events (any system; all policies "
        "serve the same jobs), or auto: jumps where it applies.",
    )
    replications: int = _setting(
        4, _whole(1, 10_000), "Independent runs among which the jobs are divided."
    )
    warmup: float | str = _setting(
        0.1, _warmup, "Share of each replication that is discarded at its start, or mser5."
    )
    slowdown_bound: float = _slowdown_bound()
    plain_estimates: bool = _setting(
        False, flag, "Estimate without control variates, which makes intervals wider."
    )
    confidence: float = _confidence_level()
    percentiles: str | Sequence[float] = _more_percentiles()
    trajectory: int = _setting(
        0,
        _whole(0, 1_000_000),
        "If positive, keep the number in system against time, at this many points or half as many.",
    )
    max_in_system: int = _setting(
        1_000_000,
        _whole(1, 2**31),
        "A replication ends if more jobs are in the system.",
        label="most jobs in the system",
    )
    allow_unstable: bool = _setting(
        False, _flag, "Simulate to the end even where no policy is stable."
    )

    def __post_init__(self) -> None:
        _check_fields(self, Settings)
        if self.precision_of != "mean" and self.precision is None:
            raise QuickswapError(
                f"precision_of is {self.precision_of}, and no precision is given",
                argument="precision_of",
                given=self.precision_of,
                advice="give {precision} too",
            )

    @property
    def most_jobs(self) -> int:
        """Completions that the run may use, with the default worked out."""
        if self.jobs is not None:
            return self.jobs
        return 1_000_000 if self.precision is None else 100_000_000


SETTINGS = tuple(each.name for each in fields(Settings))
"""Names of all settings."""


class RequestedPercentiles:
    """The percentiles of inputs as numbers."""

    __slots__ = ()
    percentiles: str

    @property
    def levels(self) -> list[float]:
        """The percentiles that were requested."""
        return [float(each) for each in self.percentiles.split(",") if each]

    @property
    def more_percentiles(self) -> list[float]:
        """Those of them that not every result has."""
        return [each for each in self.levels if each not in PERCENTILES]


@dataclass(frozen=True, kw_only=True)
class Inputs(RequestedPercentiles, Settings):
    """Everything that determines a result; equal inputs give equal results, byte by byte.

    The defaults that depend on others are worked out: `jobs` is a number, and `engine` not "auto".
    The `percentiles` are text, as in "95,97.5".

    Attributes:
        system: servers and classes.
        policy: a policy; a custom one by its name and fingerprint (`Custom`).
        version: of quickswap.
        spelling: the policy as text.
    """

    jobs: int = _setting(None, _whole(1), "")
    percentiles: str = _setting("", _percentiles, "")
    system: System
    policy: Policy
    version: str = VERSION
    spelling: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        policy = self.policy
        for name, value in (
            ("jobs", self.most_jobs),
            ("engine", _loop(self.engine, self.system, policy)),
            ("spelling", spell(policy)),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        system: System,
        policy: Policy | CustomPolicy,
        **settings: Unpack[PointSettings],
    ) -> Self:
        """Return the inputs of a run; a setting that is not given has its default."""
        build: Callable[..., Self] = cls
        return build(system=system, policy=described(policy), **settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the form of JSON, with the system as `System.to_dict`, the policy as its text."""
        settings = {name: getattr(self, name) for name in SETTINGS}
        rest = {"policy": self.spelling, "version": self.version}
        return {**settings, "system": self.system.to_dict(), **rest}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build inputs from the form of `to_dict`.

        Raises:
            KeyError, TypeError, QuickswapError: a key too few or too many, or an invalid value.
        """
        policy = parse(data["policy"])
        system = _read_system(json.dumps(data["system"]))
        return cls(**{**data, "system": system, "policy": policy})


@lru_cache(maxsize=SYSTEMS)
def _read_system(text: str) -> System:
    """Return the system of a JSON text; most points of a store have one of few systems."""
    with warnings.catch_warnings():  # the warning was given when the system was first built
        warnings.simplefilter("ignore", InfiniteVarianceWarning)
        return System.from_dict(json.loads(text))


def _loop(engine: str, system: System, policy: Policy) -> str:
    """Return the loop to use; raise if the requested loop does not apply."""
    obstacle = _no_jumps(system, policy)
    if engine == "jumps" and obstacle:
        raise QuickswapError(
            f'engine "jumps" does not apply: {obstacle}; use "events" or "auto".', argument="engine"
        )
    if engine != "auto":
        return engine
    return "events" if obstacle else "jumps"


def _only_events(policy: CustomPolicy | None) -> str | None:
    """Return why the loop over jumps does not serve a custom policy, or None if it does."""
    if policy is not None and not is_compiled(policy):
        return "a custom policy may use individual jobs, unless it is compiled"
    return "the policy uses individual jobs" if getattr(policy, "sees_jobs", False) else None


def _no_jumps(system: System, policy: Policy) -> str | None:
    """Return why the loop over jumps does not apply, or None if it does."""
    for each in system.classes:
        if not isinstance(each.size, Exponential):
            return f"the sizes of {each.name} are not exponential"
        if not isinstance(each.arrivals, Poisson):
            return f"the arrivals of {each.name} are not Poisson"
    if isinstance(policy, Custom):
        return _only_events(policy.served)
    if policy.individual:
        return f"{policy.title} uses individual jobs"
    return f"{policy.label} is preemptive" if policy.preemptive else None


class PointSettings(TypedDict, total=False):
    """The fields of `Settings` as keyword arguments, for type checkers."""

    jobs: int | None
    precision: float | None
    precision_of: str
    seed: int
    engine: str
    replications: int
    warmup: float | str
    slowdown_bound: float
    plain_estimates: bool
    confidence: float
    percentiles: str | Sequence[float]
    trajectory: int
    max_in_system: int
    allow_unstable: bool


class SimulationSettings(PointSettings, total=False):
    """The settings of `simulate` and `compare`, including those that do not affect the result."""

    threads: int | None
    debug: bool


def _share(value: object, argument: str) -> float:
    share = real(value)
    if share is None or not 0 <= share < 1:
        allowed = "a share of the duration, from 0 to below 1"
        raise invalid(argument, value, allowed, QuickswapError)
    return share


def _estimate(value: object, argument: str) -> object:
    known = isinstance(value, str) and value in ("logged", "exact", "predicted")
    if not known and not 0 < (real(value) or 0) < math.inf:
        allowed = '"logged", "exact", "predicted", or a positive factor of the sizes'
        raise invalid(argument, value, allowed, QuickswapError)
    return value


def _classes(value: object, argument: str) -> str:
    if not isinstance(value, str):
        allowed = '"need", "load", or groups of needs such as "1,2-4,5-16,17-"'
        raise invalid(argument, value, allowed, QuickswapError)
    return value


OBSERVED = "observed"
"""Limit on running jobs that is the largest number in the log."""


def _limit(value: object, argument: str) -> int | str:
    if value == OBSERVED:
        return OBSERVED
    number = count_of(value) if isinstance(value, str) else value
    if number is None:
        raise invalid(argument, value, f"a number of jobs, or {OBSERVED}", QuickswapError)
    return whole(number, argument, 1, 2**31, QuickswapError)


def _queue_limit(value: object, argument: str) -> str:
    if value == OBSERVED:
        return OBSERVED
    words = value.replace(",", " ").split() if isinstance(value, str) else [""]
    pairs = [word.rpartition("=") for word in words]
    names = {name for name, _, number in pairs if name and count_of(number)}
    if not words or len(names) < len(pairs):
        allowed = f"a number of jobs for each queue once, as in 'debug=2 long=40', or {OBSERVED}"
        raise invalid(argument, value, allowed, QuickswapError)
    return " ".join(words)


def _names(value: object, argument: str) -> str:
    words = value.replace(",", " ").split() if isinstance(value, str) else [""]
    if "" in words or len(set(words)) < len(words):
        raise invalid(
            argument, value, "names of queues, each once, as in 'scavenger'", QuickswapError
        )
    return " ".join(words)


def _pool_policies(value: object, argument: str) -> str:
    words = value.replace(";", " ").split() if isinstance(value, str) else [""]
    pairs = [word.partition("=") for word in words]
    if not all(name and policy for name, _, policy in pairs) or len(
        dict.fromkeys(name for name, *_ in pairs)
    ) < len(pairs):
        allowed = "a policy for each pool once, as in 'gpu=fcfs debug=conservative'"
        raise invalid(argument, value, allowed, QuickswapError)
    return " ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayInputs(RequestedPercentiles):
    """The inputs that determine a replay of a log; `replay` describes its settings.

    The `percentiles` are text, as in "95,97.5".

    Attributes:
        source: the file of the log.
        policy: the policy as text; empty until the jobs are served.
        version: version of quickswap.

    Raises:
        QuickswapError: an input is out of range.
    """

    source: str
    policy: str = ""
    servers: int = _setting(
        MISSING, lambda value, argument: whole(value, argument, 1, MOST_SERVERS, QuickswapError), ""
    )
    load_factor: float = _setting(
        1.0, lambda value, argument: factor(value, argument, QuickswapError), ""
    )
    estimate: float | str = _setting(
        "logged",
        _estimate,
        "Size estimates for EASY, Conservative, Slurm and backfilling: logged, exact, predicted "
        "(mean of the last two run times of the user), or a factor of the sizes.",
    )
    classes: str = _setting(
        "need",
        _classes,
        "need (a class per need), load (groups of about equal load), or groups as in 1,2-4,5-16.",
    )
    warmup: float = _setting(
        0.05, _share, "Share of the log's duration, at its start, whose jobs are not measured."
    )
    cooldown: float = _setting(
        0.05, _share, "Share of the log's duration, at its end, whose jobs are not measured."
    )
    slowdown_bound: float = _slowdown_bound()
    confidence: float = _confidence_level()
    percentiles: str = _more_percentiles()
    seed: int = _setting(1, _whole(0, 2**64 - 1), "Seed of the bootstrap for the intervals.")
    pool_policies: str = _setting(
        "",
        _pool_policies,
        "Policies of some pools in all replays, as in 'gpu=fcfs debug=conservative'.",
    )
    user_limit: int | str | None = _setting(
        None,
        _limit,
        "Most jobs of a user that wait or run at once; further ones are held back. observed: the "
        "most that ran in the log.",
        unset="there is no limit",
    )
    queue_limit: str | None = _setting(
        None,
        _queue_limit,
        "The same for the jobs of queues, as in 'debug=2 long=40', or observed.",
        unset="there is no limit",
    )
    preemptible: str = _setting(
        "",
        _names,
        "Queues (in Slurm QOS) or partitions whose jobs run on servers that all other jobs leave "
        "free, and stop when others need their servers.",
    )
    preempt_mode: str = _setting(
        "requeue",
        _one_of("requeue", "suspend"),
        "What a preemptible job does after it was stopped: requeue (start again from the "
        "beginning) or suspend (keep its work and continue).",
    )
    end_at_limit: bool = _setting(
        False,
        lambda value, argument: flag(value, argument, QuickswapError),
        "End each job at its time limit, as sites do that enforce it; by default each job runs as "
        "long as in the log.",
    )
    version: str = VERSION

    def __post_init__(self) -> None:
        _check_fields(self, ReplayInputs)
        if self.warmup + self.cooldown >= 1:
            allowed = f"below {1 - self.cooldown:g}, as the cool-down is {self.cooldown:g}"
            raise invalid("warmup", self.warmup, allowed, QuickswapError)
        if self.preempt_mode == "suspend" and not self.preemptible:
            raise QuickswapError(
                "preempt_mode is suspend, and no job is preemptible",
                argument="preempt_mode",
                given=self.preempt_mode,
                advice="give {preemptible} as well",
            )


class MeasureSettings(TypedDict, total=False):
    """The settings of `as_logged`, for type checkers."""

    servers: int | None
    classes: str
    warmup: float
    cooldown: float
    slowdown_bound: float
    confidence: float
    percentiles: str | Sequence[float]
    seed: int


class ReplaySettings(MeasureSettings, total=False):
    """The settings of a replay besides its policy and load, for type checkers."""

    estimate: float | str
    pool_policies: str
    user_limit: int | str | None
    queue_limit: str | None
    preemptible: str
    preempt_mode: str
    end_at_limit: bool
    debug: bool
