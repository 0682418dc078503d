"""Arrival processes: exact rates, scaling, and what is rejected."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quickswap as qs
from quickswap.errors import ModelError
from quickswap.model.arrivals import Arrivals, MarkovModulatedPoisson, Poisson, Renewal
from quickswap.model.distributions import Empirical, Exponential, Gamma

EXAMPLES: list[Arrivals] = [
    Poisson(2.5),
    Renewal(Gamma(mean=0.4, scv=3.0)),
    Renewal(Empirical([0.0, 3.0])),
    MarkovModulatedPoisson([0.0, 5.0], [[0, 1.0], [3.0, 0]]),
]


def chains(size: int) -> st.SearchStrategy[tuple[list[float], list[list[float]]]]:
    rates = st.lists(st.floats(0.1, 9.0), min_size=size, max_size=size)
    row = st.lists(st.floats(0.01, 9.0), min_size=size, max_size=size)
    return st.tuples(rates, st.lists(row, min_size=size, max_size=size))


@given(st.integers(1, 6).flatmap(chains))
def test_rate_is_that_of_the_stationary_chain(
    chain: tuple[list[float], list[list[float]]],
) -> None:
    rates, switching = chain
    generator = np.array(switching)
    np.fill_diagonal(generator, 0.0)
    np.fill_diagonal(generator, -generator.sum(axis=1))
    balance = np.vstack([generator.T, np.ones(len(rates))])
    shares = np.linalg.lstsq(balance, np.eye(len(rates) + 1)[-1])[0]
    expected = float(shares @ np.array(rates))
    assert MarkovModulatedPoisson(rates, switching).rate == pytest.approx(expected, rel=1e-7)


def test_rates_by_hand() -> None:
    assert Poisson(2.5).rate == 2.5
    assert Renewal(Gamma(mean=0.4, scv=3.0)).rate == pytest.approx(2.5)
    # The first state holds 3/4 of the time.
    assert MarkovModulatedPoisson([0, 8], [[0, 1], [3, 0]]).rate == pytest.approx(2.0)
    assert MarkovModulatedPoisson([3], [[0]]).rate == 3.0


def test_the_diagonal_is_ignored() -> None:
    plain = MarkovModulatedPoisson([1, 2], [[0, 1], [2, 0]])
    assert MarkovModulatedPoisson([1, 2], [[-1, 1], [2, -2]]) == plain


@pytest.mark.parametrize("arrivals", EXAMPLES, ids=repr)
def test_scaling_multiplies_the_rate_and_keeps_the_kind(arrivals: Arrivals) -> None:
    scaled = arrivals.scaled(3.0)
    assert type(scaled) is type(arrivals)
    assert scaled.rate == pytest.approx(3 * arrivals.rate)


def test_scaling_compresses_renewals_and_leaves_switching_alone() -> None:
    renewal = Renewal(Gamma(mean=1.0, scv=3.0)).scaled(2.0)
    assert renewal.interarrival.scv == pytest.approx(3.0)
    modulated = MarkovModulatedPoisson([1, 4], [[0, 1], [2, 0]])
    assert modulated.scaled(2).switching == modulated.switching
    assert modulated.scaled(2).rates == (2.0, 8.0)


@pytest.mark.parametrize("arrivals", EXAMPLES, ids=repr)
def test_round_trips(arrivals: Arrivals) -> None:
    assert Arrivals.from_dict(arrivals.to_dict()) == arrivals
    assert pickle.loads(pickle.dumps(arrivals)) == arrivals
    assert (
        eval(repr(arrivals), vars(qs) | {name: getattr(qs, name) for name in qs.__all__})
        == arrivals
    )


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: Poisson(0), "arrival rate is 0; it must be a positive finite number"),
    (lambda: Poisson(-1), "is -1; it must be"),
    (lambda: Poisson(float("nan")), "is nan; it must be"),
    (lambda: Poisson(float("inf")), "is inf; it must be"),
    (lambda: Renewal(2.0), "interarrival is .*; it must be a distribution"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: MarkovModulatedPoisson([0, 0], [[0, 1], [1, 0]]), "must be above 0"),
    (lambda: MarkovModulatedPoisson([1, -1], [[0, 1], [1, 0]]), "is -1; it must be .*at least 0"),
    (
        lambda: MarkovModulatedPoisson([1, 2], [[0, 1]]),
        "2 rows of 2 numbers, one for each of its rates",
    ),
    (lambda: MarkovModulatedPoisson([1, 2], [[0, 1], [1]]), "2 rows of 2 numbers"),
    (
        lambda: MarkovModulatedPoisson([1, 2], [[0, -1], [1, 0]]),
        "row 0 of switching is .*; it must be a list of rates of at least 0",
    ),
    (lambda: MarkovModulatedPoisson([1, 2], [[0, 1], [0, 0]]), "every state to every other"),
    (lambda: MarkovModulatedPoisson([1, 2], [[0, 0], [1, 0]]), "every state to every other"),
    (lambda: MarkovModulatedPoisson([1], 3), "it must be 1 row of 1 number, one"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: Arrivals.from_dict({"process": "poison", "rate": 1}), "did you mean 'poisson'"),
    (lambda: Arrivals.from_dict({"process": "poisson"}), "requires the key rate"),
    (lambda: Arrivals.from_dict({"process": "poisson", "rte": 1}), "did you mean 'rate'"),
    (lambda: Arrivals.from_dict({"rate": 1}), "with the key process"),
    (
        lambda: Arrivals.from_dict({"process": "renewal", "interarrival": 1}),
        "it must be a distribution",
    ),
]


@pytest.mark.parametrize(("build", "sentence"), BAD)
def test_bad_input_is_answered_with_one_sentence(
    build: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(ModelError, match=sentence):
        build()


def test_an_exponential_renewal_has_the_rate_of_its_distribution() -> None:
    assert Renewal(Exponential(rate=4)).rate == 4.0
