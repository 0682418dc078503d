"""Arrival processes without states: Poisson, renewal, batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self, final

from quickswap._check import positive
from quickswap.errors import inside, invalid
from quickswap.model.arrivals.base import Arrivals
from quickswap.model.distributions import Deterministic, Distribution, Empirical


@final
@dataclass(frozen=True, slots=True, init=False)
class Poisson(Arrivals):
    """Poisson arrivals at `rate` per second."""

    process: ClassVar[str] = "poisson"
    keys: ClassVar[tuple[str, ...]] = ("rate",)

    rate: float = field()

    def __init__(self, rate: float) -> None:
        with inside("rate"):
            object.__setattr__(self, "rate", positive(rate, "arrival rate"))

    @property
    def dispersion(self) -> float:
        return 1.0

    def _scaled(self, factor: float) -> Self:
        return type(self)(factor * self.rate)


@final
@dataclass(frozen=True, slots=True)
class Renewal(Arrivals):
    """Independent times between arrivals with the distribution `interarrival`, in seconds.

    `scaled` compresses time: the same distribution, each time divided by the factor. Times of
    length zero (an `Empirical` distribution with a 0) make jobs arrive together.
    """

    process: ClassVar[str] = "renewal"
    keys: ClassVar[tuple[str, ...]] = ("interarrival",)

    interarrival: Distribution

    def __post_init__(self) -> None:
        if not isinstance(self.interarrival, Distribution):
            allowed = "a distribution such as Gamma(mean=1.0, scv=4.0)"
            raise invalid("interarrival", self.interarrival, allowed)

    @property
    def rate(self) -> float:
        return 1 / self.interarrival.mean

    @property
    def dispersion(self) -> float:
        return self.interarrival.scv

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.interarrival.scaled(1 / factor))


@final
@dataclass(frozen=True, slots=True)
class BatchArrivals(Arrivals):
    """Several jobs arrive at once: `batches` is the process of their times, `jobs` their number.

    `jobs` is a distribution of whole numbers from 1: `Deterministic`, or `Empirical`. `scaled`
    multiplies the rate of batches and keeps their sizes.
    """

    process: ClassVar[str] = "batch"
    keys: ClassVar[tuple[str, ...]] = ("batches", "jobs")

    batches: Arrivals
    jobs: Distribution

    def __post_init__(self) -> None:
        with inside("batches"):
            if not isinstance(self.batches, Arrivals):
                raise invalid("batches", self.batches, "a process such as Poisson(1.0)")
        with inside("jobs"):
            jobs = self.jobs
            if isinstance(jobs, Deterministic | Empirical):
                counts = jobs.values if isinstance(jobs, Empirical) else (jobs.value,)
                wrong = next((each for each in counts if each < 1 or each % 1), None)
                if wrong is None:
                    return
                raise invalid("number of jobs of a batch", wrong, "a whole number of at least 1")
            allowed = "Deterministic or Empirical, with whole numbers"
            raise invalid("distribution of the jobs of a batch", jobs, allowed)

    @property
    def rate(self) -> float:
        return self.batches.rate * self.jobs.mean

    @property
    def dispersion(self) -> float:
        # the variance of a sum of a random number of terms
        mean = self.jobs.mean
        return self.jobs.var / mean + self.batches.dispersion * mean

    @property
    def cycle(self) -> float:
        return self.batches.cycle

    def _scaled(self, factor: float) -> Self:
        return type(self)(self.batches.scaled(factor), self.jobs)
