"""How much load a policy can carry, as far as that is known without simulation.

"The paper" is Chen, Anggraito, Olliaro, Marin, Ajmone Marsan, Berg, Grosof, "Improving
Nonpreemptive Multiserver Job Scheduling with Quickswap".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from quickswap._words import counted
from quickswap.errors import PolicyError
from quickswap.models import as_system
from quickswap.policies import (
    FCFS,
    MSF,
    MSFQ,
    POLICIES,
    AdaptiveQuickswap,
    DivisorFilling,
    MaxWeight,
    Policy,
    ServerFilling,
    Smash,
    StaticQuickswap,
    parse,
)
from quickswap.policies.base import no_policy
from quickswap.system import System
from quickswap.theory.fcfs import find_limit
from quickswap.theory.models import is_exclusive, markovian
from quickswap.theory.saturation import QUICK
from quickswap.theory.server_filling import divisors_fill, fills

__all__ = ["Stability", "stability"]

Verdict = Literal["stable", "unstable", "unknown"]

PAPER = "the paper, section 'Throughput-optimality of MSFQ', theorem"
SKETCH = "the paper, section 'Throughput-optimality of MSFQ', remark (proof sketch)"
WCFS = "Grosof, Harchol-Balter, Scheller-Wolf, Queueing Systems 102 (2022)"
SRPT = "Grosof, Scully, Harchol-Balter, Scheller-Wolf, Proc. ACM Meas. Anal. Comput. Syst. 6 (2022)"


@dataclass(frozen=True, slots=True)
class Stability:
    """What is known about the stability of a policy on a system.

    Rates are total arrivals per second, with the classes in the proportions of the system. Stable
    means positive recurrent: the system empties again and again, in finite mean time.

    Attributes:
        limit: below this rate the policy is stable; None if no such rate is known.
        necessary_limit: at this rate or above it is not.
        verdict: what follows for the arrival rate of the system itself.
        reason: one sentence.
        source: where the proof is.
    """

    limit: float | None
    necessary_limit: float
    verdict: Verdict
    reason: str
    source: str

    @property
    def exact(self) -> bool:
        """Whether the limit is known exactly, so that the verdict is never "unknown"."""
        return self.limit is not None and self.limit >= self.necessary_limit * (1 - 1e-9)


@dataclass(frozen=True, slots=True)
class _Known:
    """A limit with its grounds; `exact` if the policy is unstable above it."""

    limit: float
    exact: bool
    reason: str
    source: str


def stability(system: System | str | Path, policy: Policy | str) -> Stability:
    """Return what is known about the stability of `policy`, or its spelling, on `system`.

    Raises:
        PolicyError: the policy cannot serve this system, or is none of quickswap's.
    """
    system = as_system(system)
    policy = parse(policy) if isinstance(policy, str) else policy
    if not isinstance(policy, Policy):
        raise PolicyError(no_policy(policy))
    policy.resolve(system)
    capacity = system.capacity
    known = None
    if type(policy) in POLICIES and not policy.random:
        known = _plain_queue(system, policy, capacity)
    if known is None and _backfills(policy):
        known = _backfill(system, policy, capacity)
    elif known is None and type(policy) in RULES:
        known = RULES[type(policy)](system, policy, capacity)
    if known is None:
        source = "quickswap.theory.capacity"
        if system.arrival_rate >= capacity:
            reason = "no policy is stable at the capacity or above."
            return Stability(None, capacity, "unstable", reason, source)
        reason = (
            "no policy is stable from the capacity on; below it nothing is proven for this one."
        )
        return Stability(None, capacity, "unknown", reason, source)
    ceiling = known.limit if known.exact else capacity
    verdict: Verdict = "stable" if system.arrival_rate < known.limit else "unknown"
    if system.arrival_rate >= ceiling:
        verdict = "unstable"
    return Stability(known.limit, ceiling, verdict, known.reason, known.source)


def _plain_queue(system: System, policy: Policy, capacity: float) -> _Known | None:
    """All jobs alike in need, or never two at once: the policies of the core leave no slot idle."""
    source = "Loynes, Proc. Cambridge Phil. Soc. 58 (1962)"
    visits = isinstance(policy, StaticQuickswap) and len(system.classes) > 1  # may leave one idle
    if len(set(system.needs)) == 1 and not visits:
        slots = system.servers // system.needs[0]
        queue = f"a queue with {counted(slots, 'slot')}"
        reason = f"all jobs need the same, so this is {queue}, never idle in vain."
        return _Known(capacity, True, reason, source)
    if 2 * min(system.needs) > system.servers:
        reason = "no two jobs fit at once: a queue with one server, never idle in vain."
        return _Known(capacity, True, reason, source)
    return None


def _fcfs(system: System, policy: Policy, capacity: float) -> _Known | None:
    """The throughput of the saturated system, by formula or by a chain solved in no time."""
    del policy, capacity
    found = find_limit(system, QUICK)
    return None if found is None else _Known(found.rate, True, found.reason, found.source)


def _smash(system: System, policy: Policy, capacity: float) -> _Known | None:
    """A window of 1 is FCFS, of infinity MSF."""
    if isinstance(policy, Smash) and policy.window == 1:
        return _fcfs(system, policy, capacity)
    if isinstance(policy, Smash) and policy.window is None:
        return _one_or_all(system, policy, capacity)
    return None


def _one_or_all(system: System, policy: Policy, capacity: float) -> _Known | None:
    """MSFQ with any threshold, and with it MSF (l = 0) and Adaptive Quickswap (l = k)."""
    if not (is_exclusive(system) and markovian(system)):
        return None
    reason = f"on one-or-all systems {policy.label} is stable wherever some policy is."
    if not system.one_or_all:
        reason = f"c jobs at a time or one: as in one-or-all systems, {policy.label} is stable."
    return _Known(capacity, True, reason, PAPER)


def _backfills(policy: Policy) -> bool:
    if not isinstance(policy, MSFQ | StaticQuickswap | AdaptiveQuickswap):
        return False
    return policy.backfill > 0 or policy.overrun > 0


def _backfill(system: System, policy: Policy, capacity: float) -> _Known | None:
    """Quickswap with backfilling is MSFQ with a lower threshold, where it drains lights on demand.

    Let m be the least u with H(u) E[S_1] >= the least D at which lights are let in. Lights start
    during a drain while u_1 >= m. They then start just as
    before the drain, and none waits while a server is free. Once u_1 < m none starts, so that u_1
    only falls. This is MSFQ(min(l, m - 1)), whose drain, with N_1 <= m - 1, starts none. If m is k
    or more, nobody is let in at all, as with k lights in service no server is free.

    Under the other drains lights start only if a heavy waits, which no threshold does. On other
    systems nothing is proven: those let in need not be of the class that drains.
    """
    if getattr(policy, "drain", "on_demand") in ("always", "exclusive"):
        return None
    return _one_or_all(system, policy, capacity)


def _static(system: System, policy: Policy, capacity: float) -> _Known | None:
    """Rates with sum l_i / (c_i mu_i) < 1; all rates below the capacity if needs divide k.

    The paper's remark is about drain="exclusive". For "overlap" its argument holds as well: while a
    class with a long queue is visited it has all its slots but for a time that does not grow with
    the queue, in which the class before it leaves.
    """
    if not markovian(system):
        return None
    if (same := _one_or_all(system, policy, capacity)) is not None:
        return same
    shares, slots = system.job_shares, [system.servers // need for need in system.needs]
    rows = zip(shares, system.classes, slots, strict=True)
    limit = min(capacity, 1 / math.fsum(share * each.size.mean / c for share, each, c in rows))
    reason = "enough is sum of rate x mean size / floor(k / need) < 1"
    if all(system.servers % need == 0 for need in system.needs):
        return _Known(
            capacity, True, f"{reason}, which is the capacity as all needs divide k.", SKETCH
        )
    if policy.resolve(system)["drain"] == "exclusive":
        reason = "one class at a time is served, so that rate x mean size / floor(k / need) adds up"
        return _Known(limit, True, f"{reason}, to less than 1 if all are.", SKETCH)
    return _Known(limit, False, f"{reason}; more may be stable, as needs do not divide k.", SKETCH)


def _server_filling(system: System, policy: Policy, capacity: float) -> _Known | None:
    """Needs that divide each other and k: the first jobs fill all servers without a gap."""
    if not fills(system):
        return None
    reason = "each need divides the next larger one and k, so that k servers are filled whole."
    by_size = isinstance(policy, ServerFilling) and policy.order == "srpt"
    return _Known(capacity, True, reason, SRPT if by_size else WCFS)


def _divisor_filling(system: System, policy: Policy, capacity: float) -> _Known | None:
    """Needs that divide k: of k jobs some fill all servers without a gap."""
    del policy
    if not divisors_fill(system):
        return None
    reason = "each need divides k, so that any k jobs have some among them that fill k servers."
    return _Known(capacity, True, reason, WCFS)


def _max_weight(system: System, policy: Policy, capacity: float) -> _Known | None:
    """The sum of N_i^2 / (2 mu_i) falls on average while many jobs are there.

    Its drift is a constant plus the sum of N_i (l_i / mu_i - v_i), and v is the feasible choice
    that makes this least, but for classes with fewer jobs than slots, which matter by a constant.
    """
    del policy
    if not markovian(system):
        return None
    reason = "the largest weight outweighs the load wherever some policy carries it."
    return _Known(capacity, True, reason, "Maguluri, Srikant, Ying, INFOCOM (2012)")


RULES: dict[type[Policy], Callable[[System, Policy, float], _Known | None]] = {
    FCFS: _fcfs,
    Smash: _smash,
    MSF: _one_or_all,
    MSFQ: _one_or_all,
    AdaptiveQuickswap: _one_or_all,
    StaticQuickswap: _static,
    ServerFilling: _server_filling,
    DivisorFilling: _divisor_filling,
    MaxWeight: _max_weight,
}
"""What is known about each policy, beside plain queues; nothing about the others.

Of policies with clocks of their own (`random`) it is not even known on a plain queue: they leave
servers idle. Both can come close to the capacity: nMSR with a long cycle, Randomized Timers with a
share of the longest queue that is small beside the distance to it (here it is 1e-4).
"""
