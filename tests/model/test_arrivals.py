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
from quickswap.model.arrivals import (
    PROCESSES,
    Arrivals,
    BatchArrivals,
    GivenArrivals,
    MarkovianArrivals,
    MarkovModulatedPoisson,
    PiecewisePoisson,
    Poisson,
    Renewal,
)
from quickswap.model.distributions import Deterministic, Empirical, Erlang, Exponential, Gamma

EXAMPLES: list[Arrivals] = [
    Poisson(2.5),
    Renewal(Gamma(mean=0.4, scv=3.0)),
    Renewal(Empirical([0.0, 3.0])),
    MarkovModulatedPoisson([0.0, 5.0], [[0, 1.0], [3.0, 0]]),
    MarkovianArrivals([[-3, 1], [0, -2]], [[2, 0], [0.5, 1.5]]),
    BatchArrivals(Renewal(Erlang(2, mean=1.0)), Empirical([1, 4], [3, 1])),
    BatchArrivals(PiecewisePoisson([1, 2], [3, 4]), Deterministic(2)),
    PiecewisePoisson([0.0, 3.0], [2.0, 1.0]),
    GivenArrivals([0.0, 0.0, 2.5], period=3.0),
]


def test_every_process_has_an_example() -> None:
    assert {type(each) for each in EXAMPLES} == set(PROCESSES.values())


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
    assert BatchArrivals(Poisson(2), Empirical([1, 4])).rate == 5.0
    assert PiecewisePoisson([0, 3], [2, 1]).rate == pytest.approx(1.0)
    assert GivenArrivals([0, 0, 2.5], period=6).rate == 0.5


def test_dispersions_by_hand() -> None:
    """Variance over mean of the number of arrivals in a long time."""
    assert Poisson(3).dispersion == 1
    assert Renewal(Gamma(mean=0.4, scv=3.0)).dispersion == pytest.approx(3)
    # batches of 1 or 3 jobs: variance 1 and mean 2 of a batch
    assert BatchArrivals(Poisson(9), Empirical([1, 3])).dispersion == pytest.approx(1 / 2 + 2)
    # two rates a and b with switching r and s: 1 + 2 (a - b)^2 r s / ((r + s)^2 (a s + b r))
    known = 1 + 2 * 25 * 3 / (16 * (0 * 3 + 5 * 1))
    assert MarkovModulatedPoisson([0, 5], [[0, 1], [3, 0]]).dispersion == pytest.approx(known)
    assert MarkovModulatedPoisson([4, 4], [[0, 1], [3, 0]]).dispersion == pytest.approx(1)


def test_markovian_arrivals_include_their_relatives() -> None:
    modulated = MarkovModulatedPoisson([0.5, 5], [[0, 1], [3, 0]])
    same = MarkovianArrivals([[0, 1], [3, 0]], [[0.5, 0], [0, 5]])
    assert same.d0 == ((-1.5, 1.0), (3.0, -8.0))
    assert same.rate == pytest.approx(modulated.rate)
    assert same.dispersion == pytest.approx(modulated.dispersion)
    erlang = MarkovianArrivals([[0, 4], [0, 0]], [[0, 0], [4, 0]])  # every second of rate 4
    assert erlang.rate == pytest.approx(2)
    assert erlang.dispersion == pytest.approx(Renewal(Erlang(2, mean=0.5)).dispersion)


def test_cycles() -> None:
    assert BatchArrivals(PiecewisePoisson([1, 2], [3, 4]), Deterministic(2)).cycle == 7
    assert GivenArrivals([1], period=5).cycle == 5
    assert Poisson(1).cycle == 0


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
    (lambda: MarkovModulatedPoisson([0, 0], [[0, 1], [1, 0]]), "is above 0"),
    (lambda: MarkovModulatedPoisson([1, -1], [[0, 1], [1, 0]]), "is -1; it must be .*at least 0"),
    (
        lambda: MarkovModulatedPoisson([1, 2], [[0, 1]]),
        "2 rows of 2 numbers, one for each state",
    ),
    (lambda: MarkovModulatedPoisson([1, 2], [[0, 1], [1]]), "2 rows of 2 numbers"),
    (
        lambda: MarkovModulatedPoisson([1, 2], [[0, -1], [1, 0]]),
        "row 0 of switching of .*; it must be a list of rates of at least 0",
    ),
    (lambda: MarkovModulatedPoisson([1, 2], [[0, 1], [0, 0]]), "every state to every other"),
    (lambda: MarkovModulatedPoisson([1, 2], [[0, 0], [1, 0]]), "every state to every other"),
    (lambda: MarkovModulatedPoisson([1], 3), "it must be 1 row of 1 number, one"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: MarkovianArrivals([[0]], [[0]]), "at least one rate of d1 .* must be above 0"),
    (lambda: MarkovianArrivals([], []), "it must be 1 row of 1 number"),
    (lambda: MarkovianArrivals([[0, 1], [1, 0]], [[1]]), "d1 .* 2 rows of 2 numbers"),
    (
        lambda: MarkovianArrivals([[0, -1], [1, 0]], [[1, 0], [0, 1]]),
        "row 0 of d0 .* at least 0",
    ),
    (
        lambda: MarkovianArrivals([[0, 1], [1, 0]], [[-1, 0], [0, 1]]),
        "row 0 of d1 .* at least 0",
    ),
    (lambda: MarkovianArrivals([[0, 1], [0, 0]], [[1, 0], [0, 1]]), "every state to every other"),
    (
        lambda: BatchArrivals(Poisson(1), Exponential(mean=2)),
        "Deterministic or Empirical",
    ),
    (lambda: BatchArrivals(Poisson(1), Empirical([1, 2.5])), "is 2.5; it must be a whole number"),
    (
        lambda: BatchArrivals(Poisson(1), Empirical([0, 2])),
        "is 0.0; it must be a whole number",
    ),
    (lambda: BatchArrivals(3, Deterministic(2)), "batches is 3; it must be a process such as"),  # type: ignore[arg-type]  # wrong on purpose
    (
        lambda: PiecewisePoisson([0, 0], [1, 1]),
        "rates of Piecewise.*at least one is above 0",
    ),
    (
        lambda: PiecewisePoisson([1, 2], [1]),
        "is 1; it must be 2, one for each rate",
    ),
    (
        lambda: PiecewisePoisson([1, 2], [1, 0]),
        "item of durations .* is 0.0; it must",
    ),
    (
        lambda: GivenArrivals([1, 0.5], 2),
        "item 1 of times .* is 0.5; it must",
    ),
    (
        lambda: GivenArrivals([1, 3], 2),
        "period .* is 2.0; it must be at least",
    ),
    (lambda: GivenArrivals([], 2), "at least one number"),
    (lambda: GivenArrivals([0], 0), "period of GivenArrivals is 0; it must be a positive"),
    (
        lambda: Arrivals.from_dict({"process": "batch", "batches": 3, "jobs": {}}),
        "a distribution|the key distribution",
    ),
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
