"""Balanced Splitting: slots and helpers, exact values, and the jobs that stay where they start."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import linalg

import quickswap as qs
from quickswap.errors import PolicyError
from quickswap.theory.classical import mmk
from verification.agreement import near, problems
from verification.known import FOUR
from verification.systems import drawn_log, mixed, random_system

State = tuple[int, int, int, tuple[int, ...]]
"""Light jobs in the slot and on the helpers, heavy ones on the helpers, classes of the queue."""

SPLIT = mixed(24, [(1, 0.4, 1.0), (2, 0.4, 0.5), (4, 0.2, 2.0)], 0.6)
SMALL = qs.System(
    3,
    [
        qs.JobClass(1, 0.6, qs.Exponential(mean=1.0), "light"),
        qs.JobClass(2, 0.1, qs.Exponential(mean=2.0), "heavy"),
    ],
)
"""With `reserved=1` there are a slot for light jobs and two helpers."""
WHOLE = qs.BalancedSplitting(1.0)


def test_slots_are_in_proportion_to_the_loads() -> None:
    # the loads are in the proportions 1, 1 and 4
    assert WHOLE.slots(SPLIT) == [4, 2, 4]
    assert qs.BalancedSplitting(0.5).slots(SPLIT) == [2, 1, 2]
    assert qs.BalancedSplitting().slots(SPLIT) == [3, 1, 3]  # reserved is 1 - 4/24
    assert qs.BalancedSplitting().slots(FOUR) == [0, 0, 0, 0]
    assert WHOLE.slots(SPLIT.with_load(0.99)) == WHOLE.slots(SPLIT)


@pytest.mark.parametrize("seed", range(20))
def test_by_default_each_job_fits_on_the_helpers(seed: int) -> None:
    system = random_system(seed)
    slots = qs.BalancedSplitting().slots(system)
    assert system.servers - np.dot(slots, system.needs) >= max(system.needs)


@pytest.mark.parametrize("given", [-0.1, 1.1, float("nan"), True, "half"])
def test_shares_out_of_range_are_rejected(given: float) -> None:
    with pytest.raises(PolicyError) as caught:
        qs.BalancedSplitting(given)
    assert caught.value.argument == "reserved of BalancedSplitting"
    assert caught.value.given is given


def test_a_class_that_could_never_start_is_rejected() -> None:
    with pytest.raises(PolicyError, match="'need 15' has no slot") as caught:
        qs.simulate(FOUR, WHOLE)
    assert (caught.value.given, caught.value.allowed) == (1.0, "up to 0, the default")


def test_without_helpers_the_classes_are_separate_queues() -> None:
    result = qs.simulate(SPLIT, WHOLE, jobs=60_000, seed=4, debug=True)
    rows = zip(result.classes, SPLIT.classes, WHOLE.slots(SPLIT), strict=True)
    checks = [
        near(r.name, r.mean_response_time, mmk(s, c.arrival_rate, c.size.mean).mean_response_time)
        for r, c, s in rows
    ]
    assert list(problems(checks)) == []


def settled(inside: int, light: int, heavy: int, queue: tuple[int, ...]) -> State:
    """Let jobs start until no further one does."""
    if 0 in queue and inside == 0:
        at = queue.index(0)
        return settled(1, light, heavy, queue[:at] + queue[at + 1 :])
    if queue and light + 2 * heavy + (1, 2)[queue[0]] <= 2:
        return settled(inside, light + (queue[0] == 0), heavy + (queue[0] == 1), queue[1:])
    return inside, light, heavy, queue


def moves(state: State) -> dict[State, float]:
    """Return the rates to other states; a job that arrives while nine wait is turned away."""
    inside, light, heavy, queue = state
    rates: dict[State, float] = defaultdict(float)
    for cls, each in enumerate(SMALL.classes):
        if len(queue) < 9:
            rates[settled(inside, light, heavy, (*queue, cls))] += each.arrival_rate
    if inside:
        rates[settled(0, light, heavy, queue)] += 1.0
    if light:
        rates[settled(inside, light - 1, heavy, queue)] += 1.0 * light
    if heavy:
        rates[settled(inside, light, heavy - 1, queue)] += 0.5 * heavy
    return rates


def test_means_are_those_of_the_markov_chain() -> None:
    place: dict[State, int] = {(0, 0, 0, ()): 0}
    jumps = []
    for state in (found := [*place]):  # the list grows
        for other, rate in moves(state).items():
            if other not in place:
                place[other] = len(found)
                found.append(other)
            jumps.append((place[other], place[state], rate))
    to, origin, rates = map(np.array, zip(*jumps, strict=True))
    flow = sparse.csc_matrix((rates, (to, origin)), shape=(len(found),) * 2)
    balance = flow - sparse.diags(np.asarray(flow.sum(axis=0)).ravel())
    times = np.append(1.0, linalg.spsolve(balance[1:, 1:].tocsc(), -balance[1:, [0]].toarray()))
    times /= times.sum()
    assert times @ [len(queue) == 9 for *_, queue in found] < 1e-4
    light = times @ [inside + light + queue.count(0) for inside, light, _, queue in found]
    heavy = times @ [heavy + queue.count(1) for _, _, heavy, queue in found]
    result = qs.simulate(SMALL, WHOLE, jobs=100_000, seed=3)
    checks = [
        near(each.name, each.mean_response_time, float(mean) / cls.arrival_rate)
        for each, cls, mean in zip(result.classes, SMALL.classes, (light, heavy), strict=True)
    ]
    assert list(problems(checks)) == []


def test_a_job_stays_where_it_has_started() -> None:
    """Two light jobs run, in the slot and on a helper; only the latter keeps out a heavy one."""
    scheduler = qs.Scheduler(SMALL, WHOLE)
    for cls in (0, 0, 1):
        scheduler.arrive(cls)
    before = scheduler.state
    assert (before.waiting, before.running, before.policy) == ((0, 1), (2, 0), (0, 0))
    for first, starts in ((0, False), (1, True)):
        scheduler.restore(before)
        in_slot, on_helper = (number for number, _ in scheduler.running())
        assert bool(scheduler.complete((in_slot, on_helper)[first])) == starts
    with pytest.raises(qs.QuickswapError, match="free slots"):
        scheduler.restore(qs.State((0, 1), (2, 0), (1,), (2, 0)))  # there is only one slot


def test_stability_limits() -> None:
    whole = qs.stability(SPLIT, WHOLE)  # no helpers: exact
    slots = zip(WHOLE.slots(SPLIT), SPLIT.classes, strict=True)
    load = max(c.arrival_rate * c.size.mean / s for s, c in slots)
    assert whole.limit == pytest.approx(SPLIT.arrival_rate / load)
    assert (whole.exact, whole.verdict) == (True, "stable")
    part = qs.stability(SPLIT, "balanced-splitting")
    assert part.limit is not None
    assert part.limit < part.necessary_limit == SPLIT.capacity
    assert qs.stability(SMALL, WHOLE).limit is None  # heavy jobs have no slot
    for system, reserved in ((FOUR, None), (SPLIT, 0.0)):
        policy = qs.BalancedSplitting(reserved)
        assert qs.stability(system, policy) == qs.stability(system, "fcfs")


def test_in_a_replay_the_needs_of_the_log_have_slots() -> None:
    log = drawn_log(SPLIT, 2, weeks=0.02, mean_size=60.0)
    policies = ("fcfs", "balanced-splitting:reserved=0", "balanced-splitting")
    fcfs, none, some = (qs.replay(log, policy).mean_waiting_time for policy in policies)
    assert none == fcfs
    assert some != fcfs
