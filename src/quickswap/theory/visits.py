"""A visit to one class: up to c jobs are in service until l jobs are left; then the class drains.

MSFQ visits the light jobs in this way (phases 2, 3 and 4) and the heavy jobs (phase 1, with c = 1
and l = 0). Static Quickswap with the exclusive drain visits every class in this way. This module
uses the approximation of the paper's section "Approximations in Response Time Analysis": at least c
jobs are present when the visit begins.

H_2 denotes the time until fewer than c jobs are present, H_3 the time from c - 1 jobs to l jobs,
and H_4 the drain. Y is the time from the start of a drain to the next visit, and N the number of
jobs at the start of that visit. Given Y, N is Poisson(lambda Y).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from quickswap.errors import ModelError
from quickswap.model.system import System
from quickswap.theory.moments import Moments, busy_period

__all__ = ["Times", "Visit", "check_finite", "holds_from", "too_long", "visits_of"]


@dataclass(frozen=True, slots=True)
class Times:
    """Mean response times of a class by the phase of the arrival, in seconds.

    Attributes:
        away: mean over jobs that arrive in Y: in the drain, or while other classes are visited.
        full: mean over jobs that arrive in H_2, while c or more jobs are present.
        thin: mean over jobs that arrive in H_3, while fewer jobs are present; nan if H_3 is 0.
        mean: mean over all jobs.
    """

    away: float
    full: float
    thin: float
    mean: float


@dataclass(frozen=True, slots=True)
class Visit:
    """The class and the part of its visits that does not depend on the other classes.

    Attributes:
        slots: c, the maximum number of jobs in service.
        arrival: lambda, jobs per second.
        service: mu, the rate at which a job in service completes, per second.
        threshold: l, the number of jobs at which the drain begins, 0 to c - 1.
        busy: busy period of M/M/1(lambda, c mu), the passage from c jobs to c - 1.
        thin: H_3, the time from c - 1 jobs to l.
        drain: H_4, the time of the last l jobs: sum over j <= l of Exp(j mu) (lemma lem:h4).
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
        """W, the capacity lost in a visit, as the equivalent time in seconds with all slots idle.

        H_2 consists of N - c + 1 busy periods of mean b = 1 / (c mu (1 - rho)) (lemma
        lemma:cycle-length), and E[N] = lambda E[Y] = lambda (C - E[H_2] - E[H_3]). The solution for
        the working phase is

            E[H_2 + H_3] = (b (lambda C - c + 1) + E[H_3]) / (1 + lambda b)
                         = rho C - (c - 1) / (c mu) + (1 - rho) E[H_3],

        as 1 + lambda b = 1 / (1 - rho). Hence the mean duration of a visit is rho C + W, with
        W = E[H_4] + (1 - rho) E[H_3] - (c - 1) / (c mu).
        """
        idle = (self.slots - 1) / (self.slots * self.service)
        return self.drain.mean + (1 - self.load) * self.thin.mean - idle

    def _passages(self, busy: Moments) -> tuple[Moments, float]:
        """Return H_3, and the mean integral over it of (n - c + 1)^+, n the jobs present.

        H_3 is the sum of the independent passages from j to j - 1 jobs, j from c - 1 down to l + 1.
        The first event is a completion, or an arrival, which adds a passage from j + 1. Hence

            m_j = (1 + lambda m_{j+1}) / (j mu),   E_j = 2 m_j^2 + lambda E_{j+1} / (j mu)

        for the mean and the second moment (lemma lem:h3, differentiated). The integral replaces the
        numbers of visits C_j of lemma thm:absorption. For the passage from c, a busy period of
        M/M/1(lambda, c mu), it is w_c = b / (1 - rho). In a passage from j < c the number of
        excursions above j is geometric with mean lambda / (j mu): w_j = w_{j+1} lambda / (j mu).
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
        """Return E[N], the mean number of jobs at the start of a visit, for E[Y] = `away`."""
        return self.arrival * away

    def beyond(self, away: float) -> float:
        """Return E[M] = E[N] - c + 1; the approximation holds where it is not negative."""
        return self.arrival * away - (self.slots - 1)

    def times(self, cycle: float, away: float, spread: float, share: float) -> Times:
        """Return the mean response times.

        By PASTA, the share of jobs that arrive in a phase is the share of time in it (equation
        eq:er, lemma lem:fraction). In H_3 a job that arrives when n jobs are present has the
        mean response time 1 / mu + (n - c + 1)^+ / (c mu) (lemma thm:absorption); the mean of
        (n - c + 1)^+ is the integral of `_passages` over E[H_3].

        Args:
            cycle: mean time C from visit to visit, in seconds; 0 if no capacity is lost.
            away: mean of Y, in seconds.
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
        """Return the mean wait of jobs that arrive in Y: lemma thm:excess, corrected.

        A job first waits for the rest of Y, E[Y^2] / (2 E[Y]) on average. Then c jobs start
        immediately, and the m-th of N, m > c, waits for m - c completions of rate c mu, not m - 1
        as in the lemma. Summed over all N jobs these are (N - c)(N - c + 1) / 2 completions, so the
        mean of this second part of the wait is

            E[(N - c)(N - c + 1)] / (2 c mu E[N]).

        Var N = E[N] (1 + lambda Var Y / E[Y]) turns the numerator over E[N] into `behind`.
        """
        c, count = self.slots, self.waiting(away)
        places = count - 1 if c == 1 else (count - c) * (count - c + 1) / count
        behind = 1 + self.arrival * spread + places
        return (spread + away) / 2 + behind / (2 * c * self.service)

    def _wait_full(self, away: float, spread: float) -> float:
        """Return the mean wait of jobs that arrive in H_2: lemma thm:exceptional-first.

        H_2 is a busy period of M/M/1(lambda, c mu) that begins with M = N - c + 1 jobs, whose total
        size is the exceptional size S'. The lemma's quotient W / (1 - p) simplifies to

            lambda E[S^2] / (2 (1 - rho)) + E[S'^2] / (2 E[S'])
            = rho b + (E[M^2] + E[M]) / (2 c mu E[M]),

        and Var M = Var N = E[N] (1 + lambda Var Y / E[Y]).
        """
        beyond, speed = self.beyond(away), self.slots * self.service
        weight = 1.0 if self.slots == 1 else self.waiting(away) / beyond
        first = (1 + self.arrival * spread) * weight + beyond + 1
        return self.load * self.busy.mean + first / (2 * speed)


def visits_of(system: System, thresholds: Iterable[int]) -> list[Visit]:
    """Return the visits to the classes of a system with the given thresholds, in jobs."""
    return [
        Visit(system.servers // each.need, each.arrival_rate, 1 / each.size.mean, threshold)
        for each, threshold in zip(system.classes, thresholds, strict=True)
    ]


def holds_from(excess: Callable[[float], float], rate: float, limit: float) -> str:
    """Return a clause with the arrival rate, from `rate` to `limit`, above which `excess` > 0.

    If `excess` is positive anywhere, it increases without bound towards `limit`, as cycles do:
    halving the distance to the limit brackets its zero. It is clipped because the search
    interpolates.
    """
    from scipy.optimize import brentq

    def clipped(gap: float) -> float:
        return min(excess(limit * (1 - gap)), 1.0)

    wide = 1 - rate / limit
    while wide > 1e-12:
        narrow = wide / 2
        if clipped(narrow) >= 0:
            start = limit * (1 - float(brentq(clipped, narrow, wide, xtol=1e-15, rtol=1e-12)))
            return f"it holds from an arrival rate of {start * (1 + 1e-5):.6g} on at this mix"
        wide = narrow
    return "it holds at no arrival rate at this mix"


def check_finite(what: str, times: list[float]) -> None:
    """Check that the results are finite.

    Raises:
        ModelError: a result is too large for a float.
    """
    if not all(math.isfinite(time) for time in times):
        raise too_long(what)


def too_long(what: str) -> ModelError:
    """Return the error for visits that are too long to compute."""
    return ModelError(
        f"{what} leads to visits of more than 1e150 seconds, too long to compute: raise the "
        "threshold or lower the arrival rate.",
        argument="threshold",
        allowed="visits of at most 1e150 seconds",
    )
