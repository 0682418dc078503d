"""The pieces of a log that intervals use."""

from __future__ import annotations

import numpy as np
import pytest

from quickswap.engine._core import bin_counts
from quickswap.statistics.bootstrap import Pieces
from replay_helpers import DAY


class TestPieces:
    @pytest.mark.parametrize(
        ("days", "expected"),
        [(100, (14, "week")), (41, (6, "week")), (30, (30, "day")), (1, (24, "hour"))],
    )
    def test_units(self, days: float, expected: tuple[int, str]) -> None:
        pieces = Pieces.of(0, days * DAY)
        assert (len(pieces), pieces.unit) == expected

    def test_too_short_for_an_interval(self) -> None:
        pieces = Pieces.of(0, 3 * 3600)
        assert (len(pieces), pieces.unit) == (1, "whole")

    def test_coverage_of_a_mean_of_independent_weeks(self) -> None:
        """Of 600 logs of twelve weeks about 95 % must hold the true mean."""
        draw = np.random.default_rng(7)
        held = 0
        for seed in range(600):
            pieces = Pieces.of(0, 12 * 7 * DAY, seed=seed)
            jobs_of_week = draw.poisson(50, 12)
            total = np.array([draw.exponential(1.0, n).sum() for n in jobs_of_week])
            sums = pieces.sums(np.column_stack([jobs_of_week, total]).astype(float))
            mean = pieces.estimates((sums[:, 1] / sums[:, 0])[:, None])[0]
            held += mean.low <= 1.0 <= mean.high
        assert 0.92 <= held / 600 <= 0.98

    @pytest.mark.parametrize("weeks", [12, 100, 400])
    def test_sums_in_parts_are_those_of_the_whole(self, weeks: int) -> None:
        pieces = Pieces.of(0, weeks * 7 * DAY)
        counts = np.random.default_rng(3).integers(0, 1000, (weeks, 9, 250)).astype(float)
        whole = np.einsum("dp,pgb->dgb", pieces.weights, counts)
        assert np.array_equal(pieces.sums(counts), whole)


def test_counts_in_bins() -> None:
    draw = np.random.default_rng(5)
    edges = np.array([0.0, 1.0, 2.5, 4.0])
    values = np.append(draw.choice(edges, 50), [*draw.uniform(-1, 5, 50), np.inf, np.nan])
    cell = draw.integers(0, 3, len(values))
    expected = np.zeros((3, 5))
    np.add.at(expected, (cell, np.searchsorted(edges, values)), 1)
    assert np.array_equal(bin_counts(values, cell, 3, edges), expected)
    for wrong in (cell - 1, cell + 1, cell[1:]):
        with pytest.raises(ValueError, match="cell"):
            bin_counts(values, wrong, 3, edges)
