"""Every solver at sizes of every kind, each against a way that shares nothing with it.

A solver may be right at even sizes and wrong at odd ones, or wrong at powers of two, at 1, or where
a need does not divide the number of servers. So the sizes here include all these kinds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

import quickswap as qs
from quickswap import theory
from quickswap.errors import QuickswapError
from quickswap.model.capacity import largest_rate
from quickswap.theory.residuals import check_residual
from quickswap.theory.saturation import saturated_rate
from quickswap.tuning.candidates import threshold_of

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 23, 31, 32, 33)
LARGE = (63, 64, 65, 97, 99, 100, 101, 127, 128, 129)


def two(servers: int, light: int, heavy: int, load: float, share: float = 0.9) -> qs.System:
    """Lights and heavies of mean sizes 1 and 0.7."""
    classes = [
        qs.JobClass(light, share, qs.Exponential(mean=1.0), "light"),
        qs.JobClass(heavy, 1 - share, qs.Exponential(mean=0.7), "heavy"),
    ]
    return qs.System(servers, classes).with_load(load)


def response_times(means: theory.Means) -> list[float]:
    return [each.mean_response_time for each in means.classes]


@pytest.mark.parametrize("slots", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("drain", ["on_demand", "always"])
def test_msfq_is_that_of_the_chain(slots: int, drain: str) -> None:
    system = two(slots, 1, slots, 0.3)
    for threshold in {0, 1, slots // 2, slots - 1}:
        exact = theory.msfq.exact(system, threshold, drain)
        chain = theory.chain.exact(system, qs.MSFQ(threshold, drain), tolerance=1e-8)
        assert response_times(exact) == pytest.approx(response_times(chain), rel=1e-7)


@pytest.mark.parametrize("threshold", [0, 1])
@pytest.mark.parametrize("slots", [*SIZES[1:], *LARGE])
def test_msfq_is_that_of_a_truncated_chain(slots: int, threshold: int) -> None:
    """Low thresholds make small chains, at any number of slots."""
    system = two(slots, 1, slots, 0.15)
    light, heavy = system.classes
    rates = light.arrival_rate, heavy.arrival_rate, 1.0, 1 / 0.7
    exact = theory.msfq.exact(system, threshold)
    numbers = [each.number_in_system for each in exact.classes]
    assert numbers == pytest.approx(numbers_of_msfq(slots, *rates, threshold), rel=1e-7)


def numbers_of_msfq(
    k: int, l1: float, lk: float, m1: float, mk: float, threshold: int
) -> tuple[float, float]:
    """Mean lights and heavies under MSFQ on demand with the threshold 0 or 1.

    States are L(a, b), lights open, a of them and b heavies; D(a, b), one light in service and a
    behind it; H(a, b), a heavy in service.
    """
    most = 60, 30

    def opened(a: int, b: int) -> tuple[str, int, int]:
        if b == 0 or a > threshold:
            return "L", a, b
        return ("H", 0, b) if a == 0 else ("D", 0, b)

    states: dict[tuple[str, int, int], int] = {("L", 0, 0): 0}
    entries: list[tuple[int, int, float]] = []
    fresh = [("L", 0, 0)]
    while fresh:
        state = fresh.pop()
        kind, a, b = state
        if kind == "L":
            moves = [(opened(a + 1, b), l1), (opened(a, b + 1), lk)]
            moves += [(opened(a - 1, b), min(a, k) * m1)] if a else []
        elif kind == "D":
            moves = [(("D", a + 1, b), l1), (("D", a, b + 1), lk), (("H", a, b), m1)]
        else:
            after = ("H", a, b - 1) if b > 1 else opened(a, 0)
            moves = [(("H", a + 1, b), l1), (("H", a, b + 1), lk), (after, mk)]
        for to, rate in moves:
            if to[1] <= most[0] and to[2] <= most[1]:
                if to not in states:
                    states[to] = len(states)
                    fresh.append(to)
                entries += [(states[to], states[state], rate), (states[state],) * 2 + (-rate,)]
    rows, columns, rates = zip(*[each for each in entries if each[0] != 0], strict=True)
    total = len(states)
    shape = (total, total)
    balance = coo_array((rates, (rows, columns)), shape=shape).tocsr()
    balance = balance + coo_array((np.ones(total), (np.zeros(total, int), range(total))), shape)
    shares = spsolve(balance.tocsc(), np.eye(1, total)[0])
    lights = [a + (kind == "D") for kind, a, _ in states]
    return float(shares @ lights), float(shares @ [b for _, _, b in states])


@pytest.mark.parametrize(("servers", "need"), [(3, 2), (5, 3), (7, 2), (10, 3), (11, 5)])
def test_msfq_on_slots_that_do_not_divide_the_servers(servers: int, need: int) -> None:
    """c = 1, 1, 3, 3 and 2 lights at a time."""
    system = two(servers, need, servers, 0.4)
    slots = servers // need
    pairs: list[tuple[qs.Policy, int]] = [
        (qs.StaticQuickswap(thresholds=[slots - 1, 0]), slots - 1)
    ]
    if slots > 1:
        pairs += [(qs.MSF(), 0), (qs.AdaptiveQuickswap(), slots)]
    for policy, threshold in pairs:
        exact = theory.msfq.exact(system, threshold)
        chain = theory.chain.exact(system, policy, tolerance=1e-8)
        assert response_times(exact) == pytest.approx(response_times(chain), rel=1e-7)


def test_with_one_slot_msf_is_no_threshold() -> None:
    """The end of a job frees all servers, so the larger class is always served first."""
    system = two(3, 2, 3, 0.4)
    for policy in (qs.MSF(), qs.AdaptiveQuickswap()):
        assert threshold_of(policy, system) is None
        chain = theory.chain.exact(system, policy, tolerance=1e-8)
        assert response_times(chain) == pytest.approx(with_priority(system), rel=1e-7)
    assert threshold_of(qs.MSF(), two(4, 2, 3, 0.4)) == (0, "on_demand")


def with_priority(system: qs.System) -> list[float]:
    """M/M/1 in which the second class starts first, without interruptions (Cobham 1954)."""
    rates = [each.arrival_rate for each in system.classes]
    means = [each.size.mean for each in system.classes]
    residual = sum(rate * mean**2 for rate, mean in zip(rates, means, strict=True))
    low, high = (rate * mean for rate, mean in zip(rates, means, strict=True))
    wait = residual / (1 - high)
    return [wait / (1 - low - high) + means[0], wait + means[1]]


@pytest.mark.parametrize("slots", [3, 31, 32, 99])
def test_msfq_of_another_transform_length_is_an_error(
    slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check at run time sees what once went wrong: a length that the transform was not for."""
    right = np.fft.irfft

    def wrong(values: Any, points: int | None = None, axis: int = -1) -> object:
        return right(values, None if points is None else points + 1, axis=axis)

    monkeypatch.setattr(np.fft, "irfft", wrong)
    with pytest.raises(QuickswapError):
        theory.msfq.exact(two(slots, 1, slots, 0.5))


@pytest.mark.parametrize("size", [1e-8, math.nan, math.inf])
def test_a_residual_is_an_error(size: float) -> None:
    check_residual("the solver", "balance", 1e-10, 1e-9)
    with pytest.raises(QuickswapError, match="the solver"):
        check_residual("the solver", "balance", size, 1e-9)


@pytest.mark.parametrize("slots", [2, 3, 4, 5, 7, 8, 9, 16, 17])
def test_fcfs_is_that_of_the_chain(slots: int) -> None:
    system = two(slots, 1, slots, 0.2)
    chain = theory.chain.exact(system, "fcfs", tolerance=1e-8)
    assert response_times(theory.fcfs.exact(system)) == pytest.approx(
        response_times(chain), rel=1e-7
    )


@pytest.mark.parametrize("slots", [2, 3, 4, 5, 7, 8, 9, 16, 17])
def test_server_filling_is_that_of_a_truncated_chain(slots: int) -> None:
    """The chain of the jobs themselves, in their order: the first k lights, or what they are."""
    system = two(slots, 1, slots, 0.4, share=0.8)
    exact = theory.server_filling.exact(system)
    light, heavy = system.classes
    assert exact.number_in_system == pytest.approx(
        numbers_of_server_filling(
            slots, light.arrival_rate, heavy.arrival_rate, 1.0, 1 / 0.7, most=40
        ),
        rel=1e-6,
    )


def numbers_of_server_filling(
    k: int, l1: float, lk: float, m1: float, mk: float, most: int
) -> float:
    """Mean number present, by power iteration on (lights in front, heavy behind them?, unseen).

    In front are the oldest jobs until k lights or a heavy are seen; the classes of those behind are
    drawn when their turn comes.
    """
    share = l1 / (l1 + lk)
    states = [
        (j, h, n)
        for j in range(k + 1)
        for h in (0, 1)
        for n in range(most)
        if not (j == k and h) and (n == 0 or h or j == k)
    ]
    number = {state: place for place, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))

    def drawn(j: int, n: int) -> Iterator[tuple[tuple[int, int, int], float]]:
        """What is in front once j lights are, and n are unseen."""
        chance = 1.0
        while j < k and n > 0:
            yield (j, 1, n - 1), chance * (1 - share)
            chance, j, n = chance * share, j + 1, n - 1
        yield (j, 0, n), chance

    for (j, h, n), place in number.items():
        moves: list[tuple[tuple[int, int, int], float]] = []
        if h or j == k:
            moves.append(((j, h, n + 1), l1 + lk))
        else:
            moves += [((j + 1, 0, 0), l1), ((j, 1, 0), lk)]
        if h:  # the heavy is served first, though j lights are older
            moves += [(to, mk * chance) for to, chance in drawn(j, n)]
        elif j:
            moves += [(to, j * m1 * chance) for to, chance in drawn(j - 1, n)]
        for to, rate in moves:
            if to in number:
                rates[place, number[to]] += rate
    balance = rates.T - np.diag(rates.sum(axis=1))
    balance[0] = 1.0
    shares = np.linalg.solve(balance, np.eye(len(states))[0])
    return float(shares @ [sum(state) for state in states])


@pytest.mark.parametrize("servers", SIZES)
def test_saturation_is_that_of_the_closed_forms(servers: int) -> None:
    for share, heavy in ((0.9, 0.7), (0.5, 3.0)):
        formula = theory.fcfs.one_or_all_rate(servers, share, 1.0, heavy)
        if servers > 1:
            chain = saturated_rate(servers, [1, servers], [share, 1 - share], [1.0, heavy])
            assert chain == pytest.approx(formula, rel=1e-9)
    needs = sorted({1, (servers + 1) // 2, servers})
    shares = [1 / len(needs)] * len(needs)
    formula = theory.fcfs.same_distribution_rate(servers, needs, shares, 2.0)
    chain = saturated_rate(servers, needs, shares, [2.0] * len(needs))
    assert chain == pytest.approx(formula, rel=1e-9)


@pytest.mark.parametrize("servers", SIZES[:12])
def test_capacity_is_that_of_all_packings(servers: int) -> None:
    draw = np.random.default_rng(servers)
    for _ in range(4):
        count = min(3, servers)
        needs = [int(n) for n in sorted(draw.choice(np.arange(1, servers + 1), count, False))]
        works = draw.uniform(0.2, 2.0, count)
        ranges = [range(servers // need + 1) for need in needs]
        packings = np.array(
            [v for v in itertools.product(*ranges) if np.dot(v, needs) <= servers], dtype=float
        ).T
        # the shortest time in which packings do the work that arrives in a second at rate 1
        best = linprog(np.ones(packings.shape[1]), A_ub=-packings, b_ub=-works).fun
        assert best is not None
        assert largest_rate(servers, needs, works.tolist()) == pytest.approx(1 / best, rel=1e-7)


@pytest.mark.parametrize("servers", [*SIZES, *LARGE])
def test_erlang_c_is_that_of_the_states(servers: int) -> None:
    for load in (0.1, 0.8):
        offered = load * servers
        states = [1.0]
        for n in range(1, 3000):
            states.append(states[-1] * offered / min(n, servers))
        total = math.fsum(states)
        number = math.fsum(n * each for n, each in enumerate(states)) / total
        queue = theory.classical.mmk(servers, offered, 1.0)
        assert queue.number_in_system == pytest.approx(number, rel=1e-9)
        assert queue.waiting_probability == pytest.approx(math.fsum(states[servers:]) / total)


@pytest.mark.parametrize("slots", [2, 3, 5, 8, 9, 17])
def test_approximations_are_each_other_and_near_the_exact_solution(slots: int) -> None:
    """Three ways: the paper's, that for any classes, the exact one, and the limit of the last."""
    for threshold in {0, slots // 2, slots - 1}:
        system = two(slots, 1, slots, 0.98)
        one = theory.msfq.approximate(system, threshold)
        any_classes = theory.static_quickswap.approximate(system, [threshold, 0])
        assert response_times(one) == pytest.approx(response_times(any_classes), rel=1e-9)
        exact = theory.msfq.exact(system, threshold, "always")
        assert response_times(one) == pytest.approx(response_times(exact), rel=0.02)
        limit = theory.heavy_traffic(system, [threshold, 0])
        near = theory.msfq.exact(system.with_load(0.9999), threshold, "always")
        scaled = [time * 1e-4 for time in response_times(near)]
        assert scaled == pytest.approx(response_times(limit), rel=5e-3)


@pytest.mark.parametrize("slots", [2, 3, 5, 8, 65, 67])
def test_the_best_threshold_is_the_best_of_all(slots: int) -> None:
    system = two(slots, 1, slots, 0.7)
    found = theory.best_threshold(system)
    levels = range(slots + 1) if slots < 10 else [0, 1, slots // 2, slots - 1, slots]
    values = [theory.msfq.exact(system, level).mean_response_time for level in levels]
    assert found.value <= min(values) * (1 + 1e-12)
    assert theory.msfq.exact(system, found.threshold).mean_response_time == found.value


SOLVERS: list[Callable[[Any], object]] = [
    theory.msfq.exact,
    lambda system: theory.msfq.approximate(system, 1),
    theory.fcfs.exact,
    theory.fcfs.limit,
    theory.server_filling.exact,
    theory.server_filling.large_load,
    theory.static_quickswap.approximate,
    theory.heavy_traffic,
    theory.best_threshold,
    lambda system: theory.stability(system, "msf"),
    lambda system: theory.chain.exact(system, "msf", tolerance=0.01, max_states=5_000),
]


@pytest.mark.parametrize("solver", range(len(SOLVERS)))
def test_a_solver_takes_the_name_of_a_preset(solver: int) -> None:
    solve = SOLVERS[solver]
    name = "one-or-all:k=2,load=.9"
    assert solve(name) == solve(qs.load(name))
    with pytest.raises(qs.ModelError, match="is not a system"):
        solve(3)


@pytest.mark.parametrize("solver", range(len(SOLVERS)))
def test_extreme_rates_give_numbers_or_a_sentence(solver: int) -> None:
    """Never a division by zero, a singular matrix, or nan."""
    base = two(3, 1, 3, 0.5)
    systems = [base.with_load(load) for load in (1e-90, 1e-50, 1e-12, 1 - 1e-7, 1 - 1e-15)]
    for mean in (1e-90, 1e-9, 1e9, 1e90):
        light = qs.JobClass(1, 0.3, qs.Exponential(mean=1.0))
        systems.append(qs.System(3, [light, qs.JobClass(3, 0.1 / mean, qs.Exponential(mean=mean))]))
    for system in systems:
        try:
            found = SOLVERS[solver](system)
        except QuickswapError:
            continue
        if isinstance(found, theory.Means):
            assert all(time >= 0 for time in response_times(found))


@pytest.mark.parametrize("load", [1e-300, 1e-200])
def test_a_load_that_makes_rates_out_of_range_is_refused(load: float) -> None:
    with pytest.raises(qs.ModelError, match="use another unit of time"):
        two(3, 1, 3, 0.5).with_load(load)
