"""EASY and Conservative, by their definitions alone. The estimated end of a job in service is its
start plus its estimate; once that is past, it is now ("now, at any moment").
"""

import math
import sys

from twin.state import Job, State


def estimated_end(job: Job, now: float) -> float:
    """When a job in service is expected to end, as seen now."""
    return max(job.begun + job.estimate, now)


def until(start: float, estimate: float) -> float:
    """When what is promised from `start` on ends: a size of zero is promised the shortest time that
    there is.
    """
    return max(start + estimate, math.nextafter(start, math.inf))


class EASY:
    """A job is due once it has waited `least` seconds (None: however long) and `factor` times its
    estimate. The oldest due job starts if it fits. If no job is due, the first job in the order
    starts that fits. Else the oldest due job is the target: its shadow is the first time at which
    it fits by the estimated ends of the jobs in service, and extra is what is free then beyond its
    need. The first job in the order starts that fits now and ends by the shadow or needs at most
    extra. A job that becomes due is a timer. With the reservation "first" the target is always the
    first job in the order.
    """

    def __init__(
        self,
        order: str = "oldest",
        reservation: str = "oldest",
        least: float | None = 0.0,
        factor: float = 0.0,
    ) -> None:
        self.order, self.reservation, self.factor = order, reservation, factor
        self.least = math.inf if least is None else least

    def due(self, job: Job) -> float:
        return job.arrival + max(self.least, self.factor * job.estimate)

    def wake_at(self, state: State) -> float:
        times = map(self.due, state.waiting)
        return min((time for time in times if time > state.now), default=math.inf)

    def rank(self, job: Job, now: float) -> float:
        ratio = (now - job.arrival) / max(job.estimate, sys.float_info.min)
        ranks = {
            "shortest": job.estimate,
            "area": job.estimate * job.need,
            "largest": -job.need,
            "expansion": -ratio,
            "wfp3": -job.need * (ratio * ratio * ratio),
        }
        return ranks.get(self.order, 0.0)  # waiting jobs are in order of age

    def next_job(self, state: State) -> Job | None:
        jobs = sorted(state.waiting, key=lambda job: self.rank(job, state.now))
        candidates = list(filter(state.fits, jobs))
        if self.reservation == "first":
            due = jobs[:1]
        else:
            due = [job for job in state.waiting if self.due(job) <= state.now]
        if not due:
            return candidates[0] if candidates else None
        target = due[0]
        if state.fits(target):
            return target
        ends = {job.number: estimated_end(job, state.now) for job in state.running}

        def free_at(time: float) -> int:
            return state.free() + sum(job.need for job in state.running if ends[job.number] <= time)

        shadow = min(time for time in [state.now, *ends.values()] if free_at(time) >= target.need)
        extra = free_at(shadow) - target.need
        for job in candidates:
            if state.now + job.estimate <= shadow or job.need <= extra:
                return job
        return None


class Conservative:
    """Every waiting job has a reservation and starts when it comes. In an instant:

    1. If a reservation has been missed, all are void; and if an estimate has been raised.
    2. Each job in order of arrival gives its reservation back and gets the earliest one, if that is
       earlier; and again, until nothing changes. Then each job without one gets the earliest one.
       The profile that decides: the jobs in service until their estimated ends, and all
       reservations that stand.
    3. The oldest job starts whose reservation is now and that fits.

    A reservation that comes due while no job arrives or ends is a timer: then only step 3 is taken.
    """

    def __init__(self) -> None:
        self.reserved: dict[int, float] = {}  # by number of the job
        self.present: set[int] = set()  # when it last decided

    def wake_at(self, now: float) -> float:
        return min((time for time in self.reserved.values() if time > now), default=math.inf)

    def next_job(self, state: State) -> Job | None:
        waiting = {job.number for job in state.waiting}
        self.reserved = {n: time for n, time in self.reserved.items() if n in waiting}
        present = waiting | {job.number for job in state.running}
        if present != self.present and any(time < state.now for time in self.reserved.values()):
            self.reserved = {}
        self.present = present
        before = None
        while before != self.reserved:
            before = dict(self.reserved)
            for job in state.waiting:
                if (old := self.reserved.pop(job.number, None)) is not None:
                    self.reserved[job.number] = min(old, self.earliest(state, job))
        for job in state.waiting:
            if job.number not in self.reserved:
                self.reserved[job.number] = self.earliest(state, job)
        due = [job for job in state.waiting if self.reserved[job.number] == state.now]
        return next((job for job in due if state.fits(job)), None)

    def earliest(self, state: State, job: Job) -> float:
        """The first time from now on at which the servers of the job are free in the profile
        for as long as it is estimated to take.
        """
        starts = self.reserved | {run.number: run.begun for run in state.running}
        promised = [
            (starts[other.number], until(starts[other.number], other.estimate), other.need)
            for other in [*state.running, *state.waiting]
            if other.number in starts
        ]

        def free_at(time: float) -> int:
            return state.servers - sum(need for a, b, need in promised if a <= time < b)

        def holds(start: float) -> bool:
            if free_at(start) < job.need:
                return False
            end = until(start, job.estimate)
            return all(free_at(a) >= job.need for a, _, _ in promised if start < a < end)

        ends = {end for _, end, _ in promised if end > state.now}
        return next(time for time in [state.now, *sorted(ends)] if holds(time))
