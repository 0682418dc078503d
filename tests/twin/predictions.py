"""Predictions of estimates: the mean size of the last two jobs of the user that have completed when
a job arrives (of the only one), at most its requested time. A job that outlives its estimate gets a
longer one, by ever longer steps, up to the requested time.
"""

from collections.abc import Sequence
from math import inf
from statistics import mean

from twin.state import Job

STEPS = [60 * minutes for minutes in (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000)]


class Predictions:
    """What is known of the users. `users` and `requested` are None where not known."""

    def __init__(self, users: Sequence[int | None], requested: Sequence[float | None]) -> None:
        self.users = users
        self.requested = [inf if each is None else each for each in requested]
        self.completed: list[Job] = []

    def predict(self, job: Job) -> None:
        user = self.users[job.number]
        mine = [each.size for each in self.completed if self.users[each.number] == user]
        if user is not None and mine:
            job.estimate = min(mean(mine[-2:]), self.requested[job.number])

    def correct(self, job: Job, now: float) -> bool:
        """Raise the estimate of a job in service until it ends later; is it raised at all?"""
        before, most = job.estimate, self.requested[job.number]
        while job.begun + job.estimate <= now and job.estimate < most:
            job.estimate = min(job.estimate + STEPS[min(job.raises, len(STEPS) - 1)], most)
            job.raises += 1
        return job.estimate > before
