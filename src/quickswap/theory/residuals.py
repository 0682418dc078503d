"""The check that a numerical solution satisfies its equations."""

from __future__ import annotations

from quickswap.errors import QuickswapError

__all__ = ["check_residual"]


def check_residual(what: str, equation: str, size: float, allowed: float) -> None:
    """Reject a solution with a large residual, which would be wrong.

    Args:
        what: name of the solver.
        equation: name of the equation.
        size: residual, relative to the terms of the equation.
        allowed: the largest residual that rounding explains.

    Raises:
        QuickswapError: the residual is larger, or nan.
    """
    if not size <= allowed:
        raise QuickswapError(
            f"{what} fails for this system: {equation} is violated by a relative {size:.1e}, and "
            f"rounding explains {allowed:.0e}. Simulate the system instead.",
            given=size,
            allowed=f"a relative residual of at most {allowed:.0e}",
        )
