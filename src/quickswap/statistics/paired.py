"""How two policies compare on the same jobs, and which of several is best: one rule for all.

`compare`, `sweep`, `tune`, replays and the paper's claims share the outcome of a comparison. The
interval of a difference is that of paired batches, or of independent estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum

from quickswap.statistics.estimates import Estimate

__all__ = ["Outcome", "best_of", "outcome_of"]


class Outcome(Enum):
    """How a policy compares with another one; less is better."""

    BETTER = "significantly better"
    WORSE = "significantly worse"
    ALIKE = "not significantly different"
    INCONCLUSIVE = "inconclusive: a run is too short"


def outcome_of(
    gap: Estimate,
    first: str = "stable",
    second: str = "stable",
    *,
    floors: tuple[bool, bool] = (False, False),
    room: float | None = None,
) -> Outcome:
    """Return how the first of two policies compares with the second.

    Args:
        gap: the value of the first less that of the second.
        first, second: statuses of their runs; an unstable system has no mean, and what a run that
            is too short has measured may be off either way.
        floors: whether the value of each, if its run is too short, is too low rather than too high:
            its system still fills up.
        room: difference up to which the first is alike; without it, alike if the interval holds 0.
    """
    if {first, second} == {"stable", "unstable"}:
        return Outcome.BETTER if first == "stable" else Outcome.WORSE
    if math.isnan(gap.half_width):
        return Outcome.INCONCLUSIVE
    if (first, second) == ("too short", "stable"):
        return Outcome.WORSE if floors[0] and gap.low > 0 else Outcome.INCONCLUSIVE
    if (first, second) == ("stable", "too short"):
        return Outcome.BETTER if floors[1] and gap.high < 0 else Outcome.INCONCLUSIVE
    if first != "stable":
        return Outcome.INCONCLUSIVE
    if room is not None and gap.high <= room:
        return Outcome.ALIKE
    if gap.low > 0:
        return Outcome.WORSE
    if room is not None:
        return Outcome.INCONCLUSIVE
    return Outcome.BETTER if gap.high < 0 else Outcome.ALIKE


def best_of(
    values: Mapping[str, float],
    statuses: Mapping[str, str],
    outcome: Callable[[str, str], Outcome],
) -> tuple[str, ...]:
    """Return the policy with the least value, then those not significantly different from it.

    Only stable runs are trusted. None is best where a run that is too short has a lower value than
    all of them: that policy may be better.

    Args:
        values: by policy; nan where there is none.
        statuses: of the runs, by policy.
        outcome: of two policies.
    """
    known = {
        policy: value
        for policy, value in values.items()
        if math.isfinite(value) and statuses[policy] != "unstable"
    }
    first = min(known, key=known.__getitem__, default=None)
    if first is None or statuses[first] != "stable":
        return ()
    others = (each for each in known if each != first and statuses[each] == "stable")
    return (first, *(each for each in others if outcome(each, first) is not Outcome.WORSE))
