"""What a governor reads from Slurm and writes to it; the back ends are `commands` and `rest`."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from quickswap.errors import QuickswapError

__all__ = [
    *(
        "DELAYED",
        "UNITS",
        "Cluster",
        "Controller",
        "Diagnostics",
        "Job",
        "JobState",
        "RejectedError",
    ),
    *("Snapshot", "UnreachableError", "state_of"),
]

UNITS = ("node", "cpu")
"""What a server is."""
UNLIMITED = 365 * 86_400.0
"""Seconds that count as the time limit of a job without one."""


class UnreachableError(QuickswapError):
    """Slurm does not answer, or not as expected."""


class RejectedError(QuickswapError):
    """Slurm does not accept a SiteFactor or a delay."""


class JobState(StrEnum):
    """The state of a job, as far as it matters to a policy."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"


STARTABLE = frozenset({"", "None", "Priority", "Resources"})
"""Reasons for which a pending job waits that a policy can change."""
DELAYED = "BeginTime"
"""Reason of a job whose start is delayed."""
HOLDING = frozenset({"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING"})
"""States of jobs that hold servers."""


def state_of(name: str) -> JobState:
    """Return the state for its name in Slurm."""
    if name == "PENDING":
        return JobState.PENDING
    return JobState.RUNNING if name in HOLDING else JobState.ENDED


@dataclass(frozen=True, slots=True)
class Job:
    """A job in Slurm, with times in seconds since 1970; nan is unknown.

    Attributes:
        id: its name in commands, as in "12" or, for a task of an array, "12_3".
        limit: time limit, seconds.
        reason: why it waits, as Slurm says.
        factor: its SiteFactor, while it is pending.
    """

    id: str
    state: JobState
    need: int
    submit: float
    eligible: float
    start: float
    end: float
    limit: float
    reason: str = ""
    priority: int = 0
    factor: int = 0
    user: str = ""
    group: str = ""
    queue: str = ""

    def __post_init__(self) -> None:
        begun = self.state is not JobState.RUNNING or math.isfinite(self.start)
        if self.need < 1 or not math.isfinite(self.submit) or not begun:
            raise ValueError(f"job {self.id} needs {self.need} servers, or has an unknown time")

    @property
    def startable(self) -> bool:
        """Whether it waits only for servers or for its turn."""
        return self.state is JobState.PENDING and self.reason in STARTABLE and self.priority > 0

    @property
    def number(self) -> list[int]:
        """Its place among jobs that arrive in one second, and among the tasks of its array."""
        return [int(part) for part in re.findall(r"\d+", self.id)]

    @property
    def arrival(self) -> float:
        """When it could first have started."""
        return self.submit if math.isnan(self.eligible) else max(self.submit, self.eligible)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The jobs of a partition at a time.

    Attributes:
        time: seconds since 1970.
        servers: servers that are up.
        free: servers of them on which no job runs.
        jobs: pending, running, and recently ended jobs.
    """

    time: float
    servers: int
    free: int
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How busy the controller is.

    Attributes:
        threads: threads that serve requests.
        queue: messages to nodes that wait.
    """

    threads: int
    queue: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """The settings of a cluster on which a governor depends.

    Attributes:
        name: name of the cluster.
        settings: settings of slurm.conf by their names in lower case.
    """

    name: str
    settings: Mapping[str, str]


@contextmanager
def answer_of(program: str) -> Iterator[None]:
    """Report an answer that cannot be read as that of a controller that fails.

    Raises:
        UnreachableError: the answer cannot be read.
    """
    try:
        yield
    except QuickswapError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnreachableError(f"the answer of {program} cannot be read ({error!r}).") from None


class Controller(ABC):
    """The access to a Slurm controller. Its methods raise `UnreachableError` if it fails."""

    @abstractmethod
    def cluster(self) -> Cluster:
        """Return the settings of the cluster."""

    @abstractmethod
    def snapshot(self, partition: str) -> Snapshot:
        """Return the jobs and servers of a partition.

        Raises:
            QuickswapError: there is no such partition.
        """

    @abstractmethod
    def diagnostics(self) -> Diagnostics:
        """Return how busy the controller is."""

    @abstractmethod
    def write(self, job: str, factor: int) -> None:
        """Set the SiteFactor of a job, by its `id`.

        Raises:
            RejectedError: Slurm does not accept it.
        """

    @abstractmethod
    def delay(self, job: str, seconds: float) -> None:
        """Delay the start of a pending job, by its `id`; 0 ends the delay, as does its end.

        Raises:
            RejectedError: Slurm does not accept it.
        """

    @abstractmethod
    def factors(self, jobs: Iterable[str]) -> dict[str, int]:
        """Return the SiteFactors of those of the jobs that are pending, by their `id`."""
