"""Results on classical queues, on which the others are built and against which they are tested.

Arrivals are Poisson; rates are per second, times in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quickswap._check import positive, whole
from quickswap.errors import ModelError, invalid
from quickswap.model.distributions import Distribution
from quickswap.model.system import MOST_SERVERS
from quickswap.theory.conditions import check_load

__all__ = ["Queue", "mg1", "mg1_exceptional_first", "mmk", "polling_waiting_work"]


@dataclass(frozen=True, slots=True)
class Queue:
    """Means of a queue with service in order of arrival.

    Attributes:
        arrival_rate: jobs per second.
        waiting_probability: share of the jobs that do not start immediately.
        mean_waiting_time: from arrival to start, in seconds; infinite if the sizes' variance is.
        mean_response_time: from arrival to completion, in seconds.
    """

    arrival_rate: float
    waiting_probability: float
    mean_waiting_time: float
    mean_response_time: float

    @property
    def number_in_system(self) -> float:
        """Mean number of jobs waiting or in service: Little's law."""
        return self.arrival_rate * self.mean_response_time


def mmk(servers: int, arrival_rate: float, mean_size: float) -> Queue:
    """Return the means of M/M/k, with the probability of waiting by Erlang's formula C.

    Args:
        servers: k, from 1 to 2^24.
        arrival_rate: jobs per second.
        mean_size: of exponential sizes, in seconds.

    Raises:
        ModelError: a value out of range.
        UnstableError: a load of 1 or more.
    """
    what = "M/M/k"
    k = whole(servers, f"servers of {what}", 1, MOST_SERVERS)
    rate = positive(arrival_rate, f"arrival rate of {what}")
    mean = positive(mean_size, f"mean size of {what}")
    load = rate * mean / k
    check_load(load, rate, what)
    # Erlang's C from Erlang's B: C = B / (1 - load (1 - B))
    waits = 1 / (_inverse_erlang_b(k, rate * mean) * (1 - load) + load)
    waiting = waits * mean / (k * (1 - load))
    return Queue(rate, waits, waiting, waiting + mean)


def _inverse_erlang_b(servers: int, offered: float) -> float:
    """Return 1 / B for Erlang's B: the sum over j of k (k - 1) ... (k - j + 1) / a^j.

    All terms are positive, so nothing cancels for any number of servers k and offered load a.
    The result is infinite if B is below the smallest float.
    """
    import numpy as np

    factors = np.arange(servers, 0, -1) / offered
    with np.errstate(over="ignore", under="ignore"):
        return 1.0 + float(factors.cumprod().sum())


def mg1(arrival_rate: float, size: Distribution) -> Queue:
    """Return the means of M/G/1 by the formula of Pollaczek and Khinchine.

    Args:
        arrival_rate: jobs per second.
        size: distribution of the sizes.

    Raises:
        ModelError: a value out of range.
        UnstableError: a load of 1 or more.
    """
    rate = positive(arrival_rate, "arrival rate of M/G/1")
    _check_distribution(size, "size of M/G/1")
    load = rate * size.mean
    check_load(load, rate, "M/G/1")
    waiting = rate * size.second_moment / (2 * (1 - load))  # lambda E[S^2] / (2 (1 - rho))
    return Queue(rate, load, waiting, waiting + size.mean)


def mg1_exceptional_first(arrival_rate: float, size: Distribution, first: Distribution) -> Queue:
    """Return the means of M/G/1 where a job that arrives at an empty system has another size.

    With S' the size of the first job of a busy period, P(wait) = lambda E[S'] / (1 - rho + lambda
    E[S']) and E[W] = P(wait) lambda E[S^2] / (2 (1 - rho)) + lambda E[S'^2] / (2 (1 - rho + lambda
    E[S'])).

    Args:
        arrival_rate: jobs per second.
        size: distribution of the sizes of jobs that wait.
        first: distribution of the sizes of jobs that do not wait, the first of each busy period.

    Raises:
        ModelError: a value out of range.
        UnstableError: arrival rate times mean of `size` is 1 or more.

    Source: Welch, "On a generalized M/G/1 queuing process in which the first customer of each busy
    period receives exceptional service", Operations Research 12 (1964); the paper on Quickswap,
    remark remark:ex-first.
    """
    what = "M/G/1 with exceptional first service"
    rate = positive(arrival_rate, f"arrival rate of {what}")
    _check_distribution(size, f"size of {what}")
    _check_distribution(first, f"first size of {what}")
    load = rate * size.mean
    check_load(load, rate, what)
    busy = 1 - load + rate * first.mean  # (1 - load) / busy is the share of time without jobs
    waits = rate * first.mean / busy
    waiting = waits * rate * size.second_moment / (2 * (1 - load))
    waiting += rate * first.second_moment / (2 * busy)
    return Queue(rate, waits, waiting, waiting + waits * size.mean + (1 - waits) * first.mean)


def _check_distribution(distribution: object, what: str) -> None:
    if not isinstance(distribution, Distribution):
        allowed = "a distribution such as quickswap.Exponential(mean=1.0)"
        raise invalid(what, distribution, allowed)


def polling_waiting_work(
    arrival_rates: Sequence[float],
    sizes: Sequence[Distribution],
    switchovers: Sequence[Distribution] = (),
) -> float:
    """Return the sum over queues of rho_i E[W_i], in seconds, for cyclic exhaustive polling.

    One server visits the queues in cyclic order, leaves each when it is empty, and takes
    independent switchover times between queues, also if no job waits. W_i is the waiting time
    in queue i, rho_i its load. With R the switchover time of a cycle, the sum is

        rho sum lambda_i E[S_i^2] / (2 (1 - rho)) + rho E[R^2] / (2 E[R])
        + E[R] (rho^2 - sum rho_i^2) / (2 (1 - rho)).

    Without switchover times only the first term remains, and it holds for every order of service
    that neither idles while a job waits nor interrupts a job.

    Args:
        arrival_rates: jobs per second of each queue.
        sizes: distribution of the sizes of each queue.
        switchovers: distributions of the switchover times of a cycle; empty if they are zero.

    Raises:
        ModelError: values out of range, or not as many sizes as arrival rates.
        UnstableError: a load of 1 or more.

    Source: Boxma, Groenendijk, "Pseudo-conservation laws in cyclic-service systems", Journal of
    Applied Probability 24 (1987).
    """
    what = "polling"
    if not isinstance(arrival_rates, Sequence) or isinstance(arrival_rates, str):
        raise invalid("arrival_rates", arrival_rates, "a list of numbers")
    rates = [positive(rate, f"an arrival rate of {what}") for rate in arrival_rates]
    for distributions, name in ((sizes, "sizes"), (switchovers, "switchovers")):
        if isinstance(distributions, str) or not isinstance(distributions, Sequence):
            raise invalid(name, distributions, "a list of distributions")
        for distribution in distributions:
            _check_distribution(distribution, f"an item of {name} of {what}")
    if not rates or len(rates) != len(sizes):
        raise ModelError(
            f"{what} requires one size distribution for each arrival rate, and at least one of "
            f"both; there are {len(sizes)} distributions and {len(rates)} rates.",
            argument="sizes",
            given=sizes,
            allowed="one for each arrival rate, and at least one",
        )
    loads = [rate * size.mean for rate, size in zip(rates, sizes, strict=True)]
    load = math.fsum(loads)
    check_load(load, math.fsum(rates), what)
    second = math.fsum(rate * size.second_moment for rate, size in zip(rates, sizes, strict=True))
    result = load * second / (2 * (1 - load))
    total = math.fsum(each.mean for each in switchovers)
    if total > 0:
        square = math.fsum(each.var for each in switchovers) + total * total
        others = math.fsum(own * (load - own) for own in loads)  # rho^2 - sum rho_i^2
        result += load * square / (2 * total) + total * others / (2 * (1 - load))
    return result
