"""Backfilling policies, which reserve servers in the future for jobs that do not fit now.

They use estimated sizes. A job that exceeds its estimate is not interrupted; from then on its
estimated end is the present time. In a simulation the estimates are exact, unless the classes have
a distribution of the ratio of estimate to size; in a replay they are those of the log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

from quickswap._check import number, real
from quickswap.errors import PolicyError, invalid
from quickswap.model.system import System
from quickswap.policies.base import Policy, choice

LEAST = 3600.0
"""Estimates below this value, in seconds, count as this value for the patience of a job."""


@final
@dataclass(frozen=True, slots=True)
class EASY(Policy):
    """Start a younger job only if, by the estimates, this does not delay the oldest waiting job.

    The oldest waiting job starts as soon as it fits. While it does not fit, its shadow time is the
    first time at which enough servers are free for it, if all jobs in service end as estimated; the
    extra servers are those free then beyond its need. A younger job that fits starts, oldest first,
    if its estimated end is at most the shadow time or it needs at most the extra servers.

    With patience, only a job that has waited long enough is due, and the oldest due job has the
    reservation. Due jobs that fit start first, in order of arrival. While no job is due, every job
    that fits may start. The policy also decides at the times at which jobs become due.

    Args:
        patience: a job is due once it has waited for this multiple of its estimate. With 0 every
            job is due on its arrival; with `inf` no job ever is.
        least: smaller estimates count as this value for the patience, in seconds.
        age: or, instead of `patience`, a job is due once it has waited for this time, in seconds.
        order: in which jobs start before the one with the reservation, or while no job is due:
            "oldest", "shortest" (smallest estimate first), "area" (smallest product of estimate and
            need), "largest" (largest need), "expansion" (largest ratio of wait to estimate, which
            is the order of the expansion factor) or "wfp3" (largest product of need and the third
            power of that ratio); of equals the oldest.
        reservation: which job has the reservation: "oldest", or "first", the first in `order`,
            which then applies to all jobs. The latter takes neither patience nor age.

    The defaults are EASY as published. With `patience=inf` and order "oldest" it is `FirstFit`.

    In `simulate` the estimates are exact, unless the classes have an `estimate`.

    Source: Lifka, "The ANL/IBM SP scheduling system", JSSPP (1995); Mu'alem, Feitelson,
    "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2
    with backfilling", IEEE Trans. Parallel Distrib. Syst. 12 (2001). WFP3 is from Tang, Lan,
    Desai, Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems", CLUSTER
    (2009). Patience is from quickswap.
    """

    name: ClassVar[str] = "easy"
    title: ClassVar[str] = "EASY"
    estimates: ClassVar[bool] = True
    individual: ClassVar[bool] = True
    orders: ClassVar[tuple[str, ...]] = (
        *("oldest", "shortest", "area", "largest"),
        *("expansion", "wfp3"),
    )

    patience: float = 0.0
    least: float = LEAST
    age: float | None = None
    order: str = "oldest"
    reservation: str = "oldest"

    def __post_init__(self) -> None:
        patience = _up_to_infinity(self.patience, "patience of EASY", "multiples of the estimate")
        least = number(self.least, "least of EASY", 0.0, PolicyError)
        choice(self.order, "order of EASY", self.orders)
        choice(self.reservation, "reservation of EASY", ("oldest", "first"))
        if self.age is not None:
            age = _up_to_infinity(self.age, "age of EASY", "seconds")
            object.__setattr__(self, "age", age)
            if patience:
                raise PolicyError(
                    "EASY takes patience or age, not both: patience is a multiple of the estimate, "
                    "age a number of seconds.",
                    argument="age of EASY",
                    given=age,
                    allowed="not given if patience is",
                )
        if self.reservation == "first" and (patience or self.age is not None):
            raise PolicyError(
                "EASY with a reservation for the first job takes neither patience nor age.",
                argument="reservation of EASY",
                given=self.reservation,
                allowed="oldest with patience or age",
            )
        if least != LEAST and not patience:
            raise PolicyError(
                "least of EASY requires patience",
                argument="least of EASY",
                given=least,
                advice="give patience too",
            )
        object.__setattr__(self, "patience", patience)
        object.__setattr__(self, "least", least)

    def _parameters(self, system: System) -> dict[str, object]:
        least, factor = self.patience * self.least if self.patience else 0.0, self.patience
        if self.age is not None:
            least, factor = self.age, 0.0
        if self.order == "oldest" and not (least or factor):
            return {}
        never = math.inf in (least, factor)
        return {
            "patience": {
                "order": self.order,
                "reservation": self.reservation,
                "least": None if never else least,
                "factor": 0.0 if never else factor,
            }
        }

    def _details(self) -> list[str]:
        words = [f"patience {self.patience:.12g}"] if self.patience else []
        words += [f"least {self.least:.12g} s"] if self.least != LEAST else []
        words += [f"age {self.age:.12g} s"] if self.age is not None else []
        words += [self.order] if self.order != "oldest" else []
        return words + (["first reserved"] if self.reservation == "first" else [])


def _up_to_infinity(given: object, what: str, unit: str) -> float:
    """Return a number of at least 0, which may be infinite."""
    value = real(given)
    if value is None or not value >= 0:
        raise invalid(what, given, f"a number of {unit} of at least 0, or inf", PolicyError)
    return value


@final
@dataclass(frozen=True, slots=True)
class Conservative(Policy):
    """Give each job a reservation when it arrives, and start it at that time.

    The reservation is the earliest time from which enough servers are free for the estimated size
    of the job, given the jobs in service (until their estimated ends) and all earlier reservations.
    When a job ends before its estimate, each waiting job, oldest first, exchanges its reservation
    for the earliest one, which is never later. If a job in service exceeds its estimate and a
    reservation cannot be kept, all reservations are made again at the next event, oldest job first.

    No job starts after its first reservation if no job exceeds its estimate. In `simulate` the
    estimates are exact, unless the classes have an `estimate`.

    Source: Mu'alem, Feitelson, "Utilization, predictability, workloads, and user runtime estimates
    in scheduling the IBM SP2 with backfilling", IEEE Trans. Parallel Distrib. Syst. 12 (2001).
    """

    name: ClassVar[str] = "conservative"
    title: ClassVar[str] = "Conservative"
    estimates: ClassVar[bool] = True
    individual: ClassVar[bool] = True
