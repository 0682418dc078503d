"""The error of the readers of logs."""

from __future__ import annotations

from quickswap.errors import QuickswapError

__all__ = ["LogError"]


class LogError(QuickswapError):
    """A log that cannot be read or contains no jobs; the message contains the file and the line."""
