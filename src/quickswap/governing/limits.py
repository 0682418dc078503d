"""The limits of what a governor does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quickswap._check import number, whole
from quickswap.errors import QuickswapError, invalid

__all__ = ["LARGEST", "Limits"]

LARGEST = 2_000_000_000
"""The largest `most`: Slurm stores a SiteFactor in 32 bits."""


def _limit(default: float, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of what a governor does."""

    interval: float = _limit(10.0, "Seconds between decisions, at least 1.")
    depth: int = _limit(20, "Number of pending jobs with a SiteFactor at most, 1 to 200.")
    most: int = _limit(1_000_000_000, "Largest SiteFactor, up to 2000000000.")
    writes: int = _limit(60, "Number of SiteFactors set, and jobs held, in a minute at most.")
    hold: float = _limit(
        0.0,
        "Seconds, 30 to 3600, by which jobs are delayed that Slurm could start although servers "
        "are kept free for another; 0 delays none.",
    )

    def __post_init__(self) -> None:
        number(self.interval, "interval", 1.0, QuickswapError)
        whole(self.depth, "depth", 1, 200, QuickswapError)
        whole(self.most, "most", 1, LARGEST, QuickswapError)
        whole(self.writes, "writes", 1, 100_000, QuickswapError)
        if self.hold and not 30 <= number(self.hold, "hold", 0.0, QuickswapError) <= 3600:
            raise invalid("hold", self.hold, "0, or 30 to 3600 seconds", QuickswapError)
