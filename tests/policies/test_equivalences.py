"""Policies that are the same by definition: path by path in the core, and jumps against events.

The traces have continuous times, so no two events share an instant: with ties some of these
pairs differ (see test_twin_equivalences).
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import quickswap as qs
from quickswap.engine._core import replay
from verification.agreement import problems, same_distribution
from verification.known import FOUR, one_or_all
from verification.systems import COUNT_POLICIES, mixed, shared, uneven

JOBS = 10_000


class Trace(NamedTuple):
    """Arrival times, classes and sizes."""

    arrival: NDArray[np.float64]
    cls: NDArray[np.uint32]
    size: NDArray[np.float64]


def trace(system: qs.System, seed: int, spread: float) -> Trace:
    """Poisson arrivals; lognormal sizes, whose logarithms have the standard deviation `spread`."""
    draw = np.random.default_rng(seed)
    arrival = np.cumsum(draw.exponential(1 / system.arrival_rate, JOBS))
    cls = draw.choice(len(system.needs), JOBS, p=system.job_shares).astype(np.uint32)
    means = np.array([each.size.mean for each in system.classes])
    size = means[cls] * draw.lognormal(-(spread**2) / 2, spread, JOBS)
    return Trace(arrival, cls, size)


def starts(system: qs.System, policy: qs.Policy, jobs: Trace) -> NDArray[np.float64]:
    spec = json.dumps({"system": system.to_dict(), "policy": policy.resolve(system)})
    start, end, order, _ = replay(spec, *jobs)
    assert np.array_equal(end, start + jobs.size)
    assert sorted(order.tolist()) == list(range(JOBS))
    return start


def assert_same_paths(system: qs.System, one: qs.Policy, other: qs.Policy) -> None:
    for seed, spread in ((1, 0.5), (2, 1.5)):
        jobs = trace(system, seed, spread)
        assert np.array_equal(starts(system, one, jobs), starts(system, other, jobs))


ONE_OR_ALL = [
    one_or_all(k, load * 0.6 * k, load * 0.4) for k, load in ((2, 0.9), (7, 1.0), (32, 0.9))
]
ANY = [FOUR.with_load(0.9), uneven(0.9), shared(0.8)]


@pytest.mark.parametrize("system", ONE_OR_ALL, ids=lambda system: f"k={system.servers}")
class TestOneOrAll:
    def test_msfq_0_is_msf(self, system: qs.System) -> None:
        assert_same_paths(system, qs.MSFQ(0), qs.MSF())

    def test_msfq_k_is_adaptive(self, system: qs.System) -> None:
        assert_same_paths(system, qs.MSFQ(system.servers), qs.AdaptiveQuickswap())

    @pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
    def test_static_overlap_is_msfq_on_demand(self, system: qs.System, share: float) -> None:
        threshold = int(share * (system.servers - 1))
        static = qs.StaticQuickswap(thresholds=[threshold, 0])
        assert_same_paths(system, static, qs.MSFQ(threshold))
        assert_same_paths(system, qs.StaticQuickswap(threshold), qs.MSFQ(threshold))

    @pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
    def test_static_exclusive_is_msfq_always(self, system: qs.System, share: float) -> None:
        threshold = int(share * (system.servers - 1))
        static = qs.StaticQuickswap(thresholds=[threshold, 0], drain="exclusive")
        assert_same_paths(system, static, qs.MSFQ(threshold, "always"))


@pytest.mark.parametrize("system", ANY, ids=lambda system: f"k={system.servers}")
class TestSmash:
    def test_smash_1_is_fcfs(self, system: qs.System) -> None:
        assert_same_paths(system, qs.Smash(1), qs.FCFS())

    def test_smash_inf_is_msf(self, system: qs.System) -> None:
        assert_same_paths(system, qs.Smash(None), qs.MSF())


@pytest.mark.parametrize("system", ANY, ids=lambda system: f"k={system.servers}")
def test_balanced_splitting_without_slots_is_fcfs(system: qs.System) -> None:
    assert_same_paths(system, qs.BalancedSplitting(0), qs.FCFS())


@pytest.mark.parametrize("system", ANY, ids=lambda system: f"k={system.servers}")
class TestPatience:
    def test_without_patience_it_is_easy(self, system: qs.System) -> None:
        """Also where the core keeps track of the jobs that are due, which all are at once."""
        assert qs.EASY(patience=0).resolve(system) == {"name": "easy"}
        assert_same_paths(system, qs.EASY(age=1e-300), qs.EASY())

    @pytest.mark.parametrize("endless", [qs.EASY(patience=np.inf), qs.EASY(age=1e300)])
    def test_with_endless_patience_it_is_first_fit(
        self, system: qs.System, endless: qs.EASY
    ) -> None:
        assert_same_paths(system, endless, qs.FirstFit())

    def test_with_endless_patience_and_the_largest_first_it_is_msf(self, system: qs.System) -> None:
        assert_same_paths(system, qs.EASY(patience=np.inf, order="largest"), qs.MSF())


def test_the_policies_compared_are_different_ones() -> None:
    """So that the tests above could fail."""
    system = ONE_OR_ALL[1]
    jobs = trace(system, 1, 0.5)
    policies = [qs.FCFS(), qs.MSF(), qs.AdaptiveQuickswap(), qs.Smash(3), qs.FirstFit(), qs.LSF()]
    policies += [qs.EASY(), qs.EASY(age=2.0), qs.EASY(age=2.0, order="shortest")]
    policies += [qs.EASY(order=order, reservation="first") for order in ("expansion", "wfp3")]
    policies += [qs.MSFQ(t, drain) for t in (3, 6) for drain in ("on_demand", "always")]
    seen = {starts(system, policy, jobs).tobytes() for policy in policies}
    assert len(seen) == len(policies)


IN_DISTRIBUTION = [one_or_all(4, 1.8, 0.2), FOUR.with_rate(2.0), uneven(0.4)]
MSFQS = [qs.MSFQ(2), qs.MSFQ(4), qs.MSFQ(0, "always"), qs.MSFQ(2, "always")]
CASES = [(system, policy) for system in IN_DISTRIBUTION for policy in COUNT_POLICIES]
CASES += [(IN_DISTRIBUTION[0], policy) for policy in MSFQS]
CASES += [(IN_DISTRIBUTION[1], qs.NMSR(backfill=True)), (IN_DISTRIBUTION[0], qs.RandomizedTimers())]
CASES += [(mixed(40, [(1 + i, 1.0, 1.0) for i in range(40)], 0.4), p) for p in COUNT_POLICIES[1:3]]


@pytest.mark.parametrize(
    ("system", "policy"),
    CASES,
    ids=lambda x: f"k{x.servers}" if isinstance(x, qs.System) else x.label,
)
def test_jumps_and_events_agree_in_distribution(system: qs.System, policy: qs.Policy) -> None:
    jumps, events = (
        qs.simulate(system, policy, engine=engine, jobs=200_000, seed=5)
        for engine in ("jumps", "events")
    )
    assert jumps.inputs.engine != events.inputs.engine
    assert problems(same_distribution(policy.label, jumps, events)) == []
    assert jumps.mean_response_time.relative < 0.2


@pytest.mark.parametrize("policy", ["server-filling", "server-filling:order=srpt", "max-weight"])
def test_no_job_is_interrupted_before_the_minimum(policy: str) -> None:
    """With a minimum above all sizes each job runs in one piece, which `starts` checks."""
    sign = "," if ":" in policy else ":"
    for system in (FOUR.with_load(0.8), uneven(0.7)):
        jobs = trace(system, 1, 1.5)
        starts(system, qs.parse(f"{policy}{sign}minimum={2 * jobs.size.max()}"), jobs)


def test_costs_do_not_matter_where_no_job_is_interrupted() -> None:
    system = qs.System(4, [qs.JobClass(2, 1.6, qs.Exponential(mean=1.0))])
    jobs = trace(system, 1, 1.5)
    costs = qs.ServerFilling(overhead=1, minimum=2, restart=True)
    assert np.array_equal(starts(system, costs, jobs), starts(system, qs.FCFS(), jobs))
