"""A log that cannot be read."""

from __future__ import annotations

from quickswap.errors import QuickswapError

__all__ = ["LogError"]


class LogError(QuickswapError):
    """A log that cannot be read, or of which nothing is left; names the file, and the line."""
