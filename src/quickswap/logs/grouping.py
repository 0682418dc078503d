"""Groups of server needs, which become the classes of a fit or a replay.

A group is a range of needs (low, high), both included; high may be None in the last group, which
then has no upper end. Groups are in ascending order and do not overlap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from quickswap._check import whole
from quickswap.errors import LogError, shown
from quickswap.model.system import MOST_SERVERS

__all__ = ["Group", "group_name", "group_of", "groups_by_load", "needs_as_groups", "parse_groups"]

Group = tuple[int, int | None]
"""Smallest and largest need, in servers; None is no upper end."""

_GROUP = re.compile(r"\s*([0-9]+)\s*(-\s*([0-9]*)\s*)?")


def parse_groups(text: str) -> list[Group]:
    """Return the groups of a text such as `1,2-4,5-16,17-`.

    Raises:
        LogError: a group is neither a need nor a range, groups do not ascend, or a group other
            than the last has no upper end.
    """
    groups: list[Group] = []
    for part in text.split(","):
        found = _GROUP.fullmatch(part)
        digits = 0 if found is None else max(len(found[1]), len(found[3] or ""))
        low = int(found[1]) if found and digits < 10 else 0
        high = int(found[3]) if found and found[3] and digits < 10 else None
        high = low if found and found[2] is None else high
        before = groups[-1][1] if groups else 0
        if found is None:
            why = "is not a need or a range of needs"
        elif digits > 9 or max(low, high or 0) > MOST_SERVERS:
            why = f"exceeds the largest possible need, {MOST_SERVERS:,}"
        elif low < 1:
            why = "begins below 1, the smallest need"
        elif high is not None and high < low:
            why = "is empty"
        elif before is None:
            why = "follows a group without an upper end, which must be the last"
        elif low <= before:
            why = f"overlaps the groups before it, which end at {before}"
        else:
            groups.append((low, high))
            continue
        raise LogError(
            f"{shown(part.strip())} in the groups {shown(text)} {why}",
            argument="classes",
            given=text,
            allowed="groups of needs that ascend and do not overlap",
            advice="give groups as in 1,2-4,5-16,17-",
        )
    return groups


def needs_as_groups(needs: npt.ArrayLike) -> list[tuple[int, int]]:
    """Return a group for each distinct need; `needs` in servers."""
    return [(need, need) for need in np.unique(np.asarray(needs, np.int64)).tolist()]


def groups_by_load(
    need: npt.ArrayLike, work: npt.ArrayLike, at_most: int = 10
) -> list[tuple[int, int]]:
    """Return groups with nearly equal loads: the sum of the squared loads is minimal.

    Each group ranges from its smallest to its largest need in the log. A need with a large part of
    the load has a group of its own.

    Args:
        need: of each job, in servers.
        work: of each job, need times size in server-seconds; or another quantity to balance.
        at_most: number of groups, at least 1; there are fewer only if there are fewer needs.

    Raises:
        LogError: `at_most` is not a whole number of at least 1.
    """
    count = whole(at_most, "at_most", 1, error=LogError)
    needs, where = np.unique(np.asarray(need, np.int64), return_inverse=True)
    if len(needs) <= count:
        return needs_as_groups(needs)
    until = np.concatenate([[0.0], np.cumsum(np.bincount(where, np.asarray(work, float)))])
    cuts = _balanced(until / max(until[-1], 1e-300), count)
    return [(int(needs[a]), int(needs[b - 1])) for a, b in pairwise(cuts)]


def _balanced(until: npt.NDArray[np.float64], count: int) -> list[int]:
    """Return the edges of `count` parts of n items, given the n + 1 partial sums of the items.

    Dynamic programming over the number of parts; each part has at least one item.
    """
    n = len(until) - 1
    cost = np.square(until)
    cost[0] = 0.0
    choices: list[npt.NDArray[np.int64]] = []
    for parts in range(2, count + 1):
        better = np.full(n + 1, np.inf)
        choice = np.zeros(n + 1, np.int64)
        for end in range(parts, n + 1):
            starts = slice(parts - 1, end)
            total = cost[starts] + np.square(until[end] - until[starts])
            best = int(np.argmin(total))
            better[end], choice[end] = total[best], parts - 1 + best
        choices.append(choice)
        cost = better
    cuts = [n]
    for choice in reversed(choices):
        cuts.append(int(choice[cuts[-1]]))
    return [0, *reversed(cuts)]


def group_of(need: npt.ArrayLike, groups: Sequence[Group]) -> npt.NDArray[np.uint32]:
    """Return the position in `groups` of the group of each job; `need` in servers.

    Raises:
        LogError: a need is in none of the groups.
    """
    needs = np.asarray(need, np.int64)
    lows = np.array([low for low, _ in groups], np.int64)
    top = np.iinfo(np.int64).max
    highs = np.array([top if high is None else high for _, high in groups], np.int64)
    index = np.searchsorted(lows, needs, side="right") - 1
    outside = (index < 0) | (needs > highs[index])
    if outside.any():
        some = int(needs[np.argmax(outside)])
        raise LogError(
            f"the need {some} is in none of the groups {','.join(map(group_name, groups))} "
            f"({int(outside.sum())} of {needs.size} jobs are in none)",
            argument="classes",
            given=groups,
            advice="add a group, or leave these jobs out by {smallest_need} or {largest_need}",
        )
    return index.astype(np.uint32)


def group_name(group: Group) -> str:
    """Return the name of a group: "1", "2-4" or "17-"."""
    low, high = group
    return str(low) if low == high else f"{low}-{'' if high is None else high}"
