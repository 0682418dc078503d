"""Preemptive policies: after every event they choose anew which jobs run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from quickswap._words import counted
from quickswap.errors import PolicyError
from quickswap.model.system import System
from quickswap.policies.base import Policy, choice


@final
@dataclass(frozen=True, slots=True)
class ServerFilling(Policy):
    """Run the largest of the first jobs that fill the servers.

    After each event take the shortest prefix of all unfinished jobs, running or not, whose needs
    add up to at least k (all of them if they do not); serve it by descending need, as long as each
    fits. An interrupted job resumes where it was, at no cost.

    - `order="arrival"`: jobs are ordered by arrival; among equal needs the older goes first.
    - `order="srpt"`, ServerFilling-SRPT: jobs are ordered by need times remaining size, which the
      policy must know; among equal needs the job with less remaining size goes first.

    Source: Grosof, Harchol-Balter, Scheller-Wolf, "WCFS: a new framework for analyzing multiserver
    systems", Queueing Systems 102 (2022); for "srpt" Grosof, Scully, Harchol-Balter,
    Scheller-Wolf, "Optimal scheduling in the multiserver-job model under heavy traffic", Proc. ACM
    Meas. Anal. Comput. Syst. 6 (2022).
    """

    name: ClassVar[str] = "server-filling"
    title: ClassVar[str] = "ServerFilling"
    preemptive: ClassVar[bool] = True
    orders: ClassVar[tuple[str, ...]] = ("arrival", "srpt")

    order: str = "arrival"

    def __post_init__(self) -> None:
        choice(self.order, "order of ServerFilling", self.orders)

    def _parameters(self, system: System) -> dict[str, object]:
        return {"order": self.order}

    def _details(self) -> list[str]:
        return [] if self.order == "arrival" else [self.order]


@final
@dataclass(frozen=True, slots=True)
class DivisorFilling(Policy):
    """Run jobs among the k oldest that fill all servers; for needs that divide k.

    After each event take the k oldest unfinished jobs, running or not (all of them if there are
    fewer). Any k numbers that divide k have a subset that adds up to k: serve such a subset, and of
    fewer jobs one that adds up to as much as possible within k. Of several such subsets take the
    one with the most jobs of the largest need, then of the next, and so on; of each need the
    oldest. An interrupted job resumes where it was, at no cost.

    Source: Grosof, Harchol-Balter, Scheller-Wolf, "WCFS: a new framework for analyzing multiserver
    systems", Queueing Systems 102 (2022), which leaves the choice of the subset open.
    """

    name: ClassVar[str] = "divisor-filling"
    title: ClassVar[str] = "DivisorFilling"
    preemptive: ClassVar[bool] = True

    def _parameters(self, system: System) -> dict[str, object]:
        allowed = f"divide the {counted(system.servers, 'server')}"
        for name, need in zip(system.names, system.needs, strict=True):
            if system.servers % need:
                raise PolicyError(
                    f"DivisorFilling requires needs that {allowed}; class {name!r} needs {need}: "
                    "use ServerFilling.",
                    argument="system",
                    given=need,
                    allowed=f"needs that {allowed}",
                    advice="use ServerFilling",
                )
        return {}


@final
@dataclass(frozen=True, slots=True)
class MaxWeight(Policy):
    """Run the set of jobs of largest weight that fits; a job weighs as much as its class has jobs.

    After each event serve v_i <= N_i jobs of each class i, with sum n_i v_i <= k, such that
    sum N_i v_i is as large as possible: a knapsack. Of several such choices take the one with the
    most jobs of the class of largest need, then of the next, and so on; of classes of equal need
    the earlier in the system goes first. Of each class the oldest jobs run. An interrupted job
    resumes where it was, at no cost.

    The time per event is proportional to the number of classes times k over the greatest common
    divisor of the needs: some hundred microseconds for thousands of servers and twenty classes.

    Source: Maguluri, Srikant, Ying, "Stochastic models of load balancing and scheduling in cloud
    computing clusters", INFOCOM (2012).
    """

    name: ClassVar[str] = "max-weight"
    title: ClassVar[str] = "MaxWeight"
    preemptive: ClassVar[bool] = True
