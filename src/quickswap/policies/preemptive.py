"""Preemptive policies: after every event they select again which jobs to serve.

By default interruptions are free: exactly the selected jobs are in service, and an interrupted job
resumes without loss. All policies take three parameters that make them cost something:

- `overhead`: a job that resumes holds its servers for this time, in seconds, before it makes
  progress. If it is interrupted in this time, it pays the whole overhead again.
- `minimum`: a job that has started or resumed cannot be interrupted for this time, in seconds.
- `restart`: an interrupted job loses its progress and starts again from nothing.

If one of them is given, a job is interrupted only if selected jobs need its servers. Jobs in
service that are selected, or have not reached the minimum, run on. The other selected jobs start
in descending order of need, of equal needs the older first, as long as each fits into the other
servers. Jobs in service that are neither run on if they still fit; the youngest are interrupted
first. The policy also decides at the first time at which a selected job that does not fit would
fit because jobs reach the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from quickswap._check import flag, number
from quickswap._words import counted
from quickswap.errors import PolicyError
from quickswap.model.system import System
from quickswap.policies.base import Policy, choice


@final
@dataclass(frozen=True, slots=True)
class ServerFilling(Policy):
    """Among the first jobs that fill the servers, serve those with the largest needs.

    After each event, order all unfinished jobs, running or not, and take the shortest prefix whose
    needs add up to at least k (all jobs if their needs add up to less). Serve the prefix in
    descending order of need, as long as each job fits.

    - `order="arrival"`: jobs are ordered by arrival; of equal needs, the older is served first.
    - `order="srpt"`, ServerFilling-SRPT: jobs are ordered by need times remaining size, which the
      policy uses; of equal needs, the job with the smaller remaining size is served first.
    - `order="gittins"`, ServerFilling-Gittins: the same with the Gittins rank instead of the
      remaining size. It follows from the size distribution of the class and the service that the
      job has received (`quickswap.policies.gittins`). The policy also decides when the rank of a
      job in service rises; ranks rise in steps of at least 3 %.

    `overhead`, `minimum` and `restart` are the costs of interruptions, by default none: see
    `quickswap.policies.preemptive`.

    Source: Grosof, Harchol-Balter, Scheller-Wolf, "WCFS: a new framework for analyzing multiserver
    systems", Queueing Systems 102 (2022); for "srpt" and "gittins" Grosof, Scully, Harchol-Balter,
    Scheller-Wolf, "Optimal scheduling in the multiserver-job model under heavy traffic", Proc. ACM
    Meas. Anal. Comput. Syst. 6 (2022).
    """

    name: ClassVar[str] = "server-filling"
    title: ClassVar[str] = "ServerFilling"
    preemptive: ClassVar[bool] = True
    orders: ClassVar[tuple[str, ...]] = ("arrival", "srpt", "gittins")

    order: str = "arrival"
    overhead: float = 0.0
    minimum: float = 0.0
    restart: bool = False

    def __post_init__(self) -> None:
        choice(self.order, "order of ServerFilling", self.orders)
        _check_costs(self)

    @property
    def knows_sizes(self) -> bool:
        """Whether jobs are ordered by their remaining size."""
        return self.order == "srpt"

    def _parameters(self, system: System) -> dict[str, object]:
        parameters: dict[str, object] = {"order": self.order, **_costs(self)}
        if self.order == "gittins":
            from quickswap.policies.gittins import ranks

            parameters["ranks"] = [ranks(each.size) for each in system.classes]
        return parameters

    def _details(self) -> list[str]:
        return ([] if self.order == "arrival" else [self.order]) + _costs_in_words(self)


@final
@dataclass(frozen=True, slots=True)
class DivisorFilling(Policy):
    """Serve jobs among the k oldest that fill all servers; for needs that divide k.

    After each event, take the k oldest unfinished jobs, running or not (all jobs if there are
    fewer). Any k numbers that divide k have a subset that adds up to k, and such a subset is
    served. If there are fewer jobs, the subset with the largest sum up to k is served. If there are
    several such subsets, take the one with the most jobs of the largest need, then of the next, and
    so on, and the oldest jobs of each need.

    `overhead`, `minimum` and `restart` are the costs of interruptions, by default none: see
    `quickswap.policies.preemptive`.

    Source: Grosof, Harchol-Balter, Scheller-Wolf, "WCFS: a new framework for analyzing multiserver
    systems", Queueing Systems 102 (2022), which leaves the choice of the subset open.
    """

    name: ClassVar[str] = "divisor-filling"
    title: ClassVar[str] = "DivisorFilling"
    preemptive: ClassVar[bool] = True

    overhead: float = 0.0
    minimum: float = 0.0
    restart: bool = False

    def __post_init__(self) -> None:
        _check_costs(self)

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
        return _costs(self)

    def _details(self) -> list[str]:
        return _costs_in_words(self)


@final
@dataclass(frozen=True, slots=True)
class MaxWeight(Policy):
    """Serve the set of jobs of largest weight; the weight of a job is the number of its class.

    After each event, serve v_i <= N_i jobs of each class i, with sum n_i v_i <= k, such that
    sum N_i v_i is as large as possible (a knapsack problem). If there are several such choices,
    take the one with the most jobs of the class of largest need, then of the next, and so on;
    classes of equal need are in the order of the system. The oldest jobs of each class are served.

    The time per event is proportional to the number of classes times k over the greatest common
    divisor of the needs: some hundred microseconds for thousands of servers and twenty classes.

    `overhead`, `minimum` and `restart` are the costs of interruptions, by default none: see
    `quickswap.policies.preemptive`.

    Source: Maguluri, Srikant, Ying, "Stochastic models of load balancing and scheduling in cloud
    computing clusters", INFOCOM (2012).
    """

    name: ClassVar[str] = "max-weight"
    title: ClassVar[str] = "MaxWeight"
    preemptive: ClassVar[bool] = True

    overhead: float = 0.0
    minimum: float = 0.0
    restart: bool = False

    def __post_init__(self) -> None:
        _check_costs(self)

    def _parameters(self, system: System) -> dict[str, object]:
        return _costs(self)

    def _details(self) -> list[str]:
        return _costs_in_words(self)


Preemptive = ServerFilling | DivisorFilling | MaxWeight


def _check_costs(policy: Preemptive) -> None:
    for name in ("overhead", "minimum"):
        seconds = number(getattr(policy, name), f"{name} of {policy.title}", 0.0, PolicyError)
        object.__setattr__(policy, name, seconds)
    restart = flag(policy.restart, f"restart of {policy.title}", PolicyError)
    object.__setattr__(policy, "restart", restart)


def _costs(policy: Preemptive) -> dict[str, object]:
    """Return the parameter of the core; empty if interruptions are free."""
    if not policy.costly:
        return {}
    names = ("overhead", "minimum", "restart")
    return {"interruptions": {name: getattr(policy, name) for name in names}}


def _costs_in_words(policy: Preemptive) -> list[str]:
    words = [f"overhead {policy.overhead:.12g} s"] if policy.overhead else []
    words += [f"minimum {policy.minimum:.12g} s"] if policy.minimum else []
    return words + (["restart"] if policy.restart else [])
