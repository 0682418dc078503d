"""Half-widths and the quantile of Student's t against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtrit

from quickswap.engine._core import student_t
from quickswap.statistics.control import controlled
from quickswap.statistics.estimates import Floats, Split, half_widths

LEVELS = (0.55, 0.6, 0.74, 0.75, 0.9, 0.95, 0.975, 0.9899, 0.99, 0.995, 0.999, 0.9999)


def test_student_t_is_that_of_scipy() -> None:
    draw = np.random.default_rng(1)
    freedom = np.concatenate(
        [
            np.arange(1, 200),
            1 + draw.exponential(10, 2000),
            10 ** draw.uniform(0, 8, 2000),
        ]
    )
    for level in LEVELS:
        found = [student_t(each, level) for each in freedom.tolist()]
        assert found == pytest.approx(stdtrit(freedom, level), rel=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.5001, 0.51, *LEVELS, 0.999999])
def test_student_t_has_its_closed_forms(level: float) -> None:
    centre = level - 0.5
    assert student_t(1, level) == pytest.approx(
        1 / np.tan(np.pi * (1 - level)), rel=1e-12, abs=1e-15
    )
    two = 2 * centre * np.sqrt(0.5 / (level * (1 - level)))
    assert student_t(2, level) == pytest.approx(two, rel=1e-12)


def by_definition(values: Floats, sizes: list[int], reciprocal: bool) -> float:
    """Return the half-width of one quantity, batch by batch."""
    whole, less = abs(values[0]), values[1:]
    number = len(less)
    shares = less - less.mean()
    squares = float(shares @ shares)
    lagged, first = 0.0, 0
    for size in sizes:
        own = shares[first : first + size]
        lagged += float(own[1:] @ own[:-1])
        first += size
    correlation = min(max(lagged / squares + 1 / number, 0.0), 0.8) if max(sizes) > 1 else 0.0
    widening = (1 + correlation) / (1 - correlation)
    error = np.sqrt((number - 1) / number * squares * widening)
    half = float(stdtrit(max(number / widening - 1, 1), 0.975) * error)
    return half / (1 - min(half / whole, 0.5)) if reciprocal else half


@pytest.mark.parametrize("sizes", [[16], [4, 4, 4, 4], [1] * 16, [3, 2], [2]])
def test_half_widths_follow_their_definition(sizes: list[int]) -> None:
    draw = np.random.default_rng(len(sizes))
    noise = draw.normal(size=(sum(sizes), 30))
    for each in range(1, len(noise)):  # more and more correlated
        noise[each] += np.linspace(0, 1, 30) * noise[each - 1]
    values = np.concatenate([noise.sum(axis=0)[None], noise.sum(axis=0) - noise]) / 30
    flags = np.arange(30) % 2 == 0
    found = half_widths(values, sizes, reciprocal=flags)
    expected = [
        by_definition(each, sizes, flag) for each, flag in zip(values.T, flags, strict=True)
    ]
    assert found == pytest.approx(expected, rel=1e-10)


def test_half_widths_of_exact_and_unknown_values() -> None:
    values = np.tile([2.0, 0.0, np.nan, np.inf], (9, 1))
    assert half_widths(values, [4, 4]) == pytest.approx([0.0, 0.0, np.nan, np.nan], nan_ok=True)
    values[3, 0] *= 1 + 1e-15
    assert half_widths(values, [4, 4])[0] == 0.0
    assert np.isnan(half_widths(values[:2], [1])).all()


def test_one_control_twice_is_one_control() -> None:
    draw, split = np.random.default_rng(1), Split([4] * 4, [4] * 16)
    control = draw.normal(size=(64, 1))
    values = draw.normal(size=(64, 5)) + control * np.arange(5)
    rows, controls = split.whole_and_less(values), split.whole_and_less(control)
    once = controlled(rows, controls, split)
    twice = controlled(rows, np.concatenate([controls, 3 * controls], axis=1), split)
    plain = rows[:17]
    # the same regression, but shrunk a little more for the second control
    assert np.abs(twice - once).max() < 0.2 * np.abs(plain - once).max()
    assert once.std(axis=0)[-1] < 0.5 * plain.std(axis=0)[-1]
