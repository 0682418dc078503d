"""The arrival rates at which a policy is stable, as far as they are known without simulation.

"The paper" is Chen, Anggraito, Olliaro, Marin, Ajmone Marsan, Berg, Grosof, "Improving
Nonpreemptive Multiserver Job Scheduling with Quickswap".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from quickswap._check import checks_keywords
from quickswap.model.files import as_system
from quickswap.model.system import System
from quickswap.policies import (
    FCFS,
    MSF,
    MSFQ,
    POLICIES,
    AdaptiveQuickswap,
    BalancedSplitting,
    DivisorFilling,
    MaxWeight,
    Policy,
    ServerFilling,
    Smash,
    StaticQuickswap,
    parse,
)
from quickswap.policies.base import not_a_policy
from quickswap.theory.conditions import is_exclusive, markovian, nested, poisson
from quickswap.theory.fcfs import Limit, find_limit, plain_queue
from quickswap.theory.saturation import QUICK
from quickswap.theory.server_filling import divisors_fill, fills

__all__ = ["Stability", "stability"]

Verdict = Literal["stable", "unstable", "unknown"]

PAPER = "the paper, section 'Throughput-optimality of MSFQ', theorem"
SKETCH = "the paper, section 'Throughput-optimality of MSFQ', remark (proof sketch)"
FOSS = "Baccelli, Foss, J. Appl. Prob. 32 (1995)"
MAGULURI = "Maguluri, Srikant, Ying, INFOCOM (2012)"
WCFS = "Grosof, Harchol-Balter, Scheller-Wolf, Queueing Systems 102 (2022)"
KIEFER = "Kiefer, Wolfowitz, Trans. Amer. Math. Soc. 78 (1955)"
NESTED = (
    "the documentation of quickswap, page 'Theory', section 'MSF where needs divide each other'"
)
SRPT = "Grosof, Scully, Harchol-Balter, Scheller-Wolf, Proc. ACM Meas. Anal. Comput. Syst. 6 (2022)"


@dataclass(frozen=True, slots=True)
class Stability:
    """The proven limits of the stability of a policy on a system.

    Rates are total arrivals per second, with the classes in the proportions of the system. Stable
    means positive recurrent: the system empties again and again, in finite mean time.

    Attributes:
        limit: below this rate the policy is stable; None if no such rate is known.
        necessary_limit: at this rate or above the policy is unstable.
        verdict: the conclusion at the arrival rate of the system.
        reason: one sentence.
        source: where the proof is.
        simulated: the verdict of a simulation at the arrival rate of the system, which proves
            nothing: "stable", "unstable" or "too short"; None without one.
        evidence: the reason of this verdict, one sentence; empty without one.
    """

    limit: float | None
    necessary_limit: float
    verdict: Verdict
    reason: str
    source: str
    simulated: str | None = None
    evidence: str = ""

    @property
    def exact(self) -> bool:
        """Whether the limit is known exactly, so the verdict is never "unknown"."""
        return self.limit is not None and self.limit >= self.necessary_limit * (1 - 1e-9)


@checks_keywords
def stability(system: System | str | Path, policy: object) -> Stability:
    """Return what is known about the stability of a policy, or its spelling, on a system.

    About a custom policy only the capacity is known; `quickswap.stability` can also simulate it.

    Raises:
        PolicyError: the policy cannot serve this system, or is not a policy.
    """
    system = as_system(system)
    policy = parse(policy) if isinstance(policy, str) else policy
    if not isinstance(policy, Policy) and not callable(getattr(policy, "start", None)):
        raise not_a_policy(policy)
    capacity = system.capacity
    known = _proven(system, policy, capacity) if isinstance(policy, Policy) else None
    if known is None:
        source = "quickswap.model.capacity"
        if system.arrival_rate >= capacity:
            reason = "no policy is stable at the capacity or above."
            return Stability(None, capacity, "unstable", reason, source)
        reason = (
            "no policy is stable at the capacity or above; below it nothing is proven for this one."
        )
        return Stability(None, capacity, "unknown", reason, source)
    ceiling = known.rate if known.exact else capacity
    verdict: Verdict = "stable" if system.arrival_rate < known.rate else "unknown"
    if system.arrival_rate >= ceiling:
        verdict = "unstable"
    return Stability(known.rate, ceiling, verdict, known.reason, known.source)


def _proven(system: System, policy: Policy, capacity: float) -> Limit | None:
    """Return the limit below which a policy is proven stable."""
    policy.resolve(system)
    if policy.costly:  # nothing is proven if busy servers may do no work
        return None
    known = None
    # With several classes these may leave a slot idle while jobs of other classes wait.
    visits = isinstance(policy, StaticQuickswap | BalancedSplitting) and len(system.classes) > 1
    one_slot = 2 * min(system.needs) > system.servers
    if type(policy) in POLICIES and not policy.random and (one_slot or not visits):
        known = plain_queue(system)
    backfills = isinstance(policy, MSFQ | StaticQuickswap | AdaptiveQuickswap) and (
        policy.backfill > 0 or policy.overrun > 0
    )
    if known is None and backfills:
        known = _backfill(system, policy, capacity)
    elif known is None and type(policy) in RULES:
        known = RULES[type(policy)].limit(system, policy, capacity)
    return known


def _fcfs(system: System, policy: Policy, capacity: float) -> Limit | None:
    """The throughput of the saturated system, by formula or by a small chain."""
    del policy, capacity
    return find_limit(system, QUICK)


def _smash(system: System, policy: Policy, capacity: float) -> Limit | None:
    """A window of 1 is FCFS, an infinite window MSF."""
    if isinstance(policy, Smash) and policy.window == 1:
        return _fcfs(system, policy, capacity)
    if isinstance(policy, Smash) and policy.window is None:
        return _msf(system, policy, capacity)
    return None


def _msf(system: System, policy: Policy, capacity: float) -> Limit | None:
    """Stable up to the capacity if needs divide each other and k, by fluid limits.

    While many jobs of a need wait, jobs of that need and larger ones never give up servers, and
    take those of the smaller ones as soon as enough are idle.
    """
    if (same := _one_or_all(system, policy, capacity)) is not None:
        return same
    if not (nested(system) and markovian(system)):
        return None
    reason = (
        "each need divides the next larger one and k, so hardly any server is idle while many "
        "jobs wait."
    )
    return Limit(capacity, reason, NESTED)


def _one_or_all(system: System, policy: Policy, capacity: float) -> Limit | None:
    """MSFQ with any threshold, which includes MSF (l = 0) and Adaptive Quickswap (l = k)."""
    if not (is_exclusive(system) and markovian(system)):
        return None
    reason = (
        f"on one-or-all systems {policy.label} is stable at every rate at which some policy is."
    )
    if not system.one_or_all:
        reason = f"jobs of the larger need run alone, as on one-or-all systems: {policy.label} is "
        reason += "stable at every rate at which some policy is."
    return Limit(capacity, reason, PAPER)


def _backfill(system: System, policy: Policy, capacity: float) -> Limit | None:
    """Return the limit with backfilling on demand on a one-or-all system: that of MSFQ.

    Backfilling there is MSFQ with a lower threshold.

    With u light jobs in service the expected drain is D = H(u) E[S_1], H(u) = 1 + 1/2 + ... + 1/u.
    Let m be the smallest u for which D is at least the horizon of light jobs. While u_1 >= m, light
    jobs are backfilled: they start as before the drain, and none waits while a server is free. Once
    u_1 < m, none starts, and u_1 decreases to 0. This is MSFQ(min(l, m - 1)). If m is k or more, no
    light job is backfilled, as k light jobs in service leave no server free.

    Under the other drains light jobs are backfilled only if a heavy job waits, which is MSFQ with
    no threshold. On other systems nothing is proven: jobs of other classes are backfilled too.
    """
    if getattr(policy, "drain", "on_demand") in ("always", "exclusive"):
        return None
    return _one_or_all(system, policy, capacity)


def _static(system: System, policy: Policy, capacity: float) -> Limit | None:
    """Stable if sum lambda_i / (c_i mu_i) < 1, which is the capacity if all needs divide k.

    The paper's remark is about drain="exclusive". Its argument also holds for "overlap": while a
    class with a long queue is visited it has all its slots, except for the time in which the class
    before it leaves, which does not grow with the queue.
    """
    if not markovian(system):
        return None
    if (same := _one_or_all(system, policy, capacity)) is not None:
        return same
    shares, slots = system.job_shares, [system.servers // need for need in system.needs]
    rows = zip(shares, system.classes, slots, strict=True)
    limit = min(capacity, 1 / math.fsum(share * each.size.mean / c for share, each, c in rows))
    reason = "the sum of rate x mean size / floor(k / need) below 1 is sufficient"
    if all(system.servers % need == 0 for need in system.needs):
        return Limit(capacity, f"{reason}, and necessary as all needs divide k.", SKETCH)
    if policy.resolve(system)["drain"] == "exclusive":
        return Limit(limit, f"{reason}, and necessary as one class is served at a time.", SKETCH)
    reason += "; the policy may be stable at higher rates, as not all needs divide k."
    return Limit(limit, reason, SKETCH, exact=False)


def _balanced(system: System, policy: Policy, capacity: float) -> Limit | None:
    """Stable if lambda_i E[S_i] < s_i for each class; without slots the policy is FCFS.

    The jobs of a class start in order of arrival, each no later than in a queue of their own with
    s_i servers. For order the residual work of the slots, from least to most, at each start: the
    next job starts after the least of it, or earlier on helpers, and then adds no work to a slot.
    The vector is never larger than in the queue of its own (Kiefer and Wolfowitz), and the system
    is empty whenever all these queues are. A class that does not fit on the helpers is such a
    queue.
    """
    slots = policy.slots(system) if isinstance(policy, BalancedSplitting) else []
    if not any(slots):
        return _fcfs(system, policy, capacity)
    if not (all(slots) and poisson(system)):
        return None
    helpers = system.servers - sum(map(math.prod, zip(slots, system.needs, strict=True)))
    rows = zip(slots, system.job_shares, system.classes, strict=True)
    limit, need = min((own / (share * each.size.mean), -each.need) for own, share, each in rows)
    reason = "rate x mean size below the number of slots, for each class, is sufficient"
    if -need > helpers:
        return Limit(limit, f"{reason}, and necessary for this system.", KIEFER)
    return Limit(limit, f"{reason}.", KIEFER, exact=False)


def _server_filling(system: System, policy: Policy, capacity: float) -> Limit | None:
    """If needs divide each other and k, the oldest jobs fill all servers."""
    if not fills(system):
        return None
    reason = "each need divides the next larger one and k, so the oldest jobs fill all servers."
    in_order = not isinstance(policy, ServerFilling) or policy.order == "arrival"
    return Limit(capacity, reason, WCFS if in_order else SRPT)


def _divisor_filling(system: System, policy: Policy, capacity: float) -> Limit | None:
    """If needs divide k, any k jobs include some that fill all servers."""
    del policy
    if not divisors_fill(system):
        return None
    reason = "each need divides k, so any k jobs include some that fill all servers."
    return Limit(capacity, reason, WCFS)


def _max_weight(system: System, policy: Policy, capacity: float) -> Limit | None:
    """The Lyapunov function sum N_i^2 / (2 mu_i) has negative drift while many jobs are present.

    The drift is a constant plus sum N_i (lambda_i / mu_i - v_i), and MaxWeight chooses the feasible
    v that minimises it; the restriction v_i <= N_i changes it by at most a constant. Below the
    capacity a mix of feasible v exceeds lambda_i / mu_i in every class.
    """
    del policy
    if not markovian(system):
        return None
    reason = "serving the largest weight is stable at every rate at which some policy is."
    return Limit(capacity, reason, MAGULURI)


@dataclass(frozen=True, slots=True)
class Rule:
    """The known results for a policy, in addition to those for plain queues.

    Attributes:
        limit: returns the limit on a system, None where it is not known.
        stable: where the policy is stable, in words.
        source: where the proof is.
    """

    limit: Callable[[System, Policy, float], Limit | None]
    stable: str
    source: str


ONE_OR_ALL = (
    "up to the capacity, for exponential sizes and two needs of which the larger runs alone, as on "
    "one-or-all systems"
)
RULES: dict[type[Policy], Rule] = {
    FCFS: Rule(
        _fcfs,
        "below the throughput of the saturated system, which is known for exponential sizes if all "
        "have one distribution, on one-or-all systems, and on small systems",
        FOSS,
    ),
    Smash: Rule(_smash, "window=1 as fcfs, window=inf as msf", f"{FOSS}; {PAPER}"),
    MSF: Rule(
        _msf,
        f"{ONE_OR_ALL}, or where each need divides the next larger one and k",
        f"{PAPER}; {NESTED}",
    ),
    MSFQ: Rule(_one_or_all, ONE_OR_ALL, PAPER),
    StaticQuickswap: Rule(
        _static,
        "if the sum of rate x mean size / floor(k / need) is below 1, for exponential sizes",
        SKETCH,
    ),
    AdaptiveQuickswap: Rule(_one_or_all, ONE_OR_ALL, PAPER),
    BalancedSplitting: Rule(
        _balanced,
        "if rate x mean size is below the number of slots for each class; without slots as fcfs",
        f"{KIEFER}; {FOSS}",
    ),
    ServerFilling: Rule(
        _server_filling,
        "up to the capacity, if each need divides the next larger one and k",
        f"{WCFS}; other orders: {SRPT}",
    ),
    DivisorFilling: Rule(_divisor_filling, "up to the capacity, if each need divides k", WCFS),
    MaxWeight: Rule(_max_weight, "up to the capacity, for exponential sizes", MAGULURI),
}
"""The known results for each policy; for the others none are known but for plain queues.

For policies with clocks (`random`) no result is known even on a plain queue, as they leave servers
idle. Both come close to the capacity: nMSR with a long cycle, and Randomized Timers
if the weight given to the longest queue in other classes (1e-4 here) is small compared with the
distance to the capacity.
"""

PLAIN_QUEUE = (
    "If all needs are equal, or no two jobs fit together, every policy without clocks is stable up "
    "to the capacity (with several classes Static Quickswap and Balanced Splitting only in the "
    "second case). All other results require Poisson arrivals."
)
"""What is proven about all policies of the core."""
