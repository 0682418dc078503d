"""Mean and variance of random times and counts, and of sums of a random number of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Moments", "busy_period"]


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and variance of a random time, in seconds and seconds squared, or of a random count.

    Attributes:
        mean: E[X].
        variance: Var X.
    """

    mean: float
    variance: float = 0.0

    @property
    def second(self) -> float:
        """E[X^2]."""
        return self.variance + self.mean * self.mean

    def __add__(self, other: Moments) -> Moments:
        """Add an independent variable."""
        return Moments(self.mean + other.mean, self.variance + other.variance)

    def arrivals(self, rate: float) -> Moments:
        """Return the number of Poisson arrivals during this random time X, at `rate` per second.

        Given X it has mean and variance rate X: its variance is rate E[X] + rate^2 Var X.
        """
        return Moments(rate * self.mean, rate * self.mean + rate * rate * self.variance)

    def copies(self, each: Moments) -> Moments:
        """Return the sum of N independent variables like `each`, where N is this random number.

        Given N the sum has mean N E[X] and variance N Var X: its variance is
        E[N] Var X + Var N E[X]^2.
        """
        return Moments(
            self.mean * each.mean,
            self.mean * each.variance + self.variance * each.mean * each.mean,
        )


def busy_period(arrival: float, service: float) -> Moments:
    """Return the busy period of an M/M/1 queue with these rates per second, `arrival < service`.

    The mean is b = 1 / (service - arrival), the variance (service + arrival) b^3.

    Source: the paper, remark "Busy Periods", differentiated.
    """
    mean = 1 / (service - arrival)
    return Moments(mean, (service + arrival) * mean * mean * mean)
