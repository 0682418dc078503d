"""Backfilling during a drain: schedules by hand, what it equals, the exact chain, what is rejected.

A timeline in a comment reads `time: what completes | what arrives | what starts`; jobs are numbered
from 0.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import quickswap as qs
from hypothesis_settings import FEW
from model.test_distributions import any_distribution
from policies.test_equivalences import assert_same_paths
from quickswap.engine._core import replay
from quickswap.errors import PolicyError
from quickswap.model.distributions import Distribution
from quickswap.policies import Policy
from quickswap.policies.draining import by_estimates
from quickswap.policies.remaining import excess
from quickswap.theory import chain
from replay_helpers import jobs, log_of
from twin import run
from verification.agreement import near, problems, same_distribution
from verification.known import one_or_all
from verification.systems import mixed

Jobs = list[tuple[float, int, float]]


def exponential(servers: int, *classes: tuple[int, float]) -> qs.System:
    """Classes of a need and a mean size."""
    return qs.System(
        servers, [qs.JobClass(need, 1, qs.Exponential(mean=mean)) for need, mean in classes]
    )


def served(
    system: qs.System, policy: Policy, trace: Jobs, estimates: list[float] | None = None
) -> list[float]:
    """When each job starts, by the core in debug mode and by the twin."""
    resolved = policy.resolve(system)
    resolved = resolved if estimates is None else by_estimates(resolved)
    spec = json.dumps({"system": system.to_dict(), "policy": resolved})
    kinds = (np.float64, np.uint32, np.float64)
    columns: list[NDArray[np.generic]] = [
        np.array([job[i] for job in trace], dtype=kind) for i, kind in enumerate(kinds)
    ]
    seen = None if estimates is None else np.array(estimates, dtype=np.float64)
    start, *_ = replay(spec, *columns, estimate=seen, debug=True)  # type: ignore[arg-type] # as built
    assert (
        start.tolist()
        == run(system.servers, system.needs, resolved, trace, estimates=estimates).start
    )
    found: list[float] = start.tolist()
    return found


class TestByHand:
    # k = 4.  0: | 0 (need 2) | 0   1: | 1 (need 4) | drain for it   2: | 2 (need 1, mean 1),
    # 3 (need 1, mean 2) | job 0 is expected to leave after 6: 2 * ln(1 / .03) = 7.0 is too long,
    # 1 * ln(1 / .03) = 3.5 is not: 2   3: 2   8: 0 | | 1   9: 1 | | 3
    SYSTEM = exponential(4, (2, 6.0), (4, 1.0), (1, 1.0), (1, 2.0))
    JOBS: ClassVar[Jobs] = [(0, 0, 8), (1, 1, 1), (2, 2, 1), (2, 3, 1)]

    @pytest.mark.parametrize(
        ("most", "start"),
        [
            (0.0, [0, 8, 9, 9]),
            (0.06, [0, 8, 9, 9]),  # (1 + 6 * 4) e^-6 = .062, for the job of mean 1
            (0.07, [0, 8, 2, 9]),
            (0.67, [0, 8, 2, 9]),  # (1 + 6 * 2) e^-3 + 6 * 2 e^-6 = .677, for the job of mean 2
            (0.7, [0, 8, 2, 2]),
        ],
    )
    def test_who_is_hardly_expected_to_outlast_the_drain_starts(
        self, most: float, start: list[float]
    ) -> None:
        assert served(self.SYSTEM, qs.AdaptiveQuickswap(overrun=most), self.JOBS) == start

    def test_beliefs(self) -> None:
        # believed to be three times as long, job 0 leaves after 18, long after job 3
        longer = qs.AdaptiveQuickswap(0.03, believed=(3, 1, 1, 1))
        assert served(self.SYSTEM, longer, self.JOBS) == [0, 8, 2, 2]
        shorter = qs.AdaptiveQuickswap(0.03, believed=(0.5, 1, 1, 1))  # ln(1 / .03) = 3.5 > 3
        assert served(self.SYSTEM, shorter, self.JOBS) == [0, 8, 9, 9]

    @pytest.mark.parametrize(
        ("risk", "start"),
        [
            (0.0, [0, 8, 9, 9]),
            (0.002, [0, 8, 9, 9]),  # 1 * ln(500) = 6.2
            (0.03, [0, 8, 2, 9]),
            (0.05, [0, 8, 2, 2]),  # 2 * ln(20) = 5.99
        ],
    )
    def test_who_is_short_enough_starts(self, risk: float, start: list[float]) -> None:
        assert served(self.SYSTEM, qs.AdaptiveQuickswap(risk), self.JOBS) == start
        for drain in qs.StaticQuickswap.drains:  # the visits: need 2, then 4, then 1
            static = qs.StaticQuickswap(order=[0, 1, 2, 3], drain=drain, backfill=risk)
            assert served(self.SYSTEM, static, self.JOBS)[:3] == start[:3]

    def test_classes_free_their_servers_one_after_another(self) -> None:
        # k = 4, needs 1 (mean 3), 2 (mean 1), 4, 1.  0: | 0, 1 (need 1), 2 (need 2) | all
        # 1: | 3 (need 4) |   2: 2 | 4 (mean m) | D = H(2) 3 = 4.5, as need 1 is the last to leave
        trace: Jobs = [(0, 0, 5), (0, 0, 9), (0, 1, 2), (1, 2, 1), (2, 3, 1)]
        for mean, start in ((4.4, 2), (4.6, 10)):
            system = exponential(4, (1, 3.0), (2, 1.0), (4, 1.0), (1, mean / math.log(2)))
            assert served(system, qs.AdaptiveQuickswap(0.5), trace)[4] == start

    def test_the_largest_need_goes_first(self) -> None:
        # k = 6, needs 3, 6, 1, 2.  0: | 0 | 0   1: | 1 (need 6) | drain   2: | 2 (need 1), 3, 4
        # (need 2) | 3, then 2   3: 2   4: 3 | | 4
        system = exponential(6, (3, 9.0), (6, 1.0), (1, 0.1), (2, 0.1))
        trace: Jobs = [(0, 0, 9), (1, 1, 1), (2, 2, 1), (2, 3, 2), (2, 3, 1)]
        assert served(system, qs.AdaptiveQuickswap(True), trace) == [0, 9, 2, 2, 4]

    @pytest.mark.parametrize(
        ("size", "start"),
        [
            (6.0, [0, 8, 2, 9]),  # at 2 job 0 has 4 s left, and 4 < 2 ln(1 / 0.1) = 4.6
            (6.75, [0, 8, 2, 2]),
            (4.25, [0, 8, 9, 9]),  # 2.25 < ln(1 / 0.1) = 2.3
        ],
    )
    def test_deterministic_sizes_have_their_remaining_time(
        self, size: float, start: list[float]
    ) -> None:
        classes = [qs.JobClass(2, 1, qs.Deterministic(size)), *self.SYSTEM.classes[1:]]
        system = qs.System(4, classes)
        assert served(system, qs.AdaptiveQuickswap(0.1), self.JOBS) == start

    @pytest.mark.filterwarnings("ignore::quickswap.errors.InfiniteVarianceWarning")
    def test_jobs_may_start_beside_one_that_has_run_for_long(self) -> None:
        # P(S > a + t | S > a) = (1 + t / a)^-1.5 = 1 / e: job 0, of age a, has t = 0.95 a left
        heavy = qs.JobClass(2, 1, qs.Pareto(1.5, 1.0))
        rest = [qs.JobClass(need, 1, qs.Exponential(mean=1)) for need in (4, 1)]
        for wait, start in ((4.5, 40), (5.0, 5.0)):  # 0.95 a < ln(100) = 4.6 < 0.95 b
            trace: Jobs = [(0, 0, 39), (1, 1, 1), (wait, 2, 1)]
            policy = qs.AdaptiveQuickswap(0.01)
            assert served(qs.System(4, [heavy, *rest]), policy, trace)[2] == start

    def test_exclusive_a_visit_outlasts_those_let_in(self) -> None:
        # k = 4, needs 2, 2, 1.  0: | 0 | 0, drain (u = 1)   1: | 1 (class 1), 2 (class 2), 3, 4
        # (class 1) | job 1 fits, but has to wait, for 9 s: 2   2: 0 | | visit to class 1: 1
        # 3: | 5 (class 2) | job 3 waits beside job 2, so the visit goes on, although u = 1
        # 6: 1 | | 3   7: 3 | | 4, drain   8: 4 | | visit to class 2: 5
        system = exponential(4, (2, 9.0), (2, 1.0), (1, 1.0))
        trace: Jobs = [(0, 0, 2), (1, 1, 4), (1, 2, 8), (1, 1, 1), (1, 1, 1), (3, 2, 1)]
        static = qs.StaticQuickswap(order=[0, 1, 2], drain="exclusive", backfill=True)
        assert served(system, static, trace) == [0, 2, 1, 6, 7, 8]

    def test_by_estimates(self) -> None:
        # job 0 is estimated to end at 6, so from 2 on there are 4 s; job 2 is beyond them
        for longest, start in ((4.0, 2), (4.1, 9)):
            seen = [6.0, 1.0, longest, 4.5]
            assert served(self.SYSTEM, qs.AdaptiveQuickswap(True), self.JOBS, seen)[2] == start


class TestEquivalences:
    def test_ages_of_exponential_sizes_do_not_matter(self) -> None:
        draws = np.random.default_rng(1)
        arrivals = np.cumsum(draws.exponential(2.5, 2000))
        cls = draws.integers(0, 3, 2000).astype(np.uint32)
        sizes = draws.exponential(1.0, 2000)
        for policy in (qs.AdaptiveQuickswap(overrun=0.9), qs.StaticQuickswap(backfill=0.3)):
            spec: Any = policy.resolve(THREE)
            starts = []
            rule = spec["backfilling"]
            ages = rule | {"by": "ages", "sizes": [None] * 3, "step": 1.0}
            for each in (rule, ages, None):
                described = {"system": THREE.to_dict(), "policy": spec | {"backfilling": each}}
                schedule = replay(json.dumps(described), arrivals, cls, sizes, debug=True)
                starts.append(schedule[0].tolist())
            assert starts[0] == starts[1] != starts[2]

    @pytest.mark.parametrize("policy", [qs.AdaptiveQuickswap, qs.StaticQuickswap, qs.MSFQ])
    def test_no_risk_is_no_backfilling(self, policy: type[Policy]) -> None:
        build = policy
        plain, none, zero = build(), build(backfill=None), build(backfill=0, overrun=0)  # type: ignore[call-arg] # it is one of three
        assert plain == none == zero
        system = one_or_all(7, 4.2, 0.35)
        one, other = (
            qs.simulate(system, each, jobs=20_000, engine="events", threads=1)
            for each in (plain, zero)
        )
        assert one == other

    @pytest.mark.parametrize("risk", [0.5, 0.2, 0.03, 1e-4])
    @pytest.mark.parametrize("servers", [2, 7, 32])
    def test_one_or_all_it_is_a_lower_threshold(self, servers: int, risk: float) -> None:
        """Lights start during a drain while H(u) >= ln(1 / risk): see `stability`."""
        system = one_or_all(servers, 0.6 * servers * 0.9, 0.4 * 0.9)
        lower = lowered(servers, lambda time: time >= math.log(1 / risk))
        assert_same_paths(system, qs.AdaptiveQuickswap(risk), qs.MSFQ(lower))
        for threshold in {0, servers // 2, servers - 1}:
            below = qs.MSFQ(min(threshold, lower))
            assert_same_paths(system, qs.MSFQ(threshold, backfill=risk), below)
            assert_same_paths(system, qs.StaticQuickswap(threshold, backfill=risk), below)

    @pytest.mark.parametrize("most", [0.9, 0.5, 0.03])
    @pytest.mark.parametrize("servers", [2, 32])
    def test_so_do_overruns(self, servers: int, most: float) -> None:
        light, heavy = 0.6 * servers * 0.9, 0.4 * 0.9
        system = one_or_all(servers, light, heavy)

        def allowed(time: float) -> bool:
            return (1 + time * (light + heavy)) * math.exp(-time) <= most

        lower = lowered(servers, allowed)
        assert_same_paths(system, qs.AdaptiveQuickswap(overrun=most), qs.MSFQ(lower))

    def test_equal_beliefs_in_all_classes_change_no_risk(self) -> None:
        twice = qs.AdaptiveQuickswap(0.3, believed=(2, 2, 2))
        assert_same_paths(THREE, qs.AdaptiveQuickswap(0.3), twice)

    @pytest.mark.parametrize("risk", [0.5, 0.03])
    def test_static_exclusive_is_msfq_always(self, risk: float) -> None:
        system = one_or_all(32, 0.6 * 32 * 0.9, 0.4 * 0.9)
        for threshold in (0, 9, 31):
            static = qs.StaticQuickswap(thresholds=[threshold, 0], drain="exclusive", backfill=risk)
            assert_same_paths(system, static, qs.MSFQ(threshold, "always", risk))
        plain, other = qs.MSFQ(31, "always"), qs.MSFQ(31, "always", risk)
        with pytest.raises(AssertionError):
            assert_same_paths(system, plain, other)


def lowered(servers: int, allowed: Callable[[float], bool]) -> int:
    """The threshold below which no light is backfilled; all lights are in service then."""
    times = itertools.accumulate(1 / u for u in range(1, servers))
    return next((u - 1 for u, time in enumerate(times, 1) if allowed(time)), servers)


THREE = mixed(6, [(1, 0.6, 0.3), (2, 0.3, 1.5), (6, 0.1, 1.0)], 0.25)
CASES: list[tuple[qs.System, Policy]] = [
    (mixed(3, [(1, 0.7, 0.5), (3, 0.3, 1.5)], 0.4), qs.MSFQ(2, "always", backfill=0.5)),
    (mixed(8, [(1, 0.7, 0.02), (3, 0.2, 1.0), (8, 0.1, 1.0)], 0.2), qs.AdaptiveQuickswap(0.03)),
    (mixed(8, [(1, 0.7, 0.1), (5, 0.3, 1.0)], 0.3), qs.StaticQuickswap(backfill=0.1)),
    (THREE, qs.AdaptiveQuickswap(0.01)),
    (THREE, qs.AdaptiveQuickswap(0.3)),
    (THREE, qs.StaticQuickswap(backfill=0.2)),
    (THREE, qs.StaticQuickswap(order=(1, 2, 0), drain="exclusive", backfill=0.2)),
    (mixed(4, [(3, 0.3, 2.0), (2, 0.3, 1.0), (1, 0.4, 0.2)], 0.25), qs.AdaptiveQuickswap(0.05)),
    (THREE, qs.AdaptiveQuickswap(overrun=0.9)),
    (mixed(8, [(1, 0.7, 0.1), (5, 0.3, 1.0)], 0.3), qs.StaticQuickswap(overrun=0.9)),
    (mixed(3, [(1, 0.7, 0.5), (3, 0.3, 1.5)], 0.4), qs.MSFQ(2, "always", overrun=0.9)),
]


@pytest.mark.parametrize(
    ("system", "policy"),
    CASES,
    ids=lambda x: f"k{x.servers}" if isinstance(x, qs.System) else x.label,
)
def test_the_exact_chain_agrees_with_simulations(system: qs.System, policy: Policy) -> None:
    exact = chain.exact(system, policy, tolerance=1e-3)
    jumps, events = (
        qs.simulate(system, policy, jobs=200_000, engine=engine, threads=1, seed=3, debug=debug)
        for engine, debug in (("jumps", False), ("events", True))
    )
    checks = [
        near(each.name, seen.mean_response_time, each.mean_response_time)
        for result in (jumps, events)
        for each, seen in zip(exact.classes, result.classes, strict=True)
    ]
    assert problems([*checks, *same_distribution(policy.label, jumps, events)]) == []
    plain = replace(policy, backfill=0.0, overrun=0.0)  # type: ignore[type-var]  # all are dataclasses
    without = chain.exact(system, plain, tolerance=1e-3)
    gap = abs(without.mean_response_time - exact.mean_response_time)
    assert gap > without.error


@pytest.mark.parametrize("drain", qs.StaticQuickswap.drains)
def test_many_classes_of_a_need_in_debug_mode(drain: str) -> None:
    system = mixed(9, [(1 + i % 4, 1.0, 0.1 * 3**i) for i in range(9)], 0.5)
    for policy in (qs.AdaptiveQuickswap(0.03), qs.StaticQuickswap(drain=drain, backfill=0.03)):
        for engine in ("jumps", "events"):
            result = qs.simulate(system, policy, jobs=20_000, engine=engine, debug=True, threads=1)
            assert result.completed >= 20_000


def test_it_helps_where_it_should() -> None:
    """Small jobs beside large ones that are a hundred times longer."""
    system = mixed(16, [(1, 0.95, 0.02), (5, 0.04, 2.0), (16, 0.01, 1.0)], 0.6)
    spellings = [f"adaptive-quickswap{limit}" for limit in ("", ":backfill=.03", ":overrun=.9")]
    plain, *backfilled = qs.compare(system, spellings, jobs=1_000_000).results
    for each in backfilled:
        assert each.mean_response_time.high < plain.mean_response_time.low / 2
        assert each.weighted_mean_response_time.low < plain.weighted_mean_response_time.high


def counted(distribution: Distribution, time: float) -> float:
    """As how many jobs one counts that may outlast a drain."""
    over, residual = excess(distribution, time), distribution.second_moment / distribution.mean / 2
    return max(over / residual, min(distribution.sf(time), over / distribution.mean))


def normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


@pytest.mark.parametrize(
    ("distribution", "error", "exact"),
    [
        (qs.Deterministic(3), 1e-12, lambda x: 3 - x),
        (qs.Uniform(1, 4), 0.01, lambda x: 2.5 - x if x < 1 else (4 - x) ** 2 / 6),
        (qs.Empirical([1, 3], [0.5, 0.5]), 0.06, lambda x: 2 - x if x < 1 else (3 - x) / 2),
        (qs.Pareto(2.5, 1.0), 0.01, lambda x: 5 / 3 - x if x < 1 else x**-1.5 / 1.5),
        (
            qs.LogNormal(0, 1),
            0.01,
            lambda x: math.sqrt(math.e) * normal(1 - math.log(x)) - x * normal(-math.log(x)),
        ),
    ],
    ids=lambda x: x.kind if isinstance(x, Distribution) else "",
)
def test_excess(distribution: Distribution, error: float, exact: Callable[[float], float]) -> None:
    for time in (0.5, 0.99, 1.25, 2, 2.9):
        assert excess(distribution, time) == pytest.approx(exact(time), rel=error)
    assert excess(distribution, 1e9) < 1e-12


@pytest.mark.parametrize(
    "sizes", [lambda m: qs.Deterministic(m), lambda m: qs.LogNormal(mean=m, scv=4)]
)
def test_ages_help(sizes: Callable[[float], Distribution]) -> None:
    """Without ages, jobs in service would count as half done, and equal sizes would lose."""
    system = one_or_all(8, 0.6 * 8 * 0.8, 0.4 * 0.8)
    system = qs.System(
        8,
        [
            qs.JobClass(each.need, each.arrival_rate, sizes(each.size.mean))
            for each in system.classes
        ],
    )
    plain, aged = qs.compare(
        system, ["adaptive-quickswap", "adaptive-quickswap:overrun=.9"], jobs=100_000
    ).results
    assert aged.mean_response_time.value < plain.mean_response_time.value


@pytest.mark.filterwarnings("ignore::quickswap.errors.InfiniteVarianceWarning")
@FEW  # heavy tails are looked through over many octaves
@given(
    classes=st.lists(st.tuples(any_distribution, st.floats(1e-3, 1e3)), min_size=1, max_size=3),
    most=st.floats(0.01, 0.99),
)
def test_a_horizon_is_the_least_drain_from_which_on_few_jobs_outlast_it(
    classes: list[tuple[Distribution, float]], most: float
) -> None:
    system = qs.System(1, [qs.JobClass(1, rate, distribution) for distribution, rate in classes])
    found: Any = qs.AdaptiveQuickswap(overrun=most).resolve(system)["backfilling"]
    shortest = 1e-11 * min(distribution.mean for distribution, _ in classes)
    for (distribution, _), horizon in zip(classes, found["horizons"], strict=True):

        def outlast(time: float, distribution: Distribution = distribution) -> float:
            """Expected number of jobs that do, of those that arrive and this one."""
            own = counted(distribution, time)
            met = (rate * min(counted(other, time), own) for other, rate in classes)
            return own + time * math.fsum(met)

        assert max(outlast(horizon * longer) for longer in (1, 1.02, 1.5, 7, 200)) <= most + 1e-9
        assert outlast(horizon / 2 ** (1 / 64)) > most - 1e-9 or horizon < shortest


class TestReplay:
    def test_it_goes_by_estimates(self, tmp_path: Path) -> None:
        rows = jobs(
            *((at, TestByHand.SYSTEM.needs[cls], size) for at, cls, size in TestByHand.JOBS)
        )
        for row, seen in zip(rows, (6.0, 1.0, 4.0, 4.5), strict=True):
            row["estimate"] = seen
        log = log_of(tmp_path, rows, 4)
        policy = "adaptive-quickswap:backfill=.03"
        for estimate, start in (("logged", [0, 8, 2, 9]), ("exact", [0, 8, 2, 2])):
            result = qs.replay(log, policy, estimate=estimate, warmup=0, cooldown=0, debug=True)
            assert result.schedule.start.tolist() == start

    def test_no_groups(self, tmp_path: Path) -> None:
        log = log_of(tmp_path, jobs((0, 1, 10), (1, 2, 10), (2, 1, 5)), 2)
        with pytest.raises(PolicyError) as caught:
            qs.replay(log, "static-quickswap:backfill=.03", classes="1,2-")
        assert (caught.value.argument, caught.value.given) == ("classes", "1,2-")


BAD: list[tuple[object, str]] = [
    (
        1,
        "backfill of AdaptiveQuickswap is 1; it must be a probability from 0 .* to below 1",
    ),
    (-0.1, "is -0.1; it must be"),
    (math.nan, "is nan; it must be"),
    ("x", "is 'x'; it must be"),
]


@pytest.mark.parametrize(("wrong", "sentence"), BAD)
def test_what_is_no_risk_is_refused(wrong: object, sentence: str) -> None:
    with pytest.raises(PolicyError, match=sentence):
        qs.AdaptiveQuickswap(wrong)  # type: ignore[arg-type] # wrong on purpose


MISTAKES: list[tuple[dict[str, object], str]] = [
    ({"overrun": 1}, "overrun of MSFQ is 1; it must be a number of jobs from 0 .* such as 0.9"),
    ({"overrun": 0.2, "backfill": 0.03}, "MSFQ takes backfill or overrun, not both"),
    ({"believed": [1, 2]}, "believed of MSFQ requires overrun or backfill"),
    ({"overrun": 0.2, "believed": 2}, "is 2; it must be a list of factors, one for each class"),
    ({"overrun": 0.2, "believed": []}, "must be a list of factors"),
    (
        {"overrun": 0.2, "believed": [1, 0]},
        "an item of believed of MSFQ is 0; it must be a positive",
    ),
    ({"overrun": 0.2, "believed": [1]}, "one factor for each class, 2, not 1"),
]


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES)
def test_mistakes(mistake: dict[str, object], sentence: str) -> None:
    with pytest.raises(PolicyError, match=sentence):
        qs.MSFQ(**mistake).resolve(one_or_all(4, 0.5, 0.2))  # type: ignore[arg-type] # wrong on purpose


@pytest.mark.parametrize(
    ("policy", "label"),
    [
        (qs.AdaptiveQuickswap(True), "Adaptive Quickswap (backfill 0.03)"),
        (qs.MSFQ(3, "always", 1e-5), "MSFQ(3, always, backfill 1e-05)"),
        (qs.StaticQuickswap(backfill=0.5), "Static Quickswap (backfill 0.5)"),
        (qs.AdaptiveQuickswap(overrun=True), "Adaptive Quickswap (overrun 0.9)"),
        (
            qs.StaticQuickswap(overrun=0.1, believed=[2, 0.5]),
            "Static Quickswap (overrun 0.1, believed 2+0.5)",
        ),
    ],
)
def test_labels(policy: Policy, label: str) -> None:
    assert policy.label == label
    assert qs.parse(qs.spell(policy)) == policy
