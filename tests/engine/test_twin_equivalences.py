"""Policies that are the same by definition start the same jobs at the same times in the twin.

The traces have continuous times, so no two events share an instant: with ties some of these
pairs are different policies (in an empty system, MSF prefers the heavy one of two arrivals, MSFQ(0)
the light one).
"""

import random
from itertools import combinations
from typing import Any

import pytest

from twin import check, run

Jobs = list[tuple[float, int, float]]
SEEDS = range(12)


def trace(seed: int, shares: list[float], rate: float, jobs: int) -> Jobs:
    """Poisson arrivals of classes chosen by `shares`, exponential sizes of mean 1."""
    generator = random.Random(seed)
    now, out = 0.0, []
    for _ in range(jobs):
        now += generator.expovariate(rate)
        cls = generator.choices(range(len(shares)), shares)[0]
        out.append((now, cls, generator.expovariate(1.0)))
    return out


def assert_same(
    servers: int, needs: list[int], one: dict[str, Any], other: dict[str, Any], jobs: Jobs
) -> None:
    a, b = run(servers, needs, one, jobs), run(servers, needs, other, jobs)
    check(a)
    assert (a.order, a.start, a.end) == (b.order, b.start, b.end)


def msfq(threshold: int, drain: str) -> dict[str, Any]:
    return {"name": "msfq", "threshold": threshold, "drain": drain}


def static(drain: str, light_threshold: int) -> dict[str, Any]:
    """On one-or-all, the heavy class (1) first, with the threshold 0 it always has."""
    name, thresholds = "static-quickswap", [light_threshold, 0]
    return {"name": name, "drain": drain, "order": [1, 0], "thresholds": thresholds}


def one_or_all(seed: int, servers: int) -> Jobs:
    """A trace at a load near 1, where lights and heavies queue."""
    return trace(seed, [0.8, 0.2], 1 / (0.8 / servers + 0.2), 120)


@pytest.mark.parametrize("servers", [2, 3, 5])
@pytest.mark.parametrize("seed", SEEDS)
class TestOneOrAll:
    def test_msfq_0_is_msf(self, servers: int, seed: int) -> None:
        jobs = one_or_all(seed, servers)
        assert_same(servers, [1, servers], msfq(0, "on_demand"), {"name": "msf"}, jobs)
        assert_same(servers, [1, servers], msfq(0, "always"), {"name": "msf"}, jobs)

    def test_msfq_k_is_adaptive(self, servers: int, seed: int) -> None:
        adaptive = {"name": "adaptive-quickswap"}
        jobs = one_or_all(seed, servers)
        assert_same(servers, [1, servers], msfq(servers, "on_demand"), adaptive, jobs)

    def test_static_is_msfq(self, servers: int, seed: int) -> None:
        jobs = one_or_all(seed, servers)
        for threshold in range(servers):
            for variant, drain in [("overlap", "on_demand"), ("exclusive", "always")]:
                one, other = static(variant, threshold), msfq(threshold, drain)
                assert_same(servers, [1, servers], one, other, jobs)


@pytest.mark.parametrize(
    ("window", "same_as"), [(1, {"name": "fcfs"}), (None, {"name": "msf"})], ids=["1", "inf"]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_smash(window: int | None, same_as: dict[str, Any], seed: int) -> None:
    smash = {"name": "smash", "window": window}
    jobs = trace(seed, [0.5, 0.2, 0.2, 0.1], 2.0, 120)
    assert_same(7, [1, 3, 3, 5], smash, same_as, jobs)


SERVERS = 4
PAIRS = {
    "msfq 0 and msf": (msfq(0, "on_demand"), {"name": "msf"}),
    "msfq k and adaptive": (msfq(SERVERS, "on_demand"), {"name": "adaptive-quickswap"}),
    "static overlap and on demand": (static("overlap", 2), msfq(2, "on_demand")),
    "static exclusive and always": (static("exclusive", 2), msfq(2, "always")),
}


def differ(pair: str, sizes: float | None) -> bool:
    """Whether the pair differs on some trace whose sizes are all `sizes`, or exponential."""
    one, other = PAIRS[pair]
    for seed in range(40):
        jobs = one_or_all(seed, SERVERS)
        jobs = jobs if sizes is None else [(at, cls, sizes) for at, cls, _ in jobs]
        if (
            run(SERVERS, [1, SERVERS], one, jobs).start
            != run(SERVERS, [1, SERVERS], other, jobs).start
        ):
            return True
    return False


@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_are_the_same_only_where_ends_share_no_instant(pair: str) -> None:
    """Jobs of equal sizes that start together end together, although no arrivals coincide."""
    assert not differ(pair, None)
    assert differ(pair, 1.0) == (pair != "static overlap and on demand")


def test_static_overlap_differs_where_arrivals_share_an_instant() -> None:
    jobs = [(0.0, 0, 1.0), (0.0, 1, 1.0)]
    one, other = PAIRS["static overlap and on demand"]
    starts = [run(SERVERS, [1, SERVERS], policy, jobs).start for policy in (one, other)]
    assert starts == [[1.0, 0.0], [0.0, 1.0]]


def test_the_variants_of_msfq_are_different_policies() -> None:
    """So that the tests above could fail: thresholds and drains matter on these traces."""
    policies = [msfq(0, "always"), msfq(4, "always"), msfq(4, "on_demand"), msfq(5, "on_demand")]
    traces = [one_or_all(seed, 5) for seed in SEEDS]
    starts = [[run(5, [1, 5], policy, jobs).start for jobs in traces] for policy in policies]
    assert all(one != other for one, other in combinations(starts, 2))
