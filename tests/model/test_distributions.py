"""The distributions: moments against SciPy and quadrature, every way to write a distribution, and
what is rejected.
"""

from __future__ import annotations

import dataclasses
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, linalg, special, stats

import quickswap.model.distributions as distributions
from quickswap.errors import ModelError
from quickswap.model.distributions import (
    DISTRIBUTIONS,
    BoundedPareto,
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    LogNormal,
    Mixture,
    Pareto,
    PhaseType,
    Tabulated,
    Uniform,
    Weibull,
)

Vector = NDArray[np.float64]

positive = st.floats(0.05, 50.0)
shapes = st.floats(0.3, 8.0)


def hyperexponential(parts: list[tuple[float, float]]) -> Hyperexponential:
    total = sum(weight for weight, _ in parts)
    return Hyperexponential([weight / total for weight, _ in parts], [rate for _, rate in parts])


def phase_type(rows: list[tuple[float, float, float, float]]) -> PhaseType:
    """A chain whose phases end, jump to the next and jump to the one before with these rates."""
    n = len(rows)
    matrix = np.zeros((n, n))
    for i, (_, end, forward, back) in enumerate(rows):
        matrix[i, (i + 1) % n] += forward
        matrix[i, i - 1] += back
        matrix[i, i] = -end - matrix[i].sum() + matrix[i, i]
    weights = np.array([row[0] for row in rows])
    return PhaseType(weights / weights.sum(), matrix)


def erlang_mixture(rows: list[tuple[float, int, float]]) -> Mixture:
    total = sum(weight for weight, _, _ in rows)
    parts = [Erlang(phases, mean) for _, phases, mean in rows]
    return Mixture([weight / total for weight, _, _ in rows], parts)


def tabulated(rows: list[tuple[float, float]]) -> Tabulated:
    """A table from differences of log-odds, and of logarithms small enough for a finite mean."""
    steps, slopes = np.array(rows).T
    odds = np.cumsum(steps)
    return Tabulated(odds - odds.mean(), np.exp(np.cumsum(slopes * steps)))


ANY_LAW: dict[str, st.SearchStrategy[Distribution]] = {
    "exponential": st.builds(lambda mean: Exponential(mean=mean), positive),
    "deterministic": st.builds(Deterministic, positive),
    "uniform": st.builds(lambda low, width: Uniform(low, low + width), positive, positive),
    "erlang": st.builds(Erlang, st.integers(1, 30), positive),
    "gamma": st.builds(Gamma, shapes, positive),
    "hyperexponential": st.lists(st.tuples(positive, positive), min_size=1, max_size=4).map(
        hyperexponential
    ),
    "lognormal": st.builds(LogNormal, st.floats(-2, 2), st.floats(0.1, 1.5)),
    "weibull": st.builds(Weibull, st.floats(0.4, 5.0), positive),
    "pareto": st.builds(Pareto, st.floats(1.05, 6.0), positive),
    "bounded_pareto": st.builds(
        lambda shape, low, ratio: BoundedPareto(shape, low, low * ratio),
        st.one_of(st.floats(0.2, 5.0), st.sampled_from([1.0, 2.0])),
        positive,
        st.floats(1.5, 1e4),
    ),
    "empirical": st.lists(st.tuples(positive, positive), min_size=1, max_size=5).map(
        lambda rows: Empirical([x for x, _ in rows], [w for _, w in rows])
    ),
    "phase_type": st.lists(
        st.tuples(positive, positive, positive, positive), min_size=2, max_size=4
    ).map(phase_type),
    "mixture": st.lists(
        st.tuples(positive, st.integers(1, 4), positive), min_size=1, max_size=3
    ).map(erlang_mixture),
    "tabulated": st.lists(
        st.tuples(st.floats(0.1, 5.0), st.floats(0.05, 0.4)), min_size=2, max_size=4
    ).map(tabulated),
}
any_distribution = st.one_of(*ANY_LAW.values())


def frozen(distribution: Distribution) -> object:
    """The same distribution in SciPy, where it has it."""
    match distribution:
        case Exponential():
            return stats.expon(scale=distribution.mean)
        case Uniform():
            return stats.uniform(distribution.low, distribution.high - distribution.low)
        case Erlang():
            return stats.gamma(distribution.phases, scale=distribution.mean / distribution.phases)
        case Gamma():
            return stats.gamma(distribution.shape, scale=distribution.scale)
        case LogNormal():
            return stats.lognorm(distribution.sigma, scale=math.exp(distribution.mu))
        case Weibull():
            return stats.weibull_min(distribution.shape, scale=distribution.scale)
        case Pareto():
            return stats.pareto(distribution.shape, scale=distribution.scale)
        case _:
            return None


def density(distribution: Distribution, x: Vector) -> Vector:
    """The density at each x inside the range of the distribution."""
    if isinstance(distribution, Hyperexponential):
        parts = zip(distribution.probabilities, distribution.rates, strict=True)
        return np.asarray(sum(p * r * np.exp(-r * x) for p, r in parts))
    if isinstance(distribution, BoundedPareto):
        mass = 1 - (distribution.low / distribution.high) ** distribution.shape
        return np.asarray(
            distribution.shape
            * distribution.low**distribution.shape
            * x ** (-distribution.shape - 1)
            / mass
        )
    return np.asarray(frozen(distribution).pdf(x))  # type: ignore[attr-defined]  # SciPy's stubs lack it


def moment(distribution: Distribution, order: int) -> float:
    """E[S^order] by Gauss-Legendre quadrature over pieces of the logarithm of the size."""
    if isinstance(distribution, Deterministic):
        return distribution.value**order
    if isinstance(distribution, Empirical):
        return float(
            np.average(np.array(distribution.values) ** float(order), weights=distribution.weights)
        )
    low, high = 1e-15, 1e9
    if isinstance(distribution, Uniform | BoundedPareto):
        low, high = distribution.low, distribution.high
    if isinstance(distribution, Pareto):
        low = distribution.scale
    cuts = np.linspace(math.log(low), math.log(high), 400)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = (cuts[1] - cuts[0]) / 2
    x = np.exp(((cuts[:-1] + cuts[1:]) / 2)[:, None] + half * nodes)
    return float(np.sum(half * weights * density(distribution, x) * x ** (order + 1.0)))


@given(any_distribution)
def test_mean_and_variance_agree_with_scipy(distribution: Distribution) -> None:
    other = frozen(distribution)
    if other is None:
        return
    mean, variance = other.stats("mv")  # type: ignore[attr-defined]  # SciPy's stubs lack it
    assert distribution.mean == pytest.approx(float(mean), rel=1e-9)
    if distribution.var < math.inf:
        assert distribution.var == pytest.approx(float(variance), rel=1e-7)
    else:
        assert not math.isfinite(variance)


def above(distribution: Distribution, x: float) -> float:
    """P(S > x)."""
    if isinstance(distribution, Deterministic):
        return float(distribution.value > x)
    if isinstance(distribution, Empirical):
        heavier = [
            w
            for value, w in zip(distribution.values, distribution.weights, strict=True)
            if value > x
        ]
        return math.fsum(heavier) / math.fsum(distribution.weights)
    if isinstance(distribution, Hyperexponential):
        parts = zip(distribution.probabilities, distribution.rates, strict=True)
        return math.fsum(p * math.exp(-r * x) for p, r in parts)
    if isinstance(distribution, PhaseType):
        powers = linalg.expm(np.array(distribution.generator) * x)
        return float((np.array(distribution.probabilities) @ powers).sum())
    if isinstance(distribution, Tabulated):
        if x <= 0:
            return 1.0
        logs, odds = np.log(distribution.values), np.array(distribution.log_odds)
        part = int(np.clip(np.searchsorted(logs, math.log(x)) - 1, 0, len(logs) - 2))
        slope = (odds[part + 1] - odds[part]) / (logs[part + 1] - logs[part])
        return float(special.expit(-odds[part] - slope * (math.log(x) - logs[part])))
    if isinstance(distribution, Mixture):
        pairs = zip(distribution.probabilities, distribution.distributions, strict=True)
        return math.fsum(share * above(part, x) for share, part in pairs)
    if isinstance(distribution, BoundedPareto):
        ends = [
            max(distribution.low, min(x, distribution.high)),
            distribution.low,
            distribution.high,
        ]
        here, low, high = (end**-distribution.shape for end in ends)
        return float((here - high) / (low - high))
    return float(frozen(distribution).sf(x))  # type: ignore[attr-defined]  # SciPy's stubs lack it


@given(any_distribution, st.floats(1e-6, 0.999))
def test_the_size_exceeded_with_a_probability_is_the_least_one(
    distribution: Distribution, probability: float
) -> None:
    size = distribution.isf(probability)
    assert above(distribution, size) <= probability * (1 + 1e-9) + 1e-12
    assert above(distribution, size * (1 - 1e-9) - 1e-12) >= probability * (1 - 1e-6) - 1e-12


@given(any_distribution, st.floats(0, 100))
def test_the_survival_function_agrees_with_scipy(distribution: Distribution, x: float) -> None:
    assert distribution.sf(x) == pytest.approx(above(distribution, x), rel=1e-9, abs=1e-12)
    assert distribution.sf(0.0) == pytest.approx(above(distribution, 0.0))
    assert distribution.sf(1e300) == 0 or isinstance(distribution, Pareto | Tabulated)


@given(any_distribution, st.floats(1e-6, 0.999))
def test_a_size_that_is_exceeded_with_a_probability_survives_with_it(
    distribution: Distribution, probability: float
) -> None:
    size = distribution.isf(probability)
    assert distribution.sf(size * (1 + 1e-9)) <= probability * (1 + 1e-6)


def test_sizes_exceeded() -> None:
    assert Exponential(mean=2).isf(0.03) == pytest.approx(2 * math.log(1 / 0.03), rel=1e-15)
    assert Deterministic(3).isf(0.99) == 3
    distribution = Empirical([4, 1, 9], [1, 2, 1])
    assert [distribution.isf(p) for p in (0.2, 0.25, 0.3, 0.5, 0.6)] == [9, 4, 4, 1, 1]
    assert Hyperexponential(mean=1, scv=1).isf(0.5) == pytest.approx(math.log(2), rel=1e-12)


@pytest.mark.parametrize(
    "distribution",
    [
        Exponential(mean=0.7),
        Deterministic(3.0),
        Uniform(0.5, 2.0),
        Erlang(4, mean=2.0),
        Gamma(shape=1.7, scale=0.6),
        Hyperexponential([0.2, 0.8], [0.1, 3.0]),
        LogNormal(mu=-0.3, sigma=0.8),
        Weibull(shape=1.6, scale=2.0),
        Pareto(shape=4.0, scale=0.5),
        BoundedPareto(shape=1.0, low=0.5, high=400.0),
        BoundedPareto(shape=2.0, low=0.5, high=400.0),
        BoundedPareto(shape=0.7, low=2.0, high=3.0),
        Empirical([1.0, 2.0, 7.0], [3, 1, 2]),
    ],
    ids=repr,
)
def test_moments_agree_with_quadrature(distribution: Distribution) -> None:
    assert distribution.mean == pytest.approx(moment(distribution, 1), rel=1e-6)
    assert distribution.second_moment == pytest.approx(moment(distribution, 2), rel=1e-6)
    assert distribution.var == pytest.approx(
        distribution.second_moment - distribution.mean**2, abs=1e-9, rel=1e-9
    )
    assert distribution.scv == pytest.approx(distribution.var / distribution.mean**2)
    if distribution.mean_inverse < math.inf:
        assert distribution.mean_inverse == pytest.approx(moment(distribution, -1), rel=1e-6)


@pytest.mark.parametrize(
    "distribution",
    [
        Exponential(mean=1),
        Uniform(mean=1),
        Erlang(1, 2.0),
        Gamma(shape=1, scale=1),
        Gamma(mean=1, scv=3),
        Hyperexponential(mean=1, scv=4),
        Weibull(shape=1, scale=1),
        Weibull(shape=0.5, mean=2),
        Empirical([0.0, 2.0]),
    ],
    ids=repr,
)
def test_mean_inverse_is_infinite_where_small_sizes_are_too_frequent(
    distribution: Distribution,
) -> None:
    assert distribution.mean_inverse == math.inf


def test_a_zero_that_never_comes_does_not_count() -> None:
    assert Empirical([0.0, 2.0], [0, 1]).mean_inverse == 0.5


def test_bounded_pareto_keeps_its_digits_near_a_whole_shape() -> None:
    for whole in (1.0, 2.0):
        exact = BoundedPareto(whole, 1.0, 1e6)
        near = BoundedPareto(whole + 1e-10, 1.0, 1e6)
        assert near.mean == pytest.approx(exact.mean, rel=1e-8)
        assert near.second_moment == pytest.approx(exact.second_moment, rel=1e-8)


def test_phase_types_include_their_relatives() -> None:
    """Chains whose distribution is known under another name have its moments, sf and isf."""
    pairs: list[tuple[PhaseType, Distribution]] = [
        (PhaseType([1], [[-4]]), Exponential(rate=4)),
        (PhaseType(rates=[3, 3, 3], continuation=[1, 1]), Erlang(3, rate=3)),
        (PhaseType([0.3, 0.7], [[-1, 0], [0, -5]]), Hyperexponential([0.3, 0.7], [1, 5])),
        (PhaseType(rates=[2] * 60, continuation=[1] * 59), Erlang(60, rate=2)),
    ]
    for chain, same in pairs:
        for order in range(1, 7):
            assert chain.moment(order) == pytest.approx(same.moment(order), rel=1e-10)
        assert chain.var == pytest.approx(same.var, rel=1e-10)
        assert chain.mean_inverse == pytest.approx(same.mean_inverse, rel=1e-9)
        for p in (0.999, 0.5, 1e-9, 1e-200):
            x = same.isf(p)
            assert chain.sf(x) == pytest.approx(p, rel=1e-9)
            assert chain.isf(p) == pytest.approx(x, rel=1e-9)


def test_a_coxian_distribution_by_hand() -> None:
    """The second phase follows with probability 0.4: E[S] = 1/2 + 0.4 / 3."""
    coxian = PhaseType(rates=[2, 3], continuation=[0.4])
    assert coxian == PhaseType([1, 0], [[-2, 0.8], [0, -3]])
    assert coxian.mean == pytest.approx(1 / 2 + 0.4 / 3)
    assert coxian.second_moment == pytest.approx(2 / 4 + 0.4 * (2 / 6 + 2 / 9))
    assert coxian.mean_inverse == math.inf  # the first phase may be the last


def test_the_mean_inverse_of_a_chain_agrees_with_quadrature() -> None:
    chain = PhaseType(
        [0.5, 0.5, 0, 0], [[-3, 1, 1, 1], [0, -2, 1, 1], [0, 1, -4, 1], [0, 0, 0, -1]]
    )
    ends = -np.array(chain.generator).sum(axis=1)

    def per_log(y: float) -> float:  # the density, as E[1/S] is the integral of density d(log x)
        power = linalg.expm(np.array(chain.generator) * math.exp(y))
        return float(np.array(chain.probabilities) @ power @ ends)

    assert chain.mean_inverse == pytest.approx(integrate.quad(per_log, -40, 6)[0], rel=1e-7)


def test_a_mixture_with_gaps_and_atoms() -> None:
    mixture = Mixture(
        [0.5, 0.3, 0.2, 0], [Deterministic(1), Uniform(4, 6), Pareto(1.5, 8), Pareto(3, 1)]
    )
    assert mixture.mean == pytest.approx(0.5 + 0.3 * 5 + 0.2 * 24)
    assert mixture.var == mixture.moment(2) == math.inf
    assert [mixture.isf(p) for p in (0.6, 0.5)] == [1, 1]
    assert mixture.isf(0.35) == pytest.approx(5)
    assert mixture.isf(0.2 / 8) == pytest.approx(8 * 4)
    assert mixture.mean_inverse == pytest.approx(
        0.5 + 0.3 * math.log(1.5) / 2 + 0.2 * 1.5 / 2.5 / 8
    )
    assert Distribution.from_dict(mixture.to_dict()) == mixture


@pytest.mark.parametrize(
    ("frozen", "infinite"),
    [
        (stats.lomax(2.5, scale=3), 3),
        (stats.gamma(0.3, scale=7), None),
        (stats.fisk(2.2, loc=1), 3),  # its survival function has an absolute error only
        (stats.f(3, 10), 5),  # its quantiles are inexact beyond 1e-12
        (stats.uniform(1, 3), None),
    ],
    ids=lambda each: getattr(getattr(each, "dist", None), "name", each),
)
def test_a_table_has_the_quantiles_and_moments_of_a_distribution(
    frozen: stats.rv_continuous, infinite: int | None
) -> None:
    table = Tabulated.of(frozen)
    for p in np.random.default_rng(1).uniform(size=500):
        assert table.isf(p) == pytest.approx(frozen.isf(p), rel=2e-5)
    assert table.mean == pytest.approx(frozen.mean(), rel=2e-5)
    assert table.var == pytest.approx(frozen.var(), rel=1e-4)
    for order in (3, 4, 5):
        assert math.isinf(table.moment(order)) == (infinite is not None and order >= infinite)
    assert Distribution.from_dict(table.to_dict()) == table


class Setup:
    """1 s with probability 1/2, otherwise 1 s and an exponential time of mean 2 s."""

    def sf(self, x: float) -> float:
        return 1.0 if x < 1 else 0.5 * math.exp(-(x - 1) / 2)

    def isf(self, probability: float) -> float:
        return 1 - 2 * math.log(min(2 * probability, 1))

    def ppf(self, probability: float) -> float:
        return 1 - 2 * math.log(min(2 - 2 * probability, 1))


class Unlike(Setup):
    def isf(self, probability: float) -> float:
        return 2 * super().isf(probability)


def test_a_class_of_three_methods_becomes_a_table() -> None:
    table = Tabulated.of(Setup())
    assert table.mean == pytest.approx(2, rel=1e-4)
    assert table.var == pytest.approx(0.5 * 8 - 1, rel=1e-4)
    assert table.isf(0.7) == pytest.approx(1, rel=1e-4)
    assert table.isf(0.1) == pytest.approx(Setup().isf(0.1), rel=1e-4)
    assert table.mean_inverse == pytest.approx(
        0.5 + 0.5 * math.exp(0.5) / 2 * special.exp1(0.5), rel=1e-4
    )


WAYS: list[tuple[Distribution, Distribution]] = [
    (Exponential(rate=4), Exponential(mean=0.25)),
    (Deterministic(mean=2), Deterministic(value=2)),
    (Uniform(mean=1.5), Uniform(low=0, high=3)),
    (Erlang(phases=3, rate=6), Erlang(phases=3, mean=0.5)),
    (Gamma(mean=2, scv=0.25), Gamma(shape=4, scale=0.5)),
    (Gamma(shape=4, mean=2), Gamma(shape=4, scale=0.5)),
    (Pareto(shape=3, mean=1.5), Pareto(shape=3, scale=1)),
    (Empirical([1, 2]), Empirical([1.0, 2.0], [1.0, 1.0])),
    (Empirical(np.array([1, 2])), Empirical((1.0, 2.0))),
]


@pytest.mark.parametrize(("one", "other"), WAYS)
def test_ways_to_write_the_same_distribution_make_equal_objects(
    one: Distribution, other: Distribution
) -> None:
    assert one == other
    assert hash(one) == hash(other)


@given(positive, st.floats(0.05, 30.0))
def test_mean_and_scv_are_what_was_asked_for(mean: float, scv: float) -> None:
    for distribution in (Gamma(mean=mean, scv=scv), LogNormal(mean=mean, scv=scv)):
        assert distribution.mean == pytest.approx(mean, rel=1e-12)
        assert distribution.scv == pytest.approx(scv, rel=1e-9)
    two = Hyperexponential(mean=mean, scv=1 + scv)
    assert two.mean == pytest.approx(mean, rel=1e-12)
    assert two.scv == pytest.approx(1 + scv, rel=1e-9)
    first, second = (p / r for p, r in zip(two.probabilities, two.rates, strict=True))
    assert first == pytest.approx(second)


@given(st.floats(0.3, 5.0), positive)
def test_weibull_by_its_mean(shape: float, mean: float) -> None:
    assert Weibull(shape=shape, mean=mean).mean == pytest.approx(mean, rel=1e-12)


@given(any_distribution, st.floats(0.01, 100.0))
def test_scaling_multiplies_the_size(distribution: Distribution, factor: float) -> None:
    scaled = distribution.scaled(factor)
    assert type(scaled) is type(distribution)
    assert scaled.mean == pytest.approx(factor * distribution.mean, rel=1e-9)
    if distribution.var < math.inf:
        assert scaled.var == pytest.approx(factor**2 * distribution.var, rel=1e-6, abs=1e-12)
    if distribution.mean_inverse < math.inf:
        assert scaled.mean_inverse == pytest.approx(distribution.mean_inverse / factor, rel=1e-9)


@given(any_distribution)
def test_repr_dictionary_and_pickle_give_the_distribution_back(distribution: Distribution) -> None:
    assert eval(repr(distribution), vars(distributions)) == distribution
    assert Distribution.from_dict(distribution.to_dict()) == distribution
    assert pickle.loads(pickle.dumps(distribution)) == distribution
    assert dataclasses.replace(distribution) == distribution  # type: ignore[type-var]  # all are dataclasses
    assert tuple(distribution.to_dict()) == ("distribution", *distribution.forms[0])


def test_every_distribution_is_listed_tested_and_final() -> None:
    assert set(DISTRIBUTIONS) == set(ANY_LAW)
    for name, distribution in DISTRIBUTIONS.items():
        assert distribution.kind == name
        assert distribution.__bases__ == (Distribution,)
        assert distribution.__final__ is True  # type: ignore[attr-defined]  # set by @final


def test_a_distribution_cannot_be_changed() -> None:
    distribution = Exponential(mean=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        distribution.mean = 2.0  # type: ignore[misc]  # frozen: it must fail


def test_dictionaries_may_hold_any_form() -> None:
    assert Distribution.from_dict({"distribution": "gamma", "mean": 2, "scv": 0.25}) == Gamma(
        4, 0.5
    )
    assert Distribution.from_dict({"distribution": "empirical", "values": [1]}) == Empirical([1])


BAD: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Tabulated([0], [1]),
        "log_odds of Tabulated .*at least two, increasing",
    ),
    (lambda: Tabulated([1, 0], [1, 2]), "it must be at least two, increasing"),
    (
        lambda: Tabulated([0, 1], [2, 1]),
        "values of Tabulated .*positive, and not decr",
    ),
    (lambda: Tabulated([0, 1], [0, 1]), "positive, and not decreasing"),
    (lambda: Tabulated([0, 1], [1, 2, 3]), "is 3; it must be 2, one for each of log_odds"),
    (lambda: Tabulated([0, 1], [1, 3]), "is inf; it must be positive and finite"),
    (lambda: Tabulated.of(3), "a frozen distribution of SciPy, or an object with sf, isf and ppf"),  # type: ignore[arg-type]  # wrong on purpose
    (
        lambda: Tabulated.of(stats.norm(1)),
        "a quantile of .* is -.*; it must be positive",
    ),
    (lambda: Tabulated.of(stats.lomax(0.9)), "is inf; it must be positive and finite"),
    (lambda: Tabulated.of(Unlike()), "the quantile 2 does not agree with the survival function: c"),
    (
        lambda: PhaseType([0.5], [[-1]]),
        "sum of the probabilities of PhaseType is 0.5; it must be 1",
    ),
    (
        lambda: PhaseType([1, 0], [[-1]]),
        "generator of PhaseType is .*; it must be 2 rows of 2 numbers",
    ),
    (lambda: PhaseType([1], [[1]]), "row 0 of generator of PhaseType is .*a negative number on"),
    (lambda: PhaseType([1, 0], [[-1, 2], [0, -1]]), "a sum of at most 0"),
    (lambda: PhaseType([1, 0], [[-1, -1], [0, -1]]), "others of at least 0"),
    (lambda: PhaseType([1, 0], [[-1, 1], [1, -1]]), "never ends from phase 0: make"),
    (lambda: PhaseType([1], [[-1e-310]]), "is inf; it must be positive and finite"),
    (lambda: PhaseType(rates=[1, 2], continuation=[]), "it must be 1 number, one fewer than rates"),
    (lambda: PhaseType(rates=[1, 2], continuation=[1.5]), "is 1.5; it must be from 0 to 1"),
    (
        lambda: PhaseType(rates=[1, 2]),
        "probabilities and generator, or rates and continuation, not",
    ),
    (
        lambda: Mixture([1], []),
        "number of distributions of Mixture is 0; it must be 1, one for each",
    ),
    (lambda: Mixture([1], [3]), "is 3; it must be a distribution such as"),  # type: ignore[list-item]  # wrong on purpose
    (lambda: Mixture([0.5, 0.6], [Deterministic(1)] * 2), "is 1.1; it must be 1"),
    (
        lambda: Distribution.from_dict(
            {"distribution": "mixture", "probabilities": [1], "distributions": [{"mean": 1}]}
        ),
        "the key distribution, one of",
    ),
    (
        lambda: Distribution.from_dict(
            {"distribution": "mixture", "probabilities": [1], "distributions": [1]}
        ),
        "an item of distributions is 1; it must be a distribution",
    ),
    (
        lambda: Exponential(mean=-1),
        "mean of Exponential is -1; it must be a positive finite number",
    ),
    (lambda: Exponential(mean=0), "positive"),
    (lambda: Exponential(mean=math.nan), "is nan; it must be"),
    (
        lambda: Exponential(rate=math.inf),
        "rate of Exponential is .*; it must be a positive finite number",
    ),
    (lambda: Exponential(mean="1"), "is '1'; it must be"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: Exponential(mean=True), "is True; it must be"),
    (lambda: Exponential(), "Exponential takes mean, or rate, not nothing"),
    (lambda: Exponential(mean=1, rate=1), "takes mean, or rate, not mean and rate"),
    (lambda: Deterministic(0), "positive"),
    (lambda: Uniform(2, 1), "low of Uniform is 2.0; it must be at most its high, 1"),
    (lambda: Uniform(0, 0), "high of Uniform is .*; it must be a positive"),
    (lambda: Uniform(-1, 1), "low of Uniform is -1; it must be a finite number of at least 0"),
    (lambda: Erlang(2.5, 1), "phases of Erlang is .*; it must be a whole number"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: Erlang(0, 1), "is 0; it must be .*whole number of at least 1"),
    (lambda: Gamma(mean=1), "shape and scale, or mean and scv, or shape and mean, not mean"),
    (lambda: Gamma(mean=1, scv=0), "scv of Gamma is .*; it must be a positive"),
    (
        lambda: Hyperexponential(mean=1, scv=0.5),
        "scv of Hyperexponential is .*; it must be .* at least 1",
    ),
    (
        lambda: Hyperexponential([0.5, 0.4], [1, 1]),
        "sum of the probabilities of Hyperexponential is 0.9; it must be 1",
    ),
    (lambda: Hyperexponential([1], [1, 2]), "is 2; it must be 1, one for each probability"),
    (
        lambda: Hyperexponential([1], [-1]),
        "an item of rates of Hyperexponential is -1.0; it must be a positive",
    ),
    (lambda: LogNormal(800, 1), "is inf; it must be positive and finite"),
    (lambda: Pareto(1.0, 1), "Pareto of shape 1 has no finite mean"),
    (lambda: Pareto(shape=0.9, mean=1), "no finite mean"),
    (lambda: BoundedPareto(1, 2, 2), "low of BoundedPareto is 2.0; it must be below its high, 2"),
    (lambda: Empirical([]), "at least one number"),
    (lambda: Empirical([0, 0]), "it must be positive and finite"),
    (lambda: Empirical([1, -1]), "an item of values of Empirical is -1; it must be .* at least 0"),
    (lambda: Empirical([1.7e308, 1.7e308]), "is inf; it must be positive and finite"),
    (
        lambda: Empirical([1, 2], [1.7e308, 1.7e308]),
        "sum of the weights of Empirical is .*; it must be positive",
    ),
    (lambda: Empirical({1: 2}), "is {1: 2}; it must be a list of at least one number"),
    (lambda: Exponential(mean=10**400), "is 10000.*; it must be a positive finite number"),
    (lambda: Empirical([1, 2], [1]), "is 1; it must be 2, one for each value"),
    (lambda: Empirical([1], [0]), "sum of the weights of Empirical is .*; it must be positive"),
    (lambda: Empirical("12"), "is '12'; it must be a list of at least one number"),  # type: ignore[arg-type]  # wrong on purpose
    (lambda: Exponential(mean=1).scaled(0), "scaling factor is .*; it must be a positive"),
    (
        lambda: Distribution.from_dict({"distribution": "gama"}),
        "unknown distribution: 'gama' .did you mean 'gamma'",
    ),
    (lambda: Distribution.from_dict({"distribution": 3}), "unknown distribution: 3"),
    (lambda: Distribution.from_dict({"mean": 1}), "the key distribution, one of"),
    (
        lambda: Distribution.from_dict({"distribution": "pareto"}),
        "Pareto takes shape and scale, or",
    ),
    (
        lambda: Distribution.from_dict({"distribution": "exponential", "men": 1}),
        "unknown key of the distribution exponential: 'men' .did you mean 'mean'.*known: mean, rate",  # noqa: E501
    ),
]


@pytest.mark.parametrize(("build", "sentence"), BAD)
def test_bad_input_is_answered_with_one_sentence(
    build: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(ModelError, match=sentence) as caught:
        build()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert caught.value.argument or caught.value.given is not None
