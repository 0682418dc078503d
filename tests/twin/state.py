"""What a policy of the twin may look at: the whole state of the system, as lists of jobs in arrival
order.
"""

from dataclasses import dataclass, field


@dataclass
class Job:
    """One job: its number (position in the trace), arrival time, class, server need, size and
    estimated size.
    """

    number: int
    arrival: float
    cls: int
    need: int
    size: float
    estimate: float
    remaining: float = 0.0  # service still owed, as of the last (re)start
    begun: float = 0.0  # while running: the time of its last (re)start
    due: float = 0.0  # while running: the time at which it completes
    rank: int = 0  # its place among the jobs that have arrived, without those held back
    raises: int = 0  # how often its estimate was raised


@dataclass
class State:
    """The system at one instant. `waiting` and `running` are in order of age, which is the rank."""

    servers: int
    needs: list[int]
    waiting: list[Job] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)
    now: float = 0.0

    def free(self) -> int:
        """Servers that hold no job."""
        return self.servers - sum(job.need for job in self.running)

    def fits(self, job: Job) -> bool:
        return job.need <= self.free()

    def q(self, cls: int) -> int:
        """Jobs of class `cls` that wait."""
        return sum(1 for job in self.waiting if job.cls == cls)

    def u(self, cls: int) -> int:
        """Jobs of class `cls` in service."""
        return sum(1 for job in self.running if job.cls == cls)

    def oldest(self, cls: int) -> Job | None:
        """The waiting job of class `cls` that arrived first, if any waits."""
        return next((job for job in self.waiting if job.cls == cls), None)


def largest(jobs: list[Job]) -> Job | None:
    """Of `jobs` in order of age, the oldest one of the largest need."""
    return max(jobs, key=lambda job: job.need, default=None)  # max() keeps the first of equals


def smallest(jobs: list[Job]) -> Job | None:
    """Of `jobs` in order of age, the oldest one of the smallest need."""
    return min(jobs, key=lambda job: job.need, default=None)
