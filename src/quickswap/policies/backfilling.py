"""Policies that look at estimated sizes: whoever does not fit is promised servers in the future.

A job that outlives its estimate is not interrupted: it is then taken to end now, at any moment. In
a simulation the estimates are the sizes; a replay takes them from the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from quickswap.model.system import System
from quickswap.policies.base import Policy


@final
@dataclass(frozen=True, slots=True)
class EASY(Policy):
    """Start a younger job only if the oldest waiting one is not delayed by it, as estimated.

    The oldest waiting job starts as soon as it fits. While it does not, its shadow is the first
    time at which enough servers are free for it, if all jobs in service end as estimated; extra is
    what is free then beyond its need. The oldest job starts that fits now and either is estimated
    to end no later than the shadow, or needs no more than the extra servers.

    In `simulate` the estimates are exact: the size of a job is known when it arrives.

    Source: Lifka, "The ANL/IBM SP scheduling system", JSSPP (1995); Mu'alem, Feitelson,
    "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2
    with backfilling", IEEE Trans. Parallel Distrib. Syst. 12 (2001).
    """

    name: ClassVar[str] = "easy"
    title: ClassVar[str] = "EASY"
    estimates: ClassVar[bool] = True

    def _parameters(self, system: System) -> dict[str, object]:
        return {}


@final
@dataclass(frozen=True, slots=True)
class Conservative(Policy):
    """Give each job a reservation when it arrives, and start it when that comes.

    The reservation is the earliest time from which on enough servers are free for as long as the
    job is estimated to take, beside the jobs in service (until their estimated ends) and all
    earlier reservations. When a job ends before its estimate, each waiting job, oldest first, gives
    its reservation back and takes the earliest one, which is never later. A reservation that cannot
    be kept, as a job in service has outlived its estimate, is missed: at the next event all are
    given anew, oldest first.

    No job starts after its first reservation if no job outlives its estimate. In `simulate` the
    estimates are exact: the size of a job is known when it arrives.

    Source: Mu'alem, Feitelson, "Utilization, predictability, workloads, and user runtime estimates
    in scheduling the IBM SP2 with backfilling", IEEE Trans. Parallel Distrib. Syst. 12 (2001).
    """

    name: ClassVar[str] = "conservative"
    title: ClassVar[str] = "Conservative"
    estimates: ClassVar[bool] = True

    def _parameters(self, system: System) -> dict[str, object]:
        return {}
