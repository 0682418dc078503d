"""Theory and simulation, written apart, agree: seeds are fixed, tolerances five standard errors."""

from __future__ import annotations

import pytest

import quickswap as qs
from quickswap.theory import fcfs, msfq, server_filling, static_quickswap
from quickswap.theory.means import Means


def system(servers: int, *classes: tuple[int, float, float]) -> qs.System:
    """A system from (need, arrival rate, mean size) of each class."""
    return qs.System(
        servers, [qs.JobClass(n, rate, qs.Exponential(mean=mean)) for n, rate, mean in classes]
    )


UNEQUAL = system(4, (4, 0.12, 2.0), (1, 1.2, 0.9))
BUSY = system(4, (1, 2.2, 1.0), (4, 0.12, 3.0))
THREE = system(7, (1, 2.5, 1.0), (3, 0.35, 1.5), (7, 0.2, 1.5))


@pytest.mark.parametrize(
    ("found", "policy"),
    [
        (fcfs.exact(UNEQUAL), qs.FCFS()),
        (server_filling.exact(UNEQUAL), qs.ServerFilling()),
        (msfq.approximate(BUSY, 0), qs.MSFQ(0, "always")),
        (msfq.approximate(BUSY, 3), qs.MSFQ(3, "always")),
        (static_quickswap.approximate(THREE), qs.StaticQuickswap(drain="exclusive")),
        (
            static_quickswap.approximate(THREE, [2, 0, 0], [0, 2, 1]),
            qs.StaticQuickswap(thresholds=[2, 0, 0], order=[0, 2, 1], drain="exclusive"),
        ),
    ],
    ids=lambda value: value.label if isinstance(value, qs.Policy) else type(value).__module__,
)
def test_mean_response_times(found: Means, policy: qs.Policy) -> None:
    result = qs.simulate(found.system, policy, jobs=2_000_000, seed=7)
    error = 0.0 if type(found) is Means else 0.02  # of the approximations at these loads
    for each, seen in zip(found.classes, result.classes, strict=True):
        estimate = seen.mean_response_time
        allowed = 2.5 * estimate.half_width + error * estimate.value
        assert each.mean_response_time == pytest.approx(estimate.value, abs=allowed)
