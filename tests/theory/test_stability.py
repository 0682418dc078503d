"""Stability limits against the saturated chain, reference values and each other."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

import quickswap as qs
from quickswap.policies import POLICIES, Policy
from quickswap.theory.fcfs import find_limit, one_or_all_rate, same_distribution_rate

State = tuple[tuple[int, ...], int]
"""Classes in service, sorted, and the class of the head, which does not fit."""

UNIT = qs.Exponential(mean=1.0)
PLAIN: list[Policy] = [
    qs.FCFS(),
    qs.FirstFit(),
    qs.MSF(),
    qs.LSF(),
    qs.Smash(3),
    qs.EASY(),
    qs.Conservative(),
    qs.StaticQuickswap(),
    qs.AdaptiveQuickswap(),
    qs.ServerFilling(),
    qs.ServerFilling("srpt"),
    qs.MaxWeight(),
]


def system(servers: int, *classes: tuple[int, float], size: qs.Distribution = UNIT) -> qs.System:
    return qs.System(servers, [qs.JobClass(need, rate, size) for need, rate in classes])


def saturated_fcfs(
    servers: int, needs: list[int], shares: list[float], means: list[float]
) -> float:
    """Jobs per second that FCFS completes in the saturated system, from the chain."""

    def settle(running: tuple[int, ...], chance: float, into: dict[State, float]) -> None:
        for head, share in enumerate(shares):
            grown = tuple(sorted((*running, head)))
            if sum(needs[i] for i in grown) <= servers:
                settle(grown, chance * share, into)
            else:
                into[running, head] += chance * share

    def jumps(state: State) -> dict[State, float]:
        running, head = state
        into: dict[State, float] = defaultdict(float)
        for each, count in Counter(running).items():
            left = list(running)
            left.remove(each)
            rate = count / means[each]
            grown = tuple(sorted((*left, head)))
            if sum(needs[i] for i in grown) <= servers:
                settle(grown, rate, into)
            else:
                into[tuple(left), head] += rate
        return into

    first: dict[State, float] = defaultdict(float)
    settle((), 1.0, first)
    chain: dict[State, dict[State, float]] = {}
    todo = list(first)
    while todo:
        state = todo.pop()
        if state not in chain:
            chain[state] = jumps(state)
            todo += list(chain[state])
    place = {state: i for i, state in enumerate(chain)}
    generator = np.zeros((len(chain), len(chain)))
    for state, into in chain.items():
        for other, rate in into.items():
            generator[place[state], place[other]] += rate
            generator[place[state], place[state]] -= rate
    balance = np.vstack([generator.T, np.ones(len(chain))])
    shares_of_time = np.linalg.lstsq(balance, np.eye(len(chain) + 1)[-1])[0]
    speeds = [sum(1 / means[i] for i in running) for running, _ in chain]
    return float(shares_of_time @ np.array(speeds))


@pytest.mark.parametrize(("servers", "share"), [(2, 0.9), (3, 0.4), (4, 0.8)])
def test_fcfs_one_or_all_is_the_throughput_of_the_saturated_chain(
    servers: int, share: float
) -> None:
    expected = saturated_fcfs(servers, [1, servers], [share, 1 - share], [0.7, 2.5])
    assert one_or_all_rate(servers, share, 0.7, 2.5) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("servers", "needs", "shares"),
    [(4, [1, 2, 3], [0.5, 0.3, 0.2]), (5, [2, 3], [0.6, 0.4]), (6, [1, 4, 6], [0.7, 0.2, 0.1])],
)
def test_fcfs_with_one_distribution_is_the_throughput_of_the_saturated_chain(
    servers: int, needs: list[int], shares: list[float]
) -> None:
    expected = saturated_fcfs(servers, needs, shares, [1.5] * len(needs))
    assert same_distribution_rate(servers, needs, shares, 1.5) == pytest.approx(expected, rel=1e-9)


def mean_inverse(servers: int, share_of: dict[int, float]) -> float:
    """Return E[1/M] from the distribution of the need of j jobs, j by j."""
    fit, found, before = np.zeros(servers + 1), 0.0, 1.0
    fit[0] = 1.0  # fit[s]: probability that the first j jobs need s servers
    for j in range(1, servers + 2):
        more = np.zeros(servers + 1)
        for need, share in share_of.items():
            more[need:] += share * fit[: servers + 1 - need]
        fit = more
        found += (before - fit.sum()) / (j - 1) if j > 1 else 0.0
        before = fit.sum()
    return found


@pytest.mark.parametrize("seed", range(40))
def test_fcfs_with_one_distribution_follows_from_the_jobs_that_fit_together(seed: int) -> None:
    draw = np.random.default_rng(seed)
    servers = int(draw.integers(1, 300))
    count = int(draw.integers(1, min(servers, 8) + 1))
    needs = draw.choice(np.arange(1, servers + 1), count, replace=False).tolist()
    shares = draw.dirichlet(np.full(count, 0.3)).tolist()
    expected = 1 / (1.3 * mean_inverse(servers, dict(zip(needs, shares, strict=True))))
    found = same_distribution_rate(servers, needs, shares, 1.3)
    assert found == pytest.approx(expected, rel=1e-11)
    double = same_distribution_rate(2 * servers + 1, [2 * need for need in needs], shares, 1.3)
    assert double == pytest.approx(found, rel=1e-13)


def test_fcfs_with_many_classes_is_solved_once_and_at_once() -> None:
    size, needs = qs.Exponential(mean=1.0), range(1, 2001)
    systems = [
        qs.System(4000, [qs.JobClass(need, rate / need, size) for need in needs])
        for rate in (0.1, 0.1, 0.2)
    ]
    before = find_limit.cache_info().misses
    limits = [qs.stability(each, "fcfs").limit for each in systems]
    assert find_limit.cache_info().misses == before + 2
    assert limits == pytest.approx([limits[0]] * 3, rel=1e-12)


def test_fcfs_reference_values() -> None:
    assert one_or_all_rate(2, 0.9, 1, 1) == pytest.approx(1.6806723, abs=5e-8)
    assert one_or_all_rate(32, 0.9, 1, 1) == pytest.approx(3.02609304, abs=5e-9)
    both = same_distribution_rate(32, [1, 32], [0.9, 0.1], 1.0)
    assert both == pytest.approx(one_or_all_rate(32, 0.9, 1, 1), rel=1e-12)


def test_fcfs_on_the_four_classes_is_unstable_at_rate_four() -> None:
    known = qs.stability(qs.load("four-class"), qs.FCFS())
    assert known.verdict == "unstable"
    assert known.exact
    assert known.limit == pytest.approx(3.5524786)
    assert qs.stability(qs.load("four-class:rate=3.5"), qs.FCFS()).verdict == "stable"


@pytest.mark.parametrize(
    "policy",
    [
        qs.MSFQ(backfill=0.03),
        qs.StaticQuickswap(backfill=0.03),
        qs.AdaptiveQuickswap(backfill=0.03),
        qs.AdaptiveQuickswap(overrun=0.2),
        qs.MSF(),
        qs.Smash(None),
        qs.MSFQ(0),
        qs.MSFQ(31, "always"),
        qs.MSFQ(32),
        qs.StaticQuickswap(),
        qs.StaticQuickswap(drain="exclusive"),
        qs.AdaptiveQuickswap(),
        qs.ServerFilling(),
        qs.ServerFilling("srpt"),
        qs.DivisorFilling(),
        qs.MaxWeight(),
    ],
    ids=repr,
)
def test_one_or_all_is_carried_up_to_the_capacity(policy: Policy) -> None:
    below, above = qs.load("one-or-all:load=.999"), qs.load("one-or-all:load=1.001")
    assert qs.stability(below, policy).verdict == "stable"
    assert qs.stability(below, policy).limit == pytest.approx(below.capacity)
    assert qs.stability(below, policy).exact
    assert qs.stability(above, policy).verdict == "unstable"


def test_a_window_of_one_is_fcfs() -> None:
    one_or_all = qs.load("one-or-all")
    assert qs.stability(one_or_all, qs.Smash(1)) == qs.stability(one_or_all, qs.FCFS())
    assert qs.stability(one_or_all, qs.Smash(2)).limit is None


@pytest.mark.parametrize("drain", qs.StaticQuickswap.drains)
def test_static_quickswap_counts_whole_slots(drain: str) -> None:
    policy = qs.StaticQuickswap(drain=drain)
    uneven = system(10, (3, 0.4), (4, 0.6))
    known = qs.stability(uneven, policy)
    assert known.limit == pytest.approx(1 / (0.4 / 3 + 0.6 / 2))
    assert known.limit is not None
    assert known.limit < uneven.capacity
    # one class at a time is served if the drain is exclusive, so the limit is exact there
    exclusive = drain == "exclusive"
    assert known.necessary_limit == pytest.approx(known.limit if exclusive else uneven.capacity)
    between = uneven.with_rate((known.limit + uneven.capacity) / 2)
    verdict = qs.stability(between, policy).verdict
    assert verdict == ("unstable" if exclusive else "unknown")
    assert qs.stability(uneven.with_rate(known.limit * 0.99), policy).verdict == "stable"
    assert qs.stability(uneven.with_load(1.2), policy).verdict == "unstable"
    four = qs.load("four-class")
    assert qs.stability(four, policy).exact
    assert qs.stability(four, policy).limit == pytest.approx(5.0)


def test_static_quickswap_on_borg() -> None:
    borg = qs.load("borg-b")
    shares = zip(borg.job_shares, borg.classes, strict=True)
    expected = 1 / sum(p * each.size.mean / (2048 // each.need) for p, each in shares)
    assert qs.stability(borg, qs.StaticQuickswap()).limit == pytest.approx(expected)
    assert expected == pytest.approx(4.886093, rel=1e-6)


def test_server_filling_needs_a_chain_of_divisors() -> None:
    chain = system(8, (1, 1.0), (2, 0.5), (8, 0.1), size=qs.BoundedPareto(1.5, 1, 100))
    assert qs.stability(chain, qs.ServerFilling()).limit == pytest.approx(chain.capacity)
    for other in (
        system(6, (2, 1.0), (3, 1.0)),
        system(12, (2, 1.0), (8, 1.0)),
        system(8, (1, 1.0), (2, 1.0), size=qs.LogNormal(mean=1, scv=2)),
        system(8, (1, 1.0), (2, 1.0), size=qs.Mixture([1], [qs.LogNormal(mean=1, scv=2)])),
        system(8, (1, 1.0), (2, 1.0), size=qs.Tabulated([-9, 9], [1, 4])),
    ):
        assert qs.stability(other, qs.ServerFilling()).limit is None
        assert qs.stability(other, qs.ServerFilling("srpt")).limit is None


@pytest.mark.parametrize("policy", [qs.MSF(), qs.Smash(None)], ids=repr)
def test_msf_carries_needs_that_divide_each_other(policy: Policy) -> None:
    for chain in (
        system(8, (1, 1.0), (2, 0.5), (8, 0.1)),
        system(12, (2, 1.0), (6, 0.5), (2, 0.3)),
        qs.System(8, [qs.JobClass(n, 1.0, qs.Exponential(mean=9 / n)) for n in (4, 1, 2)]),
    ):
        known = qs.stability(chain, policy)
        assert known.exact
        assert known.limit == pytest.approx(chain.capacity)
        run = qs.simulate(chain.with_load(0.9), policy, jobs=1_000_000)
        assert run.stable
    for other in (
        qs.load("four-class"),
        system(6, (2, 1.0), (3, 1.0)),
        system(7, (1, 1.0), (2, 1.0)),
        system(8, (1, 1.0), (2, 1.0), size=qs.Gamma(mean=1.0, scv=2.0)),
    ):
        assert qs.stability(other, policy).limit is None


def test_divisor_filling_needs_divisors_of_all_servers() -> None:
    for shape in (system(6, (2, 1.0), (3, 1.0)), system(12, (4, 1.0), (6, 1.0), (1, 0.1))):
        known = qs.stability(shape, qs.DivisorFilling())
        assert known.exact
        assert known.limit == pytest.approx(shape.capacity)
    heavy = system(6, (2, 1.0), (3, 1.0), size=qs.LogNormal(mean=1, scv=2))
    assert qs.stability(heavy, qs.DivisorFilling()).limit is None


def test_max_weight_carries_whatever_can_be_carried() -> None:
    uneven = system(10, (3, 1.0), (4, 1.0), (7, 0.2))
    assert qs.stability(uneven, qs.MaxWeight()).limit == pytest.approx(uneven.capacity)
    other = system(10, (3, 1.0), (4, 1.0), size=qs.Deterministic(1.0))
    assert qs.stability(other, qs.MaxWeight()).limit is None


@pytest.mark.parametrize("policy", PLAIN, ids=repr)
def test_one_class_is_a_plain_queue_for_any_distribution(policy: Policy) -> None:
    one = system(15, (6, 0.5), size=qs.Gamma(mean=2.0, scv=3.0))
    known = qs.stability(one, policy)
    assert known.exact
    assert known.limit == pytest.approx(2 / 2.0)
    assert known.verdict == "stable"


@pytest.mark.parametrize("policy", PLAIN, ids=repr)
def test_jobs_that_never_fit_together_are_a_plain_queue(policy: Policy) -> None:
    alone = system(9, (5, 0.3), (6, 0.3), (9, 0.3), size=qs.Uniform(0.5, 1.5))
    known = qs.stability(alone, policy)
    assert known.exact
    assert known.limit == pytest.approx(1.0)


@pytest.mark.parametrize(
    "policy", [qs.FirstFit(), qs.MSF(), qs.LSF(), qs.AdaptiveQuickswap()], ids=repr
)
def test_nothing_is_claimed_without_proof(policy: Policy) -> None:
    four = qs.load("four-class")
    assert qs.stability(four, policy).verdict == "unknown"
    assert qs.stability(four, policy).limit is None
    assert not qs.stability(four, policy).exact
    assert qs.stability(four.with_rate(5.01), policy).verdict == "unstable"


@pytest.mark.parametrize(
    "policy", [qs.FCFS(), qs.MSF(), qs.MSFQ(), qs.StaticQuickswap(), qs.AdaptiveQuickswap()]
)
def test_proofs_for_exponential_sizes_or_poisson_arrivals_are_not_stretched(
    policy: Policy,
) -> None:
    steady = system(4, (1, 1.0), (4, 0.1), size=qs.Deterministic(1.0))
    assert qs.stability(steady, policy).limit is None
    bursts = qs.Renewal(qs.Gamma(mean=1.0, scv=4.0))
    bursty = qs.System(4, [qs.JobClass(n, size=UNIT, arrivals=bursts) for n in (1, 4)])
    assert qs.stability(bursty.with_load(0.3), policy).limit is None


def test_a_policy_that_does_not_suit_the_system_is_refused() -> None:
    with pytest.raises(qs.PolicyError, match="two classes"):
        qs.stability(qs.load("four-class"), qs.MSFQ())


def test_every_policy_gets_an_answer_with_reason_and_source() -> None:
    one_or_all = qs.load("one-or-all")
    for kind in POLICIES:
        policy = qs.Smash(2) if kind is qs.Smash else kind()
        known = qs.stability(one_or_all, policy)
        assert known.reason.endswith(".")
        assert known.source
        assert known.necessary_limit <= one_or_all.capacity * (1 + 1e-9)


@pytest.mark.parametrize("policy", [qs.MSF(), qs.AdaptiveQuickswap(), qs.StaticQuickswap()])
def test_several_slots_or_one_large_job_are_carried_up_to_the_capacity(policy: Policy) -> None:
    size = qs.Exponential(mean=1.0)
    system = qs.System(7, [qs.JobClass(2, 1.0, size), qs.JobClass(6, 0.5, size)])
    known = qs.stability(system, policy)
    assert known.exact
    assert known.limit == pytest.approx(1.5 / (1.0 / 3 + 0.5))
    beside = qs.System(8, [qs.JobClass(2, 1.0, size), qs.JobClass(6, 0.5, size)])
    assert qs.stability(beside, qs.MSF()).limit is None


def test_a_spelling_will_do_and_what_is_no_policy_is_refused() -> None:
    system = qs.load("one-or-all")
    assert qs.stability(system, "msf") == qs.stability(system, qs.MSF())
    for given in (None, 3, qs.MSF):
        with pytest.raises(qs.PolicyError, match=r"is not a policy|is a class"):
            qs.stability(system, given)  # type: ignore[arg-type]  # wrong on purpose


def test_a_limit_that_would_take_long_is_left_open() -> None:
    system = qs.load("four-class")
    assert qs.stability(qs.System(1000, system.classes), qs.FCFS()).limit is not None
    assert qs.stability(qs.System(2**20, system.classes), qs.FCFS()).limit is not None
    assert qs.stability(qs.System(2**24, system.classes), qs.FCFS()).limit is None


@pytest.mark.parametrize(
    ("policy", "model"),
    [
        (qs.AdaptiveQuickswap(backfill=0.03), "four-class:load=.1"),
        (qs.StaticQuickswap(backfill=0.03), "four-class:load=.1"),
        (qs.AdaptiveQuickswap(overrun=0.2), "four-class:load=.1"),
        (qs.StaticQuickswap(drain="exclusive", backfill=0.03), "four-class:load=.1"),
        (qs.StaticQuickswap(drain="exclusive", backfill=0.03), "one-or-all:load=.1"),
        (qs.MSFQ(3, "always", backfill=0.03), "one-or-all:load=.1"),
    ],
    ids=repr,
)
def test_of_backfilling_nothing_is_claimed_that_is_not_proven(policy: Policy, model: str) -> None:
    known = qs.stability(qs.load(model), policy)
    assert (known.verdict, known.limit) == ("unknown", None)
    assert "nothing is proven" in known.reason


def test_nothing_is_proven_about_a_custom_policy() -> None:
    class Idle:
        def start(self, view: object) -> None: ...

    known = qs.stability("four-class:rate=3", Idle())
    assert (known.limit, known.verdict) == (None, "unknown")
    assert known.necessary_limit == pytest.approx(qs.load("four-class").capacity)


def test_what_is_not_proven_is_simulated_on_request() -> None:
    class LargestFirst:
        def start(self, view: qs.View) -> int | None:
            fitting = [
                i for i, need in enumerate(view.needs) if view.waiting[i] and need <= view.free
            ]
            return max(fitting, default=None)

    system = qs.load("four-class:rate=2")
    plain = qs.stability(system, LargestFirst())
    assert (plain.verdict, plain.simulated, plain.evidence) == ("unknown", None, "")
    known = qs.stability(system, LargestFirst(), simulate=True, jobs=5000)
    result = qs.simulate(system, LargestFirst(), jobs=5000)
    assert (known.verdict, known.simulated) == ("unknown", "stable")
    assert known.evidence == result.verdict.reason
    # where something is proven, nothing is simulated
    assert qs.stability(system, "fcfs", simulate=True) == qs.stability(system, "fcfs")
    assert qs.stability(system.with_load(1.1), "msf", simulate=True).simulated is None

    class InOrder:
        """FCFS, whose limit on this system is far below the capacity."""

        def start(self, view: qs.View) -> int | None:
            waiting = [i for i in range(2) if view.waiting[i]]
            oldest = min(waiting, key=lambda i: view.heads[i] or 0, default=None)
            return None if oldest is None or view.needs[oldest] > view.free else oldest

    heavy = qs.load("one-or-all:k=32,load=0.9")
    assert qs.stability(heavy, "fcfs").verdict == "unstable"
    known = qs.stability(heavy, InOrder(), simulate=True, jobs=4000)
    assert (known.verdict, known.simulated) == ("unknown", "unstable")
    with pytest.raises(
        qs.QuickswapError, match=r"^jobs is a setting of the simulation; give simulate=True"
    ):
        qs.stability(system, "msf", jobs=100)
