"""A visit to one class: up to c jobs at once until l are left, then a drain in which none starts.

This is what MSFQ does with the light jobs (phases 2, 3 and 4), with the heavy ones (phase 1: c = 1
and l = 0), and what Static Quickswap with the exclusive drain does with every class. All of it
rests on the approximation of the paper's section "Approximations in Response Time Analysis": at
least c jobs wait when the visit begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from quickswap.errors import ModelError
from quickswap.theory.moments import Moments, busy_period

__all__ = ["TOO_LONG", "Times", "Visit", "check_finite", "holds_from"]

TOO_LONG = (
    "{} leads to visits longer than can be computed here, beyond 1e150 seconds: raise the "
    "threshold or lower the arrival rate."
)


@dataclass(frozen=True, slots=True)
class Times:
    """Mean response times of a class by the time of arrival, in seconds.

    Attributes:
        away: of jobs that arrive outside working phases: in the drain, or in other visits.
        full: of jobs that arrive while c or more are present in the working phase.
        thin: of jobs that arrive while fewer are present; nan if there is no such time.
        mean: of all.
    """

    away: float
    full: float
    thin: float
    mean: float


@dataclass(frozen=True, slots=True)
class Visit:
    """The class and the part of its visits that does not depend on the other classes.

    Attributes:
        slots: c, the jobs that can run at once.
        arrival: lambda, jobs per second.
        service: mu, the rate at which a job in service completes, per second.
        threshold: l, the number of jobs at which the drain begins, 0 to c - 1.
        busy: busy period of c slots: of M/M/1(lambda, c mu).
        thin: H_3, the time from c - 1 jobs to l.
        drain: H_4, the time that the last l take.
    """

    slots: int
    arrival: float
    service: float
    threshold: int
    busy: Moments = field(init=False)
    thin: Moments = field(init=False)
    drain: Moments = field(init=False)
    _queued: float = field(init=False)

    def __post_init__(self) -> None:
        busy = busy_period(self.arrival, self.slots * self.service)
        thin, queued = self._passages(busy)
        mean = math.fsum(1 / j for j in range(1, self.threshold + 1)) / self.service
        variance = math.fsum(1 / (j * j) for j in range(1, self.threshold + 1))
        drain = Moments(mean, variance / (self.service * self.service))
        for name, value in (("busy", busy), ("thin", thin), ("drain", drain), ("_queued", queued)):
            object.__setattr__(self, name, value)

    @property
    def load(self) -> float:
        """The load rho = lambda / (c mu)."""
        return self.arrival / (self.slots * self.service)

    @property
    def lost(self) -> float:
        """The time with all slots free that equals what a visit loses by idle slots, in seconds."""
        idle = (self.slots - 1) / (self.slots * self.service)
        return self.drain.mean + (1 - self.load) * self.thin.mean - idle

    def _passages(self, busy: Moments) -> tuple[Moments, float]:
        """Return H_3, and the mean integral over it of the number in queue beyond c - 1.

        H_3 is the sum of the independent passages from j to j - 1 jobs, j from c - 1 down to l + 1:
        lemma lem:h3, differentiated. The integral replaces the visits C_j of lemma
        thm:absorption: of a passage from c it is that of a busy period, of one from j < c it is
        lambda / (j mu) times that of the one above, as an arrival comes first that often.
        """
        above, queued = busy, busy.mean / (1 - self.load)
        mean, variance, integral = 0.0, 0.0, 0.0
        for j in range(self.slots - 1, self.threshold, -1):
            rate = j * self.service
            each = (1 + self.arrival * above.mean) / rate
            above = Moments(each, each * each + self.arrival * above.second / rate)
            queued *= self.arrival / rate
            mean, variance = mean + above.mean, variance + above.variance
            integral += queued
        return Moments(mean, variance), integral

    def waiting(self, away: float) -> float:
        """Return E[N], the jobs at the start of a visit, from the mean time `away` before it."""
        return self.arrival * away

    def beyond(self, away: float) -> float:
        """Return E[M] = E[N] - c + 1; the approximation holds where it is not negative."""
        return self.arrival * away - (self.slots - 1)

    def times(self, cycle: float, away: float, spread: float, share: float) -> Times:
        """Return the mean response times.

        Args:
            cycle: mean time C from visit to visit, in seconds; 0 if no visit loses any.
            away: mean of Y, the time from the start of a drain to the next visit, in seconds.
            spread: Var Y / E[Y], in seconds.
            share: E[Y] / C.
        """
        speed, own = self.slots * self.service, 1 / self.service
        thin = self.thin.mean / cycle if self.thin.mean else 0.0
        waited = math.nan if thin == 0 else own + self._queued / (speed * self.thin.mean)
        first = own + self._wait_away(away, spread)
        full = own + self._wait_full(away, spread)
        working = self.busy.mean * self.beyond(away) / cycle if cycle else 1 - share
        parts = [share * first, working * full, thin * waited if thin else 0.0]
        return Times(first, full, waited, math.fsum(parts))

    def _wait_away(self, away: float, spread: float) -> float:
        """Lemma thm:excess, corrected: a job behind m others waits for m - c + 1 of them, not m.

        Of N jobs the last N - c wait, and E[(N - c)(N - c + 1)] / 2 is the sum of their places.
        """
        c, count = self.slots, self.waiting(away)
        places = count - 1 if c == 1 else (count - c) * (count - c + 1) / count
        behind = 1 + self.arrival * spread + places
        return (spread + away) / 2 + behind / (2 * c * self.service)

    def _wait_full(self, away: float, spread: float) -> float:
        """Lemma thm:exceptional-first: M/M/1(lambda, c mu) with exceptional first service."""
        beyond, speed = self.beyond(away), self.slots * self.service
        weight = 1.0 if self.slots == 1 else self.waiting(away) / beyond
        first = (1 + self.arrival * spread) * weight + beyond + 1
        return self.load * self.busy.mean + first / (2 * speed)


def holds_from(excess: Callable[[float], float], rate: float, limit: float) -> str:
    """Say from which arrival rate on, above `rate` and below `limit`, `excess` is positive.

    Where there is any, it grows beyond all bounds towards `limit`, as cycles do.
    """
    start = _first_rate(excess, rate, limit)
    if start is None:
        return "at no arrival rate it holds for this mix"
    return f"it holds from an arrival rate of {start * (1 + 1e-5):.6g} on, at this mix"


def _first_rate(excess: Callable[[float], float], rate: float, limit: float) -> float | None:
    from scipy.optimize import brentq

    def clipped(gap: float) -> float:
        return min(excess(limit * (1 - gap)), 1.0)

    wide = 1 - rate / limit
    while wide > 1e-12:
        narrow = wide / 2
        if clipped(narrow) >= 0:
            return limit * (1 - float(brentq(clipped, narrow, wide, xtol=1e-15, rtol=1e-12)))
        wide = narrow
    return None


def check_finite(what: str, times: list[float]) -> None:
    """Refuse results beyond the largest number.

    Raises:
        ModelError: says so.
    """
    if not all(math.isfinite(time) for time in times):
        raise ModelError(TOO_LONG.format(what))
