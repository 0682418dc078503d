"""Backfilling policies, which reserve servers in the future for jobs that do not fit now.

They use estimated sizes. A job that exceeds its estimate is not interrupted; from then on its
estimated end is the present time. In a simulation the estimates are exact; in a replay they are
those of the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from quickswap.policies.base import Policy


@final
@dataclass(frozen=True, slots=True)
class EASY(Policy):
    """Start a younger job only if, by the estimates, this does not delay the oldest waiting job.

    The oldest waiting job starts as soon as it fits. While it does not fit, its shadow time is the
    first time at which enough servers are free for it, if all jobs in service end as estimated; the
    extra servers are those free then beyond its need. A younger job that fits starts, oldest first,
    if its estimated end is at most the shadow time or it needs at most the extra servers.

    In `simulate` the estimates are exact: the size of a job is known when it arrives.

    Source: Lifka, "The ANL/IBM SP scheduling system", JSSPP (1995); Mu'alem, Feitelson,
    "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2
    with backfilling", IEEE Trans. Parallel Distrib. Syst. 12 (2001).
    """

    name: ClassVar[str] = "easy"
    title: ClassVar[str] = "EASY"
    estimates: ClassVar[bool] = True
    individual: ClassVar[bool] = True


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
    estimates are exact: the size of a job is known when it arrives.

    Source: Mu'alem, Feitelson, "Utilization, predictability, workloads, and user runtime estimates
    in scheduling the IBM SP2 with backfilling", IEEE Trans. Parallel Distrib. Syst. 12 (2001).
    """

    name: ClassVar[str] = "conservative"
    title: ClassVar[str] = "Conservative"
    estimates: ClassVar[bool] = True
    individual: ClassVar[bool] = True
