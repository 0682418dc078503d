"""Backfilling during a drain, from its definition alone: which waiting job of another class than
the target starts, although the target cannot yet? One that fits now and is not likely to be there
still when the target can start, D seconds from now; the largest need starts first, the oldest of
equals.

Corner: D is when the target *can* start. If a class has to leave completely before (Static
Quickswap, exclusive), D is not before that, even if the target fits already.
"""

from typing import Protocol

from twin.backfilling import estimated_end
from twin.state import Job, State, largest


class Backfill(Protocol):
    """A rule of backfilling."""

    def job(self, state: State, target: Job, leaving: int | None = None) -> Job | None:
        """Who is let in, in a drain for `target` in which class `leaving` has to leave first?"""


class ByDistributions:
    """All u jobs of a class in service are expected to have left after H(u) r; in the order of
    these times the classes free their servers until the target fits. A class may start if D is at
    least its horizon.
    """

    def __init__(self, horizons: list[float], residuals: list[float | None]) -> None:
        self.horizons = horizons
        self.residuals = [float("inf") if r is None else r for r in residuals]

    def job(self, state: State, target: Job, leaving: int | None = None) -> Job | None:
        until = self.horizon(state, target, leaving)
        return largest(
            [
                job
                for job in state.waiting
                if job.cls != target.cls and state.fits(job) and self.horizons[job.cls] <= until
            ]
        )

    def horizon(self, state: State, target: Job, leaving: int | None) -> float:
        left = {
            cls: sum(1 / i for i in range(1, state.u(cls) + 1)) * self.residuals[cls]
            for cls in range(len(state.needs))
            if state.u(cls) > 0
        }

        def free_at(time: float) -> int:
            gone = [cls for cls, each in left.items() if each <= time]
            return state.free() + sum(state.needs[cls] * state.u(cls) for cls in gone)

        fits = min(time for time in [0.0, *left.values()] if free_at(time) >= target.need)
        return fits if leaving is None else max(fits, left[leaving])


class ByAges(ByDistributions):
    """Each job is expected to have left when the hazard of its size, -log P(S > x), has grown by
    H(u) since now. `sizes` are those at equal steps of the hazard, with straight lines between
    them; None for exponential sizes, whose hazard grows by 1 in r seconds.
    """

    def __init__(
        self,
        horizons: list[float],
        residuals: list[float | None],
        sizes: list[list[float] | None],
        step: float,
    ) -> None:
        super().__init__(horizons, residuals)
        self.sizes, self.step = sizes, step

    def horizon(self, state: State, target: Job, leaving: int | None) -> float:
        left = [self.left(state, job) for job in state.running]
        jobs = list(zip(left, state.running, strict=True))

        def free_at(time: float) -> int:
            return state.free() + sum(job.need for end, job in jobs if end <= time)

        fits = min(time for time in [0.0, *left] if free_at(time) >= target.need)
        return max([fits, *(end for end, job in jobs if job.cls == leaving)])

    def left(self, state: State, job: Job) -> float:
        """Seconds until the job is expected to have left."""
        more, age = sum(1 / i for i in range(1, state.u(job.cls) + 1)), state.now - job.begun
        sizes = self.sizes[job.cls]
        if sizes is None:
            return more * self.residuals[job.cls]
        steps = sum(size <= age for size in sizes) - 1.0  # at the last size not above the age
        if steps < 0:
            hazard = 0.0
        elif steps == len(sizes) - 1:
            hazard = steps
        else:
            below, above = sizes[int(steps) : int(steps) + 2]
            hazard = steps + (age - below) / (above - below)
        hazard += more * (1 / self.step)
        if hazard >= len(sizes) - 1:
            return max(0.0, sizes[-1] - age)
        below, above = sizes[int(hazard) : int(hazard) + 2]
        return max(0.0, below + (hazard - int(hazard)) * (above - below) - age)


class ByEstimates:
    """As in EASY: D is by the estimated ends of the jobs in service, and a job may start if its
    estimated end is not after that.
    """

    def job(self, state: State, target: Job, leaving: int | None = None) -> Job | None:
        ends = {job.number: estimated_end(job, state.now) for job in state.running}

        def free_at(time: float) -> int:
            return state.free() + sum(job.need for job in state.running if ends[job.number] <= time)

        until = min(time for time in [state.now, *ends.values()] if free_at(time) >= target.need)
        last = [ends[job.number] for job in state.running if job.cls == leaving]
        return largest(
            [
                job
                for job in state.waiting
                if job.cls != target.cls
                and state.fits(job)
                and state.now + job.estimate <= max([until, *last])
            ]
        )
