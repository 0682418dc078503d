"""Systems: names, loads, the exact capacity, and what is rejected."""

from __future__ import annotations

import json
import math
import pickle
import tomllib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import quickswap as qs
from quickswap.errors import InfiniteVarianceWarning, ModelError
from quickswap.model.capacity import largest_rate

UNIT = qs.Exponential(mean=1.0)


def system(servers: int, *classes: tuple[int, float]) -> qs.System:
    return qs.System(servers, [qs.JobClass(need, rate, UNIT) for need, rate in classes])


def test_the_surface_of_the_issue() -> None:
    made = qs.System(
        servers=32,
        classes=[
            qs.JobClass(need=1, arrival_rate=6.3, size=qs.Exponential(mean=1.0)),
            qs.JobClass(need=32, arrival_rate=0.7, size=qs.Exponential(mean=1.0), name="heavy"),
        ],
    )
    assert made.arrival_rate == pytest.approx(7.0)
    assert made.load == pytest.approx(6.3 / 32 + 0.7)
    assert made.class_loads == pytest.approx((6.3 / 32, 0.7))
    assert made.load_shares == pytest.approx((6.3 / 28.7, 22.4 / 28.7))
    assert made.job_shares == pytest.approx((0.9, 0.1))
    assert made.capacity == pytest.approx(7.0 / made.load)
    assert made.names == ("need 1", "heavy")
    assert made.one_or_all
    assert made.with_rate(3.0).arrival_rate == pytest.approx(3.0)
    assert made.with_rate(3.0).job_shares == pytest.approx(made.job_shares)
    assert made.with_load(0.5).load == pytest.approx(0.5)
    assert made.with_load(1.7).load == pytest.approx(1.7)


def test_systems_are_values() -> None:
    one, other = system(4, (1, 1.0), (4, 0.2)), system(4, (1, 1.0), (4, 0.2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != system(4, (1, 1.0), (4, 0.3))
    assert eval(repr(one), vars(qs) | {name: getattr(qs, name) for name in qs.__all__}) == one
    assert pickle.loads(pickle.dumps(one)) == one


def test_dictionary_json_and_toml_give_the_system_back() -> None:
    made = qs.System(
        9,
        [
            qs.JobClass(2, 0.1, qs.Gamma(mean=2, scv=3), 'quoted "\\ name é\x7f'),
            qs.JobClass(3, arrivals=qs.Renewal(qs.Uniform(1, 2)), size=qs.Empirical([1e-9, 1e20])),
            qs.JobClass(
                1,
                size=qs.Hyperexponential(mean=1, scv=5),
                arrivals=qs.MarkovModulatedPoisson([1, 2], [[0, 3], [4, 0]]),
            ),
        ],
    )
    assert qs.System.from_dict(made.to_dict()) == made
    assert qs.System.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    assert qs.System.from_dict(tomllib.loads(made.to_toml())) == made


@pytest.mark.parametrize("need", [2, 2.0, np.int64(2), np.uint8(2), np.float32(2.0)])
def test_whole_numbers_of_any_kind_are_taken(need: Any) -> None:
    made = qs.JobClass(need, 1, UNIT)
    assert type(made.need) is int
    assert made == qs.JobClass(2, 1.0, UNIT)


def test_classes_without_a_name_are_called_after_their_need() -> None:
    a, b, c = (qs.JobClass(2, 1, UNIT, name) for name in (None, None, "need 2 (1)"))
    d = qs.JobClass(3, 1, UNIT)
    assert qs.System(4, [a, d, b, c]).names == ("need 2 (2)", "need 3", "need 2 (3)", "need 2 (1)")
    assert qs.System(4, [a, d]).names == ("need 2", "need 3")


def test_two_classes_that_both_need_all_are_not_one_or_all() -> None:
    assert system(2, (1, 1.0), (2, 1.0)).one_or_all
    assert not system(1, (1, 1.0), (1, 1.0)).one_or_all
    assert not system(4, (1, 1.0), (1, 1.0), (4, 1.0)).one_or_all
    assert not system(4, (1, 1.0), (2, 1.0)).one_or_all


# Capacity


def test_capacity_of_one_class_counts_whole_slots() -> None:
    assert system(15, (9, 0.3)).capacity == pytest.approx(1.0)
    assert system(15, (9, 0.3)).load == pytest.approx(0.18)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.6, 0.75, 0.9])
def test_capacity_of_needs_two_and_one_on_three(share: float) -> None:
    """Packings 2+1 and 1+1+1: at most 1 of the large, at most 3 servers in all."""
    expected = min(1 / share, 3 / (2 * share + (1 - share)))
    assert system(3, (2, share), (1, 1 - share)).capacity == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.5, 0.8])
def test_capacity_of_needs_six_and_four_on_ten(share: float) -> None:
    """Packings 6+4 and 4+4: the second leaves two servers idle."""
    expected = min(1 / share, 2.0)
    assert system(10, (6, share), (4, 1 - share)).capacity == pytest.approx(expected, rel=1e-7)


def by_all_packings(servers: int, needs: list[int], works: list[float]) -> float:
    """The capacity as one linear program over all packings written out."""
    packings: list[list[int]] = [[]]
    for need in needs:
        packings = [
            [*packing, count]
            for packing in packings
            for used in [sum(n * x for n, x in zip(needs, packing, strict=False))]
            for count in range((servers - used) // need + 1)
        ]
    columns = np.array(packings, dtype=float).T
    # Variables: the rate, then the share of time of each packing.
    answer = linprog(
        np.r_[-1.0, np.zeros(columns.shape[1])],
        A_ub=np.c_[np.array(works), -columns],
        b_ub=np.zeros(len(needs)),
        A_eq=np.r_[0.0, np.ones(columns.shape[1])][None, :],
        b_eq=[1.0],
    )
    assert answer.fun is not None
    return -float(answer.fun)


def cases(servers: int) -> st.SearchStrategy[tuple[int, list[tuple[int, float]]]]:
    row = st.tuples(st.integers(1, servers), st.floats(0.01, 3.0))
    return st.tuples(st.just(servers), st.lists(row, min_size=1, max_size=4))


@given(st.integers(2, 14).flatmap(cases))
def test_capacity_agrees_with_all_packings_written_out(
    case: tuple[int, list[tuple[int, float]]],
) -> None:
    servers, rows = case
    needs, works = [need for need, _ in rows], [work for _, work in rows]
    expected = by_all_packings(servers, needs, works)
    assert largest_rate(servers, needs, works) == pytest.approx(expected, rel=1e-6)


def test_capacity_with_many_needs_that_pack_badly() -> None:
    needs = list(range(27, 100, 2))
    works = [1.0 / need for need in needs]
    found = largest_rate(100, needs, works)
    assert found < 0.99 * 100 / len(needs)  # the pool is out of reach
    assert found == pytest.approx(by_all_packings(100, needs, works), rel=1e-6)


def test_capacity_does_not_depend_on_the_rate_or_on_how_classes_are_cut() -> None:
    one = system(10, (6, 0.3), (4, 0.5))
    cut = system(10, (6, 0.1), (4, 0.5), (6, 0.2))
    assert cut.capacity == pytest.approx(one.capacity)
    assert one.with_load(0.3).capacity == pytest.approx(one.capacity)


def test_capacity_with_a_class_of_hardly_any_work() -> None:
    assert largest_rate(10, [3, 4, 7], [1e-12, 1.0, 1e9]) == pytest.approx(1e-9, rel=1e-6)
    assert largest_rate(10, [3, 4, 7], [1e-300, 1.0, 1e-9]) == pytest.approx(2.0, rel=1e-6)


def test_capacity_where_needs_divide_needs_no_solver() -> None:
    assert system(2**20, (1, 1.0), (2**10, 0.1), (2**20, 0.01)).capacity == pytest.approx(
        1.11 * 2**20 / (1 + 102.4 + 2**20 / 100), rel=1e-12
    )


# What is rejected

BAD: list[tuple[Callable[[], object], str]] = [
    (
        lambda: qs.JobClass(0, 1, UNIT),
        "need of a job class is .*; it must be a whole number of at least 1",
    ),
    (lambda: qs.JobClass(-1, 1, UNIT), "is -1; it must be"),
    (lambda: qs.JobClass(2.5, 1, UNIT), "is 2.5; it must be .*whole number"),  # type: ignore[call-overload]  # wrong on purpose
    (lambda: qs.JobClass(True, 1, UNIT), "is True; it must be .*whole number"),
    (lambda: qs.JobClass("2", 1, UNIT), "is '2'; it must be .*whole number"),  # type: ignore[call-overload]  # wrong on purpose
    (lambda: qs.JobClass(math.nan, 1, UNIT), "is nan; it must be"),  # type: ignore[call-overload]  # wrong on purpose
    (
        lambda: qs.JobClass(1, -1.0, UNIT),
        "arrival_rate of a job class is .*; it must be a positive finite",
    ),
    (lambda: qs.JobClass(1, math.nan, UNIT), "is nan; it must be"),
    (lambda: qs.JobClass(1, math.inf, UNIT), "is inf; it must be"),
    (lambda: qs.JobClass(1, 1.0, 2.0), "size is 2.0; it must be a distribution"),  # type: ignore[call-overload]  # wrong on purpose
    (lambda: qs.JobClass(1, 1.0), "size is .*; it must be a distribution"),  # type: ignore[call-overload]  # wrong on purpose
    (lambda: qs.JobClass(1, size=UNIT), "arrival_rate or arrivals"),  # type: ignore[call-overload]  # wrong on purpose
    (
        lambda: qs.JobClass(1, 1.0, UNIT, arrivals=qs.Poisson(1)),  # type: ignore[call-overload]  # wrong on purpose
        "arrival_rate or arrivals",
    ),
    (lambda: qs.JobClass(1, size=UNIT, arrivals=3), "it must be a process"),  # type: ignore[call-overload]  # wrong on purpose
    (lambda: qs.JobClass(1, 1, UNIT, ""), "is ''; it must be a text that is not empty"),
    (lambda: qs.System(3, []), "a list of at least one job class"),
    (lambda: qs.System(3, [1]), "an item of classes is 1; it must be a job class"),  # type: ignore[list-item]  # wrong on purpose
    (lambda: qs.System(3, "ab"), "list of job classes"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: qs.System(0, [qs.JobClass(1, 1, UNIT)]), "servers is .*; it must be a whole number"),
    (lambda: qs.System(2.5, [qs.JobClass(1, 1, UNIT)]), "is 2.5; it must be"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: system(3, (4, 1.0)), "need of class 0 is 4; it must be .* from 1 to 3"),
    (lambda: qs.System(3, [qs.JobClass(1, 1, UNIT, "a")] * 2), "'a' is given to two classes"),
    (lambda: system(3, (1, 1.0)).with_rate(0), "rate is .*; it must be a positive"),
    (lambda: system(3, (1, 1.0)).with_load(-0.5), "load is .*; it must be a positive"),
    (lambda: qs.System.from_dict({"servers": 3}), "requires the key classes"),
    (lambda: qs.System.from_dict({"server": 3}), "unknown key of a system.*did you mean 'servers'"),
    (lambda: qs.System.from_dict({"servers": 3, "classes": [3]}), "is 3; it must be a table"),
    (
        lambda: qs.System.from_dict({"servers": 3, "classes": [{"need": 1}]}),
        "requires the key size",
    ),
    (
        lambda: qs.System.from_dict({"servers": 3, "classes": [{"ned": 1}]}),
        "unknown key of a class: 'ned' .did you mean 'need'",
    ),
]


@pytest.mark.parametrize(("build", "sentence"), BAD)
def test_bad_input_is_answered_with_one_sentence(
    build: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(ModelError, match=sentence) as caught:
        build()
    assert str(caught.value).endswith(".")
    assert caught.value.argument or caught.value.given is not None


@pytest.mark.parametrize("given", [None, 3, "servers", [("servers", 3)], b"{}"])
def test_what_is_no_table_is_refused(given: Any) -> None:
    with pytest.raises(ModelError, match=r"the system is .*; it must be a table"):
        qs.System.from_dict(given)


def test_errors_say_where() -> None:
    data = system(3, (1, 1.0), (2, 1.0)).to_dict()
    data["classes"][1]["size"]["mean"] = -1  # type: ignore[index]  # a table of tables
    with pytest.raises(ModelError) as caught:
        qs.System.from_dict(data)
    assert caught.value.where == ("classes", 1, "size", "mean")


def test_infinite_variance_warns_once_where_the_class_is_built() -> None:
    with pytest.warns(InfiniteVarianceWarning, match="infinite variance") as caught:
        made = qs.JobClass(1, 1.0, qs.Pareto(shape=1.5, scale=1.0))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qs.System(2, [made]).with_load(0.5).with_rate(0.1)
        qs.JobClass(1, 1.0, qs.Pareto(shape=3.5, scale=1.0))
