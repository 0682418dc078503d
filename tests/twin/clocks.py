"""The policies of the twin that have clocks of their own and draw random numbers.

The numbers are given: a script, which begins anew when it is through. So twin and core can be
compared event by event, although the core otherwise draws from a stream.
"""

from itertools import cycle
from math import exp, inf, log

from twin.state import Job, State


class NMSR:
    """A cycle of schedules, each with a number of jobs per class and a mean time. A class starts
    jobs only while fewer are in service than the schedule has. The change from a schedule to the
    next is over when no class has more in service than that; then the clock of the new schedule
    starts, and rings after an exponential time. With backfilling a class that fits uses what is
    left.

    Corner: the first schedule begins with the first event. A single schedule has no clock.

    Corner: of several jobs that may start and fit, the one of the largest need starts first; of
    equal needs that of the class that is first in the system.

    Corner: what is left are the free servers but for those that the jobs need which wait and have a
    place in the schedule (they may have to wait for jobs beyond it to end). So a class that always
    has a job waiting keeps all its places. During a change there is no backfilling, or the
    change might never end.
    """

    def __init__(
        self,
        servers: int,
        needs: list[int],
        schedules: list[list[int]],
        times: list[float],
        backfill: bool,
        script: list[float],
    ) -> None:
        for jobs in schedules:
            if sum(n * need for n, need in zip(jobs, needs, strict=True)) > servers:
                raise ValueError(f"schedule {jobs} does not fit")
        self.schedules, self.times, self.backfill = schedules, times, backfill
        self.script = cycle(script)
        self.place = 0
        self.end: float | None = None  # none during a change

    def next_job(self, state: State) -> Job | None:
        self._move_on(state)
        schedule = self.schedules[self.place]
        classes = sorted(range(len(state.needs)), key=lambda i: -state.needs[i])  # stable
        heads = [job for i in classes if (job := state.oldest(i)) is not None]
        for job in heads:
            if state.u(job.cls) < schedule[job.cls] and state.fits(job):
                return job
        if self.backfill and self.end is not None:
            places = {i: max(0, schedule[i] - state.u(i)) for i in classes}
            kept = sum(state.needs[i] * min(places[i], state.q(i)) for i in classes)
            for job in heads:
                if job.need <= state.free() - kept:
                    return job
        return None

    def _move_on(self, state: State) -> None:
        while True:
            if self.end is not None and self.end <= state.now:  # the clock has rung
                self.place = (self.place + 1) % len(self.schedules)
                self.end = None
            if self.end is not None:
                return
            if any(state.u(i) > jobs for i, jobs in enumerate(self.schedules[self.place])):
                return  # the change is not over
            alone = len(self.schedules) == 1
            self.end = inf if alone else state.now + self.times[self.place] * next(self.script)

    def wake_at(self) -> float:
        return inf if self.end is None else self.end


class RandomizedTimers:
    """Each class has slots, with a job in service or a dummy. A Poisson clock of a certain rate per
    class: on a tick, if one more job of the class fits, counting dummies, one starts, or a dummy if
    none waits, which lasts an exponential time of the mean size. When a slot ends, it is refilled
    (with a job, or a dummy if none waits) with probability 1 - exp(-w), otherwise released. An
    arrival takes over a dummy of its class that is under way. With q jobs waiting of the class, and
    m of the class of which most wait, w = max(f(q), 1e-4 f(m)), f(x) = log(1 + x)^0.7.

    Corner: in an instant first dummies end, then arrivals take over dummies, then it is decided on
    the slots that have ended, then clocks tick. In each of these, the class of the largest need
    starts first; of equal needs the one that is first in the system.

    Corner: an arrival takes over the dummy that began first: any choice that does not look at the
    time left is the same in distribution.

    Corner: the clocks start with the first event. The numbers of a tick are drawn in this order:
    the time to the next tick, the duration of the dummy.
    """

    def __init__(
        self,
        needs: list[int],
        rate: float,
        means: list[float],
        script: list[float],
    ) -> None:
        self.classes = sorted(range(len(needs)), key=lambda i: -needs[i])  # stable
        self.rate, self.means, self.script = rate, means, cycle(script)
        self.jobs: list[Job] = []  # in service, as far as is known here
        self.dummies: list[tuple[int, float]] = []  # class and end, in the order of their start
        self.ended: list[int] = []  # classes of the slots that have ended
        self.ticks: dict[int, float] = {}

    def next_job(self, state: State) -> Job | None:
        job = self._next(state)
        if job is not None:
            self.jobs.append(job)
        return job

    def _next(self, state: State) -> Job | None:
        if not self.ticks:
            for i in self.classes:
                self._wind(i, state.now)
        self.ended += [job.cls for job in self.jobs if job not in state.running]
        self.ended += [i for i, end in self.dummies if end <= state.now]
        self.jobs = [job for job in self.jobs if job in state.running]
        self.dummies = [(i, end) for i, end in self.dummies if end > state.now]
        for i in self.classes:
            mine = [dummy for dummy in self.dummies if dummy[0] == i]
            if mine and state.q(i) > 0:
                self.dummies.remove(mine[0])
                return state.oldest(i)
        for i in self.classes:
            while i in self.ended:
                self.ended.remove(i)
                if next(self.script) < 1 - exp(-self._weight(state, i)):
                    if state.q(i) > 0:
                        return state.oldest(i)
                    self._keep(i, state.now)
        for i in self.classes:
            while self.ticks[i] <= state.now:
                self._wind(i, state.now)
                kept = sum(state.needs[j] for j, _ in self.dummies)
                if state.needs[i] <= state.free() - kept:
                    if state.q(i) > 0:
                        return state.oldest(i)
                    self._keep(i, state.now)
        return None

    def _weight(self, state: State, cls: int) -> float:
        most = max(state.q(i) for i in self.classes)
        return max(_f(state.q(cls)), 1e-4 * _f(most))

    def _wind(self, cls: int, now: float) -> None:
        self.ticks[cls] = now + next(self.script) / self.rate

    def _keep(self, cls: int, now: float) -> None:
        self.dummies.append((cls, now + self.means[cls] * next(self.script)))

    def wake_at(self) -> float:
        return min([*self.ticks.values(), *[end for _, end in self.dummies]], default=inf)


def _f(x: int) -> float:
    return float(log(1 + x) ** 0.7)
