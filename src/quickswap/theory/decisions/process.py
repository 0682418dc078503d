"""The decisions of a truncated system as a Markov decision process, in arrays.

A state is the numbers of jobs in service and waiting, of each class. An array over the states has
a row for each set of jobs in service, from the empty one to the fullest, and a column for each
combination of numbers waiting, from 0 to a limit for each class. An arrival beyond its limit is
turned away.

A policy decides in each state: start a job of a class, or none (-1). Starts take no time, so a
policy leads from each state to a state where it starts none. The state stays there until the next
event.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from quickswap.model.system import System
from quickswap.theory.chain.graph import Graph
from quickswap.theory.chain.stationary import ChainSolver

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Whole = NDArray[np.int64]
    Choice = NDArray[np.int8]

__all__ = ["Process", "services"]

PRECISION = 1e-9
"""Residual of the values of states, relative to the costs."""
TIE = 1e-12
"""Relative difference of two values below which the decision stays as it is."""


def services(system: System) -> Whole:
    """Return the sets of jobs that the servers can serve at once, one per row, fullest last."""
    ranges = [range(system.servers // need + 1) for need in system.needs]
    needs = np.array(system.needs)
    every = np.array(list(itertools.product(*ranges)))
    used = every @ needs
    fitting: Whole = every[used <= system.servers]
    ordered: Whole = fitting[np.argsort(fitting @ needs, kind="stable")]
    return ordered


@dataclass(frozen=True, slots=True)
class Values:
    """The mean cost of a policy, and the values of its states.

    Attributes:
        cost: mean cost per second of the truncated system.
        states: value of each state: the total costs from there on, less those from the empty state.
    """

    cost: float
    states: Vector


class Process:
    """The states of a system, truncated at `limits` waiting jobs of each class.

    Args:
        system: Poisson arrivals and exponential sizes.
        costs: of a job of each class in the system, per second.
        limits: largest number of waiting jobs of each class, at least 1.
    """

    def __init__(self, system: System, costs: Vector, limits: Whole) -> None:
        self.holding = costs
        self.limits = limits
        self.services = services(system)
        self.arrivals = np.array([each.arrival_rate for each in system.classes])
        ends = 1 / np.array([each.size.mean for each in system.classes])
        self.completions: Vector = self.services * ends
        box = limits + 1
        self.waiting: Whole = np.indices(tuple(box.tolist())).reshape(len(box), -1)
        columns = np.arange(self.waiting.shape[1])
        self.strides = np.array([int(np.prod(box[i + 1 :])) for i in range(len(box))])
        self.costs: Vector = (self.services @ costs)[:, None] + costs @ self.waiting
        self.admitted = self.waiting < limits[:, None]
        self.arrived = np.where(self.admitted, columns + self.strides[:, None], columns)
        self.present = [np.flatnonzero(row) for row in self.waiting]
        self.rates: Vector = self.arrivals.sum() + self.completions.sum(axis=1)
        rows = {tuple(row): number for number, row in enumerate(self.services.tolist())}
        self.more, self.fewer = (
            np.array(
                [
                    [
                        rows.get((*row[:i], row[i] + step, *row[i + 1 :]), -1)
                        for i in range(len(box))
                    ]
                    for row in self.services.tolist()
                ]
            )
            for step in (1, -1)
        )

    @property
    def states(self) -> int:
        """Number of states."""
        return self.costs.size

    def starts(self) -> Iterator[tuple[int, int, int, Whole]]:
        """Yield what may start, fullest servers first: row, class, row after it, columns."""
        for row in reversed(range(len(self.services))):
            for cls, after in enumerate(self.more[row].tolist()):
                if after >= 0:
                    yield row, cls, after, self.present[cls]

    def simple(self, needs: Whole) -> Choice:
        """Return decisions to improve on: the largest waiting job that fits starts.

        While a larger job waits that does not fit, the servers drain for it: a class only replaces
        a job of its own that has just ended, as long as all its others are in service.
        """
        choice = np.full(self.costs.shape, -1, dtype=np.int8)
        most = self.services.max(axis=0)
        for row, cls, _, columns in sorted(self.starts(), key=lambda each: needs[each[1]]):
            larger = self.waiting[needs > needs[cls]][:, columns].any(axis=0)
            free = ~larger | (self.services[row, cls] == most[cls] - 1)
            choice[row, columns[free]] = cls
        return choice

    def part(self, choice: Choice, kept: float) -> Choice:
        """Return the decisions in this part of each limit."""
        boxes = choice.reshape(-1, *(self.limits + 1))
        inner = np.maximum(kept * self.limits, 1).astype(np.int64)
        return boxes[:, *(slice(limit + 1) for limit in inner)]

    def extended(self, table: Choice) -> Choice:
        """Return decisions for all states, where larger numbers waiting count as the largest known.

        `table` has an axis for the jobs in service, and one for each class.
        """
        most = np.array(table.shape[1:]) - 1
        known = np.minimum(self.waiting, most[:, None])
        choice: Choice = table[:, *known]
        return choice

    def inflow(self, values: Vector) -> Vector:
        """Return the cost per second in each state, plus rate times value after each event."""
        total = self.costs.copy()
        for cls, rate in enumerate(self.arrivals):
            total += rate * values[:, self.arrived[cls]]
            total += self.completions[:, [cls]] * values[self.fewer[:, cls]]
        return total

    def improve(self, values: Values, choice: Choice) -> tuple[Values, Choice]:
        """Return the values and the decisions that are best for one event with these values after.

        A decision that is as good as the best one stays.
        """
        best = (self.inflow(values.states) - values.cost) / self.rates[:, None]
        better = np.full_like(choice, -1)
        for row, cls, after, columns in self.starts():
            started = best[after, columns - self.strides[cls]]
            kept = choice[row, columns] == cls
            margin = np.where(kept, TIE, -TIE) * np.abs(started)
            gains = started < best[row, columns] + margin
            best[row, columns[gains]] = started[gains]
            better[row, columns[gains]] = cls
        return Values(values.cost, best), better

    def bound(self, values: Vector) -> float:
        """Return a lower bound on the mean cost per second under all policies.

        Let V be any function of the states that no start decreases. If the cost per second plus the
        expected change of V per second is at least g in each state, the mean cost per second is at
        least g: the costs up to time t are at least g t - E V(t) + V(0), and V is bounded. Each V
        gives a bound, and the values of the best policy the largest one.
        """
        least = values.copy()
        for row, cls, after, columns in self.starts():
            least[row, columns] = np.minimum(
                least[row, columns], least[after, columns - self.strides[cls]]
            )
        return float(np.min(self.inflow(least) - self.rates[:, None] * least))

    def settled(self, choice: Choice) -> Whole:
        """Return the state, by number, to which the decisions lead from each state."""
        states = np.arange(self.states).reshape(self.costs.shape)
        for row, cls, after, columns in self.starts():
            chosen = columns[choice[row, columns] == cls]
            states[row, chosen] = states[after, chosen - self.strides[cls]]
        return states

    def jumps(self, choice: Choice) -> tuple[Whole, Whole, Whole, Vector]:
        """Return the jumps between the states where no job starts: from, to, class, and rate.

        A completion has the class C + i for a job of class i of C classes.
        """
        ends = self.settled(choice)
        parts = []
        rows, columns = np.nonzero(choice < 0)
        start = ends[rows, columns]
        for cls, rate in enumerate(self.arrivals):
            came = self.admitted[cls, columns]
            to = ends[rows[came], columns[came] + self.strides[cls]]
            parts.append((start[came], to, np.full(len(to), cls), np.full(len(to), rate)))
            served = self.services[rows, cls] > 0
            to = ends[self.fewer[rows[served], cls], columns[served]]
            kind = np.full(len(to), len(self.arrivals) + cls)
            parts.append((start[served], to, kind, self.completions[rows[served], cls]))
        origin, to, kind, rates = (np.concatenate(part) for part in zip(*parts, strict=True))
        return origin, to, kind, rates

    def chain(self, choice: Choice) -> tuple[Graph, Whole]:
        """Return the chain of a policy, and its state for each state of the process."""
        origin, to, kind, rates = self.jumps(choice)
        rows, columns = np.nonzero(choice < 0)
        waiting, running = self.waiting[:, columns].T, self.services[rows]
        order = np.argsort((waiting + running).sum(axis=1), kind="stable")
        waiting, running = waiting[order], running[order]
        number = np.zeros(self.states, dtype=np.int64)
        number[np.flatnonzero(choice.ravel() < 0)[order]] = np.arange(len(order))
        origin, to = number[origin], number[to]
        arrives = kind < len(self.arrivals)
        graph = Graph(
            rates=sparse.csr_matrix(
                (rates, (origin.astype(np.int32), to.astype(np.int32))), (len(order),) * 2
            ),
            arrivals=(origin[arrives], to[arrives], kind[arrives]),
            waiting=waiting.astype(np.uint32),
            running=running.astype(np.uint32),
            behind=np.zeros(len(order), dtype=np.uint32),
            present=(waiting + running).astype(np.float64),
            blocked=np.where(waiting < self.limits, 0.0, self.arrivals),
            windowed=False,
        )
        return graph, number[self.settled(choice)]

    def evaluate(self, choice: Choice) -> Values:
        """Return the mean cost g of a policy, and the values h of the states.

        They solve Poisson's equation Qh = g - costs with h = 0 in the empty state. Without that
        state the generator Q is regular: h = x - g y, where x solves it for the costs and y for
        ones, and the equation of the empty state gives g. With more than two classes a
        factorisation fills in, and iterative solvers are faster.
        """
        graph, place = self.chain(choice)  # the empty state is the first
        costs = graph.present @ self.holding
        if len(self.limits) > 2:
            solver = ChainSolver(graph.rates)
            mean = float(solver.stationary(graph.guess()) @ costs)
            values = solver.values(costs, mean, PRECISION)
            return Values(mean, (values - values[0])[place])
        out = np.asarray(graph.rates.sum(axis=1)).ravel()
        leaving = sparse.csc_matrix(sparse.diags(out) - graph.rates)
        factors = linalg.splu(
            leaving[1:, 1:],
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,  # the matrix is diagonally dominant
            options={"SymmetricMode": True},
        )
        x, y = factors.solve(costs[1:]), factors.solve(np.ones(len(costs) - 1))
        first = leaving[[0], 1:]
        mean = float((costs[0] - (first @ x)[0]) / (1 - (first @ y)[0]))
        return Values(mean, np.concatenate([[0.0], x - mean * y])[place])
