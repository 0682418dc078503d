"""Parts of a sweep for machines that know nothing of each other."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quickswap.errors import QuickswapError, shown
from quickswap.sweeps.costs import work
from quickswap.sweeps.point import Point

__all__ = ["dealt", "read_shard"]

MOST = 100_000
"""Parts."""


def read_shard(text: object) -> tuple[int, int]:
    """Return number and count of a shard such as "3/10", the third of ten.

    Raises:
        QuickswapError: it is none.
    """
    found = (
        re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text) if isinstance(text, str) else None
    )
    if found is None or not 1 <= int(found[1]) <= int(found[2]) <= MOST:
        raise QuickswapError(
            f"shard is {shown(text)}; it must be as in '3/10', the third of ten, from '1/10' to "
            "'10/10'."
        )
    return int(found[1]), int(found[2])


def dealt(points: Sequence[Point], shard: str) -> list[Point]:
    """Return the points of one shard.

    Points are dealt like cards, the longest first and by key among equals, so that all shards take
    about as long. It depends on the points alone: on every machine, each point is in one shard.
    """
    number, count = read_shard(shard)
    distinct = {point.key: point for point in points}
    order = sorted(distinct, key=lambda key: (-work(distinct[key]), key))
    return [distinct[key] for key in order[number - 1 :: count]]
