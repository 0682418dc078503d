"""The chain as arrays: states of a truncated system and the rates between them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from quickswap.engine._core import Explorer, NativePolicy
from quickswap.engine.compiled import native
from quickswap.engine.custom import CustomPolicy
from quickswap.errors import PolicyError, QuickswapError
from quickswap.model.system import System
from quickswap.policies import Policy
from quickswap.policies.custom import custom_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quickswap.engine._core import View

    Vector = NDArray[np.float64]
    Whole = NDArray[np.uint32]

__all__ = ["Graph", "explore", "recurrent"]

CHUNK = 20_000
"""States explored between two checks for Ctrl-C, about 50 ms."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The recurrent states of a truncated system; n states, C classes.

    Attributes:
        rates: n x n, jumps per second from the state of the row to that of the column.
        arrivals: the jumps that are arrivals: states from and to, and class (C: any class).
        waiting: n x C, waiting jobs whose class is part of the state.
        running: n x C, jobs in service.
        behind: n, jobs behind the policy's window, each of an independent class.
        present: n x C, mean number present given the state.
        blocked: n x C, arrivals per second that the truncation turns away.
        windowed: whether some states have jobs behind a window.
    """

    rates: sparse.csr_matrix
    arrivals: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    waiting: Whole
    running: Whole
    behind: Whole
    present: Vector
    blocked: Vector
    windowed: bool

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.behind)

    def guess(self) -> Vector:
        """Return a distribution with which to start a solver."""
        guess: Vector = np.maximum(0.7 ** self.present.sum(axis=1), 1e-30)
        return guess


def explore(
    system: System,
    policy: Policy | CustomPolicy,
    region: Sequence[Sequence[float]],
    max_states: int,
    every_order: bool = False,
) -> Graph | None:
    """Return the chain of the states within a region, or None if they are more than `max_states`.

    Args:
        system: Poisson arrivals and exponential sizes.
        policy: decides what starts.
        region: rows of C + 1 weights, none negative: an arrival is admitted as long as the sum of
            weight x number present is at most 1 in each row. The last weight is for jobs behind the
            window of the policy, whose classes are not part of the state.
        max_states: largest number of states.
        every_order: make each order of arrival of the waiting jobs a state of its own, even if the
            policy does not use it; for tests.

    Raises:
        PolicyError: no chain describes the policy, or a custom policy failed.
    """
    spec = {
        "system": system.to_dict(),
        "policy": policy.resolve(system) if isinstance(policy, Policy) else {},
        "region": [list(row) for row in region],
        "shares": list(system.job_shares),
        "every_order": every_order,
    }
    try:
        core = Explorer(json.dumps(spec), None if isinstance(policy, Policy) else _watched(policy))
        while core.advance(CHUNK):
            if core.progress()[0] > max_states:
                return None
    except ValueError as error:
        _refuse(error, policy)
    return None if core.progress()[0] > max_states else recurrent(_assemble(system, core))


def _assemble(system: System, core: Explorer) -> Graph:
    """Return the graph with the rate of each jump.

    An arrival has the rate of its class, a completion that of one job times the jobs in service.
    """
    classes = len(system.classes)
    ends, to, event, share = core.jumps()
    waiting, running, behind = core.counts()
    states = len(behind)
    starts = np.concatenate([[0], ends]).astype(np.int64)
    origin = np.repeat(np.arange(states, dtype=np.int64), np.diff(starts))
    arrival_rates = np.array([each.arrival_rate for each in system.classes])
    completion_rates = np.array([1 / each.size.mean for each in system.classes])
    rate = np.concatenate([arrival_rates, completion_rates, [arrival_rates.sum()]])[event]
    ends_service = (event >= classes) & (event < 2 * classes)
    rate[ends_service] *= running[origin[ends_service], event[ends_service] - classes]
    if len(share):
        rate *= share
    # scipy's factorisations require 32-bit indices
    rates = sparse.csr_matrix((rate, to.astype(np.int32), starts.astype(np.int32)), (states,) * 2)
    rates.sum_duplicates()  # connected_components may not terminate with duplicates
    arrives = ~ends_service
    kind = np.minimum(event[arrives].astype(np.int64), classes)
    came = (origin[arrives], to[arrives].astype(np.int64), kind)
    admitted = np.zeros((states, classes + 1), dtype=bool)
    admitted[came[0], kind] = True
    admitted[:, :classes] |= admitted[:, [classes]]
    present = waiting + running + np.outer(behind, system.job_shares)
    blocked = np.where(admitted[:, :classes], 0.0, arrival_rates)
    return Graph(rates, came, waiting, running, behind, present, blocked, len(share) > 0)


def recurrent(graph: Graph) -> Graph:
    """Return the graph without its transient states.

    Raises:
        PolicyError: there are several closed sets of states.
    """
    count, label = csgraph.connected_components(graph.rates, connection="strong")
    if count == 1:
        return graph
    jumps = graph.rates.tocoo()
    leaves = label[jumps.row] != label[jumps.col]
    final = np.setdiff1d(np.arange(count), label[jumps.row[leaves]])
    if len(final) > 1:
        raise PolicyError(
            f"under this policy the chain has {len(final)} closed sets of states, and hence no "
            "unique mean: simulate the system instead.",
            argument="policy",
            given=len(final),
            allowed="one closed set of states",
        )
    kept = label == final[0]
    number = np.cumsum(kept) - 1
    origin, to, kind = graph.arrivals
    inside = kept[origin]  # no jump leads out
    return Graph(
        rates=graph.rates[kept][:, kept],
        arrivals=(number[origin[inside]], number[to[inside]], kind[inside]),
        waiting=graph.waiting[kept],
        running=graph.running[kept],
        behind=graph.behind[kept],
        present=graph.present[kept],
        blocked=graph.blocked[kept],
        windowed=graph.windowed,
    )


def _refuse(error: Exception, policy: Policy | CustomPolicy) -> NoReturn:
    """Raise the message of the core as an error of quickswap."""
    if isinstance(error, QuickswapError):
        raise error
    if str(error).startswith("policy "):
        raise PolicyError(f"{error}.") from error.__cause__
    label = policy.label if isinstance(policy, Policy) else custom_name(policy)
    raise PolicyError(
        f"chain.exact does not cover {label}: it {error}; simulate the system instead.",
        argument="policy",
        given=policy,
        allowed="a policy whose states can be enumerated",
    )


def _watched(policy: CustomPolicy) -> object:
    """Return a custom policy that a chain covers; without `save`, one checked to have no state.

    Raises:
        PolicyError: it uses individual jobs, or timers.
    """
    if getattr(policy, "sees_jobs", False):
        _refuse(ValueError("uses individual jobs, so its states cannot be enumerated"), policy)
    if hasattr(policy, "wake_at"):
        _refuse(ValueError("uses timers (wake_at)"), policy)
    code = native(policy)
    if isinstance(code, NativePolicy):
        if code.draws:
            _refuse(ValueError("draws random numbers"), policy)
        return code
    if hasattr(policy, "save") and hasattr(policy, "restore"):
        return policy
    return _Stateless(policy)


class _Stateless:
    """A policy without a state of its own: never copied; a change of its attributes is an error."""

    def __init__(self, policy: CustomPolicy) -> None:
        self.policy = policy
        self.name = custom_name(policy)
        self.remembers_order = getattr(policy, "remembers_order", True)
        self.before = self._state()

    def __deepcopy__(self, memo: object) -> _Stateless:
        return self

    def _state(self) -> bytes:
        try:
            return pickle.dumps(vars(self.policy))
        except Exception:  # pickle and its hooks raise anything: no comparison is possible
            return b""

    def start(self, view: View) -> object:
        answer = self.policy.start(view)
        if self._state() != self.before:
            raise PolicyError(
                "changes its attributes: define save() and restore(state) for its state"
            )
        return answer
