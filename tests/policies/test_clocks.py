"""nMSR and Randomized Timers: schedules, cycles, seeds, and what must hold of every policy."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import quickswap as qs
from quickswap.engine._core import replay
from quickswap.policies.cycles import best_cycle, schedules
from verification.agreement import near, problems
from verification.known import FOUR, one_or_all

UNIT = qs.Exponential(mean=1.0)
UNEVEN = qs.System(10, [qs.JobClass(need, 0.3, UNIT) for need in (3, 4, 7, 1)])
RARE = qs.System(8, [qs.JobClass(1, 4.0, UNIT), qs.JobClass(8, 1e-5, UNIT)])


@pytest.mark.parametrize("system", [FOUR, UNEVEN, RARE, UNEVEN.with_load(1.4)], ids=repr)
def test_schedules_carry_as_much_as_any_policy(system: qs.System) -> None:
    found = schedules(system)
    assert math.fsum(share for _, share in found) == pytest.approx(1)
    assert len(found) <= len(system.classes)
    for jobs, share in found:
        assert share > 0
        assert sum(n * need for n, need in zip(jobs, system.needs, strict=True)) <= system.servers
    ratios = [
        math.fsum(share * jobs[i] for jobs, share in found) / (each.arrival_rate * each.size.mean)
        for i, each in enumerate(system.classes)
    ]
    assert min(ratios) == pytest.approx(system.capacity / system.arrival_rate, rel=2e-3)
    order = [[jobs[i] for i in sorted(range(len(jobs)), key=lambda i: -system.needs[i])]
             for jobs, _ in found]  # fmt: skip
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize("light", [0.5, 2.0])
def test_one_or_all_by_formula(light: float) -> None:
    """The shares are those of the loads, light jobs k at a time and heavy ones alone."""
    system = one_or_all(5, light, 0.2)
    heavy, lights = schedules(system)
    assert (heavy[0], lights[0]) == ((0, 1), (5, 0))
    assert heavy[1] == pytest.approx(0.2 / (light / 5 + 0.2))
    assert lights[1] == pytest.approx(1 - heavy[1])


def test_small_shares_are_dropped_unless_a_class_needs_them() -> None:
    # the rare class has no other schedule than its own, of a share far below 0.001
    jobs, share = schedules(RARE)[0]
    assert jobs == (0, 1)
    assert share == pytest.approx(1e-5 / (0.5 + 1e-5), rel=1e-6)


@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_the_cycle_is_about_the_best(factor: float) -> None:
    system = qs.load("one-or-all:k=4,load=.7")
    cycle = best_cycle(system, schedules(system))
    best = qs.simulate(system, "nmsr", jobs=1_000_000, seed=5).mean_response_time
    other = qs.simulate(system, qs.NMSR(factor * cycle), jobs=1_000_000, seed=5).mean_response_time
    assert best.value + best.half_width < other.value - other.half_width
    assert qs.simulate(system, qs.NMSR(cycle), jobs=1_000_000, seed=5).mean_response_time == best


def test_an_overloaded_system_has_a_cycle() -> None:
    system = one_or_all(4, 4.0, 0.5)
    assert 1 < best_cycle(system, schedules(system)) < 1e4
    assert qs.NMSR().resolve(system)["times"]


@pytest.mark.parametrize("engine", ["jumps", "events"])
def test_a_single_schedule_is_a_plain_queue(engine: str) -> None:
    system = qs.System(7, [qs.JobClass(2, 2.0, UNIT)])
    one, other = (
        qs.simulate(system, policy, jobs=20_000, engine=engine, seed=2)
        for policy in ("nmsr", "fcfs")
    )
    assert one.mean_response_time == other.mean_response_time


@pytest.mark.parametrize("engine", ["jumps", "events"])
@pytest.mark.parametrize(
    "policy", [qs.NMSR(), qs.NMSR(backfill=True), qs.RandomizedTimers()], ids=lambda p: p.label
)
def test_every_check_holds_at_every_event(policy: qs.Policy, engine: str) -> None:
    for system in (FOUR.with_load(0.5), UNEVEN.with_load(0.4)):
        result = qs.simulate(system, policy, engine=engine, jobs=480_000, seed=3, debug=True)
        assert result.verdict.status != "unstable"
        rates = zip(result.classes, system.classes, strict=True)
        checks = [near("utilisation", result.utilisation, system.load)]
        checks += [near(each.name, each.throughput, cls.arrival_rate) for each, cls in rates]
        assert list(problems(checks)) == []


@pytest.mark.parametrize("policy", ["nmsr", "randomized-timers"])
def test_equal_seeds_give_equal_bytes(policy: str) -> None:
    def text(seed: int, threads: int) -> str:
        result = qs.simulate(UNEVEN, policy, jobs=4000, seed=seed, threads=threads)
        return result.to_json()

    def core(seed: int, threads: int) -> dict[str, object]:
        found: dict[str, object] = json.loads(text(seed, threads))
        found.pop("seconds", None)
        return found

    assert core(1, 1) == core(1, 2)
    assert core(1, 1) != core(2, 1)


@pytest.mark.parametrize("policy", ["nmsr", "nmsr:backfill=true", "randomized-timers"])
def test_a_trace_is_served_to_its_end(policy: str) -> None:
    """The clocks never stop, and the run still ends with the last job."""
    rng = np.random.default_rng(4)
    arrival = np.cumsum(rng.exponential(1.0, 300))
    cls = rng.integers(0, 4, 300).astype(np.uint32)
    size = rng.exponential(1.0, 300)
    spec = {"system": UNEVEN.to_dict(), "policy": qs.parse(policy).resolve(UNEVEN)}
    start, end, order, _ = replay(json.dumps(spec), arrival, cls, size)
    assert np.array_equal(end, start + size)
    assert (start >= arrival).all()
    assert sorted(order.tolist()) == list(range(300))
    again = replay(json.dumps(spec), arrival, cls, size)
    assert np.array_equal(again[0], start)
