"""The work in the system: an identity for its mean, a bound for all policies, and the waste.

Let R be the remaining work, the sum of need times remaining size over the jobs present, B the busy
and I = k - B the idle servers of k. R falls at rate B, and an arrival of class i adds n_i S_i. With
Poisson arrivals of rates lambda_i, the expected change of R^2 per second is

    2 R (k rho - B) + sum_i lambda_i n_i^2 E[S_i^2],    k rho = sum_i lambda_i n_i E[S_i].

In a stable system it has mean zero under all policies, so

    E[R] k (1 - rho) = sum_i lambda_i n_i^2 E[S_i^2] / 2 + E[R I].

If sizes are exponential and the policy does not use them, the expected work of the jobs
present, W = sum_i n_i E[S_i] N_i, takes the place of R: E[W] = E[R]. As E[N_i] = lambda_i E[T_i]
(Little's law), E[W] is k rho times the weighted mean response time. For other sizes and a
nonpreemptive policy that does not use them, the jobs that wait are expected to bring n_i E[S_i]
each and those in service hold sum_i lambda_i n_i E[S_i^2] / 2, so E[R] is k rho times the weighted
mean waiting time, plus that.

The term with I, over k^2 rho (1 - rho), is therefore the time that idle servers cost the weighted
mean response time, and what is left without it is a bound for all policies. The proof, and the
conditions under which the expectation is zero, are on the page "Theory" of the documentation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import Policy, parse
from quickswap.theory.conditions import markovian, poisson

__all__ = ["WorkBalance", "blind", "lower_bound", "weighted_mean_size", "work_balance"]


@dataclass(frozen=True, slots=True)
class WorkBalance:
    """The constants of the identity for the mean work, for a system with Poisson arrivals.

    Attributes:
        used: k rho, the servers busy on average.
        spare: k (1 - rho), the servers idle on average.
        squares: sum of lambda_i n_i^2 E[S_i^2], squared server-seconds per second.
    """

    used: float
    spare: float
    squares: float

    @property
    def waste_unit(self) -> float:
        """E[R I] that costs the weighted mean response time one second."""
        return self.used * self.spare


def work_balance(system: System) -> WorkBalance | None:
    """Return the constants of the identity; None where it does not hold.

    It needs Poisson arrivals, sizes of finite variance, and a load below 1.
    """
    squares = math.fsum(
        each.arrival_rate * each.need**2 * each.size.moment(2) for each in system.classes
    )
    if not poisson(system) or not math.isfinite(squares) or system.load >= 1:
        return None
    used = system.servers * system.load
    return WorkBalance(used, system.servers - used, squares)


def blind(system: System, policy: object) -> bool:
    """Whether idle servers cost the weighted mean response time what the identity says.

    The policy must not use sizes, must be nonpreemptive unless sizes are exponential, and its
    interruptions must be free. A custom policy that sees individual jobs sees their sizes.
    """
    if isinstance(policy, Policy):
        free = not policy.preemptive or (markovian(system) and not policy.costly)
        return free and not policy.knows_sizes
    return not getattr(policy, "sees_jobs", False)


def weighted_mean_size(system: System) -> float:
    """Return the mean size, seconds, classes weighted by their share of the load."""
    return math.fsum(
        share * each.size.mean
        for share, each in zip(system.load_shares, system.classes, strict=True)
    )


def lower_bound(system: System | str | Path, policy: object = None) -> float:
    """Return a lower bound on the weighted mean response time, seconds.

    It holds for all policies that do not use sizes, preemptive or not, if arrivals are
    Poisson and sizes exponential; for sizes of finite variance, for all nonpreemptive ones. In all
    other cases it is the weighted mean size, which no policy can beat. Of the two bounds the larger
    counts.

    Args:
        system: a system, the name of a preset, or a model file.
        policy: whose bound it is: a policy, a spelling, or a custom policy. By default a
            nonpreemptive policy that does not use sizes.

    Source: the identity of this module with I >= 0.
    """
    system = as_system(system)
    policy = parse(policy) if isinstance(policy, str) else policy
    sizes = weighted_mean_size(system)
    balance = work_balance(system)
    if balance is None or (policy is not None and not blind(system, policy)):
        return sizes
    # work of the jobs in service, each of which is seen half done on average, weighted by its size
    served = math.fsum(
        each.arrival_rate * each.need * each.size.moment(2) / 2 for each in system.classes
    )
    waiting = (balance.squares / (2 * balance.spare) - served) / balance.used
    return sizes + max(waiting, 0.0)
