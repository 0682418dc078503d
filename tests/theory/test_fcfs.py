"""FCFS: the saturated chain against a dense one, formulas and the exact solution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quickswap as qs
from hypothesis_settings import FEW
from quickswap.theory import classical, fcfs, saturation
from quickswap.theory.saturation import saturated_rate, states
from theory.test_stability import saturated_fcfs


def system(servers: int, *classes: tuple[int, float, float]) -> qs.System:
    """A system from (need, arrival rate, mean size) of each class."""
    return qs.System(
        servers, [qs.JobClass(n, rate, qs.Exponential(mean=mean)) for n, rate, mean in classes]
    )


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[int, list[int], list[float], list[float]]:
    servers = draw(st.integers(2, 8))
    needs = draw(st.lists(st.integers(1, servers), min_size=1, max_size=4))
    weights = [draw(st.floats(0.05, 1)) for _ in needs]
    means = [draw(st.sampled_from([0.1, 0.5, 1.0, 7.0])) for _ in needs]
    return servers, needs, [weight / sum(weights) for weight in weights], means


@given(mixtures())
def test_saturated_rate_is_that_of_a_dense_chain(
    mixture: tuple[int, list[int], list[float], list[float]],
) -> None:
    expected = saturated_fcfs(*mixture)
    assert saturated_rate(*mixture) == pytest.approx(expected, rel=1e-9)


@FEW
@given(mixtures())
def test_iteration_and_elimination_agree(
    mixture: tuple[int, list[int], list[float], list[float]],
) -> None:
    servers, needs, shares, means = mixture
    rates = 1 / np.array(means)
    chain = saturation._chain(servers, np.array(needs), np.array(shares), rates)
    found = [
        visits.sum() / (visits / chain.speeds).sum()
        for visits in (saturation._eliminate(chain), saturation._iterate(chain))
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-9)


@pytest.mark.parametrize(
    ("servers", "needs"), [(2, [1, 2]), (15, [1, 3, 5, 15]), (7, [2, 3]), (9, [4])]
)
def test_states_are_counted_before_they_are_built(servers: int, needs: list[int]) -> None:
    n = len(needs)
    chain = saturation._chain(servers, np.array(needs), np.full(n, 1 / n), np.ones(n))
    assert states(servers, needs) == chain.draws.shape[0] + chain.kept.shape[0]
    assert states(servers, needs, most=states(servers, needs) - 1) == np.inf


def test_columns_of_the_chain_keep_all_probability() -> None:
    needs, shares = np.array([1, 3, 5]), np.array([0.2, 0.5, 0.3])
    chain = saturation._chain(12, needs, shares, np.array([1.0, 0.1, 20.0]))
    out = chain.draws.sum(axis=0) + chain.heads.sum(axis=0)
    assert np.abs(out).max() < 1e-14
    assert np.abs(chain.freed.sum(axis=0) + chain.kept.sum(axis=0)).max() < 1e-14


@pytest.mark.parametrize("servers", [2, 32, 300])
def test_saturated_rate_on_one_or_all_is_the_closed_form(servers: int) -> None:
    for share, light, heavy in ((0.9, 1.0, 1.0), (0.5, 1e3, 1e-3), (0.999, 0.01, 2.0)):
        expected = fcfs.one_or_all_rate(servers, share, light, heavy)
        found = saturated_rate(servers, [1, servers], [share, 1 - share], [light, heavy])
        assert found == pytest.approx(expected, rel=1e-10)
    assert saturated_rate(2, [1, 2], [0.9, 0.1], [1, 1]) == pytest.approx(1.6806723, abs=5e-8)
    assert saturated_rate(32, [1, 32], [0.9, 0.1], [1, 1]) == pytest.approx(3.02609304, abs=5e-9)


def test_saturated_rate_with_one_distribution_is_the_closed_form() -> None:
    needs, shares = [1, 3, 5, 15], [0.5, 0.25, 0.2, 0.05]
    expected = fcfs.same_distribution_rate(30, needs, shares, 2.0)
    assert saturated_rate(30, needs, shares, [2.0] * 4) == pytest.approx(expected, rel=1e-11)


def test_one_class_is_carried_whole() -> None:
    assert saturated_rate(7, [3], [1.0], [2.0]) == pytest.approx(1.0, rel=1e-13)
    assert saturated_rate(7, [3, 3], [0.5, 0.5], [2.0, 2.0]) == pytest.approx(1.0, rel=1e-13)


def test_limit_takes_the_formula_or_the_chain() -> None:
    assert fcfs.limit(qs.load("one-or-all")) == pytest.approx(3.02609304, abs=5e-9)
    assert fcfs.limit(qs.load("four-class")) == pytest.approx(3.5524786)
    uneven = system(4, (1, 0.3, 1.0), (2, 0.3, 3.0), (3, 0.3, 0.5))
    expected = saturated_rate(4, [1, 2, 3], [1 / 3] * 3, [1.0, 3.0, 0.5])
    assert fcfs.limit(uneven) == pytest.approx(expected)
    distributions = [qs.JobClass(2, 1.0, qs.Uniform(0, 1)), qs.JobClass(2, 1.0, qs.Uniform(0, 3))]
    assert fcfs.limit(qs.System(5, distributions)) == pytest.approx(2.0)


def test_the_verdict_uses_the_chain() -> None:
    uneven = system(4, (1, 0.3, 1.0), (2, 0.3, 3.0), (3, 0.3, 0.5))
    limit = fcfs.limit(uneven)
    known = qs.stability(uneven.with_rate(limit * 1.001), qs.FCFS())
    assert (known.verdict, known.exact) == ("unstable", True)
    assert known.limit == pytest.approx(limit)
    assert "Markov chain" in known.reason
    assert qs.stability(uneven.with_rate(limit * 0.999), qs.Smash(1)).verdict == "stable"


def test_the_verdict_leaves_large_chains_alone() -> None:
    assert qs.stability(qs.load("borg-b"), qs.FCFS()).limit is None
    with pytest.raises(qs.ModelError, match=r"more than 1,000,000 states"):
        fcfs.limit(qs.load("borg-b"))
    with pytest.raises(qs.ModelError, match=r"more than 1,000,000 states"):
        saturated_rate(2048, [1, 3, 5, 7], [0.25] * 4, [1.0, 2.0, 3.0, 4.0])
    distributions = qs.System(
        3, [qs.JobClass(1, 1, qs.Uniform(0, 1)), qs.JobClass(2, 0.1, qs.Uniform(0, 1))]
    )
    with pytest.raises(qs.ModelError, match="Poisson arrivals and exponential sizes"):
        fcfs.limit(distributions)


@pytest.mark.parametrize(
    ("servers", "light", "heavy", "values"),
    [
        (2, 0.5, 0.25, (2.01857009, 2.44238110, 2.15984042)),
        (32, 2.25, 0.25, (6.29229658, 8.16994031, 6.48006095)),
    ],
)
def test_exact_reference_values(
    servers: int, light: float, heavy: float, values: tuple[float, ...]
) -> None:
    found = fcfs.exact(system(servers, (1, light, 1.0), (servers, heavy, 1.0)))
    times = [*(each.mean_response_time for each in found.classes), found.mean_response_time]
    assert times == pytest.approx(values, abs=6e-9)
    turned = fcfs.exact(system(servers, (servers, heavy, 1.0), (1, light, 1.0)))
    assert turned.classes == found.classes[::-1]


def test_exact_agrees_with_a_truncated_chain() -> None:
    """The queue in full, with the class of every job known: k = 2, unequal rates."""
    l1, lk, m1, mk, room = 0.6, 0.3, 1.3, 0.9, 9
    found = fcfs.exact(system(2, (1, l1, 1 / m1), (2, lk, 1 / mk)))
    times = listed_fcfs(2, {1: (l1, m1), 2: (lk, mk)}, room)
    gap = (0.87) ** room  # what the truncation leaves out, roughly
    for each, time in zip(found.classes, times, strict=True):
        assert time < each.mean_response_time
        assert each.mean_response_time == pytest.approx(time, rel=gap)
    light = fcfs.exact(system(2, (1, l1 / 20, 1 / m1), (2, lk / 20, 1 / mk)))
    times = listed_fcfs(2, {1: (l1 / 20, m1), 2: (lk / 20, mk)}, room)
    assert [each.mean_response_time for each in light.classes] == pytest.approx(times, rel=1e-9)


def listed_fcfs(k: int, rates: dict[int, tuple[float, float]], room: int) -> list[float]:
    """Mean response times if at most `room` jobs are admitted; a state is the needs in order."""
    place: dict[tuple[int, ...], int] = {(): 0}
    todo: list[tuple[int, ...]] = [()]
    jumps: list[tuple[int, int, float]] = []
    while todo:
        state = todo.pop()
        moves = [((*state, need), rate) for need, (rate, _) in rates.items() if len(state) < room]
        used = 0
        for i, need in enumerate(state):
            used += need
            if used > k:
                break
            moves.append(((*state[:i], *state[i + 1 :]), rates[need][1]))
        for other, rate in moves:
            if other not in place:
                place[other] = len(place)
                todo.append(other)
            jumps.append((place[state], place[other], rate))
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import spsolve

    size = len(place)
    rows, columns, values = map(np.array, zip(*jumps, strict=True))
    flow = coo_array((values, (rows, columns)), shape=(size, size)).tocsr()
    balance = (diags_array(flow.sum(axis=1)) - flow).T.tocsc()
    rest = np.asarray(spsolve(balance[1:, 1:], -balance[1:, [0]].toarray()[:, 0]))
    shares = np.append(1.0, rest)
    shares /= shares.sum()
    number = {need: np.zeros(size) for need in rates}
    for state, i in place.items():
        for need in state:
            number[need][i] += 1
    return [float(shares @ number[need]) / rates[need][0] for need in rates]


@pytest.mark.parametrize("servers", [2, 16])
def test_exact_with_few_heavies_is_a_plain_queue(servers: int) -> None:
    rate = 0.8 * servers
    found = fcfs.exact(system(servers, (1, rate, 1.0), (servers, 1e-10, 1.0)))
    plain = classical.mmk(servers, rate, 1.0).mean_response_time
    assert found.classes[0].mean_response_time == pytest.approx(plain, rel=1e-7)


def test_exact_with_few_lights_is_a_plain_queue() -> None:
    found = fcfs.exact(system(16, (1, 1e-10, 1.0), (16, 0.9, 1.0)))
    assert found.classes[1].mean_response_time == pytest.approx(10.0, rel=1e-7)
    assert found.classes[0].mean_response_time == pytest.approx(10.0, rel=1e-7)


def test_exact_on_plain_queues() -> None:
    """M/M/c with floor(k / need) slots, in one class or several; M/G/1 where jobs run alone."""
    slots = fcfs.exact(system(9, (2, 3.0, 1.0)))
    assert slots.mean_response_time == classical.mmk(4, 3.0, 1.0).mean_response_time
    two = fcfs.exact(system(9, (2, 1.0, 1.0), (2, 2.0, 1.0)))
    assert [each.mean_response_time for each in two.classes] == [slots.mean_response_time] * 2
    sizes = qs.Gamma(mean=1.0, scv=3.0), qs.Deterministic(0.5)
    alone = qs.System(5, [qs.JobClass(3, 0.4, sizes[0]), qs.JobClass(4, 0.6, sizes[1])])
    found = fcfs.exact(alone)
    # Pollaczek and Khinchine: lambda E[S^2] / (2 (1 - rho)), the same for both classes
    waiting = (0.4 * 4.0 + 0.6 * 0.25) / (2 * (1 - 0.7))
    times = [each.mean_response_time for each in found.classes]
    assert times == pytest.approx([waiting + 1.0, waiting + 0.5])
    seen = qs.simulate(alone, "fcfs", jobs=400_000, seed=1).mean_response_time
    assert found.mean_response_time == pytest.approx(seen.value, abs=2 * seen.half_width)
    with pytest.raises(qs.UnstableError, match=r"M/G/1 .* below 1\.42857"):
        fcfs.exact(alone.with_rate(1.5))
    with pytest.raises(qs.ModelError, match="exponential sizes"):
        fcfs.exact(qs.System(5, [qs.JobClass(1, 0.4, sizes[0])]))
    with pytest.raises(qs.ModelError, match="two classes"):
        fcfs.exact(system(9, (2, 1.0, 1.0), (2, 2.0, 0.5)))


@pytest.mark.parametrize("ratio", [1e-6, 1.0, 1e6])
def test_exact_holds_for_unequal_rates_up_to_the_limit(ratio: float) -> None:
    one = system(8, (1, 0.8, ratio), (8, 0.2, 1.0))
    limit = fcfs.limit(one)
    times = []
    gaps = (1e-3, 1e-4, 1e-5)
    for gap in gaps:
        found = fcfs.exact(one.with_rate(limit * (1 - gap)))
        times.append(gap * found.mean_response_time)
    slopes = np.diff(times) / np.diff(gaps) / times[-1]  # smooth up to the limit
    assert slopes[1] == pytest.approx(slopes[0], abs=1e-3)


def test_mistakes_get_one_sentence() -> None:
    one_or_all = qs.load("one-or-all:rate=3.1")
    with pytest.raises(qs.UnstableError, match=r"stable below 3\.02609"):
        fcfs.exact(one_or_all)
    with pytest.raises(qs.ModelError, match="two classes"):
        fcfs.exact(qs.load("four-class"))
    with pytest.raises(qs.ModelError, match="up to 1,024 servers"):
        fcfs.exact(system(2000, (1, 1.0, 1.0), (2000, 0.1, 1.0)))


@pytest.mark.parametrize(("servers", "light"), [(2, 0.5), (8, 0.9), (3, 0.02), (4, 0.999)])
def test_heavy_traffic_is_the_limit_of_exact_means(servers: int, light: float) -> None:
    mix = system(servers, (1, light, 1.0), (servers, 1 - light, 2.0))
    most = fcfs.limit(mix)
    expected = fcfs.heavy_traffic(mix)
    gaps = []
    for rho in (0.99, 0.999):
        exact = fcfs.exact(mix.with_rate(rho * most))
        times = [exact.mean_response_time, *(each.mean_response_time for each in exact.classes)]
        gaps.append(max(abs((1 - rho) * time / expected - 1) for time in times))
    assert gaps[1] < 0.15 * gaps[0] < 0.15


def test_the_approximation_tends_to_the_exact_means() -> None:
    mix = system(4, (1, 0.9, 1.0), (4, 0.1, 2.0))
    near = mix.with_rate(0.999 * fcfs.limit(mix))
    exact, found = fcfs.exact(near), fcfs.approximate(near)
    for one, other in zip(found.classes, exact.classes, strict=True):
        assert one.mean_response_time == pytest.approx(other.mean_response_time, rel=0.01)
    with pytest.raises(qs.UnstableError):
        fcfs.approximate(mix.with_rate(1.001 * fcfs.limit(mix)))


def test_growth_with_the_number_of_servers() -> None:
    """With a share c / k of heavy jobs: k / (c ln k) and ln k / 2, or constants otherwise."""
    small, large, c = 2**9, 2**15, 1.5
    mixes = [system(k, (1, k - c, 1.0), (k, c, 1.0)) for k in (small, large)]
    slow, fast = (k / fcfs.limit(mix) for k, mix in zip((small, large), mixes, strict=True))
    assert fast - slow == pytest.approx(c * math.log(large / small), rel=0.01)
    slow, fast = map(fcfs.heavy_traffic, mixes)
    assert fast - slow == pytest.approx(math.log(large / small) / 2, rel=0.1)
    alike = [system(k, (1, 0.9, 1.0), (k, 0.1, 2.0)) for k in (2**9, 2**12)]
    assert [fcfs.limit(mix) for mix in alike] == pytest.approx([1 / (0.1 * (2 + math.log(10)))] * 2)
    assert fcfs.heavy_traffic(alike[0]) == pytest.approx(fcfs.heavy_traffic(alike[1]))


def test_a_simulation_beyond_the_capacity_estimates_the_limit() -> None:
    heavy = qs.JobClass(8, 1.0, qs.Deterministic(1.5))
    mix = qs.System(8, [qs.JobClass(1, 9.0, qs.Exponential(mean=1)), heavy])
    seen = qs.simulate(mix, "fcfs", jobs=100_000, allow_unstable=True).overall.throughput
    assert fcfs.limit(mix) == pytest.approx(seen.value, abs=2.5 * seen.half_width)
    assert seen.half_width < 0.02 * seen.value
