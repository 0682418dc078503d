"""The check that a solution solves its own equations."""

from __future__ import annotations

from quickswap.errors import QuickswapError

__all__ = ["check_residual"]


def check_residual(what: str, equation: str, size: float, allowed: float) -> None:
    """Refuse a solution that leaves a residual, rather than return wrong numbers.

    Args:
        what: the solver.
        equation: what does not hold.
        size: of the residual, relative to the terms of the equation.
        allowed: the largest size that rounding explains.

    Raises:
        QuickswapError: the residual is larger, or not a number.
    """
    if not size <= allowed:
        raise QuickswapError(
            f"{what} fails for this system: {equation} is violated by a relative {size:.1e}, and "
            f"rounding explains {allowed:.0e}. Simulate the system instead."
        )
