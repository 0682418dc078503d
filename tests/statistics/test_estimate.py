"""An estimate as a number: formats, comparison, and arithmetic by error propagation."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
import pytest

import quickswap as qs

E = qs.Estimate
A, B = E(6.0, 0.3), E(2.0, 0.4)


def near(found: E, value: float, half_width: float) -> None:
    assert isinstance(found, E)
    assert (found.value, found.half_width) == pytest.approx((value, half_width), nan_ok=True)


def test_an_estimate_is_a_number() -> None:
    assert float(A) == 6.0
    assert math.sqrt(E(4.0, 1.0)) == 2.0
    assert np.array([A, B], dtype=float).tolist() == [6.0, 2.0]
    assert (A.low, A.high) == pytest.approx((5.7, 6.3))


@pytest.mark.parametrize(
    ("estimate", "spec", "text"),
    [
        (A, "", "6.00 ± 0.30"),
        (A, ".3f", "6.000 ± 0.300"),
        (E(12345.678, 9.5), ",.1f", "12,345.7 ± 9.5"),
        (E(0.123, 0.004), ".1%", "12.3% ± 0.4%"),
        (E(2.0, 0.0), ".3f", "2.000"),
        (E(2.0, math.nan), ".3f", "2.000 ± ?"),
        (E(math.nan, math.nan), ".3f", "-"),
        (E(math.inf, 0.0), ".3f", "infinite"),
        (A, ">14", "   6.00 ± 0.30"),
        (A, "<13", "6.00 ± 0.30  "),
    ],
)
def test_formats(estimate: E, spec: str, text: str) -> None:
    assert format(estimate, spec) == text


def test_a_format_for_neither_numbers_nor_text_is_rejected() -> None:
    with pytest.raises(ValueError, match="format"):
        format(A, "x")


def test_comparison_with_a_number_is_that_of_the_value() -> None:
    assert A > 5
    assert A >= 6
    assert not A <= 5.9
    assert np.float64(7) > A
    assert 5 < A < 7
    nothing = E(math.nan, math.nan)
    assert not nothing < 1
    assert not nothing > 1


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize("other", [B, "5", None])
def test_only_numbers_are_compared(
    compare: Callable[[object, object], bool], other: object
) -> None:
    with pytest.raises(TypeError):
        compare(A, other)


def test_equality_is_that_of_both_fields() -> None:
    assert E(5.0, 0.1) == E(5.0, 0.1) != E(5.0, 0.2)
    assert E(5.0, 0.0) != 5
    assert len({E(5.0, 0.1), E(5.0, 0.1), E(5.0, 0.2)}) == 2


def test_an_interval_contains_its_ends() -> None:
    assert [A.contains(x) for x in (5.6, 5.7, 6, 6.3, 6.4)] == [False, True, True, True, False]
    assert E(2.0, 0.0).contains(2)
    assert not E(2.0, math.nan).contains(2)


def test_arithmetic_with_numbers_is_exact() -> None:
    near(A + 1, 7, 0.3)
    near(1 + A, 7, 0.3)
    near(A - 1, 5, 0.3)
    near(1 - A, -5, 0.3)
    near(-A, -6, 0.3)
    near(+A, 6, 0.3)
    near(abs(-A), 6, 0.3)
    near(-2 * A, -12, 0.6)
    near(A * 2, 12, 0.6)
    near(A / -3, -2, 0.1)
    near(np.float64(2) * A, 12, 0.6)
    near(np.float64(1) + A, 7, 0.3)


def test_arithmetic_of_independent_estimates_propagates_errors() -> None:
    near(A + B, 8, 0.5)
    near(A - B, 4, 0.5)
    near(A * B, 12, math.hypot(0.3 * 2, 0.4 * 6))
    near(A / B, 3, math.hypot(0.3 / 2, 0.4 * 6 / 4))
    near(12 / A, 2, 0.3 * 12 / 36)
    near(sum([A, B, B], start=E(0.0, 0.0)) / 3, 10 / 3, math.sqrt(0.09 + 0.16 + 0.16) / 3)
    near(E(0.0, 1.0) * B, 0, 2)
    near(A - E(1.0, math.nan), 5, math.nan)


def test_propagation_agrees_with_draws() -> None:
    draw = np.random.default_rng(1)
    a, b = 6 + 0.03 * draw.normal(size=100_000), 2 + 0.04 * draw.normal(size=100_000)
    small = E(6.0, 0.03), E(2.0, 0.04)  # of one standard deviation
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        found = operation(*small)
        # the standard error of a standard deviation of n draws is its share 1 / sqrt(2 n)
        assert found.half_width == pytest.approx(operation(a, b).std(), rel=0.01)


def test_a_class_of_a_result_by_its_name() -> None:
    result = qs.simulate("four-class", "msf", jobs=2000)
    first = result.classes[0]
    assert result[first.name] is first
    assert result["all"] is result.overall
    for wrong in ("lite", 0, None):
        with pytest.raises(qs.QuickswapError, match="unknown class") as error:
            result[wrong]  # type: ignore[index]  # a mistake of the user
        assert isinstance(error.value, LookupError)
        assert error.value.argument == "cls"
        assert first.name in error.value.allowed
