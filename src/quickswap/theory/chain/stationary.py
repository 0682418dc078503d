"""Sparse linear systems of Markov chains: the stationary distribution and the values of states.

Both are singular systems with the generator Q or its transpose, solved by GMRES (Saad, Schultz,
SIAM J. Sci. Stat. Comput. 7, 1986). The preconditioner is an incomplete factorisation of the
generator with a small shift of its diagonal: Philippe, Saad, Stewart, Operations Research 40
(1992). States are numbered by distance from the empty one, an order in which elimination has little
fill-in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from quickswap.errors import QuickswapError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
Side = Literal["N", "T"]
"""The matrix itself, or its transpose."""

__all__ = ["ChainSolver"]

SHIFT = 1e-8
"""Added to the diagonal before it is factored, relative to the mean rate out of a state."""
DROPS = (1e-2, 1e-3, 1e-5)
"""Drop tolerances of the factors, relative to their column; each is used if the last one fails."""
FILL = (6, 15, 60)
"""Largest number of entries of the factors per entry of the generator."""
RESTART = 40
"""Steps of GMRES between restarts."""
CYCLES = 15
"""Largest number of restarts."""
VALUES_PRECISION = 1e-5
"""Residual of the values of states, relative to the costs: about 5 digits are right."""
SMALL = 2_000
"""Number of states up to which the factorisation is complete."""


@dataclass
class ChainSolver:
    """The chain with the rates `rates` (n x n, from row to column), prepared for solving."""

    rates: sparse.csr_matrix
    strength: int = 0

    def __post_init__(self) -> None:
        self.out: Vector = self.rates @ np.ones(self.rates.shape[0])
        self.factors: Any = None
        self.scale = float(self.out.mean())
        balance = sparse.diags(self.out) - self.rates.T
        self.matrix = sparse.csr_matrix(balance / self.scale)
        self._factor()

    def _factor(self) -> None:
        n = self.matrix.shape[0]
        shifted = (self.matrix + SHIFT * sparse.identity(n)).tocsc()
        options: dict[str, Any] = {"permc_spec": "NATURAL", "diag_pivot_thresh": 0.0}
        if n <= SMALL:
            options["permc_spec"] = "MMD_AT_PLUS_A"
            self.factors = linalg.splu(shifted, **options, options={"SymmetricMode": True})
        else:
            self.factors = linalg.spilu(
                shifted, DROPS[self.strength], FILL[self.strength], **options
            )

    def stationary(self, guess: Vector, tolerance: float = 1e-14) -> Vector:
        """Return the stationary distribution.

        The sum of the absolute imbalances of the states, relative to the flow through all of them,
        is below `tolerance`, or as low as rounding allows if that is below 1e-10.

        Args:
            guess: n positive values to start from.
            tolerance: relative imbalance.

        Raises:
            QuickswapError: the iteration does not converge.
        """
        return self._stronger(lambda: self._stationary(guess, tolerance))

    def values(self, costs: Vector, mean: float, precision: float = VALUES_PRECISION) -> Vector:
        """Return h with Qh = mean - costs, where `mean` is the stationary mean of the costs.

        This is Poisson's equation. h(s) - h(t) is the difference between the total costs from the
        states s and t on. h is determined up to a constant. Its residual, relative to the costs, is
        at most `precision`.

        Raises:
            QuickswapError: the iteration does not converge.
        """
        rhs = (costs - mean) / self.scale
        return self._stronger(lambda: self._values(rhs, precision))

    def _stronger(self, attempt: Any) -> Vector:
        """Repeat the attempt with more and more accurate factors until it succeeds."""
        while (found := attempt()) is None:
            if self.strength + 1 == len(DROPS):
                raise QuickswapError(
                    f"the solution of the chain of {self.matrix.shape[0]} states does not "
                    "converge: it is ill-conditioned, as it is near the limit of stability or with "
                    "rates of very different size; simulate the system instead."
                )
            self.strength += 1
            self._factor()
        result: Vector = found
        return result

    def imbalance(self, distribution: Vector) -> Vector:
        """Return the net flow out of each state, per second; 0 if it is stationary."""
        return np.asarray(self.matrix @ distribution) * self.scale

    def _stationary(self, guess: Vector, tolerance: float) -> Vector | None:
        best, reached = None, np.inf
        x = guess
        for _ in range(3):  # inverse iteration: the inverse is positive, its columns nearly pi
            x = np.abs(self.factors.solve(x))
            x /= x.sum()
        for _ in range(CYCLES):
            residual = self.matrix @ x
            error = float(np.abs(residual).sum() / ((self.out / self.scale) @ np.abs(x)))
            if not error < reached / 2:
                break
            best, reached = x, error
            if error <= tolerance:
                break
            x = x - self._gmres(self.matrix, residual, "N")
            x = np.maximum(x / x.sum(), 0.0)  # x is a multiple of pi, of either sign
            x /= x.sum()
        return best if reached <= 1e-10 else None

    def _values(self, rhs: Vector, precision: float) -> Vector | None:
        transposed = self.matrix.T.tocsr()
        h = np.zeros_like(rhs)
        residual, first, reached = rhs, _norm(rhs), np.inf
        for _ in range(CYCLES):
            h = h + self._gmres(transposed, residual, "T", precision / 10)
            residual = rhs - transposed @ h
            error = _norm(residual)
            if error <= precision * first:
                return h
            if not error < reached / 1.2:
                return None
            reached = error
        return None

    def _gmres(self, matrix: Any, rhs: Vector, side: Side, rtol: float = 1e-12) -> Vector:
        """Return the result of one cycle of at most `RESTART` steps, starting from zero.

        scipy's own GMRES uses BLAS for the long products, whose threads wait for each other longer
        than they compute; einsum uses one thread.
        """
        first: Vector = self.factors.solve(rhs, side)
        size = _norm(first)
        if size == 0:
            return first
        steps = min(RESTART, len(rhs))
        basis = np.empty((steps + 1, len(rhs)))
        basis[0] = first / size
        projected = np.zeros((steps + 1, steps))
        target = np.zeros(steps + 1)
        target[0] = size
        for k in range(steps):
            new, known = self.factors.solve(matrix @ basis[k], side), basis[: k + 1]
            for _ in range(2):
                part = np.einsum("ij,j->i", known, new)
                new -= np.einsum("i,ij->j", part, known)
                projected[: k + 1, k] += part
            projected[k + 1, k] = length = _norm(new)
            small = projected[: k + 2, : k + 1]
            weights = np.linalg.lstsq(small, target[: k + 2])[0]
            left = _norm(small @ weights - target[: k + 2])
            if length == 0 or left <= rtol * size:
                break
            basis[k + 1] = new / length
        best: Vector = np.einsum("i,ij->j", weights, known)
        return best


def _norm(vector: Vector) -> float:
    return math.sqrt(np.einsum("i,i->", vector, vector))
