"""How many random examples the tests of properties draw.

QUICKSWAP_EXAMPLES=20000 in the environment looks further, with fresh examples each time; by default
there are few, and always the same.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

__all__ = ["ALL", "FEW"]

EXAMPLES = os.environ.get("QUICKSWAP_EXAMPLES")
ALL = settings(
    max_examples=int(EXAMPLES or 40),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
"""Of every test that states no others (`conftest`)."""
FEW = settings(ALL, max_examples=max(ALL.max_examples // 3, 1))
"""For examples that take long, or are drawn for many cases."""
