"""Groups of needs: their text, their balance, and to which each job belongs."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickswap.logs import LogError
from quickswap.logs.grouping import (
    group_name,
    group_of,
    groups_by_load,
    needs_as_groups,
    parse_groups,
)


def test_text_becomes_groups_and_names_become_the_text() -> None:
    groups = parse_groups("1, 2-4,5 - 16,17-")
    assert groups == [(1, 1), (2, 4), (5, 16), (17, None)]
    assert ",".join(map(group_name, groups)) == "1,2-4,5-16,17-"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a need"),
        ("1,,2", "not a need"),
        ("1,a", "'a' in the groups '1,a'"),
        ("-4", "not a need"),
        ("1-2-3", "not a need"),
        ("0-3", "'0-3' .* begins below 1"),
        ("4-2", "'4-2' .* is empty"),
        ("1-4,4-8", "'4-8' .* end at 4"),
        ("5,1", "'1' .* end at 5"),
        ("9" * 5000, "exceeds the largest"),
        ("1-,5", "must be the last"),
    ],
)
def test_invalid_groups(text: str, message: str) -> None:
    with pytest.raises(LogError, match=message):
        parse_groups(text)


def test_each_job_is_in_the_group_of_its_need() -> None:
    index = group_of([1, 17, 4, 2, 900, 16], parse_groups("1,2-4,5-16,17-"))
    assert index.dtype == np.uint32
    assert index.tolist() == [0, 3, 1, 1, 3, 2]


def test_a_need_outside_all_groups() -> None:
    with pytest.raises(LogError, match=r"need 5 .* 1-4,8- \(2 of 3 jobs"):
        group_of([9, 5, 6], [(1, 4), (8, None)])
    with pytest.raises(LogError, match="need 1 "):
        group_of([1], [(2, 4)])


def test_each_need_is_a_group() -> None:
    assert needs_as_groups([4, 1, 4, 2]) == [(1, 1), (2, 2), (4, 4)]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 50)), min_size=1, max_size=20),
    st.integers(1, 5),
)
def test_no_other_groups_balance_the_load_better(jobs: list[tuple[int, int]], most: int) -> None:
    need, work = (np.array(values) for values in zip(*jobs, strict=True))
    needs = sorted(set(need.tolist()))
    loads = [int(work[need == each].sum()) for each in needs]

    def squares(cuts: tuple[int, ...]) -> int:
        ends = (0, *cuts, len(needs))
        return sum(sum(loads[a:b]) ** 2 for a, b in pairwise(ends))

    groups = groups_by_load(need, work, most)
    assert len(groups) == min(most, len(needs))
    index = group_of(need, groups)
    found = sum(int(work[index == each].sum()) ** 2 for each in range(len(groups)))
    best = min(squares(cuts) for cuts in combinations(range(1, len(needs)), len(groups) - 1))
    assert found <= best * (1 + 1e-9) + 1e-9


def test_the_number_of_groups_is_positive() -> None:
    with pytest.raises(LogError, match="at_most is 0; it must be a whole number"):
        groups_by_load([1], [1.0], 0)
